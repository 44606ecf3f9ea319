/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_LOST_H
#define TEST_LOST_H

#define LOST_TURNS 10000000

/* Turn LOST_TURNS times. x86-64 only. */
void lost(void);

#endif
