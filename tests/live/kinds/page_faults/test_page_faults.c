/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page faults end to end. A child faults a known number of times in three known functions:
 * in user code, in the kernel at a system call's buffer, and on a file that is not in
 * memory. getrusage(2) of the child says how often; the profile must say the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "test.h"

enum {
	PAGE = 4096,
	USER_PAGES = 1500,
	KERNEL_PAGES = 700,
	FILE_PAGES = 64,
	POLLS_MIN = 3,
	POLLS_MAX = 1000, /* a poll ends with its budget */
	FIRST_ROUNDS = 3,
};

enum place {
	USER = 'u',
	KERNEL = 'k',
	FILE_BACKED = 'f'
};

struct counts {
	long minor;
	long major;
};

/* ---- the child ---- */

static void *fresh(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		(void)madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	return p;
}

static PLACE void faults_in_user_code(volatile char *p)
{
	size_t i;

	for (i = 0; i < USER_PAGES; i++)
		p[i * PAGE] = 1;
}

static PLACE void faults_in_the_kernel(char *p, int zero)
{
	size_t i;

	for (i = 0; i < KERNEL_PAGES; i++)
		(void)syscall(SYS_read, zero, p + i * PAGE, 1);
}

static PLACE int faults_on_a_file(const volatile char *p)
{
	int sum = 0;
	size_t i;

	for (i = 0; i < FILE_PAGES; i++)
		sum += p[i * PAGE];
	return sum;
}

static const char *map_file(int fd)
{
	void *p;

	if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return NULL;
	p = mmap(NULL, FILE_PAGES * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* no page comes in before it is asked for */
	(void)madvise(p, FILE_PAGES * PAGE, MADV_RANDOM);
	return p;
}

static struct counts since(const struct rusage *a)
{
	struct rusage b;

	(void)getrusage(RUSAGE_SELF, &b);
	return (struct counts){ b.ru_minflt - a->ru_minflt, b.ru_majflt - a->ru_majflt };
}

static int mapped_file; /* of the child, open */

/* Do what the parent asks and say how many faults it took. */
static void serve(int from, int to)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct counts counts = { 0 };
	struct rusage before;
	char place;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "op-faults");
	/* everything once, so that the code itself is in memory */
	faults_in_user_code(fresh(USER_PAGES));
	faults_in_the_kernel(fresh(KERNEL_PAGES), zero);
	while (read(from, &place, 1) == 1) {
		char *p = place == FILE_BACKED ? (char *)map_file(mapped_file)
					       : fresh(USER_PAGES);

		(void)getrusage(RUSAGE_SELF, &before);
		(void)since(&before);
		(void)getrusage(RUSAGE_SELF, &before);
		if (place == USER)
			faults_in_user_code(p);
		else if (place == KERNEL)
			faults_in_the_kernel(p, zero);
		else if (p)
			(void)faults_on_a_file(p);
		counts = since(&before);
		(void)!write(to, &counts, sizeof(counts));
	}
	_exit(0);
}

/* ---- the profile ---- */

struct got {
	char *bytes; /* the requests since the last look */
	size_t len;
	uint64_t samples;
};

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct got *got = userdata;

	got->bytes = realloc(got->bytes, got->len + len);
	memcpy(got->bytes + got->len, request, len);
	got->len += len;
	got->samples += samples;
	return 0;
}

static bool holds(const struct got *got, const char *text)
{
	return got->len && memmem(got->bytes, got->len, text, strlen(text));
}

static struct otelprof *make(struct got *got, const struct kind_child *c)
{
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_PAGE_FAULTS;
	p = kind_open(&config, c->pid);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = take;
	callback.userdata = got;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	return p;
}

/* From the next window on. */
static void write_to(struct otelprof *p, const char *folded)
{
	struct otelprof_file_config file;

	otelprof_file_config_init(&file, sizeof(file));
	file.path = folded;
	file.format = OTELPROF_FORMAT_FOLDED;
	CHECK_OK(otelprof_exporter_file(p, &file));
}

/* Poll until @c has answered what it was asked, and all of it is told. */
static struct counts ask(struct otelprof *p, const struct kind_child *c, char place)
{
	struct counts counts = { 0 };
	int i, r = 0;

	CHECK_INT(write(c->to, &place, 1), 1);
	CHECK_INT(read(c->from, &counts, sizeof(counts)), sizeof(counts));
	for (i = 0; i < POLLS_MIN || (r > 0 && i < POLLS_MAX); i++) {
		r = otelprof_poll(p, 20);
		CHECK_OK(r);
	}
	return counts;
}

/* Samples of @folded whose stack holds @function. */
static long count_of(const char *folded, const char *function)
{
	FILE *f = fopen(folded, "re");
	char *line = NULL;
	size_t size = 0;
	long sum = 0;

	CHECK(f);
	while (getline(&line, &size, f) > 0)
		if (strstr(line, function))
			sum += strtol(strrchr(line, ' ') + 1, NULL, 10);
	free(line);
	CHECK_OK(fclose(f));
	return sum;
}

static int make_file(char *path)
{
	static char page[PAGE];
	int fd = mkstemp(path);
	int i;

	CHECK(fd >= 0);
	for (i = 0; i < FILE_PAGES; i++)
		CHECK_INT(write(fd, page, sizeof(page)), sizeof(page));
	CHECK_OK(fsync(fd));
	return fd;
}

static void check_closed(struct otelprof *p)
{
	struct otelprof_stats s;
	uint64_t dropped;

	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(p, &s));
	dropped = s.samples_dropped;
	CHECK_INT(s.samples_pending, 0);
	CHECK_INT(dropped, 0);
	CHECK_INT(s.stacks_lost, 0);
	CHECK_INT(s.samples_taken, s.samples_exported + s.samples_filtered);
}

static void test_counts_are_exact(void)
{
	char path[] = "page-faults-XXXXXX";
	char folded[] = "page-faults-folded-XXXXXX";
	int file = mapped_file = make_file(path);
	int out = mkstemp(folded);
	struct kind_child c = kind_child_start(serve);
	struct counts user;
	struct counts kernel;
	struct counts backed;
	struct got got = { 0 };
	struct otelprof *p = make(&got, &c);
	bool major_told;
	int i;

	/* what is met for the first time: a table for each executable on the stack */
	for (i = 0; i < FIRST_ROUNDS; i++) {
		(void)ask(p, &c, USER);
		(void)ask(p, &c, KERNEL);
	}
	CHECK_OK(otelprof_export(p));
	CHECK(holds(&got, "page_faults"));
	CHECK(!holds(&got, "nanoseconds")); /* no CPU samples */
	free(got.bytes);
	got = (struct got){ 0 };
	write_to(p, folded);

	user = ask(p, &c, USER);
	kernel = ask(p, &c, KERNEL);
	CHECK_OK(otelprof_export(p));
	CHECK(holds(&got, "system.paging.fault.type"));
	CHECK(holds(&got, "minor"));
	CHECK(!holds(&got, "major"));
	backed = ask(p, &c, FILE_BACKED);
	CHECK_OK(otelprof_export(p));
	major_told = holds(&got, "major");
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	CHECK_OK(otelprof_flush(p, 5000));
	check_closed(p);
	otelprof_free(p);

	printf("  asked: user %ld, kernel %ld, file %ld minor + %ld major\n", user.minor,
	       kernel.minor, backed.minor, backed.major);
	printf("  told: user %ld, kernel %ld, file %ld\n",
	       count_of(folded, "faults_in_user_code"),
	       count_of(folded, "faults_in_the_kernel"),
	       count_of(folded, "faults_on_a_file"));
	CHECK(!backed.major || major_told);
	CHECK_INT(user.minor, USER_PAGES);
	CHECK_INT(kernel.minor, KERNEL_PAGES);
	CHECK_INT(count_of(folded, "faults_in_user_code"), USER_PAGES);
	CHECK_INT(count_of(folded, "faults_in_the_kernel"), KERNEL_PAGES);
	CHECK_INT(count_of(folded, "faults_on_a_file"), backed.minor + backed.major);
	kind_child_end(&c);
	free(got.bytes);
	CHECK_OK(unlink(path));
	CHECK_OK(unlink(folded));
	(void)close(file);
	(void)close(out);
}

static void test_nothing_is_loaded_while_off(void)
{
	struct otelprof *p = kind_defaults();

	CHECK_INT(kind_programs("op_page_faults"), 0);
	CHECK_INT(kind_programs("op_cpu"), 1);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU | OTELPROF_KIND_PAGE_FAULTS));
	CHECK_INT(kind_programs("op_page_faults"),
		  2); /* one of minor, one of major faults */
	CHECK_INT(kind_programs("op_cpu"), 1);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_PAGE_FAULTS));
	CHECK_INT(kind_programs("op_cpu"), 0);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU));
	CHECK_INT(kind_programs("op_page_faults"), 0);
	CHECK_INT(kind_programs("op_cpu"), 1);
	CHECK_INT(otelprof_set_kinds(p, 0), -EINVAL);
	CHECK_INT(otelprof_set_kinds(p, UINT64_C(1) << 63), -E2BIG);
	CHECK_INT(kind_programs("op_cpu"), 1);
	otelprof_free(p);
}

TEST_MAIN({ "counts", test_counts_are_exact },
	  { "off", test_nothing_is_loaded_while_off })
