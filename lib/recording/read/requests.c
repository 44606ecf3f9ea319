/* SPDX-License-Identifier: Apache-2.0 */
/* Reads requests from files whose lengths and contents are not trusted. */
#include "recording/read/requests.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"
#include "export/transport/compress.h"
#include "process/target/task/task.h"
#include "recording/read/say.h"

enum {
	/* a larger length is not a length: the bytes may be a protobuf field */
	REQUEST_MAX_BYTES = 1 << 26,
	/* read in steps, so that memory grows with the data, not with a stated length */
	STEP_BYTES = 1 << 16,
	FILES_MAX = 100000, /* of a folder */
	LENGTH_BYTES = 4,
	/* first byte of a request without a length: its first resource */
	FIELD_1_BYTES = 0x0a,
	FIELD_2_BYTES = 0x12, /* or its dictionary */
};

struct reading {
	const char *path; /* for messages */
	FILE *f;
	OP_VEC(uint8_t) bytes;
	uint64_t requests;
	uint64_t offset;
};

/* Read @len more bytes behind those in memory. Returns how many were read, or -ENOMEM. */
static ssize_t read_more(struct reading *rec, size_t len)
{
	size_t want, got, sum = 0;

	while (sum < len) {
		want = len - sum < STEP_BYTES ? len - sum : STEP_BYTES;
		if (op_vec_reserve(&rec->bytes, want))
			return -ENOMEM;
		got = fread(rec->bytes.data + rec->bytes.len, 1, want, rec->f);
		rec->bytes.len += got;
		sum += got;
		if (got < want)
			break;
	}
	return (ssize_t)sum;
}

static int say_what_it_is(const struct reading *rec)
{
	static const struct {
		const char *magic;
		const char *what;
	} known[] = {
		{ "\x1f\x8b", "a gzip file, perhaps of pprof" },
		{ "<", "a page" },
		{ "{", "JSON" },
		{ "PERFILE2", "a file of perf" },
	};
	size_t i, len;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		len = strlen(known[i].magic);
		if (rec->bytes.len >= len &&
		    memcmp(rec->bytes.data, known[i].magic, len) == 0)
			return fail(
				"%s is not an otelprof recording but %s; 'otelprof record -o "
				"FILE.otlp' makes one",
				rec->path, known[i].what);
	}
	return fail(
		"%s is no recording, or it is damaged, or has the layout of OTLP before "
		"1.10; 'otelprof record -o FILE.otlp' makes one",
		rec->path);
}

static bool begins_request(int byte)
{
	return byte == FIELD_1_BYTES || byte == FIELD_2_BYTES;
}

/* The file is damaged here. The requests before this still count. */
static int damaged(const struct reading *rec, const char *what)
{
	if (!rec->requests)
		return fail("%s: %s, and no request comes before it", rec->path, what);
	note("%s: %s at byte %" PRIu64 "; the %" PRIu64 " requests before it are used",
	     rec->path, what, rec->offset, rec->requests);
	return 0;
}

static int read_bare(struct reading *rec, recording_fn fn, void *data)
{
	ssize_t n = read_more(rec, REQUEST_MAX_BYTES);
	int r;

	if (n < 0)
		return fail("%s: out of memory", rec->path);
	if (n == REQUEST_MAX_BYTES)
		return fail("%s is one request of more than %d MiB, or no recording",
			    rec->path, REQUEST_MAX_BYTES >> 20);
	r = fn(data, rec->bytes.data, rec->bytes.len);
	if (r == -EBADMSG)
		return say_what_it_is(rec);
	if (r == -EFBIG)
		return damaged(rec, "a request exceeds the limits");
	if (r < 0)
		return fail("%s: %s", rec->path, strerror(-r));
	rec->requests = 1;
	return 0;
}

/* Does a request of @len bytes come next? */
static bool is_as_long(const struct reading *rec, uint32_t len)
{
	struct stat st;

	return fstat(fileno(rec->f), &st) == 0 && st.st_size >= (off_t)len &&
	       begins_request(getc(rec->f));
}

/*
 * Read one request after its length. Returns 1, 0 at the end, or a negative errno. If
 * the file is at fault, @ret_what is the reason, or "" if it is not a recording at all.
 */
static int read_one(struct reading *rec, recording_fn fn, void *data,
		    const char **ret_what)
{
	const uint8_t *b = rec->bytes.data;
	ssize_t got;
	uint32_t len;
	int r;

	len = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	if (len > REQUEST_MAX_BYTES) {
		*ret_what = is_as_long(rec, len) ? "a request has more than 64 MiB"
			    : rec->requests	 ? "there is no length of a request"
						 : "";
		return -EBADMSG;
	}
	rec->bytes.len = 0;
	got = read_more(rec, len);
	if (got < 0)
		return (int)got;
	if ((size_t)got < len) {
		*ret_what = "a request is cut off";
		return -EBADMSG;
	}
	r = fn(data, rec->bytes.data, len);
	if (r == -EBADMSG)
		*ret_what = rec->requests ? "a request cannot be read" : "";
	else if (r == -EFBIG)
		*ret_what = "a request exceeds the limits";
	return r < 0 ? r : 1;
}

static int read_all(struct reading *rec, recording_fn fn, void *data)
{
	const char *what = NULL;
	ssize_t n;
	int r;

	for (;;) {
		rec->bytes.len = 0;
		n = read_more(rec, LENGTH_BYTES);
		if (n == 0)
			break;
		if (n < 0)
			return fail("%s: out of memory", rec->path);
		if (n < LENGTH_BYTES)
			return rec->requests ? damaged(rec, "a length is cut off")
					     : say_what_it_is(rec);
		/* without a length it begins with a field */
		if (!rec->requests && begins_request(rec->bytes.data[0]))
			return read_bare(rec, fn, data);
		r = read_one(rec, fn, data, &what);
		if (what)
			return *what ? damaged(rec, what) : say_what_it_is(rec);
		if (r < 0)
			return fail("%s: %s", rec->path, strerror(-r));
		rec->requests++;
		rec->offset = rec->offset + LENGTH_BYTES + rec->bytes.len;
	}
	if (ferror(rec->f))
		return damaged(rec, "a read failed");
	return rec->requests ? 0 : fail("%s is empty", rec->path);
}

const char *recording_title(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

bool recording_is_given(const char *path)
{
	return strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0 ||
	       strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0 ||
	       strcmp(path, "/dev/stdin") == 0;
}

/* Open a regular file or a pipe, as a shell makes it. A device only if the shell opened
 * it. Returns a descriptor, -EISDIR or another -errno. */
static int open_recording(struct op_tasks *tasks, const char *path)
{
	bool given = recording_is_given(path);
	uint32_t mode = 0;
	struct stat st;
	int fd = given ? op_open(path, O_RDONLY | O_NOCTTY)
		       : op_task_open_regular(tasks, path, OP_TASK_SERVED_OPEN, &mode);

	if (fd == -ENOTSUP && S_ISFIFO(mode))
		return op_open(path, O_RDONLY | O_NOCTTY);
	if (fd >= 0 && given && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		(void)close(fd);
		return -EISDIR;
	}
	return fd;
}

struct recording_paths {
	struct op_tasks tasks;
};

struct recording_paths *recording_paths_new(void)
{
	struct recording_paths *p = malloc(sizeof(*p));

	if (p)
		op_tasks_init(&p->tasks);
	return p;
}

struct recording_paths *recording_paths_free(struct recording_paths *p)
{
	if (p)
		op_tasks_deinit(&p->tasks);
	free(p);
	return NULL;
}

int recording_paths_look(struct recording_paths *p, const char *path)
{
	_cleanup_close_ int fd = -1;

	if (recording_is_given(path) || strcmp(path, "-") == 0)
		return -ENOTSUP;
	p->tasks.killed = 0; /* each path has its chance */
	fd = op_task_open_regular(&p->tasks, path, OP_TASK_SERVED_OPEN, NULL);
	/* ends the task, and reaps those that hung */
	op_tasks_rest(&p->tasks, UINT64_MAX);
	if (fd == -EISDIR || fd == -ENOTSUP)
		return -ENOTSUP;
	/* -EAGAIN: too many hang */
	return fd == -ETIMEDOUT || fd == -EAGAIN ? -ETIMEDOUT : 0;
}

int recording_unpack(const void *bytes, size_t len, void **ret, size_t *ret_len)
{
	return op_unpack(bytes, len, REQUEST_MAX_BYTES, ret, ret_len);
}

static const char *reason(int error)
{
	return error == ENOTSUP ? "it is not a file" : strerror(error);
}

static int read_stream(struct reading *rec, recording_fn fn, void *data)
{
	int r = read_all(rec, fn, data);

	op_vec_clear(&rec->bytes);
	return r;
}

/* Returns 0, STATUS_FAILED, or -EISDIR for a folder. */
static int read_file(struct op_tasks *tasks, const char *path, recording_fn fn,
		     void *data)
{
	struct reading rec = { .path = path };
	int fd = open_recording(tasks, path);
	int r;

	if (fd == -EISDIR)
		return fd;
	rec.f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!rec.f)
		return fail("cannot read %s: %s", path, reason(fd < 0 ? -fd : errno));
	r = read_stream(&rec, fn, data);
	(void)fclose(rec.f);
	return r;
}

static int is_visible(const struct dirent *e)
{
	return *e->d_name != '.';
}

/* The files of a folder, as sink --dir writes it, in the order of their names. */
static int read_folder(struct op_tasks *tasks, const char *path, recording_fn fn,
		       void *data)
{
	struct dirent **of = NULL;
	int n = scandir(path, &of, is_visible, alphasort), i, r = 0;
	size_t read = 0;
	char *file;

	if (n < 0)
		return fail("cannot read %s: %s", path, strerror(errno));
	for (i = 0; i < n; i++) {
		if (!r && of[i]->d_type != DT_DIR && read < FILES_MAX) {
			if (asprintf(&file, "%s/%s", path, of[i]->d_name) < 0)
				file = NULL;
			r = file ? read_file(tasks, file, fn, data)
				 : fail("out of memory");
			if (r == -EISDIR)
				r = fail("cannot read %s: %s", file, strerror(EISDIR));
			free(file);
			read++;
		}
		free(of[i]);
	}
	free(of);
	if (read == FILES_MAX)
		note("of %s the first %d files were read", path, FILES_MAX);
	return r || read ? r : fail("%s has no files", path);
}

static int read_path(struct op_tasks *tasks, const char *path, recording_fn fn,
		     void *data)
{
	struct reading input = { .path = "standard input", .f = stdin };
	int r;

	if (strcmp(path, "-") == 0)
		return read_stream(&input, fn, data);
	r = read_file(tasks, path, fn, data);
	return r == -EISDIR ? read_folder(tasks, path, fn, data) : r;
}

int recording_read(char *const *paths, size_t len, recording_fn fn, void *data)
{
	struct op_tasks tasks;
	size_t i;
	int r = 0;

	op_tasks_init(&tasks);
	for (i = 0; !r && i < len; i++)
		r = read_path(&tasks, paths[i], fn, data);
	op_tasks_deinit(&tasks);
	return r;
}

int recording_append(int fd, const void *request, size_t len)
{
	const uint8_t header[LENGTH_BYTES] = { (uint8_t)(len >> 24), (uint8_t)(len >> 16),
					       (uint8_t)(len >> 8), (uint8_t)len };
	int r = op_write_full(fd, header, sizeof(header));

	return r ? r : op_write_full(fd, request, len);
}
