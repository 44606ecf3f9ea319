/* SPDX-License-Identifier: Apache-2.0 */
#include "self.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/elf/file.h"
#include "process/registry.h"
#include "tools.h"

static const uint64_t SECOND = 1000000000;

uint16_t self_code_pages(void)
{
	uint64_t bytes = 0;
	uint64_t start, end;
	char rights[5];
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &start, &end, rights) ==
			    3 &&
		    rights[1] == '-' && rights[2] == 'x' && !strstr(line, "[vsyscall]"))
			bytes += end - start;
	(void)fclose(f);
	return (uint16_t)(bytes / 4096);
}

struct op_mmap_event self_code(void)
{
	const uint64_t at = (uint64_t)(uintptr_t)known_function;
	struct op_mmap_event e = { 0 };
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	CHECK(f);
	while (fgets(line, sizeof(line), f) && !(at >= e.start && at < e.end))
		CHECK_INT(sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &e.start,
				 &e.end, &e.offset),
			  3);
	CHECK(at >= e.start && at < e.end);
	(void)fclose(f);
	return e;
}

uint64_t self_map(const char *path, void *at, const struct op_mmap_event *code)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *there;

	CHECK(fd >= 0);
	there = mmap(at, code->end - code->start, PROT_READ | PROT_EXEC,
		     MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, (off_t)code->offset);
	CHECK(there != MAP_FAILED && close(fd) == 0);
	return (uint64_t)(uintptr_t)there;
}

struct op_mmap_event self_map_copy(const char *program, void *at,
				   const struct op_mmap_event *code, uint64_t time_ns)
{
	struct op_mmap_event e = { .pid = world_self(),
				   .offset = code->offset,
				   .time_ns = time_ns };
	char *path = NULL;
	struct stat st;
	char command[256];

	CHECK(asprintf(&path, "%s/copy-%" PRIu64, tools_make_dir(), time_ns) > 0);
	(void)snprintf(command, sizeof(command), "cp %s %s", program, path);
	CHECK_INT(system(command), 0);
	CHECK_OK(stat(path, &st));
	e.start = self_map(path, at, code);
	e.end = e.start + (code->end - code->start);
	e.dev_major = major(st.st_dev);
	e.dev_minor = minor(st.st_dev);
	e.inode = st.st_ino;
	e.path = path;
	return e;
}

struct op_mmap_event self_replace(struct world *w, const struct op_mmap_event *code)
{
	struct op_mmap_event e;
	char self[32];

	(void)snprintf(self, sizeof(self), "/proc/%u/exe", world_self());
	e = self_map_copy("/bin/true", NULL, code, w->now_ns += SECOND);
	op_processes_on_mmap(w->p, &e);
	world_settle(w, SECOND);
	free((char *)e.path);
	e = self_map_copy(self, (void *)(uintptr_t)e.start, code, w->now_ns += SECOND);
	op_processes_on_mmap(w->p, &e);
	world_settle(w, SECOND);
	return e;
}

pid_t self_start_child(const char *path)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (path)
			(void)execl(path, path, "1000", (char *)NULL);
		for (;;)
			(void)pause();
	}
	return pid;
}

void self_end_child(pid_t pid)
{
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

struct op_mmap_event self_map_library(const char *name, uint64_t time_ns)
{
	struct op_mmap_event code = { .end = 4096 };
	const struct op_elf_segment *segments;
	char path[64];
	struct op_elf *elf;
	size_t len;
	size_t i;

	(void)snprintf(path, sizeof(path), "%s.so", name);
	TOOLS_RUN(
		"echo 'int %s(void) { return 0; }' | gcc -shared -nostdlib -x c - -o %s",
		name, path);
	CHECK_OK(op_elf_open_path(tools_path(path), &elf));
	segments = op_elf_segments(elf, &len);
	for (i = 0; i < len && !(segments[i].flags & PF_X); i++)
		continue;
	CHECK(i < len);
	code.offset = segments[i].offset;
	op_elf_free(elf);
	return self_map_copy(tools_path(path), NULL, &code, time_ns);
}

uint32_t self_begin_with_child(struct world *w, uint32_t child)
{
	world_init(w, NULL);
	world_learn_self(w);
	op_processes_on_fork(w->p, child, world_self(), ++w->now_ns);
	world_settle(w, 0);
	return world_generation(w, child);
}
