/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the VM's names to those that Java programmers write. */
#ifndef OP_RUNTIME_HOTSPOT_NAMES_H
#define OP_RUNTIME_HOTSPOT_NAMES_H

#include <stddef.h>

#include "base/strbuf.h"

/* Append @len bytes of modified UTF-8 as UTF-8; invalid bytes become U+FFFD. */
void op_runtime_hotspot_utf8(struct op_strbuf *to, const void *bytes, size_t len);

/* Append the class "java/lang/Thread" as "java.lang.Thread". The number of a hidden class
 * ("A$$Lambda+0x00007f2a4c000a00") is left out, because it differs from run to run. */
void op_runtime_hotspot_class(struct op_strbuf *to, const void *bytes, size_t len);

#endif
