/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

#include "test.h"
#include "unwind_table.h"

static int read_process(const struct op_memory *memory, uint64_t addr, void *buf,
			size_t len)
{
	const struct live *live = op_container_of(memory, struct live, memory);
	struct iovec to = { buf, len };
	struct iovec from = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(live->pid, &to, 1, &from, 1, 0);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EFAULT;
}

struct live *live_start(char *const *argv)
{
	struct live *live = calloc(1, sizeof(*live));
	int in[2];
	int out[2];

	CHECK(live);
	CHECK_OK(pipe2(in, O_CLOEXEC));
	CHECK_OK(pipe2(out, O_CLOEXEC));
	live->pid = fork();
	CHECK_OK(live->pid);
	if (live->pid == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)setenv("LC_ALL", "C.UTF-8", 1);
		/* what a sanitizer sets for this process is not for that one */
		(void)unsetenv("LD_PRELOAD");
		execv(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	live->to = in[1];
	live->from = fdopen(out[0], "r");
	CHECK(live->from);
	live->memory.read = read_process;
	return live;
}

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	struct live *live = ctx;

	CHECK(index < LIVE_SLABS_MAX);
	*ret = live->slab[index] = calloc(1, OP_SLAB_BYTES);
	return *ret ? 0 : -ENOMEM;
}

static const struct op_arena_ops arena_ops = { .add_slab = make_slab };

static struct op_elf *open_in_process(int pid, const char *path)
{
	struct op_elf *elf = NULL;
	char name[600];

	(void)snprintf(name, sizeof(name), "/proc/%d/root%s", pid, path);
	/* a path outside of its root is shown as this process sees it */
	if (op_elf_open_path(name, &elf) < 0 && op_elf_open_path(path, &elf) < 0)
		return NULL;
	return elf;
}

/* ELF address of file offset @off. */
static uint64_t vaddr_of(struct op_elf *elf, uint64_t off)
{
	size_t len;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	size_t i;

	for (i = 0; i < len; i++)
		if (s[i].type == PT_LOAD && off >= (s[i].offset & ~UINT64_C(4095)) &&
		    off < s[i].offset + s[i].filesz)
			return s[i].vaddr - s[i].offset + off;
	TEST_FAIL("offset 0x%" PRIx64 " is in no segment", off);
}

struct live_target {
	struct op_runtime_target base;
	struct live *live;
};

static int open_image(const struct op_runtime_target *target, const char *prefix,
		      struct op_elf **ret, uint64_t *ret_bias)
{
	struct live *live = op_container_of(target, struct live_target, base)->live;
	size_t i;

	for (i = 0; i < live->files; i++) {
		const char *base = strrchr(live->file[i].path, '/') + 1;

		if (prefix ? strncmp(base, prefix, strlen(prefix)) != 0
			   : live->runtime_path[0] &&
				     strcmp(live->file[i].path, live->runtime_path) != 0)
			continue;
		*ret = open_in_process(live->pid, live->file[i].path);
		*ret_bias = live->file[i].bias;
		return *ret ? 0 : -ENOENT;
	}
	return -ENOENT;
}

static int code_mapping(const struct op_runtime_target *target, size_t i,
			struct op_runtime_mapping *ret)
{
	const struct live *live = op_container_of(target, struct live_target, base)->live;

	if (i >= live->made_len)
		return -ENOENT;
	*ret = (struct op_runtime_mapping){ .start = live->made[i][0],
					    .end = live->made[i][1],
					    .path = "" };
	return 0;
}

struct mapping {
	uint64_t start, end, offset;
	size_t file; /* LIVE_FILES_MAX: none */
};

static size_t read_maps(struct live *live, struct mapping *ret, size_t max)
{
	char name[64];
	char line[1024];
	size_t len = 0;
	FILE *f;

	(void)snprintf(name, sizeof(name), "/proc/%d/maps", live->pid);
	f = fopen(name, "re");
	CHECK(f);
	while (len < max && fgets(line, sizeof(line), f)) {
		struct mapping m = { .file = LIVE_FILES_MAX };
		char perms[8];
		char path[512] = "";
		size_t i;

		CHECK(sscanf(line,
			     "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %511s",
			     &m.start, &m.end, perms, &m.offset, path) >= 4);
		if (perms[2] != 'x' || m.start >> 63)
			continue;
		for (i = 0; path[0] == '/' && i < live->files; i++)
			if (strcmp(live->file[i].path, path) == 0)
				break;
		if (path[0] == '/' && i == live->files) {
			struct live_file *file = &live->file[i];

			CHECK(i < LIVE_FILES_MAX);
			memcpy(file->path, path, sizeof(path));
			file->elf = open_in_process(live->pid, path);
			if (file->elf) {
				file->bias = m.start - vaddr_of(file->elf, m.offset);
				live->files++;
			}
		}
		if (path[0] == '/' && i < live->files)
			m.file = i;
		if (!path[0] && live->made_len < LIVE_MADE_MAX) {
			live->made[live->made_len][0] = m.start;
			live->made[live->made_len++][1] = m.end;
		}
		ret[len++] = m;
	}
	(void)fclose(f);
	return len;
}

/* Attach the first runtime that is found; its struct's place in the arena goes to @ret. */
static void attach(struct live *live, struct op_process *ret)
{
	const struct op_runtime_ops *const *all;
	size_t len;
	size_t i, k;

	all = op_runtime_all(&len);
	for (i = 0; i < live->files && !live->instance; i++) {
		struct live_file *file = &live->file[i];
		struct live_target target = { .live = live };
		void *bpf;

		for (k = 0; k < len; k++) {
			if (!all[k]->probe ||
			    all[k]->probe(file->elf, file->path, NULL, NULL, &live->image,
					  &live->loop) != 1)
				continue;
			live->ops = all[k];
			live->loop_bias = file->bias;
			(void)snprintf(live->runtime_path, sizeof(live->runtime_path),
				       "%s", file->path);
			target.base =
				(struct op_runtime_target){ .pid = live->pid,
							    .bias = file->bias,
							    .memory = &live->memory,
							    .open_image = open_image,
							    .code_mapping =
								    code_mapping };
			ret->instance[1].runtime = all[k]->id;
			CHECK_OK(op_arena_alloc(live->arena, all[k]->bpf_size,
						&ret->instance[1].ref, &bpf));
			memset(bpf, 0, all[k]->bpf_size);
			CHECK_OK(all[k]->attach(live->image, &target.base, NULL, bpf,
						&live->instance));
			if (all[k]->update)
				CHECK(all[k]->update(live->instance, &target.base, bpf,
						     &live->code) >= 0);
			break;
		}
	}
}

/* Of memory without a file: is it code that the runtime made? */
static void mark_code(const struct live *live, struct op_arena_mapping *m, uint64_t start)
{
	size_t i;

	for (i = 0; i < live->code.len; i++) {
		if (start >= live->code.range[i].end ||
		    m->end <= live->code.range[i].start)
			continue;
		m->flags = OP_MAPPING_CODE | 1 << OP_MAPPING_INSTANCE_SHIFT;
		m->bias = live->code.range[i].value;
	}
}

static op_ref table_of(struct live *live, const struct mapping *m)
{
	struct live_file *file = &live->file[m->file];
	bool runtime = live->ops && strcmp(file->path, live->runtime_path) == 0;
	struct op_unwind_table_loop loop = { .runtime = runtime ? live->ops->id : 0 };
	struct op_unwind_table *table;
	uint64_t vaddr = vaddr_of(file->elf, m->offset);
	op_ref ret = 0;
	size_t i;

	if (runtime) {
		loop.count = live->loop.count;
		memcpy(loop.range, live->loop.range, sizeof(loop.range));
	}
	CHECK_OK(make_unwind_table(file->elf, &loop, live->arena, live->rules, NULL,
				   &table));
	for (i = 0; i < table->segments_len; i++)
		if (vaddr < table->segments[i].vaddr + table->segments[i].memsz && !ret &&
		    vaddr + 4096 > table->segments[i].vaddr)
			ret = table->segments[i].segment;
	op_vec_clear(&table->rules.numbers);
	free(table); /* what it has in the arena stays, and its rules do */
	return ret;
}

void live_open(struct live *live)
{
	static struct mapping maps[1024];
	struct op_process process = { .generation = 1 };
	struct op_arena_mapping *mappings;
	uint64_t *starts;
	size_t len;
	size_t i;
	void *to;

	live->rules_memory = calloc(OP_UNWIND_RULES_MAX, sizeof(*live->rules_memory));
	CHECK(live->rules_memory);
	CHECK_OK(op_arena_new(&arena_ops, live, LIVE_SLABS_MAX * (uint64_t)OP_SLAB_BYTES,
			      &live->arena));
	CHECK_OK(op_unwind_rules_new(live->rules_memory, OP_UNWIND_RULES_MAX,
				     &live->rules));
	len = read_maps(live, maps, OP_ARRAY_SIZE(maps));
	attach(live, &process);
	CHECK_OK(op_arena_alloc(live->arena, len * 8, &process.starts, &to));
	starts = to;
	CHECK_OK(op_arena_alloc(live->arena, len * sizeof(*mappings), &process.mappings,
				&to));
	mappings = to;
	for (i = 0; i < len; i++) {
		starts[i] = maps[i].start;
		mappings[i] = (struct op_arena_mapping){ .end = maps[i].end };
		mark_code(live, &mappings[i], starts[i]);
		if (maps[i].file == LIVE_FILES_MAX)
			continue;
		mappings[i].bias = live->file[maps[i].file].bias;
		mappings[i].segment = table_of(live, &maps[i]);
		if (strcmp(live->file[maps[i].file].path, live->runtime_path) == 0)
			mappings[i].flags = 1 << OP_MAPPING_INSTANCE_SHIFT;
	}
	process.mapping_count = (uint32_t)len;
	CHECK_OK(op_arena_alloc(live->arena, sizeof(process), &live->process, &to));
	memcpy(to, &process, sizeof(process));
}

int live_thread_slot(struct live *live, uint32_t key, struct op_thread_slot *ret)
{
	struct live_target target = {
		{ .pid = live->pid, .memory = &live->memory, .open_image = open_image },
		live
	};

	return op_runtime_thread_slot(&target.base, key, ret);
}

static void read_registers(int tid, struct op_registers *ret)
{
#if defined(__x86_64__)
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	CHECK_OK(ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov));
	*ret = (struct op_registers){ .pc = regs.rip,
				      .sp = regs.rsp,
				      .fp = regs.rbp,
				      .thread_pointer = regs.fs_base };
	ret->reg[0] = regs.rax;
	ret->reg[1] = regs.rdx;
	ret->reg[2] = regs.rcx;
	ret->reg[3] = regs.rbx;
	ret->reg[4] = regs.rsi;
	ret->reg[5] = regs.rdi;
	ret->reg[8] = regs.r8;
	ret->reg[9] = regs.r9;
	ret->reg[10] = regs.r10;
	ret->reg[11] = regs.r11;
	ret->reg[12] = regs.r12;
	ret->reg[13] = regs.r13;
	ret->reg[14] = regs.r14;
	ret->reg[15] = regs.r15;
#else
	SKIP("registers are read on x86-64 only");
#endif
}

/* Read, and keep it as a piece of a chain. */
static int read_kept(const struct op_memory *memory, uint64_t addr, void *buf, size_t len)
{
	struct live *live =
		(struct live *)((char *)(uintptr_t)memory - offsetof(struct live, kept));
	struct op_chain_piece piece = { .at = addr, .bytes = (uint32_t)len };
	size_t room = sizeof(piece) + ((len + 7) & ~(size_t)7);
	int r = op_memory_read(&live->memory, addr, buf, len);

	if (r < 0)
		return r;
	live->chain = realloc(live->chain, live->chain_len + room);
	CHECK(live->chain);
	memset(live->chain + live->chain_len, 0, room);
	memcpy(live->chain + live->chain_len, &piece, sizeof(piece));
	memcpy(live->chain + live->chain_len + sizeof(piece), buf, len);
	live->chain_len += room;
	return 0;
}

void live_walk_stopped(struct live *live, int tid, struct op_unwind_result *ret)
{
	struct op_registers registers;
	struct op_unwind_input input = { .arena = live->arena,
					 .rules = live->rules_memory,
					 .process = live->process,
					 .registers = &registers,
					 .memory = live->keeps ? &live->kept
							       : &live->memory,
					 .chain = live->has_chain ? live->chain : NULL,
					 .chain_len = live->chain_len,
					 .heap_moved = live->heap_moved };

	live->kept.read = read_kept;
	if (live->keeps)
		live->chain_len = 0;

	read_registers(tid, &registers);
	CHECK_OK(op_unwind_host(&input, ret));
}

void live_stop(int tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		if (errno == EPERM)
			SKIP("ptrace is not permitted");
		TEST_FAIL("ptrace: %s", strerror(errno));
	}
	CHECK_OK(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL));
	CHECK(waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status));
}

void live_walk(struct live *live, int tid, struct op_unwind_result *ret)
{
	live_stop(tid);
	live_walk_stopped(live, tid, ret);
	CHECK_OK(ptrace(PTRACE_DETACH, tid, NULL, NULL));
}

bool live_in_loop(const struct live *live, uint64_t word)
{
	uint64_t kind = word >> OP_FRAME_KIND_SHIFT;
	uint64_t pc = (word & OP_FRAME_ADDRESS_MASK) - live->loop_bias;
	uint32_t i;

	if (kind != OP_FRAME_NATIVE && kind != OP_FRAME_NATIVE_EXACT)
		return false;
	if (kind == OP_FRAME_NATIVE)
		pc--;
	for (i = 0; i < live->loop.count; i++)
		if (pc >= live->loop.range[i][0] && pc < live->loop.range[i][1])
			return true;
	return false;
}

size_t live_threads(const struct live *live, int *ret, size_t max)
{
	char name[64];
	struct dirent *e;
	size_t len = 0;
	DIR *d;

	(void)snprintf(name, sizeof(name), "/proc/%d/task", live->pid);
	d = opendir(name);
	CHECK(d);
	while (len < max && (e = readdir(d)))
		if (e->d_name[0] != '.')
			ret[len++] = atoi(e->d_name);
	(void)closedir(d);
	return len;
}

void live_free(struct live *live)
{
	uint32_t i;

	(void)kill(live->pid, SIGKILL);
	(void)waitpid(live->pid, NULL, 0);
	close(live->to);
	(void)fclose(live->from);
	if (live->instance)
		live->ops->detach(live->instance);
	free(live->image);
	for (i = 0; i < live->files; i++)
		op_elf_free(live->file[i].elf);
	op_unwind_rules_free(live->rules);
	op_arena_free(live->arena);
	for (i = 0; i < LIVE_SLABS_MAX; i++)
		free(live->slab[i]);
	free(live->rules_memory);
	free(live->chain);
	free(live);
}
