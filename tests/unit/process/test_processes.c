/* SPDX-License-Identifier: Apache-2.0 */
/* This process is profiled: what is published of it, and the names of its frames. */
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <otelprof/config.h>

#include "code/symbol/kernel.h"
#include "inside.h"
#include "process/target/maps.h"
#include "runtime/runtime.h"
#include "snapshot.h"
#include "test.h"
#include "world.h"

/* The pretended kernel's symbols. */
static const uint64_t KERNEL = UINT64_C(0xffffffff81000000);
static const uint64_t MODULE = UINT64_C(0xffffffffc0000000);

int op_kernel_symbols_find(struct op_kernel_symbols *k, uint64_t addr,
			   struct op_kernel_symbol *ret)
{
	CHECK(k);
	if (addr >= MODULE && addr < MODULE + 0x1000) {
		*ret = (struct op_kernel_symbol){ .name = "",
						  .module = "some_module",
						  .build_id = "",
						  .module_start = MODULE };
		return 1;
	}
	if (addr < KERNEL || addr >= KERNEL + 0x2000)
		return 0;
	*ret = (struct op_kernel_symbol){ .name = addr < KERNEL + 0x1000 ? "first_page"
									 : "second_page",
					  .module = "vmlinux",
					  .build_id = "abcd",
					  .module_start = KERNEL };
	return 1;
}

struct extent {
	uint64_t start;
	uint64_t end;
};

struct extents {
	struct extent e[64];
	size_t len;
};

static int keep(void *ctx, const struct op_mmap_event *e)
{
	struct extents *x = ctx;

	if (strcmp(e->path, "[vsyscall]") == 0)
		return 0;
	CHECK(x->len < 64);
	x->e[x->len++] = (struct extent){ e->start, e->end };
	return 0;
}

/* What is published of this process is what its maps say. */
static void test_scan_publishes_what_is_mapped(void)
{
	const struct op_process *process;
	struct extents x = { 0 };
	uint64_t start;
	struct world w;
	size_t i;

	world_init(&w, NULL);
	CHECK(op_maps_read("/proc/self/maps", keep, &x) > 0);
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	process = world_process(&w, world_self());
	CHECK(process);
	CHECK_INT(process->mapping_count, x.len);
	for (i = 0; i < x.len; i++) {
		const struct op_arena_mapping *m =
			world_mapping(&w, world_self(), x.e[i].start, &start);

		CHECK(m);
		CHECK_INT(start, x.e[i].start);
		CHECK_INT(m->end, x.e[i].end);
		CHECK(m->flags & OP_MAPPING_LAZY);
		CHECK_INT(m->segment, 0);
	}
	/* our parent runs, too */
	CHECK(world_process(&w, (uint32_t)getppid()));
	world_deinit(&w);
}

static void test_native_frames_are_named(void)
{
	const uint64_t words[] = {
		world_exact((const void *)known_function),
		/* a return address at the very end of a function's first byte's call */
		world_native((const char *)(const void *)other_function + 1),
	};
	Dl_info info;
	struct world w;

	world_init(&w, NULL);
	CHECK(other_function(1) == 8);
	world_learn_self(&w);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_STR(world_name(&w, 1), "other_function");
	CHECK_STR(world_type(&w, 0), "native");
	CHECK_STR(world_file(&w, 0), "test_processes");
	/* ELF addresses: this program is position-independent, so link base + address */
	CHECK(dladdr((const void *)known_function, &info));
	CHECK_INT(world_location(&w, 0)->address,
		  (const char *)(const void *)known_function -
			  (const char *)info.dli_fbase);
	CHECK_INT(world_location(&w, 1)->address,
		  (const char *)(const void *)other_function -
			  (const char *)info.dli_fbase);
	/* again, from the caches, and in another window */
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	op_processes_window_end(w.p, false);
	op_window_reset(w.window);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_STR(world_name(&w, 1), "other_function");
	CHECK_STR(world_file(&w, 1), "test_processes");
	world_deinit(&w);
}

static void test_names_can_be_left_to_the_back_end(void)
{
	const struct world_options options = { .flags = OTELPROF_NO_NATIVE_NAMES };
	const uint64_t word = world_exact((const void *)known_function);
	struct world w;

	world_init(&w, &options);
	world_learn_self(&w);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "");
	CHECK_STR(world_file(&w, 0), "test_processes");
	world_deinit(&w);
}

static void test_kernel_frames(void)
{
	const uint64_t kernel[] = { KERNEL + 0x10, KERNEL + 0x1000, MODULE + 0x43, 7,
				    0x99 };
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	CHECK_OK(world_sample(&w, world_self(), kernel, 5, NULL, 0, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 5);
	CHECK_STR(world_name(&w, 0), "first_page");
	CHECK_STR(world_file(&w, 0), "vmlinux");
	CHECK_STR(world_type(&w, 0), "kernel");
	CHECK_INT(world_location(&w, 0)->address, 0x10);
	/* a return address just behind the first page's last call */
	CHECK_STR(world_name(&w, 1), "first_page");
	CHECK_INT(world_location(&w, 1)->address, 0xfff);
	CHECK_STR(world_name(&w, 2), "some_module+0x42");
	/* without names, the addresses tell the functions apart */
	CHECK_STR(world_name(&w, 3), "[kernel]");
	CHECK_INT(world_location(&w, 3)->address, 6);
	CHECK_STR(world_name(&w, 4), "[kernel]");
	CHECK_INT(world_location(&w, 4)->address, 0x98);
	world_deinit(&w);
}

static void test_ends_are_told(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_TRUNCATED));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "[truncated]");
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1,
			      OP_ERROR_native_read_ra));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "[unwind error: native_read_ra]");
	CHECK_STR(world_type(&w, 1), "native");
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, 159));
	CHECK_STR(world_name(&w, 1), "[unwind error: unknown]");
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 1);
	world_deinit(&w);
}

static void test_code_without_a_file(void)
{
	const uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t words[] = { world_exact(page + 0x123),
				   world_native((void *)0x4242) };
	const struct op_arena_mapping *m;
	char path[64];
	struct world w;
	FILE *f;

	CHECK(page != MAP_FAILED);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", world_self());
	(void)unlink(path);
	world_init(&w, NULL);
	world_learn_self(&w);
	m = world_mapping(&w, world_self(), (uint64_t)(uintptr_t)page, NULL);
	CHECK(m && m->flags == OP_MAPPING_ANON && !m->segment);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK(strncmp(world_name(&w, 0), "[anon]+0x", 9) == 0);
	CHECK_STR(world_name(&w, 1), "[unmapped]+0x4241");
	/* and with a map of its names */
	f = fopen(path, "we");
	CHECK(f);
	(void)fprintf(f, "%lx 80 before\n%lx 10 jitted_function\n",
		      (unsigned long)(uintptr_t)page,
		      (unsigned long)(uintptr_t)page + 0x120);
	CHECK(fclose(f) == 0);
	op_processes_window_end(w.p, false);
	op_window_reset(w.window);
	w.now_ns += 2000000000; /* it is looked for once a second */
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "jitted_function");
	CHECK(unlink(path) == 0);
	world_deinit(&w);
	CHECK(munmap((void *)(uintptr_t)page, 4096) == 0);
}

/* A runtime that takes a while to start up, and then has made code or not. */
static struct {
	struct op_runtime_range code;
	size_t waits; /* attempts that come too early */
	size_t len;   /* ranges of code */
	size_t attached;
} maker;

static int maker_attach(void *image, const struct op_runtime_target *target,
			struct op_log *log, void *bpf, void **ret_instance)
{
	if (maker.waits && maker.waits--)
		return -EAGAIN;
	maker.attached++;
	*ret_instance = &maker;
	return 0;
}

static void maker_detach(void *instance)
{
}

static int maker_update(void *instance, const struct op_runtime_target *target, void *bpf,
			struct op_runtime_code *ret)
{
	ret->range[0] = maker.code;
	ret->len = maker.len;
	return 0;
}

static const struct op_runtime_ops maker_ops = {
	.id = OP_RUNTIME_PHP,
	.frame_type = "php",
	.attach = maker_attach,
	.detach = maker_detach,
	.update = maker_update,
};

static void count_line(void *userdata, int level, const char *message)
{
	size_t *lines = userdata;

	*lines += level == OP_LOG_WARNING && strstr(message, "code without names");
}

/* Nine addresses of @page, which have no name. */
static void run_nameless(struct world *w, const uint8_t *page)
{
	int i;

	for (i = 0; i < 9; i++) {
		const uint64_t word = world_exact(page + 0x123 + i * 16);

		CHECK_OK(world_sample(w, world_self(), NULL, 0, &word, 1,
				      OP_END_COMPLETE));
		CHECK(strncmp(world_name(w, 0), "[anon]+0x", 9) == 0);
	}
}

/* How often is it said that nothing names the code of a process with @ops, before it has
 * started up (*@early) and later? */
static size_t said_of(const struct op_runtime_ops *ops, size_t *early)
{
	struct op_mmap_event e = { .pid = world_self(), .path = "//anon" };
	const uint8_t *page;
	size_t lines = 0;
	struct op_log log = { .fn = count_line,
			      .userdata = &lines,
			      .level = OP_LOG_WARNING };
	struct world w;
	int i;

	maker.attached = 0;
	world_init(&w, NULL);
	inside_log(w.p, &log);
	world_learn_self(&w);
	if (ops)
		inside_runtime(w.p, world_self(), world_native((void *)known_function),
			       ops);
	page = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	CHECK(page != MAP_FAILED);
	e.start = maker.code.start = world_native(page);
	e.end = maker.code.end = e.start + 8192;
	e.time_ns = w.now_ns;
	op_processes_on_mmap(w.p, &e);
	world_settle(&w, 5000000);
	run_nameless(&w, page);
	*early = lines;
	for (i = 0; i < 4; i++)
		world_settle(&w, 100000000);
	CHECK_INT(maker.attached, ops ? 1 : 0);
	op_processes_window_end(w.p, false);
	op_window_reset(w.window);
	run_nameless(&w, page);
	world_deinit(&w);
	CHECK(munmap((void *)(uintptr_t)page, 8192) == 0);
	return lines;
}

/* It is said where nothing names the code that a process makes, once for its file, and not
 * where a runtime has made that code, or may have but is not ready. */
static void test_nameless_is_said(void)
{
	char path[64];
	size_t early;
	FILE *f;

	CHECK_INT(said_of(NULL, &early), 1);
	CHECK_INT(early, 1);
	maker.waits = 2;
	maker.len = 1;
	CHECK_INT(said_of(&maker_ops, &early), 0);
	/* it has made none: the code is another's */
	maker.waits = 2;
	maker.len = 0;
	CHECK_INT(said_of(&maker_ops, &early), 1);
	CHECK_INT(early, 0);
	/* a perf map that does not have the names yet */
	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", world_self());
	f = fopen(path, "we");
	CHECK(f);
	CHECK_INT(said_of(NULL, &early), 0);
	CHECK(fclose(f) == 0 && unlink(path) == 0);
}

/* A deep stack has one frame for those that were left out, and above it as many as there are
 * at least: a quarter less one. */
static void test_frames_left_out(void)
{
	const uint64_t word = world_native(known_function);
	uint64_t words[18];
	struct world w;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(words); i++)
		words[i] = word;
	words[8] = (uint64_t)OP_FRAME_LEFT_OUT << OP_FRAME_KIND_SHIFT;
	world_init(&w, NULL);
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	for (i = 12; i <= 16; i++) {
		CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, i,
				      OP_END_COMPLETE));
		CHECK_INT(world_frames(&w), 12);
		CHECK_STR(world_name(&w, 8), "[frames left out]");
		CHECK_STR(world_name(&w, 11), world_name(&w, 0));
	}
	/* a runtime's frame of eight words is not cut: one frame is left */
	words[9] = (uint64_t)op_frame_kind_of(1, OP_FRAME_WORDS_MAX)
		   << OP_FRAME_KIND_SHIFT;
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 18, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 10);
	CHECK_STR(world_name(&w, 9), world_name(&w, 0));
	world_deinit(&w);
}

/* A child that was forked, and has executed something else before its first sample is read:
 * of each program the stack is that of its own mappings. */
static void test_first_sample_before_exec(void)
{
	uint32_t child = 0x7ffffff0; /* no such process: nothing is read of it */
	const uint64_t pc = (uint64_t)(uintptr_t)known_function;
	uint64_t fork_ns;
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	world_learn_self(&w);
	fork_ns = ++w.now_ns;
	op_processes_on_fork(w.p, child, world_self(), fork_ns);
	op_processes_on_exec(w.p, child, "other", fork_ns + 1000);
	op_processes_on_exit(w.p, child, fork_ns + 3000);
	w.now_ns += 5000;
	world_settle(&w, 0);
	/* in the image of its parent */
	w.now_ns = fork_ns + 500;
	CHECK_OK(world_first_sample(&w, child, &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_first_sample_before_exec");
	CHECK_INT(world_resource(&w)->pid, child);
	/* in its own, of which nothing was told: no frame of the other */
	w.now_ns = fork_ns + 2000;
	CHECK_OK(world_first_sample(&w, child, &snapshot.registers, snapshot.stack,
				    snapshot.len));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "[unwind error: native_no_mapping]");
	/* in the kernel's execve: there is no user stack; told of before or after */
	for (w.now_ns = fork_ns + 500; w.now_ns < fork_ns + 3000; w.now_ns += 1500) {
		CHECK_OK(world_exec_sample(&w, child, KERNEL + 8, pc));
		CHECK_INT(world_frames(&w), 1);
		CHECK_STR(world_name(&w, 0), "first_page");
	}
	world_deinit(&w);
}

static const struct op_detail *text_detail(void *ctx, uint32_t number)
{
	static const struct op_detail detail = { .name = "uprobe:/a:f:arg0.str",
						 .text_key = "f_arg0" };

	(void)ctx;
	return number == 1 ? &detail : NULL;
}

/* The text of the last sample, or NULL. */
static const char *text_of(const struct world *w)
{
	const struct op_identity *i = world_last(w);
	const uint32_t *labels = op_window_numbers(w->window, i->labels);
	uint32_t k;

	for (k = 0; k < i->labels.len; k++) {
		const struct op_attribute *a = &w->window->attributes.data[labels[k]];

		if (!strcmp(world_text(w, a->key), "f_arg0"))
			return world_text(w, a->string);
	}
	return NULL;
}

/* A string that a probe has read, and records that have less than they claim. */
static void test_texts(void)
{
	struct {
		struct op_record record;
		struct op_thread_context context;
		char text[OP_TEXT_BYTES];
	} r = { .record = { .header = WORLD_RECORD_HEADER,
			    .pid = world_self(),
			    .tid = world_self(),
			    .event = OP_EVENT_PROBES,
			    .end = OP_END_OFF,
			    .detail = 1,
			    .context_bytes = sizeof(r.context) + sizeof(r.text) },
		.text = "select 1\0old bytes" };
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	op_sampler_name_detail(w.sampler, text_detail, NULL);
	r.record.time_ns = w.now_ns;
	r.record.header.bytes = sizeof(r);
	CHECK_OK(op_sampler_add_record(w.sampler, &r, sizeof(r), w.window));
	CHECK_STR(text_of(&w), "select 1");
	memset(r.text, 'x', sizeof(r.text)); /* no NUL */
	CHECK_OK(op_sampler_add_record(w.sampler, &r, sizeof(r), w.window));
	CHECK_INT(strlen(text_of(&w)), OP_TEXT_BYTES);
	r.record.detail = 2; /* a probe that is gone */
	CHECK_OK(op_sampler_add_record(w.sampler, &r, sizeof(r), w.window));
	CHECK(!text_of(&w));
	r.record.detail = 1;
	r.record.header.bytes = sizeof(r) - 1;
	CHECK_INT(op_sampler_add_record(w.sampler, &r, sizeof(r), w.window), -EBADMSG);
	r.record.context_bytes = sizeof(r.text);
	r.record.header.bytes = sizeof(r.record) + sizeof(r.text) - 1;
	CHECK_INT(op_sampler_add_record(w.sampler, &r, sizeof(r), w.window), -EBADMSG);
	r.record.context_bytes = sizeof(r.context);
	r.record.header.bytes = sizeof(r.record) + sizeof(r.context);
	CHECK_OK(op_sampler_add_record(w.sampler, &r, sizeof(r), w.window));
	CHECK(!text_of(&w));
	world_deinit(&w);
}

/* Records of any bytes: an error or a sample, and no memory error. */
static void test_bad_records(void)
{
	struct op_record record = { .header = WORLD_RECORD_HEADER,
				    .pid = world_self(),
				    .tid = world_self() };
	uint8_t bytes[sizeof(record) + 600];
	uint64_t random = 7;
	struct world w;
	int i;

	world_init(&w, NULL);
	world_learn_self(&w);
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record) - 1, w.window),
		  -EBADMSG);
	record.header.type = OP_RECORD_TYPES;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EPROTO);
	record.header.type = OP_RECORD_SAMPLE;
	record.header.version++;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EPROTO);
	record.header.version = OP_RECORD_VERSION;
	record.header.bytes = sizeof(record.header) - 1;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EBADMSG);
	record.header.bytes = sizeof(record);
	record.user_words = 1;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EBADMSG);
	record.user_words = 0;
	record.event = OP_EVENT_MAX;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EBADMSG);
	record.event = 0;
	record.end = OP_END_UNKNOWN;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EBADMSG);
	for (i = 0; i < 3000; i++) {
		size_t j;

		for (j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)op_hash_u64(++random);
		record.time_ns = w.now_ns;
		record.generation = i % 2 ? world_generation(&w, world_self()) : bytes[0];
		record.kernel_count = bytes[1] % 40;
		record.user_words = bytes[2] % 40;
		record.end = i % 8 ? bytes[3] : OP_END_UNKNOWN;
		record.stack_bytes = bytes[4];
		record.header.bytes = (uint32_t)sizeof(bytes) - bytes[590];
		memcpy(bytes, &record, sizeof(record));
		(void)op_sampler_add_record(w.sampler, bytes, sizeof(bytes) - bytes[590],
					    w.window);
	}
	world_deinit(&w);
}

TEST_MAIN({ "scan", test_scan_publishes_what_is_mapped },
	  { "native", test_native_frames_are_named },
	  { "no_names", test_names_can_be_left_to_the_back_end },
	  { "kernel", test_kernel_frames }, { "ends", test_ends_are_told },
	  { "anon", test_code_without_a_file },
	  { "nameless-is-said", test_nameless_is_said },
	  { "frames-left-out", test_frames_left_out },
	  { "before-exec", test_first_sample_before_exec }, { "texts", test_texts },
	  { "bad", test_bad_records })
