/* SPDX-License-Identifier: Apache-2.0 */
/* The program built without json-c. */
#include "common.h"

int command_mcp(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return fail("this otelprof was built without json-c, which mcp needs");
}
