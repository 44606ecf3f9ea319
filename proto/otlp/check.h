/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of otlp_check() share: check.c and check_tables.c. */
#ifndef OTLP_CHECK_H
#define OTLP_CHECK_H

#include "otlp/reader.h"

enum rule {
	RULE_ZERO_ENTRY,
	RULE_INDEX,
	RULE_UTF8,
	RULE_DUPLICATE,
	RULE_ORPHAN,
	RULE_EMPTY_LIST,
	RULE_KEY_TWICE,
	RULE_INLINE_KEYS,
	RULE_RESOURCE_PID,
	RULE_MAPPING_RANGE,
	RULE_BUILD_ID,
	RULE_FRAME_TYPE,
	RULE_LOCATION_EMPTY,
	RULE_FUNCTION_EMPTY,
	RULE_NEGATIVE_LINE,
	RULE_LINK_SIZE,
	RULE_KERNEL_ORDER,
	RULE_SAMPLE_TYPE,
	RULE_PERIOD,
	RULE_PROFILE_ID,
	RULE_WINDOW,
	RULE_TIMESTAMP,
	RULE_SHAPE,
	RULE_MIXED_SHAPES,
	RULE_SAME_SAMPLE,
	RULES_MAX,
};

enum {
	SENTENCE_MAX = 256
};

struct check {
	const struct otlp_profiles *p;
	struct {
		char sentence[SENTENCE_MAX];
		uint64_t cases;
	} rules[RULES_MAX];
	uint8_t *used[OTLP_TABLES]; /* entries that something refers to */
	uint32_t len[OTLP_TABLES];
};

__attribute__((format(printf, 3, 4))) void otlp_broken(struct check *c, enum rule rule,
						       const char *fmt, ...);

/* Note a reference. Returns true where it can be followed (also to entry 0). */
bool otlp_refer(struct check *c, enum otlp_table table, int64_t index, const char *from,
		uint32_t number);
bool otlp_refer_string(struct check *c, int64_t index, const char *from, uint32_t number);
bool otlp_utf8_ok(struct otlp_text t);

/* A list of attribute indices: in range, no zero, no key twice. */
void otlp_check_attribute_list(struct check *c, struct otlp_range r, const char *from,
			       uint32_t number);

/* Zero entries and duplicates. Returns 0 or -ENOMEM. */
int otlp_check_table(struct check *c, enum otlp_table table);

/* What stands in the tables. */
void otlp_check_entries(struct check *c);

/* Entries that nothing refers to; after all else. */
void otlp_check_orphans(struct check *c);

#endif
