/* SPDX-License-Identifier: Apache-2.0 */
/* Switches the kind on and off, and examines files for its probes as they are mapped. */
#include "parts/heap/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/slice.h"
#include "parts/heap/images.h"
#include "parts/heap/live.h"
#include "process/mappings/mappings.h"
#include "process/program.h"
#include "process/registry.h"
#include "process/target/open.h"
#include "sample/sampler.h"

#include "parts/heap/sampler_path.h"

/* how long after a failure the files that could not be opened are tried again */
enum {
	TURN_PARTS = 4, /* a poll's share for files */
};

#define AGAIN_NS UINT64_C(200000000)

struct op_heap {
	struct op_heap_config config;
	struct op_heap_images images;
	struct op_live live;
	bool on;
	bool busy;	   /* nothing can be opened until again_ns */
	uint64_t again_ns; /* look again for files that could not be opened; 0: none */
	bool reported;	   /* logged that the probes of a file could not be attached */
};

static void keep(void *ctx, const struct op_record *record,
		 const struct op_window *window, const struct op_window_sample *sample)
{
	struct op_heap *h = ctx;

	op_live_keep(&h->live, &h->images.maps, record, window, sample);
}

int op_heap_new(const struct op_heap_config *config, struct op_heap **ret)
{
	_cleanup_(op_heap_freep) struct op_heap *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->config = *config;
	h->images.log = config->log;
	h->images.capture = config->capture;
	h->images.executables = op_processes_executables(config->processes);
	h->images.sysfs_root = config->sysfs_root;
	op_heap_images_init(&h->images);
	r = op_live_init(&h->live, config->processes);
	if (r < 0)
		return r;
	op_sampler_watch(config->sampler, OP_EVENT_HEAP, keep, h);
	*ret = OP_TAKE_PTR(h);
	return 0;
}

struct op_heap *op_heap_free(struct op_heap *h)
{
	if (!h)
		return NULL;
	op_new_files_ask(h->images.executables, false);
	op_sampler_watch(h->config.sampler, OP_EVENT_HEAP, NULL, NULL);
	op_heap_images_deinit(&h->images);
	op_live_deinit(&h->live);
	free(h);
	return NULL;
}

/* Treat every file that the process @proc maps as new. */
static void note_process(struct op_processes *p, struct op_proc *proc)
{
	struct op_proc_view view = op_proc_view_now(proc);
	size_t i;

	for (i = 0; i < view.mappings->len; i++) {
		const struct op_mapping *vma = &view.mappings->vma[i];

		if (vma->exe)
			op_new_files_note(op_processes_executables(p), vma->exe,
					  &(struct op_executable_place){
						  .pid = view.program->proc_pid,
						  .start = vma->start,
						  .end = vma->end });
	}
}

/* Log an error of attaching, once as a warning. Returns 0 or -errno. */
static int tell(struct op_heap *h, const char *path, int error)
{
	if (error >= 0)
		return 0;
	if (!h->reported && error != -ENOMEM)
		op_log(h->config.log, OP_LOG_WARNING,
		       "the probes of allocations in %s could not be attached (%s): what its "
		       "processes allocate is not seen",
		       path, strerror(-error));
	h->reported = true;
	return error;
}

static void look_into(struct op_heap *h, const struct op_new_file *n)
{
	struct op_opened opened;
	int r = op_new_files_open(h->images.executables, n, &opened);

	if (r < 0) {
		h->busy = r == -EBUSY;
		if (!n->exe->noted)
			h->again_ns = op_clock_monotonic_ns() + AGAIN_NS;
		return;
	}
	if (opened.served) {
		op_closep(&opened.fd);
		return;
	}
	(void)tell(h, n->exe->path, op_heap_images_add(&h->images, n->exe, opened.fd));
}

/* Examine the next file that was mapped. Returns false if there was none, or if it has to
 * wait. */
static bool look_into_next(struct op_heap *h)
{
	struct op_new_file n;

	if (h->busy || !op_new_files_take(h->images.executables, &n))
		return false;
	look_into(h, &n);
	op_executable_put(h->images.executables, n.exe);
	return true;
}

bool op_heap_poll(struct op_heap *h, const struct op_turn *turn)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t end = op_turn_part(turn, now, TURN_PARTS);

	if (h->on && h->again_ns && now >= h->again_ns) {
		h->again_ns = 0;
		h->busy = false;
		/* perhaps another process maps them, or has mapped them all the time */
		op_registry_each(h->config.processes, note_process);
	}
	while (h->on && look_into_next(h))
		if (op_clock_monotonic_ns() >= end)
			return true;
	return false;
}

/* Attach to the installed sampler, so that new processes are seen from their first call
 * on. */
static int attach_installed(struct op_heap *h)
{
	int fd = op_open(OP_HEAP_SAMPLER, O_RDONLY);

	if (fd < 0)
		return 0;
	return tell(h, OP_HEAP_SAMPLER, op_heap_images_add(&h->images, NULL, fd));
}

int op_heap_switch(struct op_heap *h, bool on)
{
	if (h->on == on)
		return 0;
	h->on = on;
	h->reported = false;
	h->busy = false;
	h->again_ns = 0;
	op_new_files_ask(h->images.executables, on);
	if (!on) {
		/* what is in use may still be asked for */
		op_heap_images_clear(&h->images);
		return 0;
	}
	/* Frees in the meantime were not seen, so what was in use is unknown now. */
	op_heap_images_deinit(&h->images);
	op_live_reset(&h->live);
	/* here, since no poll has the time */
	op_heap_images_prepare(&h->images);
	(void)attach_installed(h);
	op_registry_each(h->config.processes, note_process);
	while (look_into_next(h))
		;
	return 0;
}

int op_heap_snapshot(struct op_heap *h, struct op_window *window,
		     struct op_heap_taken *ret)
{
	op_heap_images_trim(&h->images);
	if (h->images.maps.lives < 0)
		return 0;
	return op_live_snapshot(&h->live, &h->images.maps, window, ret);
}

void op_heap_get_stats(const struct op_heap *h, struct op_heap_stats *ret)
{
	*ret = (struct op_heap_stats){ .live = h->live.count,
				       .images = h->images.len,
				       .untracked = h->live.unknown };
}
