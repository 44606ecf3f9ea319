/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be seen from outside of lib/process. */
#ifndef OP_TEST_PROCESS_INSIDE_H
#define OP_TEST_PROCESS_INSIDE_H

#include <stdbool.h>

#include "process/processes.h"

struct op_runtime_ops;

/* How often all maps were read anew. */
uint32_t inside_readings(const struct op_processes *p);
/* The reading is at its last process, and began @ns earlier than it did. */
void inside_reading_lasted(struct op_processes *p, uint64_t ns);
/* Are the maps of a process read at present? */
bool inside_reads(const struct op_processes *p, uint32_t pid);
/* Learn all processes that run now. Returns 0 or -errno. */
int inside_scan(struct op_processes *p);
/* Was there no time for all processes at the last op_processes_settle()? */
bool inside_settles_on(const struct op_processes *p);
/* Where the process context of a process is; 0: none was found. */
uint64_t inside_context(const struct op_processes *p, uint32_t pid);
/* The names that are kept of all files, and their indices. */
uint64_t inside_name_bytes(struct op_processes *p);
/* How many tables are being made. */
size_t inside_jobs(struct op_processes *p);
/* Log to @log, which is borrowed. */
void inside_log(struct op_processes *p, struct op_log *log);
/* The file that a process maps at @addr is a runtime: it is attached at the next change. */
void inside_runtime(struct op_processes *p, uint32_t pid, uint64_t addr,
		    const struct op_runtime_ops *ops);
/* Close the files of which tables are being made. */
void inside_close_jobs(struct op_processes *p);

#endif
