/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up /proc and /sys trees, and the real ones against grep. */
#include "code/symbol/kernel.h"

#include "tools.h"

struct log_seen {
	int warnings;
	char text[512];
};

static void take_log(void *data, int level, const char *message)
{
	struct log_seen *seen = data;

	if (level > OP_LOG_WARNING)
		return;
	seen->warnings++;
	(void)snprintf(seen->text, sizeof(seen->text), "%s", message);
}

static const char fake_kallsyms[] =
	"0000000000000000 A fixed_percpu_data\n"
	"0000000000001000 D cpu_debug_store\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000000 T startup_64\n"
	"ffffffff81000100 t local_one\n"
	"ffffffff81000200 T __weak_alias\n"
	"ffffffff81000200 W strong_name\n"
	"ffffffff81000200 t aaa_local\n"
	"ffffffff81000310 t __pfx_padded\n"
	"ffffffff81000320 t padded\n"
	"ffffffff81000400 T last_function\n"
	"ffffffff81000800 T _etext\n"
	"ffffffff81000900 D some_data\n"
	"ffffffff81000a00 d more_data\n"
	"ffffffff81000b00 T init_function\n"
	"ffffffff81000c00 B bss\n"
	"ffffffffc0200010 t mod_b\t[mod]\n"
	"ffffffffc0200000 t mod_a\t[mod]\n"
	"ffffffffc0200040 T mod_c\t[mod]\n"
	"ffffffffc0202000 d mod_data\t[mod]\n"
	"ffffffffc0100000 t other_a\t[other_mod]\n"
	"ffffffffc0300000 t bpf_prog_6deef7357e7b4530_hello\t[bpf]\n"
	"garbage\n"
	"ffffffffc0300040 t bpf_prog_0123456789abcdef_bye\t[bpf]\n";

/* namesz 4, descsz 4, type 3, "GNU", four bytes of an id */
static void write_note(const char *path, const char *id)
{
	TOOLS_RUN("printf '\\004\\0\\0\\0\\004\\0\\0\\0\\003\\0\\0\\0GNU\\0%s' > %s", id,
		  path);
}

static void make_tree(void)
{
	TOOLS_RUN("rm -rf proc sys; mkdir -p proc sys/kernel sys/module/mod/notes");
	tools_write("proc/kallsyms", fake_kallsyms);
	write_note("sys/kernel/notes", "\\001\\002\\003\\004");
	write_note("sys/module/mod/notes/.note.gnu.build-id", "\\252\\273\\314\\335");
}

static struct op_kernel_symbols *open_fake(struct op_log *log)
{
	struct op_kernel_symbols *k = NULL;

	CHECK_OK(op_kernel_symbols_new(tools_path("proc"), tools_path("sys"), log, &k));
	return k;
}

static void check(struct op_kernel_symbols *k, uint64_t addr, const char *name,
		  const char *module, const char *build_id, uint64_t start)
{
	struct op_kernel_symbol s;

	CHECK_INT(op_kernel_symbols_find(k, addr, &s), 1);
	CHECK_STR(s.name, name);
	CHECK_STR(s.module, module);
	CHECK_STR(s.build_id, build_id);
	CHECK_INT(s.start, start);
}

static void check_none(struct op_kernel_symbols *k, uint64_t addr)
{
	struct op_kernel_symbol s = { .name = "untouched" };

	CHECK_INT(op_kernel_symbols_find(k, addr, &s), 0);
	CHECK_STR(s.name, "untouched");
}

static void test_fake_tree(void)
{
	const uint64_t t = 0xffffffff81000000;
	struct op_kernel_symbols *k;
	struct op_kernel_symbol s;

	make_tree();
	k = open_fake(NULL);
	check(k, t, "startup_64", "vmlinux", "01020304", t);
	check(k, t + 0xff, "startup_64", "vmlinux", "01020304", t);
	check(k, t + 0x100, "local_one", "vmlinux", "01020304", t + 0x100);
	check(k, t + 0x250, "__weak_alias", "vmlinux", "01020304", t + 0x200);
	check(k, t + 0x320, "padded", "vmlinux", "01020304", t + 0x320);
	check(k, t + 0x7ff, "last_function", "vmlinux", "01020304", t + 0x400);
	check_none(k, t + 0x900);
	check_none(k, t + 0xaff);
	check(k, t + 0xb80, "init_function", "vmlinux", "01020304", t + 0xb00);
	check_none(k, t + 0xc00);
	check_none(k, t - 1);
	check_none(k, 0x1000);
	check_none(k, 0);

	check(k, 0xffffffffc020000f, "mod_a", "mod", "aabbccdd", 0xffffffffc0200000);
	check(k, 0xffffffffc0200010, "mod_b", "mod", "aabbccdd", 0xffffffffc0200010);
	CHECK_INT(op_kernel_symbols_find(k, 0xffffffffc0200041, &s), 1);
	CHECK_INT(s.module_start, 0xffffffffc0200000);
	check_none(k, 0xffffffffc0202000);
	check(k, 0xffffffffc0100004, "other_a", "other_mod", "", 0xffffffffc0100000);
	check(k, 0xffffffffc0300020, "bpf_prog_6deef7357e7b4530_hello", "bpf", "",
	      0xffffffffc0300000);
	check(k, 0xffffffffc0300044, "bpf_prog_0123456789abcdef_bye", "bpf", "",
	      0xffffffffc0300040);
	check_none(k, 0xffffffffd0000000);
	check_none(k, UINT64_MAX);
	op_kernel_symbols_free(k);
}

static void test_hidden_addresses(void)
{
	struct log_seen seen = { 0 };
	struct op_log log = { .fn = take_log, .userdata = &seen, .level = OP_LOG_DEBUG };
	struct op_kernel_symbols *k;

	make_tree();
	TOOLS_RUN("sed -i 's/^[0-9a-f]*/0000000000000000/' proc/kallsyms");
	k = open_fake(&log);
	CHECK_INT(seen.warnings, 0);
	check_none(k, 0xffffffff81000000);
	check_none(k, 0);
	op_kernel_symbols_stale(k);
	check_none(k, 0xffffffff81000000);
	CHECK_INT(seen.warnings, 1);
	CHECK(strstr(seen.text, "hidden"));
	op_kernel_symbols_free(k);

	TOOLS_RUN("rm proc/kallsyms");
	seen = (struct log_seen){ 0 };
	k = open_fake(&log);
	check_none(k, 0xffffffff81000000);
	check_none(k, 0xffffffff81000000);
	CHECK_INT(seen.warnings, 1);
	op_kernel_symbols_free(k);
}

/* A module comes: known at the next miss, but not before a second has passed. */
static void test_stale(void)
{
	struct op_kernel_symbols *k;

	make_tree();
	k = open_fake(NULL);
	check_none(k, 0xffffffff80000000);
	TOOLS_RUN("echo 'ffffffff80000000 t newcomer\t[new]' >> proc/kallsyms");
	op_kernel_symbols_stale(k);
	check_none(k, 0xffffffff80000000);
	(void)usleep(1100000);
	check(k, 0xffffffff81000000, "startup_64", "vmlinux", "01020304",
	      0xffffffff81000000);
	check(k, 0xffffffff80000000, "newcomer", "new", "", 0xffffffff80000000);
	op_kernel_symbols_free(k);
}

/* More symbols than a block holds, each found by its own name. */
static void test_many_symbols(void)
{
	enum {
		N = 3000
	};
	struct op_kernel_symbols *k;
	FILE *f;
	int i;

	make_tree();
	f = fopen(tools_path("proc/kallsyms"), "we");
	CHECK(f);
	for (i = 0; i < N; i++)
		CHECK(fprintf(f, "%016llx T function_%d\n",
			      0xffffffff81000000ull + (unsigned long long)i * 0x40,
			      i) > 0);
	CHECK(fclose(f) == 0);
	k = open_fake(NULL);
	for (i = 0; i < N; i += 7) {
		uint64_t start = 0xffffffff81000000ull + (uint64_t)i * 0x40;
		char name[32];

		(void)snprintf(name, sizeof(name), "function_%d", i);
		check(k, start + 0x3f, name, "vmlinux", "01020304", start);
	}
	CHECK(op_kernel_symbols_bytes(k) < 64 << 10);
	op_kernel_symbols_free(k);
}

/* The kernel that runs: every exported-looking name that grep finds once is found. */
static void test_this_kernel(void)
{
	struct op_kernel_symbols *k = NULL;
	char *text;
	char *save = NULL;
	char *row;
	int rows = 0;

	text = tools_output(
		"grep -E ' T (vfs_|tcp_|ext4_|do_sys)[a-z0-9_]*$' /proc/kallsyms || "
		"true");
	if (!text[0] || strncmp(text, "0000000000000000", 16) == 0)
		SKIP("/proc/kallsyms shows no addresses");
	CHECK_OK(op_kernel_symbols_new(NULL, NULL, NULL, &k));
	for (row = strtok_r(text, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
		struct op_kernel_symbol s;
		unsigned long long addr;
		char name[512];

		CHECK(sscanf(row, "%llx T %511s", &addr, name) == 2);
		CHECK_INT(op_kernel_symbols_find(k, addr, &s), 1);
		CHECK_INT(s.start, addr);
		CHECK_STR(s.module, "vmlinux");
		/* An alias of another name may be preferred. */
		rows += strcmp(s.name, name) == 0;
	}
	CHECK(rows > 50);
	CHECK(op_kernel_symbols_bytes(k) < 3 << 20);
	free(text);
	op_kernel_symbols_free(k);
}

TEST_MAIN({ "fake_tree", test_fake_tree }, { "hidden_addresses", test_hidden_addresses },
	  { "stale", test_stale }, { "many_symbols", test_many_symbols },
	  { "this_kernel", test_this_kernel })
