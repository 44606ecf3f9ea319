/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates all allocations from those that Go's runtime sampled. */
#ifndef OP_RUNTIME_GO_SCALE_H
#define OP_RUNTIME_GO_SCALE_H

#include <stdint.h>

struct op_go_estimate {
	uint64_t objects;
	uint64_t bytes;
};

/*
 * The number that @objects of @size bytes each stand for, which were sampled at a mean
 * distance of @rate bytes. It is the arithmetic of Go's runtime/pprof in double
 * precision, rounded down as there. @objects * @size is below 2^56.
 */
struct op_go_estimate op_go_scale(uint64_t objects, uint64_t size, uint64_t rate);

#endif
