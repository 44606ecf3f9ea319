/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces sink.c and server.c if grpc was missing at build time. */
#include "common.h"

int command_sink(int argc, char **argv)
{
	return fail("sink: this program was built without grpc");
}
