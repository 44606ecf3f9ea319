/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of real interpreters, walked by the step that runs in the kernel, against
 * what the program itself says of its frames (tests/live/languages/python/known.py).
 */
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "pythons.h"
#include "runtime/python/image.h"

#include "op_python.h"

#include "test.h"

enum {
	FRAMES_MAX = 512,
	THREADS_MAX = 8,
	CALLS_SAMPLES = 600, /* one in 200 stops amid a frame that is half made */
	CALLS_EXACT_PERCENT = 99,
	CHAIN = 24,
};

struct frame {
	char name[256];
	char file[512];
	unsigned int line;
	unsigned int first_line;
};

struct frames {
	struct frame frame[FRAMES_MAX];
	size_t natives[FRAMES_MAX]; /* native frames rootward of it, loops not counted */
	size_t loops[FRAMES_MAX];
	size_t len;
	size_t fresh; /* said to be met for the first time */
	uint16_t end;
};

static void read_line(struct live *live, char *line, size_t size)
{
	if (!fgets(line, (int)size, live->from))
		TEST_FAIL("the program ended");
	line[strcspn(line, "\n")] = 0;
}

static void read_truth(struct live *live, struct frames *ret)
{
	char line[2048];

	for (ret->len = 0;; ret->len++) {
		struct frame *f = &ret->frame[ret->len];

		read_line(live, line, sizeof(line));
		if (!line[0])
			return;
		CHECK(ret->len < FRAMES_MAX);
		CHECK_INT(sscanf(line, "%255[^\t]\t%511[^\t]\t%u\t%u", f->name, f->file,
				 &f->line, &f->first_line),
			  4);
	}
}

/* Walk @tid and describe its Python frames. */
static void walk(struct live *live, int tid, struct frames *ret)
{
	static struct op_unwind_result stack;
	uint32_t i;

	memset(ret, 0, sizeof(*ret));
	live_walk(live, tid, &stack);
	ret->end = stack.end;
	for (i = 0; i < stack.words;) {
		struct op_runtime_frame d;
		struct frame *f = &ret->frame[ret->len];

		if (!op_frame_instance(stack.word[i])) {
			size_t *count = live_in_loop(live, stack.word[i]) ? ret->loops
									  : ret->natives;

			if (ret->len)
				count[ret->len - 1]++;
			i++;
			continue;
		}
		CHECK_INT(op_frame_words(stack.word[i]), OP_PYTHON_FRAME_WORDS);
		CHECK_OK(live->ops->describe(live->instance, &stack.word[i],
					     OP_PYTHON_FRAME_WORDS, &d));
		CHECK_INT(d.len, 1);
		i += OP_PYTHON_FRAME_WORDS;
		CHECK(ret->len < FRAMES_MAX);
		(void)snprintf(f->name, sizeof(f->name), "%s", d.function[0].name);
		(void)snprintf(f->file, sizeof(f->file), "%s", d.function[0].file);
		f->line = d.function[0].line;
		f->first_line = d.function[0].start_line;
		ret->fresh += d.fresh;
		ret->len++;
	}
}

static void print_frames(const char *what, const struct frames *f)
{
	size_t i;

	(void)fprintf(stderr, "%s (end %u):\n", what, f->end);
	for (i = 0; i < f->len; i++)
		(void)fprintf(stderr, "  %s %s:%u (%u) +%zu loops +%zu natives\n",
			      f->frame[i].name, f->frame[i].file, f->frame[i].line,
			      f->frame[i].first_line, f->loops[i], f->natives[i]);
}

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s);
	size_t n = strlen(end);

	return len >= n && strcmp(s + len - n, end) == 0;
}

static bool same(const struct frames *truth, const struct frames *got)
{
	size_t i;

	if (truth->len != got->len || got->end != OP_END_COMPLETE)
		return false;
	for (i = 0; i < got->len; i++)
		if (strcmp(truth->frame[i].name, got->frame[i].name) != 0 ||
		    strcmp(truth->frame[i].file, got->frame[i].file) != 0 ||
		    truth->frame[i].line != got->frame[i].line ||
		    truth->frame[i].first_line != got->frame[i].first_line ||
		    (ends_with(got->frame[i].name, "_via_c") &&
		     (!got->natives[i] || !got->loops[i])))
			return false;
	return true;
}

/* The thread that waits in hold(), or the last one, and its frames. */
static int find_holder(struct live *live, struct frames *ret)
{
	int tid[THREADS_MAX];
	size_t len = live_threads(live, tid, THREADS_MAX);
	size_t fresh = 0;
	int tries;
	size_t i;

	for (tries = 0; tries < 50; tries++) {
		for (i = 0; i < len; i++) {
			walk(live, tid[i], ret);
			fresh += ret->fresh;
			ret->fresh = fresh;
			/* it said its frames, and may not have gone to wait yet */
			if (ret->len && strcmp(ret->frame[0].name, "hold") == 0 &&
			    ret->natives[0] == 0)
				return tid[i];
		}
		(void)usleep(10000);
	}
	return len ? tid[len - 1] : live->pid;
}

/* The walk of @tid after the process has gone on: it has no frames, or those that were kept. */
static void check_late(struct live *live, int tid, const struct frames *truth)
{
	static struct frames got;

	live->keeps = true;
	walk(live, tid, &got);
	live->keeps = false;
	live->heap_moved = true;
	walk(live, live->pid, &got);
	CHECK_INT(got.len, 0); /* better none than those of another moment */
	CHECK_INT(got.end, OP_ERROR_python_late);
	live->has_chain = true;
	walk(live, tid, &got);
	CHECK(same(truth, &got));
	live->has_chain = false;
	live->heap_moved = false;
}

static void check_scenes(const char *python)
{
	char *argv[] = { (char *)python, (char *)KNOWN_PY, (char *)"hold", (char *)"all",
			 NULL };
	struct live *live = live_start(argv);
	static struct frames truth;
	static struct frames got;
	char line[256];
	int scenes = 0;
	size_t fresh = 0;
	int holder;

	for (;;) {
		read_line(live, line, sizeof(line));
		if (strcmp(line, "done") == 0)
			break;
		read_truth(live, &truth);
		(void)usleep(20000); /* from the last write to the read it waits in */
		if (!scenes++) {
			live_open(live);
			if (!live->instance)
				TEST_FAIL("%s: no Python was found", python);
		}
		holder = find_holder(live, &got);
		if (!same(&truth, &got)) {
			print_frames("truth", &truth);
			print_frames("got", &got);
			TEST_FAIL("%s: %s: not the same", python, line);
		}
		fresh += got.fresh;
		walk(live, holder, &got);
		CHECK_INT(got.fresh, 0);
		check_late(live, holder, &truth);
		live->ops->window_end(live->instance);
		CHECK_INT(write(live->to, "\n", 1), 1);
	}
	CHECK(scenes >= 17);
	CHECK(fresh >= 17); /* a function a scene at the least */
	(void)printf("  %s: %d scenes\n", python, scenes);
	live_free(live);
}

static void test_scenes(void)
{
	pythons_check(check_scenes);
}

/*
 * Is it a stack that the chain of 24 functions and leaf_calls can have, each function with
 * its own activation of the loop (3.10 and before) or all with one?
 */
static bool exact_chain(const struct live *live, const struct frames *f)
{
	const struct op_python_image *image = live->image;
	size_t loops = image->layout.flags & OP_PYTHON_ONE_FRAME ? 1 : 0;
	char name[16];
	size_t at = 0;
	size_t i;
	int k = 1;

	if (f->end != OP_END_COMPLETE || f->len < 2)
		return false;
	for (i = 0; i < f->len; i++)
		if (f->loops[i] != (i == f->len - 1 ? 1 : loops))
			return false;
	if (strcmp(f->frame[at].name, "tick") == 0)
		at++;
	if (strcmp(f->frame[at].name, "leaf_calls") == 0)
		at++;
	else if (at)
		return false;
	else if (sscanf(f->frame[0].name, "f%d", &k) != 1) /* on the way to the leaf */
		k = CHAIN + 1;
	for (; k <= CHAIN; k++) {
		(void)snprintf(name, sizeof(name), "f%d", k);
		if (at >= f->len || strcmp(f->frame[at].name, name) != 0)
			return false;
		at++;
	}
	return at + 2 == f->len && strcmp(f->frame[at].name, "run_calls") == 0;
}

/*
 * Stopped at any instruction, mostly while calling and returning: the prologue and the
 * epilogue of the loop are met often.
 */
static void check_calls(const char *python)
{
	char *argv[] = { (char *)python, (char *)KNOWN_PY, (char *)"calls", (char *)"60",
			 NULL };
	struct live *live = live_start(argv);
	static struct frames got;
	static struct frames bad;
	unsigned int random = 1;
	char line[256];
	int exact = 0;
	int i;

	read_line(live, line, sizeof(line));
	CHECK_STR(line, "ready");
	live_open(live);
	for (i = 0; i < CALLS_SAMPLES; i++) {
		random = random * 1103515245 + 12345;
		(void)usleep(500 + random % 1000);
		walk(live, live->pid, &got);
		if (exact_chain(live, &got))
			exact++;
		else
			bad = got;
	}
	(void)printf("  %s: %d of %d exact\n", python, exact, CALLS_SAMPLES);
	if (exact * 100 < CALLS_SAMPLES * CALLS_EXACT_PERCENT) {
		print_frames("not exact", &bad);
		TEST_FAIL("%s: only %d of %d are exact", python, exact, CALLS_SAMPLES);
	}
	live_free(live);
}

static void test_calls(void)
{
	pythons_check(check_calls);
}

TEST_MAIN({ "scenes", test_scenes }, { "calls", test_calls })
