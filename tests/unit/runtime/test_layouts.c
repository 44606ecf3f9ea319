/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts from data files: the library's own, the user's, and wrong ones. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/layouts.h"
#include "runtime/php/layout.h"
#include "runtime/python/layout.h"
#include "runtime/runtime.h"

#include "test.h"

static char dir[64];
static char logged[8][512];
static size_t lines;

static void note(void *userdata, int level, const char *message)
{
	if (level > OP_LOG_WARNING || lines == 8)
		return;
	(void)snprintf(logged[lines++], sizeof(logged[0]), "%s", message);
}

static struct op_log capture = { .fn = note, .level = OP_LOG_WARNING };

static void begin(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/layouts-XXXXXX");
	CHECK(mkdtemp(dir));
	lines = 0;
	capture.message[0] = 0;
}

static const char *path_of(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "we");

	CHECK(f && fputs(text, f) >= 0);
	CHECK_OK(fclose(f));
	CHECK_OK(chmod(path_of(name), 0644));
}

static void end(struct op_layouts *layouts)
{
	char command[128];

	op_layouts_free(layouts);
	(void)snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_OK(system(command));
}

static struct op_layouts *read_dir(void)
{
	struct op_layouts *layouts = NULL;

	CHECK_OK(op_runtime_layouts(dir, &capture, &layouts));
	return layouts;
}

static struct op_python_layout python(const struct op_layouts *layouts, uint16_t version)
{
	struct op_python_layout l;

	CHECK_OK(
		op_layouts_find_number(layouts, &op_runtime_python_layouts, version, &l));
	return l;
}

/* Some numbers of each version, from offsetof() over its headers. */
static void test_built_in(void)
{
	static const struct {
		uint16_t version;
		uint8_t place, code;
		uint16_t code_bytes, ascii;
	} want[] = {
		{ 0x0306, 120, 32, 144, 48 }, { 0x0307, 104, 32, 144, 48 },
		{ 0x0308, 104, 32, 152, 48 }, { 0x0309, 104, 32, 152, 48 },
		{ 0x030a, 96, 32, 152, 48 },  { 0x030b, 56, 32, 184, 48 },
		{ 0x030c, 56, 0, 192, 40 },   { 0x030d, 56, 0, 200, 40 },
		{ 0x030e, 56, 0, 208, 40 },
	};
	struct op_python_layout l;
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(*want); i++) {
		l = python(NULL, want[i].version);
		CHECK_INT(l.frame.place, want[i].place);
		CHECK_INT(l.frame.code, want[i].code);
		CHECK_INT(l.code.bytes, want[i].code_bytes);
		CHECK_INT(l.unicode_ascii, want[i].ascii);
	}
	CHECK_INT(l.published[0], 3);
	CHECK_INT(l.published[14], 4);
	CHECK_INT(l.lines, OP_PYTHON_LOCATIONS);
	CHECK_INT(op_layouts_find_number(NULL, &op_runtime_python_layouts, 0x0363, &l),
		  -ENOENT);
}

/* The texts that are built in hold no mistake. */
static void test_built_in_files_are_right(void)
{
	size_t len;
	const struct op_runtime_ops *const *all = op_runtime_all(&len);
	size_t i;

	for (i = 0; i < len; i++) {
		const struct op_layouts_schema *schema = all[i]->layouts;
		char error[OP_LAYOUTS_ERROR_MAX];
		struct op_layouts *layouts;

		if (!schema)
			continue;
		CHECK_OK(op_layouts_new(&layouts));
		CHECK_OK(op_layouts_add(layouts, schema));
		if (op_layouts_read(layouts, schema->runtime,
				    (const char *)schema->built_in,
				    strlen((const char *)schema->built_in), error) < 0)
			CHECK_STR(error, "");
		CHECK(op_layouts_count(layouts) > 0);
		op_layouts_free(layouts);
	}
}

static void test_a_version_is_added_and_one_replaced(void)
{
	struct op_layouts *layouts;
	struct op_php_layout php;

	begin();
	write_file("a.layout", "[python 3.99]\nlike = 3.12\nframe_mark = 0x48 # new\n");
	write_file("b.layout", "[python 3.99]\nlike = 3.99\nmark = 2\n"
			       "[php 8.4]\nlike = 8.4\ncurrent = 504\n");
	write_file("notes.txt", "not read\n");
	layouts = read_dir();
	CHECK_INT(lines, 0);
	CHECK_INT(op_layouts_count(layouts), 3);
	CHECK_INT(python(layouts, 0x0363).frame.mark, 0x48);
	CHECK_INT(python(layouts, 0x0363).mark, 2);
	CHECK_INT(python(layouts, 0x0363).frame.function, 16);
	CHECK_INT(python(layouts, 0x030c).frame.mark, 70);
	CHECK_OK(op_layouts_find_number(layouts, &op_runtime_php_layouts, 0x0804, &php));
	CHECK_INT(php.current, 504);
	CHECK_INT(php.filename, 168);
	end(layouts);
}

/* Each is left out with one sentence that names file and line, and the rest holds. */
static void test_files_that_are_wrong(void)
{
	static const struct {
		const char *text, *say;
	} wrong[] = {
		{ "frame_mark = 1\n", ":1: there is no [RUNTIME VERSION]" },
		{ "[python 3.99]\nlike = 3.14\nframe_mrak = 1\n",
		  ":3: python has no key \"frame_mrak\"" },
		{ "[python 3.99]\nlike = 3.14\nframe_mark = 256\n",
		  ":3: 256 is too large" },
		{ "[python 3.99]\nlike = 3.14\nframe_mark = -1\n",
		  ":3: \"-1\" is not a number" },
		{ "[python 3.99]\nlike = 3.14\nflags = relativ\n",
		  ":3: \"relativ\" is not a word" },
		{ "[python 3.99]\nlike = 3.98\n",
		  ":2: there is no section [python 3.98]" },
		{ "[python 3.99]\nframe_mark = 1\n", ":1: [python 3.99] cannot be used" },
		{ "[python 3.99]\nlike = 3.14\nframe_code = 248\n",
		  ":1: [python 3.99] cannot be used" },
		{ "[python 3.99]\nlike = 3.12\ncframe_frame = 24\n",
		  ":1: [python 3.99] cannot be used" },
		{ "# x\n\n[cobol 3.3]\n", ":3: no runtime \"cobol\"" },
		{ "[python]\n", ":1: a section begins with" },
		{ "[python 3.99]\nlike = 3.14\nlike = 3.13\n", ":3: \"like\" must be" },
		{ "[python 3.99]\nlike = 3.14\nmark = 1\nmark = 2\n",
		  ":4: mark is given twice" },
		{ "[python 3.99]\nlike = 3.13\npublished = 1 2\n",
		  ":3: published takes 17 numbers" },
		{ "[python 3.99]\nlike = 3.13\nmark = 1 2\n", ":3: mark takes 1 number" },
		{ "nonsense\n", ":1: the line is not a section" },
		{ "[python 3.99]\nlike = 3.14\nmark =\n", ":3: a value goes after" },
		/* the section before the mistake is not taken either */
		{ "[python 3.97]\nlike = 3.14\n[python 3.99]\n= 1\n",
		  ":4: one key goes before" },
	};
	struct op_python_layout l;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct op_layouts *layouts;

		begin();
		write_file("a.layout", wrong[i].text);
		write_file("b.layout", "[python 3.98]\nlike = 3.14\n");
		layouts = read_dir();
		CHECK_INT(lines, 1);
		if (!strstr(logged[0], wrong[i].say) ||
		    strncmp(logged[0], path_of("a.layout"), strlen(dir)) != 0)
			CHECK_STR(logged[0], wrong[i].say);
		CHECK(strstr(logged[0], "; this file is left out"));
		CHECK_INT(op_layouts_count(layouts), 1);
		CHECK_INT(op_layouts_find_number(layouts, &op_runtime_python_layouts,
						 0x0361, &l),
			  -ENOENT);
		CHECK_OK(op_layouts_find_number(layouts, &op_runtime_python_layouts,
						0x0362, &l));
		CHECK_OK(op_layouts_find_number(layouts, &op_runtime_python_layouts,
						0x030b, &l));
		end(layouts);
	}
}

static void test_who_may_write(void)
{
	struct op_layouts *layouts = NULL;

	begin();
	write_file("a.layout", "[python 3.98]\nlike = 3.14\n");
	write_file("b.layout", "[python 3.99]\nlike = 3.14\n");
	CHECK_OK(chmod(path_of("a.layout"), 0664));
	CHECK_OK(symlink("b.layout", path_of("c.layout")));
	CHECK_OK(mkfifo(path_of("d.layout"), 0600));
	if (geteuid() == 0) {
		write_file("e.layout", "[python 3.97]\nlike = 3.14\n");
		CHECK_OK(chown(path_of("e.layout"), 1234, 1234));
	}
	layouts = read_dir();
	CHECK_INT(op_layouts_count(layouts), 1);
	CHECK(strstr(logged[0], "a.layout can be written by others"));
	CHECK(strstr(logged[1], "c.layout cannot be read: it is a link"));
	CHECK(strstr(logged[2], "d.layout is no plain file"));
	if (geteuid() == 0)
		CHECK(strstr(logged[3], "e.layout belongs to another user"));
	op_layouts_free(layouts);
	CHECK_OK(chmod(dir, 0777));
	CHECK_INT(op_runtime_layouts(dir, &capture, &layouts), -EPERM);
	CHECK(strstr(capture.message, "can be written by others"));
	end(NULL);
	CHECK_INT(op_runtime_layouts(dir, &capture, &layouts), -ENOENT);
	CHECK(strstr(capture.message, "cannot be read: No such file"));
}

static void test_limits(void)
{
	struct op_layouts *layouts;
	char name[32];
	FILE *f;
	int i;

	begin();
	for (i = 0; i < OP_LAYOUTS_FILES_MAX + 2; i++) {
		(void)snprintf(name, sizeof(name), "%03d.layout", i);
		write_file(name, "");
	}
	layouts = read_dir();
	CHECK_INT(lines, 1);
	CHECK(strstr(logged[0], "more than 64 layout files; 2 of them are left out"));
	end(layouts);

	begin();
	f = fopen(path_of("many.layout"), "we");
	CHECK(f);
	for (i = 0; i <= OP_LAYOUTS_SECTIONS_MAX; i++)
		CHECK(fprintf(f, "[python 4.%d]\nlike = 3.14\n", i) > 0);
	CHECK_OK(fclose(f));
	f = fopen(path_of("large.layout"), "we");
	CHECK(f);
	for (i = 0; i <= OP_LAYOUTS_FILE_BYTES_MAX; i++)
		CHECK(fputc('\n', f) == '\n');
	CHECK_OK(fclose(f));
	CHECK_OK(chmod(path_of("many.layout"), 0600));
	CHECK_OK(chmod(path_of("large.layout"), 0600));
	layouts = read_dir();
	CHECK_INT(lines, 2);
	CHECK(strstr(logged[0], "large.layout cannot be read: it has more than 64 KiB"));
	CHECK(strstr(logged[1], "may have 256 sections"));
	CHECK_INT(op_layouts_count(layouts), 0);
	end(layouts);
}

TEST_MAIN({ "built_in", test_built_in },
	  { "built_in_files_are_right", test_built_in_files_are_right },
	  { "a_version_is_added_and_one_replaced",
	    test_a_version_is_added_and_one_replaced },
	  { "files_that_are_wrong", test_files_that_are_wrong },
	  { "who_may_write", test_who_may_write }, { "limits", test_limits })
