/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/check.h"

#include <errno.h>

#include "otlp/reader.h"

static int add_sample(void *data, const struct otlp_sample_view *s)
{
	struct request_counts *c = data;

	c->samples++;
	c->events += s->count;
	c->frames += s->frames_len;
	return 0;
}

/* Entry 0 of a table is none. */
static size_t entries(uint32_t len)
{
	return len ? len - 1 : 0;
}

int request_check(const void *request, size_t len, const struct request_checks *checks,
		  const char **ret_reason)
{
	struct otlp_profiles *p = NULL;
	struct request_counts c = { 0 };
	const char *reason = "out of memory";
	int r = otlp_read(request, len, &p, &reason);

	if (!r)
		r = otlp_each_sample(p, add_sample, &c);
	if (r)
		*ret_reason = r == -EFBIG ? "a request exceeds the limits" : reason;
	if (!r) {
		c.processes = p->resources.len;
		c.functions = entries(p->functions.len);
		c.stacks = entries(p->stacks.len);
		checks->counted(checks->data, &c);
		r = otlp_check(p, checks->broken, checks->data);
	}
	(void)otlp_free(p);
	return r;
}
