/* SPDX-License-Identifier: Apache-2.0 */
/* Splits lines and parses numbers of layout files. */
#include "runtime/layouts_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/hex.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '+';
}

/* Cut white space off both ends of @s. */
static char *trim(char *s)
{
	size_t len;

	while (is_blank(*s))
		s++;
	len = strlen(s);
	while (len && is_blank(s[len - 1]))
		s[--len] = 0;
	return s;
}

/* Is @s one word? */
static bool one_word(const char *s)
{
	if (!*s)
		return false;
	while (is_word(*s))
		s++;
	return !*s;
}

static const char *take_section(char *s, struct op_layouts_line *ret)
{
	static const char wrong[] =
		"a section begins with [RUNTIME VERSION], for example [python 3.14]";
	size_t len = strlen(s);
	char *second;

	if (len < 2 || s[len - 1] != ']')
		return wrong;
	s[len - 1] = 0;
	s = trim(s + 1);
	second = strpbrk(s, " \t");
	if (!second)
		return wrong;
	*second = 0;
	second = trim(second + 1);
	if (!one_word(s) || !one_word(second))
		return wrong;
	ret->kind = OP_LAYOUTS_SECTION;
	ret->first = s;
	ret->second = second;
	return NULL;
}

const char *op_layouts_line(const char *text, size_t len, struct op_layouts_line *ret)
{
	char *equals;
	char *s;

	ret->kind = OP_LAYOUTS_NOTHING;
	if (len > OP_LAYOUTS_LINE_MAX)
		return "the line has more than 256 bytes; make it shorter";
	memcpy(ret->text, text, len);
	ret->text[len] = 0;
	if (strlen(ret->text) != len)
		return "the line has a NUL byte; write the file as plain text";
	s = strchr(ret->text, '#');
	if (s)
		*s = 0;
	s = trim(ret->text);
	if (!*s)
		return NULL;
	if (*s == '[')
		return take_section(s, ret);
	equals = strchr(s, '=');
	if (!equals)
		return "the line is not a section, a comment or \"key = value\"";
	*equals = 0;
	ret->kind = OP_LAYOUTS_ENTRY;
	ret->first = trim(s);
	ret->second = trim(equals + 1);
	if (!one_word(ret->first))
		return "one key goes before \"=\"";
	if (!*ret->second)
		return "a value goes after \"=\"";
	return NULL;
}

size_t op_layouts_next(const char **at, char *ret, size_t size)
{
	size_t len = 0;

	while (is_blank(**at))
		(*at)++;
	for (; **at && !is_blank(**at); (*at)++)
		if (len + 1 < size)
			ret[len++] = **at;
	ret[len] = 0;
	return len;
}

int op_layouts_number(const char *word, uint64_t *ret)
{
	uint32_t base = 10;
	uint64_t value = 0;

	if (word[0] == '0' && word[1] == 'x') {
		base = 16;
		word += 2;
	}
	if (!*word)
		return -EINVAL;
	for (; *word; word++) {
		int digit = op_hex_digit(*word);

		if (digit < 0 || (uint32_t)digit >= base ||
		    value > (UINT64_MAX - (uint32_t)digit) / base)
			return -EINVAL;
		value = value * base + (uint32_t)digit;
	}
	*ret = value;
	return 0;
}
