/* SPDX-License-Identifier: Apache-2.0 */
/* Checks PEM texts early, because grpc reports problems only when a connection fails. */
#ifndef OP_EXPORT_TRANSPORT_TLS_PEM_H
#define OP_EXPORT_TRANSPORT_TLS_PEM_H

#include <stdbool.h>
#include <stddef.h>

/* Does @pem begin with a valid certificate? */
bool op_pem_has_certificate(const char *pem);
/* Does @pem have a private key without a pass phrase? */
bool op_pem_has_key(const char *pem);
/* Has the first certificate expired? If so, *@ret_date is the end of its validity. */
bool op_pem_expired(const char *pem, char *ret_date, size_t cap);
/* Does @key_pem belong to the first certificate of @cert_pem? */
bool op_pem_match(const char *cert_pem, const char *key_pem);

#endif
