/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the specification of a probe. */
#include "probe/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"

static const struct {
	const char *name;
	enum op_probe_type type;
	bool is_return;
} TYPES[] = {
	{ "kprobe", OP_PROBE_KERNEL, false },
	{ "kretprobe", OP_PROBE_KERNEL, true },
	{ "uprobe", OP_PROBE_USER, false },
	{ "uretprobe", OP_PROBE_USER, true },
	{ "usdt", OP_PROBE_STATIC, false },
	{ "tracepoint", OP_PROBE_TRACEPOINT, false },
};

/* Cut *@at at its first colon and return the part before it. *@at becomes the part after
 * it, or NULL. */
static char *cut(char **at)
{
	char *begin = *at;
	char *colon = begin ? strchr(begin, ':') : NULL;

	if (colon)
		*colon = '\0';
	*at = colon ? colon + 1 : NULL;
	return begin;
}

static int take_type(const char *type, struct op_probe_spec *ret)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(TYPES); i++)
		if (!strcasecmp(TYPES[i].name, type)) {
			ret->type = TYPES[i].type;
			ret->is_return = TYPES[i].is_return;
			return 0;
		}
	return -EINVAL;
}

/* Parse "SYMBOL" or "SYMBOL+OFFSET". */
static int take_offset(char *symbol, struct op_probe_spec *ret)
{
	char *plus = strchr(symbol, '+');
	char *end = NULL;

	if (!plus)
		return 0;
	*plus = '\0';
	if (plus[1] < '0' || plus[1] > '9' || plus == symbol)
		return -EINVAL;
	errno = 0;
	ret->offset = strtoull(plus + 1, &end, 0);
	return errno || *end ? -EINVAL : 0;
}

int op_probe_spec_parse(const char *text, struct op_probe_spec *ret)
{
	size_t len = strlen(text);
	char *at = ret->text;

	if (len >= sizeof(ret->text))
		return -EINVAL;
	memcpy(ret->text, text, len + 1);
	ret->file = ret->provider = NULL;
	ret->offset = 0;
	if (take_type(cut(&at), ret) < 0)
		return -EINVAL;
	if (ret->type == OP_PROBE_USER || ret->type == OP_PROBE_STATIC) {
		ret->file = cut(&at);
		if (!ret->file || ret->file[0] != '/')
			return -EINVAL;
	}
	if (ret->type == OP_PROBE_STATIC) {
		ret->provider = cut(&at);
		if (!ret->provider || !*ret->provider)
			return -EINVAL;
	}
	/* The group of a tracepoint is optional and ignored. */
	if (ret->type == OP_PROBE_TRACEPOINT && at && strchr(at, ':'))
		(void)cut(&at);
	if (!at || !*at)
		return -EINVAL;
	ret->symbol = at;
	if (ret->type == OP_PROBE_USER || ret->type == OP_PROBE_KERNEL)
		return take_offset(at, ret);
	return 0;
}
