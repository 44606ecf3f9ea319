/* SPDX-License-Identifier: Apache-2.0 */
/* The code cache of a process: its heaps, its interpreter, and the names of blobs. */
#ifndef OP_RUNTIME_HOTSPOT_CODE_H
#define OP_RUNTIME_HOTSPOT_CODE_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/hotspot/layout.h"

#include "op_user_types.h"

#include "op_hotspot.h"

enum {
	/* bytes of an interpreter; the largest seen has 125,000 */
	OP_HOTSPOT_CODE_MAX = 1 << 20,
	OP_HOTSPOT_CODELETS_MAX = 1024,
	OP_HOTSPOT_BLOB_NAME_MAX = 64,
};

/*
 * Fill in heaps, interpreter, call_stub, the blobs' members and the rules of @bpf.
 * Returns 0; -EAGAIN if the VM has not started up yet; -ENOTSUP if its interpreter is not
 * understood; -EBADMSG; an error of reading; -ENOMEM.
 */
int op_runtime_hotspot_code(const struct op_memory *memory,
			    const struct op_hotspot_layout *layout,
			    struct op_hotspot *bpf);

/* The name of the blob at @blob; returns as op_runtime_hotspot_text(). */
int op_runtime_hotspot_blob_name(const struct op_memory *memory,
				 const struct op_hotspot_layout *layout, uint64_t blob,
				 char ret[OP_HOTSPOT_BLOB_NAME_MAX]);
/* The purpose of the codelet at @pc, such as "java_lang_math_sin", cut to @size bytes. */
int op_runtime_hotspot_codelet_name(const struct op_memory *memory,
				    const struct op_hotspot_layout *layout, uint64_t pc,
				    char *ret, size_t size);

#endif
