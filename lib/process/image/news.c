/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/news.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "process/target/target.h"

static void forget(struct op_executables *x)
{
	struct op_executable_new n;

	while (op_news_take(x, &n))
		op_executable_put(x, n.exe);
	op_vec_clear(&x->news.queue);
}

void op_news_ask(struct op_executables *x, bool on)
{
	static const uint32_t FIRST = 1;

	forget(x);
	if (!on)
		x->news.round = 0;
	else
		x->news.round = ++x->news.rounds ? x->news.rounds : FIRST;
}

void op_news_note(struct op_executables *x, struct op_executable *e,
		  const struct op_executable_place *place)
{
	struct op_executable_news *news = &x->news;
	struct op_executable_new *n = NULL;

	if (!news->round || e->noted == news->round || e->vdso)
		return;
	if (news->queue.len < OP_NEWS_MAX)
		n = op_vec_push(&news->queue);
	if (!n) {
		news->lost++;
		return;
	}
	if (e->noted)
		e->news_failed = 0; /* of an earlier round */
	*n = (struct op_executable_new){ op_executable_ref(e), *place };
	e->noted = news->round;
}

bool op_news_take(struct op_executables *x, struct op_executable_new *ret)
{
	struct op_executable_news *news = &x->news;

	if (news->taken == news->queue.len) {
		news->taken = news->queue.len = 0;
		return false;
	}
	*ret = news->queue.data[news->taken++];
	return true;
}

int op_news_open(struct op_executables *x, const struct op_executable_new *n,
		 struct op_opened *ret)
{
	struct op_executable *e = n->exe;
	uint64_t refused = x->target->stats.refused;
	int r = op_executable_open_mapped(x->target, e, &n->place, ret);

	if (r >= 0 || r == -ENOEXEC || r == -EFBIG)
		return r;
	if (r == -EAGAIN && x->target->stats.refused != refused)
		r = -EBUSY;
	if (r == -EBUSY || e->news_failed++ < OP_NEWS_TRIES)
		e->noted = 0;
	else
		op_log(x->images.log, OP_LOG_DEBUG, "Cannot look into %s: %s", e->path,
		       strerror(-r));
	return r;
}
