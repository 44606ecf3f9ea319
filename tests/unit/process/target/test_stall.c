/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that stall who reads of them: by a page that nobody serves (userfaultfd), by a
 * file system that answers nothing (FUSE). A reader without a deadline hangs for ever in each
 * of these.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/resource/environment.h"
#include "process/target/maps.h"
#include "process/target/open.h"
#include "process/target/remote.h"
#include "process/target/target.h"
#include "process/target/task/region.h"
#include "process/target/task/syscalls.h"
#include "tools.h"

enum {
	HANG_S = 20,
	PAGE = 4096,
	READY_FD = 100,
	/* nodes of files that are closed; the second one is also read */
	CLOSED_NODE = 3,
	READ_NODE,
};

/* A child that runs @fn, which writes one address to tell that it is ready. */
struct child {
	pid_t pid;
	uint64_t addr;
};

static struct child child_new(void (*fn)(int ready))
{
	struct child c = { 0 };
	int p[2];

	CHECK_OK(pipe2(p, O_CLOEXEC));
	c.pid = fork();
	CHECK(c.pid >= 0);
	if (!c.pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(p[1]);
		for (;;)
			(void)pause();
	}
	(void)close(p[1]);
	CHECK(read(p[0], &c.addr, sizeof(c.addr)) == sizeof(c.addr));
	(void)close(p[0]);
	return c;
}

static void child_end(struct child *c)
{
	CHECK_OK(kill(c->pid, SIGKILL));
	CHECK(waitpid(c->pid, NULL, 0) == c->pid);
}

static void tell(int ready, uint64_t addr)
{
	CHECK(write(ready, &addr, sizeof(addr)) == sizeof(addr));
}

/* A page of which each touch waits, and one with content before it. */
static void *stalled_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *p;

	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	CHECK(fd >= 0 && p != MAP_FAILED);
	memcpy(p, "content", 8);
	CHECK_OK(ioctl(fd, UFFDIO_API, &api));
	range.range.start = (uintptr_t)p + PAGE;
	range.range.len = PAGE;
	CHECK_OK(ioctl(fd, UFFDIO_REGISTER, &range));
	return p;
}

static void stall_memory(int ready)
{
	tell(ready, (uintptr_t)stalled_page());
}

static void test_memory(void)
{
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct child c = child_new(stall_memory);
	struct child honest = child_new(stall_memory);
	struct op_remote m;
	struct op_remote other;
	char buf[8];
	int i;

	CHECK_OK(op_target_new("/proc", &t));
	op_remote_init(&m, t, c.pid);
	op_remote_init(&other, t, honest.pid);
	CHECK_OK(op_memory_read(&m.memory, c.addr, buf, 8));
	CHECK_STR(buf, "content");
	/* What is there is read without a child, but where some program may serve pages. */
	CHECK(t->stats.asked == 0 || op_target_is_served(t));
	(void)alarm(HANG_S);
	CHECK_INT(op_memory_read(&m.memory, c.addr + PAGE, buf, 8), -ETIMEDOUT);
	CHECK_INT(t->stats.stalled, 1);
	CHECK(!t->tasks.direct);
	/* It is set aside, without another wait; others are not. */
	CHECK_INT(op_memory_read(&m.memory, c.addr, buf, 8), -ETIMEDOUT);
	CHECK_INT(t->stats.stalled, 1);
	memset(buf, 0, sizeof(buf));
	CHECK_OK(op_memory_read(&other.memory, honest.addr, buf, 8));
	CHECK_STR(buf, "content");
	/* For a second. */
	CHECK_OK(usleep(1100000));
	CHECK_OK(op_memory_read(&m.memory, c.addr, buf, 8));
	/* From then on the child reads it, even what is there. */
	t->stats.asked = 0;
	CHECK_OK(op_memory_read(&m.memory, c.addr, buf, 8));
	CHECK_INT(t->stats.asked, 1);
	(void)alarm(0);
	child_end(&c);
	child_end(&honest);
	/* On a busy machine the task ends later than it is waited for. */
	for (i = 0; i < 2000 && t->tasks.stuck_len; i++) {
		op_tasks_rest(&t->tasks, 0);
		CHECK_OK(usleep(1000));
	}
	CHECK_INT(t->tasks.stuck_len, 0);
}

/* A process whose memory was locked for long is read by the child, which can be abandoned; others are
 * not. */
static void test_locked(void)
{
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct child c = child_new(stall_memory);
	struct child honest = child_new(stall_memory);
	struct op_remote m;
	struct op_remote other;
	char *text = NULL;
	char buf[8];

	CHECK_OK(op_target_new("/proc", &t));
	if (op_target_is_served(t))
		SKIP("some program may serve pages");
	op_remote_init(&m, t, c.pid);
	op_remote_init(&other, t, honest.pid);
	CHECK_OK(op_memory_read(&m.memory, c.addr, buf, 8));
	op_target_note_read(t, (uint32_t)c.pid, op_clock_monotonic_ns());
	CHECK_OK(op_memory_read(&m.memory, c.addr, buf, 8));
	CHECK_INT(t->stats.asked, 0);
	op_target_note_read(t, (uint32_t)c.pid, op_clock_monotonic_ns() - 6000000);
	CHECK_OK(op_memory_read(&m.memory, c.addr, buf, 8));
	CHECK_STR(buf, "content");
	CHECK_INT(t->stats.asked, 1);
	CHECK(op_target_read_proc(t, (uint32_t)c.pid, "maps", 1 << 20, &text) > 0);
	free(text);
	CHECK(t->stats.asked > 1);
	t->stats.asked = 0;
	CHECK_OK(op_memory_read(&other.memory, honest.addr, buf, 8));
	CHECK_INT(t->stats.asked, 0);
	child_end(&c);
	child_end(&honest);
}

static void use_much_memory(int ready)
{
	const size_t len = 160 << 20;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	CHECK(p != MAP_FAILED);
	tell(ready, (uintptr_t)p);
}

static int count(void *ctx, const struct op_mmap_event *e)
{
	(void)e;
	++*(int *)ctx;
	return 0;
}

/* The fork of a large process holds its memory lock for long: its very first mappings are read
 * by the child. */
static void test_large(void)
{
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct child large = child_new(use_much_memory);
	struct child small = child_new(stall_memory);
	struct op_maps_reader reader = { 0 };
	char *text = NULL;
	int found = 0;

	CHECK_OK(op_target_new("/proc", &t));
	if (op_target_is_served(t))
		SKIP("some program may serve pages");
	CHECK(op_target_executables(t, (uint32_t)small.pid, &reader, count, &found) > 0);
	op_maps_reader_end(t, &reader);
	CHECK_INT(t->stats.asked, 0);
	CHECK(op_target_executables(t, (uint32_t)large.pid, &reader, count, &found) > 0);
	op_maps_reader_end(t, &reader);
	if (!t->no_search)
		CHECK(t->stats.asked > 0);
	t->stats.asked = 0;
	/* a program that was just executed is not asked for its size */
	op_target_on_exec(t, (uint32_t)large.pid);
	CHECK(op_target_executables(t, (uint32_t)large.pid, &reader, count, &found) > 0);
	op_maps_reader_end(t, &reader);
	CHECK_INT(t->stats.asked, 0);
	CHECK_OK(usleep(20000));
	CHECK(op_target_read_proc(t, (uint32_t)large.pid, "environ", 1 << 20, &text) > 0);
	free(text);
	CHECK(t->stats.asked > 0);
	CHECK(found > 2);
	child_end(&large);
	child_end(&small);
}

/* Its number may be another process's; what is open stands for the old one alone. */
static void test_gone(void)
{
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct child c = child_new(stall_memory);
	struct op_remote m;
	char buf[8];
	int i;

	CHECK_OK(op_target_new("/proc", &t));
	op_remote_init(&m, t, c.pid);
	CHECK_OK(op_memory_read(&m.memory, c.addr, buf, 8));
	child_end(&c);
	/* Other readers of the machine may keep its memory for some ms. */
	for (i = 0; i < 2000 && op_memory_read(&m.memory, c.addr, buf, 8) == 0; i++)
		CHECK_OK(usleep(1000));
	CHECK_INT(op_memory_read(&m.memory, c.addr, buf, 8), -ESRCH);
	/* As if another process had the number now. */
	c = child_new(stall_memory);
	m.pid = c.pid;
	CHECK_INT(op_memory_read(&m.memory, c.addr, buf, 8), -ESRCH);
	child_end(&c);
}

static long pages_of(int pid)
{
	char path[64];
	long pages = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	CHECK(f && fscanf(f, "%ld", &pages) == 1 && fclose(f) == 0);
	return pages;
}

/* The child has none of our memory, and is there only for as long as it is asked. */
static void test_child(void)
{
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct child c = child_new(stall_memory);
	size_t size = (size_t)256 << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *text = NULL;
	int status;
	int pid;

	CHECK(memory != MAP_FAILED);
	memset(memory, 1, 1 << 20);
	CHECK_OK(op_target_new("/proc", &t));
	t->servers.seen_ns = op_clock_monotonic_ns(); /* somebody serves files */
	t->servers.checked_ns = t->servers.seen_ns;
	CHECK(op_target_read_proc(t, (uint32_t)c.pid, "maps", 1 << 20, &text) > 0);
	free(text);
	CHECK_INT(t->stats.asked, 1);
	pid = t->tasks.current->pid;
	if (!OP_SANITIZED)
		CHECK((size_t)pages_of(pid) * PAGE < size / 4);
	/* Nobody else's wait(2) meets it. */
	CHECK(waitpid(-1, &status, WNOHANG) == 0);
	CHECK(waitpid(pid, &status, WNOHANG) < 0);
	op_target_rest(t, op_clock_monotonic_ns());
	CHECK(t->tasks.current != NULL);
	op_target_rest(t, op_clock_monotonic_ns() + OP_TASK_IDLE_NS);
	CHECK(!t->tasks.current && kill(pid, 0) < 0);
	CHECK_OK(munmap(memory, size));
	child_end(&c);
}

/* Many at once cost a share of the time, not each its deadline. */
static void test_many(void)
{
	enum {
		MANY = 40
	};
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct child c[MANY];
	uint64_t began;
	uint64_t may_ns = 0; /* at least: the waits that were allowed */
	char buf[8];
	int i;

	CHECK_OK(op_target_new("/proc", &t));
	for (i = 0; i < MANY; i++)
		c[i] = child_new(stall_memory);
	(void)alarm(HANG_S);
	began = op_clock_monotonic_ns();
	for (i = 0; i < MANY; i++) {
		uint64_t may = OP_MIN(t->may_wait_ns, OP_TARGET_DEADLINE_NS);
		uint64_t stalled = t->stats.stalled;
		struct op_remote m;

		op_remote_init(&m, t, c[i].pid);
		CHECK(op_memory_read(&m.memory, c[i].addr + PAGE, buf, 8) < 0);
		may_ns += t->stats.stalled > stalled ? may : 0;
	}
	/* Two deadlines at once, and then that share of the time, which is more on a busy
	 * machine. */
	CHECK(t->stats.stalled > 0);
	CHECK(may_ns <= OP_TARGET_WAIT_MAX_NS +
				(op_clock_monotonic_ns() - began) / OP_TARGET_WAIT_SHARE);
	(void)alarm(0);
	for (i = 0; i < MANY; i++)
		child_end(&c[i]);
}

/* A page of its environment, which /proc/PID/environ reads. It is run as a program of its own,
 * whose environment has whole pages. */
static void stalled_environment(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	const char *pad = getenv("OP_TEST_PAD");
	uintptr_t page = ((uintptr_t)pad + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	int fd;

	if (!pad)
		return;
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_OK(ioctl(fd, UFFDIO_API, &api));
	range.range.start = page;
	range.range.len = PAGE;
	CHECK_OK(munmap((void *)page, PAGE));
	CHECK(mmap((void *)page, PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)page);
	CHECK_OK(ioctl(fd, UFFDIO_REGISTER, &range));
	tell(READY_FD, page);
	for (;;)
		(void)pause();
}

static void stall_environment(int ready)
{
	static char pad[4 * PAGE] = "OP_TEST_PAD=";
	char *argv[] = { (char *)"test_stall", (char *)"stalled_environment", NULL };
	char *envp[] = { pad, NULL };

	memset(pad + strlen(pad), 'x', sizeof(pad) - strlen(pad) - 1);
	CHECK(dup2(ready, READY_FD) == READY_FD);
	(void)execve("/proc/self/exe", argv, envp);
}

static void test_environment(void)
{
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct child c = child_new(stall_environment);
	char *text = NULL;

	CHECK_OK(op_target_new("/proc", &t));
	(void)alarm(HANG_S);
	/* Some kernels refuse such a page, some wait. */
	CHECK(op_environ_read(t, (uint32_t)c.pid, &text) <= 0);
	(void)alarm(0);
	child_end(&c);
	free(text);
}

/* ---- a file system that opens, and reads nothing but one file ---- */

static void reply(int fd, uint64_t unique, const void *body, size_t len)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len),
				       .unique = unique };
	uint8_t bytes[512];

	memcpy(bytes, &out, sizeof(out));
	if (len)
		memcpy(bytes + sizeof(out), body, len);
	CHECK(write(fd, bytes, out.len) == (ssize_t)out.len);
}

static const struct fuse_attr root_attr = { .ino = 1,
					    .mode = S_IFDIR | 0755,
					    .nlink = 2 };
static const struct fuse_attr file_attr = {
	.ino = 77, .mode = S_IFREG | 0755, .nlink = 1, .size = 1 << 20
};

static const struct fuse_attr read_attr = { .ino = 78,
					    .mode = S_IFREG | 0640,
					    .nlink = 1,
					    .uid = 65534,
					    .gid = 65533,
					    .mtime = 1000000000,
					    .size = 6 };

static void serve_files_of(int fd)
{
	static uint8_t in[1 << 20];

	for (;;) {
		const struct fuse_in_header *h = (const void *)in;
		const char *name = (const char *)(h + 1);
		ssize_t n = read(fd, in, sizeof(in));
		struct fuse_entry_out entry = { .nodeid = 2, .attr = file_attr };
		struct fuse_attr_out attr = { .attr_valid = 60 };
		struct fuse_open_out open = { .fh = 1 };
		struct fuse_statfs_out fs = { 0 };
		struct fuse_init_out init = {
			.major = 7, .minor = 31, .max_write = 4096, .max_readahead = 4096
		};

		if (n <= 0)
			return;
		if (h->opcode == FUSE_LOOKUP && strcmp(name, "closed") == 0)
			entry.nodeid = CLOSED_NODE;
		if (h->opcode == FUSE_LOOKUP && strcmp(name, "read") == 0)
			entry = (struct fuse_entry_out){ .nodeid = READ_NODE,
							 .attr = read_attr };
		attr.attr = h->nodeid == 1	     ? root_attr
			    : h->nodeid == READ_NODE ? read_attr
						     : file_attr;
		if (h->opcode == FUSE_INIT)
			reply(fd, h->unique, &init, sizeof(init));
		else if (h->opcode == FUSE_LOOKUP)
			reply(fd, h->unique, &entry, sizeof(entry));
		else if (h->opcode == FUSE_GETATTR)
			reply(fd, h->unique, &attr, sizeof(attr));
		else if (h->opcode == FUSE_OPEN || h->opcode == FUSE_OPENDIR)
			reply(fd, h->unique, &open, sizeof(open));
		else if (h->opcode == FUSE_STATFS)
			reply(fd, h->unique, &fs, sizeof(fs));
		else if (h->opcode == FUSE_READ && h->nodeid == READ_NODE)
			reply(fd, h->unique, "served", 6);
		else if (h->opcode == FUSE_FLUSH && h->nodeid >= CLOSED_NODE)
			reply(fd, h->unique, NULL, 0);
		/* Those of the other file wait for ever. */
	}
}

static void serve_files(int ready)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	/* Its mount is seen in its own namespace, below its own root. */
	if (fd < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		tell(ready, 0);
		return;
	}
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (mount("stalls", "/mnt", "fuse", MS_NOSUID, options) < 0) {
		tell(ready, 0);
		return;
	}
	tell(ready, 1);
	serve_files_of(fd);
}

static void test_file(void)
{
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct child c = child_new(serve_files);
	struct op_mapped_file f = {
		.start = PAGE, .end = 2 * PAGE, .inode = 77, .path = "/mnt/lib.so"
	};
	struct op_opened opened;
	char path[64];
	struct stat st;

	if (!c.addr) {
		(void)printf("SKIP: no FUSE here\n");
		child_end(&c);
		return;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/root/mnt", (int)c.pid);
	CHECK_OK(stat(path, &st));
	f.dev_major = major(st.st_dev);
	f.dev_minor = minor(st.st_dev);
	CHECK_OK(op_target_new("/proc", &t));
	CHECK(op_target_is_served(t)); /* as the kernel's list of connections tells */
	(void)alarm(HANG_S);
	CHECK_INT(op_target_open_mapped(t, (uint32_t)c.pid, &f, &opened), -ETIMEDOUT);
	/* Its own perf map would stall too. */
	CHECK_INT(op_target_open_own(t, (uint32_t)c.pid, "/mnt/perf-1.map", &opened),
		  -ETIMEDOUT);
	(void)alarm(0);
	child_end(&c);
}

/* A path of a recording leads to a file that a program serves: reads of it cannot hang, because it
 * is read before. */
static void test_copy(void)
{
	struct child c = child_new(serve_files);
	struct op_tasks tasks;
	char path[64], text[8] = "";
	struct stat st;
	int fd;

	if (!c.addr) {
		(void)printf("SKIP: no FUSE here\n");
		child_end(&c);
		return;
	}
	op_tasks_init(&tasks);
	(void)alarm(HANG_S);
	(void)snprintf(path, sizeof(path), "/proc/%d/root/mnt/read", (int)c.pid);
	CHECK_INT(op_task_open_regular(&tasks, path, OP_TASK_SERVED_REFUSE, NULL),
		  -EREMOTE);
	fd = op_task_open_regular(&tasks, path, OP_TASK_SERVED_COPY, NULL);
	CHECK(fd >= 0 && op_task_is_copy(fd));
	CHECK_OK(fstat(fd, &st));
	CHECK_INT(st.st_mode, S_IFREG | 0640);
	CHECK_INT(st.st_uid, 65534);
	CHECK_INT(st.st_gid, 65533);
	CHECK_INT(st.st_mtim.tv_sec, 1000000000);
	CHECK(pread(fd, text, sizeof(text), 0) == 6);
	CHECK_STR(text, "served");
	CHECK(pwrite(fd, "x", 1, 0) < 0);
	CHECK_OK(close(fd));
	/* All copies have one time. */
	tasks.copied_ns = OP_TASK_COPIES_NS - OP_NS_PER_S;
	(void)snprintf(path, sizeof(path), "/proc/%d/root/mnt/closed", (int)c.pid);
	CHECK_INT(op_task_open_regular(&tasks, path, OP_TASK_SERVED_COPY, NULL),
		  -ETIMEDOUT);
	CHECK_INT(tasks.copied_ns, OP_TASK_COPIES_NS);
	CHECK_INT(tasks.killed, 1);
	(void)snprintf(path, sizeof(path), "/proc/%d/root/mnt/read", (int)c.pid);
	CHECK_INT(op_task_open_regular(&tasks, path, OP_TASK_SERVED_COPY, NULL),
		  -EREMOTE);
	/* A disk has no copies. */
	fd = op_task_open_regular(&tasks, "/proc/self/exe", OP_TASK_SERVED_COPY, NULL);
	CHECK(fd >= 0 && !op_task_is_copy(fd));
	CHECK_OK(close(fd));
	(void)alarm(0);
	op_tasks_deinit(&tasks);
	child_end(&c);
}

/* A file system that answers not even a look-up. */
static void serve_no_name(int ready)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	tell(ready, fd >= 0 && unshare(CLONE_NEWNS) == 0 &&
			    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			    mount("stalls", "/mnt", "fuse", MS_NOSUID, options) == 0);
}

/* The path of a recording is given up after two seconds, and the rest at once after four of them. */
static void test_path(void)
{
	struct child c = child_new(serve_no_name);
	struct op_tasks tasks;
	char path[64];
	int i;

	if (!c.addr) {
		(void)printf("SKIP: no FUSE here\n");
		child_end(&c);
		return;
	}
	op_tasks_init(&tasks);
	(void)snprintf(path, sizeof(path), "/proc/%d/root/mnt/x", (int)c.pid);
	(void)alarm(2 * HANG_S);
	for (i = 0; i < 2 * OP_TASK_STALLS_MAX; i++)
		CHECK_INT(op_task_open_regular(&tasks, path, OP_TASK_SERVED_OPEN, NULL),
			  -ETIMEDOUT);
	CHECK_INT(tasks.killed, OP_TASK_STALLS_MAX);
	CHECK_INT(
		op_task_open_regular(&tasks, "/proc/self/exe", OP_TASK_SERVED_OPEN, NULL),
		-ETIMEDOUT);
	(void)alarm(0);
	/* What still hangs is left behind. */
	op_tasks_deinit(&tasks);
	child_end(&c);
}

TEST_MAIN({ "copy", test_copy }, { "path", test_path }, { "memory", test_memory },
	  { "locked", test_locked }, { "large", test_large }, { "gone", test_gone },
	  { "child", test_child }, { "many", test_many },
	  { "stalled_environment", stalled_environment },
	  { "environment", test_environment }, { "file", test_file })
