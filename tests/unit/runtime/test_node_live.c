/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real Node.js, single-stepped. From one instruction to the next at most one JavaScript
 * frame is added or removed, and the frames below do not change, nor do their lines. The
 * program is "calls" of tests/live/languages/node/known.js, which does little but make
 * frames.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

#include "op_node.h"

#include "test.h"

enum {
	STEPS = 6000, /* instructions */
	WRONG_MOST = STEPS / 100,
	FRAMES_MAX = 64,
	LEAST_DEPTH = 2, /* the file's code, calls */
	WARM_MS = 1500,	 /* until all code is compiled as far as it is to be */
};

struct frames {
	size_t len;
	char name[FRAMES_MAX][96]; /* root first: name:line */
};

static struct live *start(const char *mode)
{
	const char *program = getenv("OTELPROF_NODE");
	const char *argv[] = { program ? program : "/usr/bin/node",
			       "--no-short-builtin-calls", /* builtins are mapped once */
			       mode,
			       KNOWN_JS,
			       "calls",
			       "600",
			       NULL };
	struct live *live;
	char line[256];

	if (access(argv[0], X_OK) != 0)
		SKIP("no %s; OTELPROF_NODE names another", argv[0]);
	live = live_start((char *const *)argv);
	if (!fgets(line, sizeof(line), live->from) || strncmp(line, "ready", 5) != 0) {
		live_free(live);
		SKIP("%s does not run known.js with %s", argv[0], mode);
	}
	(void)usleep(WARM_MS * 1000);
	return live;
}

static void describe(struct live *live, const struct op_unwind_result *stack,
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
		CHECK(f.len >= 1); /* what is inlined has no frame of its own */
		(void)snprintf(name[len++], sizeof(name[0]), "%.80s:%u",
			       f.function[f.len - 1].name, f.function[f.len - 1].line);
	}
	for (ret->len = 0; ret->len < len; ret->len++)
		memcpy(ret->name[ret->len], name[len - 1 - ret->len], sizeof(name[0]));
}

static bool same_function(const char *a, const char *b)
{
	size_t len = (size_t)(strrchr(a, ':') - a);

	return strncmp(a, b, len) == 0 && b[len] == ':';
}

/* Can @b be the stack one instruction after @a? Says so where not. */
static bool follows(const struct frames *a, const struct frames *b, int step)
{
	size_t common = a->len < b->len ? a->len : b->len;
	size_t i;

	if (!common || a->len > b->len + 1 || b->len > a->len + 1) {
		printf("  step %d: %zu frames, then %zu: %s, %s\n", step, a->len, b->len,
		       a->len ? a->name[a->len - 1] : "",
		       b->len ? b->name[b->len - 1] : "");
		return false;
	}
	for (i = 0; i + 1 < common; i++)
		if (strcmp(b->name[i], a->name[i]) != 0)
			break;
	if (i + 1 >= common && same_function(a->name[common - 1], b->name[common - 1]))
		return true;
	printf("  step %d: %s, then %s\n", step, a->name[i], b->name[i]);
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

static void step_through(const char *mode)
{
	static struct op_unwind_result stack;
	static struct frames frames[2];
	struct live *live = start(mode);
	size_t deepest = 0;
	int wrong = 0;
	int now = 0;
	int tid;
	int i;

	live_open(live);
	CHECK(live->ops);
	CHECK_STR(op_runtime_name(live->ops), "node");
	tid = live->pid;
	live_stop(tid);
	live_walk_stopped(live, tid, &stack);
	describe(live, &stack, &frames[0]);
	for (i = 0; i < STEPS; i++) {
		if (!single_step(tid))
			continue; /* V8's own signal, which is not passed on */
		live_walk_stopped(live, tid, &stack);
		if (stack.end != OP_END_COMPLETE) {
			printf("  step %d: ends with %u\n", i, stack.end);
			wrong++;
			continue;
		}
		describe(live, &stack, &frames[!now]);
		wrong += !follows(&frames[now], &frames[!now], i);
		now = !now;
		deepest = frames[now].len > deepest ? frames[now].len : deepest;
	}
	printf("  %d of %d wrong\n", wrong, STEPS);
	CHECK(wrong <= WRONG_MOST);
	CHECK(deepest >= LEAST_DEPTH + 2);
	CHECK_OK(ptrace(PTRACE_DETACH, tid, NULL, NULL));
	live_free(live);
}

static void test_bytecode(void)
{
	step_through("--jitless");
}

static void test_baseline(void)
{
	step_through("--no-opt");
}

static void test_optimized(void)
{
	step_through("--max-inlined-bytecode-size=0");
}

TEST_MAIN({ "bytecode", test_bytecode }, { "baseline", test_baseline },
	  { "optimized", test_optimized })
