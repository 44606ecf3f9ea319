/* SPDX-License-Identifier: Apache-2.0 */
/* The side-band of many CPUs, in buffers of plain memory. */
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "kernel/state.h"
#include "session/state.h"
#include "test.h"
#include "world.h"

enum {
	CPUS_MAX = 512,
	RECORD_BYTES_MAX = 256,
	SAMPLE_ID_BYTES = 24,
	PID_FIRST = 100000000, /* of no real process */
	FAMILIES = 500,
	LITTLE = 64, /* records of a drain whose time is over */
};

struct host {
	struct op_capture *capture;
	struct op_session session;
	struct world world;
	uint64_t head[CPUS_MAX];
};

static void host_init(struct host *h, uint32_t cpus)
{
	uint32_t i;

	memset(h->head, 0, sizeof(h->head));
	world_init(&h->world, NULL);
	h->capture = calloc(1, sizeof(*h->capture));
	CHECK(h->capture);
	memset(&h->session, 0, sizeof(h->session));
	h->session.config.capture = h->capture;
	h->session.config.processes = h->world.p;
	h->session.config.procfs_root = "/proc";
	op_session_init_sink(&h->session);
	h->capture->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	for (i = 0; i < cpus; i++) {
		struct op_cpu_events *e = op_vec_push(&h->capture->cpus.list);

		CHECK(e);
		*e = (struct op_cpu_events){ .cpu = i };
		e->sideband = calloc(1, h->capture->page_size + OP_SIDEBAND_BYTES);
		CHECK(e->sideband);
	}
	CHECK_OK(op_vec_reserve(&h->capture->sideband.merge, cpus));
}

static void host_deinit(struct host *h)
{
	struct op_cpu_events *e;

	op_vec_foreach(e, &h->capture->cpus.list)
		free(e->sideband);
	op_vec_clear(&h->capture->cpus.list);
	op_vec_clear(&h->capture->sideband.merge);
	op_endings_deinit(&h->session.ends);
	free(h->capture);
	world_deinit(&h->world);
}

/* Write a record to CPU @cpu's buffer: @body, then what every record ends with. */
static void put_misc(struct host *h, uint32_t cpu, uint32_t type, uint16_t misc,
		     const void *body, size_t len, uint64_t time_ns)
{
	struct perf_event_mmap_page *page = h->capture->cpus.list.data[cpu].sideband;
	uint8_t *ring = (uint8_t *)page + h->capture->page_size;
	struct perf_event_header header = { .type = type, .misc = misc };
	uint8_t record[RECORD_BYTES_MAX] = { 0 };
	size_t i;

	CHECK(len % 8 == 0 && sizeof(header) + len + SAMPLE_ID_BYTES <= sizeof(record));
	header.size = (uint16_t)(sizeof(header) + len + SAMPLE_ID_BYTES);
	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), body, len);
	memcpy(record + sizeof(header) + len + 8, &time_ns, sizeof(time_ns));
	CHECK(h->head[cpu] + header.size - page->data_tail <= OP_SIDEBAND_BYTES);
	for (i = 0; i < header.size; i++)
		ring[(h->head[cpu] + i) % OP_SIDEBAND_BYTES] = record[i];
	h->head[cpu] += header.size;
	page->data_head = h->head[cpu];
}

static void put(struct host *h, uint32_t cpu, uint32_t type, const void *body, size_t len,
		uint64_t time_ns)
{
	put_misc(h, cpu, type, 0, body, len, time_ns);
}

static void put_task(struct host *h, uint32_t cpu, uint32_t type, uint32_t pid,
		     uint32_t parent, uint64_t time_ns)
{
	struct {
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time_ns;
	} body = { pid, parent, pid, parent, time_ns };

	put(h, cpu, type, &body, sizeof(body), time_ns);
}

static void put_file(struct host *h, uint32_t cpu, uint32_t pid, uint64_t start,
		     uint64_t inode, uint64_t time_ns)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, len, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t prot, flags;
		char path[16];
	} body = { .pid = pid,
		   .tid = pid,
		   .start = start,
		   .len = 4096,
		   .inode = inode,
		   .path = "/a" };

	put(h, cpu, PERF_RECORD_MMAP2, &body, sizeof(body), time_ns);
}

static void put_mmap(struct host *h, uint32_t cpu, uint32_t pid, uint64_t start,
		     uint64_t time_ns)
{
	put_file(h, cpu, pid, start, 0, time_ns);
}

/* A process forks on one CPU, maps on another and ends on a third. */
static void test_order_over_cpus(void)
{
	static const uint32_t counts[] = { 1, 2, 3, 128, CPUS_MAX };
	struct host h;
	size_t n;
	uint32_t i;

	for (n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
		uint32_t cpus = counts[n];
		uint64_t at = op_clock_monotonic_ns();

		host_init(&h, cpus);
		for (i = 0; i < 200; i++) {
			uint32_t pid = PID_FIRST + i;

			put_task(&h, (i * 7 + 2) % cpus, PERF_RECORD_FORK, pid, 1, ++at);
			put_mmap(&h, (i * 5 + 1) % cpus, pid, 0x10000 + i * 4096, ++at);
			if (i % 3 == 0)
				put_task(&h, i % cpus, PERF_RECORD_EXIT, pid, 1, ++at);
		}
		CHECK_INT(op_session_drain_sideband(&h.session, 0), 467);
		CHECK_INT(op_session_drain_sideband(&h.session, 0), 0);
		world_settle(&h.world, 1);
		for (i = 0; i < 200; i++) {
			uint32_t pid = PID_FIRST + i;

			CHECK(!world_process(&h.world, pid) == (i % 3 == 0));
			CHECK(i % 3 == 0 ||
			      world_mapping(&h.world, pid, 0x10000 + i * 4096, NULL));
		}
		for (i = 0; i < cpus; i++) {
			struct perf_event_mmap_page *page =
				h.capture->cpus.list.data[i].sideband;

			CHECK_INT(page->data_tail, page->data_head);
		}
		host_deinit(&h);
	}
}

/* A file that gets the number of another one and its place is seen before its event's turn. What
 * others do is not it. */
static void test_waiting(void)
{
	static const uint64_t inode = 7, start = 0x10000, end = 0x12000;
	uint64_t at = op_clock_monotonic_ns();
	struct host h;
	int i;

	host_init(&h, 2);
	put_task(&h, 0, PERF_RECORD_FORK, PID_FIRST, 1, at);
	put_file(&h, 0, PID_FIRST, start, inode + 1, at + 1);
	put_file(&h, 0, PID_FIRST, start - 4096, inode, at + 2);
	put_file(&h, 1, PID_FIRST, end, inode, at + 3);
	CHECK(!op_capture_map_waits(h.capture, start, end, inode));
	put_file(&h, 1, PID_FIRST, end - 4096, inode, at + 4);
	CHECK(op_capture_map_waits(h.capture, start, end, inode));
	CHECK(op_capture_map_waits(h.capture, end - 1, end, inode));
	CHECK(!op_capture_map_waits(h.capture, start, end - 4096, inode));
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 5);
	CHECK(!op_capture_map_waits(h.capture, start, end, inode));
	/* what was lost is not known, nor what a full buffer had no place for */
	put(&h, 0, PERF_RECORD_LOST, &(uint64_t[2]){ 0, 1 }, 16, at + 5);
	CHECK(op_capture_map_waits(h.capture, start, end, inode));
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 1);
	for (i = 0; i < 400; i++)
		put_task(&h, 0, PERF_RECORD_EXIT, PID_FIRST + 1, 1, at + 6);
	CHECK(!op_capture_map_waits(h.capture, start, end, inode));
	for (i = 0; i < 300; i++)
		put_task(&h, 0, PERF_RECORD_EXIT, PID_FIRST + 1, 1, at + 6);
	CHECK(op_capture_map_waits(h.capture, start, end, inode));
	host_deinit(&h);
}

/* What waits at @cpus is of the time until which all was drained, or newer. */
static void check_left(const struct host *h, uint32_t cpus)
{
	uint32_t i;

	for (i = 0; i < cpus; i++) {
		const struct op_cpu_events *e = &h->capture->cpus.list.data[i];
		const struct perf_event_mmap_page *page = e->sideband;

		CHECK(page->data_tail == page->data_head ||
		      e->next_ns > h->capture->sideband.drained_ns);
	}
}

/* A drain has a time to end. What is left is taken by later ones, in its order, also where new
 * records come in between. */
static void test_drain_in_parts(void)
{
	enum {
		CPUS = 128
	};
	const uint32_t late = PID_FIRST + FAMILIES;
	uint64_t at = op_clock_monotonic_ns();
	uint64_t records = 0;
	uint64_t drains = 0;
	struct host h;
	uint32_t i;

	host_init(&h, CPUS);
	for (i = 0; i < FAMILIES; i++) {
		uint32_t pid = PID_FIRST + i;

		put_task(&h, (i * 7 + 2) % CPUS, PERF_RECORD_FORK, pid, 1, ++at);
		put_mmap(&h, (i * 5 + 1) % CPUS, pid, 0x10000 + i * 4096, ++at);
		if (i % 3 == 0)
			put_task(&h, i % CPUS, PERF_RECORD_EXIT, pid, 1, ++at);
	}
	do {
		uint64_t n = op_session_drain_sideband(&h.session, 1);

		CHECK(n > 0 && n <= LITTLE);
		CHECK_INT(h.capture->sideband.left,
			  drains + 1 == h.capture->sideband.drains_cut);
		check_left(&h, CPUS);
		records += n;
		if (!drains++) {
			put_task(&h, 3, PERF_RECORD_FORK, late, 1, ++at);
			put_mmap(&h, 2, late, 0x20000, ++at);
		}
	} while (h.capture->sideband.left);
	CHECK_INT(records, 2 * FAMILIES + (FAMILIES + 2) / 3 + 2);
	CHECK_INT(h.capture->sideband.drains_cut, drains - 1);
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 0);
	world_settle(&h.world, 1);
	CHECK(world_mapping(&h.world, late, 0x20000, NULL));
	for (i = 0; i < FAMILIES; i++) {
		CHECK(!world_process(&h.world, PID_FIRST + i) == (i % 3 == 0));
		CHECK(i % 3 == 0 ||
		      world_mapping(&h.world, PID_FIRST + i, 0x10000 + i * 4096, NULL));
	}
	host_deinit(&h);
}

static void put_exec(struct host *h, uint32_t cpu, uint32_t pid, uint64_t time_ns)
{
	struct {
		uint32_t pid, tid;
		char comm[8];
	} body = { pid, pid, "a" };

	put_misc(h, cpu, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &body,
		 sizeof(body), time_ns);
}

/* The buffers are read one after the other. What was written meanwhile is of some CPUs only,
 * and waits until it is known of all. */
static void test_newer_than_the_drain(void)
{
	static const uint64_t later_ns = 200000000;
	const uint32_t pid = PID_FIRST;
	uint64_t at = op_clock_monotonic_ns();
	struct perf_event_mmap_page *page;
	struct host h;

	host_init(&h, 2);
	put_task(&h, 1, PERF_RECORD_FORK, pid, 1, ++at);
	put_exec(&h, 1, pid, at + later_ns);
	put_mmap(&h, 1, pid, 0x10000, at + later_ns + 1);
	page = h.capture->cpus.list.data[1].sideband;
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 1);
	CHECK(page->data_tail > 0 && page->data_tail < page->data_head);
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 0);
	while (op_clock_monotonic_ns() <= at + later_ns + 1)
		CHECK_OK(usleep(1000));
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 2);
	CHECK_INT(page->data_tail, page->data_head);
	world_settle(&h.world, 1);
	CHECK(world_mapping(&h.world, pid, 0x10000, NULL));
	host_deinit(&h);
}

/* Other profilers make the trailer of a kernel symbol's record longer than what is written of it.
 * Whatever stands there, and whatever else has a time that cannot be, holds nothing up. */
static void test_times_that_cannot_be(void)
{
	static const uint64_t never_ns = UINT64_C(1) << 62;
	const uint8_t symbol[64] = { 0 };
	const uint32_t pid = PID_FIRST;
	uint64_t at = op_clock_monotonic_ns();
	struct perf_event_mmap_page *page;
	struct host h;

	host_init(&h, 2);
	put(&h, 0, PERF_RECORD_KSYMBOL, symbol, sizeof(symbol), never_ns);
	put_task(&h, 0, PERF_RECORD_FORK, pid, 1, ++at);
	put_exec(&h, 1, pid, ++at);
	put(&h, 0, PERF_RECORD_KSYMBOL, symbol, sizeof(symbol), never_ns);
	put_mmap(&h, 0, pid, 0x10000, ++at);
	put_task(&h, 1, PERF_RECORD_EXIT, pid + 1, 1, never_ns);
	put_mmap(&h, 1, pid, 0x20000, ++at);
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 7);
	page = h.capture->cpus.list.data[0].sideband;
	CHECK_INT(page->data_tail, page->data_head);
	page = h.capture->cpus.list.data[1].sideband;
	CHECK_INT(page->data_tail, page->data_head);
	world_settle(&h.world, 1);
	CHECK(world_mapping(&h.world, pid, 0x10000, NULL));
	host_deinit(&h);
}

/* A process that was seen to execute stays as it is if its fork is told of late; one whose
 * mappings alone were seen is read anew. */
static void test_late_fork(void)
{
	const uint32_t parent = PID_FIRST;
	const uint32_t executed = PID_FIRST + 1;
	const uint32_t mapped = world_self();
	uint64_t at = op_clock_monotonic_ns() - 1000;
	uint64_t fork_ns;
	struct host h;

	host_init(&h, 2);
	put_task(&h, 0, PERF_RECORD_FORK, parent, 1, ++at);
	put_exec(&h, 0, parent, ++at);
	put_mmap(&h, 0, parent, 0x20000, ++at);
	fork_ns = ++at;
	put_exec(&h, 1, executed, ++at);
	put_mmap(&h, 1, executed, 0x10000, ++at);
	put_mmap(&h, 1, mapped, 0x30000, ++at);
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 6);
	put_task(&h, 0, PERF_RECORD_FORK, executed, parent, fork_ns);
	put_task(&h, 0, PERF_RECORD_FORK, mapped, parent, fork_ns);
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 2);
	world_settle(&h.world, 1);
	CHECK(world_mapping(&h.world, mapped, world_native((const void *)known_function),
			    NULL));
	CHECK(world_mapping(&h.world, executed, 0x10000, NULL));
	CHECK(!world_mapping(&h.world, executed, 0x20000, NULL));
	CHECK_INT(op_processes_born_ns(h.world.p, executed), fork_ns);
	/* the next one of that number is another */
	put_task(&h, 0, PERF_RECORD_FORK, executed, parent, ++at);
	CHECK_INT(op_session_drain_sideband(&h.session, 0), 1);
	world_settle(&h.world, 1);
	CHECK(!world_mapping(&h.world, executed, 0x10000, NULL));
	CHECK(world_mapping(&h.world, executed, 0x20000, NULL));
	host_deinit(&h);
}

static void put_thread(struct host *h, uint32_t type, uint32_t pid, uint32_t tid,
		       uint64_t time_ns)
{
	struct {
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time_ns;
	} body = { pid, pid, tid, pid, time_ns };

	put(h, 0, type, &body, sizeof(body), time_ns);
}

/* /proc tells of two threads in each of these. */
static void pretend_two_threads(char *root, uint32_t pid)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%u", root, pid);
	CHECK_OK(mkdir(path, 0755));
	(void)snprintf(path, sizeof(path), "%s/%u/stat", root, pid);
	f = fopen(path, "we");
	CHECK(f);
	CHECK(fputs("1 (x y) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2 0\n", f) >= 0);
	CHECK(fclose(f) == 0);
}

/* A leader that ends ends its process where it has no other thread. /proc is asked only of
 * those that made one, or were not seen from their fork on. */
static void test_leader_ends(void)
{
	char root[] = "/tmp/op-threads-XXXXXX";
	const uint32_t alone = PID_FIRST;
	const uint32_t threaded = PID_FIRST + 1;
	const uint32_t missed = PID_FIRST + 2;
	const uint64_t lost[2] = { 0, 1 };
	char command[64];
	struct host h;
	uint64_t at = op_clock_monotonic_ns();

	CHECK(mkdtemp(root));
	host_init(&h, 1);
	h.session.ends.procfs_root = root;
	pretend_two_threads(root, alone);
	pretend_two_threads(root, threaded);
	pretend_two_threads(root, missed);
	put_task(&h, 0, PERF_RECORD_FORK, missed, 1, ++at);
	put(&h, 0, PERF_RECORD_LOST, lost, sizeof(lost), ++at);
	put_task(&h, 0, PERF_RECORD_FORK, alone, 1, ++at);
	put_task(&h, 0, PERF_RECORD_FORK, threaded, 1, ++at);
	put_thread(&h, PERF_RECORD_FORK, threaded, threaded + 1000, ++at);
	put_thread(&h, PERF_RECORD_EXIT, alone, alone, ++at);
	put_thread(&h, PERF_RECORD_EXIT, threaded, threaded, ++at);
	put_thread(&h, PERF_RECORD_EXIT, missed, missed, ++at);
	(void)op_session_drain_sideband(&h.session, 0);
	CHECK_INT(op_processes_born_ns(h.world.p, alone), 0);
	CHECK(op_processes_born_ns(h.world.p, threaded));
	CHECK(op_processes_born_ns(h.world.p, missed));
	host_deinit(&h);
	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_OK(system(command));
}

/* All threads of a process are killed, and it is gone before anybody reads of it: its end is
 * that of the last thread, of which a later drain may tell. A new process of that number, or
 * a thread that has executed, is not ended for it. */
static void test_all_end(void)
{
	const uint32_t killed = PID_FIRST;
	const uint32_t again = PID_FIRST + 1;
	const uint32_t executes = PID_FIRST + 2;
	static const uint32_t pids[] = { killed, again, executes };
	struct host h;
	uint64_t at;
	int i;

	host_init(&h, 1);
	h.session.ends.procfs_root = "/nonexistent";
	at = op_clock_monotonic_ns();
	for (i = 0; i < 3; i++) {
		put_task(&h, 0, PERF_RECORD_FORK, pids[i], 1, ++at);
		put_thread(&h, PERF_RECORD_FORK, pids[i], pids[i] + 1000, ++at);
		put_thread(&h, PERF_RECORD_EXIT, pids[i], pids[i], ++at);
	}
	(void)op_session_drain_sideband(&h.session, 0);
	for (i = 0; i < 3; i++)
		CHECK(op_processes_born_ns(h.world.p, pids[i]));
	at = op_clock_monotonic_ns();
	put_thread(&h, PERF_RECORD_EXIT, killed, killed + 1000, at);
	put_task(&h, 0, PERF_RECORD_FORK, again, 1, ++at);
	put_exec(&h, 0, executes, ++at);
	/* it asks again, since one more has ended */
	(void)op_session_drain_sideband(&h.session, 0);
	CHECK(op_processes_born_ns(h.world.p, killed));
	(void)op_session_drain_sideband(&h.session, 0);
	CHECK_INT(op_processes_born_ns(h.world.p, killed), 0);
	CHECK(op_processes_born_ns(h.world.p, again));
	CHECK(op_processes_born_ns(h.world.p, executes));
	CHECK_INT(h.session.ends.ending.len, 0);
	host_deinit(&h);
}

static uint64_t cpu_time_ns(void)
{
	struct timespec t;

	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What a record costs that says nothing, with @cpus that have one waiting: the best of some
 * rounds, in ns. */
static double cost(uint32_t cpus)
{
	static const uint64_t nothing[2];
	double best = 1e18;
	struct host h;
	int round;

	host_init(&h, cpus);
	for (round = 0; round < 8; round++) {
		uint64_t at = op_clock_monotonic_ns();
		uint32_t records = CPUS_MAX * 8;
		uint64_t start;
		uint32_t i;

		for (i = 0; i < records; i++)
			put(&h, i % cpus, PERF_RECORD_THROTTLE, nothing, sizeof(nothing),
			    ++at);
		/* a buffer holds that many of the fewest CPUs */
		start = cpu_time_ns();
		CHECK_INT(op_session_drain_sideband(&h.session, 0), records);
		start = cpu_time_ns() - start;
		if ((double)start / records < best)
			best = (double)start / records;
	}
	host_deinit(&h);
	return best;
}

static void test_cost_grows_by_the_logarithm(void)
{
	double few = cost(4);
	double many = cost(128);
	double most = cost(CPUS_MAX);

	printf("ns a record: 4 CPUs %.0f, 128 CPUs %.0f, 512 CPUs %.0f\n", few, many,
	       most);
	/* 2, 7 and 9 steps; a search of all CPUs would be 30 and 130 times */
	CHECK(many < 5 * few + 100);
	CHECK(most < 7 * few + 100);
}

static void write_list(const char *root, const char *list)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/devices/system/cpu/online", root);
	f = fopen(path, "we");
	CHECK(f);
	CHECK(fputs(list, f) >= 0);
	CHECK(fclose(f) == 0);
}

static int online(const struct op_capture *c)
{
	const struct op_cpu_events *e;
	int n = 0;

	op_vec_foreach(e, &c->cpus.list)
		n += e->online;
	return n;
}

static void make_root(char *root)
{
	char path[256];

	CHECK(mkdtemp(root));
	(void)snprintf(path, sizeof(path), "%s/devices", root);
	CHECK(mkdir(path, 0755) == 0);
	(void)strcat(path, "/system");
	CHECK(mkdir(path, 0755) == 0);
	(void)strcat(path, "/cpu");
	CHECK(mkdir(path, 0755) == 0);
}

static void remove_root(const char *root)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK(system(command) == 0);
}

/* CPUs stand at their number, come and go. Nothing is opened: nobody listens. */
static void test_list_of_cpus(void)
{
	char root[] = "/tmp/op-cpus-XXXXXX";
	struct op_capture *c = calloc(1, sizeof(*c));

	CHECK(c);
	make_root(root);
	c->config.sysfs_root = root;
	c->cpus.online_fd = -1;
	write_list(root, "0-511\n");
	CHECK_OK(op_perf_update_cpus(c, NULL, NULL));
	CHECK_INT(c->cpus.list.len, 512);
	CHECK_INT(online(c), 512);
	CHECK_OK(op_perf_update_cpus(c, NULL, NULL));
	CHECK_INT(online(c), 512);
	write_list(root, "0-3,8,10-11\n");
	CHECK_OK(op_perf_update_cpus(c, NULL, NULL));
	CHECK_INT(online(c), 7);
	CHECK(c->cpus.list.data[8].online && c->cpus.list.data[8].cpu == 8);
	CHECK(!c->cpus.list.data[9].online);
	write_list(root, "0-3,700\n");
	CHECK_OK(op_perf_update_cpus(c, NULL, NULL));
	CHECK_INT(c->cpus.list.len, 701);
	CHECK_INT(online(c), 5);
	op_perf_close(c);
	op_closep(&c->cpus.online_fd);
	free(c);
	remove_root(root);
}

/* What a CPU told before it went is taken; what it did while it was not listened to is known
 * to be missed. */
static void test_cpus_that_go(void)
{
	char root[] = "/tmp/op-cpus-XXXXXX";
	const uint32_t forked = PID_FIRST;
	struct op_capture *c;
	struct host h;
	uint32_t i;

	make_root(root);
	host_init(&h, 2);
	c = h.capture;
	c->config.sysfs_root = root;
	c->cpus.online_fd = -1;
	for (i = 0; i < 2; i++) {
		struct op_cpu_events *e = &c->cpus.list.data[i];

		free(e->sideband);
		e->sideband =
			mmap(NULL, c->page_size + OP_SIDEBAND_BYTES,
			     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(e->sideband != MAP_FAILED);
		memset(e->kind_fd, 0xff, sizeof(e->kind_fd));
	}
	write_list(root, "0-1\n");
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	CHECK_INT(h.session.ends.lost_ns, 0);
	put_task(&h, 1, PERF_RECORD_FORK, forked, 1, op_clock_monotonic_ns());
	write_list(root, "0\n");
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	CHECK(op_processes_born_ns(h.world.p, forked));
	CHECK(c->cpus.list.data[0].sideband && !c->cpus.list.data[1].sideband);
	(void)op_session_drain_sideband(&h.session, 0);
	CHECK(h.session.ends.lost_ns);
	/* After a sleep the list is the same. */
	h.session.ends.lost_ns = 0;
	put_task(&h, 0, PERF_RECORD_EXIT, forked, 1, op_clock_monotonic_ns());
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	CHECK(c->cpus.list.data[0].sideband && !h.session.ends.lost_ns);
	c->cpus.asleep_ns -= 2000000000;
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	CHECK(!op_processes_born_ns(h.world.p, forked));
	CHECK(!c->cpus.list.data[0]
		       .sideband); /* nobody listens: it is not opened again */
	(void)op_session_drain_sideband(&h.session, 0);
	CHECK(h.session.ends.lost_ns);
	op_perf_close(c);
	op_closep(&c->cpus.online_fd);
	host_deinit(&h);
	remove_root(root);
}

/* A CPU goes and comes between two looks at the list. */
static void test_cpu_that_went(void)
{
	static const char *const others[] = {
		"add@/devices/system/cpu/cpu1",
		"online@/devices/system/cpu/cpu1",
		"offline@/devices/system/cpu/cpu7",
		"offline@/devices/system/cpu/cpu99999999999999",
		"offline@/devices/system/memory/memory1",
		""
	};
	char root[] = "/tmp/op-cpus-XXXXXX";
	struct op_capture *c;
	struct host h;
	int pair[2];
	size_t i;

	make_root(root);
	host_init(&h, 2);
	c = h.capture;
	c->config.sysfs_root = root;
	c->cpus.online_fd = -1;
	CHECK_OK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
	c->cpus.uevents_fd = pair[0];
	for (i = 0; i < 2; i++) {
		struct op_cpu_events *e = &c->cpus.list.data[i];

		free(e->sideband);
		e->sideband =
			mmap(NULL, c->page_size + OP_SIDEBAND_BYTES,
			     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(e->sideband != MAP_FAILED);
		memset(e->kind_fd, 0xff, sizeof(e->kind_fd));
	}
	write_list(root, "0-1\n");
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(send(pair[1], others[i], strlen(others[i]) + 1, 0) > 0);
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	CHECK(c->cpus.list.data[0].sideband && c->cpus.list.data[1].sideband);
	CHECK(send(pair[1], "offline@/devices/system/cpu/cpu1\0ACTION=offline", 48, 0) >
	      0);
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	/* nobody listens: it is not opened again */
	CHECK(c->cpus.list.data[0].sideband && !c->cpus.list.data[1].sideband);
	(void)op_session_drain_sideband(&h.session, 0);
	CHECK(h.session.ends.lost_ns);
	op_perf_close(c);
	op_closep(&c->cpus.online_fd);
	CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
	host_deinit(&h);
	remove_root(root);
}

/* Events that were opened on each CPU; one more event for each is that of its clock. */
static size_t opened[2];

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

/* Any user may open an event of itself, on a machine with one CPU, too. */
long __wrap_syscall(long number, ...)
{
	struct perf_event_attr attr;
	long arg[6];
	va_list ap;
	size_t i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_perf_event_open) {
		memcpy(&attr, (const void *)arg[0], sizeof(attr));
		CHECK((uint32_t)arg[2] < 2);
		opened[(uint32_t)arg[2]]++;
		attr.exclude_kernel = 1;
		return __real_syscall(number, &attr, 0, -1, -1, arg[4]);
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* There is no program to attach. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	long arg;

	va_start(ap, request);
	arg = va_arg(ap, long);
	va_end(ap);
	if (request == PERF_EVENT_IOC_SET_BPF)
		return 0;
	return __real_ioctl(fd, request, arg);
}

static void check_opened(const struct op_capture *c, size_t first, size_t second)
{
	const struct op_cpu_events *e;

	CHECK_INT(opened[0], first);
	CHECK_INT(opened[1], second);
	op_vec_foreach(e, &c->cpus.list)
		CHECK(!e->online || (e->sideband && e->kind_fd[OP_EVENT_CPU][0] >= 0));
}

/* The events of a CPU that comes again are opened again, those of others are not: it went
 * between two looks, was away at one, or the machine slept. */
static void test_cpu_that_came_again(void)
{
	struct op_control control = { .tick_ns = 10000000 };
	char root[] = "/tmp/op-cpus-XXXXXX";
	struct op_cpu_events *e;
	struct op_capture *c;
	struct host h;
	int pair[2];

	memset(opened, 0, sizeof(opened));
	make_root(root);
	host_init(&h, 2);
	c = h.capture;
	c->config.sysfs_root = root;
	c->cpus.online_fd = -1;
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	CHECK(c->epoll_fd >= 0);
	CHECK_OK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
	c->cpus.uevents_fd = pair[0];
	op_vec_foreach(e, &c->cpus.list) {
		free(e->sideband);
		e->sideband = NULL;
		memset(e->kind_fd, 0xff, sizeof(e->kind_fd));
	}
	memset(c->kinds.program, 0xff, sizeof(c->kinds.program));
	c->kinds.program[OP_EVENT_CPU][0] = 0;
	c->control = &control;
	c->listening = c->sampling = true;
	write_list(root, "0-1\n");
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	check_opened(c, 2, 2);

	CHECK(send(pair[1], "offline@/devices/system/cpu/cpu1", 33, 0) > 0);
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	check_opened(c, 2, 4);
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	check_opened(c, 2, 4);

	write_list(root, "0\n");
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	check_opened(c, 2, 4);
	CHECK(!c->cpus.list.data[1].sideband);
	write_list(root, "0-1\n");
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	check_opened(c, 2, 6);

	c->cpus.asleep_ns -= 2000000000;
	CHECK_OK(op_perf_update_cpus(c, &h.session.sink, NULL));
	check_opened(c, 4, 8);
	op_perf_close(c);
	CHECK(close(c->epoll_fd) == 0 && close(pair[0]) == 0 && close(pair[1]) == 0);
	op_closep(&c->cpus.online_fd);
	host_deinit(&h);
	remove_root(root);
}

TEST_MAIN({ "leader", test_leader_ends }, { "all", test_all_end },
	  { "order", test_order_over_cpus }, { "parts", test_drain_in_parts },
	  { "newer", test_newer_than_the_drain }, { "late_fork", test_late_fork },
	  { "impossible", test_times_that_cannot_be },
	  { "cost", test_cost_grows_by_the_logarithm }, { "list", test_list_of_cpus },
	  { "go", test_cpus_that_go }, { "waiting", test_waiting },
	  { "went", test_cpu_that_went }, { "came", test_cpu_that_came_again })
