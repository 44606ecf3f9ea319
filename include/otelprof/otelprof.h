/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libotelprof: profiles of every process of a Linux host, as OpenTelemetry Profiles.
 *
 * The model. One handle is one profiler. otelprof_init() checks and prepares,
 * otelprof_start() attaches, otelprof_poll() does the work that has come up,
 * otelprof_export() closes a window and hands its profiles to the exporters. Put the
 * descriptor of otelprof_get_fd() into any event loop, or call otelprof_poll() in a loop.
 *
 * Threads. Calls on a handle may come from any thread: one of them works at a time, and the
 * others wait for it; a call that waits for work or for a delivery holds none of them up.
 * otelprof_free() comes last, when no other call is under way. Two handles are independent. A
 * callback must not call the library with the same handle: -EDEADLK. The library installs no
 * signal handler, writes to no standard stream and never ends the process. An OTLP exporter has
 * a delivery thread of its own, and one more with a spill_dir, beside gRPC's; all their signals
 * are blocked. What the process has one of stays as the host set it.
 *
 * Processes. What another program could stall (its memory or files, where it serves them) is
 * read by a child, made as by fork(2) when it is first needed and gone when it was idle for
 * two seconds. It holds no descriptors and no memory of yours; SIGCHLD is not sent for it,
 * and wait(2) and waitpid(2) do not return it without __WALL.
 *
 * fork(). The child of a fork may only call otelprof_free() on an inherited handle, which
 * then releases memory and descriptors and leaves the parent's profiling alone; any other
 * call returns -OTELPROF_E_FORKED.
 *
 * Strings and structs given to a call are copied, unless a call says otherwise.
 */
#ifndef OTELPROF_OTELPROF_H
#define OTELPROF_OTELPROF_H

#include <otelprof/config.h>
#include <otelprof/error.h>
#include <otelprof/export.h>
#include <otelprof/macros.h>
#include <otelprof/stats.h>
#include <otelprof/version.h>

OTELPROF_BEGIN_DECLS

struct otelprof;

/** Version of the library that is running, such as "0.1.0". Static. Since 0.1. */
OTELPROF_API const char *otelprof_version(void);

/**
 * Make a profiler. Checks @config (NULL: the defaults), makes the kernel's maps and
 * attaches nothing yet. The library copies @config.
 *
 * On success *@ret is the new handle: the caller frees it with otelprof_free().
 * Returns 0; -EINVAL for a value out of range; -E2BIG for a field this library does not
 * know; -EPERM or -OTELPROF_E_CAPABILITY without the rights; -OTELPROF_E_NO_BTF;
 * -OTELPROF_E_VERIFIER; -ENOMEM. Where @why is not NULL it then says more; its size is set
 * before the call. Any thread. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_init(const struct otelprof_config *config,
						   struct otelprof_error_info *why,
						   struct otelprof **ret);

/**
 * Free @p: stops it, drops what is not delivered (call otelprof_flush() before) and
 * releases everything. NULL does nothing. Always returns NULL. Since 0.1.
 */
OTELPROF_API struct otelprof *otelprof_free(struct otelprof *p);

/**
 * Begin sampling: load the kernel programs that what runs now needs, and attach them.
 * Returns 0; -EALREADY where it runs; -OTELPROF_E_VERIFIER; the error of perf_event_open(2)
 * or of the attachment. May be called again after otelprof_stop(). Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_start(struct otelprof *p);

/**
 * End sampling. What was sampled stays, to be polled and exported. Returns 0, also where
 * it did not run. Since 0.1.
 */
OTELPROF_API int otelprof_stop(struct otelprof *p);

/**
 * A descriptor to wait on: readable when otelprof_poll() has work. Owned by the handle,
 * valid until otelprof_free(); level-triggered. Returns it, or a negative errno. Since 0.1.
 */
OTELPROF_API int otelprof_get_fd(struct otelprof *p);

/**
 * Do a bounded amount of the work at hand, waiting up to @timeout_ms for some (0: do not
 * wait, -1: wait without end).
 *
 * Returns 1 where work was done and more may be waiting, 0 where the time was over or
 * otelprof_wakeup() was called,
 * -EINTR after a signal, or another negative errno. A late call loses nothing before the
 * kernel's ring is full, and then counts what it loses. Since 0.1.
 */
OTELPROF_API int otelprof_poll(struct otelprof *p, int timeout_ms);

/**
 * Let otelprof_poll() return, the one that waits now or the next one, and make the descriptor of
 * otelprof_get_fd() readable until then. Any thread, and in signal handlers. Returns 0, or
 * -EINVAL for NULL. Since 0.1.
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
 * still queued: flush again, or end with otelprof_abandon(). Since 0.1.
 */
OTELPROF_API int otelprof_flush(struct otelprof *p, int timeout_ms);

/**
 * Give up what gRPC exporters still have queued: it moves from samples_pending to
 * the drop reason "given_up", so that the last otelprof_get_stats() tells what became of every
 * sample. Cuts a send short; what they are handed later is given up at once. For the end,
 * after otelprof_flush() and before otelprof_free(), which does the same unseen. Returns 0,
 * also where nothing was queued. Since 0.1.
 */
OTELPROF_API int otelprof_abandon(struct otelprof *p);

/**
 * Choose what is sampled, from the next sample on. Decided in the kernel before any
 * unwinding; what a filter leaves out is counted in samples_filtered. NULL or no rules:
 * everything. Before or after otelprof_start().
 *
 * Returns 0; -EINVAL; -E2BIG; -ENOENT for a cgroup that does not exist; on
 * failure the old filter stays. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_set_filter(struct otelprof *p, const struct otelprof_filter *filter);

/**
 * Change the samples a second and CPU, 1 to 1000, at once. The open window is closed and
 * exported first, for a window has one period. Returns 0; -EINVAL; or the errno of the
 * kernel or of the export. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_set_rate(struct otelprof *p,
						       uint32_t sample_rate_hz);

/**
 * Choose the kinds of events that samples are taken of: OTELPROF_KIND_* or'ed. The programs
 * of a kind are in the kernel while it is on, and only then. Before or after
 * otelprof_start(); what was sampled stays.
 *
 * Returns 0; -EINVAL for none; -E2BIG for one that this library does not know; or why a kind
 * could not be turned on: that one is off then, the others are as asked. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int otelprof_set_kinds(struct otelprof *p,
							uint64_t kinds);

/** At most so many places of otelprof_set_probes(). */
#define OTELPROF_PROBES_MAX 64

/**
 * Choose the places that OTELPROF_KIND_PROBES samples; those of before that are not among them
 * are detached. @specs: @len strings, which are copied:
 *
 *	uprobe:FILE:SYMBOL or uprobe:FILE:SYMBOL+OFFSET, uretprobe:FILE:SYMBOL,
 *	usdt:FILE:PROVIDER:NAME, tracepoint:NAME, kprobe:SYMBOL, kretprobe:SYMBOL
 *
 * They are attached while the kind is on. Returns 0; -EINVAL for one that is no specification;
 * -ENOENT where its file or symbol is not there; -E2BIG for too many: nothing has changed then.
 * Where the kernel refuses one, what it says: that one is missing. Any thread. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_set_probes(struct otelprof *p, const char *const *specs, size_t len);

OTELPROF_END_DECLS

#endif
