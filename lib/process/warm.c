/* SPDX-License-Identifier: Apache-2.0 */
/* Making a process's tables before its first sample: it was asked for by number. */
#include <errno.h>

#include "process/evict.h"
#include "process/layout.h"
#include "process/processes.h"
#include "process/publish.h"
#include "process/state.h"
#include "process/table.h"

int op_processes_warm(struct op_processes *p, uint32_t pid)
{
	struct op_proc *proc = op_table_find_alive(p, pid);
	size_t i;

	if (!proc || !proc->layout || !proc->program)
		return -ESRCH;
	for (i = 0; i < proc->layout->len; i++) {
		const struct op_vma *v = &proc->layout->vma[i];

		/* one that fails is walked by frame pointers, as at a first sample */
		if (v->exe && (v->flags & OP_MAPPING_LAZY))
			(void)op_evict_make_table(p, proc->program, v);
	}
	return op_publish(p, proc, true);
}
