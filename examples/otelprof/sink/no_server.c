/* SPDX-License-Identifier: Apache-2.0 */
/* Instead of sink.c and server.c, where there was no grpc at build time. */
#include "common.h"

int command_sink(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return fail("sink: this program was built without grpc");
}
