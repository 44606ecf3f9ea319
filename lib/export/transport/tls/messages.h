/* SPDX-License-Identifier: Apache-2.0 */
/* Explains in one sentence why TLS failed, and what to do about it. For transport
 * modules. */
#ifndef OP_EXPORT_TRANSPORT_TLS_MESSAGES_H
#define OP_EXPORT_TRANSPORT_TLS_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

enum {
	OP_TLS_WRONG_HOST = 62 /* X509_V_ERR_HOSTNAME_MISMATCH */
};

/*
 * The server's certificate was not accepted. @verify: an X509_V_ERR_* of OpenSSL.
 * @ca_file: the trusted certificates; NULL: the system's roots. @detail: more about it,
 * or "".
 */
void op_tls_message(long verify, const char *host, const char *ca_file,
		    const char *detail, char *ret, size_t cap);

/* The server did not accept our certificate and sent an alert; @error is OpenSSL's text
 * for it. Returns false if the text names no known alert. */
bool op_tls_alert_message(const char *error, const char *host, char *ret, size_t cap);

#endif
