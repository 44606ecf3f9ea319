/* SPDX-License-Identifier: Apache-2.0 */
/* Prints text that is foreign, and names of functions. */
#ifndef OP_RECORDING_READ_PRINT_H
#define OP_RECORDING_READ_PRINT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* May colours be printed to @f? It must be a terminal that is not dumb,
 * without NO_COLOR. */
bool colour_wanted(FILE *f);
/* Print @text as text.h shows it. @columns > 0: cut or padded to that width; < 0: only cut; 0: as
 * a whole. */
void print_safe(FILE *f, const char *text, size_t len, int columns);
void print_text(FILE *f, const char *text);
void print_formatted(FILE *f, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/* The same into @buf. */
void show_text(const char *text, char *buf, size_t size);
/* Print several lines, with a newline after the last. */
void print_lines(FILE *f, const char *text);
/* As print_safe(), of the name of a function: short_name.h. */
void print_name(FILE *f, const char *name, int columns);
void print_json_string(FILE *f, const char *text, size_t len);
/* "1.25 s", "3.0 MiB", into @buf. */
void print_seconds(double s, char *buf, size_t size);
void print_bytes(double b, char *buf, size_t size);

/*
 * Names of C++ and Rust functions that do not fit. What tells functions apart best is
 * kept: first the parameters go, then what is nested in template arguments, then these.
 * What was cut is a "…"; --callers and --callees take such names.
 */

#define SHORT_MARK "…"

/* Shorten @name in place, as far as it can be, towards @columns. */
void name_shorten(char *name, int columns);

#endif
