/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the specification of a probe. */
#include "parts/probes/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"

static const char LATENCY[] = "latency";
static const char TEXT[] = ".str";

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
	{ "perf", OP_PROBE_EVENT, false },
};

enum {
	ARGUMENT_INDEX_MAX = OP_ARGUMENTS_MAX - 1,
	DIGITS_MAX = 2, /* of it */
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

/* Parse "latency", "argN", "retval", or one of the last two with ".u32", ".s64" and the
 * like, or ".str". */
static bool take_value(const char *text, bool is_return, struct op_probe_value *ret)
{
	struct op_probe_value value = { .wanted = true, .bytes = 8 };
	size_t digits = strncmp(text, "arg", 3) ? 0 : strspn(text + 3, "0123456789");
	unsigned long bits;
	char *end;

	if (!strcmp(text, LATENCY) && is_return) {
		value.is_latency = true;
		*ret = value;
		return true;
	}
	if (!strncmp(text, "retval", strlen("retval"))) {
		end = (char *)text + strlen("retval");
	} else if (digits && digits <= DIGITS_MAX && (digits == 1 || text[3] != '0')) {
		value.index = (uint32_t)strtoul(text + 3, &end, 10);
	} else {
		return false;
	}
	if ((text[0] == 'r') != is_return || value.index > ARGUMENT_INDEX_MAX)
		return false;
	if (!strcmp(end, TEXT)) {
		value.is_text = true;
		end += strlen(TEXT);
	} else if (*end == '.' && (end[1] == 's' || end[1] == 'u')) {
		value.is_signed = end[1] == 's';
		bits = strtoul(end + 2, &end, 10);
		if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
			return false;
		value.bytes = (uint8_t)(bits / 8);
	}
	if (*end)
		return false;
	*ret = value;
	return true;
}

/* Copy @text as the name of a type: back ends take letters, digits and underscores. */
static void name_type(char ret[static OP_PROBE_TYPE_BYTES], const char *text)
{
	size_t at = strlen(ret);

	for (; *text && at + 1 < OP_PROBE_TYPE_BYTES; text++)
		ret[at++] = isalnum((unsigned char)*text) ? *text : '_';
	ret[at] = '\0';
}

static bool is_unit(const char *text)
{
	return *text && strlen(text) < OP_PROBE_TYPE_BYTES &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_/{}%") == strlen(text);
}

/* Cut ":VALUE" or ":VALUE:UNIT" from the end of @text. Returns 0 or -EINVAL. */
static int cut_value(char *text, struct op_probe_spec *ret)
{
	char *last = strrchr(text, ':');
	char value[OP_PROBE_TYPE_BYTES] = "";
	char *before = NULL;

	if (!last)
		return 0;
	if (!take_value(last + 1, ret->is_return, &ret->value)) {
		*last = '\0';
		before = strrchr(text, ':');
		if (!before || !take_value(before + 1, ret->is_return, &ret->value)) {
			*last = ':';
			return 0;
		}
		if (!is_unit(last + 1) || ret->value.is_latency || ret->value.is_text)
			return -EINVAL;
		memcpy(ret->unit, last + 1, strlen(last + 1) + 1);
		last = before;
	} else {
		(void)snprintf(ret->unit, sizeof(ret->unit), "%s",
			       ret->value.is_latency ? "nanoseconds" : "1");
	}
	*last = '\0';
	/* "latency", "retval" or "argNN", by take_value() */
	memcpy(value, last + 1, OP_MIN(strcspn(last + 1, "."), sizeof(value) - 1));
	memcpy(ret->type_name, value, sizeof(value));
	return 0;
}

/* The type of a probe's values is SYMBOL_argN. */
static void complete_type(struct op_probe_spec *ret)
{
	char value[OP_PROBE_TYPE_BYTES];
	size_t room;

	if (!ret->value.wanted)
		return;
	memcpy(value, ret->type_name, sizeof(value));
	ret->type_name[0] = '\0';
	name_type(ret->type_name, ret->symbol);
	room = OP_PROBE_TYPE_BYTES - strlen(value) - 2;
	if (strlen(ret->type_name) > room)
		ret->type_name[room] = '\0';
	name_type(ret->type_name, "_");
	name_type(ret->type_name, value);
}

static bool ends_with_latency(const char *text)
{
	const char *last = text ? strrchr(text, ':') : NULL;

	return last && !strcmp(last + 1, LATENCY);
}

int op_probe_spec_parse(const char *text, struct op_probe_spec *ret)
{
	size_t len = strlen(text);
	char *at = ret->text;
	int r = 0;

	if (len >= sizeof(ret->text))
		return -EINVAL;
	memcpy(ret->text, text, len + 1);
	ret->file = ret->provider = NULL;
	ret->offset = 0;
	ret->value = (struct op_probe_value){ 0 };
	ret->event = (struct op_probe_event){ 0 };
	ret->type_name[0] = ret->unit[0] = '\0';
	if (take_type(cut(&at), ret) < 0)
		return -EINVAL;
	/* latency is measured at the return */
	if (ret->type == OP_PROBE_USER && ends_with_latency(at))
		ret->is_return = true;
	if (ret->type == OP_PROBE_EVENT) {
		ret->symbol = at;
		return at && *at ? op_probe_event_parse(at, ret) : -EINVAL;
	}
	if (at && cut_value(at, ret) < 0)
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
		r = take_offset(at, ret);
	if (ret->value.is_latency && ret->type != OP_PROBE_USER)
		return -EINVAL;
	/* a program could have the kernel's memory read */
	if (ret->value.is_text && !ret->file)
		return -EINVAL;
	/* behind its first instruction, a function's arguments may be overwritten */
	if (r == 0 && ret->value.wanted && ret->offset)
		return -EINVAL;
	complete_type(ret);
	return r;
}
