/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the places of separate debug files, and checks that a file belongs to the same
 * build. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <zlib.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/symbol/symbols.h"

enum {
	LINK_SECTION_MAX = 4096,
	CRC_PIECE_BYTES = 64 << 10,
	/* The checksum of a larger file takes too long; such files have build ids. */
	CRC_FILE_MAX = 64 << 20,
};

/* Identifies the right file. */
struct wanted {
	struct op_elf *elf;
	char build_id[65];
	char link[NAME_MAX + 1]; /* file name of .gnu_debuglink, or "" */
	uint32_t crc;
};

/* A place to search for debug files: a directory, or a function that opens a path. */
struct place {
	const char *root;
	int (*open)(void *ctx, const char *path);
	void *ctx;
};

/* Open @path below a place. No link and no ".." may lead out of it. */
static int open_below(const struct place *place, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int dir = -1;
	long fd;

	if (place->open)
		return place->open(place->ctx, path);
	dir = op_open(place->root, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return dir;
	fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	return fd < 0 ? -errno : op_fd_move_up((int)fd);
}

/* Is it the file of @elf itself? Its debug link may name it. */
static bool same_file(int a, int b)
{
	struct stat x;
	struct stat y;

	return a >= 0 && b >= 0 && fstat(a, &x) == 0 && fstat(b, &y) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool crc_is(struct op_elf *file, uint32_t want)
{
	_cleanup_free_ uint8_t *piece = NULL;
	uint64_t size = op_elf_size(file);
	uint64_t off = 0;
	uLong crc = crc32(0, NULL, 0);

	if (size > CRC_FILE_MAX)
		return false;
	piece = malloc(CRC_PIECE_BYTES);
	while (piece && off < size) {
		size_t n = (size_t)OP_MIN(size - off, (uint64_t)CRC_PIECE_BYTES);

		if (op_elf_read(file, off, piece, n))
			return false;
		crc = crc32(crc, piece, (uInt)n);
		off += n;
	}
	return piece && crc == want;
}

static int same_build(const struct wanted *w, struct op_elf *file, bool by_link)
{
	struct op_build_ids ids;
	int r;

	if (op_elf_machine(file) != op_elf_machine(w->elf))
		return 0;
	r = op_elf_build_ids(file, &ids);
	if (r)
		return r == -ENOMEM ? r : 0;
	if (w->build_id[0] && ids.gnu[0])
		return strcmp(w->build_id, ids.gnu) == 0;
	return by_link && crc_is(file, w->crc);
}

static int try_file(const struct wanted *w, const struct place *place, const char *path,
		    bool by_link, struct op_elf **ret)
{
	_cleanup_(op_elf_freep) struct op_elf *file = NULL;
	struct op_elf_symtab table;
	int fd;
	int r;

	fd = open_below(place, path);
	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	if (same_file(fd, op_elf_fd(w->elf)) || (r = op_elf_open(fd, &file))) {
		(void)close(fd);
		return 0;
	}
	r = same_build(w, file, by_link);
	if (r > 0)
		r = op_elf_symtab(file, OP_ELF_SYMTAB, &table);
	if (r > 0)
		*ret = OP_TAKE_PTR(file);
	return r == -ENOMEM ? r : r > 0;
}

static int try_build_id(const struct wanted *w, const struct place *place,
			struct op_elf **ret)
{
	char path[128];

	if (strlen(w->build_id) < 4)
		return 0;
	(void)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug",
		       w->build_id, w->build_id + 2);
	return try_file(w, place, path, false, ret);
}

/* Try the three places of gdb's manual, "Separate Debug Files". */
static int try_link(const struct wanted *w, const struct place *place, const char *path,
		    struct op_elf **ret)
{
	static const char *const forms[] = { "%.*s/%s", "%.*s/.debug/%s",
					     "/usr/lib/debug%.*s/%s" };
	const char *slash = path ? strrchr(path, '/') : NULL;
	char name[PATH_MAX];
	size_t i;
	int found = 0;

	if (!slash || !w->link[0])
		return 0;
	for (i = 0; i < OP_ARRAY_SIZE(forms) && !found; i++) {
		int len = snprintf(name, sizeof(name), forms[i], (int)(slash - path),
				   path, w->link);

		if (len > 0 && (size_t)len < sizeof(name))
			found = try_file(w, place, name, true, ret);
	}
	return found;
}

/* Read .gnu_debuglink: a file name, padding to 4 bytes, the file's CRC. */
static int read_link(struct wanted *w)
{
	const struct op_elf_section *s = op_elf_section(w->elf, ".gnu_debuglink");
	_cleanup_free_ void *data = NULL;
	struct op_reader reader;
	const char *name;
	size_t len;
	int r;

	if (!s)
		return 0;
	r = op_elf_section_data(w->elf, s, LINK_SECTION_MAX, &data, &len);
	if (r)
		return r == -ENOMEM ? r : 0;
	reader = op_reader_init(data, len);
	name = op_read_cstr(&reader);
	op_reader_seek(&reader, OP_ALIGN_UP(op_reader_pos(&reader), (size_t)4));
	w->crc = op_read_u32(&reader);
	/* Accept only a plain name, as objcopy makes it: a path could lead elsewhere. */
	if (reader.failed || strchr(name, '/') || strlen(name) > NAME_MAX)
		return 0;
	(void)snprintf(w->link, sizeof(w->link), "%s", name);
	return 0;
}

int op_debugfile_find(struct op_elf *elf, const struct op_symbols_options *o,
		      struct op_elf **ret)
{
	const struct place places[] = {
		{ .root = "/" },
		{ .root = o->root, .open = o->open, .ctx = o->open_ctx },
	};
	struct wanted w = { .elf = elf };
	struct op_build_ids ids;
	size_t i;
	int found;

	found = op_elf_build_ids(elf, &ids);
	if (found)
		return found == -ENOMEM ? found : 0;
	memcpy(w.build_id, ids.gnu, sizeof(w.build_id));
	found = read_link(&w);
	for (i = 0; i < OP_ARRAY_SIZE(places) && !found; i++) {
		if (i && !places[i].open && strcmp(places[i].root, "/") == 0)
			break;
		found = try_build_id(&w, &places[i], ret);
		if (!found)
			found = try_link(&w, &places[i], o->path, ret);
	}
	return found;
}
