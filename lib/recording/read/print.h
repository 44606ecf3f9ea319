/* SPDX-License-Identifier: Apache-2.0 */
/* Prints foreign text, and names of functions. */
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
/* Like print_safe(), for the name of a function: short_name.h. */
void print_name(FILE *f, const char *name, int columns);
void print_json_string(FILE *f, const char *text, size_t len);
/* "1.25 s", "3.0 MiB", into @buf. */
void print_seconds(double s, char *buf, size_t size);
void print_bytes(double b, char *buf, size_t size);

/*
 * Shortens names of C++ and Rust functions that do not fit. It removes the parts that
 * distinguish functions least: first parameters, then nested template arguments, then
 * template arguments. A removed part becomes "…". --callers and --callees accept such
 * names.
 */

#define SHORT_MARK "…"

/* Shorten @name in place towards @columns, as far as possible. */
void name_shorten(char *name, int columns);

#endif
