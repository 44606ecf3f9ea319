/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that record and convert write, by name and by suffix of the file. */
#ifndef OTELPROF_FORMATS_H
#define OTELPROF_FORMATS_H

#include <stdint.h>

/* Formats that this program writes itself, not the library. */
#define FORMAT_OF_PROGRAM UINT32_C(0x80000000)
#define FORMAT_SPEEDSCOPE FORMAT_OF_PROGRAM
#define FORMAT_FIREFOX	  (FORMAT_OF_PROGRAM | 1)

struct output_format {
	const char *name;
	uint32_t format; /* OTELPROF_FORMAT_* or FORMAT_* */
	const char *default_path;
	const char *endings[5];
};

enum format_choice {
	FORMAT_OF_LIBRARY, /* formats that the library writes while it records */
	FORMAT_ANY,
};

/* Both return 0, or STATUS_USAGE after a message. */
int format_by_name(const char *command, const char *name, enum format_choice choice,
		   const struct output_format **ret);
int format_by_ending(const char *command, const char *path, enum format_choice choice,
		     const struct output_format **ret);
/* The same without a message: NULL for an unknown ending. */
const struct output_format *format_of_ending(const char *path);

#endif
