/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context: a page that readers find by its name, with a header that leads
 * to the message. The header's time is 0 while it changes. Readers stop no thread, so
 * the order of stores matters.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/context/encode.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum {
	HEADER_VERSION = 2,
	MESSAGE_MAX = 65536,
	TEXT_MAX = 4096,
	STRUCT_BYTES_MAX = 4096, /* larger than the struct will ever be */
	/* size of the struct in version 0.1 */
	STRUCT_BYTES_MIN =
		offsetof(struct otelprof_process_context, keys_len) + sizeof(size_t),
	MEMFD_CLOEXEC = 1,
	MEMFD_ALLOW_SEALING = 2,
	MEMFD_NOEXEC_SEAL = 8, /* 6.3 */
};

static const char NAME[] = "OTEL_CTX";

struct header {
	char signature[8];
	uint32_t version;
	uint32_t message_bytes;
	_Atomic uint64_t published_ns; /* CLOCK_BOOTTIME */
	const uint8_t *message;
};

_Static_assert(sizeof(struct header) == 32, "OTEP 4719");

/* The published state, and the process @pid that published it. A child does not have
 * its parent's pages. */
static struct {
	struct header *header;
	uint8_t *message;
	size_t message_room;
	pid_t pid;
} state;

/* A page that is 1 here and 0 in a child of fork(). A child in another PID namespace
 * may have the same pid as its parent. NULL: not made yet. */
static volatile uint8_t *mark;

static void make_mark(size_t page)
{
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		return;
	if (madvise(at, page, MADV_WIPEONFORK) < 0) {
		(void)munmap(at, page);
		return;
	}
	mark = at;
	*mark = 1;
}

/* In a child of fork(), forget what the parent has published, once. */
static void forget_parents(void)
{
	if (state.pid == getpid() && (!mark || *mark))
		return;
	memset(&state, 0, sizeof(state));
	if (mark)
		*mark = 1;
	else
		make_mark((size_t)sysconf(_SC_PAGESIZE));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/* Make a page that the list of mappings shows by name, if the kernel has
 * memfd_create(). */
static void *map_named(size_t len)
{
	unsigned int flags = MEMFD_CLOEXEC | MEMFD_ALLOW_SEALING;
	int fd = (int)syscall(SYS_memfd_create, NAME, flags | MEMFD_NOEXEC_SEAL);
	void *at = MAP_FAILED;

	if (fd < 0)
		fd = (int)syscall(SYS_memfd_create, NAME, flags);
	if (fd >= 0 && ftruncate(fd, (off_t)len) == 0)
		at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	return at;
}

/* Map @len bytes that a child of fork() does not inherit. */
static int map_pages(size_t len, int named, void **ret)
{
	void *at = named ? map_named(len) : MAP_FAILED;
	int r;

	if (at == MAP_FAILED)
		at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	if (madvise(at, len, MADV_DONTFORK) < 0) {
		r = -errno;
		(void)munmap(at, len);
		return r;
	}
	*ret = at;
	return 0;
}

static int text_ok(const char *text)
{
	return text && strnlen(text, TEXT_MAX + 1) <= TEXT_MAX;
}

/* Copy a caller's struct, which may be older or newer than ours. */
static int copy(const struct otelprof_process_context *from,
		struct otelprof_process_context *ret)
{
	size_t i;

	if (!from || from->size < STRUCT_BYTES_MIN || from->size > STRUCT_BYTES_MAX)
		return -EINVAL;
	for (i = sizeof(*ret); i < from->size; i++)
		if (((const char *)from)[i])
			return -E2BIG;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, from, from->size < sizeof(*ret) ? from->size : sizeof(*ret));
	return 0;
}

static int check(const struct otelprof_process_context *process)
{
	size_t i;

	if (process->keys_len > OTELPROF_CONTEXT_KEYS_MAX ||
	    (process->keys_len && !process->keys) ||
	    (process->attributes_len && !process->attributes))
		return -EINVAL;
	for (i = 0; i < process->keys_len; i++)
		if (!text_ok(process->keys[i]))
			return process->keys[i] ? -E2BIG : -EINVAL;
	for (i = 0; i < process->attributes_len; i++)
		if (!process->attributes[i].key || !process->attributes[i].value)
			return -EINVAL;
		else if (!text_ok(process->attributes[i].key) ||
			 !text_ok(process->attributes[i].value))
			return -E2BIG;
	return 0;
}

static void drop(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	forget_parents();
	if (state.header) {
		atomic_store(&state.header->published_ns, 0);
		(void)munmap(state.header, page);
		(void)munmap(state.message, state.message_room);
	}
	memset(&state, 0, sizeof(state));
}

static int publish(const struct otelprof_process_context *process, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (len + page - 1) & ~(page - 1);
	void *header = state.header;
	uint64_t before_ns = 0;
	uint64_t time_ns;
	void *message;
	int r = map_pages(room, 0, &message);

	if (r < 0)
		return r;
	if (!header)
		r = map_pages(page, 1, &header);
	if (r < 0) {
		(void)munmap(message, room);
		return r;
	}
	(void)op_writer_encode(process, message);
	if (state.header)
		before_ns = atomic_exchange(&state.header->published_ns, 0);
	state.header = header;
	atomic_thread_fence(memory_order_seq_cst);
	memcpy(state.header->signature, NAME, sizeof(state.header->signature));
	state.header->version = HEADER_VERSION;
	state.header->message_bytes = (uint32_t)len;
	state.header->message = message;
	time_ns = now_ns();
	atomic_store(&state.header->published_ns,
		     time_ns > before_ns ? time_ns : before_ns + 1);
	/* readers may wait for this call, and it names the page if it has no file */
	(void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, page, NAME);
	if (state.message)
		(void)munmap(state.message, state.message_room);
	state.message = message;
	state.message_room = room;
	state.pid = getpid();
	return 0;
}

void otelprof_process_context_init(struct otelprof_process_context *process, size_t size)
{
	if (!process || size < sizeof(size))
		return;
	memset(process, 0, size);
	process->size = size;
}

int otelprof_context_publish(const struct otelprof_process_context *process)
{
	struct otelprof_process_context ours;
	int saved = errno;
	size_t len;
	int r = copy(process, &ours);

	if (r == 0)
		r = check(&ours);
	if (r < 0)
		return r;
	len = op_writer_encode(&ours, NULL);
	if (len > MESSAGE_MAX)
		return -E2BIG;
	forget_parents();
	r = publish(&ours, len);
	errno = saved;
	return r;
}

void otelprof_context_unpublish(void)
{
	int saved = errno;

	drop();
	errno = saved;
}
