/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts: offsets that no process publishes, in text files with a section for each
 * version of a runtime:
 *
 *     # where each number comes from
 *     [python 3.14]
 *     like = 3.13            # all other keys are as in that section
 *     frame_mark = 74
 *     flags = relative mark_hidden function
 *
 * Each runtime has a file of sections beside its sources, which is built in. The user's
 * files, NAME.layout in a directory named by the configuration, add sections or replace
 * them. A runtime gives a schema: its keys, and where their values go. See
 * docs/layouts.md.
 */
#ifndef OP_RUNTIME_LAYOUTS_H
#define OP_RUNTIME_LAYOUTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"

enum {
	OP_LAYOUTS_VERSION_MAX = 31, /* bytes of a version string */
	OP_LAYOUTS_ERROR_MAX = 448,  /* bytes of an error sentence, with its NUL */
	OP_LAYOUTS_SECTIONS_MAX = 256,
	OP_LAYOUTS_FILES_MAX = 64,
	OP_LAYOUTS_FILE_BYTES_MAX = 64 << 10,
};

struct op_layouts_word {
	const char *name;
	uint64_t value;
};

/* One key of a schema. */
struct op_layouts_field {
	const char *key;
	uint32_t at;	/* offset of the member in the runtime's struct */
	uint32_t bytes; /* bytes of one number: 1, 2, 4 or 8 */
	uint32_t count; /* count of numbers; all must be given */
	/* The value is some of these words, joined by |; ends at a NULL name. NULL:
	 * numbers. */
	const struct op_layouts_word *words;
};

/* A key that has the name of its member in @type, with one number. */
#define OP_LAYOUTS_FIELD(type, member)                                                   \
	{                                                                                \
#member, offsetof(type, member), sizeof(((type *)0)->member), 1, NULL    \
	}

struct op_layouts_schema {
	const char *runtime; /* the first word of its section heads: "python" */
	const char *title;   /* for people: "CPython" */
	size_t bytes;	     /* of the runtime's struct; members without a key are 0 */
	const struct op_layouts_field *field;
	size_t fields;
	const unsigned char *built_in; /* its own sections, with a NUL at the end */
	/* Returns NULL if @layout is valid, otherwise what is wrong with it:
	 * "frame_code is ...". */
	const char *(*check)(const void *layout);
};

/* The user's sections. */
struct op_layouts;

/* Returns 0 or -ENOMEM. */
int op_layouts_new(struct op_layouts **ret);
/* Allow sections of @schema's runtime. Borrows @schema. Returns 0 or -ENOMEM. */
int op_layouts_add(struct op_layouts *layouts, const struct op_layouts_schema *schema);
struct op_layouts *op_layouts_free(struct op_layouts *layouts);
OP_DEFINE_CLEANUP(struct op_layouts *, op_layouts_free)

/* Add the sections of @text, the content of @file. Returns 0; -ENOMEM; or -EINVAL with a
 * sentence in @ret_error. After an error none of them is added. */
int op_layouts_read(struct op_layouts *layouts, const char *file, const char *text,
		    size_t len, char ret_error[OP_LAYOUTS_ERROR_MAX]);

/*
 * Find the section of @version ("3.14"): the user's last one, else the built-in one.
 * @layouts: NULL if the user has none. Returns 0 with *@ret (schema->bytes), -ENOENT or
 * -ENOMEM.
 */
int op_layouts_find(const struct op_layouts *layouts,
		    const struct op_layouts_schema *schema, const char *version,
		    void *ret);

/* The same for a version of two numbers: 0x030e is 3.14. */
int op_layouts_find_number(const struct op_layouts *layouts,
			   const struct op_layouts_schema *schema, uint16_t version,
			   void *ret);

/* Warn the user that @path is a version of a runtime without a section, with the
 * remedy. Returns -ENOTSUP. */
int op_layouts_unknown(const struct op_layouts_schema *schema, const char *version,
		       const char *path, struct op_log *log);

/* The number of sections from the user's files. */
size_t op_layouts_count(const struct op_layouts *layouts);

/* Reads a directory of layout files that the user named. */

/*
 * Read the files NAME.layout of @dir in the order of their names. The directory and the
 * files must belong to root or to this process's user, and nobody else may write them. A
 * file with an error is left out with a warning. Returns 0, or -errno with a sentence if
 * @dir cannot be used.
 */
int op_layouts_read_dir(struct op_layouts *layouts, const char *dir, struct op_log *log);

#endif
