/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real JVM, single-stepped, interpreted and compiled. From one instruction to the next
 * at most one Java frame is added or removed, and the frames below do not change, nor do
 * their lines. The program is "calls" of tests/live/languages/hotspot/Known.java, which
 * does little but make frames.
 */
#include <glob.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "live.h"

#include "op_hotspot.h"

#include "test.h"

enum {
	STEPS = 6000, /* instructions */
	UPCALL_STEPS = 60000,
	FRAMES_MAX = 64,
	THREADS_MAX = 128,
	LEAST_DEPTH = 3, /* main, run, calls */
	DEEPER = 8,	 /* at least, at times */
	WARM_UP = 3,	 /* seconds at least, until all is compiled */
	WARM_UP_MAX = 60,
	TRIES = 50, /* to find the thread that runs main */
	UPCALL_SINCE = 22,
	UPCALL_LEAST = 50, /* instructions: the stub has about so many */
};

struct frames {
	bool in_upcall; /* the code of its stub was interrupted */
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

/* What is run. */
struct scene {
	const char *name; /* of the class, whose main() prints "ready" */
	const char *option;
	bool compiled; /* wait until all of it is */
	size_t least;  /* frames at any time */
	int steps;
};

static const char *javac(void)
{
	static char ret[256];

	find("/usr/lib/jvm/*/bin/javac", ret, sizeof(ret));
	return ret;
}

static void clean(const char *folder)
{
	char command[512];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_INT(system(command), 0);
}

/* Compile @source into @folder, for JDK @release, or skip. */
static void compile(const char *source, const char *folder, int release)
{
	char command[1024];

	(void)snprintf(
		command, sizeof(command),
		"env -u LD_PRELOAD %s --release %d -Xlint:-options -cp %s -d %s %s "
		">/dev/null 2>&1",
		javac(), release, folder, folder, source);
	if (system(command) == 0)
		return;
	clean(folder);
	SKIP("%s does not compile for JDK %d", javac(), release);
}

static struct live *start(char *folder, const struct scene *scene)
{
	static char java[256];
	char line[256];
	const char *argv[] = { java,
			       "-XX:+UnlockDiagnosticVMOptions",
			       "-XX:+DebugNonSafepoints",
			       scene->option,
			       "-XX:CompileCommand=quiet",
			       "-XX:CompileCommand=dontinline,Known$Ladder.*",
			       "-cp",
			       folder,
			       scene->name,
			       "calls",
			       "600",
			       NULL };
	struct live *live;

	find("/usr/lib/jvm/*/bin/java", java, sizeof(java));
	CHECK(mkdtemp(folder));
	compile(KNOWN_JAVA, folder, 8);
	if (strcmp(scene->name, "Upcall") == 0)
		compile(UPCALL_JAVA, folder, UPCALL_SINCE);
	live = live_start((char *const *)argv);
	if (!fgets(line, sizeof(line), live->from) || strncmp(line, "ready", 5) != 0)
		TEST_FAIL("%s does not run %s", java, scene->name);
	if (scene->compiled)
		warm_up(live);
	return live;
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

static void describe(struct live *live, const struct op_unwind_result *stack,
		     struct frames *ret)
{
	static char name[FRAMES_MAX][96];
	size_t len = 0;
	uint32_t i;

	ret->in_upcall = false;
	for (i = 0; i < stack->words && len < FRAMES_MAX;
	     i += op_frame_words(stack->word[i])) {
		struct op_runtime_frame f = { 0 };

		if (!op_frame_instance(stack->word[i]))
			continue;
		CHECK_OK(live->ops->describe(live->instance, stack->word + i,
					     op_frame_words(stack->word[i]), &f));
		if (i == 0 && f.len)
			ret->in_upcall = strcmp(f.function[0].name, "upcall_stub") == 0;
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

/* The thread whose stack begins in @scene's main, or 0. */
static int find_main(struct live *live, const struct scene *scene, struct frames *ret)
{
	static struct op_unwind_result stack;
	int tid[THREADS_MAX];
	size_t len = live_threads(live, tid, THREADS_MAX);
	char name[64];
	size_t i;

	(void)snprintf(name, sizeof(name), "%s.main:0", scene->name);
	for (i = 0; i < len; i++) {
		live_walk(live, tid[i], &stack);
		describe(live, &stack, ret);
		if (ret->len >= scene->least && same_method(ret->name[0], name))
			return tid[i];
		if (ret->len)
			printf("thread %d: %zu frames, %s ... %s, end %d\n", tid[i],
			       ret->len, ret->name[0], ret->name[ret->len - 1],
			       (int)stack.end);
	}
	return 0;
}

/* The thread that runs main. A single look may meet it between two of its calls. */
static int main_thread(struct live *live, const struct scene *scene, struct frames *ret)
{
	int tid;
	int i;

	for (i = 0; i < TRIES; i++) {
		tid = find_main(live, scene, ret);
		if (tid)
			return tid;
	}
	TEST_FAIL("no thread runs main");
}

/* Is it the stack of main() between two calls of calls(), which returns once in 1,000 turns? */
static bool between_calls(const struct frames *f)
{
	static const char *const innermost[] = { "Known.main:0", "Known.run:0",
						 "java.lang.System.nanoTime:0" };
	size_t i;

	for (i = 0; f->len && f->len < LEAST_DEPTH && i < OP_ARRAY_SIZE(innermost); i++)
		if (same_method(f->name[f->len - 1], innermost[i]))
			return true;
	return false;
}

static bool single_step(int tid)
{
	int status;

	CHECK_OK(ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL));
	CHECK(waitpid(tid, &status, __WALL) == tid);
	CHECK(WIFSTOPPED(status));
	return WSTOPSIG(status) == SIGTRAP;
}

/* Returns how many instructions were of an upcall's stub. */
static int check_each_instruction(const struct scene *scene)
{
	static struct op_unwind_result stack;
	static struct frames frames[2];
	char folder[] = "/tmp/otelprof-known-XXXXXX";
	struct live *live = start(folder, scene);
	size_t deepest = 0;
	int upcalls = 0;
	int now = 0;
	int tid;
	int i;

	live_open(live);
	CHECK(live->ops);
	CHECK_STR(op_runtime_name(live->ops), "hotspot");
	tid = main_thread(live, scene, &frames[0]);
	live_stop(tid);
	live_walk_stopped(live, tid, &stack);
	describe(live, &stack, &frames[0]);
	for (i = 0; i < scene->steps; i++) {
		if (!single_step(tid))
			continue; /* the VM's own signal, which is not passed on */
		live_walk_stopped(live, tid, &stack);
		CHECK_INT(stack.end, OP_END_COMPLETE);
		describe(live, &stack, &frames[!now]);
		CHECK(frames[!now].len >= scene->least || between_calls(&frames[!now]));
		check_follows(&frames[now], &frames[!now], i);
		now = !now;
		deepest = frames[now].len > deepest ? frames[now].len : deepest;
		upcalls += frames[now].in_upcall;
	}
	CHECK(deepest >= scene->least + DEEPER);
	CHECK_OK(ptrace(PTRACE_DETACH, tid, NULL, NULL));
	live_free(live);
	clean(folder);
	return upcalls;
}

static void test_interpreted(void)
{
	(void)check_each_instruction(
		&(struct scene){ "Known", "-Xint", false, LEAST_DEPTH, STEPS });
}

static void test_compiled(void)
{
	(void)check_each_instruction(&(struct scene){ "Known", "-XX:+TieredCompilation",
						      true, LEAST_DEPTH, STEPS });
}

static void test_compiled_by_c1(void)
{
	(void)check_each_instruction(&(struct scene){ "Known", "-XX:TieredStopAtLevel=1",
						      true, LEAST_DEPTH, STEPS });
}

/* Native code calls Java: the stub is followed from its first instruction to its last. */
static void test_upcalls(void)
{
	int n = check_each_instruction(
		&(struct scene){ "Upcall", "-Xint", false, 1, UPCALL_STEPS });

	printf("%d instructions were of the stub\n", n);
	CHECK(n >= UPCALL_LEAST);
}

TEST_MAIN({ "interpreted", test_interpreted }, { "compiled", test_compiled },
	  { "compiled_by_c1", test_compiled_by_c1 }, { "upcalls", test_upcalls })
