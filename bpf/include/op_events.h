/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kinds of events. Records have the members value, detail and extra (op_records.h).
 * This header defines their contents for each kind.
 */
#ifndef OP_EVENTS_H
#define OP_EVENTS_H

/* The kind of event that a record was taken for. */
enum op_event {
#define OP_KIND(number, upper, lower, page, tells) OP_EVENT_##upper = number,
#include "op_kinds.def"
	OP_EVENT_MAX = 24,
};

enum {
	OP_KICK_RINGS = 4, /* op_kicks_0 to op_kicks_3 of a kind with hooks (off/off.h) */
};

/* op_record.value of OP_EVENT_LOCKS and OP_EVENT_KERNEL_LOCKS. Low bits: total time
 * waited, in ns; above them: the number of waits. */
#define OP_LOCKS_COUNT_SHIFT 44
#define OP_LOCKS_DELAY_MAX   ((1ULL << OP_LOCKS_COUNT_SHIFT) - 1)
#define OP_LOCKS_COUNT_MAX   ((1ULL << (63 - OP_LOCKS_COUNT_SHIFT)) - 1)

/* op_record.detail of both: the type of the lock. */
enum op_lock_type {
	OP_LOCK_FUTEX = 0, /* OP_EVENT_LOCKS */
	OP_LOCK_SPINLOCK,
	OP_LOCK_RWLOCK_READ,
	OP_LOCK_RWLOCK_WRITE,
	OP_LOCK_MUTEX,
	OP_LOCK_RWSEM_READ,
	OP_LOCK_RWSEM_WRITE,
	OP_LOCK_PERCPU_RWSEM_READ,
	OP_LOCK_PERCPU_RWSEM_WRITE,
	OP_LOCK_RTMUTEX,
	OP_LOCK_SEMAPHORE,
	OP_LOCK_TYPES,
};

/*
 * op_named.value of OP_EVENT_BLOCK_IO. Low bits: the time in the queue; above them that in
 * the device, both as op_short_of(); above them: sectors of 512 bytes. While the sample is
 * held, the low bits below the sectors are the ns until the request was issued; 0: it was
 * not. `extra` is the device: its minor number in the low 20 bits, its major number above.
 */
#define OP_BLOCK_SECTORS_SHIFT 40
#define OP_BLOCK_NS_MAX	       ((1ULL << OP_BLOCK_SECTORS_SHIFT) - 1)
#define OP_BLOCK_SECTORS_MAX   ((1ULL << (63 - OP_BLOCK_SECTORS_SHIFT)) - 1)
enum {
	OP_BLOCK_SERVICE_SHIFT = 20,
	OP_BLOCK_SECTOR_BYTES = 512,
	OP_BLOCK_MINOR_BITS = 20,
	OP_SHORT_DIGITS = 15,
};

/*
 * @ns, at most OP_BLOCK_NS_MAX, in 20 bits: a floating-point number without a sign,
 * with 5 bits of exponent and 15 of mantissa. Exact below 65,536 ns, and above that the
 * nearest number of 16 digits, with an error of at most 1 in 65,536.
 */
static inline __attribute__((always_inline)) __u64 op_short_of(__u64 ns)
{
	__u64 rest = ns >> (OP_SHORT_DIGITS + 1);
	__u64 shift = 0;

	if (rest >> 16) {
		rest >>= 16;
		shift = 16;
	}
	if (rest >> 8) {
		rest >>= 8;
		shift += 8;
	}
	if (rest >> 4) {
		rest >>= 4;
		shift += 4;
	}
	if (rest >> 2) {
		rest >>= 2;
		shift += 2;
	}
	if (rest >> 1) {
		rest >>= 1;
		shift += 1;
	}
	shift += rest;
	/* if rounding adds a digit, it is carried into the exponent */
	return (shift << OP_SHORT_DIGITS) + ((ns + ((1ULL << shift) >> 1)) >> shift);
}

static inline __attribute__((always_inline)) __u64 op_short_ns(__u64 code)
{
	__u64 mantissa = code & ((1 << OP_SHORT_DIGITS) - 1);
	__u64 exponent = code >> OP_SHORT_DIGITS;

	if (!exponent)
		return mantissa;
	return (mantissa | 1 << OP_SHORT_DIGITS) << (exponent - 1);
}

/* op_named.detail of OP_EVENT_BLOCK_IO: the operation that the device was asked for. */
enum op_block_operation {
	OP_BLOCK_READ = 0,
	OP_BLOCK_WRITE,
	OP_BLOCK_FLUSH,
	OP_BLOCK_DISCARD,
	OP_BLOCK_OTHER,
	OP_BLOCK_OPERATIONS,
};

/* op_record.detail of OP_EVENT_SIGNALS. Low bits: the signal's number; above them: its
 * si_code, which is signed. `value` is the fault address (si_addr). */
enum {
	OP_SIGNAL_BITS = 7,
	OP_SIGNAL_CODE_NONE = -256, /* the sender is not known */
};

/* op_record.detail of OP_EVENT_THREADS: the state of the thread. `value` is the number of
 * its context switches. */
enum op_thread_state {
	OP_THREAD_RUNNING = 0, /* on a CPU */
	OP_THREAD_RUNNABLE,
	OP_THREAD_SLEEPING,
	OP_THREAD_UNINTERRUPTIBLE,
	OP_THREAD_STOPPED,
	OP_THREAD_STATES,
};

/* Output of the program op_threads_now for each thread. */
struct op_thread_now {
	__u64 switches;
	__u64 started_ns; /* CLOCK_MONOTONIC */
	__u32 tid;
	__u32 host_tid; /* in the initial PID namespace */
	__u32 running;
	__u32 reason; /* enum op_off_reason; unused for a running thread */
};

/* op_record.detail of OP_EVENT_GOROUTINES: the state of the goroutine. */
enum op_goroutine_state {
	OP_GOROUTINE_RUNNING = 0,
	OP_GOROUTINE_RUNNABLE,
	OP_GOROUTINE_SYSCALL,
	OP_GOROUTINE_WAITING,
	OP_GOROUTINE_PREEMPTED,
	OP_GOROUTINE_LEAKED, /* it waits for an object that nothing can reach */
	OP_GOROUTINE_STATES,
};

/*
 * op_record.detail of OP_EVENT_OFF_CPU and OP_EVENT_WALL: why the thread was off the
 * CPU. For OP_EVENT_WAKERS: why the woken thread was.
 */
enum op_off_reason {
	OP_REASON_SLEEP = 0,
	OP_REASON_UNINTERRUPTIBLE,
	OP_REASON_PREEMPTED,
	OP_REASON_FUTEX,
	OP_REASON_IO,
	OP_REASON_PAGE_FAULT,
	OP_REASON_STOPPED,
	OP_REASONS,
	OP_REASON_NONE = OP_REASONS, /* OP_EVENT_WALL: the thread was on a CPU */
};

#endif
