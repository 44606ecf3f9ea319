/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for the file of a mapping, by build id and by name, in the user's directory
 * and the system's. */
#include "recording/lines/files.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "code/elf/file.h"

enum {
	ID_BYTES_MAX = 64
};

struct search {
	struct op_tasks *tasks;
	enum op_task_served served;
	int fd; /* of the file that was found */
	char name[NAME_MAX + 1];
	char id[2 * ID_BYTES_MAX + 1];
	char path[PATH_MAX];
};

static void build_id_of(Elf *elf, char *ret)
{
	const uint8_t *bytes = NULL;
	ssize_t len = dwelf_elf_gnu_build_id(elf, (const void **)&bytes), i;

	*ret = 0;
	for (i = 0; i < len && i < ID_BYTES_MAX; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* For a file without a build id, the recording has a hash of its head, tail and length. */
static bool has_hash(const struct search *s, int fd)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct op_build_ids ids = { 0 };
	_cleanup_close_ int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (own < 0 || op_elf_open(own, &elf) < 0)
		return false;
	(void)OP_TAKE_FD(own);
	return op_elf_build_ids(elf, &ids) == 0 && !*ids.gnu &&
	       strcmp(ids.htlhash, s->id) == 0;
}

/* Is the file at search->path of the right build? */
static bool is_it(struct search *s)
{
	_cleanup_close_ int fd = op_task_open_regular(s->tasks, s->path, s->served, NULL);
	char id[2 * ID_BYTES_MAX + 1];
	Elf *elf;

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return false;
	build_id_of(elf, id);
	(void)elf_end(elf);
	if (*id ? strcmp(id, s->id) : !has_hash(s, fd))
		return false;
	s->fd = OP_TAKE_FD(fd);
	return true;
}

static bool try_path(struct search *s, const char *directory, const char *name)
{
	int n = snprintf(s->path, sizeof(s->path), "%s/%s", directory, name);

	return n > 0 && (size_t)n < sizeof(s->path) && is_it(s);
}

static bool try_build_id(struct search *s, const char *directory)
{
	int n = snprintf(s->path, sizeof(s->path), "%s/.build-id/%.2s/%s.debug",
			 directory, s->id, s->id + 2);

	return n > 0 && (size_t)n < sizeof(s->path) && is_it(s);
}

/* The user trusts the server of this directory, whatever it is. */
static bool try_directory(struct search *s, const char *directory)
{
	enum op_task_served others = s->served;
	bool found;

	s->served = OP_TASK_SERVED_OPEN;
	found = try_path(s, directory, s->name) || try_build_id(s, directory);
	s->served = others;
	return found;
}

/* Try the directories of the executables, and the executables themselves. */
static bool try_executables(struct search *s, const struct op_collect *c)
{
	const struct op_collect_process *p;
	const char *path;
	char *slash;
	size_t len;

	op_vec_foreach(p, &c->processes) {
		path = op_collect_text(c, p->path, &len);
		if (!len || len >= sizeof(s->path) - NAME_MAX - 2 || *path != '/')
			continue;
		memcpy(s->path, path, len);
		s->path[len] = 0;
		slash = strrchr(s->path, '/');
		if (strcmp(slash + 1, s->name) == 0 && is_it(s))
			return true;
		(void)snprintf(slash + 1, NAME_MAX + 1, "%s", s->name);
		if (is_it(s))
			return true;
	}
	return false;
}

static bool try_libraries(struct search *s)
{
	static const char *const directories[] = {
#if defined(__x86_64__)
		"/usr/lib/x86_64-linux-gnu",
		"/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
		"/usr/lib/aarch64-linux-gnu",
		"/lib/aarch64-linux-gnu",
#endif
		"/usr/lib64",
		"/lib64",
		"/usr/lib",
		"/lib",
		"/usr/local/lib",
		"/usr/bin",
		"/usr/sbin",
		"/usr/local/bin",
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(directories); i++) {
		if (try_path(s, directories[i], s->name))
			return true;
	}
	return false;
}

int file_find(const struct op_collect *c, uint32_t mapping, const char *directory,
	      struct op_tasks *tasks, char **ret_path, int *ret_fd)
{
	const struct op_collect_mapping *m = &c->mappings.data[mapping];
	struct search s = { .tasks = tasks, .served = OP_TASK_SERVED_COPY, .fd = -1 };
	const char *text;
	size_t len;

	text = op_collect_text(c, m->build_id, &len);
	/* The first two digits name the folder. A text with '-' or '/' is not an ELF
	 * build id. */
	if (len < 4 || len >= sizeof(s.id) || memchr(text, '/', len) ||
	    memchr(text, '-', len))
		return -ENOENT;
	memcpy(s.id, text, len);
	s.id[len] = 0;
	text = op_collect_text(c, m->file, &len);
	if (!len || len > NAME_MAX || memchr(text, '/', len))
		return -ENOENT;
	memcpy(s.name, text, len);
	s.name[len] = 0;
	(void)elf_version(EV_CURRENT);
	if (!(directory && try_directory(&s, directory)) && !try_executables(&s, c) &&
	    !try_libraries(&s) && !try_build_id(&s, "/usr/lib/debug"))
		return -ENOENT;
	*ret_path = strdup(s.path);
	if (!*ret_path) {
		op_closep(&s.fd);
		return -ENOMEM;
	}
	*ret_fd = s.fd;
	return 0;
}
