/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/lines/debug_budget.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/cleanup.h"

struct debug_rights debug_rights_of_owner(const struct debug_budget *r)
{
	struct debug_rights own;

	own.group = (gid_t)setfsgid(r->program.st_gid);
	own.user = (uid_t)setfsuid(r->program.st_uid);
	return own;
}

void debug_rights_return(struct debug_rights own)
{
	(void)setfsuid(own.user);
	(void)setfsgid(own.group);
}

bool debug_budget_take(struct debug_budget *r, const struct debug_memory *more)
{
	uint64_t used = r->mapped + r->unpacked, left = r->memory - used;

	if (more->mapped <= left && more->unpacked <= left - more->mapped) {
		r->mapped += more->mapped;
		r->unpacked += more->unpacked;
		return true;
	}
	left = more->mapped > UINT64_MAX - more->unpacked ? UINT64_MAX
							  : more->mapped + more->unpacked;
	left = left > UINT64_MAX - used ? UINT64_MAX : left + used;
	if (left > r->left_out)
		r->left_out = left;
	return false;
}

bool debug_budget_may_open(const struct debug_budget *r, const char *path,
			   struct debug_memory *ret_more)
{
	_cleanup_close_ int fd =
		op_task_open_regular(r->tasks, path, OP_TASK_SERVED_REFUSE, NULL);

	if (fd >= 0 && ret_more)
		(void)memory_of_fd(fd, ret_more);
	return fd != -ENOTSUP && fd != -ETIMEDOUT && fd != -EAGAIN && fd != -EREMOTE;
}

/* May libdw open the files beside @file for which it searches: those with the name
 * @link or, without it, with @file's name and ".debug"? */
static bool may_open_beside(const struct debug_budget *r, const char *file,
			    const char *link)
{
	const char *slash = strrchr(file, '/');
	int folder = slash ? (int)(slash + 1 - file) : 0;
	const char *name = link ? link : file + folder;
	const char *ending = link ? "" : ".debug";
	char path[PATH_MAX];

	if (*name == '/')
		folder = 0;
	(void)snprintf(path, sizeof(path), "%.*s%s%s", folder, file, name, ending);
	if (!debug_budget_may_open(r, path, NULL))
		return false;
	(void)snprintf(path, sizeof(path), "%.*s.debug/%s%s", folder, file, name, ending);
	return debug_budget_may_open(r, path, NULL);
}

/* libdw opens any file with the right name. It searches beside @file, beside the target
 * if @file is a link, and in the system's folders. */
static int find_separate(const struct debug_budget *r, Dwfl_Module *module,
			 void **userdata, const char *name, Dwarf_Addr base,
			 const char *file, const char *link, GElf_Word crc,
			 char **ret_path)
{
	_cleanup_free_ char *real = file ? realpath(file, NULL) : NULL;
	struct debug_rights own;
	int fd;

	if (file &&
	    (r->copied || !may_open_beside(r, file, link) ||
	     (real && strcmp(real, file) != 0 && !may_open_beside(r, real, link))))
		return dwfl_build_id_find_debuginfo(module, userdata, name, base, file,
						    link, crc, ret_path);
	own = debug_rights_of_owner(r);
	fd = dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, crc,
					  ret_path);
	debug_rights_return(own);
	/* By build id alone, and from servers, whose files go to a folder of our own. */
	return fd >= 0 || !r->program.st_uid
		       ? fd
		       : dwfl_standard_find_debuginfo(module, userdata, name, base, NULL,
						      NULL, 0, ret_path);
}

/* A file of dwz(1) is measured before libdw loads it. */
int debug_budget_find_separate(Dwfl_Module *module, void **userdata, const char *name,
			       Dwarf_Addr base, const char *file, const char *link,
			       GElf_Word crc, char **ret_path)
{
	struct debug_budget *r = *userdata;
	struct debug_memory more;
	struct stat st;
	int fd;

	if (r->copy >= 0) {
		/* if it were asked, libdw would open the file itself */
		*ret_path = OP_TAKE_PTR(r->copy_path);
		return OP_TAKE_FD(r->copy);
	}
	fd = find_separate(r, module, userdata, name, base, file, link, crc, ret_path);
	if (fd < 0 ||
	    (r->has_separate && fstat(fd, &st) == 0 && st.st_dev == r->separate.st_dev &&
	     st.st_ino == r->separate.st_ino) ||
	    (memory_of_fd(fd, &more) == 0 && debug_budget_take(r, &more)))
		return fd;
	(void)close(fd);
	free(*ret_path);
	*ret_path = NULL;
	return -1;
}

/* libdw takes a separate file for which it did not ask as descriptor 0, and closes that
 * at the end. */
static void end_search(Dwfl *dwfl)
{
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	dwfl_end(dwfl);
	if (input < 0)
		return;
	(void)dup3(input, STDIN_FILENO, O_CLOEXEC);
	(void)fcntl(STDIN_FILENO, F_SETFD, 0); /* child processes inherit it */
	(void)close(input);
}

/*
 * Find the separate file of @path, which is open as @file, and measure it. Another
 * libdw session searches for it: a session that has found a file uses it, whatever a
 * callback returns.
 */
bool debug_budget_take_separate(struct debug_budget *r, const char *path, int file)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	struct debug_memory more = { 0, 0, false };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	int own = dwfl ? fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
	/* libdw closes the descriptors that it was given */
	Dwfl_Module *module = own < 0 ? NULL : dwfl_report_offline(dwfl, "", path, own);
	const unsigned char *id;
	char *found = NULL;
	const char *link;
	GElf_Word crc = 0;
	void *data = NULL;
	bool room = true;
	GElf_Addr bias;
	int fd = -1;
	Elf *elf;

	if (!module)
		op_closep(&own);
	elf = module && dwfl_report_end(dwfl, NULL, NULL) == 0
		      ? dwfl_module_getelf(module, &bias)
		      : NULL;
	if (elf) {
		/* libdw searches by the build id for which it was asked. */
		(void)dwfl_module_build_id(module, &id, &bias);
		link = dwelf_elf_gnu_debuglink(elf, &crc);
		fd = find_separate(r, module, &data, "", 0, path, link, crc, &found);
	}
	/* A file that is not ELF may be a compressed one, which libdw would unpack as a
	 * whole. */
	if (fd >= 0) {
		r->has_separate = fstat(fd, &r->separate) == 0;
		room = memory_of_fd(fd, &more) == 0 && debug_budget_take(r, &more);
		r->copy = room ? debug_unpack(fd, r->memory) : -1;
		if (r->copy >= 0)
			r->copy_path = OP_TAKE_PTR(found);
	}
	if (dwfl)
		end_search(dwfl);
	if (fd >= 0)
		(void)close(fd);
	free(found);
	return room;
}
