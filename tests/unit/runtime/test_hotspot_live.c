/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real JVM, single-stepped, interpreted and compiled: from one instruction to the next at
 * most one Java frame comes or goes, and those below stay what they are, line included. The
 * program is "calls" of tests/hotspot/Known.java, which hardly does anything but to make frames.
 */
#include <glob.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

#include "op_hotspot.h"

#include "test.h"

enum {
	STEPS = 12000, /* instructions */
	FRAMES_MAX = 64,
	THREADS_MAX = 128,
	LEAST_DEPTH = 3, /* main, run, calls */
	WARM_UP = 3,	 /* seconds at least, until all is compiled */
	WARM_UP_MAX = 60,
	TRIES = 50, /* to find the thread that runs main */
};

struct frames {
	size_t len;
	char name[FRAMES_MAX][96]; /* root first: name:line */
};

/* The @which-th file that matches, or skip. */
static void find(const char *pattern, char *ret, size_t size)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		SKIP("no %s", pattern);
	(void)snprintf(ret, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
}

/* The CPU time of @live's compiler threads, in ticks. */
static unsigned long compiled_for(const struct live *live)
{
	char command[256];
	unsigned long ret;
	FILE *from;

	(void)snprintf(command, sizeof(command),
		       "cat /proc/%d/task/*/stat | sed -n 's/.*(C[12] Compiler.*) //p' | "
		       "awk '{ t += $12 + $13 } END { print t + 0 }'",
		       live->pid);
	from = popen(command, "r");
	CHECK(from);
	CHECK_INT(fscanf(from, "%lu", &ret), 1);
	(void)pclose(from);
	return ret;
}

/* Until a second passes in which nothing is compiled: the walk's tables are made once. */
static void warm_up(const struct live *live)
{
	unsigned long last;
	unsigned long now = 0;
	int i;

	(void)sleep(WARM_UP);
	for (i = 0; i < WARM_UP_MAX; i++) {
		last = now;
		now = compiled_for(live);
		if (now == last)
			return;
		(void)sleep(1);
	}
}

/* @compiled: until all of it is, by @option. */
static struct live *start(char *folder, const char *option, bool compiled)
{
	static char javac[256];
	static char java[256];
	char command[1024];
	char line[256];
	const char *argv[] = { java,
			       "-XX:+UnlockDiagnosticVMOptions",
			       "-XX:+DebugNonSafepoints",
			       option,
			       "-XX:CompileCommand=quiet",
			       "-XX:CompileCommand=dontinline,Known$Ladder.*",
			       "-cp",
			       folder,
			       "Known",
			       "calls",
			       "600",
			       NULL };
	struct live *live;

	find("/usr/lib/jvm/*/bin/javac", javac, sizeof(javac));
	find("/usr/lib/jvm/*/bin/java", java, sizeof(java));
	CHECK(mkdtemp(folder));
	(void)snprintf(command, sizeof(command),
		       "env -u LD_PRELOAD %s --release 8 -Xlint:-options -d %s %s "
		       ">/dev/null 2>&1",
		       javac, folder, KNOWN_JAVA);
	if (system(command) != 0)
		SKIP("%s does not compile for JDK 8", javac);
	live = live_start((char *const *)argv);
	if (!fgets(line, sizeof(line), live->from) || strncmp(line, "ready", 5) != 0)
		TEST_FAIL("%s does not run Known", java);
	if (compiled)
		warm_up(live);
	return live;
}

static void clean(const char *folder)
{
	char command[512];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_INT(system(command), 0);
}

/* The Java functions of @f behind the first @len names: not stubs, and not constructors,
 * which may be inlined at places that the compiler does not tell. Returns their number. */
static size_t add_names(const struct op_runtime_frame *f,
			char name[FRAMES_MAX][sizeof(((struct frames *)0)->name[0])],
			size_t len)
{
	size_t i;

	for (i = 0; i < f->len && len < FRAMES_MAX; i++)
		if (strchr(f->function[i].name, '.') &&
		    !strstr(f->function[i].name, "<init>"))
			(void)snprintf(name[len++], sizeof(name[0]), "%.80s:%u",
				       f->function[i].name, f->function[i].line);
	return len;
}

static void describe(struct live *live, const struct op_host_stack *stack,
		     struct frames *ret)
{
	static char name[FRAMES_MAX][96];
	size_t len = 0;
	uint32_t i;

	for (i = 0; i < stack->words && len < FRAMES_MAX;
	     i += op_frame_words(stack->word[i])) {
		struct op_runtime_frame f = { 0 };

		if (!op_frame_instance(stack->word[i]))
			continue;
		CHECK_OK(live->ops->describe(live->instance, stack->word + i,
					     op_frame_words(stack->word[i]), &f));
		len = add_names(&f, name, len);
	}
	for (ret->len = 0; ret->len < len; ret->len++)
		memcpy(ret->name[ret->len], name[len - 1 - ret->len], sizeof(name[0]));
}

static bool same_method(const char *a, const char *b)
{
	size_t len = (size_t)(strrchr(a, ':') - a);

	return strncmp(a, b, len) == 0 && b[len] == ':';
}

/* Can @b be the stack one instruction after @a? */
static void check_follows(const struct frames *a, const struct frames *b, int step)
{
	size_t common = a->len < b->len ? a->len : b->len;
	size_t i;

	if (a->len > b->len + 1 || b->len > a->len + 1)
		TEST_FAIL("step %d: %zu frames, then %zu: %s, %s", step, a->len, b->len,
			  a->name[a->len - 1], b->name[b->len - 1]);
	for (i = 0; i + 1 < common; i++)
		CHECK_STR(b->name[i], a->name[i]);
	if (!same_method(a->name[common - 1], b->name[common - 1]))
		TEST_FAIL("step %d: %s, then %s", step, a->name[common - 1],
			  b->name[common - 1]);
}

/* The thread whose stack begins in main, or 0. */
static int find_main(struct live *live, struct frames *ret)
{
	static struct op_host_stack stack;
	int tid[THREADS_MAX];
	size_t len = live_threads(live, tid, THREADS_MAX);
	size_t i;

	for (i = 0; i < len; i++) {
		live_walk(live, tid[i], &stack);
		describe(live, &stack, ret);
		if (ret->len >= LEAST_DEPTH && same_method(ret->name[0], "Known.main:0"))
			return tid[i];
		if (ret->len)
			printf("thread %d: %zu frames, %s ... %s, end %d\n", tid[i],
			       ret->len, ret->name[0], ret->name[ret->len - 1],
			       (int)stack.end);
	}
	return 0;
}

/* The thread that runs main. A single look may meet it between two of its calls. */
static int main_thread(struct live *live, struct frames *ret)
{
	int tid;
	int i;

	for (i = 0; i < TRIES; i++) {
		tid = find_main(live, ret);
		if (tid)
			return tid;
	}
	TEST_FAIL("no thread runs main");
}

static bool single_step(int tid)
{
	int status;

	CHECK_OK(ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL));
	CHECK(waitpid(tid, &status, __WALL) == tid);
	CHECK(WIFSTOPPED(status));
	return WSTOPSIG(status) == SIGTRAP;
}

static void check_each_instruction(const char *option, bool compiled)
{
	static struct op_host_stack stack;
	static struct frames frames[2];
	char folder[] = "/tmp/otelprof-known-XXXXXX";
	struct live *live = start(folder, option, compiled);
	size_t deepest = 0;
	int now = 0;
	int tid;
	int i;

	live_open(live);
	CHECK(live->ops);
	CHECK_STR(live->ops->name, "hotspot");
	tid = main_thread(live, &frames[0]);
	live_stop(tid);
	live_walk_stopped(live, tid, &stack);
	describe(live, &stack, &frames[0]);
	for (i = 0; i < STEPS; i++) {
		if (!single_step(tid))
			continue; /* the VM's own signal, which is not passed on */
		live_walk_stopped(live, tid, &stack);
		CHECK_INT(stack.end, OP_END_COMPLETE);
		describe(live, &stack, &frames[!now]);
		CHECK(frames[!now].len >= LEAST_DEPTH);
		check_follows(&frames[now], &frames[!now], i);
		now = !now;
		deepest = frames[now].len > deepest ? frames[now].len : deepest;
	}
	CHECK(deepest >= LEAST_DEPTH + 8);
	CHECK_OK(ptrace(PTRACE_DETACH, tid, NULL, NULL));
	live_free(live);
	clean(folder);
}

static void test_interpreted(void)
{
	check_each_instruction("-Xint", false);
}

static void test_compiled(void)
{
	check_each_instruction("-XX:+TieredCompilation", true);
}

static void test_compiled_by_c1(void)
{
	check_each_instruction("-XX:TieredStopAtLevel=1", true);
}

TEST_MAIN({ "interpreted", test_interpreted }, { "compiled", test_compiled },
	  { "compiled_by_c1", test_compiled_by_c1 })
