/* SPDX-License-Identifier: Apache-2.0 */
/* Are these texts what TLS will need? Asked early, since grpc says so only at a failure. */
#ifndef OP_TRANSPORT_TLS_PEM_H
#define OP_TRANSPORT_TLS_PEM_H

#include <stdbool.h>
#include <stddef.h>

/* Does @pem begin with a certificate that can be read? */
bool op_pem_has_certificate(const char *pem);
/* Does it have a private key without a pass phrase? */
bool op_pem_has_key(const char *pem);
/* Is the first certificate out of date? *@ret_date is then the end of its time. */
bool op_pem_expired(const char *pem, char *ret_date, size_t cap);
/* Is @key_pem the key of the first certificate of @cert_pem? */
bool op_pem_match(const char *cert_pem, const char *key_pem);

#endif
