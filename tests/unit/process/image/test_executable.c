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
#include "patient.h"
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
	struct op_file_key key;
	struct op_executable_place place;
};

static void write_text(int fd)
{
	char text[MAPPED_BYTES] = "no ELF file";

	CHECK_OK(ftruncate(fd, 0));
	CHECK(pwrite(fd, text, sizeof(text), 0) == sizeof(text));
}

static void write_program(int fd, const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
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
	f->key = (struct op_file_key){ major(st.st_dev), minor(st.st_dev), st.st_ino, 0 };
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
	be_patient(x->target);
	x->now_ns = op_clock_monotonic_ns();
	x->realtime_offset_ns = op_clock_monotonic_offset_ns();
}

/* Find the file of @f as a mapping made now has it, under @path. */
static struct op_claim claim(struct op_executables *x, struct file *f, const char *path,
			     struct op_executable **ret)
{
	struct op_claim made;

	(void)usleep(20000); /* file systems set times by the ticks of the clock */
	x->now_ns = op_clock_monotonic_ns();
	CHECK_OK(op_executable_get(x, &f->key, path, ret));
	made = op_claim_of(*ret, &f->key, path, x->now_ns);
	(void)usleep(20000);
	x->now_ns = op_clock_monotonic_ns();
	return made;
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
	CHECK_OK(op_executable_get(&x, &f.key, "/a/prog", &e));
	CHECK_INT(op_executable_open(&x, e, &f.place, false), -ENOEXEC);
	v.exe = e;
	CHECK(op_mapping_is_made(&v));
	/* while somebody maps it, it is the same file */
	CHECK_OK(op_executable_get(&x, &f.key, "/a/prog", &v.exe));
	CHECK(v.exe == e && op_mapping_is_made(&v));
	op_executable_put(&x, e);
	op_executable_put(&x, e);
	write_program(fd, "/bin/true");
	v.claim = claim(&x, &f, "/b/prog", &v.exe);
	CHECK(op_mapping_is_doubted(&v));
	CHECK_INT(op_claim_settle(&x, &v.exe, &f.place, &v.claim), 1);
	CHECK(v.exe != e && !op_mapping_is_doubted(&v));
	CHECK(!op_mapping_is_made(
		&v)); /* it is opened for its first sample, as any other */
	CHECK_OK(op_executable_open(&x, v.exe, &f.place, false));
	CHECK(v.exe->image && v.exe->state == OP_EXECUTABLE_READY);
	op_executable_put(&x, v.exe);
	unmap_file(&f);
	end(&x);
}

/* A file is rewritten, while somebody is thought to map it: whoever mapped it before has what
 * was there, whoever maps it after has what is there. */
static void test_rewritten_while_held(void)
{
	struct op_executable_place gone;
	struct op_executables x;
	struct op_executable *first;
	struct op_executable *e;
	struct op_claim before;
	struct op_claim after;
	struct op_claim again;
	struct file f;
	int fd = temporary();

	begin(&x);
	CHECK(fd >= 0);
	write_program(fd, "/bin/true");
	map_file(fd, &f);
	before = claim(&x, &f, "/a/prog", &first);
	f.place.claim = &before;
	CHECK_OK(op_executable_open(&x, first, &f.place, false));
	/* mapped before it was compared, by a process that has ended */
	gone = f.place;
	gone.gone = true;
	CHECK_OK(op_executable_open(&x, first, &gone, false));
	write_program(fd, "/bin/cat");
	after = claim(&x, &f, "/a/prog", &e);
	CHECK(e == first && op_claim_is_doubted(e, &after));
	gone.claim = f.place.claim = &after;
	CHECK_INT(op_executable_open(&x, e, &gone, false), -ESTALE);
	CHECK_INT(op_executable_open(&x, e, &f.place, false), -ESTALE);
	CHECK_INT(op_claim_settle(&x, &e, &f.place, &after), 1);
	CHECK(e != first && !op_claim_is_doubted(e, &after));
	CHECK_OK(op_executable_open(&x, e, &f.place, false));
	CHECK(e->image != first->image && e->stamp.size != first->stamp.size);
	CHECK(!op_claim_is_doubted(first, &before));
	/* the next process finds the new one at once, and need not look */
	op_executable_put(&x, e);
	again = claim(&x, &f, "/a/prog", &e);
	CHECK(e != first && op_claim_is_doubted(e, &again));
	f.place.claim = &again;
	CHECK_INT(op_claim_settle(&x, &e, &f.place, &again), 0);
	/* of one that ended before anybody looked nothing is known */
	op_executable_put(&x, e);
	op_executable_put(&x, first);
	unmap_file(&f);
	end(&x);
}

/* The time of a change is that of the tick before it. Who mapped the file since then, and has it no
 * longer, may have had the older content. */
static void test_mapped_within_a_tick(void)
{
	char path[] = "/tmp/otelprof-tick-XXXXXX";
	struct op_executable_place gone;
	struct op_executables x;
	struct op_executable *e;
	struct op_claim early;
	struct op_claim late;
	struct stat st;
	struct file f;
	uint64_t changed_ns;
	int fd = mkostemp(path, O_CLOEXEC);

	begin(&x);
	CHECK(fd >= 0);
	write_program(fd, "/bin/true");
	map_file(fd, &f);
	CHECK_OK(fstat(fd, &st));
	changed_ns = (uint64_t)(st.st_ctim.tv_sec * INT64_C(1000000000) +
				st.st_ctim.tv_nsec - x.realtime_offset_ns);
	late = claim(&x, &f, path, &e);
	early = op_claim_of(e, &f.key, path, changed_ns + 5000000);
	gone = f.place;
	gone.gone = true;
	gone.claim = &early;
	CHECK_INT(op_executable_open(&x, e, &gone, false), -ESRCH);
	CHECK(!e->image);
	x.now_ns = OP_MAX(x.now_ns, e->retry_ns);
	gone.claim = &late;
	CHECK_OK(op_executable_open(&x, e, &gone, false));
	CHECK(!op_claim_is_doubted(e, &late));
	gone.claim = &early;
	CHECK_INT(op_executable_open(&x, e, &gone, false), -ESTALE);
	/* what ran then, too, if it was mapped before */
	CHECK(!op_claim_is_rewritten(e, &early, changed_ns + 5000000));
	early.mapped_ns = changed_ns - 1;
	CHECK(op_claim_is_rewritten(e, &early, changed_ns + 5000000));
	CHECK(!op_claim_is_rewritten(e, &early, changed_ns + 20000000));
	/* it is still mapped */
	CHECK_INT(op_claim_settle(&x, &e, &f.place, &early), 0);
	CHECK(!op_claim_is_doubted(e, &early));
	op_executable_put(&x, e);
	CHECK_OK(unlink(path));
	unmap_file(&f);
	end(&x);
}

/* A mapping was compared, and its content is not read yet. Then the process ended, and the file was
 * written again: what it has now is not what was mapped. */
static void test_compared_and_written_again(void)
{
	char path[] = "/tmp/otelprof-again-XXXXXX";
	struct op_executable_place gone;
	struct op_executables x;
	struct op_executable *first;
	struct op_executable *e;
	struct op_claim before;
	struct op_claim after;
	struct file f;
	int fd = mkostemp(path, O_CLOEXEC);

	begin(&x);
	CHECK(fd >= 0);
	write_program(fd, "/bin/true");
	map_file(fd, &f);
	before = claim(&x, &f, path, &first);
	f.place.claim = &before;
	CHECK_OK(op_executable_open(&x, first, &f.place, false));
	write_program(fd, "/bin/cat");
	after = claim(&x, &f, path, &e);
	CHECK_INT(op_claim_settle(&x, &e, &f.place, &after), 1);
	write_program(fd, "/bin/ls");
	gone = f.place;
	gone.gone = true;
	gone.claim = &after;
	CHECK_INT(op_executable_open(&x, e, &gone, false), -ESRCH);
	CHECK(!e->image);
	op_executable_put(&x, e);
	op_executable_put(&x, first);
	CHECK_OK(unlink(path));
	unmap_file(&f);
	end(&x);
}

/* A process ended, and the path of a known file leads nowhere. The file's handle tells that it
 * is the same, or was written. */
static void test_known_without_a_path(void)
{
	char path[] = "/tmp/otelprof-handle-XXXXXX";
	struct op_executable_place gone;
	struct op_executables x;
	struct op_executable *known;
	struct op_executable *e;
	struct op_claim first;
	struct op_claim later;
	struct file f;
	int fd = mkostemp(path, O_CLOEXEC);
	int r;

	begin(&x);
	CHECK(fd >= 0);
	write_program(fd, "/bin/true");
	map_file(fd, &f);
	first = claim(&x, &f, "/a/prog", &known);
	f.place.claim = &first;
	CHECK_OK(op_executable_open(&x, known, &f.place, false));
	gone = f.place;
	gone.gone = true;
	later = claim(&x, &f, "/a/prog", &e);
	CHECK(e == known && op_claim_is_doubted(e, &later));
	gone.claim = &later;
	r = op_claim_settle(&x, &e, &gone, &later);
	if (!known->handle.bytes)
		SKIP("/tmp is not on the disk of the root, or no CAP_DAC_READ_SEARCH");
	CHECK_INT(r, 0);
	CHECK(!op_claim_is_doubted(e, &later));
	op_executable_put(&x, e);
	write_program(fd, "/bin/cat");
	later = claim(&x, &f, "/a/prog", &e);
	CHECK_INT(op_claim_settle(&x, &e, &gone, &later), 1);
	CHECK(e != known);
	op_executable_put(&x, e);
	op_executable_put(&x, known);
	CHECK_OK(unlink(path));
	unmap_file(&f);
	end(&x);
}

/* A file was opened in the tick of its last change, so its handle is known since then. Who mapped it
 * in that tick, and has ended, may have had other content. */
static void test_handle_within_a_tick(void)
{
	char path[] = "/tmp/otelprof-early-XXXXXX";
	struct op_executable_place gone;
	struct op_executables x;
	struct op_executable *e;
	struct op_claim early;
	struct op_claim first;
	struct file f;
	int fd = mkostemp(path, O_CLOEXEC);

	begin(&x);
	CHECK(fd >= 0);
	write_program(fd, "/bin/true");
	map_file(fd, &f);
	x.now_ns = op_clock_monotonic_ns();
	CHECK_OK(op_executable_get(&x, &f.key, path, &e));
	first = op_claim_of(e, &f.key, path, x.now_ns);
	f.place.claim = &first;
	CHECK_OK(op_executable_open(&x, e, &f.place, false));
	early = op_claim_of(e, &f.key, path, e->handle_ns + 1);
	if (early.mapped_ns >= e->same_since_ns || !e->handle.bytes)
		SKIP("the file was not opened within a tick, or it has no handle");
	(void)usleep(20000);
	x.now_ns = op_clock_monotonic_ns();
	gone = f.place;
	gone.gone = true;
	gone.claim = &early;
	CHECK_INT(op_executable_open(&x, e, &gone, false), -ESTALE);
	op_executable_put(&x, e);
	CHECK_OK(unlink(path));
	unmap_file(&f);
	end(&x);
}

static bool map_waits(void *ctx, uint64_t start, uint64_t end, uint64_t inode)
{
	return *(bool *)ctx && start < end && inode;
}

/* Another file got the number and the place of one that was mapped, and the event waits: what is
 * mapped there now says nothing about what was. */
static void test_replaced_before_its_event(void)
{
	struct op_executables x;
	struct op_executable *known;
	struct op_executable *e;
	struct op_claim old;
	struct op_claim new;
	struct file f;
	bool wait = true;
	int fd = temporary();

	begin(&x);
	CHECK(fd >= 0);
	write_program(fd, "/bin/true");
	map_file(fd, &f);
	old = claim(&x, &f, "/a/prog", &e);
	write_program(fd, "/bin/cat");
	f.place.claim = &old;
	x.map_waits = map_waits;
	x.events_ctx = &wait;
	CHECK_INT(op_executable_open(&x, e, &f.place, false), -ESRCH);
	CHECK(!e->image);
	/* once it was read, the old mapping is gone; here it was no event of this process */
	wait = false;
	x.now_ns = e->retry_ns;
	new = claim(&x, &f, "/a/prog", &known);
	CHECK(known == e);
	f.place.claim = &new;
	wait = true;
	CHECK_OK(op_executable_open(&x, e, &f.place, false));
	CHECK(e->image);
	/* the same of a file that is known */
	f.place.claim = &old;
	CHECK(op_claim_is_doubted(e, &old));
	CHECK_INT(op_claim_settle(&x, &e, &f.place, &old), -ESTALE);
	wait = false;
	CHECK_INT(op_claim_settle(&x, &e, &f.place, &old), 0);
	op_executable_put(&x, known);
	op_executable_put(&x, e);
	unmap_file(&f);
	end(&x);
}

/* Several files have one inode at one time: their paths differ, and what is mapped tells. */
static void test_two_of_one_number(void)
{
	struct op_executables x;
	struct op_executable *one;
	struct op_executable *two;
	struct op_executable *e;
	struct op_claim c;
	struct file f, g;

	begin(&x);
	f.fd = temporary();
	write_program(f.fd, "/bin/true");
	map_file(f.fd, &f);
	g.fd = temporary();
	write_program(g.fd, "/bin/cat");
	map_file(g.fd, &g);
	c = claim(&x, &f, "/a/prog", &one);
	f.place.claim = &c;
	CHECK_OK(op_executable_open(&x, one, &f.place, false));
	/* the mapping of g, whose number is said to be that of f */
	CHECK_OK(op_executable_get(&x, &f.key, "/b/prog", &e));
	c = op_claim_of(e, &f.key, "/b/prog", one->same_until_ns);
	CHECK(e == one && op_claim_is_doubted(e, &c));
	op_executable_put(&x, e);
	/* a generation that differs is another file's, of a known one the path decides */
	f.key.generation = 1;
	CHECK_OK(op_executable_get(&x, &f.key, "/c/prog", &e));
	CHECK(e == one);
	one->key.generation = 1;
	f.key.generation = 2;
	CHECK_OK(op_executable_get(&x, &f.key, "/a/prog", &two));
	CHECK(two != one);
	f.key.generation = 0;
	op_executable_put(&x, e);
	CHECK_OK(op_executable_get(&x, &f.key, "/a/prog (deleted)", &e));
	CHECK(e == two);
	op_executable_put(&x, e);
	op_executable_put(&x, two);
	op_executable_put(&x, one);
	unmap_file(&f);
	unmap_file(&g);
	end(&x);
}

/* A process was compared, and the content of its file is not read yet. Another one maps
 * another file of that number: it is compared too, and what it has does not become the
 * first one's. */
static void test_compared_and_not_read(void)
{
	struct op_executables x;
	struct op_executable *first, *second, *e;
	struct op_claim c;
	struct file f;

	begin(&x);
	f.fd = temporary();
	write_program(f.fd, "/bin/true");
	map_file(f.fd, &f);
	c = claim(&x, &f, "/a/prog", &first);
	f.place.claim = &c;
	CHECK_OK(op_executable_open(&x, first, &f.place, false));
	write_program(f.fd, "/bin/cat");
	c = claim(&x, &f, "/a/prog", &second);
	CHECK_INT(op_claim_settle(&x, &second, &f.place, &c), 1);
	CHECK(second != first && !second->image);
	CHECK(!op_claim_is_doubted(second, &c));
	write_program(f.fd, "/bin/ls");
	c = claim(&x, &f, "/a/prog", &e);
	CHECK(e == second && op_claim_is_doubted(e, &c));
	CHECK_INT(op_executable_open(&x, e, &f.place, false), -ESTALE);
	CHECK_INT(op_claim_settle(&x, &e, &f.place, &c), 1);
	CHECK(e != first && e != second);
	CHECK_OK(op_executable_open(&x, e, &f.place, false));
	CHECK(!second->image && e->stamp.size != second->stamp.size);
	op_executable_put(&x, e);
	op_executable_put(&x, second);
	op_executable_put(&x, first);
	unmap_file(&f);
	end(&x);
}

/* btrfs has one device for all its subvolumes in mappings, and stat() has one for each.
 * There the same path and times say nothing, as another process may have another
 * subvolume there. */
static void test_device_of_several_files(void)
{
	struct op_executables x;
	struct op_executable *one;
	struct op_claim c;
	struct file f;

	begin(&x);
	f.fd = temporary();
	write_program(f.fd, "/bin/true");
	map_file(f.fd, &f);
	c = claim(&x, &f, "/a/prog", &one);
	f.place.claim = &c;
	CHECK_OK(op_executable_open(&x, one, &f.place, false));
	c = op_claim_of(one, &f.key, "/a/prog", one->same_until_ns);
	CHECK(!op_claim_is_doubted(one, &c));
	one->stamp.dev++;
	CHECK(op_claim_is_doubted(one, &c));
	/* what is mapped tells, and here it is no file of that device */
	CHECK_INT(op_claim_settle(&x, &one, &f.place, &c), 1);
	op_executable_put(&x, one);
	/* a snapshot has the same generation as well */
	CHECK_OK(op_executable_get(&x, &f.key, "/a/prog", &one));
	CHECK_OK(op_executable_open(&x, one, &f.place, false));
	one->stamp.dev++;
	one->key.generation = f.key.generation = 7;
	c = op_claim_of(one, &f.key, "/a/prog", one->same_until_ns);
	CHECK(c.numbered && op_claim_is_doubted(one, &c));
	op_executable_put(&x, one);
	unmap_file(&f);
	end(&x);
}

/* A number went from a file of one user to one of another, with the same bytes: what was
 * made of the first is not used for the second. Of one user they share it. */
static void test_number_of_another_user(void)
{
	struct op_executables x;
	struct op_executable *e[3];
	struct op_claim c;
	struct file f;
	int fd = temporary();
	size_t i;

	begin(&x);
	CHECK(fd >= 0);
	write_program(fd, "/bin/true");
	map_file(fd, &f);
	f.place.claim = &c;
	for (i = 0; i < 3; i++) {
		if (fchown(fd, i < 2 ? getuid() : 65534, (gid_t)-1) < 0)
			SKIP("no CAP_CHOWN");
		c = claim(&x, &f, "/a/prog", &e[i]);
		if (i) {
			CHECK(op_claim_is_doubted(e[i], &c));
			CHECK_INT(op_claim_settle(&x, &e[i], &f.place, &c), 1);
			CHECK(e[i] != e[i - 1]);
		}
		CHECK_OK(op_executable_open(&x, e[i], &f.place, false));
	}
	CHECK(e[1]->image == e[0]->image);
	CHECK(e[2]->image != e[0]->image);
	CHECK(!op_image_may_read(e[0]->image, &e[2]->stamp));
	for (i = 0; i < 3; i++)
		op_executable_put(&x, e[i]);
	unmap_file(&f);
	end(&x);
}

/* One file under two names, by a hard link or as a copy: two modules, each of its programs. Under one
 * name it is shared, wherever it lies. */
static void test_two_names_of_one_file(void)
{
	static const struct {
		const char *path;
		bool same; /* as the first */
	} NAMES[] = { { "/a/one", true },
		      { "/a/two", false },
		      { "/b/one (deleted)", true },
		      { "/a/on", false },
		      { "/a/one2", false } };
	struct op_executable *first, *e, *copied;
	struct op_executables x;
	struct file f, g;
	size_t i;

	begin(&x);
	f.fd = temporary();
	write_program(f.fd, "/bin/true");
	map_file(f.fd, &f);
	CHECK_OK(op_executable_get(&x, &f.key, "/a/one", &first));
	CHECK_OK(op_executable_open(&x, first, &f.place, false));
	CHECK_STR(first->image->file, "one");
	for (i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		CHECK_OK(op_executable_get(&x, &f.key, NAMES[i].path, &e));
		CHECK_INT(e == first, NAMES[i].same);
		CHECK_OK(op_executable_open(&x, e, &f.place, false));
		CHECK_INT(e->image == first->image, NAMES[i].same);
		CHECK(NAMES[i].same || strcmp(e->image->file, "one") != 0);
		op_executable_put(&x, e);
	}
	/* copies of the same owner */
	for (i = 0; i < 2; i++) {
		g.fd = temporary();
		write_program(g.fd, "/bin/true");
		map_file(g.fd, &g);
		CHECK_OK(op_executable_get(&x, &g.key, i ? "/c/one" : "/c/two", &copied));
		CHECK_OK(op_executable_open(&x, copied, &g.place, false));
		CHECK_INT(copied->image == first->image, i);
		op_executable_put(&x, copied);
		unmap_file(&g);
	}
	op_executable_put(&x, first);
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
	write_program(fd, "/bin/true");
	map_file(fd, &f);
	CHECK_INT(f.key.dev_major, 0);
	CHECK_OK(op_executable_get(&x, &f.key, "/memfd:program", &e));
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
		write_program(fd, "/bin/true");
		map_file(fd, &f);
		CHECK_OK(op_executable_get(&x, &f.key, names[i], &e));
		CHECK_OK(op_executable_open(&x, e, &f.place, false));
		CHECK(e->image);
		op_executable_put(&x, e);
		unmap_file(&f);
		fd = memfd_create("memory", MFD_CLOEXEC);
		CHECK(fd >= 0);
		write_text(fd);
		map_file(fd, &f);
		CHECK_OK(op_executable_get(&x, &f.key, names[i], &memory));
		CHECK_INT(memory->state, OP_EXECUTABLE_FOREIGN);
		op_executable_put(&x, memory);
		CHECK_OK(op_executable_get(&x, &f.key, names[i], &memory));
		CHECK_INT(memory->state, OP_EXECUTABLE_FOREIGN);
		op_executable_put(&x, memory);
		unmap_file(&f);
		end(&x);
	}
}

/* Code that a process writes to a memfd is that process's, whatever it writes later. */
static void test_code_in_a_memfd(void)
{
	struct op_executables x;
	struct op_executable *e;
	struct op_mapping v = { 0 };
	struct file f;
	int fd = memfd_create("code", MFD_CLOEXEC);

	begin(&x);
	CHECK(fd >= 0);
	write_text(fd);
	map_file(fd, &f);
	CHECK_OK(op_executable_get(&x, &f.key, "/memfd:code", &e));
	CHECK_INT(op_executable_open(&x, e, &f.place, false), -ENOEXEC);
	write_text(fd);
	v.claim = claim(&x, &f, "/memfd:code (deleted)", &v.exe);
	CHECK(v.exe == e && op_mapping_is_made(&v) && !op_mapping_is_doubted(&v));
	op_executable_put(&x, v.exe);
	op_executable_put(&x, e);
	unmap_file(&f);
	end(&x);
}

TEST_MAIN({ "number", test_number_of_another_file },
	  { "rewritten", test_rewritten_while_held },
	  { "within-a-tick", test_mapped_within_a_tick },
	  { "written-again", test_compared_and_written_again },
	  { "without-a-path", test_known_without_a_path },
	  { "handle-within-a-tick", test_handle_within_a_tick },
	  { "replaced", test_replaced_before_its_event },
	  { "two-of-one", test_two_of_one_number },
	  { "not-read", test_compared_and_not_read },
	  { "device", test_device_of_several_files },
	  { "another-user", test_number_of_another_user },
	  { "two-names", test_two_names_of_one_file },
	  { "failures", test_failures_of_others },
	  { "shared-memory", test_names_of_shared_memory },
	  { "memfd", test_code_in_a_memfd })
