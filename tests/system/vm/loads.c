/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program that loads BPF programs by libbpf: writes a line to the file
 * $OTELPROF_LOADS for each one,
 *
 *     load NAME INSTRUCTIONS MILLISECONDS     what the verifier looked at, and how long
 *     refused NAME ERRNO                      then the end of the verifier's log, indented
 *
 * The kernel counts instructions in bpf_prog_info since 5.16, and in its log always, so the
 * log is asked for. Programs whose names do not begin with "op_" are libbpf's own probes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

enum {
	LOG_BYTES = 1 << 20,
	LOG_SHOWN = 3000, /* of a refused program's, from its end */
	BPF_LOG_STATS_ONLY = 4,
};

typedef long (*syscall_fn)(long number, ...);

static double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Of a log with statistics: "processed N insns", where 7.1 and later also tell the parts. */
static long processed(const char *log)
{
	static const char word[] = "processed ";
	const char *at = log;

	while (at && (at = strstr(at, word))) {
		char *end;
		long n;

		at += sizeof(word) - 1;
		n = strtol(at, &end, 10);
		if (end > at && !strncmp(end, " insns", 6))
			return n;
	}
	return -1;
}

static void say_loaded(FILE *f, const union bpf_attr *attr, const char *log, double ms)
{
	(void)fprintf(f, "load %.16s %ld %.1f\n", attr->prog_name, processed(log), ms);
}

static void say_refused(FILE *f, const union bpf_attr *attr, const char *log, int error)
{
	size_t len = log ? strlen(log) : 0;
	const char *at = log + (len > LOG_SHOWN ? len - LOG_SHOWN : 0);

	(void)fprintf(f, "refused %.16s %d\n    ", attr->prog_name, error);
	for (; len && *at; at++) {
		(void)fputc(*at, f);
		if (*at == '\n')
			(void)fputs("    ", f);
	}
	(void)fputc('\n', f);
}

/* Load @attr with a log where the caller wants none; it sees its own fields again after. */
static long load(syscall_fn real, union bpf_attr *attr, unsigned long size)
{
	const char *path = getenv("OTELPROF_LOADS");
	bool ask = attr->log_level == 0;
	char *own = ask ? calloc(1, LOG_BYTES) : NULL;
	__u64 log_buf = attr->log_buf;
	__u32 log_size = attr->log_size;
	double start;
	long r;
	int error;
	FILE *f;

	if (own) {
		attr->log_level = BPF_LOG_STATS_ONLY;
		attr->log_buf = (uintptr_t)own;
		attr->log_size = LOG_BYTES;
	}
	start = now_ms();
	r = real(SYS_bpf, BPF_PROG_LOAD, attr, size);
	error = errno;
	start = now_ms() - start;
	f = path && !strncmp(attr->prog_name, "op_", 3) ? fopen(path, "ae") : NULL;
	if (f && r >= 0)
		say_loaded(f, attr, own, start);
	else if (f) /* libbpf tries again, with a log; that one says why */
		say_refused(f, attr, (const char *)(uintptr_t)attr->log_buf, error);
	if (f)
		(void)fclose(f);
	if (own) {
		attr->log_level = 0;
		attr->log_buf = log_buf;
		attr->log_size = log_size;
	}
	free(own);
	errno = error;
	return r;
}

long syscall(long number, ...)
{
	syscall_fn real = (syscall_fn)dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list args;
	int i;

	va_start(args, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD)
		return load(real, (union bpf_attr *)a[1], (unsigned long)a[2]);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
