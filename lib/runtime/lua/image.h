/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds LuaJIT's interpreter in a file, and what its instructions tell of the process.
 *
 * The interpreter is assembly that no compiler changes: its instructions are the same in each build of
 * a version, and in all versions where they say what is needed. So offsets that differ between
 * versions and distributions are read from them.
 */
#ifndef OP_RUNTIME_LUA_IMAGE_H
#define OP_RUNTIME_LUA_IMAGE_H

#include <stdint.h>

#include "base/log.h"
#include "code/elf/file.h"
#include "runtime/runtime.h"

#include "op_user_types.h"

#include "op_lua.h"

/* As probe() of struct op_runtime_ops. *@ret has ELF addresses. */
int op_runtime_lua_image(struct op_elf *elf, const char *path, struct op_log *log,
			 struct op_lua *ret, struct op_runtime_loop *ret_loop);

#endif
