/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one ExportProfilesServiceRequest (OTLP profiles v1development, proto 1.10 and
 * 1.11) that somebody else made: every length, wire type and index is checked. Texts are
 * borrowed from the request and are neither NUL-terminated nor known to be UTF-8.
 *
 * otlp_read() gives the tables as they are, otlp_each_sample() the samples with their
 * frames written out, otlp_check() what a request does against the rules.
 */
#ifndef OTLP_READER_H
#define OTLP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of one table; a request with more is refused. An empty entry takes 2 bytes of a
 * request, and some 100 of memory. */
#define OTLP_TABLE_MAX (UINT32_C(1) << 22)
/* Numbers of all entries together. Each takes a byte at least: no request of 64 MiB, the
 * largest that OTLP wants to be taken, has more. */
#define OTLP_NUMBERS_MAX (UINT32_C(1) << 26)
/*
 * What samples are when their frames are written out, of which a few bytes can ask for any number:
 * a stack names a location many times, and many samples one stack. The frames of one stack, those
 * of all locations once, and all frames that are handed out, in steps of work (a frame is one, and
 * one for each 64 bytes of its texts): for each byte of the request, and for the smallest one.
 */
#define OTLP_STACK_FRAMES_MAX	 (UINT32_C(1) << 15)
#define OTLP_LOCATION_FRAMES_MAX (UINT32_C(1) << 21)
#define OTLP_WORK_PER_BYTE	 32
#define OTLP_WORK_MIN		 (UINT64_C(1) << 24)

struct otlp_text {
	const char *data;
	size_t len;
};

/* Elements [first, first + len) of a pool of the request. */
struct otlp_range {
	uint32_t first;
	uint32_t len;
};

enum otlp_value_kind {
	OTLP_VALUE_NONE,
	OTLP_VALUE_STRING,
	OTLP_VALUE_BOOL,
	OTLP_VALUE_INT,
	OTLP_VALUE_DOUBLE,
	OTLP_VALUE_ARRAY, /* text: still encoded */
	OTLP_VALUE_MAP,	  /* text: still encoded */
	OTLP_VALUE_BYTES,
	OTLP_VALUE_REF, /* integer: index of a string */
};

/* A KeyValue of a resource, or a KeyValueAndUnit of the dictionary. */
struct otlp_attribute {
	struct otlp_text raw; /* the entry as encoded */
	struct otlp_text key; /* written out; empty where it is a reference */
	int32_t key_ref;
	int32_t unit;
	enum otlp_value_kind kind;
	int64_t integer;
	struct otlp_text text;
};

struct otlp_function {
	struct otlp_text raw;
	int32_t name;
	int32_t system_name;
	int32_t file;
	int64_t start_line;
};

struct otlp_mapping {
	struct otlp_text raw;
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	int32_t file;
	struct otlp_range attributes; /* ints */
};

struct otlp_line {
	int32_t function;
	int64_t line;
	int64_t column;
};

struct otlp_location {
	struct otlp_text raw;
	int32_t mapping;
	uint64_t address;
	struct otlp_range lines;      /* lines; innermost inlined function first */
	struct otlp_range attributes; /* ints */
};

struct otlp_stack {
	struct otlp_text raw;
	struct otlp_range locations; /* ints; leaf first */
};

struct otlp_link {
	struct otlp_text raw;
	struct otlp_text trace_id;
	struct otlp_text span_id;
};

struct otlp_sample {
	int32_t stack;
	int32_t link;
	struct otlp_range attributes; /* ints */
	struct otlp_range values;     /* values */
	struct otlp_range timestamps; /* timestamps */
};

struct otlp_profile {
	uint32_t scope; /* scopes */
	struct otlp_range samples;
	int32_t sample_type;
	int32_t sample_unit;
	int32_t period_type;
	int32_t period_unit;
	int64_t period;
	uint64_t time_ns;
	uint64_t duration_ns;
	struct otlp_text profile_id;
	struct otlp_range attributes; /* ints */
};

struct otlp_scope {
	uint32_t resource; /* resources */
	struct otlp_range profiles;
	struct otlp_text name;
	struct otlp_text version;
};

struct otlp_resource {
	struct otlp_range attributes; /* resource_attributes */
	struct otlp_range scopes;
	/* What its attributes say, references followed; pid -1: not given. */
	int64_t pid;
	struct otlp_text executable_name;
	struct otlp_text executable_path;
	struct otlp_text container_id;
	struct otlp_text container_name;
	struct otlp_text service_name;
};

#define OTLP_TABLE(type)                                                                 \
	struct {                                                                         \
		type *data;                                                              \
		uint32_t len;                                                            \
		uint32_t cap;                                                            \
	}

struct otlp_profiles {
	size_t bytes; /* of the request */
	/* The dictionary. */
	OTLP_TABLE(struct otlp_text) strings;
	OTLP_TABLE(struct otlp_function) functions;
	OTLP_TABLE(struct otlp_mapping) mappings;
	OTLP_TABLE(struct otlp_location) locations;
	OTLP_TABLE(struct otlp_stack) stacks;
	OTLP_TABLE(struct otlp_attribute) attributes;
	OTLP_TABLE(struct otlp_link) links;
	/* The tree, flat and in its order. */
	OTLP_TABLE(struct otlp_resource) resources;
	OTLP_TABLE(struct otlp_scope) scopes;
	OTLP_TABLE(struct otlp_profile) profiles;
	OTLP_TABLE(struct otlp_sample) samples;
	OTLP_TABLE(struct otlp_attribute) resource_attributes;
	/* What ranges point into. */
	OTLP_TABLE(struct otlp_line) lines;
	OTLP_TABLE(int32_t) ints;
	OTLP_TABLE(int64_t) values;
	OTLP_TABLE(uint64_t) timestamps;
};

/* The tables of the dictionary, by their field number in ProfilesDictionary. */
enum otlp_table {
	OTLP_TABLE_NONE,
	OTLP_TABLE_MAPPING,
	OTLP_TABLE_LOCATION,
	OTLP_TABLE_FUNCTION,
	OTLP_TABLE_LINK,
	OTLP_TABLE_STRING,
	OTLP_TABLE_ATTRIBUTE,
	OTLP_TABLE_STACK,
	OTLP_TABLES,
};

/* How many entries a table has, and the encoded bytes of one: equal ones are the same entry. */
uint32_t otlp_table_len(const struct otlp_profiles *p, enum otlp_table table);
struct otlp_text otlp_table_entry(const struct otlp_profiles *p, enum otlp_table table,
				  uint32_t i);

/*
 * Read @request, which must stay valid as long as *@ret is used. Caller frees *@ret with
 * otlp_free(). Returns 0; -ENOMEM; -EFBIG past OTLP_TABLE_MAX or OTLP_NUMBERS_MAX; -EBADMSG
 * with, where @ret_reason is not NULL, a static sentence of what is wrong.
 */
int otlp_read(const void *request, size_t len, struct otlp_profiles **ret,
	      const char **ret_reason);
struct otlp_profiles *otlp_free(struct otlp_profiles *p);

/* A string of the dictionary; empty where @index is outside. */
struct otlp_text otlp_string(const struct otlp_profiles *p, int32_t index);
bool otlp_text_is(struct otlp_text t, const char *s);
/* The last part of a path. */
struct otlp_text otlp_base_name(struct otlp_text path);
/* Bytes of the well-formed UTF-8 character (RFC 3629) at @s, 0 where there is none. */
size_t otlp_utf8_len(const char *s, size_t left);
/* The text of a string attribute, a reference followed; empty for another kind. */
struct otlp_text otlp_attribute_text(const struct otlp_profiles *p,
				     const struct otlp_attribute *a);
struct otlp_text otlp_attribute_key(const struct otlp_profiles *p,
				    const struct otlp_attribute *a);
/* The dictionary attribute named @key in @range of the ints, or NULL. */
const struct otlp_attribute *otlp_find_attribute(const struct otlp_profiles *p,
						 struct otlp_range range,
						 const char *key);

/* A frame written out. A frame without a name has function.len 0 and an address. */
struct otlp_frame {
	struct otlp_text function;
	struct otlp_text system_name;
	struct otlp_text file;
	struct otlp_text type; /* profile.frame.type */
	struct otlp_text module;
	struct otlp_text build_id; /* GNU, else Go, else htlhash; empty: none */
	uint64_t address;
	int64_t line;
	int64_t column;
	int64_t start_line;
	const struct otlp_mapping *mapping; /* NULL: none */
	uint32_t
		location; /* of the request; frames of one location are the same ones each time */
	bool inlined;	  /* the next frame is the function it was inlined into */
	bool approximate; /* otelprof.frame.approximate: the nearest function that is known */
	bool guessed; /* otelprof.frame.guessed: it or its caller was found by a guess */
};

struct otlp_sample_view {
	const struct otlp_resource *resource;
	const struct otlp_profile *profile;
	const struct otlp_sample *sample;
	struct otlp_text type; /* "samples" */
	struct otlp_text unit; /* "count" */
	struct otlp_text period_type;
	struct otlp_text period_unit;
	struct otlp_text thread_name;
	int64_t thread_id; /* -1: not given */
	int64_t cpu;	   /* -1: not given */
	uint64_t count;	   /* events it stands for */
	int64_t value;	   /* their sum; the count where there are no values */
	const uint64_t *timestamps;
	const struct otlp_frame *frames; /* leaf first */
	size_t frames_len;
};

/* Returns 0 to go on; another number ends the walk and is returned from it. */
typedef int (*otlp_sample_fn)(void *data, const struct otlp_sample_view *sample);

/* Call @fn for each sample. Indices outside a table read as its zero entry. Returns 0,
 * -ENOMEM, -EFBIG past the limits of frames, or what @fn returned. */
int otlp_each_sample(const struct otlp_profiles *p, otlp_sample_fn fn, void *data);

enum {
	OTLP_LABEL_NUMBER_BYTES = 32
};
/* The attribute @key of a sample, else of its process: a text, or a number as a text in @buf. Empty
 * where there is none. */
struct otlp_text otlp_label(const struct otlp_profiles *p,
			    const struct otlp_sample_view *v, const char *key,
			    size_t key_len, char buf[OTLP_LABEL_NUMBER_BYTES]);

/* One line for a frame: its function, or "module+0x12" where it has none. Returns @buf. */
const char *otlp_frame_name(const struct otlp_frame *f, char *buf, size_t size);

/* A rule that is broken: its first case in words, and how many cases there are. */
typedef void (*otlp_violation_fn)(void *data, const char *sentence, uint64_t cases);

/* Examine a request. Returns the number of rules broken, or -ENOMEM. */
int otlp_check(const struct otlp_profiles *p, otlp_violation_fn fn, void *data);

#endif
