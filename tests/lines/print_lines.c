/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the debug info of a file says of addresses that come, in hexadecimal, on standard
 * input: for each a line "ADDRESS", then a line "FUNCTION FILE:LINE" for each function at it. */
#include <inttypes.h>
#include <stdio.h>

#include "lines/debuginfo.h"

int main(int argc, char **argv)
{
	struct debuginfo_line lines[DEBUGINFO_LINES_MAX];
	struct debuginfo *d = NULL;
	uint64_t address;
	size_t n, i;

	if (argc != 2 || debuginfo_open(argv[1], &d) < 0)
		return 1;
	while (scanf("%" SCNx64, &address) == 1) {
		n = debuginfo_find(d, address, lines);
		(void)printf("%" PRIx64 "\n", address);
		for (i = 0; i < n; i++)
			(void)printf(" %s %s:%u\n",
				     lines[i].function ? lines[i].function : "-",
				     lines[i].file ? lines[i].file : "?", lines[i].line);
	}
	(void)debuginfo_free(d);
	return 0;
}
