/* SPDX-License-Identifier: Apache-2.0 */
/* Process contexts made here byte by byte, after the text of OTEP 4719 and proto 1.11. */
#include "process/resource/process_context.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "process/target/target.h"
#include "profile/window.h"
#include "patient.h"
#include "test.h"

/* ---- a message ---- */

struct bytes {
	uint8_t data[200000];
	size_t len;
};

static void add(struct bytes *b, const void *data, size_t len)
{
	CHECK(b->len + len <= sizeof(b->data));
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void varint(struct bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		add(b, &(uint8_t){ (uint8_t)(v | 0x80) }, 1);
	add(b, &(uint8_t){ (uint8_t)v }, 1);
}

static void field(struct bytes *b, unsigned int number, const void *data, size_t len)
{
	varint(b, number << 3 | 2);
	varint(b, len);
	add(b, data, len);
}

static void text(struct bytes *b, unsigned int number, const char *s)
{
	field(b, number, s, strlen(s));
}

/* KeyValue{key, value}; @any: an encoded AnyValue. */
static void attribute(struct bytes *resource, const char *key, const struct bytes *any)
{
	static struct bytes pair;

	pair.len = 0;
	text(&pair, 1, key);
	field(&pair, 2, any->data, any->len);
	field(resource, 1, pair.data, pair.len);
}

static void string_attribute(struct bytes *resource, const char *key, const char *value)
{
	static struct bytes any;

	any.len = 0;
	text(&any, 1, value);
	attribute(resource, key, &any);
}

static struct bytes resource;
static struct bytes message;

static void make_message(void)
{
	message.len = 0;
	field(&message, 1, resource.data, resource.len);
}

/* "service|key=stext;…" */
static const char *shown(const struct op_resource_attributes *c)
{
	static char out[OP_SERVICE_NAME_MAX + OP_RESOURCE_ATTRIBUTES_BYTES_MAX + 1];
	size_t len = (size_t)snprintf(out, sizeof(out), "%s|", c->service_name);
	unsigned int nuls = 0;
	size_t i;

	for (i = 0; i < c->text.len; i++)
		out[len++] = c->text.data[i] ? c->text.data[i] : nuls++ % 2 ? ';' : '=';
	out[len] = 0;
	return out;
}

static void test_attributes(void)
{
	const double half = 0.5;
	struct op_resource_attributes *c = op_resource_attributes_new();
	static struct bytes any;

	resource.len = 0;
	string_attribute(&resource, "service.name", "shop");
	string_attribute(&resource, "service.version", "1.2");
	any.len = 0;
	varint(&any, 3 << 3);
	varint(&any, (uint64_t)-7);
	attribute(&resource, "int", &any);
	any.len = 0;
	varint(&any, 2 << 3);
	varint(&any, 1);
	attribute(&resource, "bool", &any);
	any.len = 0;
	varint(&any, 4 << 3 | 1);
	add(&any, &half, sizeof(half));
	attribute(&resource, "double", &any);
	string_attribute(&resource, "process.pid", "1");     /* observed */
	string_attribute(&resource, "service.version", "2"); /* again */
	make_message();
	text(&message, 2, "\n\1x"); /* attributes beside the resource */
	CHECK_OK(op_process_context_payload(message.data, message.len, c));
	CHECK_STR(shown(c), "shop|service.version=s1.2;int=i-7;bool=b1;"
			    "double=d3fe0000000000000;");
	CHECK_INT(c->dropped, 0);
	op_resource_attributes_put_ref(c);
}

static void test_what_is_not_taken_is_counted(void)
{
	struct op_resource_attributes *c = op_resource_attributes_new();
	static char longer[OP_RESOURCE_VALUE_MAX + 2];
	static struct bytes any;

	memset(longer, 'x', sizeof(longer) - 1);
	resource.len = 0;
	any.len = 0;
	attribute(&resource, "nothing", &any);
	text(&any, 5, "\n\3\n\1x"); /* a list */
	attribute(&resource, "list", &any);
	any.len = 0;
	text(&any, 7, "bytes");
	attribute(&resource, "bytes", &any);
	string_attribute(&resource, "long", longer);
	longer[OP_RESOURCE_KEY_MAX + 1] = 0;
	string_attribute(&resource, longer, "key");
	string_attribute(&resource, "kept", "yes");
	make_message();
	CHECK_OK(op_process_context_payload(message.data, message.len, c));
	CHECK_STR(shown(c), "|kept=syes;");
	CHECK_INT(c->dropped, 5);
	op_resource_attributes_put_ref(c);
}

/* Lists of lists of lists: as deep as they fit. Nothing follows them. */
static void test_deep_nesting(void)
{
	static uint8_t deep[2][60000];
	struct op_resource_attributes *c = op_resource_attributes_new();
	size_t len = 0;
	unsigned int i;
	static struct bytes any;

	for (i = 0; i < 10000; i++) {
		uint8_t *to = deep[i & 1];
		const uint8_t *from = deep[(i & 1) ^ 1];
		struct bytes head = { .len = 0 };

		varint(&head, (i & 1 ? 5 : 1) << 3 | 2);
		varint(&head, len);
		if (len + head.len > sizeof(deep[0]))
			break;
		memcpy(to, head.data, head.len);
		memcpy(to + head.len, from, len);
		len += head.len;
	}
	any.len = 0;
	add(&any, deep[(i - 1) & 1], len);
	resource.len = 0;
	attribute(&resource, "deep", &any);
	make_message();
	(void)op_process_context_payload(message.data, message.len, c);
	CHECK_INT(c->len, 0);
	op_resource_attributes_put_ref(c);
}

/* Every cut of a message, and every byte of it wrong. */
static void test_damage(void)
{
	size_t i;

	resource.len = 0;
	string_attribute(&resource, "service.name", "shop");
	string_attribute(&resource, "a", "b");
	make_message();
	for (i = 0; i < message.len; i++) {
		struct op_resource_attributes *c = op_resource_attributes_new();
		uint8_t *copy = malloc(message.len);

		CHECK(c && copy);
		memcpy(copy, message.data, message.len);
		copy[i] ^= 0x85;
		(void)op_process_context_payload(copy, message.len, c);
		free(copy);
		copy = malloc(i ? i : 1);
		CHECK(copy);
		memcpy(copy, message.data, i);
		CHECK_INT(op_process_context_payload(copy, i, c), i ? -EBADMSG : 0);
		free(copy);
		op_resource_attributes_put_ref(c);
	}
}

/* ---- the header ---- */

struct header {
	char signature[8];
	uint32_t version;
	uint32_t payload_bytes;
	uint64_t published_ns;
	uint64_t payload;
};

/* Memory of a pretended process: a header at address 4096 and a payload at 8192. */
struct there {
	struct op_memory memory;
	struct header header;
	unsigned int reads;
	unsigned int change_for; /* reads after which nothing changes any more */
};

static int read_there(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	struct there *t = op_container_of(m, struct there, memory);

	if (++t->reads <= t->change_for)
		t->header.published_ns++;
	if (addr == 4096 && len == sizeof(t->header))
		memcpy(buf, &t->header, len);
	else if (addr == 8192 && len <= message.len)
		memcpy(buf, message.data, len);
	else
		return -EFAULT;
	return 0;
}

static struct there make_there(void)
{
	struct there t = {
		.memory.read = read_there,
		.header = { .version = 2, .published_ns = 1000, .payload = 8192 }
	};

	resource.len = 0;
	string_attribute(&resource, "service.name", "shop");
	make_message();
	memcpy(t.header.signature, "OTEL_CTX", 8);
	t.header.payload_bytes = (uint32_t)message.len;
	return t;
}

static int try_read(struct there *t, char ret[OP_SERVICE_NAME_MAX])
{
	struct op_resource_attributes *c = op_resource_attributes_new();
	uint64_t published = 0;
	int r = op_process_context_read(&t->memory, 4096, c, NULL, &published);

	CHECK_INT(published, r == 0 ? (int64_t)t->header.published_ns : 0);
	memcpy(ret, c->service_name, sizeof(c->service_name));
	if (r)
		CHECK_INT(c->dropped, 0);
	op_resource_attributes_put_ref(c);
	return r;
}

static void test_header(void)
{
	char name[OP_SERVICE_NAME_MAX];
	struct there t = make_there();

	_Static_assert(sizeof(struct header) == OP_PROCESS_CONTEXT_HEADER_BYTES,
		       "no holes");
	CHECK_OK(try_read(&t, name));
	CHECK_STR(name, "shop");
	/* it changes while it is read, and settles */
	t = make_there();
	t.change_for = 4;
	CHECK_OK(try_read(&t, name));
	CHECK_STR(name, "shop");
	/* it never does */
	t = make_there();
	t.change_for = 1000;
	CHECK_INT(try_read(&t, name), -EAGAIN);
	CHECK_STR(name, "");
	CHECK(t.reads <= 3 * OP_CONTEXT_TRIES);
	/* being changed */
	t = make_there();
	t.header.published_ns = 0;
	CHECK_INT(try_read(&t, name), -EAGAIN);
	/* not one; of another version; too long; elsewhere */
	t = make_there();
	t.header.signature[7] = 'x';
	CHECK_INT(try_read(&t, name), -EBADMSG);
	t = make_there();
	t.header.version = 1;
	CHECK_INT(try_read(&t, name), -EBADMSG);
	t = make_there();
	t.header.payload_bytes = OP_PROCESS_CONTEXT_PAYLOAD_MAX + 1;
	CHECK_INT(try_read(&t, name), -EFBIG);
	t = make_there();
	t.header.payload = 1;
	CHECK_INT(try_read(&t, name), -EFAULT);
	/* nothing in it */
	t = make_there();
	t.header.payload_bytes = 0;
	CHECK_OK(try_read(&t, name));
	CHECK_STR(name, "");
	/* a damaged message is counted */
	t = make_there();
	t.header.payload_bytes--;
	{
		struct op_resource_attributes *c = op_resource_attributes_new();
		uint64_t published;

		CHECK_OK(op_process_context_read(&t.memory, 4096, c, NULL, &published));
		CHECK_INT(c->dropped, 1);
		op_resource_attributes_put_ref(c);
	}
}

/* ---- the mapping ---- */

static bool line(const char *s, uint64_t *addr)
{
	return op_process_context_of_line(s, strlen(s), addr);
}

static void test_lines(void)
{
	uint64_t a = 1;

	CHECK(line("7f12a0000000-7f12a0001000 rw-p 00000000 00:01 2071 "
		   "                      /memfd:OTEL_CTX (deleted)",
		   &a));
	CHECK_INT(a, 0x7f12a0000000);
	CHECK(line("1000-2000 rw-p 00000000 00:00 0      [anon:OTEL_CTX]", &a));
	CHECK_INT(a, 0x1000);
	CHECK(line("1000-2000 r--s 00000000 00:01 5      [anon_shmem:OTEL_CTX]", &a));
	a = 1;
	CHECK(!line("1000-2000 r-xp 00000000 00:01 5      /memfd:OTEL_CTX (deleted)",
		    &a));
	CHECK(!line("1000-2000 -w-p 00000000 00:01 5      /memfd:OTEL_CTX", &a));
	CHECK(!line("1000-2000 rw-p 00000000 00:01 5      /tmp/memfd:OTEL_CTX", &a));
	CHECK(!line("1000-2000 rw-p 00000000 00:01 5      [anon:OTEL_CT]", &a));
	CHECK(!line("1000-2000 rw-p 00000000 00:00 0 ", &a));
	CHECK(!line("[anon:OTEL_CTX]", &a));
	CHECK(!line("-[anon:OTEL_CTX]", &a));
	CHECK(!line("1-[anon:OTEL_CTX]", &a));
	CHECK(!line("x000-2000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]", &a));
	CHECK(!line("00000000000000001-2 rw-p 00000000 00:00 0 [anon:OTEL_CTX]", &a));
	CHECK(!line("", &a));
	CHECK_INT(a, 1);
}

/* A mapping of this process itself, by the memfd of the writers. */
static void test_live_mapping(void)
{
	_cleanup_(op_target_freep) struct op_target *target = NULL;
	uint64_t addr = 0;
	void *p;
	int fd;

	CHECK_OK(op_target_new("/proc", &target));
	be_patient(target);
	CHECK_INT(op_process_context_find(target, (uint32_t)getpid(), &addr), -ENOENT);
	fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && close(fd) == 0);
	CHECK_OK(op_process_context_find(target, (uint32_t)getpid(), &addr));
	CHECK(addr == (uintptr_t)p);
	CHECK(munmap(p, 4096) == 0);
	CHECK_INT(op_process_context_find(target, (uint32_t)getpid(), &addr), -ENOENT);
	CHECK_INT(op_process_context_find(target, 0x7fffffff, &addr), -ENOENT);
}

TEST_MAIN({ "attributes", test_attributes },
	  { "not_taken", test_what_is_not_taken_is_counted },
	  { "deep", test_deep_nesting }, { "damage", test_damage },
	  { "header", test_header }, { "lines", test_lines },
	  { "live", test_live_mapping })
