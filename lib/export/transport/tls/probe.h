/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out why TLS fails. grpc 1.51 says "Ssl handshake failed" for every reason, and
 * curl may see the end of a connection before the alert that explains it. So after such a
 * failure this makes one connection with the same certificates, only to learn the reason.
 * For transport modules.
 */
#ifndef OP_EXPORT_TRANSPORT_TLS_PROBE_H
#define OP_EXPORT_TRANSPORT_TLS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "export/transport/transport.h"

struct op_lookup;

/* What is probed, and what a transport keeps between probes. */
struct op_tls_probe {
	const char *target; /* "host:port" */
	const struct op_transport_tls *certs;
	bool (*cancelled)(void *transport); /* the probe ends soon */
	void *transport;
	struct op_lookup *lookup; /* one that took too long for the last probe, or NULL */
};

/* Returns true with a sentence in @ret if the handshake fails for a known reason. Takes at
 * most three seconds, whatever the name server and the server do. */
bool op_tls_probe(struct op_tls_probe *p, char *ret, size_t cap);
void op_tls_probe_clear(struct op_tls_probe *p);

/* Copy all strings of @from, for a later probe. Returns 0 or -ENOMEM. */
int op_tls_copy(struct op_transport_tls *to, const struct op_transport_tls *from);
/* Wipe and free the copies. */
void op_tls_clear(struct op_transport_tls *certs);

#endif
