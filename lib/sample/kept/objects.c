/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kept/objects.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "process/generation.h"
#include "process/mappings/runtimes.h"
#include "process/program.h"
#include "process/registry.h"
#include "runtime/runtime.h"

static int read_copied(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	const struct op_copied_object *copied = (const struct op_copied_object *)m;
	size_t i;

	_Static_assert(offsetof(struct op_copied_object, memory) == 0, "it is the first");
	for (i = 0; i < copied->len; i++) {
		uint64_t off = addr - copied->piece[i].at;

		if (off > copied->piece[i].len || len > copied->piece[i].len - off)
			continue;
		memcpy(buf, copied->piece[i].bytes + off, len);
		return 0;
	}
	return -EFAULT;
}

int op_copied_object_read(const void *bytes, size_t len, struct op_copied_object *ret)
{
	const uint8_t *pos = bytes;
	struct op_copied_object copied = { .memory.read = read_copied };
	struct op_object_piece piece;
	size_t size;

	if (len < sizeof(copied.record))
		return -EBADMSG;
	memcpy(&copied.record, pos, sizeof(copied.record));
	pos += sizeof(copied.record);
	len -= sizeof(copied.record);
	while (len) {
		if (len < sizeof(piece) || copied.len == OP_ARRAY_SIZE(copied.piece))
			return -EBADMSG;
		memcpy(&piece, pos, sizeof(piece));
		pos += sizeof(piece);
		len -= sizeof(piece);
		size = OP_ALIGN_UP((size_t)piece.bytes, 8);
		if (size > len)
			return -EBADMSG;
		copied.piece[copied.len].at = piece.at;
		copied.piece[copied.len].bytes = pos;
		copied.piece[copied.len++].len = piece.bytes;
		pos += size;
		len -= size;
	}
	*ret = copied;
	return 0;
}

/* The instance to which the frame belongs, or NULL. */
static struct op_runtime_instance *instance_of(struct op_processes *processes,
					       const struct op_object_record *record)
{
	const struct op_proc *proc = op_registry_find(processes, record->pid);
	const struct op_mappings *before;
	struct op_proc_view view;

	if (!proc)
		return NULL;
	if (!op_proc_view_published(proc, record->generation, &view))
		view = op_proc_view_at(proc, record->time_ns, &before);
	return view.program ? op_program_runtimes_get(&view.program->runtimes,
						      op_frame_instance(record->frame))
			    : NULL;
}

int op_copied_object_keep(struct op_processes *processes, const void *bytes, size_t len)
{
	struct op_copied_object copied;
	const struct op_object_record *record = &copied.record;
	struct op_runtime_instance *instance;
	int r = op_copied_object_read(bytes, len, &copied);

	if (r < 0)
		return r;
	instance = instance_of(processes, record);
	if (!instance || !instance->ops->keep_object)
		return 0;
	r = instance->ops->keep_object(instance->instance,
				       record->frame & OP_FRAME_ADDRESS_MASK,
				       record->check, &copied.memory);
	return r == -ENOMEM ? r : 0; /* invalid objects get no name */
}
