/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ExportProfilesServiceRequest messages for tests by hand, from the published field
 * numbers, so that what reads them is not tested against itself. Nothing is deduplicated
 * but strings; memory is for the life of the test.
 */
#ifndef TEST_REQUEST_H
#define TEST_REQUEST_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct rq_buf {
	uint8_t *data;
	size_t len;
	size_t cap;
};

enum rq_table {
	RQ_MAPPING = 1,
	RQ_LOCATION,
	RQ_FUNCTION,
	RQ_LINK,
	RQ_STRING,
	RQ_ATTRIBUTE,
	RQ_STACK,
	RQ_TABLES,
};

enum {
	RQ_STRINGS_MAX = 4096,
	RQ_WINDOW_NS = 1000000000,
	RQ_PERIOD_NS = 10000000,
};
#define RQ_TIME_NS UINT64_C(1700000000000000000)

struct rq {
	struct rq_buf table[RQ_TABLES];
	uint32_t len[RQ_TABLES];
	const char *strings[RQ_STRINGS_MAX];
	struct rq_buf resources;
	struct rq_buf samples; /* of the resource at hand */
	uint64_t next_time_ns;
	uint64_t period_ns;
	uint64_t count;	     /* events */
	uint32_t link;	     /* of the samples from now on; 0: none */
	const char *service; /* of the processes from now on; NULL: none */
	const char *path;    /* the same of their executables */
	const char *type;    /* of the profiles; NULL: the CPUs' samples */
	const char *unit;
	bool timed;	/* they have times, too */
	uint64_t value; /* of each event of such a type */
	uint64_t lost;	/* so many of the `taken` samples of the window; 0: none */
	uint64_t taken;
};

static inline void rq_add(struct rq_buf *b, const void *bytes, size_t len)
{
	if (b->len + len > b->cap) {
		b->cap = (b->len + len) * 2 + 64;
		b->data = realloc(b->data, b->cap);
		if (!b->data)
			abort();
	}
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
}

static inline void rq_varint(struct rq_buf *b, uint64_t v)
{
	uint8_t byte;

	for (; v >= 0x80; v >>= 7) {
		byte = (uint8_t)(v | 0x80);
		rq_add(b, &byte, 1);
	}
	byte = (uint8_t)v;
	rq_add(b, &byte, 1);
}

static inline void rq_uint(struct rq_buf *b, uint32_t field, uint64_t v)
{
	if (!v)
		return;
	rq_varint(b, field << 3);
	rq_varint(b, v);
}

static inline void rq_fixed64(struct rq_buf *b, uint32_t field, uint64_t v)
{
	rq_varint(b, field << 3 | 1);
	rq_add(b, &v, 8);
}

static inline void rq_bytes(struct rq_buf *b, uint32_t field, const void *bytes,
			    size_t len)
{
	rq_varint(b, field << 3 | 2);
	rq_varint(b, len);
	rq_add(b, bytes, len);
}

static inline void rq_text(struct rq_buf *b, uint32_t field, const char *s)
{
	rq_bytes(b, field, s, strlen(s));
}

/* Put @sub as a message and release it. */
static inline void rq_message(struct rq_buf *b, uint32_t field, struct rq_buf *sub)
{
	rq_bytes(b, field, sub->data, sub->len);
	free(sub->data);
	*sub = (struct rq_buf){ 0 };
}

static inline uint32_t rq_entry(struct rq *q, enum rq_table t, struct rq_buf *sub)
{
	rq_message(&q->table[t], t, sub);
	return q->len[t]++;
}

static inline uint32_t rq_string_len(struct rq *q, const char *s, size_t len)
{
	rq_bytes(&q->table[RQ_STRING], RQ_STRING, s, len);
	return q->len[RQ_STRING]++;
}

static inline uint32_t rq_string(struct rq *q, const char *s)
{
	uint32_t i;

	for (i = 0; i < q->len[RQ_STRING] && i < RQ_STRINGS_MAX; i++) {
		if (q->strings[i] && strcmp(q->strings[i], s) == 0)
			return i;
	}
	if (i < RQ_STRINGS_MAX)
		q->strings[i] = s;
	return rq_string_len(q, s, strlen(s));
}

/* Begin: the zero entries. */
static inline void rq_begin(struct rq *q)
{
	struct rq_buf none = { 0 };
	enum rq_table t;

	memset(q, 0, sizeof(*q));
	q->next_time_ns = RQ_TIME_NS;
	q->period_ns = RQ_PERIOD_NS;
	for (t = RQ_MAPPING; t < RQ_TABLES; t++) {
		if (t == RQ_STRING)
			(void)rq_string(q, "");
		else
			(void)rq_entry(q, t, &none);
	}
}

static inline uint32_t rq_string_attribute(struct rq *q, const char *key,
					   const char *value)
{
	struct rq_buf a = { 0 }, v = { 0 };

	rq_uint(&a, 1, rq_string(q, key));
	rq_text(&v, 1, value);
	rq_message(&a, 2, &v);
	return rq_entry(q, RQ_ATTRIBUTE, &a);
}

static inline uint32_t rq_int_attribute(struct rq *q, const char *key, uint64_t value)
{
	struct rq_buf a = { 0 }, v = { 0 };

	rq_uint(&a, 1, rq_string(q, key));
	rq_varint(&v, 3 << 3);
	rq_varint(&v, value);
	rq_message(&a, 2, &v);
	return rq_entry(q, RQ_ATTRIBUTE, &a);
}

static inline void rq_packed(struct rq_buf *b, uint32_t field, const uint32_t *v,
			     size_t len)
{
	struct rq_buf list = { 0 };
	size_t i;

	if (!len)
		return;
	for (i = 0; i < len; i++)
		rq_varint(&list, v[i]);
	rq_message(b, field, &list);
}

static inline uint32_t rq_mapping(struct rq *q, const char *file, const char *build_id)
{
	uint32_t id = rq_string_attribute(q, "process.executable.build_id.gnu", build_id);
	struct rq_buf m = { 0 };

	rq_uint(&m, 1, 0x1000);
	rq_uint(&m, 2, 0x9000);
	rq_uint(&m, 3, 0x1000);
	rq_uint(&m, 4, rq_string(q, file));
	rq_packed(&m, 5, &id, 1);
	return rq_entry(q, RQ_MAPPING, &m);
}

static inline uint32_t rq_function(struct rq *q, const char *name, const char *file,
				   uint32_t start_line)
{
	struct rq_buf f = { 0 };

	rq_uint(&f, 1, rq_string(q, name));
	rq_uint(&f, 2, 0);
	rq_uint(&f, 3, rq_string(q, file));
	rq_uint(&f, 4, start_line);
	return rq_entry(q, RQ_FUNCTION, &f);
}

/* A frame; with @outer it is inlined into that function. @type: an attribute. */
static inline uint32_t rq_location(struct rq *q, uint32_t type, uint32_t mapping,
				   uint64_t address, uint32_t function, uint32_t line,
				   uint32_t outer, uint32_t outer_line)
{
	struct rq_buf l = { 0 }, n = { 0 };

	rq_uint(&l, 1, mapping);
	rq_uint(&l, 2, address);
	if (function) {
		rq_uint(&n, 1, function);
		rq_uint(&n, 2, line);
		rq_message(&l, 3, &n);
	}
	if (outer) {
		rq_uint(&n, 1, outer);
		rq_uint(&n, 2, outer_line);
		rq_message(&l, 3, &n);
	}
	rq_packed(&l, 4, &type, type ? 1 : 0);
	return rq_entry(q, RQ_LOCATION, &l);
}

static inline uint32_t rq_stack(struct rq *q, const uint32_t *leaf_first, size_t len)
{
	struct rq_buf s = { 0 };

	rq_packed(&s, 1, leaf_first, len);
	return rq_entry(q, RQ_STACK, &s);
}

/* A link to the trace whose id has @byte sixteen times. */
static inline uint32_t rq_link(struct rq *q, int byte)
{
	struct rq_buf l = { 0 };
	uint8_t id[16];

	memset(id, byte, sizeof(id));
	rq_bytes(&l, 1, id, 16);
	rq_bytes(&l, 2, id, 8);
	return rq_entry(q, RQ_LINK, &l);
}

/* @count events, a timestamp each. */
static inline void rq_sample(struct rq *q, uint32_t stack, const uint32_t *attributes,
			     size_t attributes_len, unsigned int count)
{
	struct rq_buf s = { 0 }, times = { 0 }, values = { 0 };
	unsigned int events = count;

	rq_uint(&s, 1, stack);
	rq_packed(&s, 2, attributes, attributes_len);
	rq_uint(&s, 3, q->link);
	q->count += count;
	for (; count; count--) {
		rq_add(&times, &q->next_time_ns, 8);
		q->next_time_ns += 1000;
	}
	if (q->type) {
		rq_varint(&values, events * q->value);
		rq_message(&s, 4, &values);
	}
	if (!q->type || q->timed)
		rq_message(&s, 5, &times);
	else
		free(times.data);
	rq_message(&q->samples, 2, &s);
}

static inline void rq_resource_attribute(struct rq_buf *resource, const char *key,
					 const char *string, uint64_t number)
{
	struct rq_buf kv = { 0 }, v = { 0 };

	rq_text(&kv, 1, key);
	if (string)
		rq_text(&v, 1, string);
	else
		rq_uint(&v, 3, number);
	rq_message(&kv, 2, &v);
	rq_message(resource, 1, &kv);
}

/* The samples so far are of this process: one profile of CPU samples. */
static inline void rq_process(struct rq *q, uint64_t pid, const char *name,
			      const char *container_id)
{
	struct rq_buf r = { 0 }, outer = { 0 }, scope = { 0 }, profile = { 0 },
		      type = { 0 };
	static const uint8_t id[16] = { 1, 2, 3 };
	uint32_t said[2];

	rq_resource_attribute(&r, "process.pid", NULL, pid);
	rq_resource_attribute(&r, "process.executable.name", name, 0);
	if (q->path)
		rq_resource_attribute(&r, "process.executable.path", q->path, 0);
	if (container_id)
		rq_resource_attribute(&r, "container.id", container_id, 0);
	if (q->service)
		rq_resource_attribute(&r, "service.name", q->service, 0);
	rq_message(&outer, 1, &r);

	rq_uint(&type, 1, rq_string(q, q->type ? q->type : "samples"));
	rq_uint(&type, 2, rq_string(q, q->type ? q->unit : "count"));
	rq_message(&profile, 1, &type);
	rq_add(&profile, q->samples.data, q->samples.len);
	q->samples.len = 0;
	rq_fixed64(&profile, 3, RQ_TIME_NS);
	rq_uint(&profile, 4, RQ_WINDOW_NS);
	if (!q->type) {
		rq_uint(&type, 1, rq_string(q, "cpu"));
		rq_uint(&type, 2, rq_string(q, "nanoseconds"));
		rq_message(&profile, 5, &type);
		rq_uint(&profile, 6, q->period_ns);
	}
	rq_bytes(&profile, 7, id, sizeof(id));
	if (q->lost) {
		said[0] = rq_int_attribute(q, "otelprof.window.samples_lost", q->lost);
		said[1] = rq_int_attribute(q, "otelprof.window.samples_taken", q->taken);
		rq_packed(&profile, 11, said, 2);
	}
	rq_message(&scope, 2, &profile);
	rq_message(&outer, 2, &scope);
	rq_message(&q->resources, 1, &outer);
}

/* The request. Caller frees the data. */
static inline struct rq_buf rq_end(struct rq *q)
{
	struct rq_buf out = { 0 }, dictionary = { 0 };
	enum rq_table t;

	rq_add(&out, q->resources.data, q->resources.len);
	for (t = RQ_MAPPING; t < RQ_TABLES; t++)
		rq_add(&dictionary, q->table[t].data, q->table[t].len);
	rq_message(&out, 2, &dictionary);
	for (t = RQ_MAPPING; t < RQ_TABLES; t++)
		free(q->table[t].data);
	free(q->resources.data);
	free(q->samples.data);
	return out;
}

#define RQ_EVIL	     "</script><img src=x onerror=document.title='pwned'>"
#define RQ_CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/*
 * Ten events of three processes:
 *
 *   100 web    main > handle > parse (inlined into handle)           3
 *              main > handle > ksys_read (kernel)                    2
 *   200 python main > <module> (cpython) > work (cpython)            4, or @work
 *   300 evil   RQ_EVIL > a;b                                         1
 *
 * at 100 Hz; with another @period_ns the first two.
 */
static inline struct rq_buf rq_canned_with(uint64_t work, uint64_t period_ns)
{
	struct rq q;
	uint32_t native, kernel, python, web, libc, vmlinux;
	uint32_t f_main, f_handle, f_parse, f_read, f_module, f_work, f_evil, f_semi;
	uint32_t l_main, l_inlined, l_handle, l_read, l_module, l_work, l_evil, l_semi;
	uint32_t thread[4];

	rq_begin(&q);
	q.period_ns = period_ns;
	native = rq_string_attribute(&q, "profile.frame.type", "native");
	kernel = rq_string_attribute(&q, "profile.frame.type", "kernel");
	python = rq_string_attribute(&q, "profile.frame.type", "cpython");
	web = rq_mapping(&q, "web", "aabb");
	libc = rq_mapping(&q, "python3.11", "ccdd");
	vmlinux = rq_mapping(&q, "vmlinux", "eeff");
	f_main = rq_function(&q, "main", "", 0);
	f_handle = rq_function(&q, "handle", "web.c", 20);
	f_parse = rq_function(&q, "parse", "parse.h", 5);
	f_read = rq_function(&q, "ksys_read", "", 0);
	f_module = rq_function(&q, "<module>", "app.py", 1);
	f_work = rq_function(&q, "work", "app.py", 10);
	f_evil = rq_function(&q, RQ_EVIL, "", 0);
	f_semi = rq_function(&q, "a;b", "", 0);
	l_main = rq_location(&q, native, web, 0x1100, f_main, 0, 0, 0);
	l_inlined = rq_location(&q, native, web, 0x1200, f_parse, 7, f_handle, 25);
	l_handle = rq_location(&q, native, web, 0x1300, f_handle, 30, 0, 0);
	l_read = rq_location(&q, kernel, vmlinux, 0x1400, f_read, 0, 0, 0);
	l_module = rq_location(&q, python, 0, 0, f_module, 3, 0, 0);
	l_work = rq_location(&q, python, 0, 0, f_work, 12, 0, 0);
	l_evil = rq_location(&q, native, libc, 0x1500, f_evil, 0, 0, 0);
	l_semi = rq_location(&q, native, libc, 0x1600, f_semi, 0, 0, 0);
	thread[0] = rq_int_attribute(&q, "thread.id", 101);
	thread[1] = rq_string_attribute(&q, "thread.name", "worker");
	thread[2] = rq_int_attribute(&q, "thread.id", 200);
	thread[3] = rq_string_attribute(&q, "thread.name", "MainThread");

	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l_inlined, l_main }, 2), thread, 2, 3);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l_read, l_handle, l_main }, 3), thread,
		  2, 2);
	rq_process(&q, 100, "web", RQ_CONTAINER);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l_work, l_module, l_main }, 3),
		  thread + 2, 2, work);
	rq_process(&q, 200, "python", NULL);
	q.period_ns = RQ_PERIOD_NS;
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l_semi, l_evil }, 2), NULL, 0, 1);
	rq_process(&q, 300, "evil", NULL);
	return rq_end(&q);
}

/* Four events of another type: main > outer > inner 1, and main > outer 3; each of @value. */
static inline struct rq_buf rq_of_type(const char *type, const char *unit, uint64_t value)
{
	struct rq q;
	uint32_t native;
	uint32_t at[3];

	rq_begin(&q);
	native = rq_string_attribute(&q, "profile.frame.type", "native");
	q.type = type;
	q.unit = unit;
	q.value = value;
	at[0] = rq_location(&q, native, 0, 1, rq_function(&q, "inner", "", 0), 0, 0, 0);
	at[1] = rq_location(&q, native, 0, 2, rq_function(&q, "outer", "", 0), 0, 0, 0);
	at[2] = rq_location(&q, native, 0, 3, rq_function(&q, "main", "", 0), 0, 0, 0);
	rq_sample(&q, rq_stack(&q, at, 3), NULL, 0, 1);
	rq_sample(&q, rq_stack(&q, at + 1, 2), NULL, 0, 3);
	rq_process(&q, 100, "web", NULL);
	return rq_end(&q);
}

/*
 * Threads of process 42 at one moment: 42 reads a pipe in Python; 43 to 55 wait for a lock in the
 * same place; 56 runs; 57 was run, and waits for a CPU.
 */
static inline struct rq_buf rq_threads(void)
{
	struct rq q;
	uint32_t native, kernel, python, so, vmlinux, l[8], state[3], a[3], i;

	rq_begin(&q);
	q.type = "threads";
	q.unit = "count";
	q.value = 1;
	native = rq_string_attribute(&q, "profile.frame.type", "native");
	kernel = rq_string_attribute(&q, "profile.frame.type", "kernel");
	python = rq_string_attribute(&q, "profile.frame.type", "cpython");
	so = rq_mapping(&q, "/usr/lib/libpython3.so", "aa");
	vmlinux = rq_mapping(&q, "vmlinux", "bb");
	l[0] = rq_location(&q, kernel, vmlinux, 1, rq_function(&q, "pipe_read", "", 0), 0,
			   0, 0);
	l[1] = rq_location(&q, kernel, vmlinux, 2, rq_function(&q, "vfs_read", "", 0), 0,
			   0, 0);
	l[2] = rq_location(&q, native, so, 3, rq_function(&q, "_Py_read", "", 0), 0, 0,
			   0);
	l[3] = rq_location(&q, python, 0, 0, rq_function(&q, "ask", "/app/x.py", 3), 7, 0,
			   0);
	l[4] = rq_location(&q, native, so, 4, rq_function(&q, "_PyEval", "", 0), 0, 0, 0);
	l[5] = rq_location(&q, kernel, vmlinux, 5, rq_function(&q, "futex_wait", "", 0),
			   0, 0, 0);
	l[6] = rq_location(&q, native, 0, 6, rq_function(&q, "work\033[2J", "w.c", 1), 9,
			   0, 0);
	l[7] = rq_location(&q, 0, 0, 0, rq_function(&q, "[running]", "", 0), 0, 0, 0);
	state[0] = rq_string_attribute(&q, "thread.state", "sleeping");
	state[1] = rq_string_attribute(&q, "thread.state", "running");
	state[2] = rq_string_attribute(&q, "thread.state", "runnable");
	for (i = 42; i < 58; i++) {
		a[0] = rq_int_attribute(&q, "thread.id", i);
		a[1] = rq_string_attribute(&q, "thread.name", i == 42 ? "main" : "pool");
		a[2] = state[i < 56 ? 0 : i - 55];
		if (i == 42)
			rq_sample(&q, rq_stack(&q, l, 5), a, 3, 1);
		else
			rq_sample(&q,
				  rq_stack(&q,
					   l + (i < 56	  ? 5
						: 56 == i ? 7
							  : 6),
					   i < 56 ? 2 : 1),
				  a, 3, 1);
	}
	rq_process(&q, 42, "app", RQ_CONTAINER);
	return rq_end(&q);
}

/* Ten events of each of these functions. */
static inline struct rq_buf rq_named(const char *const *names, size_t len)
{
	struct rq q;
	uint32_t location;
	size_t i;

	rq_begin(&q);
	for (i = 0; i < len; i++) {
		location = rq_location(&q, 0, 0, i, rq_function(&q, names[i], "", 0), 0,
				       0, 0);
		rq_sample(&q, rq_stack(&q, &location, 1), NULL, 0, 10);
	}
	rq_process(&q, 100, "web", NULL);
	return rq_end(&q);
}

/* Ten events of one stack of ten functions, "f0" the leaf. */
static inline struct rq_buf rq_deep(void)
{
	static const char *const names[] = { "f0", "f1", "f2", "f3", "f4",
					     "f5", "f6", "f7", "f8", "f9" };
	struct rq q;
	uint32_t l[10];
	size_t i;

	rq_begin(&q);
	for (i = 0; i < 10; i++)
		l[i] = rq_location(&q, 0, 0, i, rq_function(&q, names[i], "", 0), 0, 0,
				   0);
	rq_sample(&q, rq_stack(&q, l, 10), NULL, 0, 10);
	rq_process(&q, 100, "web", NULL);
	return rq_end(&q);
}

/*
 * Ten events of one process, 28 frames. Of them 15 have no name: 9 of libone.so, 3 of
 * libtwo.so, 2 of libthree.so, 1 without a file. What says that a stack ends early is no
 * frame. Three samples of 13 were lost.
 */
static inline struct rq_buf rq_poor(void)
{
	struct rq q;
	uint32_t one, two, three, l[6], native;

	rq_begin(&q);
	native = rq_string_attribute(&q, "profile.frame.type", "native");
	one = rq_mapping(&q, "/lib/libone.so", "aa");
	two = rq_mapping(&q, "libtwo.so", "bb");
	three = rq_mapping(&q, "/opt/libthree.so", "cc");
	l[0] = rq_location(&q, native, one, 0x1100, 0, 0, 0, 0);
	/* as the library writes a frame without a name */
	l[1] = rq_location(&q, native, two, 0x1200,
			   rq_function(&q, "libtwo.so+0x1200", "", 0), 0, 0, 0);
	l[2] = rq_location(&q, native, three, 0x1300, 0, 0, 0, 0);
	l[3] = rq_location(&q, native, 0, 0x1400, 0, 0, 0, 0);
	l[4] = rq_location(&q, native, one, 0x1500, rq_function(&q, "named", "", 0), 0, 0,
			   0);
	l[5] = rq_location(&q, native, 0, 0,
			   rq_function(&q, "[unwind error: native_read_cfa]", "", 0), 0,
			   0, 0);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l[4], l[0], l[1], l[4] }, 4), NULL, 0,
		  3);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l[0], l[2], l[4] }, 3), NULL, 0, 2);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l[3], l[4], l[5] }, 3), NULL, 0, 1);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l[0], l[4], l[5] }, 3), NULL, 0, 4);
	q.lost = 3;
	q.taken = 13;
	rq_process(&q, 100, "web", NULL);
	return rq_end(&q);
}

/* Ten events: main > called > leaf 3, where called is a guess, and main > leaf 7. */
static inline struct rq_buf rq_guessed(void)
{
	struct rq q;
	uint32_t guessed, l[3];

	rq_begin(&q);
	guessed = rq_string_attribute(&q, "otelprof.frame.guessed", "caller");
	l[0] = rq_location(&q, 0, 0, 1, rq_function(&q, "leaf", "", 0), 0, 0, 0);
	l[1] = rq_location(&q, guessed, 0, 2, rq_function(&q, "called", "", 0), 0, 0, 0);
	l[2] = rq_location(&q, 0, 0, 3, rq_function(&q, "main", "", 0), 0, 0, 0);
	rq_sample(&q, rq_stack(&q, l, 3), NULL, 0, 3);
	l[1] = l[2];
	rq_sample(&q, rq_stack(&q, l, 2), NULL, 0, 7);
	rq_process(&q, 100, "web", NULL);
	return rq_end(&q);
}

/*
 * Ten events of one stack: of trace abab... 3 of the service shop and 1 of cart, of trace
 * cdcd... 2 of cart, and 4 of no trace, of a process without a service name.
 */
static inline struct rq_buf rq_traced(void)
{
	struct rq q;
	uint32_t at, stack;

	rq_begin(&q);
	at = rq_location(&q, 0, 0, 0x1100, rq_function(&q, "work", "", 0), 0, 0, 0);
	stack = rq_stack(&q, &at, 1);
	q.link = rq_link(&q, 0xab);
	q.service = "shop";
	rq_sample(&q, stack, NULL, 0, 3);
	rq_process(&q, 100, "web", RQ_CONTAINER);
	q.service = "cart";
	rq_sample(&q, stack, NULL, 0, 1);
	q.link = rq_link(&q, 0xcd);
	rq_sample(&q, stack, NULL, 0, 2);
	rq_process(&q, 200, "web", NULL);
	q.link = 0;
	q.service = NULL;
	rq_sample(&q, stack, NULL, 0, 4);
	rq_process(&q, 300, "web", NULL);
	return rq_end(&q);
}

static inline struct rq_buf rq_canned(void)
{
	return rq_canned_with(4, RQ_PERIOD_NS);
}

#endif
