/* SPDX-License-Identifier: Apache-2.0 */
/* A transport module of another version of the library: must not be used. */
#include "export/transport/transport.h"

extern const struct op_transport_ops op_transport_module;
__attribute__((visibility("default")))
const struct op_transport_ops op_transport_module = {
	.abi = OP_TRANSPORT_ABI + 1,
};
