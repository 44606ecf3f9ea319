/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/probes/mapped_probes.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/macros.h"
#include "code/elf/file.h"
#include "parts/probes/attach.h"
#include "process/image/executable.h"

enum {
	PATH_BYTES = 64,
	OVERLAY_INODE_BITS = 32, /* above them may be the number of a layer */
};

/* In reverse order, so that the probe that was attached first sees every event that
 * later ones began. */
static void detach(struct op_mapped_probes *x, struct op_mapped_attached *attached)
{
	struct op_executable **exe;
	size_t i;

	for (i = OP_ARRAY_SIZE(attached->fd); i > 0; i--)
		op_closep(&attached->fd[i - 1]);
	op_vec_foreach(exe, &attached->exes)
		op_executable_put(x->config.executables, *exe);
	op_vec_clear(&attached->exes);
}

void op_mapped_probes_clear(struct op_mapped_probes *x)
{
	size_t i;

	for (i = 0; i < x->len; i++)
		detach(x, &x->attached[i]);
	x->len = 0;
	for (i = 0; i < x->programs_len; i++)
		op_closep(&x->program[i].fd);
	x->programs_len = 0;
	x->reported = false;
}

int op_mapped_probes_load(struct op_mapped_probes *x, size_t i,
			  const struct op_argument argument[OP_ARGUMENTS_MAX])
{
	struct op_mapped_program *p;
	size_t at;
	int fd;

	for (at = 0; at < x->programs_len; at++) {
		p = &x->program[at];
		if (p->probe == i && !memcmp(p->argument, argument, sizeof(p->argument)))
			return p->fd;
	}
	if (at == OP_MAPPED_PROGRAMS_MAX)
		return -ENOSPC;
	fd = x->config.load(x->config.ctx, i, argument);
	if (fd < 0)
		return fd;
	p = &x->program[x->programs_len++];
	*p = (struct op_mapped_program){ .probe = i, .fd = fd };
	memcpy(p->argument, argument, sizeof(p->argument));
	return fd;
}

/* Attach to each site of probe @i. Returns 0; -ENOENT if the file has none; -errno. */
static int attach_probe(struct op_mapped_probes *x, struct op_elf *elf, const char *path,
			size_t i, int *ret_fds)
{
	const struct op_mapped_probe *probe = &x->config.probe[i];
	const struct op_probe_spec spec = { .type = probe->type,
					    .file = path,
					    .provider = probe->provider,
					    .symbol = probe->symbol };
	struct op_probe_place place;
	uint32_t site;
	int r = op_probe_place_in(elf, &spec, &place);

	for (site = 0; r >= 0 && site < place.sites_len; site++) {
		struct op_argument argument[OP_ARGUMENTS_MAX] = { 0 };

		if (place.arguments_len[site] < probe->arguments)
			return -ENOTSUP;
		memcpy(argument, place.argument[site],
		       probe->arguments * sizeof(argument[0]));
		r = op_mapped_probes_load(x, i, argument);
		if (r >= 0)
			r = ret_fds[site] = op_probe_attach(&spec, &place, site, r,
							    x->config.sysfs_root);
	}
	return r < 0 ? r : 0;
}

static int attach(struct op_mapped_probes *x, struct op_elf *elf,
		  struct op_mapped_attached *attached)
{
	char path[PATH_BYTES];
	size_t i;
	int r = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", op_elf_fd(elf));
	for (i = 0; r == 0 && i < x->config.len; i++) {
		r = attach_probe(x, elf, path, i, attached->fd + i * OP_PROBE_SITES_MAX);
		if (r == -ENOENT && x->config.probe[i].optional)
			r = 0;
	}
	return r;
}

static bool is_there(const struct op_mapped_probes *x, const struct op_executable *exe)
{
	struct op_executable **e;
	size_t i;

	for (i = 0; i < x->len && exe; i++)
		op_vec_foreach(e, &x->attached[i].exes)
			if (*e == exe)
				return true;
	return false;
}

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * OP_NS_PER_S + t.tv_nsec;
}

static int file_of(int fd, struct op_mapped_inode *ret)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	*ret = (struct op_mapped_inode){ .overlay = fs.f_type == OVERLAYFS_SUPER_MAGIC,
					 .dev = st.st_dev,
					 .inode = st.st_ino,
					 .size = (uint64_t)st.st_size,
					 .mtime_ns = ns_of(st.st_mtim),
					 .ctime_ns = ns_of(st.st_ctim) };
	if (ret->overlay) {
		ret->dev = 0;
		ret->inode &= (UINT64_C(1) << OVERLAY_INODE_BITS) - 1;
	}
	return 0;
}

static struct op_mapped_attached *find(struct op_mapped_probes *x,
				       const struct op_mapped_inode *file)
{
	size_t i;

	for (i = 0; i < x->len; i++)
		if (!memcmp(&x->attached[i].file, file, sizeof(*file)))
			return &x->attached[i];
	return NULL;
}

/* Mappings name the file of @attached as @exe, too. NULL: it stays attached. */
static int name(struct op_mapped_attached *attached, struct op_executable *exe)
{
	struct op_executable **place;

	if (!exe) {
		attached->stays = true;
		return 0;
	}
	place = op_vec_push(&attached->exes);
	if (!place)
		return -ENOMEM;
	*place = op_executable_ref(exe);
	return 0;
}

static int add(struct op_mapped_probes *x, struct op_executable *exe, struct op_elf *elf)
{
	struct op_mapped_attached *attached = &x->attached[x->len];
	struct op_mapped_attached *other;
	struct op_mapped_inode file;
	int r = file_of(op_elf_fd(elf), &file);

	if (r < 0)
		return r;
	/* if attached twice, each hit would be two samples */
	other = find(x, &file);
	if (other)
		return name(other, exe);
	*attached = (struct op_mapped_attached){ .file = file };
	memset(attached->fd, 0xff,
	       sizeof(attached->fd)); /* every descriptor becomes -1 */
	r = attach(x, elf, attached);
	if (r == 0)
		r = x->len < OP_MAPPED_FILES_MAX ? name(attached, exe) : -ENOSPC;
	if (r < 0) {
		detach(x, attached);
		return r == -ENOENT ? 0 : r;
	}
	x->len++;
	return 1;
}

int op_mapped_probes_attach(struct op_mapped_probes *x, struct op_executable *exe,
			    struct op_elf *elf)
{
	int r = is_there(x, exe) ? 0 : add(x, exe, elf);

	if (r >= 0 || r == -ENOMEM || x->reported)
		return r;
	op_log(x->config.log, OP_LOG_WARNING,
	       "the probes of %s in %s could not be attached (%s): what its processes do "
	       "there is not seen",
	       x->config.what, exe ? exe->path : "an installed file", strerror(-r));
	x->reported = true;
	return r;
}

/* Does no process map @exe? Then only the users keep it. */
static bool is_unmapped(struct op_mapped_probes *const *users, size_t len,
			const struct op_executable *exe)
{
	uint32_t held = 0;
	size_t i;

	for (i = 0; i < len; i++)
		held += is_there(users[i], exe);
	return exe->refs == held;
}

void op_mapped_probes_trim(struct op_mapped_probes *x,
			   struct op_mapped_probes *const *users, size_t len)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < x->len; i++) {
		struct op_mapped_attached *attached = &x->attached[i];
		size_t at = attached->exes.len;

		while (at--) {
			struct op_executable **exe = &attached->exes.data[at];

			if (!is_unmapped(users, len, *exe))
				continue;
			op_executable_put(x->config.executables, *exe);
			*exe = attached->exes.data[--attached->exes.len];
		}
		if (!attached->stays && !attached->exes.len)
			detach(x, attached);
		else
			x->attached[kept++] = *attached;
	}
	x->len = kept;
}
