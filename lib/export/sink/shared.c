/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sink/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

int op_shared_new(int level, struct op_shared **ret)
{
	_cleanup_free_ struct op_shared *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->users = 1;
	r = op_ledger_init(&s->ledger);
	if (r < 0)
		return r;
	r = op_notes_init(&s->notes, level);
	if (r < 0) {
		op_ledger_deinit(&s->ledger);
		return r;
	}
	*ret = OP_TAKE_PTR(s);
	return 0;
}

struct op_shared *op_shared_ref(struct op_shared *s)
{
	if (s)
		(void)__atomic_add_fetch(&s->users, 1, __ATOMIC_RELAXED);
	return s;
}

struct op_shared *op_shared_unref(struct op_shared *s)
{
	if (!s || __atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL))
		return NULL;
	op_notes_deinit(&s->notes);
	op_ledger_deinit(&s->ledger);
	free(s);
	return NULL;
}
