/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, reads and parses a process context. */
#include "process/resource/process_context.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pb_decode.h>
#include <stdio.h>
#include <string.h>

#include "base/reader.h"
#include "process/context/schema.h"
#include "process/target/maps.h"
#include "profile/window.h"

enum {
	VERSION = 2,
	/* ProcessContext, Resource, KeyValue (proto 1.11) */
	CONTEXT_RESOURCE = 1,
	RESOURCE_ATTRIBUTES = 1,
	PAIR_KEY = 1,
	PAIR_VALUE = 2,
	/* AnyValue */
	ANY_STRING = 1,
	ANY_BOOL = 2,
	ANY_INT = 3,
	ANY_DOUBLE = 4,
	MAPS_BYTES_MAX = 1 << 20, /* of /proc/PID/maps: 10,000 lines, 5 to 10 ms */
};

static const char signature[8] = "OTEL_CTX";

/* The last word of the line, "OTEL_CTX" in any of the ways the kernel names it, after
 * permissions without execution: "7f0000000000-7f0000001000 rw-p 00000000 00:01 9  NAME". */
bool op_process_context_of_line(const char *line, size_t len, uint64_t *ret)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					     "/memfd:OTEL_CTX" };
	const char *dash = memchr(line, '-', len);
	const char *name;
	uint64_t addr = 0;
	const char *p;
	size_t i;

	/* No field before the name contains a '/' or a '['. */
	for (name = line; name < line + len && *name != '/' && *name != '['; name++)
		;
	for (i = 0; i < OP_ARRAY_SIZE(names); i++)
		if ((size_t)(line + len - name) >= strlen(names[i]) &&
		    memcmp(name, names[i], strlen(names[i])) == 0)
			break;
	if (i == OP_ARRAY_SIZE(names) || !dash || dash == line || dash - line > 16)
		return false;
	for (p = line; p < dash; p++) {
		if (!((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')))
			return false;
		addr = addr << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	}
	p = memchr(line, ' ', len);
	if (!p || line + len - p < 5 || p[1] != 'r' || p[3] == 'x')
		return false;
	*ret = addr;
	return true;
}

struct find {
	uint64_t addr;
	size_t bytes;
};

static int look_at(void *ctx, char *line, size_t len)
{
	struct find *f = ctx;

	if (op_process_context_of_line(line, len, &f->addr))
		return 1;
	f->bytes += len;
	return f->bytes >= MAPS_BYTES_MAX ? -ENOENT : 0;
}

int op_process_context_find(struct op_target *t, uint32_t pid, uint64_t *ret)
{
	struct find find = { 0 };
	int r = op_target_each_line(t, pid, look_at, &find);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret = find.addr;
	return 0;
}

int op_process_context_header_of(const void *bytes, struct op_process_context_header *ret)
{
	struct op_reader r = op_reader_init(bytes, OP_PROCESS_CONTEXT_HEADER_BYTES);
	const uint8_t *magic = op_read_bytes(&r, sizeof(signature));
	uint32_t version = op_read_u32(&r);
	struct op_process_context_header h;

	h.payload_bytes = op_read_u32(&r);
	h.published_ns = op_read_u64(&r);
	h.payload = op_read_u64(&r);
	if (r.failed || memcmp(magic, signature, sizeof(signature)) != 0 ||
	    version != VERSION)
		return -EBADMSG;
	if (!h.published_ns)
		return -EAGAIN;
	*ret = h;
	return 0;
}

int op_process_context_header_read(const struct op_memory *memory, uint64_t addr,
				   struct op_process_context_header *ret)
{
	uint8_t bytes[OP_PROCESS_CONTEXT_HEADER_BYTES];
	int r = op_memory_read(memory, addr, bytes, sizeof(bytes));

	return r < 0 ? r : op_process_context_header_of(bytes, ret);
}

/* ---- the message; its nesting has a fixed depth, so no recursion is needed ---- */

/* An attribute while it is read: its parts may come in any order. */
struct pair {
	char key[OP_RESOURCE_KEY_MAX];
	size_t key_len;
	char value[OP_RESOURCE_VALUE_MAX];
	size_t value_len;
	char type;     /* enum op_value_type, or 0 */
	bool too_long; /* or of an unsupported type */
};

/* Read the next field. Returns false at the end, and if @s is damaged (*@bad). */
static bool next_field(pb_istream_t *s, pb_wire_type_t *type, uint32_t *number, bool *bad)
{
	bool end = false;

	if (*bad || !s->bytes_left)
		return false;
	if (pb_decode_tag(s, type, number, &end) && *number)
		return true;
	*bad = true;
	return false;
}

/* Read the text or message of a field into @buf; a longer one is skipped. */
static bool read_text(pb_istream_t *s, char *buf, size_t max, size_t *ret_len,
		      bool *ret_too_long)
{
	pb_istream_t sub;

	if (!pb_make_string_substream(s, &sub))
		return false;
	if (sub.bytes_left > max) {
		*ret_too_long = true;
	} else {
		*ret_len = sub.bytes_left;
		if (!pb_read(&sub, (pb_byte_t *)buf, sub.bytes_left))
			return false;
	}
	return pb_close_string_substream(s, &sub);
}

static bool read_number(pb_istream_t *s, struct pair *pair, uint32_t kind)
{
	uint64_t bits;

	if (!(kind == ANY_DOUBLE ? pb_decode_fixed64(s, &bits)
				 : pb_decode_varint(s, &bits)))
		return false;
	pair->type = kind == ANY_DOUBLE ? OP_VALUE_DOUBLE
		     : kind == ANY_BOOL ? OP_VALUE_BOOL
					: OP_VALUE_INT;
	pair->value_len =
		(size_t)(kind == ANY_DOUBLE ? snprintf(pair->value, sizeof(pair->value),
						       "%016" PRIx64, bits)
			 : kind == ANY_BOOL ? snprintf(pair->value, sizeof(pair->value),
						       "%d", bits != 0)
					    : snprintf(pair->value, sizeof(pair->value),
						       "%" PRId64, (int64_t)bits));
	return true;
}

static bool read_any(pb_istream_t *s, struct pair *pair)
{
	pb_wire_type_t type;
	uint32_t number;
	bool bad = false;

	while (next_field(s, &type, &number, &bad)) {
		if (number == ANY_STRING && type == PB_WT_STRING) {
			pair->type = OP_VALUE_STRING;
			bad = !read_text(s, pair->value, sizeof(pair->value),
					 &pair->value_len, &pair->too_long);
		} else if ((number == ANY_BOOL && type == PB_WT_VARINT) ||
			   (number == ANY_INT && type == PB_WT_VARINT) ||
			   (number == ANY_DOUBLE && type == PB_WT_64BIT)) {
			bad = !read_number(s, pair, number);
		} else {
			pair->type = 0;
			bad = !pb_skip_field(s, type);
		}
	}
	return !bad;
}

static bool read_pair(pb_istream_t *s, struct pair *pair)
{
	pb_wire_type_t type;
	uint32_t number;
	bool bad = false;

	pair->key_len = pair->value_len = 0;
	pair->type = 0;
	pair->too_long = false;
	while (next_field(s, &type, &number, &bad)) {
		pb_istream_t sub;

		if (number == PAIR_KEY && type == PB_WT_STRING)
			bad = !read_text(s, pair->key, sizeof(pair->key), &pair->key_len,
					 &pair->too_long);
		else if (number == PAIR_VALUE && type == PB_WT_STRING)
			bad = !pb_make_string_substream(s, &sub) ||
			      !read_any(&sub, pair) ||
			      !pb_close_string_substream(s, &sub);
		else
			bad = !pb_skip_field(s, type);
	}
	return !bad;
}

/* Call @fn for each submessage of field @wanted. */
static bool each_message(pb_istream_t *s, uint32_t wanted,
			 bool (*fn)(pb_istream_t *s, struct pair *pair,
				    struct op_resource_attributes *attributes),
			 struct pair *pair, struct op_resource_attributes *attributes)
{
	pb_wire_type_t type;
	uint32_t number;
	bool bad = false;

	while (next_field(s, &type, &number, &bad)) {
		pb_istream_t sub;

		if (number == wanted && type == PB_WT_STRING)
			bad = !pb_make_string_substream(s, &sub) ||
			      !fn(&sub, pair, attributes) ||
			      !pb_close_string_substream(s, &sub);
		else
			bad = !pb_skip_field(s, type);
	}
	return !bad;
}

static bool take_attribute(pb_istream_t *s, struct pair *pair,
			   struct op_resource_attributes *attributes)
{
	if (!read_pair(s, pair))
		return false;
	if (pair->too_long || !pair->type)
		attributes->dropped++;
	else
		op_resource_attributes_put(attributes, pair->key, pair->key_len,
					   pair->type, pair->value, pair->value_len);
	return true;
}

static bool take_resource(pb_istream_t *s, struct pair *pair,
			  struct op_resource_attributes *attributes)
{
	return each_message(s, RESOURCE_ATTRIBUTES, take_attribute, pair, attributes);
}

int op_process_context_payload(const void *bytes, size_t len,
			       struct op_resource_attributes *attributes)
{
	pb_istream_t s = pb_istream_from_buffer(bytes, len);
	struct pair pair;

	return each_message(&s, CONTEXT_RESOURCE, take_resource, &pair, attributes)
		       ? 0
		       : -EBADMSG;
}

/* Try to read it once. */
static int read_once(const struct op_memory *memory, uint64_t addr, uint8_t **buf,
		     struct op_process_context_header *ret)
{
	struct op_process_context_header after;
	struct op_process_context_header h;
	uint8_t *grown;
	int r = op_process_context_header_read(memory, addr, &h);

	if (r < 0)
		return r;
	if (h.payload_bytes > OP_PROCESS_CONTEXT_PAYLOAD_MAX)
		return -EFBIG;
	grown = realloc(*buf, (size_t)h.payload_bytes + 1);
	if (!grown)
		return -ENOMEM;
	*buf = grown;
	r = h.payload_bytes ? op_memory_read(memory, h.payload, *buf, h.payload_bytes)
			    : 0;
	if (op_process_context_header_read(memory, addr, &after) < 0 ||
	    after.published_ns != h.published_ns)
		return -EAGAIN; /* the context changed meanwhile */
	*ret = h;
	return r;
}

int op_process_context_read(const struct op_memory *memory, uint64_t addr,
			    struct op_resource_attributes *attributes,
			    struct op_schema *schema, uint64_t *ret_published_ns)
{
	_cleanup_free_ uint8_t *buf = NULL;
	struct op_process_context_header h = { 0 };
	int tries;
	int r = -EAGAIN;

	for (tries = 0; r == -EAGAIN && tries < OP_CONTEXT_TRIES; tries++)
		r = read_once(memory, addr, &buf, &h);
	if (r < 0)
		return r;
	if (op_process_context_payload(buf, h.payload_bytes, attributes) < 0)
		attributes->dropped++; /* what follows the damage */
	if (schema)
		(void)op_schema_parse(buf, h.payload_bytes, schema);
	*ret_published_ns = h.published_ns;
	return 0;
}
