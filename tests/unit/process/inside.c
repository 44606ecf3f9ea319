/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

#include "process/image/file.h"
#include "process/image/memory_use.h"
#include "process/registry.h"
#include "process/state.h"

uint32_t inside_readings(const struct op_processes *p)
{
	return p->sweep.number;
}

void inside_reading_lasted(struct op_processes *p, uint64_t ns)
{
	p->sweep.reread = TAILQ_FIRST(&p->sweep.used);
	p->sweep.began_ns -= ns;
}

bool inside_reads(const struct op_processes *p, uint32_t pid)
{
	const struct op_proc *proc = op_registry_find(p, pid);

	return proc && proc->reading;
}

int inside_scan(struct op_processes *p)
{
	int r = op_processes_scan_begin(p);

	while (r == 0 && op_sweep_run(p, 20000000))
		continue;
	return r;
}

bool inside_settles_on(const struct op_processes *p)
{
	return p->settle_on;
}

uint64_t inside_context(const struct op_processes *p, uint32_t pid)
{
	const struct op_proc *proc = op_registry_find(p, pid);

	return proc ? proc->program->context.addr : 0;
}

uint64_t inside_name_bytes(struct op_processes *p)
{
	return op_images_name_bytes(op_processes_images(p));
}

size_t inside_jobs(struct op_processes *p)
{
	return p->executables.images.jobs;
}

void inside_close_jobs(struct op_processes *p)
{
	struct op_images *images = &p->executables.images;
	struct op_image *image;

	TAILQ_FOREACH(image, &images->lru, lru)
		if (image->job.running)
			op_image_close_file(images, image);
}

void inside_log(struct op_processes *p, struct op_log *log)
{
	p->config.log = log;
}

void inside_runtime(struct op_processes *p, uint32_t pid, uint64_t addr,
		    const struct op_runtime_ops *ops)
{
	const struct op_mappings *mappings = op_registry_find(p, pid)->mappings;
	size_t i;

	for (i = 0; i < mappings->len; i++)
		if (addr >= mappings->vma[i].start && addr < mappings->vma[i].end)
			mappings->vma[i].exe->image->runtime = ops;
}
