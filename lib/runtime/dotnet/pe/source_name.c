/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe/source_name.h"

#include <string.h>

/* Where the part of @text between < and its > ends; NULL: it has none. The part may have such
 * parts itself. */
static const char *closing(const char *text)
{
	int depth = 0;

	if (*text != '<')
		return NULL;
	for (; *text; text++) {
		depth += (*text == '<') - (*text == '>');
		if (!depth)
			return text;
	}
	return NULL;
}

void op_runtime_dotnet_source_namespace(struct op_dotnet_source_name *name,
					const char *text)
{
	if (!*text)
		return;
	op_strbuf_puts(name->text, text);
	op_strbuf_puts(name->text, ".");
}

/* Add the method that the part between < and @end names, which may be a lambda itself. */
static void add_method(struct op_strbuf *to, const char *part, const char *end)
{
	const char *inner = closing(part);

	if (inner && inner < end && inner - part > 1)
		add_method(to, part + 1, inner);
	else
		op_strbuf_add(to, part, (size_t)(end - part));
}

void op_runtime_dotnet_source_type(struct op_dotnet_source_name *name, const char *text)
{
	const char *end = closing(text);

	name->machine[0] = 0;
	if (end > text + 1 && end[1] == 'd' &&
	    (!end[2] || strncmp(end + 2, "__", 2) == 0)) {
		size_t len = (size_t)(end - text - 1);

		if (len < sizeof(name->machine)) {
			memcpy(name->machine, text + 1, len);
			name->machine[len] = 0;
			return;
		}
	}
	if (end == text + 1 && end[1] == 'c' &&
	    (!end[2] || end[2] == '_' || end[2] == '`'))
		return; /* it holds lambdas */
	op_strbuf_puts(name->text, text);
	op_strbuf_puts(name->text, ".");
}

/* A method that the compiler made of one in the source. */
static void add_made(struct op_strbuf *to, const char *text, const char *end)
{
	const char *bar;

	add_method(to, text + 1, end);
	if (strncmp(end, ">g__", 4) == 0) {
		bar = strchr(end, '|');
		op_strbuf_puts(to, ".");
		op_strbuf_add(to, end + 4,
			      bar ? (size_t)(bar - end - 4) : strlen(end + 4));
	} else if (strncmp(end, ">b__", 4) == 0) {
		op_strbuf_puts(to, ".<lambda>");
	} else if (strcmp(end, ">$") !=
		   0) { /* that is <Main>$ of a program without Main */
		op_strbuf_puts(to, ".");
		op_strbuf_puts(to, end + 1);
	}
}

void op_runtime_dotnet_source_method(struct op_dotnet_source_name *name, const char *text)
{
	const char *end = closing(text);

	if (*name->machine) {
		const char *machine = name->machine;
		const char *last = closing(machine);

		/* the state machine of a lambda or of a local function */
		if (last && last > machine + 1)
			add_made(name->text, machine, last);
		else
			op_strbuf_puts(name->text, machine);
		if (strcmp(text, "MoveNext") == 0)
			return;
		op_strbuf_puts(name->text, ".");
	}
	if (end && end > text + 1)
		add_made(name->text, text, end);
	else
		op_strbuf_puts(name->text, text);
}
