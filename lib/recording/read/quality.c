/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/quality.h"

#include <string.h>

bool quality_is_ending(const char *name, size_t len)
{
	static const char *const endings[] = { "[unwind error: ", "[truncated]",
					       "[no unwind table yet]", "[stack lost]" };
	size_t i, n;

	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		n = strlen(endings[i]);
		if (len >= n && memcmp(name, endings[i], n) == 0)
			return true;
	}
	return false;
}

static bool is_text(const char *name, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(name, text, len) == 0;
}

/* Of "[unwind error: NAME]". */
static const char *words_of_error(const char *name, size_t len)
{
	static const char before[] = "[unwind error: ";
	static const struct {
		const char *name;
		const char *words;
	} errors[] = {
#define OP_ERROR(number, name, sentence) { #name, sentence },
#include "op_errors.def"
#undef OP_ERROR
	};
	size_t n = sizeof(before) - 1, i;

	if (len <= n || memcmp(name, before, n) != 0 || name[len - 1] != ']')
		return NULL;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (is_text(name + n, len - n - 1, errors[i].name))
			return errors[i].words;
	}
	return NULL;
}

const char *quality_words(const char *name, size_t len)
{
	static const struct {
		const char *name;
		const char *words;
	} known[] = {
		{ "[truncated]",
		  "The stack is longer than --max-frames; its outer frames are missing." },
		{ "[no unwind table yet]",
		  "The table that leads to the callers was not made yet; this passes." },
		{ "[stack lost]", "The stack was sent once and did not arrive." },
		{ "[running]",
		  "The thread was on a CPU, where a stack cannot be read from outside." },
		{ "[frames left out]", "Frames in the middle of a long stack." },
		{ "[other stacks]",
		  "Stacks beyond the number that a report tells apart." },
		{ "[kernel]", "The kernel's names are hidden on that host." },
		{ "[V8 code]", "Code of V8's own without a function." },
		{ "[WebAssembly]", "WebAssembly code without a name." },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (is_text(name, len, known[i].name))
			return known[i].words;
	}
	return words_of_error(name, len);
}
