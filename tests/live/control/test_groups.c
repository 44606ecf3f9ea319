/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules by container and by pod, as filter and one by one, on live processes: one in a control
 * group that is named as containerd names it, below that of its pod, one outside.
 */
#include <errno.h>
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kind_profile.h"
#include "on_cpu.h"
#include "test.h"

#define CONTAINER_ID "c0ffee000b2d00112233445566778899aabbccddeeff00112233445566778899"

enum {
	RATE_HZ = 199,
	ON_CPU_MS = 500, /* of each process */
	POLL_MS = 20,
	WAIT_MS = 60000, /* far more than it takes on a busy machine */
	NS_PER_MS = 1000000,
};

static struct {
	char mount[256];
	char pod[400];
	char container[600];
	char uid[37];
	pid_t inside;
	pid_t outside;
	uint64_t samples[2]; /* of both */
} g;

/* ---- control groups of our own ---- */

static bool find_mount(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[1024];
	bool found = false;

	CHECK(f);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, " - cgroup2 ") &&
			sscanf(line, "%*s %*s %*s %*s %255s", g.mount) == 1;
	(void)fclose(f);
	return found;
}

static void put_in(const char *path, pid_t pid)
{
	char name[700];
	FILE *f;

	(void)snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	f = fopen(name, "we");
	if (!f || fprintf(f, "%d\n", (int)pid) < 0 || fclose(f))
		SKIP("no process can be put into a cgroup here: %s", strerror(errno));
}

static void make_groups(void)
{
	unsigned int pid = (unsigned int)getpid();

	if (!find_mount())
		SKIP("cgroup v2 is not mounted");
	(void)snprintf(g.uid, sizeof(g.uid), "5d2a3c1e-1b2c-4d5e-8f90-0000%08x", pid);
	(void)snprintf(g.pod, sizeof(g.pod),
		       "%s/kubepods-pod5d2a3c1e_1b2c_4d5e_8f90_0000%08x.slice", g.mount,
		       pid);
	(void)snprintf(g.container, sizeof(g.container),
		       "%s/cri-containerd-" CONTAINER_ID ".scope", g.pod);
	if (mkdir(g.pod, 0755) < 0 || mkdir(g.container, 0755) < 0)
		SKIP("no cgroup can be made here: %s", strerror(errno));
}

static pid_t spin(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			STAYS("spins");
	}
	return pid;
}

static void tear_down(void)
{
	pid_t pid[] = { g.inside, g.outside };
	size_t i;

	for (i = 0; i < 2; i++) {
		if (pid[i] <= 0)
			continue;
		(void)kill(pid[i], SIGKILL);
		(void)waitpid(pid[i], NULL, 0);
	}
	(void)rmdir(g.container);
	(void)rmdir(g.pod);
}

static void set_up(void)
{
	(void)atexit(tear_down);
	make_groups();
	g.inside = spin();
	g.outside = spin();
	put_in(g.container, g.inside);
}

/* ---- the profiler ---- */

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	if (s->thread_id == g.inside || s->thread_id == g.outside)
		g.samples[s->thread_id == g.outside] += s->count;
}

static struct otelprof *start(struct kind_profile *profile)
{
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p = NULL;
	int r;

	*profile = (struct kind_profile){ .fn = add_sample };
	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	r = otelprof_init(&config, NULL, &p);
	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", otelprof_strerror(r));
	CHECK_OK(r);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = kind_take;
	callback.userdata = profile;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	return p;
}

static int64_t cpu_ns_of(pid_t pid)
{
	clockid_t clock;

	CHECK_INT(clock_getcpuclockid(pid, &clock), 0);
	return kind_clock_ns(clock);
}

/* All that was sampled until now. */
static void drain(struct otelprof *p)
{
	int idle = 0;
	int i;

	for (i = 0; i < 1000 && idle < 3; i++)
		idle = otelprof_poll(p, 2) == 0 ? idle + 1 : 0;
	CHECK_OK(otelprof_export(p));
}

/*
 * Until both processes had ON_CPU_MS of the CPUs, and those of them that are asked for have
 * samples: the first ones wait for tables. What was sampled before does not count.
 */
static void measure(struct otelprof *p, bool inside, bool outside)
{
	int64_t until_ns = kind_clock_ns(CLOCK_MONOTONIC) + (int64_t)WAIT_MS * NS_PER_MS;
	int64_t cpu_ns[] = { cpu_ns_of(g.inside) + (int64_t)ON_CPU_MS * NS_PER_MS,
			     cpu_ns_of(g.outside) + (int64_t)ON_CPU_MS * NS_PER_MS };

	drain(p);
	memset(g.samples, 0, sizeof(g.samples));
	while (cpu_ns_of(g.inside) < cpu_ns[0] || cpu_ns_of(g.outside) < cpu_ns[1])
		CHECK_OK(otelprof_poll(p, POLL_MS));
	do {
		drain(p);
	} while (((inside && !g.samples[0]) || (outside && !g.samples[1])) &&
		 kind_clock_ns(CLOCK_MONOTONIC) < until_ns);
	CHECK_INT(g.samples[0] > 0, inside);
	CHECK_INT(g.samples[1] > 0, outside);
}

static void check_filter(uint32_t kind, const char *text)
{
	struct otelprof_rule rule = { .size = sizeof(rule), .kind = kind, .text = text };
	struct kind_profile profile;
	struct otelprof *p = start(&profile);

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	measure(p, true, false);
	rule.action = OTELPROF_RULE_EXCLUDE;
	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	measure(p, false, true);
	(void)kind_close(p);
}

static void test_filter(void)
{
	check_filter(OTELPROF_MATCH_CONTAINER, "c0ffee00");
	check_filter(OTELPROF_MATCH_CONTAINER, CONTAINER_ID);
	check_filter(OTELPROF_MATCH_POD, g.uid);
}

/* ---- one by one ---- */

struct listed {
	uint32_t kind;
	char text[100];
};

static void list(void *userdata, uint64_t number, const struct otelprof_rule *rule)
{
	struct listed *l = userdata;

	l->kind = rule->kind;
	(void)snprintf(l->text, sizeof(l->text), "%s", rule->text);
}

static void check_rule(uint32_t kind, const char *text)
{
	struct kind_profile profile;
	struct otelprof *p = start(&profile);
	struct listed listed = { 0 };
	struct otelprof_rule rule;
	uint64_t number;

	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = kind;
	rule.text = text;
	CHECK_OK(otelprof_add_rule(p, &rule, &number));
	CHECK_OK(otelprof_rules(p, list, &listed));
	CHECK_INT(listed.kind, kind);
	CHECK_STR(listed.text, text);
	measure(p, true, false);
	CHECK_OK(otelprof_remove_rule(p, number));
	measure(p, true, true);
	(void)kind_close(p);
}

static void test_rules(void)
{
	check_rule(OTELPROF_MATCH_CONTAINER, "c0ffee00");
	check_rule(OTELPROF_MATCH_POD, g.uid);
}

/* ---- one that restarts ---- */

/* Another process in another control group of the same name. */
static void restart(void)
{
	CHECK(g.inside > 0);
	CHECK_INT(kill(g.inside, SIGKILL), 0);
	CHECK_INT(waitpid(g.inside, NULL, 0), g.inside);
	while (rmdir(g.container) < 0) {
		CHECK_INT(errno, EBUSY); /* until the kernel has done with the process */
		(void)usleep(POLL_MS * 1000);
	}
	CHECK_INT(mkdir(g.container, 0755), 0);
	g.inside = spin();
	put_in(g.container, g.inside);
}

/* The library looks for the new group several times a second. */
static void wait_until_left_out(struct otelprof *p)
{
	int64_t until_ns = kind_clock_ns(CLOCK_MONOTONIC) + (int64_t)WAIT_MS * NS_PER_MS;
	int64_t cpu_ns;

	do {
		drain(p);
		memset(g.samples, 0, sizeof(g.samples));
		cpu_ns = cpu_ns_of(g.inside) + (int64_t)ON_CPU_MS * NS_PER_MS;
		while (cpu_ns_of(g.inside) < cpu_ns)
			CHECK_OK(otelprof_poll(p, POLL_MS));
		drain(p);
	} while (g.samples[0] && kind_clock_ns(CLOCK_MONOTONIC) < until_ns);
}

static void check_restart(uint32_t kind, const char *text)
{
	struct otelprof_rule rule = { .size = sizeof(rule), .kind = kind, .text = text };
	struct kind_profile profile;
	struct otelprof *p = start(&profile);

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	measure(p, true, false);
	restart();
	measure(p, true, false);
	rule.action = OTELPROF_RULE_EXCLUDE;
	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	measure(p, false, true);
	restart();
	wait_until_left_out(p);
	measure(p, false, true);
	(void)kind_close(p);
}

static void test_restarts(void)
{
	check_restart(OTELPROF_MATCH_CONTAINER, "c0ffee00");
	check_restart(OTELPROF_MATCH_CGROUP, g.container + strlen(g.mount));
}

static void test_no_such(void)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct kind_profile profile;
	struct otelprof *p = start(&profile);
	struct otelprof_rule rule;
	uint64_t number;

	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = OTELPROF_MATCH_CONTAINER;
	rule.text = "f00dfacef00dface";
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -ENOENT);
	CHECK_OK(otelprof_last_error(p, &why));
	CHECK(strstr(why.message, "there is no container \"f00dfacef00dface\""));
	rule.kind = OTELPROF_MATCH_POD;
	rule.text = "5d2a3c1e";
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -ENOENT);
	CHECK_OK(otelprof_last_error(p, &why));
	CHECK(strstr(why.message, "there is no pod \"5d2a3c1e\""));
	rule.text = NULL;
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -EINVAL);
	(void)kind_close(p);
}

TEST_MAIN({ "set_up", set_up }, { "filter", test_filter }, { "rules", test_rules },
	  { "restarts", test_restarts }, { "no_such", test_no_such })
