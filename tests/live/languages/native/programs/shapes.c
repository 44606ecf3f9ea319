/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stack frames whose size is not known to the compiler: every second link is in turn one
 * with a variable-length array, with alloca(), or with a local aligned beyond the ABI's 16
 * bytes (the compiler then keeps the old stack pointer in a register or on the stack and
 * describes the frame by a DWARF expression).
 */
#include <alloca.h>
#include <string.h>

#include "leaves.h"

static volatile unsigned int truth_size = 100;

#define LINK_VLA(name, next)                                                             \
	TRUTH_FN void name(struct job *j)                                                \
	{                                                                                \
		volatile char room[truth_size + sizeof(#name)];                          \
                                                                                         \
		room[0] = 1;                                                             \
		next(j);                                                                 \
		room[1] = room[0];                                                       \
		KEEP();                                                                  \
	}

#define LINK_ALLOCA(name, next)                                                          \
	TRUTH_FN void name(struct job *j)                                                \
	{                                                                                \
		volatile char *room = (volatile char *)alloca(truth_size * 3 + 1);       \
                                                                                         \
		room[0] = 1;                                                             \
		next(j);                                                                 \
		room[1] = room[0];                                                       \
		KEEP();                                                                  \
	}

/* With stack-passed arguments, too: the realigned frame then needs the old
 * stack pointer. */
#define LINK_ALIGNED(name, next)                                                         \
	TRUTH_FN void name##_in(struct job *j, long a, long b, long c, long d, long e,   \
				long f, long g)                                          \
	{                                                                                \
		volatile char room[64] __attribute__((aligned(64)));                     \
		volatile char more[truth_size];                                          \
                                                                                         \
		room[0] = (char)(a + b + c + d + e);                                     \
		more[0] = (char)f;                                                       \
		next(j);                                                                 \
		room[1] = (char)(room[0] + more[0] + f + g);                             \
		KEEP();                                                                  \
	}                                                                                \
	TRUTH_FN void name(struct job *j)                                                \
	{                                                                                \
		name##_in(j, 1, 2, 3, 4, 5, 6, (long)j->spins);                          \
		KEEP();                                                                  \
	}

LINK_VLA(f2, f1)
LINK_ALLOCA(f3, f2)
LINK_ALIGNED(f4, f3)
LINK_VLA(f5, f4)
LINK_ALLOCA(f6, f5)
LINK_ALIGNED(f7, f6)
TRUTH_LINK(f8, f7)
LINK_VLA(f9, f8)
LINK_ALLOCA(f10, f9)
LINK_ALIGNED(f11, f10)
LINK_VLA(f12, f11)
LINK_ALLOCA(f13, f12)
LINK_ALIGNED(f14, f13)
TRUTH_LINK(f15, f14)
LINK_VLA(f16, f15)
LINK_ALLOCA(f17, f16)
LINK_ALIGNED(f18, f17)
LINK_VLA(f19, f18)
LINK_ALLOCA(f20, f19)
LINK_ALIGNED(f21, f20)
TRUTH_LINK(f22, f21)
LINK_VLA(f23, f22)
TRUTH_LINK(f24, f23)

int main(int argc, char **argv)
{
	return truth_main(argc, argv, f24);
}
