/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does /proc still describe the program of a sample? The process may have executed
 * another program, or ended, and another process may have got its pid.
 */
#include "base/io.h"
#include "process/program.h"
#include "process/resource/identity.h"
#include "process/state.h"

/* The largest difference between a process's start in /proc and its fork event: a tick,
 * and rounding. */
static const uint64_t SAME_START_NS = UINT64_C(100000000);

bool op_same_process(const struct op_program *program, const struct op_stat *stat)
{
	/* the wall clock may be set, so it is not used; time asleep makes the sum only
	 * smaller */
	uint64_t asleep = op_clock_boottime_ns() - op_clock_monotonic_ns();

	/* a thread that replaces an exited leader began later, too */
	return !program->born_ns || program->proc_pid != program->pid ||
	       stat->start_ns < asleep + program->born_ns + SAME_START_NS;
}

const struct op_mapping *op_same_code(const struct op_stat *stat,
				      const struct op_mappings *mappings)
{
	size_t i;

	for (i = 0; mappings && stat->end_code > 1 && i < mappings->len; i++) {
		const struct op_mapping *vma = &mappings->vma[i];

		/* end_code is the first byte after the code */
		if (stat->end_code > vma->start && stat->end_code <= vma->end)
			return vma;
	}
	return NULL;
}

bool op_same_program(const struct op_stat *stat, const struct op_mappings *mappings)
{
	size_t i;

	if (!mappings || stat->end_code <= 1 || op_same_code(stat, mappings))
		return true;
	for (i = 0; i < mappings->len; i++)
		if (mappings->vma[i].exe)
			return false;
	return true;
}

bool op_same_runs(struct op_processes *p, const struct op_program *program,
		  const struct op_mappings *mappings, struct op_stat *ret)
{
	struct op_stat stat;

	if (!ret)
		ret = &stat;
	return !program->until_ns && !program->memory.gone &&
	       op_stat_read(p->procfs_root, program->proc_pid, ret) == 0 &&
	       op_same_process(program, ret) && op_same_program(ret, mappings);
}

bool op_same_exec(struct op_processes *p, const struct op_program *program,
		  const struct op_stat *before)
{
	struct op_stat stat;

	return op_stat_read(p->procfs_root, program->proc_pid, &stat) == 0 &&
	       op_same_process(program, &stat) && op_stat_same_exec(&stat, before);
}
