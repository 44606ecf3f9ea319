/* SPDX-License-Identifier: Apache-2.0 */
/* Writes requests as frames into a temporary file or a stream, or by a format. */
#include "export/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "export/sink/thread.h"

enum {
	FRAME_HEADER_BYTES = 4
};

static void put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static int write_frame(int fd, const void *bytes, size_t len)
{
	uint8_t header[FRAME_HEADER_BYTES];
	int err;

	put_be32(header, (uint32_t)len);
	err = op_write_full(fd, header, sizeof(header));
	if (err < 0)
		return err;
	return op_write_full(fd, bytes, len);
}

/* Open the temporary file, positioned for the next request. */
static int open_frames(struct op_recording *r)
{
	int err;

	if (r->out.fd >= 0)
		return 0;
	err = op_output_open(&r->out);
	if (err < 0)
		return err;
	err = op_output_continue(&r->out, r->published_len);
	if (err == -ENODATA) {
		op_notes_add(r->notes, OP_LOG_WARNING,
			     "export: file %s: somebody truncated, renamed or removed "
			     "it; it begins anew",
			     r->out.path);
		r->published_len = 0;
		err = 0;
	}
	if (err < 0) {
		op_output_discard(&r->out);
		return err;
	}
	r->whole_len = r->published_len;
	return 0;
}

/* Cut off an incomplete request; a temporary file without new requests is removed. Returns
 * whether new ones were in it. */
static bool cut_frames(struct op_recording *r)
{
	bool fresh = r->whole_len > r->published_len;

	if (fresh && !ftruncate(r->out.fd, (off_t)r->whole_len) &&
	    lseek(r->out.fd, (off_t)r->whole_len, SEEK_SET) >= 0)
		return false;
	op_output_discard(&r->out);
	return fresh;
}

static int append_frame(struct op_recording *r, const void *bytes, size_t len,
			bool *ret_lost)
{
	int err;

	err = open_frames(r);
	if (err < 0)
		return err;
	err = write_frame(r->out.fd, bytes, len);
	if (err < 0) {
		*ret_lost = cut_frames(r);
		return err;
	}
	r->whole_len += FRAME_HEADER_BYTES + len;
	return 0;
}

/* The thread blocks SIGPIPE like all signals. */
static int stream_frame(struct op_recording *r, const void *bytes, size_t len)
{
	int err;

	if (r->broken)
		return -EPIPE;
	err = write_frame(r->out.fd, bytes, len);
	r->broken = err < 0;
	return err;
}

bool op_recording_is_direct(const struct op_recording *r)
{
	return r->out.stream && !r->format;
}

int op_recording_take(struct op_recording *r, const void *bytes, size_t len,
		      bool *ret_lost)
{
	*ret_lost = false;
	if (r->format)
		return op_collect_add(r->collect, bytes, len);
	if (r->out.stream)
		return stream_frame(r, bytes, len);
	return append_frame(r, bytes, len, ret_lost);
}

static int write_format(struct op_recording *r)
{
	int err;

	if (r->out.stream)
		return r->format->write(r->collect, r->out.fd);
	err = op_output_open(&r->out);
	if (err < 0)
		return err;
	err = r->format->write(r->collect, r->out.fd);
	if (err < 0)
		op_output_discard(&r->out);
	return err;
}

int op_recording_complete(struct op_recording *r)
{
	int err = 0;

	if (r->format)
		err = write_format(r);
	if (err < 0 || r->out.stream)
		return err;
	err = op_output_publish(&r->out);
	if (err < 0)
		return err;
	r->published_len = r->whole_len;
	return 0;
}

/* A format writes all it has collected each time. But what a stream has already cannot be
 * written anew. */
bool op_recording_keeps(const struct op_recording *r)
{
	return r->format && !r->out.stream;
}

/* What a thread of its own opens. */
struct opening {
	char *path;
	struct op_output out;
	int err;
};

static void open_output(void *arg)
{
	struct opening *o = arg;

	o->err = op_output_init(&o->out, o->path);
}

static void free_opening(struct opening *o)
{
	free(o->path);
	free(o);
}

static void drop_opening(void *arg)
{
	struct opening *o = arg;

	if (!o->err)
		op_output_deinit(&o->out);
	free_opening(o);
}

static int open_bounded(const char *path, struct op_log *log, struct op_output *ret)
{
	struct opening *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	o->path = strdup(path);
	err = o->path ? op_sink_thread_call(open_output, drop_opening, o) : -ENOMEM;
	if (err == -ETIMEDOUT)
		return op_fail(
			log, err,
			"file exporter: cannot create %s: its disk does not answer, "
			"or nobody opens it to read",
			path);
	if (err == 0 && o->err < 0)
		err = op_fail(log, o->err, "file exporter: cannot create %s: %s", path,
			      strerror(-o->err));
	else if (err == 0)
		*ret = o->out;
	free_opening(o);
	return err;
}

int op_recording_open(struct op_recording *r, const char *path,
		      const struct op_format *format, struct op_notes *notes,
		      struct op_log *log)
{
	struct op_recording new = { .notes = notes, .format = format };
	int err = 0;

	if (format)
		err = op_collect_new(format->detail, &new.collect);
	if (err < 0)
		return err;
	err = open_bounded(path, log, &new.out);
	if (err < 0) {
		(void)op_collect_free(new.collect);
		return err;
	}
	*r = new;
	return 0;
}

void op_recording_deinit(struct op_recording *r)
{
	op_output_deinit(&r->out);
	r->collect = op_collect_free(r->collect);
}

void op_recording_forget(struct op_recording *r)
{
	op_output_forget(&r->out);
	r->collect = op_collect_free(r->collect);
}
