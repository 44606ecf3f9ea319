/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks a name up in a thread of its own, which nobody has to wait for: getaddrinfo(3) has no
 * deadline, and takes as long as a name server that does not answer lets it. For transport
 * modules.
 */
#ifndef OP_EXPORT_TRANSPORT_TLS_LOOKUP_H
#define OP_EXPORT_TRANSPORT_TLS_LOOKUP_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

struct op_lookup;

/* Begin a look-up. Returns 0 or -errno. */
int op_lookup_begin(const char *host, const char *port, struct op_lookup **ret);

/* Wait for its end, at most @ms. Returns true with the addresses, which are the look-up's;
 * NULL: none. */
bool op_lookup_wait(struct op_lookup *l, uint32_t ms, const struct addrinfo **ret);

/* Its thread may go on. Returns NULL. */
struct op_lookup *op_lookup_release(struct op_lookup *l);

#endif
