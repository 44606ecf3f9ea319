/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Lua have no names. As debug.traceback() does, the caller's bytecode says by which name
 * a function was called. */
#ifndef OP_RUNTIME_LUA_NAME_H
#define OP_RUNTIME_LUA_NAME_H

#include <stdint.h>

#include "base/strbuf.h"
#include "runtime/lua/proto.h"

/*
 * Append the name of what instruction @i of @caller calls: that of a global, local, upvalue,
 * field, method or metamethod. Returns 1; 0 if it has none; -EBADMSG or an error of reading, as if
 * it had none; -ENOMEM.
 */
int op_runtime_lua_called(const struct op_lua_proto *caller, uint32_t i,
			  const struct op_memory *memory, struct op_strbuf *to);

#endif
