/* SPDX-License-Identifier: Apache-2.0 */
/* Executable files as they come: each that is mapped is told of once, while somebody asks. */
#ifndef OP_IMAGE_NEWS_H
#define OP_IMAGE_NEWS_H

#include "image/executable.h"

struct op_opened;

enum {
	OP_NEWS_MAX =
		8192, /* files that wait; more are told of when they are mapped again */
};

/* From now on files are told of, each once; @on false: no more. */
void op_news_ask(struct op_executables *x, bool on);
/* @e is mapped at @place. */
void op_news_note(struct op_executables *x, struct op_executable *e,
		  const struct op_executable_place *place);
/* The next file, whose reference the caller drops. Returns whether there is one. */
bool op_news_take(struct op_executables *x, struct op_executable_new *ret);
/* Open it, as op_open_mapped(). */
int op_news_open(struct op_executables *x, const struct op_executable_new *n,
		 struct op_opened *ret);

#endif
