/* SPDX-License-Identifier: Apache-2.0 */
/* Says what to do about a TLS connection that failed. For transport modules. */
#ifndef OP_EXPORT_TRANSPORT_TLS_EXPLAIN_H
#define OP_EXPORT_TRANSPORT_TLS_EXPLAIN_H

#include <stddef.h>

/* @text is what grpc or curl says. If it names a known reason, a sentence is put before it. */
void op_tls_explain(char *text, size_t cap);

#endif
