/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks for executable files (to upload symbols), processes with their resources, and
 * windows. They run inside a call on the handle, or in the library's thread with threads
 * = 1, with the handle locked. So copy what you need, and do long work elsewhere.
 */
#ifndef OTELPROF_EVENTS_H
#define OTELPROF_EVENTS_H

#include <otelprof/config.h>

OTELPROF_BEGIN_DECLS

/* An ELF file that processes execute. The callback runs when the library first opens the
 * file: at the first sample in it, or when the file looks like a language runtime. It
 * runs once for equal files of one owner, and again if the library forgot the file. */
struct otelprof_executable {
	size_t size;
	const char *path;	 /* in the mount namespace of the process */
	const char *build_id;	 /* hex of .note.gnu.build-id, "": none */
	const char *go_build_id; /* text of .note.go.buildid, "": none */
	const char *htlhash;	 /* process.executable.build_id.htlhash */
	uint64_t file_bytes;	 /* length of the file */
	/* The file, open for reading, or a copy of a FUSE file, or -1. The library owns it:
	 * read with pread(2), and duplicate it (F_DUPFD_CLOEXEC) for use after the call. Its
	 * owner may change the file at any time. */
	int32_t fd;
	uint32_t pid; /* a process that has it mapped */
};
typedef void (*otelprof_executable_fn)(void *userdata,
				       const struct otelprof_executable *executable);

/* Values of otelprof_process.change. */
#define OTELPROF_PROCESS_CAME	 1 /* it was sampled for the first time */
#define OTELPROF_PROCESS_CHANGED 2 /* its resource changed, as after exec */
#define OTELPROF_PROCESS_WENT	 3 /* it ended, or max_processes displaced it for now */

/* The callback runs only for processes that were sampled while alive. */
struct otelprof_process {
	size_t size;
	uint32_t change;	/* OTELPROF_PROCESS_* */
	uint32_t pid;		/* process id */
	uint64_t start_time_ns; /* Unix time, as exported, 0: not known */
	/* Attributes of its resource: service.name, process.executable.name and .path,
	 * container.id, container.name, k8s.pod.uid, and its own. Those of the configuration
	 * and of the host are left out. None with OTELPROF_PROCESS_WENT. */
	const struct otelprof_attribute *attributes;
	size_t attributes_len;
};
typedef void (*otelprof_process_fn)(void *userdata,
				    const struct otelprof_process *process);

/* A closed window. The exporters have its profiles already. */
struct otelprof_window {
	size_t size;
	uint64_t start_time_ns; /* first moment, Unix time */
	uint64_t end_time_ns;	/* end, Unix time */
	uint64_t samples;	/* number of samples */
};
typedef void (*otelprof_window_fn)(void *userdata, const struct otelprof_window *window);

struct otelprof_events {
	size_t size;
	void *userdata;			   /* the first argument of each */
	otelprof_executable_fn executable; /* gets executable files, or NULL */
	otelprof_process_fn process;	   /* gets processes, or NULL */
	otelprof_window_fn window;	   /* gets closed windows, or NULL */
};

OTELPROF_API void otelprof_events_init(struct otelprof_events *events, size_t size);

/** Replace the callbacks (@events NULL: none). Set them before otelprof_start(): they do
 * not run for what is known already, nor in otelprof_free(). Returns 0 or an error. */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_set_events(struct otelprof *p, const struct otelprof_events *events);

OTELPROF_END_DECLS
#endif
