/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_PATIENT_H
#define TEST_PATIENT_H

#include "process/target/target.h"

/* Let @t wait as long as a test may take. On a busy machine its reading child gets a CPU
 * late, and otherwise the library would skip the process. */
static inline void be_patient(struct op_target *t)
{
	t->deadline_ns = t->wait_max_ns = t->may_wait_ns = UINT64_C(60000000000);
}

#endif
