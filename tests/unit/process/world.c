/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "inside.h"
#include "patient.h"
#include "process/state.h"
#include "test.h"

static int add_slab(void *ctx, uint32_t index, void **ret)
{
	struct world *w = ctx;

	CHECK(index < WORLD_SLABS);
	w->slabs[index] = calloc(1, OP_SLAB_BYTES);
	CHECK(w->slabs[index]);
	*ret = w->slabs[index];
	return 0;
}

static int publish(void *ctx, uint32_t pid, struct op_process_key key)
{
	struct world *w = ctx;

	if (w->publish_error)
		return w->publish_error;
	CHECK(key.generation != 0);
	CHECK_OK(op_map64_put(&w->keys, pid,
			      (uint64_t)key.process << 32 | key.generation));
	w->published++;
	return 0;
}

static int unpublish(void *ctx, uint32_t pid)
{
	struct world *w = ctx;

	w->unpublished++;
	return op_map64_remove(&w->keys, pid) ? 0 : -ENOENT;
}

static uint64_t drained_ns(const void *ctx)
{
	const struct world *w = ctx;

	return w->drained_ns;
}

void world_init(struct world *w, const struct world_options *options)
{
	const struct world_options none = { 0 };
	const struct world_options *o = options ? options : &none;
	const struct op_arena_ops ops = { .add_slab = add_slab };
	struct op_sampler_config sampler = { 0 };
	const struct op_window_config window = { .period_ns = 10000000 };
	struct op_processes_config config = {
		.procfs_root = o->procfs_root ? o->procfs_root : "/proc",
		.flags = o->flags,
		.max_processes = o->max_processes,
		.sysfs_root = o->sysfs_root,
		.service_name = o->service_name,
		.environment = o->environment,
		.environment_len = o->environment_len,
		/* its time begins now, after the files were written */
		.realtime_offset_ns = (int64_t)op_clock_realtime_ns(),
		.publish = publish,
		.unpublish = unpublish,
		.drained_ns = drained_ns,
		.ctx = w,
	};

	memset(w, 0, sizeof(*w));
	w->now_ns = op_clock_monotonic_ns();
	CHECK_OK(op_arena_new(&ops, w, o->arena_bytes ? o->arena_bytes : 64 << 20,
			      &w->arena));
	w->rules_memory = calloc(OP_UNWIND_RULES_MAX, sizeof(*w->rules_memory));
	CHECK(w->rules_memory);
	CHECK_OK(op_unwind_rules_new(w->rules_memory, OP_UNWIND_RULES_MAX, &w->rules));
	CHECK_OK(op_window_new(&window, &w->window));
	config.arena = w->arena;
	config.rules = w->rules;
	config.allowance = o->allowance ? o->allowance : &w->allowance;
	CHECK_OK(op_processes_new(&config, &w->p));
	be_patient(w->p->target);
	sampler.processes = w->p;
	sampler.rules = w->rules_memory;
	sampler.kernel = (struct op_kernel_symbols *)w; /* of the test's own making */
	CHECK_OK(op_sampler_new(&sampler, &w->sampler));
}

void world_deinit(struct world *w)
{
	struct op_arena_stats stats;
	size_t i;

	op_sampler_free(w->sampler);
	op_processes_free(w->p);
	/* All that was taken from the arena was given back. */
	op_arena_get_stats(w->arena, &stats);
	CHECK_INT(stats.used_bytes, 0);
	op_window_free(w->window);
	op_unwind_rules_free(w->rules);
	op_arena_free(w->arena);
	op_map64_clear(&w->keys);
	free(w->rules_memory);
	for (i = 0; i < WORLD_SLABS; i++)
		free(w->slabs[i]);
}

void world_settle(struct world *w, uint64_t ns)
{
	w->now_ns += ns;
	do { /* they work for some ms at each call */
		op_processes_settle(w->p, w->now_ns);
		op_processes_go_on(w->p, 1);
	} while (inside_settles_on(w->p));
}

void world_settle_all(struct world *w)
{
	do
		world_settle(w, 1000000000);
	while (op_processes_busy(w->p));
	world_settle(w, 0);
}

const struct op_process *world_process(const struct world *w, uint32_t pid)
{
	const struct op_process *process;
	uint64_t key;

	if (!op_map64_get(&w->keys, pid, &key))
		return NULL;
	process = op_arena_at(w->arena, (op_ref)(key >> 32));
	CHECK(process);
	CHECK_INT(process->generation, (uint32_t)key);
	return process;
}

uint32_t world_generation(const struct world *w, uint32_t pid)
{
	const struct op_process *process = world_process(w, pid);

	return process ? process->generation : 0;
}

const struct op_arena_mapping *world_mapping(const struct world *w, uint32_t pid,
					     uint64_t addr, uint64_t *ret_start)
{
	const struct op_process *process = world_process(w, pid);
	const struct op_arena_mapping *mapping;
	const uint64_t *start;
	uint32_t i;

	if (!process || !process->mapping_count)
		return NULL;
	start = op_arena_at(w->arena, process->starts);
	mapping = op_arena_at(w->arena, process->mappings);
	for (i = 0; i < process->mapping_count; i++) {
		CHECK(!i || start[i] > start[i - 1]);
		if (addr < start[i] || addr >= mapping[i].end)
			continue;
		if (ret_start)
			*ret_start = start[i];
		return &mapping[i];
	}
	return NULL;
}

static int add(struct world *w, const struct op_record *record, const uint64_t *kernel,
	       const void *rest, size_t rest_len)
{
	size_t kernel_bytes = record->kernel_count * sizeof(*kernel);
	size_t len = sizeof(*record) + kernel_bytes + rest_len;
	uint8_t *bytes = malloc(len);
	void *joined;
	int r;

	CHECK(bytes);
	memcpy(bytes, record, sizeof(*record));
	((struct op_record *)bytes)->header.bytes = (uint32_t)len;
	if (kernel && kernel_bytes)
		memcpy(bytes + sizeof(*record), kernel, kernel_bytes);
	if (rest_len)
		memcpy(bytes + sizeof(*record) + kernel_bytes, rest, rest_len);
	if (w->waits && op_sampler_join(w->sampler, bytes, len, &joined, &len) == 1) {
		free(bytes);
		bytes = joined;
	}
	r = op_sampler_add_record(w->sampler, bytes, len, w->window);
	free(bytes);
	return r;
}

static struct op_record record_of(struct world *w, uint32_t pid)
{
	return (struct op_record){ .header = WORLD_RECORD_HEADER,
				   .time_ns = ++w->now_ns,
				   .pid = pid,
				   .tid = pid,
				   .comm = "thread",
				   .generation = world_generation(w, pid) };
}

int world_sample(struct world *w, uint32_t pid, const uint64_t *kernel, size_t kernel_len,
		 const uint64_t *words, size_t words_len, unsigned int end)
{
	struct op_record record = record_of(w, pid);

	record.kernel_count = (uint16_t)kernel_len;
	record.user_words = (uint16_t)words_len;
	record.end = (uint16_t)end;
	return add(w, &record, kernel, words, words_len * sizeof(*words));
}

int world_announce(struct world *w, uint32_t pid, const struct op_hash *hash,
		   const uint64_t *words, size_t words_len)
{
	struct op_record record = record_of(w, pid);

	record.header.type = OP_RECORD_STACK;
	record.hash = *hash;
	record.marks = w->marks;
	record.user_words = (uint16_t)words_len;
	return add(w, &record, NULL, words, words_len * sizeof(*words));
}

int world_named_sample(struct world *w, uint32_t pid, const struct op_hash *hash,
		       uint32_t detail)
{
	struct op_named named = { .header = { .type = OP_RECORD_NAMED,
					      .version = OP_RECORD_VERSION,
					      .bytes = sizeof(named) },
				  .time_ns = ++w->now_ns,
				  .hash = *hash,
				  .pid = pid,
				  .tid = pid,
				  .event = OP_EVENT_PAGE_FAULTS,
				  .detail = (uint16_t)detail,
				  .comm = "thread" };

	return op_sampler_add_record(w->sampler, &named, sizeof(named), w->window);
}

int world_late_sample(struct world *w, uint32_t pid, uint32_t generation,
		      uint64_t time_ns, const uint64_t *words, size_t words_len)
{
	struct op_record record = record_of(w, pid);

	record.time_ns = time_ns;
	record.generation = generation;
	record.marks = w->marks;
	record.user_words = (uint16_t)words_len;
	return add(w, &record, NULL, words, words_len * sizeof(*words));
}

int world_missed_sample(struct world *w, uint32_t pid,
			const struct op_registers *registers, const void *stack,
			size_t stack_len, uint64_t end_pc)
{
	struct op_record record = record_of(w, pid);
	uint8_t *rest = malloc(sizeof(*registers) + stack_len);
	int r;

	CHECK(rest);
	memcpy(rest, registers, sizeof(*registers));
	memcpy(rest + sizeof(*registers), stack, stack_len);
	record.end = OP_END_UNKNOWN;
	record.end_pc = end_pc;
	record.marks = w->marks;
	record.stack_bytes = (uint16_t)stack_len;
	record.stack_below = w->stack_below;
	record.code_pages = w->code_pages;
	record.resumed = w->code_pages ? OP_REMAPPED : 0;
	r = add(w, &record, NULL, rest, sizeof(*registers) + stack_len);
	free(rest);
	return r;
}

static int add_piece(struct world *w, uint16_t type, uint32_t tid, uint64_t at,
		     const void *bytes, size_t len)
{
	struct op_stack_chunk_record record = {
		.header = { .type = type, .version = OP_RECORD_VERSION },
		.time_ns = w->now_ns + 1,
		.at = at,
		.tid = tid
	};
	uint8_t *all = malloc(sizeof(record) + len);
	int r;

	CHECK(all);
	record.header.bytes = (uint32_t)(sizeof(record) + len);
	memcpy(all, &record, sizeof(record));
	memcpy(all + sizeof(record), bytes, len);
	r = op_sampler_add_record(w->sampler, all, record.header.bytes, w->window);
	free(all);
	return r;
}

int world_above(struct world *w, uint32_t tid, uint64_t at, const void *bytes, size_t len)
{
	return add_piece(w, OP_RECORD_CHUNK, tid, at, bytes, len);
}

int world_root(struct world *w, uint32_t tid, uint64_t at, const void *bytes, size_t len)
{
	return add_piece(w, OP_RECORD_ROOT, tid, at, bytes, len);
}

int world_first_sample(struct world *w, uint32_t pid,
		       const struct op_registers *registers, const void *stack,
		       size_t stack_len)
{
	return world_missed_sample(w, pid, registers, stack, stack_len, 0);
}

int world_resumed_sample(struct world *w, uint32_t pid, uint32_t generation,
			 const uint64_t *words, size_t words_len,
			 const struct op_registers *registers, const void *stack,
			 size_t stack_len)
{
	struct op_record record = record_of(w, pid);
	size_t words_bytes = words_len * sizeof(*words);
	uint8_t *rest = malloc(words_bytes + sizeof(*registers) + stack_len);
	int r;

	CHECK(rest);
	memcpy(rest, words, words_bytes);
	memcpy(rest + words_bytes, registers, sizeof(*registers));
	memcpy(rest + words_bytes + sizeof(*registers), stack, stack_len);
	record.end = OP_END_UNKNOWN;
	record.end_pc = registers->pc;
	record.resumed = OP_RESUMED_EXACT;
	record.generation = generation;
	record.user_words = (uint16_t)words_len;
	record.user_frames = (uint16_t)words_len;
	record.stack_bytes = (uint16_t)stack_len;
	record.stack_below = w->stack_below;
	r = add(w, &record, NULL, rest, words_bytes + sizeof(*registers) + stack_len);
	free(rest);
	return r;
}

int world_exec_sample(struct world *w, uint32_t pid, uint64_t kernel, uint64_t user)
{
	const struct op_registers registers = { .pc = user, .sp = 4096 };
	struct op_record record = record_of(w, pid);

	record.kernel_count = 1;
	record.end = OP_END_UNKNOWN;
	return add(w, &record, &kernel, &registers, sizeof(registers));
}

/* The identity whose newest sample is the newest of all. */
const struct op_identity *world_last(const struct world *w)
{
	size_t i;

	CHECK(w->window->taken.len > 0);
	for (i = 0; i < w->window->identities.len; i++)
		if (w->window->identities.data[i].last == w->window->taken.len - 1)
			return &w->window->identities.data[i];
	TEST_FAIL("the last sample has no identity");
}

const struct op_resource *world_resource(const struct world *w)
{
	return &w->window->resources.data[world_last(w)->resource];
}

size_t world_frames(const struct world *w)
{
	return w->window->stacks.data[world_last(w)->stack].len;
}

const struct op_location_entry *world_location(const struct world *w, size_t frame)
{
	struct op_span span = w->window->stacks.data[world_last(w)->stack];

	CHECK(frame < span.len);
	return &w->window->locations.data[op_window_numbers(w->window, span)[frame]];
}

const char *world_text(const struct world *w, uint32_t string)
{
	return op_window_chars(w->window, string);
}

const char *world_name(const struct world *w, size_t frame)
{
	const struct op_location_entry *l = world_location(w, frame);
	uint32_t function;

	if (!l->lines.len)
		return "";
	function = w->window->lines.data[l->lines.first].function;
	return world_text(w, w->window->functions.data[function].name);
}

const char *world_file(const struct world *w, size_t frame)
{
	const struct op_location_entry *l = world_location(w, frame);

	return world_text(w, w->window->mappings.data[l->mapping].file);
}

const char *world_type(const struct world *w, size_t frame)
{
	const struct op_location_entry *l = world_location(w, frame);
	const struct op_attribute *a;

	CHECK_INT(l->attributes.len, 1);
	a = &w->window->attributes.data[op_window_numbers(w->window, l->attributes)[0]];
	CHECK_STR(world_text(w, a->key), "profile.frame.type");
	return world_text(w, a->string);
}

uint32_t world_self(void)
{
	return (uint32_t)getpid();
}

void world_learn_self(struct world *w)
{
	CHECK_OK(world_sample(w, world_self(), NULL, 0, NULL, 0, OP_END_OFF));
	world_settle(w, 0);
	CHECK(world_process(w, world_self()));
}

__attribute__((noinline)) int known_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3;
}

__attribute__((noinline)) int other_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 5 + known_function(x);
}
