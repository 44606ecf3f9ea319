/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf events. Each CPU has those of the kinds that are on, and one dummy event whose
 * side-band reports processes, executable mappings and kernel symbols. CPUs that come and
 * go are noticed by reading the list of online CPUs, and by the kernel's messages where one
 * was offline between two looks at it only.
 *
 * A CPU costs one descriptor, that of its clock. The descriptor of the dummy event is
 * closed: its mapped buffer keeps the event, and its place in the epoll set, alive.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "kernel/object.h"
#include "kernel/state.h"
#include "otelprof/error.h"

enum {
	CPU_LIST_BYTES_MAX = 64 * 1024,
	/* messages about devices that are read at one look; the others at the next */
	UEVENTS_MAX = 1024,
	UEVENT_BYTES = 128, /* what is read of each: its first line is enough */
	UEVENT_GROUP = 1,   /* the kernel's own, and not udevd's */
};

static int perf_open(struct perf_event_attr *attr, uint32_t cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1,
			      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : op_fd_move_up(fd);
}

static int perf_failed(struct op_capture *c, uint32_t cpu, int error)
{
	if (error == -EACCES || error == -EPERM || error == -ENOSYS) {
		const char *refusal = op_object_refusal();

		return op_fail(c->log, -OTELPROF_E_CAPABILITY,
			       "perf_event_open on CPU %u is not permitted: %s", cpu,
			       refusal ? refusal
				       : "CAP_PERFMON (or root) is needed, or "
					 "kernel.perf_event_paranoid below 1");
	}
	if (error == -EMFILE)
		return op_fail(c->log, error,
			       "no descriptor is left for CPU %u: raise RLIMIT_NOFILE",
			       cpu);
	return op_fail(c->log, error, "perf_event_open on CPU %u failed: %s", cpu,
		       strerror(-error));
}

/* Open the perf events of @kind on this CPU that are not open yet. */
static int open_kind(struct op_capture *c, struct op_cpu_events *e,
		     const struct op_kind *kind)
{
	const struct op_kind_options options = {
		.tick_ns = op_clocks_tick_ns(c),
	};
	uint32_t i;

	for (i = 0; i < kind->perf_events; i++) {
		struct perf_event_attr attr = { .size = sizeof(attr), .disabled = 1 };
		_cleanup_close_ int fd = -1;

		if (e->kind_fd[kind->event][i] >= 0)
			continue;
		kind->perf_event(i, &options, &attr);
		fd = perf_open(&attr, e->cpu);
		if (fd < 0)
			return perf_failed(c, e->cpu, fd);
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, c->kinds.program[kind->event][i]) <
			    0 ||
		    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return op_fail(c->log, -errno,
				       "the kind %s could not be attached to CPU %u: %s",
				       op_kind_name(kind), e->cpu, strerror(errno));
		e->kind_fd[kind->event][i] = OP_TAKE_FD(fd);
	}
	return 0;
}

/* Open the perf events of all kinds that are on. */
static int open_kinds(struct op_capture *c, struct op_cpu_events *e)
{
	uint32_t i;
	int r = 0;

	for (i = 0; i < OP_KINDS && r == 0; i++)
		if (c->kinds.program[i][0] >= 0)
			r = open_kind(c, e, op_kinds()[i]);
	return r;
}

static void close_kind(struct op_cpu_events *e, uint32_t kind)
{
	uint32_t i;

	for (i = 0; i < OP_KIND_PROGRAMS_MAX; i++)
		op_closep(&e->kind_fd[kind][i]);
}

static void close_kinds(struct op_cpu_events *e)
{
	uint32_t i;

	for (i = 0; i < OP_KINDS; i++)
		close_kind(e, i);
}

static int open_sideband(struct op_capture *c, struct op_cpu_events *e)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		/* There is no hurry: the first sample of an unknown process wakes the
		 * reader, which reads all side-band records before it. */
		.wakeup_watermark = OP_SIDEBAND_BYTES / 4,
	};
	struct epoll_event event = { .events = EPOLLIN };
	_cleanup_close_ int fd = -1;
	void *map;

	fd = perf_open(&attr, e->cpu);
	if (fd < 0)
		return perf_failed(c, e->cpu, fd);
	map = mmap(NULL, c->page_size + OP_SIDEBAND_BYTES, PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return op_fail(
			c->log, -errno,
			"the side-band buffer of CPU %u cannot be mapped (%s): "
			"CAP_IPC_LOCK or a higher kernel.perf_event_mlock_kb is needed",
			e->cpu, strerror(errno));
	event.data.fd = -1; /* all buffers are read, whichever event is ready */
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
		(void)munmap(map, c->page_size + OP_SIDEBAND_BYTES);
		return -errno;
	}
	e->sideband = map;
	return 0;
}

static void close_cpu(struct op_capture *c, struct op_cpu_events *e)
{
	close_kinds(e);
	/* A child of fork() does not inherit perf's buffers (VM_DONTCOPY): another
	 * mapping may be at this address there. */
	if (e->sideband && !c->forked)
		(void)munmap(e->sideband, c->page_size + OP_SIDEBAND_BYTES);
	e->sideband = NULL;
}

/* The events of CPU @cpu; the vector is indexed by its number. Returns NULL without
 * memory. */
static struct op_cpu_events *find_cpu(struct op_capture *c, uint32_t cpu)
{
	while (c->cpus.list.len <= cpu) {
		struct op_cpu_events *e = op_vec_push(&c->cpus.list);

		if (!e)
			return NULL;
		*e = (struct op_cpu_events){ .cpu = (uint32_t)c->cpus.list.len - 1 };
		memset(e->kind_fd, 0xff, sizeof(e->kind_fd)); /* sets each to -1 */
	}
	return &c->cpus.list.data[cpu];
}

/* Mark the CPUs of a list such as "0-3,8,10-11" as online. */
static int mark_online(struct op_capture *c, const char *list)
{
	struct op_cpu_events *e;

	op_vec_foreach(e, &c->cpus.list)
		e->online = false;
	while (*list && *list != '\n') {
		char *end;
		unsigned long first = strtoul(list, &end, 10);
		unsigned long last = first;

		if (end == list)
			return -EBADMSG;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last >= OP_CPUS_MAX)
			return -EBADMSG;
		for (; first <= last; first++) {
			e = find_cpu(c, (uint32_t)first);
			if (!e)
				return -ENOMEM;
			e->online = true;
		}
		list = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/* The descriptor stays open, which saves two thirds of the time of this check, made
 * every second. */
static int read_online(struct op_capture *c, const char *path)
{
	_cleanup_free_ char *list = NULL;
	ssize_t n;
	int r;

	if (c->cpus.online_fd < 0)
		c->cpus.online_fd = op_open(path, O_RDONLY);
	n = c->cpus.online_fd < 0
		    ? c->cpus.online_fd
		    : op_read_fd(c->cpus.online_fd, CPU_LIST_BYTES_MAX, &list);
	if (n < 0)
		return (int)n;
	if (c->cpus.online && strcmp(c->cpus.online, list) == 0)
		return 0;
	r = mark_online(c, list);
	free(c->cpus.online);
	c->cpus.online = r < 0 ? NULL : OP_TAKE_PTR(list);
	c->cpus.changed = true;
	return r;
}

/* Without these messages only a CPU that was offline for a moment is missed. */
static void open_uevents(struct op_capture *c)
{
	const struct sockaddr_nl from = { .nl_family = AF_NETLINK,
					  .nl_groups = UEVENT_GROUP };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		return;
	fd = op_fd_move_up(fd);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&from, sizeof(from)) < 0)
		op_closep(&fd);
	c->cpus.uevents_fd = fd;
}

/* The kernel removes the events of a CPU that goes offline. */
static void note_offline(struct op_capture *c)
{
	static const char OFFLINE[] = "offline@/devices/system/cpu/cpu";
	struct op_cpu_events *e;
	char text[UEVENT_BYTES];
	int i;

	if (c->cpus.uevents_fd <= 0)
		return;
	for (i = 0; i < UEVENTS_MAX; i++) {
		ssize_t n = recv(c->cpus.uevents_fd, text, sizeof(text) - 1, 0);
		unsigned long cpu = c->cpus.list.len;

		if (n < 0 && errno == ENOBUFS) /* some were lost: it may be any of them */
			c->cpus.slept = c->cpus.changed = true;
		if (n < 0 && errno != ENOBUFS)
			return;
		text[OP_MAX(n, 0)] = '\0';
		if (strncmp(text, OFFLINE, sizeof(OFFLINE) - 1) == 0)
			cpu = strtoul(text + sizeof(OFFLINE) - 1, NULL, 10);
		if (cpu >= c->cpus.list.len)
			continue;
		e = &c->cpus.list.data[cpu];
		e->went = c->cpus.changed = true;
	}
}

/* Open the events that @e, which is online, lacks. Returns 0 or -errno. */
static int open_cpu(struct op_capture *c, struct op_cpu_events *e)
{
	int r = 0;

	if (c->listening && !e->sideband)
		r = open_sideband(c, e);
	if (r == 0 && c->sampling)
		r = open_kinds(c, e);
	if (r == -ENODEV) { /* it went offline after the list was read */
		c->cpus.changed = true;
		return 0;
	}
	return r;
}

/* Open the events of CPUs that are online and close those of the others. Returns 0 or
 * -errno. */
static int follow_cpus(struct op_capture *c)
{
	struct op_cpu_events *e;
	int r;

	r = op_vec_reserve(&c->sideband.merge, c->cpus.list.len);
	c->cpus.changed = false;
	op_vec_foreach(e, &c->cpus.list) {
		if (!e->online || e->went || c->cpus.slept) {
			e->went = false;
			c->cpus.moved |= e->sideband != NULL;
			close_cpu(c, e);
		}
		if (e->online && r == 0) {
			bool listened = e->sideband != NULL;

			r = open_cpu(c, e);
			c->cpus.moved |= !listened && e->sideband;
		}
	}
	c->cpus.slept = false;
	if (r < 0)
		c->cpus.changed = true;
	return r;
}

/*
 * Did the machine sleep? Then all CPUs but the first went offline, and the kernel
 * removed their events, but the list of CPUs is the same again.
 */
static void note_sleep(struct op_capture *c)
{
	int64_t asleep_ns = (int64_t)(op_clock_boottime_ns() - op_clock_monotonic_ns());

	if (c->cpus.checked_ns && asleep_ns - c->cpus.asleep_ns > OP_NS_PER_S)
		c->cpus.slept = c->cpus.changed = true;
	c->cpus.asleep_ns = asleep_ns;
}

int op_perf_update_cpus(struct op_capture *c, const struct op_sideband_sink *sink,
			struct op_allowance *allowance)
{
	char path[256];
	int r;

	note_sleep(c);
	note_offline(c);
	(void)snprintf(path, sizeof(path), "%s/devices/system/cpu/online",
		       c->config.sysfs_root);
	r = read_online(c, path);
	if (r < 0)
		return op_fail(c->log, r, "the list of CPUs %s cannot be read: %s", path,
			       strerror(-r));
	if (c->cpus.changed) {
		/* read their earlier events first, or at the next call if that takes
		 * long */
		if (sink)
			(void)op_capture_drain_sideband(c, sink, allowance);
		if (sink && c->sideband.left)
			return 0;
		r = follow_cpus(c);
		if (r < 0)
			return r;
	}
	c->cpus.checked_ns = op_clock_monotonic_ns();
	return 0;
}

int op_perf_listen(struct op_capture *c)
{
	int r;

	c->listening = c->cpus.changed = true;
	if (!c->cpus.uevents_fd)
		open_uevents(c);
	r = op_perf_update_cpus(c, NULL, NULL);
	if (r < 0)
		c->listening = false;
	else
		c->cpus.moved = false; /* earlier events are not known */
	return r;
}

int op_perf_start(struct op_capture *c)
{
	int r;

	c->sampling = c->cpus.changed = true;
	op_clocks_start(c);
	r = op_perf_update_cpus(c, NULL, NULL);
	if (r < 0)
		op_perf_stop(c);
	return r;
}

void op_perf_stop(struct op_capture *c)
{
	struct op_cpu_events *e;

	c->sampling = false;
	op_vec_foreach(e, &c->cpus.list)
		close_kinds(e);
}

void op_perf_close_kind(struct op_capture *c, const struct op_kind *kind)
{
	struct op_cpu_events *e;

	op_vec_foreach(e, &c->cpus.list)
		close_kind(e, kind->event);
}

void op_perf_close(struct op_capture *c)
{
	struct op_cpu_events *e;

	op_vec_foreach(e, &c->cpus.list)
		close_cpu(c, e);
	op_vec_clear(&c->cpus.list);
	op_vec_clear(&c->sideband.merge);
	free(c->cpus.online);
	c->cpus.online = NULL;
}
