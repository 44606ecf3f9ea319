/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that record and convert write, by name and by the ending of a file. */
#ifndef OTELPROF_FORMATS_H
#define OTELPROF_FORMATS_H

#include <stdint.h>

/* A format of the program alone, which the library does not write. */
#define FORMAT_SPEEDSCOPE UINT32_C(0x80000000)

struct output_format {
	const char *name;
	uint32_t format; /* OTELPROF_FORMAT_*, or FORMAT_SPEEDSCOPE */
	const char *default_path;
	const char *endings[5];
};

enum format_choice {
	FORMAT_OF_LIBRARY, /* what the library writes while it records */
	FORMAT_ANY,
};

/* Returns 0, or STATUS_USAGE after saying what is wrong. */
int format_by_name(const char *command, const char *name, enum format_choice choice,
		   const struct output_format **ret);
int format_by_ending(const char *command, const char *path, enum format_choice choice,
		     const struct output_format **ret);

#endif
