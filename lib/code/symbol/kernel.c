/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the table of kernel functions and finds names, modules and build ids. */
#include "code/symbol/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/io.h"
#include "base/macros.h"
#include "code/elf/file.h"
#include "code/symbol/kallsyms.h"

enum {
	NOTES_BYTES_MAX = 64 << 10,
	/* Reading again may take at most one part in so many of the time. */
	RELOAD_SHARE = 50,
};

static const uint64_t second_ns = UINT64_C(1000000000);

enum {
	NAMES_BLOCKS = 24,	      /* blocks in which a busy kernel runs */
	NAMES_BLOCK_BYTES = 6 * 1024, /* approximately */
};

struct names {
	uint64_t base; /* base of the block */
	uint64_t used;
	char *text;
	size_t len;
};

struct op_kernel_symbols {
	char *procfs;
	char *sysfs;
	struct op_log *log;
	struct op_kallsyms table;
	bool loaded; /* loaded, or loading failed */
	bool stale;
	bool warned;
	uint64_t next_load_ns;

	/* blocks whose names are decompressed; the least recently used is replaced */
	struct names names[NAMES_BLOCKS];
	uint64_t uses;
	ZSTD_DCtx *context;
};

static void forget_names(struct op_kernel_symbols *k)
{
	size_t i;

	for (i = 0; i < NAMES_BLOCKS; i++) {
		free(k->names[i].text);
		k->names[i] = (struct names){ 0 };
	}
}

int op_kernel_symbols_new(const char *procfs_root, const char *sysfs_root,
			  struct op_log *log, struct op_kernel_symbols **ret)
{
	_cleanup_(op_kernel_symbols_freep) struct op_kernel_symbols *k = NULL;

	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->log = log;
	k->procfs = strdup(procfs_root ? procfs_root : "/proc");
	k->sysfs = strdup(sysfs_root ? sysfs_root : "/sys");
	if (!k->procfs || !k->sysfs)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(k);
	return 0;
}

struct op_kernel_symbols *op_kernel_symbols_free(struct op_kernel_symbols *k)
{
	if (!k)
		return NULL;
	op_kallsyms_deinit(&k->table);
	forget_names(k);
	ZSTD_freeDCtx(k->context);
	free(k->procfs);
	free(k->sysfs);
	free(k);
	return NULL;
}

static void warn_once(struct op_kernel_symbols *k, const char *why)
{
	if (!k->warned)
		op_log(k->log, OP_LOG_WARNING, "no kernel names: %s", why);
	k->warned = true;
}

static int read_table(struct op_kernel_symbols *k, struct op_kallsyms *ret)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/kallsyms", k->procfs);
	fd = op_open(path, O_RDONLY);
	return fd < 0 ? fd : op_kallsyms_read(fd, ret);
}

static void load(struct op_kernel_symbols *k)
{
	uint64_t start = op_clock_monotonic_ns();
	struct op_kallsyms table = { 0 };
	uint64_t end;
	int r;

	r = read_table(k, &table);
	end = op_clock_monotonic_ns();
	k->loaded = true;
	k->stale = false;
	k->next_load_ns = end + OP_MAX((end - start) * RELOAD_SHARE, second_ns);
	if (r) {
		warn_once(k, strerror(-r));
		return;
	}
	if (!table.symbols)
		warn_once(
			k,
			"their addresses are hidden (kernel.kptr_restrict, lockdown or a "
			"missing capability)");
	forget_names(k);
	op_kallsyms_deinit(&k->table);
	k->table = table;
}

/* The decompressed names of @block, or NULL without memory. */
static const struct names *names_of(struct op_kernel_symbols *k,
				    const struct op_kallsyms_block *block)
{
	struct names *oldest = &k->names[0];
	char *text;
	size_t len;
	size_t i;

	for (i = 0; i < NAMES_BLOCKS; i++) {
		struct names *n = &k->names[i];

		if (n->text && n->base == block->base) {
			n->used = ++k->uses;
			return n;
		}
		if (n->used < oldest->used)
			oldest = n;
	}
	if (!k->context)
		k->context = ZSTD_createDCtx();
	if (!k->context || op_kallsyms_names(&k->table, block, k->context, &text, &len))
		return NULL;
	free(oldest->text);
	*oldest = (struct names){
		.base = block->base, .used = ++k->uses, .text = text, .len = len
	};
	return oldest;
}

/* The name of symbol @number of @block, or NULL without memory. */
static const char *find_name(struct op_kernel_symbols *k,
			     const struct op_kallsyms_block *block, uint32_t number)
{
	const struct names *names = names_of(k, block);
	const char *name;
	const char *end;
	uint32_t i;

	if (!names)
		return NULL;
	name = names->text;
	end = names->text + names->len;
	for (i = block->first; i < number && name < end; i++)
		name += strlen(name) + 1;
	return name < end ? name : NULL;
}

static void read_build_id(const struct op_kernel_symbols *k, const char *module,
			  char *ret, size_t size)
{
	struct op_build_ids ids = { 0 };
	_cleanup_free_ char *notes = NULL;
	char path[PATH_MAX];
	ssize_t len;

	if (strcmp(module, "vmlinux") == 0)
		(void)snprintf(path, sizeof(path), "%s/kernel/notes", k->sysfs);
	else
		(void)snprintf(path, sizeof(path),
			       "%s/module/%s/notes/.note.gnu.build-id", k->sysfs, module);
	len = op_read_file(path, NOTES_BYTES_MAX, &notes);
	if (len > 0)
		op_elf_parse_notes(notes, (size_t)len, 4, 0, &ids);
	(void)snprintf(ret, size, "%s", ids.gnu);
}

static const char *find_build_id(const struct op_kernel_symbols *k,
				 struct op_kallsyms_module *m)
{
	char id[65];

	if (!m->build_id && !strchr(m->name, '/')) {
		read_build_id(k, m->name, id, sizeof(id));
		m->build_id = strdup(id);
	}
	return m->build_id ? m->build_id : "";
}

static int find(struct op_kernel_symbols *k, uint64_t addr, struct op_kernel_symbol *ret)
{
	const struct op_kallsyms_block *block;
	struct op_kallsyms_module *m;
	const char *name;
	uint32_t number;

	number = op_kallsyms_lookup(&k->table, addr, &block);
	if (number == UINT32_MAX)
		return 0;
	name = find_name(k, block, number);
	if (!name || !name[0])
		return 0;
	m = &k->table.modules.data[block->module];
	*ret = (struct op_kernel_symbol){
		.name = name,
		.module = m->name,
		.build_id = find_build_id(k, m),
		.module_start = m->start,
		.start = block->base + k->table.offsets.data[number],
	};
	return 1;
}

void op_kernel_symbols_load(struct op_kernel_symbols *k)
{
	if (!k->loaded)
		load(k);
}

int op_kernel_symbols_find(struct op_kernel_symbols *k, uint64_t addr,
			   struct op_kernel_symbol *ret)
{
	int found;

	op_kernel_symbols_load(k);
	found = find(k, addr, ret);
	if (!found && k->stale && op_clock_monotonic_ns() >= k->next_load_ns) {
		load(k);
		found = find(k, addr, ret);
	}
	return found;
}

void op_kernel_symbols_stale(struct op_kernel_symbols *k)
{
	k->stale = true;
}

size_t op_kernel_symbols_bytes(const struct op_kernel_symbols *k)
{
	size_t bytes = sizeof(*k) + op_kallsyms_bytes(&k->table);
	size_t i;

	for (i = 0; i < NAMES_BLOCKS; i++)
		bytes += k->names[i].len;
	return bytes;
}
