/* SPDX-License-Identifier: Apache-2.0 */
/* A category for each type of profile.frame.type, and one for all others. */
#include "recording/write/categories.h"

#include "recording/tree/view.h"

static const struct {
	const char *type;
	const char *name;
	const char *colour;
} categories[] = {
	{ "", "Other", "grey" },
	{ "native", "Native", "blue" },
	{ "kernel", "Kernel", "orange" },
	{ "go", "Go", "lightblue" },
	{ "cpython", "Python", "yellow" },
	{ "jvm", "Java", "red" },
	{ "v8js", "JavaScript", "green" },
	{ "php", "PHP", "purple" },
	{ "phpjit", "PHP, compiled", "magenta" },
	{ "ruby", "Ruby", "lightred" },
	{ "perl", "Perl", "brown" },
	{ "dotnet", ".NET", "darkgrey" },
};
enum {
	CATEGORIES = sizeof(categories) / sizeof(categories[0])
};

void categories_write(FILE *f)
{
	size_t i;

	(void)fputs("\"categories\":[", f);
	for (i = 0; i < CATEGORIES; i++)
		(void)fprintf(f,
			      "%s{\"name\":\"%s\",\"color\":\"%s\","
			      "\"subcategories\":[\"Other\"]}",
			      i ? ",\n" : "\n", categories[i].name, categories[i].colour);
	(void)fputs("]", f);
}

uint32_t category_of(const struct op_collect *c, uint32_t type)
{
	uint32_t i;

	for (i = 0; i < CATEGORIES; i++) {
		if (view_text_is(c, type, categories[i].type))
			return i;
	}
	return 0;
}
