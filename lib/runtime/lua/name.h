/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Lua have no names. As in debug.traceback(), a function's name is the one
 * by which the caller's bytecode calls it. */
#ifndef OP_RUNTIME_LUA_NAME_H
#define OP_RUNTIME_LUA_NAME_H

#include <stdint.h>

#include "base/strbuf.h"
#include "runtime/lua/proto.h"

/*
 * Append the name of the function that instruction @i of @caller calls: that of a global,
 * local, upvalue, field, method or metamethod. Returns 1, 0 if it has none, -ENOMEM,
 * -EBADMSG or an error of reading. Treat the last two like 0.
 */
int op_runtime_lua_called(const struct op_lua_proto *caller, uint32_t i,
			  const struct op_memory *memory, struct op_strbuf *to);

#endif
