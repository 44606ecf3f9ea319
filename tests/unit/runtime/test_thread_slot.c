/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of pthread keys, read from outside. A program sets them and prints which, under
 * glibc and, if musl-gcc is installed, under musl. Also a Python whose key is not among
 * the first.
 */
#include "live.h"
#include "pythons.h"

#include "op_python.h"

#include "tools.h"

enum {
	TRIES = 1000,
	TRY_US = 1000
};

static const char program[] =
	"#include <pthread.h>\n#include <stdio.h>\n#include <stdint.h>\n"
	"static void *run(void *a) {\n"
	"	static pthread_key_t k[40];\n"
	"	for (uintptr_t i = 0; i < 40; i++) {\n"
	"		pthread_key_create(&k[i], 0);\n"
	"		pthread_setspecific(k[i], (void *)(0x1000 + i));\n"
	"	}\n"
	"	for (uintptr_t i = 0; i < 40; i++)\n"
	"		printf(\"%lx %u %lx\\n\", (unsigned long)__builtin_thread_pointer(),\n"
	"			(unsigned)k[i], (unsigned long)pthread_getspecific(k[i]));\n"
	"	puts(\"done\"); fflush(stdout); getchar(); return a;\n"
	"}\n"
	"int main(void) {\n"
	"	pthread_t t;\n"
	"	pthread_create(&t, 0, run, 0);\n"
	"	return pthread_join(t, 0);\n"
	"}\n";

/* Python's key comes after these. */
static const char preload[] = "#include <pthread.h>\n"
			      "__attribute__((constructor)) static void f(void) {\n"
			      "	pthread_key_t k;\n"
			      "	for (int i = 0; i < 50; i++) pthread_key_create(&k, 0);\n"
			      "}\n";

static void check_values(const char *path)
{
	char *argv[] = { (char *)path, NULL };
	struct live *live = live_start(argv);
	bool opened = false;
	char line[128];
	int checked = 0;

	while (fgets(line, sizeof(line), live->from) && strcmp(line, "done\n") != 0) {
		struct op_thread_slot slot;
		unsigned long tp, value;
		unsigned int key;
		uint64_t at = 0;

		CHECK_INT(sscanf(line, "%lx %u %lx", &tp, &key, &value), 3);
		if (!opened)
			live_open(live);
		opened = true;
		CHECK_OK(live_thread_slot(live, key, &slot));
		CHECK_OK(op_memory_read(&live->memory, tp + (uint64_t)slot.at, &at, 8));
		CHECK_OK(
			op_memory_read(&live->memory, at + (uint64_t)slot.block, &at, 8));
		CHECK_INT(at, value);
		checked++;
	}
	CHECK_INT(checked, 40);
	live_free(live);
}

static void test_glibc(void)
{
	if (!tools_compile("gcc -O1 -pthread", program, "glibc"))
		SKIP("no gcc");
	check_values(tools_path("glibc"));
}

/* The number of Python frames of @live's stack. */
static uint32_t python_frames(struct live *live)
{
	static struct op_unwind_result stack;
	uint32_t python = 0;
	uint32_t i;

	live_walk(live, live->pid, &stack);
	CHECK_INT(stack.end, OP_END_COMPLETE);
	for (i = 0; i < stack.words; i++) {
		if (!op_frame_instance(stack.word[i]))
			continue;
		python++;
		i += OP_PYTHON_FRAME_WORDS - 1;
	}
	return python;
}

static void test_python_with_a_late_key(void)
{
	char variable[600];
	char *argv[] = { (char *)"/usr/bin/env", variable,	  NULL, (char *)KNOWN_PY,
			 (char *)"hold",	 (char *)"plain", NULL };
	struct pythons pythons;
	struct live *live;
	char line[512];
	uint32_t python;
	int tries = TRIES;

	pythons_find(&pythons);
	if (!pythons.len)
		SKIP("no CPython here");
	if (!tools_compile("gcc -shared -fPIC -O1 -pthread", preload, "keys.so"))
		SKIP("no gcc");
	(void)snprintf(variable, sizeof(variable), "LD_PRELOAD=%s",
		       tools_path("keys.so"));
	argv[2] = pythons.path[0];
	live = live_start(argv);
	while (fgets(line, sizeof(line), live->from) && line[0] != '\n')
		;
	live_open(live);
	/* say(), which wrote the line, may not have returned */
	while ((python = python_frames(live)) == 5 && tries--)
		(void)usleep(TRY_US);
	CHECK_INT(python, 4); /* hold, scene_plain, run_hold, <module> */
	live_free(live);
}

static void test_musl(void)
{
	if (!tools_compile("musl-gcc -O1 -pthread", program, "musl"))
		SKIP("no musl-gcc");
	check_values(tools_path("musl"));
}

/* Its libc is in the program's own file. */
static void check_static(const char *compiler, const char *name)
{
	if (!tools_compile(compiler, program, name))
		SKIP("no static libc");
	check_values(tools_path(name));
}

static void test_static_glibc(void)
{
	check_static("gcc -O1 -pthread -static", "glibc-static");
}

static void test_static_musl(void)
{
	check_static("musl-gcc -O1 -pthread -static", "musl-static");
}

TEST_MAIN({ "glibc", test_glibc },
	  { "python_with_a_late_key", test_python_with_a_late_key },
	  { "musl", test_musl }, { "static_glibc", test_static_glibc },
	  { "static_musl", test_static_musl })
