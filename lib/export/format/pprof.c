/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one gzip-compressed pprof profile (field numbers of github.com/google/pprof's
 * profile.proto). pprof has no processes: pid, process, thread and container become
 * labels of a sample (`-tagroot=process`). Each kind of samples is a value type; a kind of
 * a clock has a second one, value times period, such as cpu/nanoseconds.
 */
#include <errno.h>
#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "export/format/collect/collect.h"
#include "export/format/collect/kinds.h"
#include "export/format/ops.h"
#include "otelprof/export.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	LABEL_NUMBER = 3,
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	LINE_COLUMN = 3,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
	FUNCTION_START_LINE = 5,
};

enum {
	GZIP_WINDOW = 15 + 16,
	GZIP_MEMORY = 8,
	GZIP_CHUNK = 65536
};

/* The strings of this file follow those of the profiles in the string table. */
static const char *const own_strings[] = { "pid", "process", "thread_id", "thread",
					   "container_id" };
enum {
	OWN_PID,
	OWN_PROCESS,
	OWN_THREAD_ID,
	OWN_THREAD,
	OWN_CONTAINER_ID
};

struct pprof {
	const struct op_collect *c;
	struct op_strbuf out;
	struct op_strbuf part; /* one message of the profile */
	struct op_strbuf sub;  /* one message within `part` */
	size_t columns;	       /* values of a sample */
};

static bool to_strbuf(pb_ostream_t *s, const pb_byte_t *bytes, size_t len)
{
	struct op_strbuf *out = s->state;

	op_strbuf_add(out, bytes, len);
	return !out->failed;
}

static pb_ostream_t stream_of(struct op_strbuf *out)
{
	return (pb_ostream_t){ .callback = to_strbuf,
			       .state = out,
			       .max_size = SIZE_MAX };
}

/* A failure is recorded in the strbuf. */
static void put_number(struct op_strbuf *out, uint32_t field, uint64_t v)
{
	pb_ostream_t s = stream_of(out);

	if (v && pb_encode_tag(&s, PB_WT_VARINT, field))
		(void)pb_encode_varint(&s, v);
}

static void put_bytes(struct op_strbuf *out, uint32_t field, const void *bytes,
		      size_t len)
{
	pb_ostream_t s = stream_of(out);

	if (pb_encode_tag(&s, PB_WT_STRING, field))
		(void)pb_encode_string(&s, bytes, len);
}

/* Append @from as a message and empty it; a failure of @from becomes one of @out. */
static void put_message(struct op_strbuf *out, uint32_t field, struct op_strbuf *from)
{
	if (from->failed)
		out->failed = true;
	else
		put_bytes(out, field, from->data, from->len);
	op_strbuf_reset(from);
}

static void put_varint(struct op_strbuf *out, uint64_t v)
{
	pb_ostream_t s = stream_of(out);

	(void)pb_encode_varint(&s, v);
}

static void put_value_type(struct pprof *p, uint32_t field, uint32_t type, uint32_t unit)
{
	put_number(&p->part, VALUE_TYPE_TYPE, type);
	put_number(&p->part, VALUE_TYPE_UNIT, unit);
	put_message(&p->out, field, &p->part);
}

static void put_types(struct pprof *p)
{
	const struct op_collect_kind *k, *main_kind;

	op_vec_foreach(k, &p->c->kinds) {
		put_value_type(p, PROFILE_SAMPLE_TYPE, k->type, k->unit);
		p->columns++;
		if (!op_collect_is_clock(p->c, k))
			continue;
		put_value_type(p, PROFILE_SAMPLE_TYPE, k->period_type, k->period_unit);
		p->columns++;
	}
	if (!p->c->kinds.len)
		return;
	main_kind = &p->c->kinds.data[op_collect_main_kind(p->c)];
	put_value_type(p, PROFILE_PERIOD_TYPE, main_kind->period_type,
		       main_kind->period_unit);
	put_number(&p->out, PROFILE_PERIOD, (uint64_t)main_kind->period);
	put_number(&p->out, PROFILE_DEFAULT_SAMPLE_TYPE,
		   op_collect_is_clock(p->c, main_kind) ? main_kind->period_type
							: main_kind->type);
}

static void put_label(struct pprof *p, unsigned int key, uint32_t string, int64_t number)
{
	put_number(&p->sub, LABEL_KEY, p->c->strings.places.len + key);
	put_number(&p->sub, LABEL_STRING, string);
	put_number(&p->sub, LABEL_NUMBER, (uint64_t)number);
	put_message(&p->part, SAMPLE_LABEL, &p->sub);
}

/* Write a sample's values: zero in the columns of other kinds. */
static void put_values(struct pprof *p, const struct op_collect_stack *s)
{
	const struct op_collect_kind *k;
	uint64_t mine;

	op_vec_foreach(k, &p->c->kinds) {
		mine = k == &p->c->kinds.data[s->kind] ? (uint64_t)s->value : 0;
		put_varint(&p->sub, mine);
		if (op_collect_is_clock(p->c, k))
			put_varint(&p->sub, mine * (uint64_t)k->period);
	}
	put_message(&p->part, SAMPLE_VALUE, &p->sub);
}

static void put_sample(struct pprof *p, const struct op_collect_stack *s)
{
	const struct op_collect_process *process = &p->c->processes.data[s->process];
	uint32_t i;

	for (i = 0; i < s->locations_len; i++)
		put_varint(&p->sub, p->c->location_numbers.data[s->locations + i] + 1);
	put_message(&p->part, SAMPLE_LOCATION, &p->sub);
	put_values(p, s);
	if (process->pid >= 0)
		put_label(p, OWN_PID, 0, process->pid);
	if (process->name)
		put_label(p, OWN_PROCESS, process->name, 0);
	if (s->thread_id >= 0)
		put_label(p, OWN_THREAD_ID, 0, s->thread_id);
	if (s->thread_name)
		put_label(p, OWN_THREAD, s->thread_name, 0);
	if (process->container_id)
		put_label(p, OWN_CONTAINER_ID, process->container_id, 0);
	put_message(&p->out, PROFILE_SAMPLE, &p->part);
}

/* Entry 0 means "none" and has no message. */
static void put_mapping(struct pprof *p, uint32_t i, uint32_t file)
{
	const struct op_collect_mapping *m = &p->c->mappings.data[i];

	put_number(&p->part, MAPPING_ID, i);
	put_number(&p->part, MAPPING_START, m->start);
	put_number(&p->part, MAPPING_LIMIT, m->limit);
	put_number(&p->part, MAPPING_OFFSET, m->offset);
	put_number(&p->part, MAPPING_FILE, file);
	put_number(&p->part, MAPPING_BUILD_ID, m->build_id);
	put_number(&p->part, MAPPING_HAS_FUNCTIONS, 1);
	put_message(&p->out, PROFILE_MAPPING, &p->part);
}

static void put_location(struct pprof *p, uint32_t number)
{
	const struct op_collect_location *l = &p->c->locations.data[number];
	const struct op_collect_line *line;
	uint32_t i;

	put_number(&p->part, LOCATION_ID, (uint64_t)number + 1);
	put_number(&p->part, LOCATION_MAPPING, l->mapping);
	put_number(&p->part, LOCATION_ADDRESS, l->address);
	for (i = 0; i < l->lines_len; i++) {
		line = &p->c->lines.data[l->lines + i];
		put_number(&p->sub, LINE_FUNCTION, (uint64_t)line->function + 1);
		put_number(&p->sub, LINE_LINE, line->line);
		put_number(&p->sub, LINE_COLUMN, line->column);
		put_message(&p->part, LOCATION_LINE, &p->sub);
	}
	put_message(&p->out, PROFILE_LOCATION, &p->part);
}

static void put_function(struct pprof *p, uint32_t number)
{
	const struct op_collect_function *f = &p->c->functions.data[number];

	put_number(&p->part, FUNCTION_ID, (uint64_t)number + 1);
	put_number(&p->part, FUNCTION_NAME, f->name);
	put_number(&p->part, FUNCTION_SYSTEM_NAME,
		   f->system_name ? f->system_name : f->name);
	put_number(&p->part, FUNCTION_FILE, f->file);
	put_number(&p->part, FUNCTION_START_LINE, f->start_line);
	put_message(&p->out, PROFILE_FUNCTION, &p->part);
}

/* A comment for each kind that lost samples. The texts follow all other strings. */
static void put_comments(struct pprof *p)
{
	uint64_t number = p->c->strings.places.len + OP_ARRAY_SIZE(own_strings);
	char lost[OP_COLLECT_LOST_BYTES];
	const char *type;
	size_t len;
	uint32_t i;

	for (i = 0; i < p->c->kinds.len; i++) {
		if (!op_collect_lost_text(op_collect_lost_percent(p->c, i), lost,
					  sizeof(lost)))
			continue;
		type = op_collect_text(p->c, p->c->kinds.data[i].type, &len);
		op_strbuf_add(&p->part, type, len);
		op_strbuf_printf(&p->part, ": %s", lost);
		put_message(&p->out, PROFILE_STRING, &p->part);
		put_number(&p->out, PROFILE_COMMENT, number++);
	}
}

static void put_strings(struct pprof *p)
{
	const char *text;
	size_t len;
	uint32_t i;

	for (i = 0; i < p->c->strings.places.len; i++) {
		text = op_collect_text(p->c, i, &len);
		put_bytes(&p->out, PROFILE_STRING, text, len);
	}
	for (i = 0; i < OP_ARRAY_SIZE(own_strings); i++)
		put_bytes(&p->out, PROFILE_STRING, own_strings[i],
			  strlen(own_strings[i]));
	put_comments(p);
}

/* Is @file the program at @path? Files come with or without their directory. */
static bool is_program(const struct op_collect *c, uint32_t file, uint32_t path)
{
	size_t file_len, path_len;
	const char *name = op_collect_text(c, file, &file_len);
	const char *whole = op_collect_text(c, path, &path_len);

	if (file == path)
		return true;
	return file_len && file_len < path_len && whole[path_len - file_len - 1] == '/' &&
	       memcmp(whole + path_len - file_len, name, file_len) == 0;
}

/* The mapping of the program with most samples of the first kind, and its path. 0:
 * none. */
static uint32_t main_mapping(const struct op_collect *c, uint32_t *ret_path)
{
	_cleanup_free_ int64_t *values = calloc(c->processes.len + 1, sizeof(*values));
	const struct op_collect_stack *s;
	uint32_t most = 0;
	uint32_t path;
	uint32_t i;

	if (!values || !c->processes.len)
		return 0;
	op_vec_foreach(s, &c->stacks) {
		if (!s->kind)
			values[s->process] += s->value;
	}
	for (i = 1; i < c->processes.len; i++) {
		if (values[i] > values[most])
			most = i;
	}
	path = c->processes.data[most].path;
	*ret_path = path;
	for (i = 1; path && i < c->mappings.len; i++) {
		if (is_program(c, c->mappings.data[i].file, path))
			return i;
	}
	return 0;
}

/* Tools take the first mapping for the profiled program. */
static void put_mappings(struct pprof *p)
{
	uint32_t path = 0;
	uint32_t first = main_mapping(p->c, &path);
	uint32_t i;

	if (first)
		put_mapping(p, first, path);
	for (i = 1; i < p->c->mappings.len; i++) {
		if (i != first)
			put_mapping(p, i, p->c->mappings.data[i].file);
	}
}

static int encode(struct pprof *p)
{
	const struct op_collect *c = p->c;
	const struct op_collect_stack *s;
	uint32_t i;

	put_types(p);
	op_vec_foreach(s, &c->stacks)
		put_sample(p, s);
	put_mappings(p);
	for (i = 0; i < c->locations.len; i++)
		put_location(p, i);
	for (i = 0; i < c->functions.len; i++)
		put_function(p, i);
	put_strings(p);
	put_number(&p->out, PROFILE_TIME_NS, c->start_ns);
	put_number(&p->out, PROFILE_DURATION_NS, c->end_ns - c->start_ns);
	return p->out.failed ? -ENOMEM : 0;
}

static int deflate_all(z_stream *z, int fd)
{
	_cleanup_free_ unsigned char *chunk = malloc(GZIP_CHUNK);
	int r, end;

	if (!chunk)
		return -ENOMEM;
	do {
		z->next_out = chunk;
		z->avail_out = GZIP_CHUNK;
		end = deflate(z, Z_FINISH);
		r = op_write_full(fd, chunk, GZIP_CHUNK - z->avail_out);
	} while (!r && end == Z_OK);
	if (r)
		return r;
	return end == Z_STREAM_END ? 0 : -EIO;
}

static int write_gzip(int fd, const struct op_strbuf *bytes)
{
	z_stream z = { 0 };
	int r;

	/* zlib counts bytes in 32 bits. */
	if (bytes->len > UINT32_MAX)
		return -EFBIG;
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	z.next_in = (unsigned char *)bytes->data;
	z.avail_in = (unsigned int)bytes->len;
	r = deflate_all(&z, fd);
	(void)deflateEnd(&z);
	return r;
}

static int pprof_write(const struct op_collect *c, int fd)
{
	struct pprof p = { .c = c };
	int r = encode(&p);

	if (!r)
		r = write_gzip(fd, &p.out);
	op_strbuf_deinit(&p.out);
	op_strbuf_deinit(&p.part);
	op_strbuf_deinit(&p.sub);
	return r;
}

const struct op_format op_format_pprof = {
	.format = OTELPROF_FORMAT_PPROF,
	.detail = OP_COLLECT_LOCATIONS,
	.write = pprof_write,
};
