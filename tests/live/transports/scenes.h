/* SPDX-License-Identifier: Apache-2.0 */
/* The scenes that each transport plays with its server; more of its own are in its test. */
#ifndef TESTS_EXPORT_SCENES_H
#define TESTS_EXPORT_SCENES_H

#include "rig.h"

/* The transport of this program: its test defines it. */
extern const struct transport {
	void (*add)(struct rig *g);
	const char *library;	   /* that it maps */
	const char *other_library; /* that the other one maps */
	const char *refused;	   /* a step that drops the request */
	/* What the server says of a small request besides; ends with NULL. */
	const char *request[4];
} transport;

#define SCENES(X)                                                                        \
	X(request_arrives_whole)                                                         \
	X(compression_is_as_asked)                                                       \
	X(partial_success_is_not_sent_again)                                             \
	X(junk_reply_accepts_nothing)                                                    \
	X(hang_ends_at_the_deadline)                                                     \
	X(free_cancels_a_hang)                                                           \
	X(nobody_listens_is_given_up)                                                    \
	X(closed_connection_is_given_up)                                                 \
	X(server_comes_and_goes)                                                         \
	X(server_dies_in_a_call)                                                         \
	X(two_exporters_are_apart)                                                       \
	X(a_slow_one_holds_no_other)                                                     \
	X(forked_child_can_free)

#define SCENE_DECLARATION(name) void test_##name(void);
#define SCENE_TEST(name)	{ #name, test_##name },

SCENES(SCENE_DECLARATION)
/* The first of a program: the others load the transport. */
void test_callback_alone_maps_no_transport(void);

/* A rig with an exporter to @port. */
void rig_up(struct rig *g, int port);
/*
 * Each step makes the request come again, until "ok", the last one. It takes @least_ms
 * or more, and the log says @word.
 */
void check_tried_again(const char *const *steps, uint32_t timeout_ms, uint32_t least_ms,
		       const char *word);
/* The step drops the request and not the next one, and the log says @word. */
void check_refused(const char *step, const char *word);
/* The step is a partial success that says: 3 profiles are too old. */
void check_partial(const char *step);

#endif
