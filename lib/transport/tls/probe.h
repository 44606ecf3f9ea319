/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why does TLS fail? grpc 1.51 says "Ssl handshake failed" for every reason, and curl may see
 * the end of a connection before the alert that explains it. So after such a failure one
 * connection is made here, with the same certificates, just to see. For transport modules.
 */
#ifndef OP_TRANSPORT_TLS_PROBE_H
#define OP_TRANSPORT_TLS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "transport/transport.h"

/*
 * @target: "host:port". True with one sentence in @ret where the handshake fails for a reason
 * that has one. Takes two seconds at most, and the time of a name's look-up.
 */
bool op_tls_probe(const char *target, const struct op_transport_tls *certs, char *ret,
		  size_t cap);

/* Copies of all strings of @from, for a probe to come. 0 or -ENOMEM. */
int op_tls_copy(struct op_transport_tls *to, const struct op_transport_tls *from);
/* Wipe and free them. */
void op_tls_clear(struct op_transport_tls *certs);

#endif
