/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a handle, shared by the files of this folder. */
#ifndef OP_API_HANDLE_H
#define OP_API_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"
#include "capture/capture.h"
#include "export/exporter.h"
#include "otelprof/otelprof.h"
#include "probe/probes.h"
#include "process/processes.h"
#include "profile/window.h"
#include "sample/sampler.h"
#include "symbol/kernel.h"
#include "unwind/arena.h"
#include "unwind/rules.h"

struct otelprof {
	struct op_log log;
	struct otelprof_config config; /* ours, whole */
	pid_t owner;		       /* getpid() at otelprof_init() */
	bool running;
	bool scanned;
	struct op_capture *capture;
	struct op_arena *arena;
	struct op_rules *rules;
	struct op_kernel_symbols *kernel;
	struct op_layouts *layouts; /* of layouts_dir; NULL: none */
	struct op_processes *processes;
	struct op_sampler *sampler;
	struct op_window *window;
	struct op_probes *probes;
	uint64_t kinds; /* that are on */
	struct op_exporters *exporters;
	uint64_t window_start_ns; /* Unix time */
	uint64_t records;	  /* taken out of the ring */
	uint64_t threads;	  /* samples of snapshots */
	uint64_t dropped[OP_DROPS];
	uint32_t wanted[OTELPROF_FILTER_RULES]; /* processes that the filter names */
	size_t wanted_len;
	uint64_t map_failures; /* of the arena, already told */
	uint64_t emitted;      /* samples of the window that is being encoded, so far */
	uint32_t rate_hz;
};

/* Returns 0, -EINVAL for NULL, -OTELPROF_E_FORKED in the child of a fork. */
int op_handle_check(struct otelprof *p);

#endif
