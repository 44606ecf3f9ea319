/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/probes/mapped_probes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/allowance.h"
#include "base/io.h"
#include "parts/parts.h"
#include "process/generation.h"
#include "process/image/new_files.h"
#include "process/mappings/mappings.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/registry.h"
#include "process/target/open.h"

enum {
	TURN_PARTS = 4, /* a poll's share for files */
};

/* Time after which files that could not be opened are tried again. */
#define AGAIN_NS UINT64_C(200000000)

struct op_mapped {
	struct op_processes *processes;
	struct op_executables *executables;
	struct op_mapped_probes *user[OP_MAPPED_USERS_MAX];
	size_t users_len;
	uint64_t left_ns;  /* since when files wait for a poll; 0: none */
	bool busy;	   /* time until which no file can be opened */
	uint64_t again_ns; /* when to try those files again; 0: none */
};

/* Treat every file that the process @proc maps as new. */
static void note_process(struct op_processes *p, struct op_proc *proc)
{
	struct op_proc_view view = op_proc_view_now(proc);
	size_t i;

	for (i = 0; i < view.mappings->len; i++) {
		const struct op_mapping *vma = &view.mappings->vma[i];

		if (vma->exe)
			op_new_files_note(op_processes_executables(p), vma->exe,
					  &(struct op_executable_place){
						  .pid = view.program->proc_pid,
						  .start = vma->start,
						  .end = vma->end });
	}
}

static void look_into(struct op_mapped *m, const struct op_new_file *n)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct op_opened opened;
	int r = op_new_files_open(m->executables, n, &opened);
	size_t i;

	if (r < 0) {
		m->busy = r == -EBUSY;
		if (!n->exe->noted)
			m->again_ns = op_clock_monotonic_ns() + AGAIN_NS;
		return;
	}
	if (opened.served || op_elf_open(opened.fd, &elf) < 0) {
		op_closep(&opened.fd);
		return;
	}
	for (i = 0; i < m->users_len; i++)
		(void)op_mapped_probes_attach(m->user[i], n->exe, elf);
}

/* Examine the next file that was mapped. Returns false if there was none, or if it has to
 * wait. */
static bool look_into_next(struct op_mapped *m)
{
	struct op_new_file n;

	if (m->busy || !op_new_files_take(m->executables, &n))
		return false;
	look_into(m, &n);
	op_executable_put(m->executables, n.exe);
	return true;
}

void op_mapped_on(struct op_mapped *m, struct op_mapped_probes *user)
{
	assert(m->users_len < OP_MAPPED_USERS_MAX);
	m->user[m->users_len++] = user;
	m->busy = false;
	m->again_ns = 0;
	/* all files are new to this user */
	op_new_files_ask(m->executables, true);
	op_registry_each(m->processes, note_process);
	while (look_into_next(m))
		;
}

void op_mapped_off(struct op_mapped *m, struct op_mapped_probes *user)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < m->users_len; i++)
		if (m->user[i] != user)
			m->user[kept++] = m->user[i];
	m->users_len = kept;
	if (!kept)
		op_new_files_ask(m->executables, false);
	op_mapped_probes_clear(user);
}

static int mapped_make(const struct op_part_config *config, void **ret)
{
	struct op_mapped *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->processes = config->processes;
	m->executables = op_processes_executables(config->processes);
	*ret = m;
	return 0;
}

static void poll_files(void *part, struct op_allowance *allowance,
		       struct op_window *window, struct op_part_taken *taken)
{
	struct op_mapped *m = part;
	uint64_t now = op_clock_monotonic_ns();
	uint64_t end =
		op_allowance_part(allowance, op_allowance_now(allowance), TURN_PARTS);

	m->left_ns = 0;
	if (!m->users_len)
		return;
	if (m->again_ns && now >= m->again_ns) {
		m->again_ns = 0;
		m->busy = false;
		/* another process may map the file, now or before */
		op_registry_each(m->processes, note_process);
	}
	while (!m->left_ns && look_into_next(m))
		if (op_allowance_now(allowance) >= end)
			m->left_ns = now;
}

static uint64_t next_ns(const void *part)
{
	const struct op_mapped *m = part;

	return m->left_ns;
}

/* From time to time, detach from files that no process maps. */
static int trim(void *part, struct op_window *window, enum op_part_end end,
		struct op_part_taken *taken)
{
	struct op_mapped *m = part;
	size_t i;

	for (i = 0; end != OP_PART_END_BUDGET && i < m->users_len; i++)
		op_mapped_probes_trim(m->user[i], m->user, m->users_len);
	return 0;
}

const struct op_part_ops op_part_mapped = {
	.name = "mapped files",
	.make = mapped_make,
	.free = free,
	.poll = poll_files,
	.next_ns = next_ns,
	.snapshot = trim,
};
