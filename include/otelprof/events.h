/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks that tell a host what the profiler comes to know: executable files (for an upload of
 * symbols), processes with their resources, and windows.
 *
 * Threads. They are called in the thread that works: inside otelprof_start(), otelprof_poll() or
 * another call on the handle, or in the library's thread with threads = 1. The handle is locked
 * meanwhile: a callback must not call the library with it (-EDEADLK), and what it does takes away
 * from the time of the call. So take what is needed, and do long work elsewhere. All structs and
 * strings are valid during the call.
 */
#ifndef OTELPROF_EVENTS_H
#define OTELPROF_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include <otelprof/config.h>
#include <otelprof/macros.h>

OTELPROF_BEGIN_DECLS

struct otelprof;

/*
 * An ELF file that processes execute. It is told when the library first opens it: when its code
 * is first sampled, or when it looks like a language runtime. Files of equal content and owner
 * are told once. One that nobody has used for long is forgotten, and may be told again.
 */
struct otelprof_executable {
	size_t size;
	/* as the process has mapped it, so perhaps in another mount namespace than the host's */
	const char *path;
	const char *build_id;	 /* .note.gnu.build-id in hex; "": none */
	const char *go_build_id; /* .note.go.buildid; "": none */
	const char *htlhash;	 /* process.executable.build_id.htlhash */
	uint64_t file_bytes;
	/*
	 * The file, open for reading, or a copy where a program serves it (FUSE); -1: it cannot be
	 * given. It is the library's: duplicate it (F_DUPFD_CLOEXEC) to use it after the call, and
	 * read it by pread(2). The file may be changed by its owner at any time.
	 */
	int32_t fd;
	uint32_t pid; /* a process that has it mapped */
};

typedef void (*otelprof_executable_fn)(void *userdata,
				       const struct otelprof_executable *executable);

/* Values of otelprof_process.change. */
#define OTELPROF_PROCESS_CAME	 1 /* it was sampled for the first time */
#define OTELPROF_PROCESS_CHANGED 2 /* its resource is another one, as after exec */
#define OTELPROF_PROCESS_WENT	 3 /* it ended, or is not followed any more */

/*
 * A process. One that is never sampled is not told, nor one that ended before its first sample
 * was looked at. After OTELPROF_PROCESS_WENT, the same process may come again if it is sampled
 * once more (max_processes).
 */
struct otelprof_process {
	size_t size;
	uint32_t change; /* OTELPROF_PROCESS_* */
	uint32_t pid;
	uint64_t start_time_ns; /* Unix time, as exported; 0: not known */
	/*
	 * Of its resource, as text: service.name, process.executable.name and .path,
	 * container.id, container.name, k8s.pod.uid, and what it says of itself. Those of the
	 * configuration and of the host are not repeated. None with OTELPROF_PROCESS_WENT.
	 */
	const struct otelprof_attribute *attributes;
	size_t attributes_len;
};

typedef void (*otelprof_process_fn)(void *userdata,
				    const struct otelprof_process *process);

/* A window that was closed, by otelprof_export() or a change of the rate. Its profiles were
 * handed to the exporters before this call. */
struct otelprof_window {
	size_t size;
	uint64_t start_time_ns; /* Unix time */
	uint64_t end_time_ns;
	uint64_t samples;
};

typedef void (*otelprof_window_fn)(void *userdata, const struct otelprof_window *window);

/* What to call; NULL: nothing. */
struct otelprof_events {
	size_t size;
	void *userdata;
	otelprof_executable_fn executable;
	otelprof_process_fn process;
	otelprof_window_fn window;
};

/** No callbacks. Any thread. Since 0.1. */
OTELPROF_API void otelprof_events_init(struct otelprof_events *events, size_t size);

/**
 * Have callbacks called from now on, in place of those before; NULL: none. Set them before
 * otelprof_start(), because what is known already is not told again. None is called after
 * this call with NULL, or by otelprof_free(). Returns 0; -EINVAL for a struct of a wrong size;
 * -E2BIG for a member that this library does not know. Any thread. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_set_events(struct otelprof *p, const struct otelprof_events *events);

OTELPROF_END_DECLS

#endif
