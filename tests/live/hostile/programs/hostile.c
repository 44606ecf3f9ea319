/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that mean harm: hostile KIND [FILE...]. Each tells "ready", then uses a processor
 * for as long as it lives.
 *
 *   stall            a process context whose payload is a page that is never served, and an
 *                    environment like it
 *   swap A B         maps A's text and then B's at the same place, for ever, running in it
 *   flood            stacks of addresses that meet in one place of a map without a seed
 *   jit MAP UID      code without a file; a perf map MAP that belongs to UID
 *   burn             nothing more: what is forged is in its environment
 *   storm            2 GiB of pages, which each of its forks locks and copies
 *   maps FILE        ten processes that map code of FILE 65,000 times each
 *   inodes DIR A B   copies of A and B in DIR by turns, each under a number that is free again
 */
#include <err.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	FRAMES = 900,
	COLLIDING_BITS = 14,
	MAPS = 65000, /* the kernel's limit is 65,530 */
	MAPPERS = 10,
	COPIES = 64,
};

static const size_t STORM_BYTES = (size_t)2 << 30;

static void ready(void)
{
	(void)printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
}

static __attribute__((noinline)) void burn(unsigned int n)
{
	volatile unsigned int x = n;

	while (--n)
		x = x * 1664525u + n;
}

static void burn_for_ever(void)
{
	for (;;)
		burn(1000000);
}

/* Each touch of [@p, @p + PAGE) waits for ever. */
static void stall_page(void *p)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		err(77, "userfaultfd");
	if (ioctl(fd, UFFDIO_API, &api) < 0)
		err(1, "UFFDIO_API");
	range.range.start = (uintptr_t)p;
	range.range.len = PAGE;
	if (ioctl(fd, UFFDIO_REGISTER, &range) < 0)
		err(1, "UFFDIO_REGISTER");
}

static void *map(size_t len, int prot)
{
	void *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

/* OTEP 4719's header, as an SDK publishes it. */
static void publish_context(void *payload)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	uint32_t version = 2;
	uint32_t bytes = 64;
	uint64_t published = 1;
	uint64_t at = (uintptr_t)payload;
	uint8_t *p;

	if (fd < 0 || ftruncate(fd, PAGE) < 0)
		err(1, "memfd");
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	memcpy(p, "OTEL_CTX", 8);
	memcpy(p + 8, &version, 4);
	memcpy(p + 12, &bytes, 4);
	memcpy(p + 24, &at, 8);
	memcpy(p + 16, &published, 8);
}

static void stall(void)
{
	const char *pad = getenv("PAD");
	uintptr_t page = ((uintptr_t)pad + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	void *payload = map(PAGE, PROT_READ | PROT_WRITE);

	stall_page(payload);
	publish_context(payload);
	if (pad && munmap((void *)page, PAGE) == 0 &&
	    mmap((void *)page, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)page)
		stall_page((void *)page);
	ready();
	burn_for_ever();
}

/* The offset of a page with a "ret" in the text of a file. */
static off_t find_ret(int fd, size_t *ret)
{
	uint8_t page[PAGE];
	off_t off;

	for (off = PAGE; pread(fd, page, PAGE, off) == PAGE; off += PAGE) {
		const uint8_t *at = memchr(page, 0xc3, PAGE);

		if (!at)
			continue;
		*ret = (size_t)(at - page);
		return off;
	}
	errx(1, "no text");
}

static void swap(const char *first, const char *second)
{
	int a = open(first, O_RDONLY | O_CLOEXEC);
	int b = open(second, O_RDONLY | O_CLOEXEC);
	uint8_t *at = map(PAGE, PROT_READ);
	size_t in = 0;
	off_t off;
	int n;

	if (a < 0 || b < 0)
		err(1, "open");
	off = find_ret(a, &in);
	ready();
	for (n = 0;; n++) {
		void (*fn)(void) = (void (*)(void))(uintptr_t)(at + in);
		int i;

		if (mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, a,
			 off) != at ||
		    mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, b,
			 off) != at)
			err(1, "mmap");
		for (i = 0; i < 200000; i++)
			fn();
		(void)usleep(1000);
	}
}

static void storm(void)
{
	uint8_t *pages = map(STORM_BYTES, PROT_READ | PROT_WRITE);
	size_t i;

	(void)madvise(pages, STORM_BYTES, MADV_NOHUGEPAGE);
	for (i = 0; i < STORM_BYTES; i += PAGE)
		pages[i] = 1;
	ready();
	for (;;) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		burn(pid ? 3000000 : 300000);
		if (!pid)
			_exit(0);
		(void)waitpid(pid, NULL, 0);
	}
}

static void maps(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int done[2];
	char told;
	char c;
	int i;

	if (fd < 0 || pipe(done) < 0)
		err(1, "%.40s", path);
	for (i = 1; i < MAPPERS && fork() != 0; i++)
		continue;
	(void)prctl(PR_SET_PDEATHSIG, 9);
	c = i == MAPPERS ? 'p' : 'c';
	/* neighbours of one offset are not merged */
	for (i = 0; i < MAPS; i++)
		if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
		    MAP_FAILED)
			err(1, "mapping number %d", i);
	if (c == 'c' && write(done[1], &c, 1) != 1)
		err(1, "write");
	for (i = 1; c == 'p' && i < MAPPERS; i++)
		if (read(done[0], &told, 1) != 1)
			err(1, "read");
	if (c == 'p')
		ready();
	burn_for_ever();
}

static void copy(int from, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;
	off_t at = 0;

	if (fd < 0 || fstat(from, &st) < 0)
		err(1, "%s", path);
	while (at < st.st_size)
		if (sendfile(fd, from, &at, (size_t)(st.st_size - at)) <= 0)
			err(1, "sendfile");
	(void)close(fd);
}

static void inodes(const char *folder, const char *first, const char *second)
{
	const int from[2] = { open(first, O_RDONLY | O_CLOEXEC),
			      open(second, O_RDONLY | O_CLOEXEC) };
	char path[4096];
	size_t in = 0;
	off_t off;
	int n;

	if (from[0] < 0 || from[1] < 0)
		err(1, "open");
	off = find_ret(from[0], &in);
	ready();
	for (n = 0;; n++) {
		void (*fn)(void);
		uint8_t *at;
		int fd;
		int i;

		(void)snprintf(path, sizeof(path), "%s/copy%d", folder, n % COPIES);
		(void)unlink(path);
		copy(from[n % 2], path);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, off);
		if (fd < 0 || at == MAP_FAILED)
			err(1, "%s", path);
		fn = (void (*)(void))(uintptr_t)(at + in);
		for (i = 0; i < 200000; i++)
			fn();
		(void)munmap(at, PAGE);
		(void)close(fd);
	}
}

/* Keys that an unseeded mixing of the kind of murmur's puts in one place. */
static uint64_t unmix(uint64_t h)
{
	/* the inverse of 0xd6e8feb86659fd93 modulo 2^64 */
	const uint64_t inverse = UINT64_C(0xcfee444d8b59a89b);

	h ^= h >> 32;
	h *= inverse;
	h ^= h >> 32;
	h *= inverse;
	h ^= h >> 32;
	return h;
}

/* Code that spins with the frame pointer it is given: mov %rdi,%rbp; 1: dec %rsi; jnz 1b. */
static const uint8_t spin_code[] = { 0x55, 0x48, 0x89, 0xfd, 0x48, 0xff,
				     0xce, 0x75, 0xfb, 0x5d, 0xc3 };

typedef void (*spin_fn)(void *frame, uint64_t n);

static spin_fn make_spin(void)
{
	uint8_t *p = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);

	memcpy(p, spin_code, sizeof(spin_code));
	return (spin_fn)(uintptr_t)p;
}

static void flood(void)
{
	const size_t len = (size_t)1 << 30;
	uint8_t *code = mmap(NULL, len, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	spin_fn spin = make_spin();
	uint64_t(*frame)[2];
	uint64_t low = 0;
	size_t at = 0;

	if (code == MAP_FAILED)
		err(1, "mmap");
	frame = malloc((FRAMES + 1) * sizeof(*frame));
	if (!frame)
		err(1, "malloc");
	ready();
	for (;;) {
		uint64_t addr = unmix(low << COLLIDING_BITS);

		low++;
		/* Where it does not lie in the code, near enough: some thousand meet. */
		addr = (uintptr_t)code + (addr & (len - 1));
		frame[at][0] = (uintptr_t)&frame[at + 1];
		frame[at][1] = addr | 1;
		if (++at < FRAMES)
			continue;
		frame[at][0] = frame[at][1] = 0;
		at = 0;
		spin(frame, 20000000);
	}
}

static void jit(const char *perf_map, const char *owner)
{
	spin_fn spin = make_spin();
	char name[64];
	FILE *f;

	(void)snprintf(name, sizeof(name), "%s%d.map", perf_map, (int)getpid());
	f = fopen(name, "we");
	if (!f || fprintf(f, "%lx 1000 FORGED\n", (unsigned long)(uintptr_t)spin) < 0 ||
	    fclose(f) != 0 || chmod(name, 0644) < 0 ||
	    chown(name, (uid_t)atoi(owner), 0) < 0)
		err(1, "%s", name);
	/* Another user's now, as any process's perf map may be. */
	if (setresuid(1001, 1001, 1001) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		err(1, "setresuid");
	ready();
	for (;;)
		spin(__builtin_frame_address(0), 1000000);
}

int main(int argc, char **argv)
{
	(void)prctl(PR_SET_PDEATHSIG, 9);
	if (argc > 1 && !strcmp(argv[1], "stall"))
		stall();
	else if (argc > 3 && !strcmp(argv[1], "swap"))
		swap(argv[2], argv[3]);
	else if (argc > 1 && !strcmp(argv[1], "flood"))
		flood();
	else if (argc > 3 && !strcmp(argv[1], "jit"))
		jit(argv[2], argv[3]);
	else if (argc > 1 && !strcmp(argv[1], "storm"))
		storm();
	else if (argc > 2 && !strcmp(argv[1], "maps"))
		maps(argv[2]);
	else if (argc > 4 && !strcmp(argv[1], "inodes"))
		inodes(argv[2], argv[3], argv[4]);
	else if (argc > 1 && !strcmp(argv[1], "burn")) {
		ready();
		burn_for_ever();
	}
	errx(1, "usage: hostile stall | swap A B | flood | jit MAP UID | burn | storm | "
		"maps FILE | inodes DIR A B");
}
