/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of methods as their source has them. The C# compiler makes methods and types with names
 * that no source can have (Roslyn, GeneratedNames.cs):
 *   <M>d__1         type: the state machine of M, whose MoveNext() runs M's code
 *   <>c, <>c__DisplayClass1_0  types: lambdas and what they capture
 *   <M>b__1_0       method: a lambda in M
 *   <M>g__F|1_0     method: the local function F in M
 */
#ifndef OP_RUNTIME_DOTNET_PE_SOURCE_NAME_H
#define OP_RUNTIME_DOTNET_PE_SOURCE_NAME_H

#include <stdbool.h>

#include "base/strbuf.h"

enum {
	OP_DOTNET_MACHINE_MAX =
		256, /* bytes of the name of a method with a state machine */
};

struct op_dotnet_source_name {
	struct op_strbuf *text;
	char machine[OP_DOTNET_MACHINE_MAX]; /* "": the last type is no state machine */
};

void op_runtime_dotnet_source_namespace(struct op_dotnet_source_name *name,
					const char *text);
/* The outermost type first. */
void op_runtime_dotnet_source_type(struct op_dotnet_source_name *name, const char *text);
/* At last the method. */
void op_runtime_dotnet_source_method(struct op_dotnet_source_name *name,
				     const char *text);

#endif
