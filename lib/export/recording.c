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
	int r;

	put_be32(header, (uint32_t)len);
	r = op_write_full(fd, header, sizeof(header));
	if (r < 0)
		return r;
	return op_write_full(fd, bytes, len);
}

/* Open the temporary file, positioned for the next request. Whole requests can be read after a
 * kill, so it gets a name. */
static int open_frames(struct op_recording *recording)
{
	int r;

	if (recording->out.fd >= 0)
		return op_output_name(&recording->out);
	r = op_output_open(&recording->out);
	if (r < 0)
		return r;
	r = op_output_continue(&recording->out, recording->published_len);
	if (r == -ENODATA) {
		op_notes_add(recording->notes, OP_LOG_WARNING,
			     "export: file %s: somebody truncated, renamed or removed "
			     "it; starting a new one",
			     recording->out.path);
		recording->published_len = 0;
		r = 0;
	}
	if (r < 0) {
		op_output_discard(&recording->out);
		return r;
	}
	recording->whole_len = recording->published_len;
	return op_output_name(&recording->out);
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

static int append_frame(struct op_recording *recording, const void *bytes, size_t len,
			bool *ret_lost)
{
	int r;

	r = open_frames(recording);
	if (r < 0)
		return r;
	r = write_frame(recording->out.fd, bytes, len);
	if (r < 0) {
		*ret_lost = cut_frames(recording);
		return r;
	}
	recording->whole_len += FRAME_HEADER_BYTES + len;
	return 0;
}

/* The thread blocks SIGPIPE like all signals. */
static int stream_frame(struct op_recording *recording, const void *bytes, size_t len)
{
	int r;

	if (recording->broken)
		return -EPIPE;
	r = write_frame(recording->out.fd, bytes, len);
	recording->broken = r < 0;
	return r;
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

static int write_format(struct op_recording *recording)
{
	int r;

	if (recording->out.stream)
		return recording->format->write(recording->collect, recording->out.fd);
	r = op_output_open(&recording->out);
	if (r < 0)
		return r;
	r = recording->format->write(recording->collect, recording->out.fd);
	if (r < 0)
		op_output_discard(&recording->out);
	return r;
}

int op_recording_complete(struct op_recording *recording)
{
	int r = 0;

	if (recording->format)
		r = write_format(recording);
	if (r < 0 || recording->out.stream)
		return r;
	r = op_output_publish(&recording->out);
	if (r < 0)
		return r;
	recording->published_len = recording->whole_len;
	return 0;
}

/* A format writes all that it has collected each time, but a stream cannot be
 * rewritten. */
bool op_recording_keeps(const struct op_recording *r)
{
	return r->format && !r->out.stream;
}

/* What a thread opens, because a disk may not answer. */
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
	int r;

	if (!o)
		return -ENOMEM;
	o->path = strdup(path);
	r = o->path ? op_sink_thread_call(open_output, drop_opening, o) : -ENOMEM;
	if (r == -ETIMEDOUT)
		return op_fail(
			log, r,
			"file exporter: cannot create %s: its disk does not answer, "
			"or nobody opens it to read",
			path);
	if (r == 0 && o->err < 0)
		r = op_fail(log, o->err, "file exporter: cannot create %s: %s%s", path,
			    strerror(-o->err),
			    o->err == -EPERM
				    ? "; a link, a pipe or a device must be your own"
				    : "");
	else if (r == 0)
		*ret = o->out;
	free_opening(o);
	return r;
}

int op_recording_open(struct op_recording *recording, const char *path,
		      const struct op_format *format, struct op_notes *notes,
		      struct op_log *log)
{
	struct op_recording new = { .notes = notes, .format = format };
	int r = 0;

	if (format)
		r = op_format_collect(format, &new.collect);
	if (r < 0)
		return r;
	r = open_bounded(path, log, &new.out);
	if (r < 0) {
		(void)op_collect_free(new.collect);
		return r;
	}
	*recording = new;
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
