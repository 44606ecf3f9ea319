/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libotelprof profiles every process of a Linux host, as OpenTelemetry Profiles.
 *
 * One handle is one profiler. otelprof_init() checks and prepares, otelprof_start()
 * attaches, otelprof_poll() processes samples, and otelprof_export() closes a window and
 * passes its profiles to the exporters. All calls are since 0.1.
 *
 * Threads. Any thread may make any call, unless the call says otherwise. Calls on one
 * handle run one at a time. A call that waits for work or for a delivery does not block
 * the others. otelprof_free() must come last. Two handles are independent. A callback
 * that calls the library with its own handle gets -EDEADLK. Exceptions: otelprof_wakeup()
 * works, and otelprof_free() does nothing and returns the handle.
 *
 * The process. The library installs no signal handler, writes to no standard stream,
 * never ends the process, and changes no setting of it, except RLIMIT_MEMLOCK before
 * Linux 5.11 and gRPC's log function. Its threads block all signals. Reads that another
 * program could block run in a child process. It has none of the caller's descriptors and
 * memory. The library reaps it, and wait(2) does not see it without __WALL.
 *
 * fork(). In the child of a fork, otelprof_free() releases an inherited handle and leaves
 * the parent's profiling alone. Other calls on it return -OTELPROF_E_FORKED.
 *
 * The library copies strings and structs, unless a call says otherwise. Those of a
 * callback are valid until it returns. A call with a struct returns -EINVAL for a wrong
 * size, and -E2BIG for a member or bit that this library does not know.
 */
#ifndef OTELPROF_OTELPROF_H
#define OTELPROF_OTELPROF_H

#include <otelprof/error.h>
#include <otelprof/events.h>
#include <otelprof/export.h>
#include <otelprof/settings.h>
#include <otelprof/stats.h>
#include <otelprof/version.h>

OTELPROF_BEGIN_DECLS

/** The version of the running library, such as "0.1.0". Static. */
OTELPROF_API const char *otelprof_version(void);

/** Make a profiler in *@ret: check @config (NULL: the defaults) and make the BPF maps.
 * Attaches nothing.
 *
 * Returns 0; -EINVAL for a value out of range; -EPERM or -OTELPROF_E_CAPABILITY without
 * the rights; -OTELPROF_E_NO_BTF; -OTELPROF_E_VERIFIER; -ENOMEM. After an error, @why
 * (NULL, or a struct whose size is set) has a sentence. */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_init(const struct otelprof_config *config,
						   struct otelprof_error_info *why,
						   struct otelprof **ret);

/** Stop @p, drop what is not delivered (call otelprof_flush() first) and release
 * everything. It may write to the log. NULL does nothing. Returns NULL. */
OTELPROF_API struct otelprof *otelprof_free(struct otelprof *p);

/** Begin sampling: load and attach the BPF programs. Returns 0; -EALREADY;
 * -OTELPROF_E_VERIFIER; or the error of perf_event_open(2) or of the attachment. */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_start(struct otelprof *p);

/** End sampling and process the samples in the ring, for about six seconds at most.
 * Export them afterwards. Returns 0, also if it was not sampling. */
OTELPROF_API int otelprof_stop(struct otelprof *p);
/** The same for about @timeout_ms. Samples after that get no new names and unwind tables. */
OTELPROF_API int otelprof_stop_within(struct otelprof *p, int timeout_ms);

/** A descriptor that is readable when otelprof_poll() has work (level-triggered). The
 * handle owns it. Returns it, or a negative errno. */
OTELPROF_API int otelprof_get_fd(struct otelprof *p);

/** Do a bounded amount of work, or wait for some up to @timeout_ms (0: do not wait, -1:
 * no limit). A late call loses nothing until the kernel's ring is full. Losses are
 * counted. Returns 1 after work, when more may wait; 0 after @timeout_ms or
 * otelprof_wakeup(); -EINTR after a signal (call again); or another negative errno. */
OTELPROF_API int otelprof_poll(struct otelprof *p, int timeout_ms);

/** Make the current or the next otelprof_poll() return, and otelprof_get_fd() readable
 * until then. Callbacks and signal handlers may call it. Returns 0 or an error. */
OTELPROF_API int otelprof_wakeup(struct otelprof *p);

/** Close the window and pass its profiles to every exporter, without waiting for delivery.
 * An empty window sends nothing. Returns the number of samples, or a negative errno. */
OTELPROF_API int otelprof_export(struct otelprof *p);

/** Wait at most @timeout_ms until every exporter has delivered or given up its queue.
 * File exporters complete their file. Returns 0; -ETIMEDOUT if something is still queued
 * (flush again or call otelprof_abandon()); or the errno of a file. After an error the
 * next flush writes a file again, unless its format is OTLP. */
OTELPROF_API int otelprof_flush(struct otelprof *p, int timeout_ms);

/** Give up OTLP queues, files that failed, and later profiles, so that the last
 * otelprof_get_stats() accounts for every sample. Call it between otelprof_flush() and
 * otelprof_free(). It interrupts a send under way. Pending samples count as "given_up",
 * those of a failed file as "exporter". Returns 0 or an error. */
OTELPROF_API int otelprof_abandon(struct otelprof *p);

/** Replace the list of rules that choose processes (struct otelprof_rule). @len 0 clears
 * it. Rules of otelprof_add_rule() stay, after the list. The kernel applies the whole
 * list from the next sample on, before any unwinding, and samples_filtered counts what it
 * excludes. The number of rules hardly changes the time of a sample. A rule by a control
 * group, container or pod waits until that exists.
 *
 * A rate applies to OTELPROF_KIND_CPU and _WALL. The clock ticks at the highest rate of
 * all rules. For lower ones the kernel drops ticks at random, which samples_thinned
 * counts. Each profile carries its true period.
 *
 * Returns 0; -EINVAL; -ENOSPC beyond OTELPROF_RULES_MAX, _RATES_MAX, _AGES_MAX or
 * _GLOBS_MAX; -ENOMEM. After an error nothing has changed. */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_set_rules(struct otelprof *p, const struct otelprof_rule *rules, size_t len);

/** Add a rule at the end, from the next sample on. *@ret_number is its number. The first
 * rule takes 1.6 MB of kernel memory. Returns what otelprof_set_rules() returns, or
 * -ENOENT for a control group, container or pod that does not exist. */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_add_rule(struct otelprof *p,
						       const struct otelprof_rule *rule,
						       uint64_t *ret_number);

/** Remove the rule with this number, from the next sample on. Returns 0, or -ENOENT. */
OTELPROF_API int otelprof_remove_rule(struct otelprof *p, uint64_t number);

typedef void (*otelprof_rule_fn)(void *userdata, uint64_t number,
				 const struct otelprof_rule *rule);
/** Call @fn for each rule, in order. duration_ns is the time left. Returns 0 or an error. */
OTELPROF_API int otelprof_rules(struct otelprof *p, otelprof_rule_fn fn, void *userdata);

/** Take no samples until otelprof_resume(). No clock ticks, and no BPF program of a kind
 * runs. The library still follows processes. Returns 0, also if it was paused. */
OTELPROF_API int otelprof_pause(struct otelprof *p);

/** Sample again. A probe whose file has changed is a warning. Returns 0, also if sampling
 * was not paused; or an error of otelprof_start(), and sampling is still paused. */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_resume(struct otelprof *p);

/** Change the samples per second and CPU, 1 to 1000. Closes and exports the open window
 * first, because a window has one period. Returns 0; -EINVAL; or another errno. */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_set_rate(struct otelprof *p,
						       uint32_t sample_rate_hz);

/** Choose the kinds of events, OTELPROF_KIND_* or'ed. BPF programs of a kind are attached
 * only while it is on. Samples that were taken stay. Returns 0; -EINVAL for none; or the
 * error of a kind that could not be turned on. The other kinds are as requested. */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_set_kinds(struct otelprof *p,
							uint64_t kinds);

#define OTELPROF_PROBES_MAX 64 /* places of otelprof_set_probes() */

/** Replace the places that OTELPROF_KIND_PROBES samples. That kind must be on, too.
 *
 * 	uprobe:FILE:SYMBOL or uprobe:FILE:SYMBOL+OFFSET, uretprobe:FILE:SYMBOL,
 * 	usdt:FILE:PROVIDER:NAME, tracepoint:NAME, kprobe:SYMBOL, kretprobe:SYMBOL,
 * 	perf:EVENT, perf:EVENT@PERIOD, perf:EVENT@RATEhz
 *
 * After all but perf may come a value (:arg0, :retval, :latency), and then a unit, as in
 * :arg0:bytes. Probes of programs can have a string, as in :arg0.str.
 *
 * Returns 0; -EINVAL for a string of another form; -ENOENT if its file or symbol does not
 * exist; -E2BIG for too many. After these errors nothing has changed. If the kernel
 * refuses a probe, only that probe is missing, and its error is returned. */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_set_probes(struct otelprof *p, const char *const *specs, size_t len);

OTELPROF_END_DECLS
#endif
