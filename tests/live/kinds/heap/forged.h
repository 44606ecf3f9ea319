/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_HEAP_FORGED_H
#define TEST_HEAP_FORGED_H

void test_forged(void);

#endif
