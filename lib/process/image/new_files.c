/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/new_files.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "process/target/target.h"

static void forget(struct op_executables *x)
{
	struct op_new_file n;

	while (op_new_files_take(x, &n))
		op_executable_put(x, n.exe);
	op_vec_clear(&x->new_files.queue);
}

void op_new_files_ask(struct op_executables *x, bool on)
{
	static const uint32_t FIRST = 1;

	forget(x);
	if (!on)
		x->new_files.round = 0;
	else
		x->new_files.round = ++x->new_files.rounds ? x->new_files.rounds : FIRST;
}

void op_new_files_note(struct op_executables *x, struct op_executable *e,
		       const struct op_executable_place *place)
{
	struct op_new_files *new_files = &x->new_files;
	struct op_new_file *n = NULL;

	if (!new_files->round || e->noted == new_files->round || e->vdso)
		return;
	if (new_files->queue.len < OP_NEW_FILES_MAX)
		n = op_vec_push(&new_files->queue);
	if (!n) {
		new_files->lost++;
		return;
	}
	if (e->noted)
		e->news_failed = 0; /* of an earlier round */
	*n = (struct op_new_file){ op_executable_ref(e), *place };
	e->noted = new_files->round;
}

bool op_new_files_take(struct op_executables *x, struct op_new_file *ret)
{
	struct op_new_files *new_files = &x->new_files;

	if (new_files->taken == new_files->queue.len) {
		new_files->taken = new_files->queue.len = 0;
		return false;
	}
	*ret = new_files->queue.data[new_files->taken++];
	return true;
}

int op_new_files_open(struct op_executables *x, const struct op_new_file *n,
		      struct op_opened *ret)
{
	struct op_executable *e = n->exe;
	uint64_t refused = x->target->stats.refused;
	int r = op_executable_open_mapped(x->target, e, &n->place, ret);

	if (r >= 0 || r == -ENOEXEC || r == -EFBIG)
		return r;
	if (r == -EAGAIN && x->target->stats.refused != refused)
		r = -EBUSY;
	if (r == -EBUSY || e->news_failed++ < OP_NEW_FILES_TRIES)
		e->noted = 0;
	else
		op_log(x->images.log, OP_LOG_DEBUG, "Cannot look into %s: %s", e->path,
		       strerror(-r));
	return r;
}
