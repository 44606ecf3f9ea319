/* SPDX-License-Identifier: Apache-2.0 */
/* A fake /proc: the identity of its processes, and processes that it hides. */
#include <sys/stat.h>

#include <otelprof/config.h>

#include "base/hash.h"
#include "inside.h"
#include "tools.h"
#include "world.h"

#define ID  "aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999"
#define ID2 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f"

/* The pretended /proc of a test: tools_dir. */
static void make_root(void)
{
	TOOLS_RUN("rm -rf *");
}

static void make_dir(const char *name)
{
	CHECK(mkdir(tools_path(name), 0755) == 0);
}

#define FILE_OF(name, text) tools_write_bytes(name, text, sizeof(text) - 1)

static const char maps[] =
	"400000-401000 r-xp 00000000 08:01 77 /opt/app/server\n"
	"7f0000000000-7f0000010000 rw-p 00000000 00:00 0\n"
	"7f0000020000-7f0000030000 r-xp 00001000 08:01 78 /opt/app/lib.so (deleted)\n";

/* /proc/PID/stat: started @start ticks after boot, code up to @end_code, stack at
 * @start_stack. */
static void make_stat_of_exec(const char *name, unsigned int start, uint64_t end_code,
			      uint64_t start_stack)
{
	char text[256];
	int len = snprintf(
		text, sizeof(text),
		"100 (server) S 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 %u 1 2 99 "
		"4194304 %llu %llu 0",
		start, (unsigned long long)end_code, (unsigned long long)start_stack);

	tools_write_bytes(name, text, (size_t)len);
}

static void make_stat(const char *name, unsigned int start, uint64_t end_code)
{
	make_stat_of_exec(name, start, end_code, 0);
}

static void make_server(void)
{
	make_dir("100");
	FILE_OF("100/maps", maps);
	FILE_OF("100/cgroup", "0::/system.slice/docker-" ID ".scope\n");
	FILE_OF("100/environ", "A=b\0OTEL_SERVICE_NAME=shop\0");
	make_stat("100/stat", 500, 0x400800);
	FILE_OF("100/cmdline", "server\0--port\0"
			       "80\0");
	CHECK(symlink("/opt/app/server (deleted)", tools_path("100/exe")) == 0);
}

static void test_identity_by_procfs(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .service_name = "fallback" };
	const uint64_t words[] = { 0x400123 | (uint64_t)OP_FRAME_NATIVE_EXACT
						      << OP_FRAME_KIND_SHIFT,
				   0x7f0000020456 };
	const struct op_resource *r;
	struct world w;

	make_root();
	make_server();
	world_init(&w, &options);
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	CHECK(world_process(&w, 100));
	CHECK_INT(world_process(&w, 100)->mapping_count, 2);
	CHECK_OK(world_sample(&w, 100, NULL, 0, words, 2, OP_END_COMPLETE));
	r = world_resource(&w);
	CHECK_STR(world_text(&w, r->container_id), ID);
	CHECK_STR(world_text(&w, r->executable_name), "server");
	CHECK_STR(world_text(&w, r->executable_path), "/opt/app/server");
	CHECK_STR(world_text(&w, r->service_name), "shop");
	CHECK_INT(r->command_args, 0); /* not asked for */
	CHECK(r->start_time_ns > 0);
	/* the files are out of reach: named by module and file offset */
	CHECK_STR(world_name(&w, 0), "server+0x123");
	CHECK_STR(world_name(&w, 1), "lib.so+0x1455");
	/* then they are walked by frame pointers, not copied at each sample */
	world_settle(&w, 1);
	world_settle(&w, UINT64_C(2100000000));
	world_deinit(&w);
}

/* A process that ended before its first sample was read: by its cgroup and its fork. */
static void test_identity_of_a_dead_process(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	const struct op_resource *r;
	struct op_record record = { .header = WORLD_RECORD_HEADER,
				    .cgroup = 4242,
				    .end = OP_END_OFF };
	struct world w;

	make_root();
	make_server();
	world_init(&w, &options);
	record.time_ns = ++w.now_ns;
	record.pid = record.tid = 100;
	CHECK_OK(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window));
	op_processes_on_fork(w.p, 200, 100, ++w.now_ns);
	world_settle(&w, 1000);
	op_processes_on_exit(w.p, 200, ++w.now_ns);
	record.pid = record.tid = 200;
	record.time_ns = w.now_ns - 1;
	CHECK_OK(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window));
	r = world_resource(&w);
	CHECK_INT(r->pid, 200);
	CHECK_STR(world_text(&w, r->container_id), ID);
	CHECK_STR(world_text(&w, r->executable_name), "server");
	CHECK(r->start_time_ns > 0);
	world_deinit(&w);
}

/* A sample of a process; its resource. */
static const struct op_resource *sample_of(struct world *w, uint32_t pid, uint64_t cgroup)
{
	struct op_record record = { .header = WORLD_RECORD_HEADER,
				    .cgroup = cgroup,
				    .end = OP_END_OFF };

	record.time_ns = ++w->now_ns;
	record.pid = record.tid = pid;
	CHECK_OK(op_sampler_add_record(w->sampler, &record, sizeof(record), w->window));
	return world_resource(w);
}

static const char *service_of(struct world *w, uint32_t pid)
{
	return world_text(w, sample_of(w, pid, 1)->service_name);
}

/* What a process says, then the configuration, then its executable. */
static void test_service_name(void)
{
	struct world_options options = { .procfs_root = tools_dir };
	struct world w;

	make_root();
	make_server();
	make_dir("2");
	FILE_OF("2/maps", "");
	make_stat("2/stat", 1, 0);
	make_dir("101");
	FILE_OF("101/maps", maps);
	make_stat("101/stat", 500, 0x400800);
	CHECK(symlink("/usr/bin/worker", tools_path("101/exe")) == 0);
	world_init(&w, &options);
	CHECK_STR(service_of(&w, 100), "shop");
	CHECK_STR(service_of(&w, 101), "worker");
	CHECK_STR(service_of(&w, 2), ""); /* a kernel thread */
	world_deinit(&w);
	options.service_name = "fleet";
	world_init(&w, &options);
	CHECK_STR(service_of(&w, 100), "shop");
	CHECK_STR(service_of(&w, 101), "fleet");
	world_deinit(&w);
	options.service_name = "";
	world_init(&w, &options);
	CHECK_STR(service_of(&w, 100), "shop");
	CHECK_STR(service_of(&w, 101), "");
	world_deinit(&w);
}

/*
 * Between a sample and its reading the process executed another program: /proc tells of that
 * one, and the sample must not be given its name.
 */
static void test_exec_between_sample_and_reading(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	const struct op_resource *r;
	struct world w;

	make_root();
	make_server();
	FILE_OF("100/maps", "400000-401000 r-xp 00000000 08:01 77 /opt/app/other\n"
			    "7f0000020000-7f0000030000 r-xp 0 08:01 78 /lib/libc.so\n");
	world_init(&w, &options);
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	make_stat("100/stat", 500, 0x55d000001000); /* not in its maps */
	r = sample_of(&w, 100, 1);
	CHECK_STR(world_text(&w, r->service_name), "other");
	CHECK_STR(world_text(&w, r->executable_path), "/opt/app/other"); /* by its maps */
	CHECK_STR(world_text(&w, r->container_id), ID); /* holds for both */
	/* the event comes: from then on it is the new one */
	op_processes_on_exec(w.p, 100, "new", ++w.now_ns);
	world_settle(&w, 1000);
	r = sample_of(&w, 100, 1);
	CHECK_STR(world_text(&w, r->service_name), "shop");
	world_deinit(&w);
	/* no event comes: a program that moved its code; it is itself after all */
	world_init(&w, &options);
	CHECK_OK(inside_scan(w.p));
	CHECK_STR(world_text(&w, sample_of(&w, 100, 1)->executable_path),
		  "/opt/app/other");
	world_settle(&w, UINT64_C(1100000000));
	CHECK_STR(world_text(&w, sample_of(&w, 100, 1)->executable_path),
		  "/opt/app/server");
	world_deinit(&w);
}

/* The pid was given to another process meanwhile: nothing of that one is taken. */
static void test_reused_pid(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	const struct op_resource *r;
	struct world w;

	make_root();
	make_server();
	make_stat("100/stat", 4000000000u, 0x400800); /* later than now */
	world_init(&w, &options);
	op_processes_on_fork(w.p, 100, 1, ++w.now_ns);
	r = sample_of(&w, 100, 1);
	CHECK_INT(r->container_id, 0);
	CHECK_INT(r->executable_path, 0);
	CHECK_INT(r->service_name, 0);
	world_deinit(&w);
}

/* A child that is gone before anybody looks is in its parent's container, and says what
 * its parent says. After exec it says nothing. */
static void test_children_inherit(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	const struct op_resource *r;
	struct world w;

	make_root();
	make_server();
	world_init(&w, &options);
	CHECK_OK(inside_scan(w.p));
	(void)sample_of(&w, 100, 1);
	op_processes_on_fork(w.p, 200, 100, ++w.now_ns);
	op_processes_on_fork(w.p, 201, 100, ++w.now_ns);
	op_processes_on_exec(w.p, 201, "other", ++w.now_ns);
	world_settle(&w, 1000);
	w.now_ns++;
	op_processes_on_exit(w.p, 200, w.now_ns + 10);
	op_processes_on_exit(w.p, 201, w.now_ns + 10);
	r = sample_of(&w, 200, 1);
	CHECK_STR(world_text(&w, r->container_id), ID);
	CHECK_STR(world_text(&w, r->service_name), "shop");
	CHECK_STR(world_text(&w, r->executable_name), "server");
	r = sample_of(&w, 201, 1);
	CHECK_STR(world_text(&w, r->container_id), ID);
	CHECK_STR(world_text(&w, r->service_name), "");
	CHECK_STR(world_text(&w, r->executable_name), "[]");
	world_deinit(&w);
}

static void make_flags(const char *name, unsigned int flags)
{
	char text[64];
	int len =
		snprintf(text, sizeof(text), "200 (cc1plus) R 100 1 1 0 -1 %u 0", flags);

	tools_write_bytes(name, text, (size_t)len);
}

/* It frees its memory for long after its exit was told; what comes after it is another one. */
static void test_samples_after_exit(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	struct world w;

	make_root();
	make_server();
	world_init(&w, &options);
	CHECK_OK(inside_scan(w.p));
	(void)sample_of(&w, 100, 1);
	op_processes_on_fork(w.p, 200, 100, ++w.now_ns);
	world_settle(&w, 1000);
	op_processes_on_exit(w.p, 200, ++w.now_ns);
	make_dir("200");
	make_flags("200/stat", 0x40000c);
	w.now_ns += UINT64_C(500000000);
	CHECK_STR(world_text(&w, sample_of(&w, 200, 1)->executable_name), "server");
	make_flags("200/stat", 0x400000);
	CHECK_STR(world_text(&w, sample_of(&w, 200, 1)->executable_name), "[]");
	world_deinit(&w);
}

/* It moves to another control group: seen with the next sample. */
static void test_moved_to_another_cgroup(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	struct world w;

	make_root();
	make_server();
	world_init(&w, &options);
	CHECK_STR(world_text(&w, sample_of(&w, 100, 7)->container_id), ID);
	FILE_OF("100/cgroup", "0::/kubepods/pod" UID "/" ID2 "\n");
	CHECK_STR(world_text(&w, sample_of(&w, 100, 7)->container_id), ID);
	CHECK_STR(world_text(&w, sample_of(&w, 100, 8)->container_id), ID2);
	CHECK_STR(world_text(&w, world_resource(&w)->pod_uid), UID);
	world_deinit(&w);
}

/*
 * A process was met in a cgroup and stands in another by the time it is looked at, as runc's
 * do. The first one's id must not stand for the container of the second. (Its folder is not
 * below /sys here: nothing can be learnt of cgroup 77.)
 */
static void test_no_cgroup_is_mistaken(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	struct world w;

	make_root();
	make_server();
	make_dir("101");
	FILE_OF("101/maps", maps);
	make_stat("101/stat", 500, 0x400800);
	FILE_OF("101/cgroup", "0::/system.slice/containerd.service\n");
	world_init(&w, &options);
	CHECK_STR(world_text(&w, sample_of(&w, 100, 77)->container_id), ID);
	CHECK_INT(sample_of(&w, 101, 77)->container_id, 0);
	world_deinit(&w);
}

/* Of one that is gone, whose cgroup's folder is there: by its parent, which was never met;
 * then by what was learnt. The id of a cgroup is its folder's inode. */
static void test_cgroup_of_the_dead(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .sysfs_root = tools_dir };
	struct world w;
	struct stat st;

	make_root();
	make_server();
	FILE_OF("100/cgroup", "0::/docker/" ID "\n");
	make_dir("fs");
	make_dir("fs/cgroup");
	make_dir("fs/cgroup/docker");
	make_dir("fs/cgroup/docker/" ID);
	CHECK(stat(tools_path("fs/cgroup/docker/" ID), &st) == 0);
	world_init(&w, &options);
	op_processes_on_fork(w.p, 200, 100, ++w.now_ns);
	op_processes_on_fork(w.p, 201, 100, ++w.now_ns);
	op_processes_on_fork(w.p, 202, 7, ++w.now_ns);
	world_settle(&w, 1000);
	op_processes_on_exit(w.p, 200, w.now_ns + 10);
	op_processes_on_exit(w.p, 201, w.now_ns + 10);
	op_processes_on_exit(w.p, 202, w.now_ns + 10);
	/* another cgroup than its parent's: nothing is known of it */
	CHECK_INT(sample_of(&w, 200, st.st_ino + 1)->container_id, 0);
	CHECK_STR(world_text(&w, sample_of(&w, 201, st.st_ino)->container_id), ID);
	CHECK_STR(world_text(&w, sample_of(&w, 202, st.st_ino)->container_id), ID);
	world_deinit(&w);
}

/*
 * That a cgroup is of no container is learnt once: of its other processes nothing is read. A
 * process in it whose own text is another's (which the kernel would not do) shows it.
 */
static void test_cgroup_of_no_container(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .sysfs_root = tools_dir };
	struct world w;
	struct stat st;

	make_root();
	make_server();
	make_dir("101");
	FILE_OF("101/maps", maps);
	make_stat("101/stat", 500, 0x400800);
	FILE_OF("101/cgroup", "0::/system.slice\n");
	make_dir("102");
	FILE_OF("102/maps", maps);
	make_stat("102/stat", 500, 0x400800);
	FILE_OF("102/cgroup", "1:cpu:/docker/" ID "\n0::/user.slice\n");
	make_dir("fs");
	make_dir("fs/cgroup");
	make_dir("fs/cgroup/system.slice");
	make_dir("fs/cgroup/user.slice");
	CHECK(stat(tools_path("fs/cgroup/system.slice"), &st) == 0);
	world_init(&w, &options);
	CHECK_INT(sample_of(&w, 101, st.st_ino)->container_id, 0);
	CHECK_INT(sample_of(&w, 100, st.st_ino)->container_id, 0);
	world_deinit(&w);

	/* With hierarchies of version 1 each process is looked at. */
	FILE_OF("101/cgroup", "1:cpu:/user.slice\n0::/user.slice\n");
	CHECK(stat(tools_path("fs/cgroup/user.slice"), &st) == 0);
	world_init(&w, &options);
	CHECK_INT(sample_of(&w, 101, st.st_ino)->container_id, 0);
	CHECK_STR(world_text(&w, sample_of(&w, 102, st.st_ino)->container_id), ID);
	world_deinit(&w);
}

/* Only what is asked for leaves the environment. */
static void test_environment(void)
{
	static const char *const names[] = { "A", "NOT_SET" };
	struct world_options options = { .procfs_root = tools_dir,
					 .environment = names,
					 .environment_len = 2 };
	const struct op_resource *r;
	struct world w;

	make_root();
	make_server();
	FILE_OF("100/environ", "SECRET=x\0A=b\0OTEL_RESOURCE_ATTRIBUTES=team=red\0");
	world_init(&w, &options);
	r = sample_of(&w, 100, 1);
	CHECK_INT(w.window->strings.data[r->attributes].len,
		  sizeof("process.environment_variable.A\0sb\0team\0sred"));
	CHECK(memcmp(world_text(&w, r->attributes),
		     "process.environment_variable.A\0sb\0team\0sred", 42) == 0);
	CHECK_STR(world_text(&w, r->service_name), "server");
	world_deinit(&w);
	options.environment_len = 0;
	world_init(&w, &options);
	r = sample_of(&w, 100, 1);
	CHECK_STR(world_text(&w, r->attributes), "team");
	world_deinit(&w);
}

static bool exec_while_read;

int __real_op_exe_path_read(const char *procfs_root, uint32_t pid, char **ret);
int __wrap_op_exe_path_read(const char *procfs_root, uint32_t pid, char **ret);

/* When a program's path is asked for, its process executes another one. */
int __wrap_op_exe_path_read(const char *procfs_root, uint32_t pid, char **ret)
{
	if (exec_while_read) {
		make_stat_of_exec("100/stat", 500, 0x400800, 0x7ffd00001000);
		FILE_OF("100/environ", "OTEL_SERVICE_NAME=next\0");
		FILE_OF("100/cmdline", "next\0");
		CHECK(unlink(tools_path("100/exe")) == 0);
		CHECK(symlink("/opt/app/next", tools_path("100/exe")) == 0);
	}
	return __real_op_exe_path_read(procfs_root, pid, ret);
}

/* Nothing of the next program is told of the one whose sample it is. */
static void test_exec_while_read(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .flags = OTELPROF_COMMAND_LINE };
	const struct op_resource *r;
	struct world w;

	make_root();
	make_server();
	exec_while_read = true;
	world_init(&w, &options);
	r = sample_of(&w, 100, 1);
	CHECK_STR(world_text(&w, r->executable_path), "/opt/app/server");
	CHECK_STR(world_text(&w, r->service_name), "server");
	CHECK_STR(world_text(&w, r->command_args), "");
	world_deinit(&w);
	exec_while_read = false;
}

static void test_kernel_thread(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	struct op_record record = { .header = WORLD_RECORD_HEADER,
				    .end = OP_END_NO_USER,
				    .comm = "kworker/0:1" };
	struct world w;

	make_root();
	make_dir("2");
	FILE_OF("2/maps", "");
	world_init(&w, &options);
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	CHECK(!world_process(&w, 2));
	record.time_ns = ++w.now_ns;
	record.pid = record.tid = 2;
	CHECK_OK(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window));
	CHECK_STR(world_text(&w, world_resource(&w)->executable_name), "[kworker/0:1]");
	CHECK_INT(world_resource(&w)->executable_path, 0);
	CHECK_INT(world_frames(&w), 0);
	world_deinit(&w);
}

/* The leader is gone: a thread that lives on stands for the process. */
static void test_leader_is_gone(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	struct world w;

	make_root();
	make_dir("300");
	FILE_OF("300/maps", "");
	make_dir("300/task");
	make_dir("300/task/300");
	make_dir("300/task/301");
	make_dir("300/task/302");
	make_dir("302");
	FILE_OF("302/maps", maps);
	make_stat("302/stat", 500, 0x400800);
	FILE_OF("302/cgroup", "0::/docker/" ID "\n");
	world_init(&w, &options);
	CHECK_OK(world_sample(&w, 300, NULL, 0, NULL, 0, OP_END_OFF));
	world_settle(&w, 0);
	CHECK(world_process(&w, 300));
	CHECK_INT(world_process(&w, 300)->mapping_count, 2);
	CHECK_STR(world_text(&w, world_resource(&w)->container_id), ID);
	world_deinit(&w);
}

/* hidepid, or a race: what is not there is left out, and nothing fails. */
static void test_hidden_processes(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	const struct world_options nowhere = { .procfs_root = "/nonexistent" };
	struct op_registers registers = { .pc = 0x400123, .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	struct world w;

	make_root();
	make_dir("1");
	make_dir("7");
	make_dir("not-a-pid");
	make_dir("99999999999");
	world_init(&w, &options);
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	CHECK_OK(world_sample(&w, 7, NULL, 0, NULL, 0, OP_END_OFF));
	CHECK_INT(world_resource(&w)->pid, 7);
	CHECK_OK(world_first_sample(&w, 8, &registers, stack, sizeof(stack)));
	CHECK_INT(world_resource(&w)->pid, 8);
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 0), "[unmapped]+0x400123");
	CHECK_STR(world_name(&w, 1), "[unwind error: native_no_mapping]");
	CHECK_OK(world_first_sample(&w, 7, &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "[unmapped]+0x400123");
	world_deinit(&w);
	/* and no /proc at all */
	world_init(&w, &nowhere);
	CHECK(inside_scan(w.p) < 0);
	CHECK_OK(world_sample(&w, 7, NULL, 0, NULL, 0, OP_END_OFF));
	world_deinit(&w);
}

enum {
	MISSES = 16, /* CONTEXT_MISSES */
};

/* Process @pid of the file that all have; sampled once. Is its context known? */
static bool finds_context(struct world *w, uint32_t pid, bool has_one)
{
	static const char with[] =
		"400000-401000 r-xp 00000000 08:01 77 /opt/app/server\n"
		"7f0000000000-7f0000001000 rw-p 00000000 00:01 9 /memfd:OTEL_CTX (deleted)\n";
	char name[32];

	(void)snprintf(name, sizeof(name), "%u", pid);
	make_dir(name);
	(void)snprintf(name, sizeof(name), "%u/maps", pid);
	if (has_one)
		FILE_OF(name, with);
	else
		FILE_OF(name, maps);
	(void)snprintf(name, sizeof(name), "%u/exe", pid);
	CHECK(symlink("/opt/app/server", tools_path(name)) == 0);
	(void)snprintf(name, sizeof(name), "%u/stat", pid);
	make_stat(name, 500, 0x400800);
	(void)sample_of(w, pid, 1);
	return inside_context(w->p, pid) != 0;
}

/* Where many of a file had none, few of the next are searched for it; once one has it, all. */
static void test_search_for_contexts(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	struct world w;
	uint32_t pid = 200;
	int found = 0;
	int i;

	make_root();
	world_init(&w, &options);
	CHECK(finds_context(&w, pid++, true));
	for (i = 0; i < MISSES; i++)
		CHECK(!finds_context(&w, pid++, false));
	for (i = 0; i < MISSES && !found; i++)
		found += finds_context(&w, pid++, true);
	CHECK_INT(found, 1);
	CHECK_INT(i, MISSES);
	for (i = 0; i < MISSES; i++)
		CHECK(finds_context(&w, pid++, true));
	world_deinit(&w);
}

enum {
	IDLE_MAX = 1024, /* of lib/process/sweep.c */
	MANY = 1100,	 /* more than are known while they are idle */
};

/* Idle processes beyond a number cost nothing, and are learnt when they are sampled. */
static void test_many_idle_processes(void)
{
	const struct world_options options = { .procfs_root = tools_dir };
	const uint64_t words[] = { 0x400123 };
	struct op_processes_stats stats;
	struct world w;
	uint32_t sampled;
	uint32_t i;

	make_root();
	for (i = 1; i <= MANY; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%u", i);
		make_dir(name);
		(void)snprintf(name, sizeof(name), "%u/maps", i);
		FILE_OF(name, maps);
	}
	world_init(&w, &options);
	CHECK_OK(op_processes_scan_begin(w.p));
	/* Samples are taken while the scan goes on. */
	for (i = MANY; i > 0 && op_processes_busy(w.p); i--) {
		CHECK_OK(world_sample(&w, i, NULL, 0, NULL, 0, OP_END_OFF));
		world_settle(&w, 1000000);
		CHECK(world_process(&w, i));
		CHECK_OK(world_sample(&w, i, NULL, 0, words, 1, OP_END_COMPLETE));
		CHECK_INT(world_resource(&w)->pid, i);
		CHECK_STR(world_name(&w, 0), "server+0x122");
	}
	sampled = MANY - i;
	while (op_processes_busy(w.p))
		world_settle(&w, 10000000);
	op_processes_get_stats(w.p, &stats);
	/* The scan stops there; what is sampled before it does so is learnt all the same. */
	CHECK(stats.processes >= IDLE_MAX && stats.processes <= IDLE_MAX + sampled);
	/* More than are kept for long. */
	world_settle(&w, UINT64_C(2000000000));
	for (i = 1; i <= MANY; i++)
		CHECK_OK(world_sample(&w, i, NULL, 0, NULL, 0, OP_END_OFF));
	op_processes_get_stats(w.p, &stats);
	CHECK_INT(stats.processes, MANY);
	CHECK_INT(stats.unseen, 0);
	world_settle(&w, UINT64_C(30000000000));
	CHECK_OK(world_sample(&w, 1, NULL, 0, NULL, 0, OP_END_OFF));
	for (i = 0; i < 10; i++)
		world_settle(&w, UINT64_C(5000000000));
	op_processes_get_stats(w.p, &stats);
	CHECK_INT(stats.processes, IDLE_MAX);
	CHECK(world_process(&w, 1));
	CHECK(!world_process(&w, 2));
	CHECK_OK(world_sample(&w, 2, NULL, 0, NULL, 0, OP_END_OFF));
	world_settle(&w, 0);
	CHECK(world_process(&w, 2));
	world_deinit(&w);
}

/* Any order of events, right or wrong: no memory error, and nothing is left behind. */
static void test_random_events(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .max_processes = 40 };
	uint64_t random = 3;
	struct world w;
	int i;

	make_root();
	make_server();
	world_init(&w, &options);
	CHECK_OK(inside_scan(w.p));
	for (i = 0; i < 20000; i++) {
		uint64_t r = op_hash_u64(++random);
		uint32_t pid = 100 + (uint32_t)(r >> 8) % 60;
		uint32_t other = 100 + (uint32_t)(r >> 20) % 60;
		struct op_mmap_event e = { .pid = pid,
					   .start = ((r >> 32) % 50 + 1) * 4096,
					   .inode = r >> 40 & 7,
					   .path = "/a/path" };
		uint64_t words[3] = { e.start + 5, e.start + 9000, r };

		e.end = e.start + (r >> 50) % 9 * 4096;
		w.now_ns += r % 1000000;
		switch (r % 8) {
		case 0:
			op_processes_on_fork(w.p, pid, other, w.now_ns);
			break;
		case 1:
			op_processes_on_exec(w.p, pid, "x", w.now_ns);
			break;
		case 2:
			op_processes_on_exit(w.p, pid, w.now_ns);
			break;
		case 3:
		case 4:
			op_processes_on_mmap(w.p, &e);
			break;
		case 5:
			world_settle(&w, r >> 60 ? 1000 : UINT64_C(400000000));
			break;
		case 6:
			(void)world_sample(&w, pid, NULL, 0, words, 2, OP_END_COMPLETE);
			break;
		default:
			(void)world_late_sample(&w, pid, (uint32_t)(r >> 16) % 4000,
						w.now_ns, words, 3);
			if (r >> 59 == 0)
				op_processes_on_lost(w.p);
			if (r >> 58 == 1)
				w.publish_error = w.publish_error ? 0 : -E2BIG;
		}
		if (i % 2000 == 0) {
			op_processes_window_end(w.p, false);
			op_window_reset(w.window);
		}
	}
	world_deinit(&w);
}

TEST_MAIN({ "identity", test_identity_by_procfs },
	  { "dead", test_identity_of_a_dead_process }, { "kernel", test_kernel_thread },
	  { "leader", test_leader_is_gone }, { "hidden", test_hidden_processes },
	  { "many", test_many_idle_processes }, { "random", test_random_events },
	  { "service", test_service_name },
	  { "exec", test_exec_between_sample_and_reading }, { "reused", test_reused_pid },
	  { "inherit", test_children_inherit }, { "after_exit", test_samples_after_exit },
	  { "moved", test_moved_to_another_cgroup },
	  { "mistaken", test_no_cgroup_is_mistaken },
	  { "dead_cgroup", test_cgroup_of_the_dead }, { "environment", test_environment },
	  { "exec_while_read", test_exec_while_read },
	  { "contexts", test_search_for_contexts },
	  { "no_container", test_cgroup_of_no_container })
