/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds LuaJIT's interpreter in a file, and reads offsets from its instructions.
 *
 * The interpreter is assembly that no compiler changes: each build of a version has the
 * same instructions. The ones that are read here are the same in all versions. So they
 * show the offsets, which differ between versions and distributions.
 */
#ifndef OP_RUNTIME_LUA_IMAGE_H
#define OP_RUNTIME_LUA_IMAGE_H

#include <stdint.h>

#include "base/log.h"
#include "code/elf/file.h"
#include "runtime/runtime.h"

#include "op_user_types.h"

#include "op_lua.h"

/* Returns like probe() of struct op_runtime_ops. *@ret has ELF addresses. */
int op_runtime_lua_image(struct op_elf *elf, const char *path, struct op_log *log,
			 struct op_lua *ret, struct op_runtime_loop *ret_loop);

#endif
