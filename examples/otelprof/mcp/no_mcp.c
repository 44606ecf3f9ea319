/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces mcp.c if json-c was missing at build time. */
#include "common.h"

int command_mcp(int argc, char **argv)
{
	return fail("this otelprof was built without json-c, which mcp needs");
}
