/* SPDX-License-Identifier: Apache-2.0 */
/* Files and clocks. Every descriptor is O_CLOEXEC and never 0, 1 or 2. */
#ifndef OP_BASE_IO_H
#define OP_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* open(2) with O_CLOEXEC. Returns a descriptor above 2, or -errno. */
int op_open(const char *path, int flags);
int op_openat(int dir, const char *path, int flags);

/* Move @fd to a number above 2 if needed; takes ownership. Returns the new number or
 * -errno. */
int op_fd_move_up(int fd);

/* Read a whole (possibly virtual) file of at most @limit bytes, and add a NUL. The caller
 * frees *@ret with free(). Returns its length, -EFBIG past the limit, or -errno. */
ssize_t op_read_file(const char *path, size_t limit, char **ret);

/* Like op_read_file(), for an open descriptor, from its start (pread), or a pipe until
 * its end. */
ssize_t op_read_fd(int fd, size_t limit, char **ret);

/* pread(2) until @len bytes or the end of file. Returns bytes read or -errno. */
ssize_t op_pread_full(int fd, void *buf, size_t len, uint64_t off);

/* write(2) until all is written. Returns 0 or -errno. */
int op_write_full(int fd, const void *buf, size_t len);

/* The process that made something. The child of a fork has its memory, and may have the
 * same pid in a PID namespace of its own. */
struct op_maker {
	pid_t pid;
	uint8_t *mark; /* a page that is 0 after a fork; NULL: the kernel lacks that */
};
void op_maker_begin(struct op_maker *m);
void op_maker_end(struct op_maker *m);
bool op_maker_is_here(const struct op_maker *m);

/* The last component of @path, as a part of it. */
const char *op_base_name(const char *path);

uint64_t op_clock_monotonic_ns(void);
uint64_t op_clock_realtime_ns(void);
/* Like the monotonic clock, but including time asleep. */
uint64_t op_clock_boottime_ns(void);
/* CPU time of this thread. */
uint64_t op_clock_thread_ns(void);
/* For limits of work: a monotonic clock that stops while this thread waits for a CPU, and
 * runs while it sleeps. Compare readings of one clock only, or of a clock and its
 * copy. */
struct op_work_clock {
	uint64_t read_ns;    /* time of the last reading */
	uint64_t checked_ns; /* time of the last check for waits */
	uint64_t cpu_ns;     /* the thread's CPU time at that check */
	uint64_t waited_ns;  /* waits for a CPU in all, if known */
	uint64_t lost_ns;    /* waits while the clock was in use */
	uint64_t told_ns;
};
/* Work of this thread begins: earlier time does not count. */
void op_work_clock_begin(struct op_work_clock *c);
uint64_t op_clock_work_ns(struct op_work_clock *c);
/* CLOCK_REALTIME - CLOCK_MONOTONIC now: the most exact of a few readings. */
int64_t op_clock_monotonic_offset_ns(void);

/* By how much the clocks of a time namespace are ahead of the host's. */
struct op_clock_offsets {
	int64_t monotonic_ns;
	int64_t boottime_ns;
};
/* From the text of /proc/PID/timens_offsets. 0: not ahead, or not known. */
struct op_clock_offsets op_clock_parse_offsets(const char *text);
/* Those of this process. */
struct op_clock_offsets op_clock_offsets(void);

#endif
