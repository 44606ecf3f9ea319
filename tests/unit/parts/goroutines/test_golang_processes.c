/* SPDX-License-Identifier: Apache-2.0 */
/* Go processes that have ended are forgotten, but for those that a visit refers to. */
#include <stdlib.h>

#include "../../process/world.h"
#include "parts/goroutines/processes.h"
#include "test.h"

static struct op_golang_process *add(struct op_golang_processes *k, uint32_t pid)
{
	struct op_golang_process **slot = op_vec_push(&k->list);

	CHECK(slot);
	*slot = calloc(1, sizeof(**slot));
	CHECK(*slot);
	(*slot)->pid = pid;
	return *slot;
}

static void test_ended(void)
{
	struct op_golang_processes k = { .processes = NULL };
	struct op_golang_process *visited;
	struct world w;

	world_init(&w, NULL);
	k.processes = w.p;
	(void)add(&k, 4000001);
	visited = add(&k, 4000002);
	visited->visits = 1;
	add(&k, 4000003)->waits = true;
	op_golang_processes_sweep(&k);
	CHECK_INT(k.list.len, 1);
	CHECK(k.list.data[0] == visited);
	visited->visits = 0;
	op_golang_processes_sweep(&k);
	CHECK_INT(k.list.len, 0);
	op_golang_processes_deinit(&k);
	world_deinit(&w);
}

TEST_MAIN({ "ended", test_ended })
