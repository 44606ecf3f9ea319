/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a file exporter. OTLP requests are appended to the temporary file as
 * they come. Other formats collect what they need, and write all of it when the file is
 * completed.
 *
 * After that the next request begins a new temporary file with a copy of the published
 * one, so that a reader of the path never sees half a request.
 *
 * One thread uses it at a time, and a call may wait for a disk or a reader without
 * limit.
 */
#ifndef OP_EXPORT_RECORDING_H
#define OP_EXPORT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "export/format/format.h"
#include "export/sink/notes.h"
#include "export/sink/output.h"

struct op_recording {
	struct op_notes *notes; /* borrowed */
	struct op_output out;
	const struct op_format *format; /* NULL: OTLP */
	struct op_collect *collect;	/* for the format */
	/* OTLP: bytes of complete requests in the temporary file */
	uint64_t whole_len;
	uint64_t published_len; /* OTLP: bytes of the published file */
	bool broken;		/* a stream got half a request */
};

/* Open the stream, or the first temporary file. @format: NULL for OTLP. It waits for a
 * disk that does not answer, or a FIFO that nobody opens, as op_sink_thread_call()
 * does. Returns 0 or -errno. */
int op_recording_open(struct op_recording *r, const char *path,
		      const struct op_format *format, struct op_notes *notes,
		      struct op_log *log);
void op_recording_deinit(struct op_recording *r);
/* In the child of a fork: the files are the parent's. */
void op_recording_forget(struct op_recording *r);

/* Is a request final as soon as it is written? */
bool op_recording_is_direct(const struct op_recording *r);
/* Take one request. Returns 0 or -errno. *@ret_lost: requests since the last completion
 * are lost, too. */
int op_recording_take(struct op_recording *r, const void *bytes, size_t len,
		      bool *ret_lost);
/* Complete the file and give it its name. Returns 0 or -errno. */
int op_recording_complete(struct op_recording *r);
/* After such an error: can the next completion still write the requests? */
bool op_recording_keeps(const struct op_recording *r);

#endif
