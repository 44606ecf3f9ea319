/* SPDX-License-Identifier: Apache-2.0 */
/* A HotSpot process that is built byte by byte; hostile ones too. */
#include <sys/types.h>

#include "runtime/hotspot/code.h"
#include "runtime/hotspot/identity.h"
#include "runtime/hotspot/methods.h"

#include "hotspot_fake.h"
#include "test.h"

static struct op_hotspot_layout begin(void)
{
	struct op_hotspot_layout layout;
	const char *missing;

	fake_make();
	CHECK_OK(op_runtime_hotspot_layout(&fake.memory, &fake.image, FAKE_SYMBOLS,
					   &layout, &missing));
	CHECK(!missing);
	return layout;
}

static void test_layout(void)
{
	struct op_hotspot_layout l = begin();

	CHECK_INT(l.version, 25);
	CHECK_INT(l.at[OP_HOTSPOT_CONST_FLAGS], 28);
	CHECK_INT(l.at[OP_HOTSPOT_CONST_BYTES], 56);
	CHECK_INT(l.at[OP_HOTSPOT_HEAPS_ADDRESS], FAKE_STATICS + 24);
	CHECK(l.there[OP_HOTSPOT_BLOB_CODE_OFFSET]);
	CHECK(!l.there[OP_HOTSPOT_BLOB_CODE_BEGIN]);
	CHECK(!l.there[OP_HOTSPOT_HEAP_ADDRESS]);
}

/* Before the library's constructors have run its numbers are zero. */
static void test_layout_too_early(void)
{
	struct op_hotspot_layout l = begin();
	const char *missing;
	int i;

	for (i = 0; i < OP_HOTSPOT_SYMBOLS; i++) {
		uint64_t zero = 0;
		uint64_t was;

		if (i == OP_HOTSPOT_STRUCTS || i == OP_HOTSPOT_TYPES)
			continue;
		memcpy(&was, fake.bytes + i * 8, sizeof(was));
		fake_put(FAKE_SYMBOLS + (uint64_t)i * 8, &zero, sizeof(zero));
		if (i == OP_HOTSPOT_STRUCT_STRIDE || i == OP_HOTSPOT_TYPE_STRIDE)
			CHECK_INT(op_runtime_hotspot_layout(&fake.memory, &fake.image,
							    FAKE_SYMBOLS, &l, &missing),
				  -EAGAIN);
		fake_put(FAKE_SYMBOLS + (uint64_t)i * 8, &was, sizeof(was));
	}
	fake_u32(FAKE_STATICS, 0);
	CHECK_INT(op_runtime_hotspot_layout(&fake.memory, &fake.image, FAKE_SYMBOLS, &l,
					    &missing),
		  -EAGAIN);
}

static void test_layout_without_a_type(void)
{
	struct op_hotspot_layout l = begin();
	const char *missing;

	fake_put(FAKE_TYPES + 2 * FAKE_TYPE_STRIDE, fake.bytes + (FAKE_TYPES - FAKE_BASE),
		 8); /* "Method" becomes another "InterpreterCodelet" */
	CHECK_INT(op_runtime_hotspot_layout(&fake.memory, &fake.image, FAKE_SYMBOLS, &l,
					    &missing),
		  -EBADMSG);
	CHECK_STR(missing, "Method");
}

/* A table without an end costs bounded time. */
static void test_layout_without_an_end(void)
{
	struct op_hotspot_layout l = begin();
	const char *missing;
	uint64_t i;

	for (i = fake.structs; i < (FAKE_TYPES - FAKE_STRUCTS) / FAKE_STRIDE; i++)
		fake_put(FAKE_STRUCTS + i * FAKE_STRIDE,
			 fake.bytes + (FAKE_STRUCTS - FAKE_BASE), FAKE_STRIDE);
	fake_u64(FAKE_SYMBOLS + OP_HOTSPOT_STRUCT_STRIDE * 8, OP_HOTSPOT_STRIDE_MAX + 1);
	CHECK_INT(op_runtime_hotspot_layout(&fake.memory, &fake.image, FAKE_SYMBOLS, &l,
					    &missing),
		  -EBADMSG);
}

static uint32_t frame_at(const struct op_hotspot *bpf, uint64_t addr, uint32_t *ret_where)
{
	uint64_t at = addr - bpf->cache;
	uint32_t i = bpf->rule_count;

	while (i-- > 0)
		if (bpf->rule[i].at <= at) {
			*ret_where = bpf->rule[i].where;
			return bpf->rule[i].frame;
		}
	return OP_HOTSPOT_SLOT;
}

static void test_code(void)
{
	struct op_hotspot_layout l = begin();
	static struct op_hotspot bpf;
	/* the first byte of each codelet's code */
	uint64_t method = FAKE_CODELETS + 26 + 24;
	uint64_t quick = method + sizeof(fake_method_entry) + 24;
	uint64_t ret = quick + sizeof(fake_quick_entry) + 24;
	uint32_t where;
	char name[32];

	memset(&bpf, 0, sizeof(bpf));
	CHECK_OK(op_runtime_hotspot_code(&fake.memory, &l, &bpf));
	CHECK_INT(bpf.heap[0].low, FAKE_CODE);
	CHECK_INT(bpf.heap[0].high, FAKE_CODE_END);
	CHECK_INT(bpf.heap[1].low, 0);
	CHECK_INT(bpf.call_stub, FAKE_CODE + 0x48);
	CHECK_INT(bpf.bcp_slot, -64);
	CHECK_INT(bpf.log2_segment, 7);
	CHECK_INT(frame_at(&bpf, FAKE_CODELETS + 24, &where), OP_HOTSPOT_SLOT);
	CHECK_INT(frame_at(&bpf, method, &where), OP_HOTSPOT_ENTRY);
	CHECK_INT(where, OP_HOTSPOT_RETURN_SP);
	CHECK_INT(frame_at(&bpf, method + 1, &where), OP_HOTSPOT_ENTRY);
	CHECK_INT(where, OP_HOTSPOT_RETURN_REG);
	CHECK_INT(frame_at(&bpf, method + 7, &where), OP_HOTSPOT_ENTRY);
	CHECK_INT(where, OP_HOTSPOT_RETURN_SP);
	CHECK_INT(frame_at(&bpf, method + 8, &where), OP_HOTSPOT_ENTRY);
	CHECK_INT(where, OP_HOTSPOT_RETURN_BELOW);
	CHECK_INT(frame_at(&bpf, method + 11, &where), OP_HOTSPOT_HALF);
	CHECK_INT(frame_at(&bpf, method + 15, &where), OP_HOTSPOT_HALF);
	CHECK_INT(frame_at(&bpf, method + 16, &where), OP_HOTSPOT_BEGUN);
	CHECK_INT(frame_at(&bpf, quick + 1, &where), OP_HOTSPOT_ENTRY);
	CHECK_INT(where, OP_HOTSPOT_RETURN_SP);
	CHECK_INT(frame_at(&bpf, quick + 2, &where), OP_HOTSPOT_ENTRY);
	CHECK_INT(where, OP_HOTSPOT_RETURN_REG);
	CHECK_INT(frame_at(&bpf, ret, &where), OP_HOTSPOT_BCP);
	CHECK_INT(frame_at(&bpf, ret + 1, &where), OP_HOTSPOT_BCP);
	CHECK_INT(frame_at(&bpf, ret + 2, &where), OP_HOTSPOT_GONE);
	CHECK_INT(where, OP_HOTSPOT_RETURN_SP);
	CHECK_INT(frame_at(&bpf, ret + 4, &where), OP_HOTSPOT_GONE);
	CHECK_INT(where, OP_HOTSPOT_RETURN_REG + 13);
	CHECK_INT(frame_at(&bpf, ret + 10, &where), OP_HOTSPOT_BCP);
	CHECK_INT(op_runtime_hotspot_codelet_name(&fake.memory, &l, quick, name,
						  sizeof(name)),
		  18);
	CHECK_STR(name, "java_lang_math_sin");
}

static void test_code_too_early(void)
{
	struct op_hotspot_layout l = begin();
	static const uint64_t late[] = { FAKE_STATICS + 8, FAKE_STATICS + 16,
					 FAKE_STATICS + 24, FAKE_ARRAY + 16, FAKE_HEAP };
	static struct op_hotspot bpf;
	uint32_t end;
	size_t i;

	for (i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		fake_make();
		fake_u64(late[i], 0);
		CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -EAGAIN);
	}
	fake_make();
	/* the last codelet is not committed */
	fake_u32(FAKE_QUEUE_COUNT, FAKE_CODELETS_COUNT - 1);
	CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -EAGAIN);
	/* it was committed after the end was read */
	fake_make_early(FAKE_CODELETS_COUNT - 1);
	memcpy(&end, fake.bytes + (FAKE_QUEUE_END - FAKE_BASE), sizeof(end));
	fake_make();
	fake_u32(FAKE_QUEUE_END, end);
	CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -EAGAIN);
}

/* -XX:ReservedCodeCacheSize=2g is the most that the VM accepts. */
static void test_code_of_2_gib(void)
{
	const uint64_t most = UINT64_C(2) << 30;
	struct op_hotspot_layout l = begin();
	static struct op_hotspot bpf;

	fake_u64(FAKE_HEAP + 8, FAKE_CODE + most);
	CHECK_OK(op_runtime_hotspot_code(&fake.memory, &l, &bpf));
	CHECK_INT(bpf.cache_end - bpf.cache, most);
	fake_u64(FAKE_HEAP + 8, FAKE_CODE + most + 1);
	CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -EBADMSG);
}

/* Between two codelets the queue looks as it does when the last one is there. */
static void test_code_half_made(void)
{
	struct op_hotspot_layout l = begin();
	static struct op_hotspot bpf;
	uint32_t i;

	for (i = 0; i < FAKE_CODELETS_COUNT; i++) {
		fake_make_early(i);
		CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -EAGAIN);
	}
	/* in JDK 8 the buffer stays as long as it was */
	fake_make_early(FAKE_CODELETS_COUNT);
	CHECK_OK(op_runtime_hotspot_code(&fake.memory, &l, &bpf));
	/* and a VM that calls its codelets something else cuts it */
	fake_make_early(4);
	fake_cut();
	CHECK_OK(op_runtime_hotspot_code(&fake.memory, &l, &bpf));
}

/* Of a VM with more code heaps than the step knows the first are taken. */
static void test_more_heaps(void)
{
	struct op_hotspot_layout l = begin();
	static struct op_hotspot bpf;
	uint32_t i;

	memset(&bpf, 0, sizeof(bpf));
	fake_u32(FAKE_ARRAY, OP_HOTSPOT_HEAPS + 1);
	for (i = 0; i < OP_HOTSPOT_HEAPS; i++)
		fake_u64(FAKE_ARRAY + 16 + 8 * (uint64_t)i, FAKE_HEAP);
	CHECK_OK(op_runtime_hotspot_code(&fake.memory, &l, &bpf));
	CHECK_INT(bpf.heap[OP_HOTSPOT_HEAPS - 1].low, FAKE_CODE);
	CHECK_INT(bpf.interpreter, FAKE_CODELETS);
}

static void test_not_code(void)
{
	struct op_hotspot_layout l = begin();
	static struct op_hotspot bpf;

	fake_u32(FAKE_QUEUE_END, OP_HOTSPOT_CODE_MAX + 1);
	CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -EBADMSG);
	fake_make();
	fake_u64(FAKE_HEAP + 8, FAKE_CODE - 1);
	CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -EBADMSG);
	fake_make();
	fake_u32(FAKE_CODELETS + 8, UINT32_MAX);
	CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -EBADMSG);
	fake_make();
	memset(fake.bytes + (FAKE_CODELETS + 26 + 24 - FAKE_BASE), 0x90,
	       sizeof(fake_method_entry)); /* no frame is made anywhere */
	CHECK_INT(op_runtime_hotspot_code(&fake.memory, &l, &bpf), -ENOTSUP);
}

static void test_blob_name(void)
{
	struct op_hotspot_layout l = begin();
	char name[OP_HOTSPOT_BLOB_NAME_MAX];

	fake_u64(FAKE_CODE + 8 + 8, fake_text("StubRoutines (2)"));
	CHECK_OK(op_runtime_hotspot_blob_name(&fake.memory, &l, FAKE_CODE + 8, name));
	CHECK_STR(name, "StubRoutines (2)");
}

static uint32_t identity(const struct op_hotspot_layout *l)
{
	uint32_t check = 0;

	CHECK_OK(op_runtime_hotspot_identity(&fake.memory, l, FAKE_METHOD, &check));
	return check;
}

static void test_method(void)
{
	struct op_hotspot_layout l = begin();
	const struct op_hotspot_method *method = NULL;
	struct op_hotspot_methods methods;
	uint32_t check = identity(&l);

	op_runtime_hotspot_methods_init(&methods, &fake.memory, &l);
	CHECK_INT(
		op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, check + 1, &method),
		-ESTALE);
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, check, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.work");
	CHECK_STR(method->text + method->file, "Known.java");
	CHECK_INT(method->code, FAKE_CONST + 56);
	CHECK_INT(method->code_bytes, FAKE_CODE_BYTES);
	CHECK(method->lines_len >= 5);
	/* the process ends: what is known stays right */
	methods.window++;
	fake.gone = true;
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, check, &method));
	CHECK_INT(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method),
		  -ESRCH);
	CHECK_INT(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD + 8, 0, &method),
		  -ESRCH);
	op_runtime_hotspot_methods_deinit(&methods);
}

/* The memory of a method is given to another one, which has all but a name in common with it. */
static void test_method_that_changes(void)
{
	struct op_hotspot_layout l = begin();
	const struct op_hotspot_method *method = NULL;
	struct op_hotspot_methods methods;
	uint32_t check = identity(&l);
	uint32_t later;

	op_runtime_hotspot_methods_init(&methods, &fake.memory, &l);
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.work");
	fake_u16(fake_symbol(0, "song") + 2,
		 77); /* at the same place, with another hash */
	later = identity(&l);
	CHECK(later != check);
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.song");
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, check, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.work");
	fake_u64(FAKE_POOL + 72 + 24, fake_symbol(2, "other"));
	fake_u16(FAKE_CONST + 36, 3);
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, later, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.song");
	CHECK_INT(
		op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, later + 1, &method),
		-ESTALE);
	CHECK_INT(methods.changed, 1);
	op_runtime_hotspot_methods_deinit(&methods);
}

/* What the kernel would copy by @step, and nothing else can be read. */
struct copy {
	struct op_memory memory;
	struct {
		uint64_t at;
		size_t len;
	} piece[OP_OBJECT_STEPS];
	size_t len;
};

static int copy_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	const struct copy *copy = (const struct copy *)m;
	size_t i;

	for (i = 0; i < copy->len; i++)
		if (addr >= copy->piece[i].at &&
		    addr + len <= copy->piece[i].at + copy->piece[i].len)
			return fake_read(m, addr, buf, len);
	return -EFAULT;
}

static uint64_t fake_word(uint64_t addr, size_t len)
{
	uint64_t word = 0;

	CHECK_OK(fake_read(&fake.memory, addr, &word, len));
	return word;
}

static struct copy copy_of(const struct op_object_step *step, uint64_t addr)
{
	struct copy copy = { .memory.read = copy_read };
	size_t i;

	for (i = 0; i < OP_OBJECT_STEPS && step[i].bytes; i++) {
		const struct op_object_step *s = &step[i];
		uint64_t chars = s->length_at ? 4 : 0;
		uint64_t at = copy.piece[s->piece].at + s->at;

		if (s->most & OP_OBJECT_ELEMENT)
			at += 8 * fake_word(copy.piece[s->tag].at + s->width_at, 2);
		else if (i)
			at = fake_word(at, 8) - s->tag;
		else
			at = addr;
		if (chars)
			chars = fake_word(at + s->length_at,
					  s->most & OP_OBJECT_SHORT_LENGTH ? 2 : 4);
		if (s->most & OP_OBJECT_WORDS)
			chars = chars * 8 - s->bytes;
		copy.piece[i].at = at;
		copy.piece[i].len =
			s->bytes + OP_MIN(chars, (uint64_t)s->most & OP_OBJECT_MOST);
	}
	copy.len = i;
	return copy;
}

/* The Method is another's by the time that user space reads it. */
static void test_copied_method(void)
{
	struct op_hotspot_layout l = begin();
	const struct op_hotspot_method *method = NULL;
	static struct op_hotspot bpf;
	struct op_hotspot_methods methods;
	uint32_t check = identity(&l);
	struct copy copy;
	uint64_t key;

	op_runtime_hotspot_identity_set(&l, &bpf);
	CHECK_INT(bpf.identity.method_const, l.at[OP_HOTSPOT_METHOD_CONST]);
	copy = copy_of(bpf.method, FAKE_METHOD);
	op_runtime_hotspot_methods_init(&methods, &fake.memory, &l);
	CHECK_OK(op_runtime_hotspot_methods_add(&methods, FAKE_METHOD, &copy.memory,
						&key));
	CHECK(!op_runtime_hotspot_methods_find(&methods, key + 1));
	memset(fake.bytes, 0, sizeof(fake.bytes));
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, check, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.work");
	CHECK_STR(method->text + method->file, "Known.java");
	CHECK(method->lines_len >= 5);
	CHECK(op_runtime_hotspot_methods_find(&methods, key) == method);
	op_runtime_hotspot_methods_deinit(&methods);
}

/* A copy that lacks what the ring had no room for names nothing, or lacks a table of lines. */
static void test_copied_in_part(void)
{
	struct op_hotspot_layout l = begin();
	const struct op_hotspot_method *method = NULL;
	static struct op_hotspot bpf;
	struct op_hotspot_methods methods;
	uint32_t check = identity(&l);
	struct copy copy;
	uint64_t key;
	size_t i;

	op_runtime_hotspot_identity_set(&l, &bpf);
	copy = copy_of(bpf.method, FAKE_METHOD);
	for (i = 0; i < copy.len; i++) {
		copy.len = i;
		op_runtime_hotspot_methods_init(&methods, &fake.memory, &l);
		if (op_runtime_hotspot_methods_add(&methods, FAKE_METHOD, &copy.memory,
						   &key) == 0) {
			/* the living one tells the rest */
			CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD,
								check, &method));
			CHECK_STR(method->text, "org.example.Known$$Lambda.work");
			CHECK_STR(method->text + method->file, "Known.java");
			CHECK(method->lines_len >= 5);
		}
		op_runtime_hotspot_methods_deinit(&methods);
		copy = copy_of(bpf.method, FAKE_METHOD);
	}
}

static void test_not_a_method(void)
{
	struct op_hotspot_layout l = begin();
	const struct op_hotspot_method *method = NULL;
	struct op_hotspot_methods methods;

	op_runtime_hotspot_methods_init(&methods, &fake.memory, &l);
	CHECK_INT(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD + 1, 0, &method),
		  -EBADMSG);
	CHECK_INT(op_runtime_hotspot_methods_get(&methods, 4096, 0, &method), -EFAULT);
	fake_u16(FAKE_CONST + 36, 4); /* a slot behind the pool's end */
	CHECK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method) < 0);
	fake_make();
	fake_u16(FAKE_POOL + 54, 0); /* no source file */
	fake_u32(FAKE_CONST + 28, 0);
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method));
	CHECK_STR(method->text + method->file, "");
	CHECK_INT(method->lines_len, 0);
	op_runtime_hotspot_methods_deinit(&methods);
}

/* What a method cannot be called, and a signature cannot be: a pool of several classes. */
static void test_method_without_a_name(void)
{
	static const char *const bad[] = { "java/lang/invoke/MethodHandles", "La/Hidden;",
					   "[I", "" };
	struct op_hotspot_layout l = begin();
	const struct op_hotspot_method *method = NULL;
	struct op_hotspot_methods methods;
	size_t i;

	op_runtime_hotspot_methods_init(&methods, &fake.memory, &l);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)fake_symbol(0, bad[i]);
		CHECK_INT(
			op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method),
			-EBADMSG);
	}
	(void)fake_symbol(0, "<init>");
	(void)fake_symbol(1, "Code");
	CHECK_INT(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method),
		  -EBADMSG);
	(void)fake_symbol(1, "()V");
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.<init>");
	op_runtime_hotspot_methods_deinit(&methods);
}

/* A class is unloaded: its method is there still, its pool is another class's. */
static void test_method_of_another_pool(void)
{
	static const uint64_t at[][2] = {
		{ OP_HOTSPOT_POOL_TAGS, 8 },	  { OP_HOTSPOT_KLASS_CONSTANTS, 32 },
		{ OP_HOTSPOT_KLASS_METHODS, 40 }, { OP_HOTSPOT_METHODS_LEN, 0 },
		{ OP_HOTSPOT_METHODS_DATA, 8 },
	};
	struct op_hotspot_layout l = begin();
	const uint64_t array = FAKE_KLASS + 64;
	const uint64_t tags = FAKE_KLASS + 96;
	const uint64_t now = FAKE_NAMES + 0x400; /* a Method and its ConstMethod */
	const uint64_t pool = FAKE_NAMES + 0x500;
	const struct op_hotspot_method *method = NULL;
	struct op_hotspot_methods methods;
	size_t i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		l.there[at[i][0]] = true;
		l.at[at[i][0]] = at[i][1];
	}
	fake_u64(FAKE_POOL + 8, tags);
	fake_u32(tags, 4);
	fake_u64(FAKE_KLASS + 32, FAKE_POOL);
	fake_u64(FAKE_KLASS + 40, array);
	fake_u32(array, 2);
	fake_u64(array + 8, FAKE_METHOD + 4096); /* no such */
	fake_u64(array + 16, FAKE_METHOD + 8192);
	op_runtime_hotspot_methods_init(&methods, &fake.memory, &l);
	CHECK_INT(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method),
		  -EBADMSG);
	/* the class has another pool, and no method of that name: its memory is another's too */
	fake_u64(FAKE_KLASS + 32, pool);
	fake_u32(array, 1);
	fake_u64(array + 8, now);
	fake_u64(now + 8, now + 64);
	fake_u64(now + 64 + 8, pool);
	fake_u16(now + 64 + 36, 1);
	fake_u64(pool + 72 + 8, fake_symbol(4, "play"));
	CHECK_INT(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method),
		  -EBADMSG);
	/* redefined: one of that name, which is the same Symbol */
	fake_u64(pool + 72 + 8, fake_symbol(0, "work"));
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.work");
	op_runtime_hotspot_methods_deinit(&methods);
	/* no pool any more, but memory in which its words stand */
	fake_u32(tags, 5);
	op_runtime_hotspot_methods_init(&methods, &fake.memory, &l);
	CHECK_INT(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method),
		  -EBADMSG);
	fake_u32(tags, 4);
	fake_u64(FAKE_KLASS + 32, FAKE_POOL);
	fake_u64(array + 8, FAKE_METHOD);
	CHECK_OK(op_runtime_hotspot_methods_get(&methods, FAKE_METHOD, 0, &method));
	CHECK_STR(method->text, "org.example.Known$$Lambda.work");
	op_runtime_hotspot_methods_deinit(&methods);
}

TEST_MAIN({ "layout", test_layout }, { "layout_too_early", test_layout_too_early },
	  { "layout_without_a_type", test_layout_without_a_type },
	  { "layout_without_an_end", test_layout_without_an_end }, { "code", test_code },
	  { "code_too_early", test_code_too_early },
	  { "code_of_2_gib", test_code_of_2_gib },
	  { "code_half_made", test_code_half_made }, { "more_heaps", test_more_heaps },
	  { "not_code", test_not_code }, { "blob_name", test_blob_name },
	  { "method", test_method }, { "method_that_changes", test_method_that_changes },
	  { "copied_method", test_copied_method },
	  { "copied_in_part", test_copied_in_part },
	  { "not_a_method", test_not_a_method },
	  { "method_without_a_name", test_method_without_a_name },
	  { "method_of_another_pool", test_method_of_another_pool })
