/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for, by the functions of the kernel that it waits in. */
#ifndef OP_RECORDING_THREADS_WAITS_H
#define OP_RECORDING_THREADS_WAITS_H

#include <stddef.h>

#include "otlp/reader.h"

/*
 * The word for a wait in @frames, leaf first: "lock", "sleep", "disk", ... What the kernel does not
 * tell apart, as a lock from a condition, the program's frames do. NULL where none says it.
 */
const char *wait_of_frames(const struct otlp_text *frames, size_t len);

#endif
