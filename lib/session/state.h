/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a session, shared by the files of this folder. */
#ifndef OP_SESSION_STATE_H
#define OP_SESSION_STATE_H

#include <errno.h>

#include "kernel/capture.h"
#include "session/ends.h"
#include "session/postponed.h"
#include "session/session.h"

/*
 * Shares of a poll. Side-bands, records of the ring, postponed records and processes
 * get a quarter each. Work that cannot be interrupted, such as reading the names of a
 * large program, may take some 10 ms more. After half of the time, the rest of that
 * work waits for the next poll.
 */
enum {
	OP_SESSION_PARTS = 4,
	OP_SESSION_LONG_PARTS = 2,
	/* op_session_take_records(): this poll has done enough */
	OP_SESSION_STOP = -ECANCELED,
};

struct op_session {
	struct op_session_config config;
	struct op_session_counts counts;
	struct op_sideband_sink sink;
	struct op_endings ends;
	struct op_postponed postponed;
	uint64_t last_event_ns;	   /* time of the last event or record */
	uint64_t code_ns;	   /* when code was last seen for the first time */
	uint64_t exec_ns;	   /* when an interpreter's file was last executed */
	uint32_t rings;		   /* polls that left records of the ring, in a row */
	bool ending;		   /* nothing waits for a table or for names */
	bool put_off;		   /* the last poll left the records to the next one */
	bool kernel_symbols_stale; /* kernel symbols came or went */
	uint64_t map_failures;	   /* map failures of the arena that are logged already */
};

/* sideband.c */
void op_session_init_sink(struct op_session *s);
/* Pass side-band events until @end_ns to the processes. Returns the number of events. */
uint64_t op_session_drain_sideband(struct op_session *s, uint64_t end_ns);

/* records.c */
/* The work of a poll on the ring. */
struct op_session_records {
	uint64_t taken;
	bool unknown; /* a record belonged to a process or mapping without tables */
};
/* Take postponed records, then those of the ring. Returns 0, OP_SESSION_STOP or -errno. */
int op_session_take_records(struct op_session *s, struct op_session_records *ret);

#endif
