/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why does TLS fail? grpc 1.51 says "Ssl handshake failed" for every reason. So after such a
 * failure one connection is made here, with the same certificates, just to see.
 */
#ifndef OP_EXPORT_GRPC_PROBE_H
#define OP_EXPORT_GRPC_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "export/transport.h"

/*
 * @target: "host:port". True with one sentence in @ret where the handshake fails for a reason
 * that has one. Takes two seconds at most, and the time of a name's look-up.
 */
bool op_tls_probe(const char *target, const struct op_transport_tls *certs, char *ret,
		  size_t cap);

#endif
