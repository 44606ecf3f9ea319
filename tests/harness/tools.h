/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory for one test, for its files and for compilers and binutils that
 * run in it. */
#ifndef OP_TEST_TOOLS_H
#define OP_TEST_TOOLS_H

#include <stdarg.h>
#include <unistd.h>

#include "test.h"

/* Removed by tools_cleanup(). */
static char tools_dir[64];

static inline void tools_cleanup(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", tools_dir);
	if (tools_dir[0] && system(command) != 0)
		(void)fprintf(stderr, "cannot remove %s\n", tools_dir);
}

static inline const char *tools_make_dir(void)
{
	if (!tools_dir[0]) {
		(void)snprintf(tools_dir, sizeof(tools_dir), "/tmp/otelprof-test-XXXXXX");
		CHECK(mkdtemp(tools_dir));
		(void)atexit(tools_cleanup);
	}
	return tools_dir;
}

/* Run a shell command in the directory. Returns its exit status. */
static inline int tools_try(const char *fmt, ...)
{
	char command[4096];
	int len;
	va_list ap;

	len = snprintf(command, sizeof(command), "cd %s && ", tools_make_dir());
	va_start(ap, fmt);
	(void)vsnprintf(command + len, sizeof(command) - (size_t)len, fmt, ap);
	va_end(ap);
	return system(command);
}

#define TOOLS_RUN(...)                                                                   \
	do {                                                                             \
		if (tools_try(__VA_ARGS__) != 0)                                         \
			TEST_FAIL("command failed: " __VA_ARGS__);                       \
	} while (0)

static inline bool tools_have(const char *name)
{
	return tools_try("command -v %s >/dev/null 2>&1", name) == 0;
}

#define TOOLS_NEED(name)                                                                 \
	do {                                                                             \
		if (!tools_have(name))                                                   \
			SKIP("%s is not installed", name);                               \
	} while (0)

/* The minor version of the installed Go 1.x, which determines the format of its tables.
 * 0: none. */
static inline int tools_go_minor(void)
{
	static int minor = -1;
	FILE *f;

	if (minor >= 0)
		return minor;
	f = popen("GOTOOLCHAIN=local go version 2>/dev/null", "re");
	CHECK(f);
	if (fscanf(f, "go version go1.%d", &minor) != 1)
		minor = 0;
	(void)pclose(f);
	return minor;
}

#define TOOLS_NEED_GO(version)                                                           \
	do {                                                                             \
		if (tools_go_minor() < (version))                                        \
			SKIP("Go 1.%d or later is not installed", version);              \
	} while (0)

/* The path of a file in the directory. The last few results stay valid. */
static inline const char *tools_path(const char *name)
{
	static char paths[16][512];
	static unsigned int next;
	char *path = paths[next++ % 16];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", tools_make_dir(), name);
	return path;
}

static inline void tools_write_bytes(const char *name, const void *bytes, size_t len)
{
	FILE *f = fopen(tools_path(name), "we");

	CHECK(f);
	CHECK(fwrite(bytes, 1, len, f) == len);
	CHECK(fclose(f) == 0);
}

static inline void tools_write(const char *name, const char *text)
{
	tools_write_bytes(name, text, strlen(text));
}

/* Compile @source to the file @name. Returns false if that compiler is not installed. */
static inline bool tools_compile(const char *cc, const char *source, const char *name)
{
	char file[64];

	(void)snprintf(file, sizeof(file), "%s.c", name);
	tools_write(file, source);
	return tools_try("%s -o %s %s 2>/dev/null", cc, name, file) == 0;
}

/* The output of a command. The caller frees it. */
static inline char *tools_output(const char *fmt, ...)
{
	enum {
		OUTPUT_MAX = 64 << 20
	};
	char command[4096];
	size_t cap = 4096;
	size_t len = 0;
	char *text = malloc(cap);
	va_list ap;
	size_t n;
	FILE *f;
	int at;

	at = snprintf(command, sizeof(command), "cd %s && ", tools_make_dir());
	va_start(ap, fmt);
	(void)vsnprintf(command + at, sizeof(command) - (size_t)at, fmt, ap);
	va_end(ap);
	f = popen(command, "re");
	CHECK(f && text);
	while ((n = fread(text + len, 1, cap - len - 1, f)) > 0) {
		len += n;
		if (len + 1 < cap)
			continue;
		cap *= 2;
		CHECK(cap <= OUTPUT_MAX);
		text = realloc(text, cap);
		CHECK(text);
	}
	text[len] = 0;
	if (pclose(f) != 0)
		TEST_FAIL("command failed: %s", command);
	return text;
}

#endif
