/* SPDX-License-Identifier: Apache-2.0 */
/* A loop device on a file of its own. */
#ifndef TEST_LOOP_H
#define TEST_LOOP_H

#include <stddef.h>

struct loop {
	int fd;	       /* keeps the device */
	char path[32]; /* "/dev/loop3" */
	char name[16]; /* "loop3" */
};

/* Make one of @bytes. 0 or a negative errno. */
int loop_open(struct loop *loop, size_t bytes);
/* Make one of the open file @file. 0 or a negative errno. */
int loop_open_file(struct loop *loop, int file);
/* Let the device have so many requests at a time. Returns how many it had, or a negative
 * errno. */
int loop_set_requests(const struct loop *loop, int requests);
/* It ends when the last one who has it open closes it. */
void loop_close(struct loop *loop);

#endif
