/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches programs to probes. User and kernel probes are perf events of types that sysfs
 * gives, so tracefs is not needed. Tracepoints are raw tracepoints. */
#include "parts/probes/attach.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

enum {
	PATH_BYTES = 256,
	TEXT_BYTES = 64,
	SEMAPHORE_SHIFT = 32, /* in attr.config; since Linux 4.20 */
};

uint32_t op_probe_program_type(enum op_probe_type type)
{
	if (type == OP_PROBE_EVENT)
		return BPF_PROG_TYPE_PERF_EVENT;
	return type == OP_PROBE_TRACEPOINT ? BPF_PROG_TYPE_RAW_TRACEPOINT
					   : BPF_PROG_TYPE_KPROBE;
}

/* Read the number after @skip characters of the device's file @file. */
static int read_number(const char *sysfs_root, const char *device, const char *file,
		       size_t skip, uint32_t *ret)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_BYTES];
	char text[TEXT_BYTES];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/%s",
		       sysfs_root, device, file);
	fd = op_open(path, O_RDONLY);
	n = fd < 0 ? fd : read(fd, text, sizeof(text) - 1);
	if (n <= (ssize_t)skip)
		return -EOPNOTSUPP;
	text[n] = '\0';
	*ret = (uint32_t)strtoul(text + skip, NULL, 10);
	return 0;
}

static int open_event(const struct op_probe_spec *spec,
		      const struct op_probe_place *place, uint32_t site,
		      const char *sysfs_root)
{
	const char *device = spec->type == OP_PROBE_KERNEL ? "kprobe" : "uprobe";
	struct perf_event_attr attr = { .size = sizeof(attr) };
	uint32_t bit = 0;
	int fd;
	int r = read_number(sysfs_root, device, "type", 0, &attr.type);

	if (r == 0 && spec->is_return) /* the file has "config:0" */
		r = read_number(sysfs_root, device, "format/retprobe",
				sizeof("config:") - 1, &bit);
	if (r < 0)
		return r;
	attr.config = spec->is_return ? UINT64_C(1) << bit : 0;
	if (spec->type == OP_PROBE_KERNEL) {
		attr.config1 = (uintptr_t)spec->symbol;
		attr.config2 = spec->offset;
	} else {
		attr.config |= place->semaphore[site] << SEMAPHORE_SHIFT;
		attr.config1 = (uintptr_t)spec->file;
		attr.config2 = place->site[site];
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : op_fd_move_up(fd);
}

int op_probe_attach(const struct op_probe_spec *spec, const struct op_probe_place *place,
		    uint32_t site, int program, const char *sysfs_root)
{
	_cleanup_close_ int fd = -1;

	if (spec->type == OP_PROBE_TRACEPOINT) {
		fd = bpf_raw_tracepoint_open(spec->symbol, program);
		return fd < 0 ? -errno : op_fd_move_up(OP_TAKE_FD(fd));
	}
	fd = open_event(spec, place, site, sysfs_root);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return OP_TAKE_FD(fd);
}

int op_probe_attach_event(const struct op_probe_spec *spec, uint32_t cpu, int program)
{
	struct perf_event_attr attr = {
		.type = spec->event.type,
		.size = sizeof(attr),
		.config = spec->event.config,
		.disabled = 1,
		.freq = spec->event.hz != 0,
	};
	_cleanup_close_ int fd = -1;

	if (attr.freq)
		attr.sample_freq = spec->event.hz;
	else
		attr.sample_period = spec->event.period;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	fd = op_fd_move_up(OP_TAKE_FD(fd));
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return OP_TAKE_FD(fd);
}
