/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of a file by its device and inode, and for whom. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "process/image/executable.h"
#include "process/mappings/mappings.h"
#include "process/target/open.h"
#include "process/target/target.h"
#include "test.h"

enum {
	MAPPED_BYTES = 4096,
};

/* A file that this process has mapped. */
struct file {
	int fd;
	void *map;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	struct op_executable_place place;
};

static void write_text(int fd)
{
	char text[MAPPED_BYTES] = "no ELF file";

	CHECK_OK(ftruncate(fd, 0));
	CHECK(pwrite(fd, text, sizeof(text), 0) == sizeof(text));
}

static void write_program(int fd)
{
	int from = open("/bin/true", O_RDONLY | O_CLOEXEC);
	struct stat st;
	off_t at = 0;

	CHECK(from >= 0 && fstat(from, &st) == 0);
	CHECK_OK(ftruncate(fd, 0));
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	while (at < st.st_size)
		CHECK(sendfile(fd, from, &at, (size_t)(st.st_size - at)) > 0);
	CHECK_OK(close(from));
}

/* @fd is taken. */
static void map_file(int fd, struct file *f)
{
	struct stat st;

	f->fd = fd;
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	f->map = mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(f->map != MAP_FAILED);
	f->dev_major = major(st.st_dev);
	f->dev_minor = minor(st.st_dev);
	f->inode = st.st_ino;
	f->place = (struct op_executable_place){
		.pid = (uint32_t)getpid(),
		.start = (uintptr_t)f->map,
		.end = (uintptr_t)f->map + MAPPED_BYTES,
	};
}

static void unmap_file(struct file *f)
{
	CHECK_OK(munmap(f->map, MAPPED_BYTES));
	CHECK_OK(close(f->fd));
}

static int temporary(void)
{
	return open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0700);
}

static void begin(struct op_executables *x)
{
	memset(x, 0, sizeof(*x));
	op_executables_init(x);
	CHECK_OK(op_target_new("/proc", &x->target));
	x->now_ns = op_clock_monotonic_ns();
}

static void end(struct op_executables *x)
{
	op_executables_deinit(x);
	(void)op_target_free(x->target);
}

/* A number is given to another file when the first one is gone. */
static void test_number_of_another_file(void)
{
	struct op_executables x;
	struct op_executable *e;
	struct op_mapping v = { 0 };
	struct file f;
	int fd = temporary();

	begin(&x);
	CHECK(fd >= 0);
	write_text(fd);
	map_file(fd, &f);
	CHECK_OK(op_executable_get(&x, f.dev_major, f.dev_minor, f.inode, "/a", &e));
	CHECK_INT(op_executable_open(&x, e, &f.place, false), -ENOEXEC);
	v.exe = e;
	CHECK(op_mapping_is_made(&v));
	/* while somebody maps it, it is the same file */
	CHECK_OK(op_executable_get(&x, f.dev_major, f.dev_minor, f.inode, "/a", &v.exe));
	CHECK(v.exe == e && op_mapping_is_made(&v));
	op_executable_put(&x, e);
	op_executable_put(&x, e);
	write_program(fd);
	CHECK_OK(op_executable_get(&x, f.dev_major, f.dev_minor, f.inode, "/b", &v.exe));
	CHECK(!op_mapping_is_made(
		&v)); /* it is opened for its first sample, as any other */
	CHECK_OK(op_executable_open(&x, v.exe, &f.place, false));
	CHECK(v.exe->image && v.exe->state == OP_EXECUTABLE_READY);
	op_executable_put(&x, v.exe);
	unmap_file(&f);
	end(&x);
}

/* That a process is set aside, or that there is no time to wait, says nothing of a file. */
static void test_failures_of_others(void)
{
	pid_t child = fork();
	struct op_executable_place other;
	struct op_executables x;
	struct op_executable *e;
	struct file f;
	int fd;
	int i;

	CHECK(child >= 0);
	if (!child) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	begin(&x);
	fd = memfd_create("program", MFD_CLOEXEC); /* such a one is opened by the child */
	CHECK(fd >= 0);
	write_program(fd);
	map_file(fd, &f);
	CHECK_INT(f.dev_major, 0);
	CHECK_OK(op_executable_get(&x, f.dev_major, f.dev_minor, f.inode,
				   "/memfd:program", &e));
	other = f.place;
	other.pid = (uint32_t)child;
	CHECK_OK(op_map64_put(&x.target->aside, other.pid, UINT64_MAX));
	CHECK_INT(op_executable_open(&x, e, &other, false), -ETIMEDOUT);
	CHECK_INT(e->failures, 0);
	CHECK_INT(e->retry_ns, 0);
	for (i = 0; i < 8; i++) {
		x.target->may_wait_ns = 0;
		x.target->filled_ns = op_clock_monotonic_ns();
		CHECK_INT(op_executable_open(&x, e, &f.place, false), -EAGAIN);
		CHECK_INT(e->failures, 0);
		CHECK(e->retry_ns > x.now_ns && e->retry_ns - x.now_ns <= 100000000);
		x.now_ns = e->retry_ns;
	}
	x.target->may_wait_ns = OP_TARGET_WAIT_MAX_NS;
	CHECK_OK(op_executable_open(&x, e, &f.place, false));
	CHECK(e->image);
	op_executable_put(&x, e);
	unmap_file(&f);
	end(&x);
	CHECK_OK(kill(child, SIGKILL));
	CHECK(waitpid(child, NULL, 0) == child);
}

/* A process names its files as it likes. Only the kernel's own memory is none by its name. */
static void test_names_of_shared_memory(void)
{
	static const char *const names[] = { "/SYSV1", "/dev/zero (deleted)" };
	struct op_executables x;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct op_executable *e;
		struct op_executable *memory;
		struct file f;
		int fd = temporary();

		begin(&x);
		write_program(fd);
		map_file(fd, &f);
		CHECK_OK(op_executable_get(&x, f.dev_major, f.dev_minor, f.inode,
					   names[i], &e));
		CHECK_OK(op_executable_open(&x, e, &f.place, false));
		CHECK(e->image);
		op_executable_put(&x, e);
		unmap_file(&f);
		fd = memfd_create("memory", MFD_CLOEXEC);
		CHECK(fd >= 0);
		write_text(fd);
		map_file(fd, &f);
		CHECK_OK(op_executable_get(&x, f.dev_major, f.dev_minor, f.inode,
					   names[i], &memory));
		CHECK_INT(memory->state, OP_EXECUTABLE_FOREIGN);
		op_executable_put(&x, memory);
		CHECK_OK(op_executable_get(&x, f.dev_major, f.dev_minor, f.inode,
					   names[i], &memory));
		CHECK_INT(memory->state, OP_EXECUTABLE_FOREIGN);
		op_executable_put(&x, memory);
		unmap_file(&f);
		end(&x);
	}
}

TEST_MAIN({ "number", test_number_of_another_file },
	  { "failures", test_failures_of_others },
	  { "shared-memory", test_names_of_shared_memory })
