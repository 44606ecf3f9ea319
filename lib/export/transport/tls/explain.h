/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why a TLS connection failed, and what to do. For transport modules. */
#ifndef OP_EXPORT_TRANSPORT_TLS_EXPLAIN_H
#define OP_EXPORT_TRANSPORT_TLS_EXPLAIN_H

#include <stddef.h>

/* @text is the message of grpc or curl. If it names a known reason, a sentence is put
 * before it. */
void op_tls_explain(char *text, size_t cap);

#endif
