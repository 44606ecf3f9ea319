/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files of /proc that can stall: environ and cmdline are pages of the process. maps
 * needs its memory lock, which a page fault that never ends may hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/target/maps.h"
#include "process/target/target.h"
#include "process/target/task/stat.h"
#include "process/target/task/syscalls.h"

enum {
	PIECE_BYTES = OP_VIEW_BYTES_MAX,
	LINES_BYTES = PIECE_BYTES + OP_MAPS_LINE_MAX,
	SHOWN_BYTES_MAX = 8 << 20, /* Linux allows 6 MiB of arguments and environment */
};

/* A file that is read in pieces. fd is a descriptor of the task, -1 before the first
 * piece. */
struct piece {
	char path[OP_TARGET_PATH_MAX];
	int fd;
	int keep;  /* descriptor number to use in the task; -1: any, in our own thread */
	bool last; /* close the file after this piece */
	size_t len;
	char bytes[PIECE_BYTES];
};

_Static_assert(sizeof(struct piece) <= OP_TASK_DATA_BYTES, "a request fits");

static OP_TASK_CODE int read_piece(void *data, int *ret_fd)
{
	struct piece *p = data;
	size_t done = 0;
	long n = 1;

	if (p->fd < 0) {
		n = op_syscall(SYS_openat, AT_FDCWD, p->path,
			       O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
		if (n < 0)
			return (int)n;
		p->fd = (int)n;
		n = 1;
		if (p->keep >= 0 && p->fd != p->keep) {
			(void)op_syscall(SYS_dup3, p->fd, p->keep, O_CLOEXEC);
			(void)op_syscall(SYS_close, p->fd);
			p->fd = p->keep;
		}
	}
	while (done < p->len && n > 0) {
		n = op_syscall(SYS_read, p->fd, p->bytes + done, p->len - done);
		if (n == -EINTR) {
			n = 1;
			continue;
		}
		if (n > 0)
			done += (size_t)n;
	}
	if (n <= 0 || p->last) {
		(void)op_syscall(SYS_close, p->fd);
		p->fd = -1;
	}
	p->len = done;
	return n < 0 ? (int)n : 0;
}

/* Read the next piece of at most @len bytes. *@fd and *@killed keep the position between
 * calls. */
static int next_piece(struct op_target *t, uint32_t pid, enum op_target_by by,
		      const char *name, size_t len, bool last, int *fd, uint64_t *killed,
		      struct piece **ret)
{
	struct piece *p;
	void *data;
	int r = op_target_begin(t, pid, by, &data);

	if (r < 0)
		return r;
	/* the task that had the file open was killed */
	if (*fd >= 0 && *killed != t->tasks.killed)
		return -EAGAIN;
	*killed = t->tasks.killed;
	p = data;
	if (snprintf(p->path, sizeof(p->path), "%s/%u/%s", t->procfs_root, pid, name) >=
	    (int)sizeof(p->path))
		return -ENAMETOOLONG;
	p->fd = *fd;
	p->keep = by == OP_TARGET_SELF || t->tasks.direct ? -1 : 0;
	p->last = last;
	p->len = OP_MIN(len, (size_t)PIECE_BYTES);
	r = op_target_run(t, pid, read_piece, NULL);
	if (r < 0)
		return r;
	*fd = p->fd;
	*ret = p;
	return 0;
}

/* Are the pages of environ and cmdline in memory? */
static bool is_there(struct op_target *t, uint32_t pid, size_t limit)
{
	_cleanup_close_ int fd = -1;
	/* start and end of the arguments, start and end of the environment */
	uint64_t numbers[4];
	struct op_view view = { .memory = -1 };
	char path[OP_TARGET_PATH_MAX];
	uint64_t at;
	uint64_t end;

	if (snprintf(path, sizeof(path), "%s/%u/pagemap", t->procfs_root, pid) >=
	    (int)sizeof(path))
		return false;
	view.pagemap = fd = op_open(path, O_RDONLY);
	if (fd < 0)
		return false;
	(void)snprintf(path, sizeof(path), "%s/%u/stat", t->procfs_root, pid);
	op_task_stat_numbers(path, OP_STAT_ARGUMENTS_FIELD, numbers,
			     OP_ARRAY_SIZE(numbers));
	/* A process title longer than the arguments continues in the environment. */
	if (!numbers[0] || numbers[0] > numbers[2] || numbers[2] > numbers[3])
		return false;
	end = OP_MIN(numbers[3], numbers[2] + limit);
	if (end - numbers[0] > SHOWN_BYTES_MAX)
		return false;
	for (at = numbers[0]; at < end; at += PIECE_BYTES)
		if (!op_view_is_there(&view, at,
				      (size_t)OP_MIN(end - at, (uint64_t)PIECE_BYTES)))
			return false;
	return true;
}

static enum op_target_by who_reads(struct op_target *t, uint32_t pid, const char *name,
				   size_t limit)
{
	bool maps = strcmp(name, "maps") == 0;

	/* a child would read the text of maps in one slice */
	if (maps && t->no_search)
		return op_target_may_stall(t, pid) ? OP_TARGET_CHILD : OP_TARGET_SELF;
	if (op_target_who_locks(t, pid) == OP_TARGET_CHILD)
		return OP_TARGET_CHILD;
	return maps || is_there(t, pid, limit) ? OP_TARGET_SELF : OP_TARGET_CHILD;
}

ssize_t op_target_read_proc(struct op_target *t, uint32_t pid, const char *name,
			    size_t limit, char **ret)
{
	_cleanup_free_ char *buf = NULL;
	uint64_t killed = 0;
	enum op_target_by by = who_reads(t, pid, name, limit);
	size_t len = 0;
	int fd = -1;

	do {
		size_t want = OP_MIN(limit - len, (size_t)PIECE_BYTES);
		struct piece *p;
		char *grown;
		int r;

		r = next_piece(t, pid, by, name, want, want == limit - len, &fd, &killed,
			       &p);
		if (r < 0)
			return r;
		grown = realloc(buf, len + p->len + 1);
		if (!grown)
			return -ENOMEM;
		buf = grown;
		memcpy(buf + len, p->bytes, p->len);
		len += p->len;
	} while (fd >= 0 && len < limit);
	buf[len] = 0;
	*ret = OP_TAKE_PTR(buf);
	return (ssize_t)len;
}

/* Maps are read in pieces, because a process may have any number of mappings. */
struct text {
	uint32_t pid;
	enum op_target_by by;
	int fd; /* -1: not opened, or at its end */
	uint64_t killed;
	size_t len;
	char *buf; /* LINES_BYTES */
};

/* Take the lines of the next piece. Returns 0, -errno, or what @fn returned. */
static int take_piece(struct op_target *t, struct text *x, op_maps_line_fn fn, void *ctx)
{
	size_t want = OP_MIN((size_t)LINES_BYTES - x->len, (size_t)PIECE_BYTES);
	struct piece *p;
	int r;

	r = next_piece(t, x->pid, x->by, "maps", want, false, &x->fd, &x->killed, &p);
	if (r < 0)
		return r;
	memcpy(x->buf + x->len, p->bytes, p->len);
	x->len += p->len;
	t->stats.maps_bytes += p->len;
	r = op_maps_take_lines(x->buf, &x->len, fn, ctx);
	return r == 0 && x->len == LINES_BYTES ? -EBADMSG : r; /* longer than any line */
}

/* An empty piece closes the file. */
static void close_text(struct op_target *t, struct text *x)
{
	if (x->fd >= 0)
		(void)next_piece(t, x->pid, x->by, "maps", 0, true, &x->fd, &x->killed,
				 &(struct piece *){ NULL });
}

int op_target_each_line(struct op_target *t, uint32_t pid, op_maps_line_fn fn, void *ctx)
{
	_cleanup_free_ char *buf = malloc(LINES_BYTES);
	struct text x = {
		.pid = pid, .by = who_reads(t, pid, "maps", 0), .fd = -1, .buf = buf
	};
	int r;

	if (!buf)
		return -ENOMEM;
	do
		r = take_piece(t, &x, fn, ctx);
	while (r == 0 && x.fd >= 0);
	close_text(t, &x);
	return r;
}

void op_maps_reader_end(struct op_target *t, struct op_maps_reader *reader)
{
	if (reader->text) {
		op_closep(&reader->fd);
		t->maps_open--;
	}
	free(reader->text);
	*reader = (struct op_maps_reader){ 0 };
}

/* Keep the file of @x open until the next slice. If too many are open, the next slice begins
 * again. */
static void keep_text(struct op_target *t, struct text *x, struct op_maps_reader *reader)
{
	char *rest;

	if (t->maps_open >= OP_MAPS_OPEN_MAX || !(rest = malloc(x->len + 1))) {
		close_text(t, x);
		reader->lines = 0;
		reader->given = 0;
		return;
	}
	memcpy(rest, x->buf, x->len);
	reader->text = rest;
	reader->text_len = x->len;
	reader->fd = op_fd_move_up(x->fd);
	t->maps_open++;
}

/* Continue where @reader stopped. */
static void take_text(struct op_target *t, struct op_maps_reader *reader, struct text *x)
{
	if (!reader->text)
		return;
	x->fd = reader->fd;
	x->len = reader->text_len;
	memcpy(x->buf, reader->text, x->len);
	free(reader->text);
	reader->text = NULL;
	t->maps_open--;
}

/* The child keeps one file open, until its call returns: it reads the text in one slice. */
static int text_executables(struct op_target *t, uint32_t pid,
			    struct op_maps_reader *reader, op_maps_fn fn, void *ctx)
{
	struct op_maps_executables executables = {
		.fn = fn, .ctx = ctx, .lines = reader->lines, .given = reader->given
	};
	_cleanup_free_ char *buf = malloc(LINES_BYTES);
	struct text x = { .pid = pid,
			  .by = reader->text ? OP_TARGET_SELF
					     : who_reads(t, pid, "maps", 0),
			  .fd = -1,
			  .killed = t->tasks.killed,
			  .buf = buf };
	bool slices = x.by == OP_TARGET_SELF || t->tasks.direct;
	size_t bytes = 0;
	int r = 0;

	if (!buf)
		return -ENOMEM;
	take_text(t, reader, &x);
	do {
		r = take_piece(t, &x, op_maps_take_executable, &executables);
		bytes += PIECE_BYTES;
		if (r == 0 && x.fd >= 0 && slices &&
		    (bytes >= OP_MAPS_SLICE_BYTES ||
		     executables.given - reader->given >= OP_MAPS_SLICE))
			r = -EINPROGRESS;
	} while (r == 0 && x.fd >= 0 && executables.given < OP_MAPS_GIVEN_MAX);
	if (executables.given >= OP_MAPS_GIVEN_MAX && r == -EINPROGRESS)
		r = 0;
	t->stats.mappings += executables.given - reader->given;
	reader->lines = executables.lines;
	reader->given = executables.given;
	if (r == -EINPROGRESS)
		keep_text(t, &x, reader);
	else
		close_text(t, &x);
	return r ? r : reader->lines;
}

/* ---- the kernel's own search for executable mappings (Linux 6.11) ---- */

/* struct procmap_query of linux/fs.h. */
struct mapping_query {
	uint64_t size;
	uint64_t flags;
	uint64_t addr;
	uint64_t start;
	uint64_t end;
	uint64_t vma_flags;
	uint64_t page_size;
	uint64_t offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t name_size;
	uint32_t build_id_size;
	uint64_t name;
	uint64_t build_id;
};

#define MAPPING_QUERY _IOWR('f', 17, struct mapping_query)

enum {
	QUERY_WRITABLE = 0x02,
	QUERY_EXECUTABLE = 0x04,
	QUERY_THIS_OR_NEXT = 0x10,
	/* After this many mappings of one file in a row, the path of the next mapping of that
	 * file is not asked for: the path is the slowest part. */
	RUN_LEN = 16,
};

struct found_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	/* with its NUL; the name follows, up to a multiple of 8. 0: the name of the mapping
	 * before, if it has a file */
	uint32_t name_bytes;
	uint32_t writable;
};

/* The executable mappings from @at on: @most, or as many as fit. */
struct query {
	char path[OP_TARGET_PATH_MAX];
	uint64_t at;
	uint32_t most;
	bool over; /* there are no more */
	bool gone; /* the process has no memory any longer */
	struct op_maps_run run;
	size_t len;
	char bytes[PIECE_BYTES];
};

_Static_assert(sizeof(struct query) <= OP_TASK_DATA_BYTES, "a request fits");

static OP_TASK_CODE long ask(long fd, uint64_t at, void *name, struct mapping_query *m)
{
	/* each by itself: there is no memset() here */
	m->start = m->end = m->vma_flags = m->page_size = m->offset = m->inode = 0;
	m->dev_major = m->dev_minor = 0;
	m->size = sizeof(*m);
	m->flags = QUERY_EXECUTABLE | QUERY_THIS_OR_NEXT;
	m->addr = at;
	m->name_size = name ? OP_MAPS_NAME_BYTES : 0;
	m->name = (uint64_t)(uintptr_t)name;
	m->build_id_size = 0;
	m->build_id = 0;
	return op_syscall(SYS_ioctl, fd, MAPPING_QUERY, m);
}

/* Count @m in @run. Returns false if it has another file, or none. */
static OP_TASK_CODE bool go_on_run(struct op_maps_run *run, const struct mapping_query *m)
{
	if (m->inode && m->inode == run->inode && m->dev_major == run->dev_major &&
	    m->dev_minor == run->dev_minor) {
		run->len += run->len < RUN_LEN;
		return true;
	}
	run->inode = m->inode;
	run->dev_major = m->dev_major;
	run->dev_minor = m->dev_minor;
	run->len = 0;
	return false;
}

static OP_TASK_CODE int query_mappings(void *data, int *ret_fd)
{
	struct query *q = data;
	long fd = op_syscall(SYS_openat, AT_FDCWD, q->path, O_RDONLY | O_CLOEXEC, 0);
	uint32_t n;
	long r = 0;

	*ret_fd = -1;
	q->len = 0;
	q->over = q->gone = false;
	if (fd < 0)
		return (int)fd;
	for (n = 0; n < q->most; n++) {
		struct found_mapping *f = (void *)(q->bytes + q->len);
		bool named = q->run.len < RUN_LEN;
		struct mapping_query m;

		if (q->len + sizeof(*f) + OP_MAPS_NAME_BYTES > sizeof(q->bytes))
			break;
		r = ask(fd, q->at, named ? f + 1 : NULL, &m);
		if (r == 0 && !go_on_run(&q->run, &m) && !named)
			r = ask(fd, q->at, f + 1, &m);
		if (r < 0)
			break;
		f->start = m.start;
		f->end = m.end;
		f->offset = m.offset;
		f->inode = m.inode;
		f->dev_major = m.dev_major;
		f->dev_minor = m.dev_minor;
		f->name_bytes = m.name_size;
		f->writable = !!(m.vma_flags & QUERY_WRITABLE);
		q->len += sizeof(*f) + ((m.name_size + 7) & ~(size_t)7);
		q->at = m.end;
	}
	(void)op_syscall(SYS_close, fd);
	q->gone = r == -ESRCH;
	q->over = q->gone || r == -ENOENT;
	return r < 0 && !q->over ? (int)r : 0;
}

/* Call @fn for each mapping that was found. Returns 0, or what @fn returned. */
static int give_found(struct op_maps_reader *reader, char *bytes, size_t len,
		      op_maps_fn fn, void *ctx)
{
	const char *path = reader->run_path;
	size_t at = 0;
	int r = 0;

	while (r == 0 && at + sizeof(struct found_mapping) <= len) {
		struct found_mapping *f = (void *)(bytes + at);
		size_t name = OP_MIN((size_t)f->name_bytes, len - at - sizeof(*f));
		struct op_mmap_event e = { .start = f->start,
					   .end = f->end,
					   .offset = f->offset,
					   .inode = f->inode,
					   .dev_major = f->dev_major,
					   .dev_minor = f->dev_minor,
					   .writable = f->writable };

		if (name) {
			path = (char *)(f + 1);
			bytes[at + sizeof(*f) + name - 1] = 0;
		} else if (!f->inode) {
			path = "";
		}
		e.path = path;
		reader->given++;
		at += sizeof(*f) + ((name + 7) & ~(size_t)7);
		r = fn(ctx, &e);
	}
	if (path != reader->run_path)
		(void)snprintf(reader->run_path, sizeof(reader->run_path), "%s", path);
	return r;
}

/* Find at most @most further mappings. *@ret_len: bytes in @bytes. Returns 0 or -errno. */
static int next_found(struct op_target *t, uint32_t pid, struct op_maps_reader *reader,
		      uint32_t most, char *bytes, size_t *ret_len, bool *ret_over)
{
	enum op_target_by by = who_reads(t, pid, "maps", 0);
	struct query *q;
	void *data;
	int r;

	r = op_target_begin(t, pid, by, &data);
	if (r < 0)
		return r;
	q = data;
	if (snprintf(q->path, sizeof(q->path), "%s/%u/maps", t->procfs_root, pid) >=
	    (int)sizeof(q->path))
		return -ENAMETOOLONG;
	q->at = reader->at;
	q->most = most;
	q->run = reader->run;
	r = op_target_run(t, pid, query_mappings, NULL);
	if (r < 0)
		return r;
	/* the mappings found before are not all */
	if (q->gone && !q->len && reader->found)
		return -ESRCH;
	reader->at = q->at;
	reader->run = q->run;
	reader->found = reader->found || q->len;
	t->stats.maps_bytes += q->len;
	memcpy(bytes, q->bytes, q->len); /* @fn may make calls, which reuse the request */
	*ret_len = q->len;
	*ret_over = q->over;
	return 0;
}

/* op_target_executables() by the kernel's search. -ENOTTY if the kernel has none. */
static int found_executables(struct op_target *t, uint32_t pid,
			     struct op_maps_reader *reader, op_maps_fn fn, void *ctx)
{
	_cleanup_free_ char *bytes = malloc(PIECE_BYTES);
	uint32_t begin = reader->given;
	uint32_t end = begin + OP_MAPS_SLICE;
	bool over = false;
	int r = 0;

	if (!bytes)
		return -ENOMEM;
	while (r == 0 && !over && reader->given < end) {
		size_t len;

		r = next_found(t, pid, reader, end - reader->given, bytes, &len, &over);
		if (r == 0)
			r = give_found(reader, bytes, len, fn, ctx);
	}
	t->stats.mappings += reader->given - begin;
	if (r == 0 && !over && reader->given < OP_MAPS_GIVEN_MAX)
		return -EINPROGRESS;
	return r ? r : reader->found;
}

int op_target_executables(struct op_target *t, uint32_t pid,
			  struct op_maps_reader *reader, op_maps_fn fn, void *ctx)
{
	int r = t->no_search ? -ENOTTY : found_executables(t, pid, reader, fn, ctx);

	if (r != -ENOTTY)
		return r;
	t->no_search = true;
	return text_executables(t, pid, reader, fn, ctx);
}
