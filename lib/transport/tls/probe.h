/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out why TLS fails. grpc 1.51 says "Ssl handshake failed" for every reason, and
 * curl may see the end of a connection before the alert that explains it. So after such a
 * failure this makes one connection with the same certificates, only to learn the reason.
 * For transport modules.
 */
#ifndef OP_TRANSPORT_TLS_PROBE_H
#define OP_TRANSPORT_TLS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "transport/transport.h"

/* @target: "host:port". Returns true with a sentence in @ret if the handshake fails for a
 * known reason. Takes at most two seconds plus the time to resolve the name. */
bool op_tls_probe(const char *target, const struct op_transport_tls *certs, char *ret,
		  size_t cap);

/* Copy all strings of @from, for a later probe. Returns 0 or -ENOMEM. */
int op_tls_copy(struct op_transport_tls *to, const struct op_transport_tls *from);
/* Wipe and free the copies. */
void op_tls_clear(struct op_transport_tls *certs);

#endif
