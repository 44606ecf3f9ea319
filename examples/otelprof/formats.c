/* SPDX-License-Identifier: Apache-2.0 */
#include "formats.h"

#include <string.h>

#include "common.h"

enum {
	LIST_BYTES = 512,
};

int format_by_name(const char *command, const char *name, enum form_use use,
		   const struct op_form **ret)
{
	char list[LIST_BYTES];

	*ret = form_by_name(strcmp(name, "md") == 0 ? "markdown" : name, use);
	if (*ret)
		return 0;
	(void)fail("--format takes %s, not \"%s\"",
		   form_list(use, FORM_NAMES, ", ", " or ", list, sizeof(list)), name);
	return usage_hint(command);
}

static bool ends_with(const char *path, const char *ending)
{
	size_t len = strlen(path), n = strlen(ending);

	return len > n && strcmp(path + len - n, ending) == 0;
}

static bool is_bare_json(const char *path, const struct op_form *f)
{
	static const char json[] = ".json";
	size_t i;

	for (i = 0; f->endings[i]; i++)
		if (strlen(f->endings[i]) > strlen(json) &&
		    ends_with(path, f->endings[i]))
			return false;
	return ends_with(path, json);
}

int format_by_ending(const char *command, const char *path, enum form_use use,
		     const struct op_form **ret)
{
	char list[LIST_BYTES];

	*ret = form_by_ending(path, use);
	/* Several formats are JSON: the whole ending tells them apart. */
	if (*ret && is_bare_json(path, *ret))
		note("the format of %s is %s: for another one use its ending, or --format",
		     path, (*ret)->name);
	if (*ret)
		return 0;
	if (strcmp(path, "-") == 0)
		(void)fail("standard output needs --format");
	else
		(void)fail(
			"the ending of \"%s\" names no format: use %s, or use --format",
			path,
			form_list(use, FORM_ENDINGS, ", ", " or ", list, sizeof(list)));
	return usage_hint(command);
}

void format_help(FILE *f, enum form_use use, int indent, const char *text)
{
	char names[LIST_BYTES], endings[LIST_BYTES], whole[2 * LIST_BYTES + LIST_BYTES];
	int column = fprintf(f, "      --format NAME");

	(void)form_list(use, use == FORM_REPORT ? FORM_HINTS : FORM_NAMES, ", ", " or ",
			names, sizeof(names));
	(void)form_list(use, FORM_ENDINGS, " ", " ", endings, sizeof(endings));
	(void)snprintf(whole, sizeof(whole), text, names, endings);
	print_wrapped(f, whole, column, indent);
}
