/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libotelprof: profiles of every process of a Linux host, as OpenTelemetry Profiles.
 *
 * The model. One handle is one profiler. otelprof_init() checks and prepares,
 * otelprof_start() attaches, otelprof_poll() processes what was sampled, and
 * otelprof_export() closes a window and hands its profiles to the exporters. Put the
 * descriptor of otelprof_get_fd() into any event loop, or call otelprof_poll() in a loop.
 *
 * Threads. Calls on a handle may come from any thread: one of them works at a time, and
 * the others wait for it. A call that waits for work or for a delivery does not block the
 * others. otelprof_free() must be the last call, when no other is under way. Two handles
 * are independent. A callback must not call the library with the same handle: -EDEADLK, but
 * for otelprof_wakeup(), and for otelprof_free(), which does nothing then. The library
 * installs no signal handler, writes to no standard stream and never ends the process. Each
 * exporter of OTLP or to a file has a thread, one more with a spill_dir, and gRPC's threads;
 * all signals are blocked in them. Process-wide settings stay as the host set them.
 *
 * Processes. Memory and files that another program could make stall are read by a child
 * process. It is made, as by fork(2), when it is first needed, and ends after it was idle
 * for two seconds. It holds none of your descriptors and none of your memory. It raises
 * no SIGCHLD, and wait(2) and waitpid(2) do not return it without __WALL.
 *
 * fork(). The child of a fork may only call otelprof_free() on an inherited handle, which
 * then releases memory and descriptors and leaves the parent's profiling alone; any other
 * call returns -OTELPROF_E_FORKED, of which otelprof_last_error() tells.
 *
 * Strings and structs given to a call are copied, unless a call says otherwise.
 */
#ifndef OTELPROF_OTELPROF_H
#define OTELPROF_OTELPROF_H

#include <otelprof/config.h>
#include <otelprof/error.h>
#include <otelprof/events.h>
#include <otelprof/export.h>
#include <otelprof/macros.h>
#include <otelprof/settings.h>
#include <otelprof/stats.h>
#include <otelprof/version.h>

OTELPROF_BEGIN_DECLS

struct otelprof;

/** The version of the running library, such as "0.1.0". Static. Since 0.1. */
OTELPROF_API const char *otelprof_version(void);

/**
 * Make a profiler. Checks @config (NULL: the defaults) and makes the kernel's maps, but
 * attaches nothing yet. The library copies @config.
 *
 * On success *@ret is the new handle; the caller frees it with otelprof_free(). Returns
 * 0; -EINVAL for a value out of range; -E2BIG for a member this library does not know;
 * -EPERM or -OTELPROF_E_CAPABILITY without the rights; -OTELPROF_E_NO_BTF;
 * -OTELPROF_E_VERIFIER; -ENOMEM. If @why is not NULL, it then says more; the caller sets
 * its size before the call. Any thread. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_init(const struct otelprof_config *config,
						   struct otelprof_error_info *why,
						   struct otelprof **ret);

/**
 * Free @p: stops it, drops what is not delivered (call otelprof_flush() first) and
 * releases everything. Lines of the log may come meanwhile. NULL does nothing. Returns NULL;
 * in a callback of a call on @p, of this one too, it does nothing and returns @p. Since 0.1.
 */
OTELPROF_API struct otelprof *otelprof_free(struct otelprof *p);

/**
 * Begin sampling: load the kernel programs that the running processes need, and attach
 * them. Returns 0; -EALREADY if it is sampling; -OTELPROF_E_VERIFIER; the error of
 * perf_event_open(2) or of the attachment. May be called again after otelprof_stop().
 * Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_start(struct otelprof *p);

/**
 * End sampling, and process what was sampled until then, which takes up to some seconds where
 * the machine is busy or much is new. It can still be exported. Returns 0, also if it was not
 * sampling. Since 0.1.
 */
OTELPROF_API int otelprof_stop(struct otelprof *p);

/**
 * A descriptor to wait on: readable when otelprof_poll() has work. Owned by the handle,
 * valid until otelprof_free(); level-triggered. Returns it, or a negative errno. Since 0.1.
 */
OTELPROF_API int otelprof_get_fd(struct otelprof *p);

/**
 * Do a bounded amount of work. If there is none, wait for it up to @timeout_ms (0: do not
 * wait, -1: wait without limit).
 *
 * Returns 1 if work was done and more may be waiting; 0 if the time was over or
 * otelprof_wakeup() was called; -EINTR after a signal; or another negative errno. A late
 * call loses nothing until the kernel's ring is full; what is lost then is counted. Since
 * 0.1.
 */
OTELPROF_API int otelprof_poll(struct otelprof *p, int timeout_ms);

/**
 * Let otelprof_poll() return, either the one that waits now or the next one, and make the
 * descriptor of otelprof_get_fd() readable until then. Any thread, callbacks, and signal
 * handlers. Returns 0; -EINVAL for NULL; or -OTELPROF_E_FORKED. Since 0.1.
 */
OTELPROF_API int otelprof_wakeup(struct otelprof *p);

/**
 * Close the window and hand its profiles to every exporter. Does not wait for their
 * delivery. A window without samples sends nothing.
 *
 * Returns the number of samples handed over (at most INT_MAX), or a negative errno.
 * Since 0.1.
 */
OTELPROF_API int otelprof_export(struct otelprof *p);

/**
 * Wait until every exporter has delivered or given up what it was handed, at most
 * @timeout_ms; file exporters complete their file. Returns 0, or -ETIMEDOUT with the rest
 * still queued: flush again, or end with otelprof_abandon(). Or the errno of a file: what
 * one of another format than OTLP could not write waits for the next flush. Since 0.1.
 */
OTELPROF_API int otelprof_flush(struct otelprof *p, int timeout_ms);

/**
 * Give up what the OTLP exporters still have queued. It moves from samples_pending to the
 * drop reason "given_up", so that the last otelprof_get_stats() accounts for every
 * sample; what waits since the flush of a file failed moves to "exporter". A send under
 * way is interrupted, and what the exporters are handed later is given up at once. Call it
 * at the end, after otelprof_flush() and before otelprof_free(), which does the same but
 * leaves no counters to read. Returns 0, also if nothing was queued. Since 0.1.
 */
OTELPROF_API int otelprof_abandon(struct otelprof *p);

/**
 * Set the list of rules that choose processes, from the next sample on: each sample is judged by
 * the old list or by the new one, whole. Of the rules that match a process, the last to include
 * or exclude decides whether it is sampled and the last with a rate decides how often, and a
 * process that no rule includes or excludes is sampled only if no rule includes.
 *
 * The kernel decides before any unwinding, and 65,536 rules cost a sample no more than one. What
 * is left out is counted in samples_filtered. Rules of otelprof_add_rule() stay, behind the
 * list. A rule by a control group, container or pod that does not exist waits for it.
 *
 * The rate is that of samples of OTELPROF_KIND_CPU or _WALL: the clock ticks at the highest rate
 * of all, and the kernel drops at random what is too much for a lower one. Such ticks count in
 * samples_thinned, too, and each profile carries its true period.
 *
 * @len: at most OTELPROF_RULES_MAX; 0: no list. Returns 0; -EINVAL; -E2BIG if a rule has fields
 * that this library does not know; -ENOSPC beyond OTELPROF_RULES_MAX, OTELPROF_RATES_MAX,
 * OTELPROF_AGES_MAX or OTELPROF_GLOBS_MAX; -ENOMEM. After an error nothing has changed. Any
 * thread, before or after otelprof_start(). Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_set_rules(struct otelprof *p, const struct otelprof_rule *rules, size_t len);

/**
 * Add a rule at the end, from the next sample on. *@ret_number is the number of the rule.
 *
 * Returns what otelprof_set_rules() does; or -ENOENT for a control group, container or pod that
 * does not exist. After an error nothing has changed. Any thread, before or after
 * otelprof_start(). The first rule makes a table of 1.6 MB in the kernel. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_add_rule(struct otelprof *p,
						       const struct otelprof_rule *rule,
						       uint64_t *ret_number);

/**
 * Remove the rule with this number, from the next sample on. Returns 0, or -ENOENT if there is no
 * such rule or it has expired. Any thread. Since 0.1.
 */
OTELPROF_API int otelprof_remove_rule(struct otelprof *p, uint64_t number);

typedef void (*otelprof_rule_fn)(void *userdata, uint64_t number,
				 const struct otelprof_rule *rule);

/**
 * Call @fn for each rule, in their order, the last one last. duration_ns is the time that the
 * rule has left. The rule is valid during the call. Returns 0, or a negative errno. Any thread.
 * Since 0.1.
 */
OTELPROF_API int otelprof_rules(struct otelprof *p, otelprof_rule_fn fn, void *userdata);

/**
 * Take no samples until otelprof_resume(): no clock ticks, and no program runs at an event. The
 * library goes on to follow processes, so that it need not learn them again; polls and exports go
 * on too. Returns 0, also if sampling was paused already. Any thread, before or after
 * otelprof_start(). Since 0.1.
 */
OTELPROF_API int otelprof_pause(struct otelprof *p);

/**
 * Sample again after otelprof_pause(). Returns 0, also if sampling was not paused; or an error of
 * otelprof_start(), after which sampling is still paused. A probe that can no longer be
 * attached, because its file has changed, is a warning. Any thread. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_resume(struct otelprof *p);

/**
 * Change the samples per second and CPU, 1 to 1000, at once. The open window is closed
 * and exported first, because a window has one period. Returns 0; -EINVAL; or the errno
 * of the kernel or of the export. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_set_rate(struct otelprof *p,
						       uint32_t sample_rate_hz);

/**
 * Choose the kinds of events that are sampled: OTELPROF_KIND_* or'ed. The programs of a
 * kind are in the kernel only while the kind is on. Before or after otelprof_start();
 * what was sampled stays.
 *
 * Returns 0; -EINVAL for none; -E2BIG for a kind that this library does not know; or the
 * reason why a kind could not be turned on: that kind is off then, and the others are as
 * requested. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_set_kinds(struct otelprof *p,
							uint64_t kinds);

/** The largest number of places of otelprof_set_probes(). */
#define OTELPROF_PROBES_MAX 64

/**
 * Choose the places that OTELPROF_KIND_PROBES samples; earlier places that are not among
 * them are detached. @specs: @len strings, which are copied:
 *
 * 	uprobe:FILE:SYMBOL or uprobe:FILE:SYMBOL+OFFSET, uretprobe:FILE:SYMBOL,
 * 	usdt:FILE:PROVIDER:NAME, tracepoint:NAME, kprobe:SYMBOL, kretprobe:SYMBOL,
 * 	perf:EVENT, perf:EVENT@PERIOD, perf:EVENT@RATEhz
 *
 * All but the last line may end with a value, such as :arg0, :arg1.s32 or :retval, and with
 * its unit behind another colon.
 *
 * They are attached while the kind is on. Returns 0; -EINVAL for a string that is not a
 * specification; -ENOENT if its file or symbol does not exist; -E2BIG for too many. After
 * these errors nothing has changed. If the kernel refuses a probe, its error is returned
 * and only that probe is missing. Any thread. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_set_probes(struct otelprof *p, const char *const *specs, size_t len);

OTELPROF_END_DECLS

#endif
