/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that writes a jitdump file maps the file's first page executable, so that
 * perf(1) sees it. Here that mapping leads to the file. The runtime has no frames and no
 * step of its own: it only names code.
 */
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/jitdump/dump.h"

enum {
	/* The most that one look reads, however fast the process writes: a few ms of
	 * work. */
	READ_BYTES_MAX = 2 << 20,
};

/* If reading takes longer than this, a pause of four times its duration follows. */
static const uint64_t QUICK_NS = UINT64_C(100000);
/* The pause after a read that found nothing: opening the file takes some microseconds. */
static const uint64_t LOOK_NS = UINT64_C(10000000);

struct image {
	uint32_t header_bytes; /* 0: not written yet */
};

struct jitdump_instance {
	struct op_jitdump dump;
	struct op_log *log;
	uint64_t read; /* bytes of the file that are parsed; 0: not even its header */
	uint64_t look_ns;
	int pid;
	bool bad; /* the rest of the file cannot be parsed */
	bool full;
};

static const char prefix[] = "jit-";

static bool has_its_name(const char *path)
{
	return strncmp(op_base_name(path), prefix, sizeof(prefix) - 1) == 0;
}

static int jitdump_probe(int fd, const char *path, struct op_log *log, void **ret_image)
{
	_cleanup_free_ struct image *image = NULL;
	uint8_t header[OP_JITDUMP_HEADER_BYTES];
	ssize_t n = op_pread_full(fd, header, sizeof(header), 0);
	uint32_t len = n < 0 ? 0 : op_jitdump_header(header, (size_t)n);

	if (n < 0)
		return (int)n;
	/* LLVM maps its file before it writes to it. */
	if (!len && ((size_t)n == sizeof(header) || !has_its_name(path)))
		return 0;
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	image->header_bytes = len;
	*ret_image = OP_TAKE_PTR(image);
	return 1;
}

static int jitdump_attach(void *image_data, const struct op_runtime_target *target,
			  struct op_log *log, void *bpf, void **ret_instance)
{
	const struct image *image = image_data;
	struct jitdump_instance *instance = calloc(1, sizeof(*instance));

	if (!instance)
		return -ENOMEM;
	op_jitdump_init(&instance->dump);
	instance->log = log;
	instance->read = image->header_bytes;
	instance->pid = target->pid;
	*ret_instance = instance;
	return 0;
}

static void jitdump_detach(void *data)
{
	struct jitdump_instance *instance = data;

	if (!instance)
		return;
	op_jitdump_deinit(&instance->dump);
	free(instance);
}

/* Parse the records of a piece of the file. Returns the bytes parsed, or -errno. */
static int64_t take_piece(struct jitdump_instance *i, const uint8_t *piece, size_t len,
			  uint64_t size)
{
	size_t at = 0;

	while (at < len && !i->dump.closed) {
		int64_t n = op_jitdump_record(&i->dump, piece + at, len - at,
					      size - i->read - at);

		if (n < 0)
			return n;
		if (!n)
			break;
		/* A record that continues after the piece is parsed with the next piece.
		 * If it is longer than a piece, only the part that was read is used. */
		at += (size_t)n;
	}
	return (int64_t)at;
}

/* How many bytes from the start of a piece are complete records? The whole piece, if the
 * first record is longer than it. */
static size_t whole_records(const uint8_t *piece, size_t len)
{
	struct op_reader r = op_reader_init(piece, len);
	size_t at = 0;

	for (;;) {
		uint32_t size;

		op_read_skip(&r, 4);
		size = op_read_u32(&r);
		op_reader_seek(&r, (uint64_t)at + size);
		if (r.failed || size < 8)
			return at ? at : len;
		at += size;
	}
}

/* Read the header of a file that had none when it was found. */
static int read_header(struct jitdump_instance *i, int fd)
{
	uint8_t header[OP_JITDUMP_HEADER_BYTES];
	ssize_t n = op_pread_full(fd, header, sizeof(header), 0);

	if (n < (ssize_t)sizeof(header))
		return n < 0 ? (int)n : 0;
	i->read = op_jitdump_header(header, (size_t)n);
	return i->read ? 0 : -EBADMSG;
}

static int read_more(struct jitdump_instance *i, int fd, uint64_t size)
{
	_cleanup_free_ uint8_t *piece = NULL;
	size_t budget = READ_BYTES_MAX;
	int r = i->read ? 0 : read_header(i, fd);

	if (r < 0 || !i->read)
		return r;
	piece = malloc(OP_JITDUMP_RECORD_BYTES);
	if (!piece)
		return -ENOMEM;
	while (i->read < size && budget && !i->dump.closed) {
		ssize_t n = op_pread_full(fd, piece, OP_JITDUMP_RECORD_BYTES, i->read);
		int64_t taken;

		if (n <= 0)
			return (int)n;
		taken = take_piece(i, piece, whole_records(piece, (size_t)n), size);
		if (taken <= 0)
			return (int)taken;
		i->read += (uint64_t)taken;
		budget -= OP_MIN(budget, (size_t)n);
	}
	return 0;
}

static void look(struct jitdump_instance *i, const struct op_runtime_target *target)
{
	struct stat st;
	int r;
	int fd = target->open_self(target);

	if (fd < 0)
		return;
	r = fstat(fd, &st) < 0 ? -errno : read_more(i, fd, (uint64_t)st.st_size);
	(void)close(fd);
	if (r == -EBADMSG) {
		i->bad = true;
		op_log(i->log, OP_LOG_DEBUG,
		       "The jitdump file of process %d is damaged at byte %llu", i->pid,
		       (unsigned long long)i->read);
	}
	if (i->dump.dropped && !i->full) {
		i->full = true;
		op_log(i->log, OP_LOG_DEBUG,
		       "The jitdump file of process %d has more than is kept", i->pid);
	}
}

static void refresh(struct jitdump_instance *i, const struct op_runtime_target *target)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	uint64_t took;

	if (i->bad || i->dump.closed || now_ns < i->look_ns)
		return;
	look(i, target);
	took = op_clock_monotonic_ns() - now_ns;
	i->look_ns = now_ns + OP_MAX(LOOK_NS, took > QUICK_NS ? 5 * took : 0);
}

static int jitdump_describe_code(void *data, const struct op_runtime_target *target,
				 uint64_t addr, struct op_runtime_frame *ret)
{
	struct jitdump_instance *instance = data;
	struct op_jitdump_found found;
	int r;

	refresh(instance, target);
	r = op_jitdump_find(&instance->dump, addr, &found);
	if (r <= 0)
		return r;
	ret->function[0] = (struct op_runtime_function){ .name = found.name,
							 .file = found.file,
							 .line = found.line };
	ret->len = 1;
	return 1;
}

const struct op_runtime_ops op_runtime_jitdump = {
	.id = OP_RUNTIME_JITDUMP,
	.frame_type = "native",
	.file_names = (const char *const[]){ prefix, NULL },
	.probe_other = jitdump_probe,
	.attach = jitdump_attach,
	.detach = jitdump_detach,
	.describe_code = jitdump_describe_code,
};
