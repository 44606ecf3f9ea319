/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of a probe, and the place that it names. */
#ifndef OP_PARTS_PROBES_SPEC_H
#define OP_PARTS_PROBES_SPEC_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_elf;

enum op_probe_type {
	OP_PROBE_KERNEL, /* kprobe */
	OP_PROBE_USER,
	OP_PROBE_STATIC, /* USDT */
	OP_PROBE_TRACEPOINT,
	OP_PROBE_EVENT, /* of perf */
};

enum {
	OP_PROBE_TEXT_BYTES = 1024, /* bytes of a specification, with its NUL */
	/* sites of a static probe, which an inlined function repeats */
	OP_PROBE_SITES_MAX = 16,
	OP_PROBE_TYPE_BYTES = 96,	  /* of a value's type or unit, with its NUL */
	OP_PROBE_NO_RETURN = EMEDIUMTYPE, /* -errno: the return cannot be probed */
};

/* The value that a probe takes at each hit. */
struct op_probe_value {
	bool wanted;
	bool is_signed;
	bool is_latency; /* latency in ns, at the return of a call */
	bool is_text;	 /* the string at that address */
	uint8_t bytes;	 /* 1, 2, 4 or 8 */
	uint32_t index;	 /* index of the argument; 0 for a return value */
};

/* An event of perf: what perf_event_open(2) wants. */
struct op_probe_event {
	uint32_t type; /* enum perf_type_id */
	uint64_t config;
	uint64_t period; /* events between two samples; 0: by frequency */
	uint32_t hz;	 /* samples a second and CPU; 0: by period */
	/* samples a second and CPU that are kept; 0: probe_samples of the settings */
	uint32_t most;
};

/* A parsed specification. The strings point into `text`. */
struct op_probe_spec {
	enum op_probe_type type;
	bool is_return;
	const char *file; /* absolute path, for user and static probes; else NULL */
	const char *provider;
	const char *symbol; /* or the name of a tracepoint or a static probe */
	uint64_t offset;    /* from the symbol */
	struct op_probe_value value;
	struct op_probe_event event;
	/* Type and unit of its values, or empty strings. */
	char type_name[OP_PROBE_TYPE_BYTES];
	char unit[OP_PROBE_TYPE_BYTES];
	char text[OP_PROBE_TEXT_BYTES];
};

/* The places in the file at which breakpoints are set. */
struct op_probe_place {
	uint32_t sites_len;
	uint64_t site[OP_PROBE_SITES_MAX];	/* file offsets */
	uint64_t semaphore[OP_PROBE_SITES_MAX]; /* of a static probe; 0: no semaphore */
	/* Of a static probe: the leading arguments that can be read at the site. */
	uint32_t arguments_len[OP_PROBE_SITES_MAX];
	struct op_argument argument[OP_PROBE_SITES_MAX][OP_ARGUMENTS_MAX];
};

/* Parse @text. Returns 0 or -EINVAL. @ret must not be moved, because it points into
 * itself. */
int op_probe_spec_parse(const char *text, struct op_probe_spec *ret);
/* Parse the event NAME, NAME@PERIOD or NAME@RATEhz into @ret's event, type and unit. @text is cut
 * at the @. Returns 0 or -EINVAL. */
int op_probe_event_parse(char *text, struct op_probe_spec *ret);
/* Find where the value of @spec is at site @site of @place. Returns 0, or -ERANGE if it
 * cannot be read there. */
int op_probe_value_place(const struct op_probe_spec *spec,
			 const struct op_probe_place *place, uint32_t site,
			 struct op_argument *ret);
/* Find the place in @elf, or in the file that @spec names. Returns 0, -ENOENT, or -errno of
 * reading. */
int op_probe_place_in(struct op_elf *elf, const struct op_probe_spec *spec,
		      struct op_probe_place *ret);
int op_probe_place_find(const struct op_probe_spec *spec, struct op_probe_place *ret);

#endif
