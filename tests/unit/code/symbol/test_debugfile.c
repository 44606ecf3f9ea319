/* SPDX-License-Identifier: Apache-2.0 */
/* Which debug file names a program: one of the host before one of the process's root, and there
 * only what the caller opens. */
#include <fcntl.h>

#include "base/io.h"
#include "code/elf/file.h"
#include "code/symbol/symbols.h"
#include "tools.h"

static const char source[] =
	"__attribute__((noinline)) static int quiet(int x) { return x * 3; }\n"
	"int main(int argc, char **argv) { return quiet(argc) & 1; }\n";

/* Files of the process's root, as the library opens them. */
struct root {
	int error; /* what opening the debug file gives, or 0 */
	int opened;
};

static int open_in_root(void *ctx, const char *path)
{
	struct root *root = ctx;
	const char *name = strrchr(path, '/');

	CHECK(name);
	if (strcmp(name, "/prog.debug") != 0)
		return -ENOENT;
	root->opened++;
	return root->error ? root->error : op_open(tools_path("its"), O_RDONLY);
}

/* The function that only a debug file names, in the file at @start. Returns whether it has a
 * name, which is put into @name. */
static bool find(struct root *root, unsigned long start, char name[static 64])
{
	struct op_symbols_options options = { .open = open_in_root, .open_ctx = root };
	char path[128];
	struct op_symbols *symbols = NULL;
	struct op_elf *elf = NULL;
	struct op_symbol found;
	int r;

	(void)snprintf(path, sizeof(path), "%s/prog", tools_make_dir());
	options.path = path;
	CHECK_OK(op_elf_open_path(path, &elf));
	CHECK_OK(op_symbols_new(elf, &options, NULL, &symbols));
	r = op_symbols_find(symbols, start, &found, 1);
	CHECK(r == 0 || r == 1);
	(void)snprintf(name, 64, "%s", r ? found.name : "");
	op_symbols_free(symbols);
	op_elf_free(elf);
	return r;
}

static void test_of_the_host_first(void)
{
	struct root root = { 0 };
	unsigned long start;
	char name[64];
	char *text;

	TOOLS_NEED("gcc");
	tools_write("a.c", source);
	TOOLS_RUN("gcc -O1 -o full a.c && strip -o prog full");
	/* The host's, and one of the process that says something else. */
	TOOLS_RUN("objcopy --only-keep-debug full prog.debug && "
		  "objcopy --redefine-sym quiet=forged prog.debug its && "
		  "objcopy --add-gnu-debuglink=prog.debug prog");
	text = tools_output("nm full | grep ' quiet$'");
	CHECK(sscanf(text, "%lx", &start) == 1);
	free(text);

	CHECK(find(&root, start, name));
	CHECK_STR(name, "quiet");
	CHECK_INT(root.opened, 0);
	/* The host has none. */
	TOOLS_RUN("mv prog.debug elsewhere");
	CHECK(find(&root, start, name));
	CHECK_STR(name, "forged");
	CHECK(root.opened > 0);
	/* It is somebody else's. */
	root.error = -EPERM;
	CHECK(!find(&root, start, name));
}

TEST_MAIN({ "of_the_host_first", test_of_the_host_first })
