/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public API on this kernel: accounting, filters, rates, two handles, fork, cycles.
 * Loads are children of this test that spin, so that what must be seen is known.
 */
#include <dirent.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "child.h"
#include "drops.h"
#include "stats.h"
#include "test.h"

enum {
	RATE_HZ = 199,
	CROWD = 20,
	CROWD_WANTED_A = 4, /* the two of them that the filter includes */
	CROWD_WANTED_B = 13,
	READ_BYTES = 8 << 20,
	SEEN_MS = 100,	      /* of CPU time: 20 samples, or none in one of e^20 cases */
	BETWEEN_READINGS = 8, /* samples taken while the counters are read one by one */
};

struct got {
	uint64_t samples;
	uint64_t requests;
	char *bytes; /* of all requests, for memmem() */
	size_t len;
};

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct got *got = userdata;

	got->samples += samples;
	got->requests++;
	got->bytes = realloc(got->bytes, got->len + len);
	memcpy(got->bytes + got->len, request, len);
	got->len += len;
	return 0;
}

static bool holds(const struct got *got, const char *text)
{
	return got->len && memmem(got->bytes, got->len, text, strlen(text));
}

/* Of this test and its children: what else runs here would cost tables and names. */
static struct otelprof *make(struct got *got, uint64_t flags)
{
	struct otelprof_rule own = { .size = sizeof(own),
				     .kind = OTELPROF_MATCH_TREE,
				     .number = (uint64_t)getpid() };
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p = NULL;
	int r;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	config.flags = flags;
	r = otelprof_init(&config, NULL, &p);
	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", otelprof_strerror(r));
	CHECK_OK(r);
	CHECK_OK(otelprof_set_rules(p, &own, 1));
	if (got) {
		otelprof_callback_config_init(&callback, sizeof(callback));
		callback.fn = take;
		callback.userdata = got;
		CHECK_OK(otelprof_exporter_callback(p, &callback));
	}
	return p;
}

/* One poll works for some ms: what waits still is taken, too. */
static void poll_rest(struct otelprof *p)
{
	int left = 50;

	while (left-- && otelprof_poll(p, 0) > 0)
		continue;
}

static void poll_for(struct otelprof *p, uint64_t ms)
{
	uint64_t until = now_ms() + ms;

	while (now_ms() < until)
		CHECK(otelprof_poll(p, 50) >= 0);
	poll_rest(p);
}

/* Poll until the child @pid has worked for @ms. */
static void poll_work(struct otelprof *p, pid_t pid, uint64_t ms)
{
	uint64_t until = child_cpu_ms(pid) + ms;

	while (child_cpu_ms(pid) < until)
		CHECK(otelprof_poll(p, 20) >= 0);
	poll_rest(p);
}

static void check_closed(struct otelprof *p)
{
	struct otelprof_stats s = stats_of(p);

	CHECK_INT(s.samples_pending, 0);
	CHECK_INT(s.samples_taken,
		  s.samples_exported + s.samples_filtered + s.samples_dropped);
}

static void test_every_sample_is_accounted_for(void)
{
	pid_t pid = child_spin("op-account");
	struct got got = { 0 };
	struct otelprof *p = make(&got, 0);
	struct otelprof_stats s;
	int i;

	CHECK_OK(otelprof_start(p));
	CHECK_INT(otelprof_start(p), -EALREADY);
	for (i = 0; i < 3; i++) {
		poll_work(p, pid, 300);
		CHECK_OK(otelprof_export(p));
	}
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	CHECK_OK(otelprof_flush(p, 1000));
	check_closed(p);
	s = stats_of(p);
	CHECK_INT(s.samples_exported, got.samples);
	/* at the least half of its ticks */
	CHECK(got.samples > RATE_HZ * 9 / 10 / 2);
	CHECK(holds(&got, "op-account"));
	child_end(pid);
	otelprof_free(p);
	free(got.bytes);
}

static void test_a_filter_takes_effect_at_once(void)
{
	pid_t wanted = child_spin("op-wanted");
	pid_t other = child_spin("op-other");
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_PID,
				      .number = (uint64_t)wanted };
	struct otelprof_stats before;
	struct otelprof_stats after;
	struct got got = { 0 };
	struct otelprof *p = make(&got, 0);

	CHECK_OK(otelprof_start(p));
	poll_work(p, wanted, SEEN_MS);
	poll_work(p, other, SEEN_MS);
	CHECK_OK(otelprof_export(p));
	CHECK(holds(&got, "op-wanted"));
	CHECK(holds(&got, "op-other"));

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	poll_for(p, 200); /* what was in the ring */
	CHECK_OK(otelprof_export(p));
	got.len = 0;
	before = stats_of(p);
	poll_work(p, wanted, SEEN_MS);
	poll_work(p, other, SEEN_MS);
	CHECK_OK(otelprof_export(p));
	after = stats_of(p);
	CHECK(holds(&got, "op-wanted"));
	CHECK(!holds(&got, "op-other"));
	CHECK(after.samples_filtered > before.samples_filtered);

	CHECK_OK(otelprof_set_rules(p, NULL, 0));
	got.len = 0;
	poll_work(p, other, SEEN_MS);
	CHECK_OK(otelprof_export(p));
	CHECK(holds(&got, "op-other"));
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	check_closed(p);
	child_end(wanted);
	child_end(other);
	otelprof_free(p);
	free(got.bytes);
}

static const char *crowd_name(int i)
{
	static char name[16];

	(void)snprintf(name, sizeof(name), "op-crowd-%02d.", i % 100);
	return name;
}

static bool is_wanted(int i)
{
	return i == CROWD_WANTED_A || i == CROWD_WANTED_B;
}

/* Let the filter pass the two of @pids that are wanted. */
static void filter_the_crowd(struct otelprof *p, const pid_t *pids)
{
	struct otelprof_rule rules[] = {
		{ .size = sizeof(rules[0]),
		  .kind = OTELPROF_MATCH_PID,
		  .number = (uint64_t)pids[CROWD_WANTED_A] },
		{ .size = sizeof(rules[0]),
		  .kind = OTELPROF_MATCH_PID,
		  .number = (uint64_t)pids[CROWD_WANTED_B] },
	};

	CHECK_OK(otelprof_set_rules(p, rules, 2));
}

static void say_cost(const char *when, const struct otelprof_stats *a,
		     const struct otelprof_stats *b)
{
	uint64_t runs = b->bpf_run_count - a->bpf_run_count;

	if (!runs)
		(void)printf("%s: not counted (kernel.bpf_stats_enabled=0)\n", when);
	else
		(void)printf("%s: %" PRIu64 " ns a tick (%" PRIu64 " ticks)\n", when,
			     (b->bpf_run_ns - a->bpf_run_ns) / runs, runs);
}

static uint64_t stacks_of(const struct otelprof_stats *s)
{
	return s->stacks_complete + s->stacks_truncated + s->stacks_broken;
}

/* From now on nothing passes. */
static void filter_all(struct otelprof *p)
{
	struct otelprof_rule nobody = { .size = sizeof(nobody),
					.kind = OTELPROF_MATCH_COMM,
					.text = "op-nobody" };

	CHECK_OK(otelprof_set_rules(p, &nobody, 1));
}

/* Twenty run and all are seen; then a filter names two, and from then on only they are. */
static void test_a_filter_set_while_twenty_run(void)
{
	struct otelprof_stats at[6];
	struct got got = { 0 };
	uint64_t until_ms[CROWD];
	pid_t pids[CROWD];
	struct otelprof *p;
	uint64_t ticks;
	uint64_t kept;
	int i;

	for (i = 0; i < CROWD; i++)
		pids[i] = child_spin(crowd_name(i));
	p = make(&got, 0);
	CHECK_OK(otelprof_start(p));
	at[0] = stats_of(p);
	for (i = 0; i < CROWD; i++)
		until_ms[i] = child_cpu_ms(pids[i]) + SEEN_MS;
	for (i = 0; i < CROWD; i++)
		while (child_cpu_ms(pids[i]) < until_ms[i])
			CHECK(otelprof_poll(p, 20) >= 0);
	poll_rest(p);
	at[1] = stats_of(p);
	filter_the_crowd(p, pids);
	CHECK_OK(otelprof_export(p));
	for (i = 0; i < CROWD; i++)
		CHECK(holds(&got, crowd_name(i)));

	poll_for(p, 200); /* what was in the ring */
	CHECK_OK(otelprof_export(p));
	got.len = 0;
	at[2] = stats_of(p);
	poll_work(p, pids[CROWD_WANTED_A], SEEN_MS);
	poll_work(p, pids[CROWD_WANTED_B], SEEN_MS);
	at[3] = stats_of(p);
	filter_all(p);
	poll_for(p, 200);
	at[4] = stats_of(p);
	poll_work(p, pids[CROWD_WANTED_A], SEEN_MS / 4);
	at[5] = stats_of(p);
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	for (i = 0; i < CROWD; i++)
		CHECK(holds(&got, crowd_name(i)) == is_wanted(i));
	/* 18 of 20 at the same priority: nine tenths; half is far from chance */
	ticks = at[3].samples_taken - at[2].samples_taken;
	CHECK(ticks > 0);
	CHECK((at[3].samples_filtered - at[2].samples_filtered) * 2 > ticks);
	/* what is filtered is not unwound: no more stacks ended than samples were kept */
	kept = ticks - (at[3].samples_filtered - at[2].samples_filtered);
	CHECK(stacks_of(&at[3]) - stacks_of(&at[2]) <= kept + BETWEEN_READINGS);
	CHECK_INT(stacks_of(&at[5]), stacks_of(&at[4]));
	CHECK(at[5].samples_filtered > at[4].samples_filtered);
	say_cost("no filter", &at[0], &at[1]);
	say_cost("filter of two in twenty", &at[2], &at[3]);
	say_cost("filter of nobody", &at[4], &at[5]);
	check_closed(p);
	for (i = 0; i < CROWD; i++)
		child_end(pids[i]);
	otelprof_free(p);
	free(got.bytes);
}

/* Do only samples of @pid, which is @comm, pass the filter of one rule? */
static void check_rule(const struct otelprof_rule *rule, pid_t pid, const char *comm)
{
	struct got got = { 0 };
	struct otelprof *p = make(&got, 0);

	CHECK_OK(otelprof_set_rules(p, rule, 1));
	CHECK_OK(otelprof_start(p));
	poll_work(p, pid, 2 * SEEN_MS);
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	CHECK(holds(&got, comm));
	CHECK(!holds(&got, "op-outside"));
	check_closed(p);
	otelprof_free(p);
	free(got.bytes);
}

static void test_each_kind_of_rule(void)
{
	pid_t inside = child_spin("op-inside");
	pid_t outside = child_spin("op-outside");
	struct otelprof_rule comm = { .size = sizeof(comm),
				      .kind = OTELPROF_MATCH_COMM,
				      .text = "op-inside" };
	struct otelprof_rule tree = { .size = sizeof(tree),
				      .kind = OTELPROF_MATCH_TREE,
				      .number = (uint64_t)inside };
	struct otelprof_rule exclude = { .size = sizeof(exclude),
					 .kind = OTELPROF_MATCH_COMM,
					 .action = OTELPROF_RULE_EXCLUDE,
					 .text = "op-outside" };

	check_rule(&comm, inside, "op-inside");
	check_rule(&tree, inside, "op-inside");
	check_rule(&exclude, inside, "op-inside");
	child_end(inside);
	child_end(outside);
}

static void test_the_rate_changes(void)
{
	pid_t pid = child_spin("op-rate");
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_PID,
				      .number = (uint64_t)pid };
	struct got got = { 0 };
	struct otelprof *p = make(&got, 0);
	uint64_t slow, fast, ms;

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	CHECK_OK(otelprof_set_rate(p, 20));
	CHECK_OK(otelprof_start(p));
	poll_work(p, pid, 1000);
	CHECK_OK(otelprof_set_rate(p, 500)); /* exports */
	ms = child_cpu_ms(pid);
	slow = got.samples;
	poll_work(p, pid, ms);
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	fast = got.samples - slow;
	/* five times what chance adds where others have the CPU, too */
	CHECK(slow <= 45 * ms / 1000);
	CHECK(fast > 5 * slow);
	CHECK_INT(otelprof_set_rate(p, 0), -EINVAL);
	CHECK_INT(otelprof_set_rate(p, 1001), -EINVAL);
	CHECK_INT(stats_of(p).sample_period_ns, 2000000);
	check_closed(p);
	child_end(pid);
	otelprof_free(p);
	free(got.bytes);
}

static void test_two_handles_in_one_process(void)
{
	pid_t pid = child_spin("op-two");
	struct got a = { 0 };
	struct got b = { 0 };
	struct otelprof *pa = make(&a, 0);
	struct otelprof *pb = make(&b, OTELPROF_NO_KERNEL_STACKS);
	int i;

	CHECK_OK(otelprof_start(pa));
	CHECK_OK(otelprof_start(pb));
	for (i = 0; i < 5; i++) {
		poll_work(pa, pid, 40);
		poll_work(pb, pid, 40);
	}
	CHECK_OK(otelprof_stop(pa));
	CHECK_OK(otelprof_export(pa));
	check_closed(pa);
	otelprof_free(pa);
	poll_for(pb, 200);
	CHECK_OK(otelprof_stop(pb));
	CHECK_OK(otelprof_export(pb));
	check_closed(pb);
	otelprof_free(pb);
	CHECK(holds(&a, "op-two"));
	CHECK(holds(&b, "op-two"));
	child_end(pid);
	free(a.bytes);
	free(b.bytes);
}

static void test_the_child_of_a_fork_may_only_free(void)
{
	pid_t load = child_spin("op-fork");
	struct got got = { 0 };
	struct otelprof *p = make(&got, 0);
	uint64_t before;
	int status;
	pid_t pid;

	CHECK_OK(otelprof_start(p));
	poll_work(p, load, SEEN_MS);
	CHECK_OK(otelprof_export(p));
	before = got.samples;
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct otelprof_error_info info = { .size = sizeof(info) };

		if (otelprof_poll(p, 0) != -OTELPROF_E_FORKED ||
		    otelprof_export(p) != -OTELPROF_E_FORKED ||
		    /* the descriptor is the parent's, too */
		    otelprof_wakeup(p) != -OTELPROF_E_FORKED ||
		    otelprof_last_error(p, &info) != 0 || !strstr(info.message, "fork"))
			_exit(1);
		otelprof_free(p);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0);
	poll_work(p, load, SEEN_MS);
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	CHECK(got.samples > before);
	check_closed(p);
	otelprof_free(p);
	child_end(load);
	free(got.bytes);
}

static size_t open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void test_cycles_leak_no_descriptor(void)
{
	size_t before = 0;
	int i;

	for (i = 0; i < 6; i++) {
		struct got got = { 0 };
		struct otelprof *p = make(&got, 0);

		CHECK_OK(otelprof_start(p));
		poll_for(p, 30);
		CHECK_OK(otelprof_stop(p));
		CHECK_OK(otelprof_start(p));
		poll_for(p, 30);
		otelprof_free(p);
		free(got.bytes);
		if (i == 0)
			before = open_descriptors();
	}
	CHECK_INT(open_descriptors(), before);
}

static void test_the_descriptor_wakes_a_foreign_loop(void)
{
	pid_t pid = child_spin("op-loop");
	struct got got = { 0 };
	struct otelprof *p = make(&got, 0);
	struct pollfd fd = { .events = POLLIN };
	uint64_t until;

	fd.fd = otelprof_get_fd(p);
	CHECK(fd.fd > 2);
	CHECK_OK(otelprof_start(p));
	until = child_cpu_ms(pid) + SEEN_MS;
	while (child_cpu_ms(pid) < until) {
		CHECK(poll(&fd, 1, 2000) == 1);
		CHECK_OK(otelprof_poll(p, 0));
	}
	poll_rest(p);
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	CHECK(holds(&got, "op-loop"));
	child_end(pid);
	otelprof_free(p);
	free(got.bytes);
}

static void test_a_window_with_no_exporter_is_counted(void)
{
	pid_t pid = child_spin("op-nowhere");
	struct otelprof *p = make(NULL, 0);

	CHECK_OK(otelprof_start(p));
	poll_work(p, pid, SEEN_MS);
	CHECK_OK(otelprof_stop(p));
	CHECK(otelprof_export(p) > 0);
	CHECK(drops_of(p, "nowhere") > 0);
	check_closed(p);
	otelprof_free(p);
	child_end(pid);
}

static void test_the_walker_of_old_kernels(void)
{
	pid_t pid = child_spin("op-tail");
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_PID,
				      .number = (uint64_t)pid };
	struct got got = { 0 };
	struct otelprof *p = make(&got, OTELPROF_NO_BPF_LOOP);
	struct otelprof_stats s;

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	CHECK_OK(otelprof_start(p));
	poll_work(p, pid, 400);
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	s = stats_of(p);
	CHECK(holds(&got, "op-tail"));
	CHECK(got.samples > 0);
	CHECK(s.stacks_complete * 10 >= got.samples * 9);
	check_closed(p);
	otelprof_free(p);
	child_end(pid);
	free(got.bytes);
}

/* Read a file by a worker of io_uring, which the kernel makes for that, again and again. */
static void read_by_worker(int ring, const struct io_uring_params *params)
{
	char *sq = mmap(NULL, params->sq_off.array + params->sq_entries * 4,
			PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL,
			params->cq_off.cqes +
				params->cq_entries * sizeof(struct io_uring_cqe),
			PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqe =
		mmap(NULL, params->sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE,
		     MAP_SHARED, ring, IORING_OFF_SQES);
	int fd = memfd_create("op-worker", MFD_CLOEXEC);
	char *bytes = calloc(1, READ_BYTES);
	uint32_t *tail = (uint32_t *)(sq + params->sq_off.tail);
	uint32_t *index = (uint32_t *)(sq + params->sq_off.array);
	uint32_t at;

	if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED || !bytes ||
	    write(fd, bytes, READ_BYTES) != READ_BYTES)
		_exit(1);
	for (;;) {
		at = *tail & (params->sq_entries - 1);
		sqe[at] = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
						 .flags = IOSQE_ASYNC,
						 .fd = fd,
						 .addr = (uintptr_t)bytes,
						 .len = READ_BYTES };
		index[at] = at;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL,
			    0) != 1)
			_exit(1);
		__atomic_fetch_add((uint32_t *)(cq + params->cq_off.head), 1,
				   __ATOMIC_RELEASE);
	}
}

static void add_compat(void *userdata, const char *name, const char *sentence,
		       uint64_t count)
{
	uint64_t *compat = userdata;

	if (strcmp(name, "native_compat") == 0)
		*compat += count;
}

/* The kernel's workers for io_uring are threads of the process, with no stack of it: that is
 * not 32-bit code. */
static void test_workers_are_no_32_bit_code(void)
{
	struct io_uring_params params = { 0 };
	struct got got = { 0 };
	uint64_t compat = 0;
	struct otelprof *p;
	int ring = (int)syscall(SYS_io_uring_setup, 8, &params);
	pid_t pid;

	if (ring < 0)
		SKIP("no io_uring here: %s", strerror(errno));
	p = make(&got, 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		read_by_worker(ring, &params);
	}
	CHECK_OK(otelprof_start(p));
	poll_work(p, pid, 4 * SEEN_MS);
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	CHECK_OK(otelprof_unwind_errors(p, add_compat, &compat));
	CHECK(holds(&got, "iou-wrk-"));
	CHECK_INT(compat, 0);
	check_closed(p);
	child_end(pid);
	(void)close(ring);
	otelprof_free(p);
	free(got.bytes);
}

TEST_MAIN({ "every_sample_is_accounted_for", test_every_sample_is_accounted_for },
	  { "a_filter_takes_effect_at_once", test_a_filter_takes_effect_at_once },
	  { "a_filter_set_while_twenty_run", test_a_filter_set_while_twenty_run },
	  { "each_kind_of_rule", test_each_kind_of_rule },
	  { "the_rate_changes", test_the_rate_changes },
	  { "two_handles_in_one_process", test_two_handles_in_one_process },
	  { "the_child_of_a_fork_may_only_free", test_the_child_of_a_fork_may_only_free },
	  { "cycles_leak_no_descriptor", test_cycles_leak_no_descriptor },
	  { "the_descriptor_wakes_a_foreign_loop",
	    test_the_descriptor_wakes_a_foreign_loop },
	  { "a_window_with_no_exporter_is_counted",
	    test_a_window_with_no_exporter_is_counted },
	  { "the_walker_of_old_kernels", test_the_walker_of_old_kernels },
	  { "workers_are_no_32_bit_code", test_workers_are_no_32_bit_code })
