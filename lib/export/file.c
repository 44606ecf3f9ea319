/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file exporter. OTLP requests are appended to the temporary file as they come; the
 * other formats collect what they need and write all of it at the flush. A sample counts
 * as exported when the file with it has got its final name; in a stream, when it was
 * written.
 *
 * After a flush the next request begins a new temporary file with a copy of the published
 * one, so that a reader of the path never sees half a request.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"
#include "export/output.h"
#include "export/sink.h"
#include "format/format.h"

enum {
	FRAME_HEADER_BYTES = 4
};

struct op_file {
	struct op_sink sink;
	struct op_output out;
	const struct op_format *format; /* NULL: OTLP */
	struct op_collect *collect;	/* for the format */
	/* OTLP: bytes of complete requests in the temporary file */
	uint64_t whole_len;
	uint64_t published_len; /* OTLP: bytes of the published file */
	/* requests that are written but not published */
	OP_VEC(struct op_request *) waiting;
	bool broken; /* a stream got half a request */
	/* This flush failed. A format has all of @waiting yet, for the next one. */
	bool unwritten;
	bool given_up; /* nothing more is taken */
	bool forked;
};

static void decide_waiting(struct op_file *f, int fate)
{
	struct op_request **r;

	op_vec_foreach(r, &f->waiting)
		op_request_decide(&f->sink.account, *r, fate);
	f->waiting.len = 0;
}

static void put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static int write_frame(int fd, const struct op_request *r)
{
	uint8_t header[FRAME_HEADER_BYTES];
	int err;

	put_be32(header, (uint32_t)r->len);
	err = op_write_full(fd, header, sizeof(header));
	if (err < 0)
		return err;
	return op_write_full(fd, r->bytes, r->len);
}

/* Open the temporary file, positioned for the next request. */
static int open_frames(struct op_file *f)
{
	int err;

	if (f->out.fd >= 0)
		return 0;
	err = op_output_open(&f->out);
	if (err < 0)
		return err;
	err = op_output_continue(&f->out, f->published_len);
	if (err == -ENODATA) {
		op_notes_add(f->sink.notes, OP_LOG_WARNING,
			     "export: file %s: somebody truncated, renamed or removed "
			     "it; it begins anew",
			     f->out.path);
		f->published_len = 0;
		err = 0;
	}
	if (err < 0) {
		op_output_discard(&f->out);
		return err;
	}
	f->whole_len = f->published_len;
	return 0;
}

/* Cut off an incomplete request; a temporary file without new requests is removed. */
static void cut_frames(struct op_file *f)
{
	if (f->waiting.len && !ftruncate(f->out.fd, (off_t)f->whole_len) &&
	    lseek(f->out.fd, (off_t)f->whole_len, SEEK_SET) >= 0)
		return;
	decide_waiting(f, OP_DROP_EXPORTER);
	op_output_discard(&f->out);
}

static int append_frame(struct op_file *f, const struct op_request *r)
{
	int err;

	err = open_frames(f);
	if (err < 0)
		return err;
	err = write_frame(f->out.fd, r);
	if (err < 0) {
		cut_frames(f);
		return err;
	}
	f->whole_len += FRAME_HEADER_BYTES + r->len;
	return 0;
}

static int stream_frame(struct op_file *f, const struct op_request *r)
{
	struct op_sigpipe held;
	int err;

	if (f->broken)
		return -EPIPE;
	op_sigpipe_hold(&held);
	err = write_frame(f->out.fd, r);
	op_sigpipe_release(&held);
	f->broken = err < 0;
	return err;
}

static int take(struct op_file *f, const struct op_request *r)
{
	if (f->format)
		return op_collect_add(f->collect, r->bytes, r->len);
	if (f->out.stream)
		return stream_frame(f, r);
	return append_frame(f, r);
}

static void file_submit(struct op_sink *s, struct op_request *r)
{
	struct op_file *f = op_container_of(s, struct op_file, sink);
	int err;

	if (f->given_up) {
		op_request_settle(&s->account, r, OP_DROP_EXPORTER);
		return;
	}
	if (op_vec_reserve(&f->waiting, 1)) {
		op_request_settle(&s->account, r, OP_DROP_MEMORY);
		return;
	}
	err = take(f, r);
	if (err < 0) {
		op_notes_add(s->notes, OP_LOG_WARNING,
			     "export: file %s: cannot write a request: %s; dropping it",
			     f->out.path, strerror(-err));
		op_request_settle(&s->account, r, OP_DROP_EXPORTER);
		return;
	}
	if (f->out.stream && !f->format) {
		op_request_settle(&s->account, r, OP_FATE_EXPORTED);
		return;
	}
	op_request_read(s->ledger, r);
	f->waiting.data[f->waiting.len++] = r;
}

static int write_format(struct op_file *f)
{
	struct op_sigpipe held;
	int err;

	if (f->out.stream) {
		op_sigpipe_hold(&held);
		err = f->format->write(f->collect, f->out.fd);
		op_sigpipe_release(&held);
		return err;
	}
	err = op_output_open(&f->out);
	if (err < 0)
		return err;
	err = f->format->write(f->collect, f->out.fd);
	if (err < 0)
		op_output_discard(&f->out);
	return err;
}

static int complete(struct op_file *f)
{
	int err = 0;

	if (f->format)
		err = write_format(f);
	if (err < 0 || f->out.stream)
		return err;
	err = op_output_publish(&f->out);
	if (err < 0)
		return err;
	f->published_len = f->whole_len;
	return 0;
}

static int file_flush(struct op_sink *s, uint64_t deadline_ns)
{
	struct op_file *f = op_container_of(s, struct op_file, sink);
	int err;

	/* A flush looks again and again while other exporters have something queued. */
	if (!f->waiting.len || f->unwritten)
		return 0;
	err = complete(f);
	/* A format writes all it has collected each time, so these come with the next flush.
	 * But what a stream has already cannot be written anew. */
	f->unwritten = err < 0 && f->format && !f->out.stream;
	f->given_up = err < 0 && f->out.stream;
	if (err < 0)
		op_notes_add(
			s->notes, OP_LOG_ERROR,
			"export: file %s: cannot complete it: %s; its new samples %s "
			"and what was there before stays",
			f->out.path, strerror(-err),
			f->unwritten ? "wait for the next flush" : "are dropped");
	if (!f->unwritten)
		decide_waiting(f, err < 0 ? OP_DROP_EXPORTER : OP_FATE_EXPORTED);
	return err;
}

static void file_hurry(struct op_sink *s)
{
	op_container_of(s, struct op_file, sink)->unwritten = false;
}

/* A flush has failed and there will be no other one. */
static void file_abandon(struct op_sink *s)
{
	struct op_file *f = op_container_of(s, struct op_file, sink);

	if (!f->unwritten)
		return;
	f->given_up = true;
	decide_waiting(f, OP_DROP_EXPORTER);
}

static void file_forked(struct op_sink *s)
{
	op_container_of(s, struct op_file, sink)->forked = true;
}

static void file_free(struct op_sink *s)
{
	struct op_file *f = op_container_of(s, struct op_file, sink);

	if (f->forked) {
		op_output_forget(&f->out);
	} else {
		file_hurry(s);
		(void)file_flush(s, 0);
		decide_waiting(f, OP_DROP_EXPORTER);
		op_output_deinit(&f->out);
	}
	(void)op_collect_free(f->collect);
	op_vec_clear(&f->waiting);
	free(f);
}

static const struct op_sink_ops file_ops = {
	.submit = file_submit,
	.hurry = file_hurry,
	.flush = file_flush,
	.abandon = file_abandon,
	.forked = file_forked,
	.free = file_free,
};

static int open_format(struct op_file *f, uint32_t format)
{
	if (format == OTELPROF_FORMAT_OTLP)
		return 0;
	f->format = op_format_get(format);
	if (!f->format)
		return op_fail(f->sink.log, -EINVAL,
			       "file exporter: there is no format %u", format);
	return op_collect_new(f->format->detail, &f->collect);
}

int op_sink_new_file(const struct op_sink *base,
		     const struct otelprof_file_config *config, struct op_sink **ret)
{
	_cleanup_free_ struct op_file *f = NULL;
	int err;

	if (!config->path || !*config->path)
		return op_fail(base->log, -EINVAL, "file exporter: path is empty");
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->sink = *base;
	f->sink.ops = &file_ops;
	/* Each request of the file can be sent to a Collector as it is. */
	f->sink.max_request = OP_REQUEST_BYTES_DEFAULT;
	err = open_format(f, config->format);
	if (err < 0)
		return err;
	err = op_output_init(&f->out, config->path);
	if (err < 0) {
		(void)op_collect_free(f->collect);
		return op_fail(base->log, err, "file exporter: cannot create %s: %s",
			       config->path, strerror(-err));
	}
	*ret = &OP_TAKE_PTR(f)->sink;
	return 0;
}
