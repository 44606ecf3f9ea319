/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has one of is the same before, during and after a life of a profiler. */
#include <bpf/libbpf.h>
#include <dirent.h>
#include <fenv.h>
#ifdef HAVE_GRPC
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#endif
#include <locale.h>
#include <otelprof/otelprof.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "own_malloc.h"
#include "test.h"

enum {
	TEXT_BYTES = 65536,
	END_MS = 5000, /* for threads of gRPC to end */
#ifdef HAVE_GRPC
	GRPC_KEEPS = 2, /* an epoll and an eventfd, from its first use to the end */
#else
	GRPC_KEEPS = 0,
#endif
};

extern char **environ;

static unsigned int prints;

static int my_print(enum libbpf_print_level level, const char *format, va_list ap)
{
	prints++;
	return 0;
}

static void my_handler(int number)
{
}

static size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	CHECK_OK(closedir(d));
	return n;
}

/* All of it as text. Descriptors and threads are told apart by who asks. */
struct state {
	char text[TEXT_BYTES];
	size_t len;
};

static void add(struct state *s, const char *what, const void *bytes, size_t len)
{
	size_t i;

	s->len += (size_t)snprintf(s->text + s->len, TEXT_BYTES - s->len, "%s ", what);
	for (i = 0; i < len && s->len < TEXT_BYTES - 4; i++)
		s->len += (size_t)snprintf(s->text + s->len, TEXT_BYTES - s->len, "%02x",
					   ((const unsigned char *)bytes)[i]);
	s->len += (size_t)snprintf(s->text + s->len, TEXT_BYTES - s->len, "\n");
}

static void add_text(struct state *s, const char *what, const char *text)
{
	add(s, what, text, strlen(text));
}

/* What prctl(2), timers and the like have one of. */
static void look_at_the_process(struct state *s)
{
	static const int timers[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
	struct itimerval timer;
	char name[16] = "";
	int value = 0;
	stack_t stack;
	size_t i;

	for (i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
		CHECK_OK(getitimer((__itimer_which_t)timers[i], &timer));
		add(s, "timer", &timer, sizeof(timer));
	}
	CHECK_OK(prctl(PR_GET_NAME, name));
	add_text(s, "name", name);
	CHECK_OK(prctl(PR_GET_CHILD_SUBREAPER, &value));
	add(s, "subreaper", &value, sizeof(value));
	value = prctl(PR_GET_DUMPABLE);
	add(s, "dumpable", &value, sizeof(value));
	value = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	add(s, "no new privileges", &value, sizeof(value));
	value = getpriority(PRIO_PROCESS, 0);
	add(s, "priority", &value, sizeof(value));
	value = fegetround();
	add(s, "rounding", &value, sizeof(value));
	CHECK_OK(sigaltstack(NULL, &stack));
	add(s, "stack", &stack.ss_sp, sizeof(stack.ss_sp));
	add_text(s, "time zone", tzname[0]);
}

static void look(struct state *s)
{
	char cwd[512];
	sigset_t mask;
	mode_t old;
	char **e;
	int i;

	memset(s, 0, sizeof(*s));
	for (i = 1; i < 32; i++) {
		struct sigaction action = { 0 };

		CHECK_OK(sigaction(i, NULL, &action));
		add(s, "handler", &action.sa_handler, sizeof(action.sa_handler));
	}
	CHECK_OK(sigprocmask(SIG_SETMASK, NULL, &mask));
	add(s, "mask", &mask, 8);
	add(s, "locale", setlocale(LC_ALL, NULL), strlen(setlocale(LC_ALL, NULL)));
	for (e = environ; *e; e++) {
		add(s, "variable", e, sizeof(*e));
		add_text(s, "its text", *e);
	}
	look_at_the_process(s);
	old = umask(0);
	(void)umask(old);
	add(s, "umask", &old, sizeof(old));
	CHECK(getcwd(cwd, sizeof(cwd)));
	add(s, "cwd", cwd, strlen(cwd));
	for (i = 0; i < RLIMIT_NLIMITS; i++) {
		struct rlimit limit;

		/* raised where the kernel counts locked memory, before 5.11 */
		if (i == RLIMIT_MEMLOCK)
			continue;
		CHECK_OK(getrlimit((__rlimit_resource_t)i, &limit));
		add(s, "limit", &limit, sizeof(limit));
	}
}

static void check_same(const struct state *before, const char *when)
{
	libbpf_print_fn_t print = libbpf_set_print(my_print);
	struct state now;

	look(&now);
	if (print != my_print)
		TEST_FAIL("%s: libbpf's print function is another one", when);
	CHECK_INT(prints, 0);
	if (strcmp(before->text, now.text) != 0)
		TEST_FAIL("%s: before:\n%safter:\n%s", when, before->text, now.text);
#ifdef OWN_MALLOC
	CHECK_INT(own_foreign, 0);
#endif
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	return 0;
}

static void on_row(void *userdata, const struct otelprof_doctor_row *row)
{
}

/* Nobody listens at port 1, so that requests wait and are given up at the end. */
static int add_otlp(struct otelprof *p, uint32_t protocol)
{
	struct otelprof_otlp_config config;

	otelprof_otlp_config_init(&config, sizeof(config));
	config.endpoint = "http://127.0.0.1:1";
	config.protocol = protocol;
	return otelprof_exporter_otlp(p, &config);
}

static int add_file(struct otelprof *p)
{
	struct otelprof_file_config config;

	otelprof_file_config_init(&config, sizeof(config));
	config.path = "/dev/null";
	config.format = OTELPROF_FORMAT_HTML;
	return otelprof_exporter_file(p, &config);
}

/* Wait until @path has at most @most entries. */
static void check_entries(const char *path, size_t most)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < END_MS && entries(path) > most; i++)
		(void)nanosleep(&ms, NULL);
	if (entries(path) > most)
		TEST_FAIL("%s has %zu entries, not %zu", path, entries(path), most);
}

static void test_the_process_is_left_as_it_was(void)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p = NULL;
	struct state before;
	size_t descriptors;
	int i;
	int r;

	(void)libbpf_set_print(my_print);
	(void)setenv("TZ", "Asia/Tokyo", 1);
	(void)signal(SIGPROF, my_handler);
	(void)signal(SIGCHLD, my_handler);
	(void)setlocale(LC_ALL, "C.UTF-8");
	look(&before);
	descriptors = entries("/proc/self/fd");
	otelprof_config_init(&config, sizeof(config));
	config.threads = 1;
	r = otelprof_init(&config, &why, &p);
	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", why.message);
	CHECK_OK(r);
	check_same(&before, "after init");
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = take;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(add_file(p));
#ifdef HAVE_GRPC
	CHECK_OK(add_otlp(p, OTELPROF_PROTOCOL_GRPC));
#endif
#ifdef HAVE_HTTP
	CHECK_OK(add_otlp(p, OTELPROF_PROTOCOL_HTTP));
#endif
	check_same(&before, "with exporters");
	CHECK_OK(otelprof_start(p));
	check_same(&before, "after start");
	for (i = 0; i < 10; i++)
		CHECK_OK(otelprof_poll(p, 50));
	CHECK_OK(otelprof_export(p));
	check_same(&before, "after an export");
	(void)otelprof_flush(p, 300); /* tries to connect */
	check_same(&before, "after a delivery that failed");
	CHECK_OK(otelprof_stop(p));
	otelprof_free(p);
	(void)otelprof_doctor(NULL, on_row, NULL);
	check_same(&before, "at the end");
	check_entries("/proc/self/fd", descriptors + GRPC_KEEPS);
	/* ".", ".." and one thread */
	check_entries("/proc/self/task", 3);
#ifdef OWN_MALLOC
	CHECK(own_blocks > 1000); /* the library's are among them */
#endif
}

/* Descriptors of perf events. */
static size_t perf_descriptors(void)
{
	static const char want[] = "anon_inode:[perf_event]";
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	size_t n = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		char target[64] = "";

		n += readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1) > 0 &&
		     strcmp(target, want) == 0;
	}
	CHECK_OK(closedir(d));
	return n;
}

/* Two would be more than the usual 1,024 of a process on a host of 512 CPUs. */
static void test_a_cpu_has_one_descriptor(void)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_config config;
	struct otelprof *p = NULL;

	otelprof_config_init(&config, sizeof(config));
	CHECK_OK(otelprof_init(&config, &why, &p));
	CHECK_OK(otelprof_start(p));
	CHECK_INT(perf_descriptors(), sysconf(_SC_NPROCESSORS_ONLN));
	CHECK_OK(otelprof_stop(p));
	otelprof_free(p);
	CHECK_INT(perf_descriptors(), 0);
}

#ifdef HAVE_GRPC
static unsigned int lines;

static void my_log(gpr_log_func_args *args)
{
	lines += strcmp(args->message, "of the host") == 0;
}

/* Is gRPC's log function the host's? */
static void check_log(const char *when)
{
	lines = 0;
	gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "of the host");
	if (lines != 1)
		TEST_FAIL("%s: gRPC's log function is another one", when);
}

static void add_and_remove(struct otelprof *p)
{
	int exporter = add_otlp(p, OTELPROF_PROTOCOL_GRPC);

	CHECK_OK(exporter);
	CHECK_OK(otelprof_exporter_remove(p, exporter, 0));
}
#endif

/* What the host sets after gRPC was first used stays, whether it uses gRPC itself or not. */
static void test_grpc_s_log_stays_the_host_s(void)
{
#ifdef HAVE_GRPC
	size_t descriptors = entries("/proc/self/fd");
	struct otelprof *p = NULL;
	int exporter;

	CHECK_OK(otelprof_init(NULL, NULL, &p));
	exporter = add_otlp(p, OTELPROF_PROTOCOL_GRPC);
	CHECK_OK(exporter);
	gpr_set_log_function(my_log);
	CHECK_OK(otelprof_exporter_remove(p, exporter, 0));
	check_log("after the last exporter is gone");
	add_and_remove(p);
	check_log("after another one came and went");
	grpc_init();
	add_and_remove(p);
	check_log("in a host that uses gRPC");
	otelprof_free(p);
	grpc_shutdown();
	check_log("at the end");
	/* each of them was opened and closed, but for those that gRPC keeps once */
	check_entries("/proc/self/fd", descriptors + GRPC_KEEPS);
#else
	SKIP("built without gRPC");
#endif
}

TEST_MAIN({ "the_process_is_left_as_it_was", test_the_process_is_left_as_it_was },
	  { "a_cpu_has_one_descriptor", test_a_cpu_has_one_descriptor },
	  { "grpc_s_log_stays_the_host_s", test_grpc_s_log_stays_the_host_s })
