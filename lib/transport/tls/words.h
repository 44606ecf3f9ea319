/* SPDX-License-Identifier: Apache-2.0 */
/* What TLS failed of, and what to do about it, in one sentence. For transport modules. */
#ifndef OP_TRANSPORT_TLS_WORDS_H
#define OP_TRANSPORT_TLS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	OP_TLS_WRONG_HOST = 62 /* X509_V_ERR_HOSTNAME_MISMATCH */
};

/*
 * The server's certificate was not taken. @verify: an X509_V_ERR_* of OpenSSL. @ca_file:
 * what was trusted; NULL: the system's roots. @detail: more of it, or "".
 */
void op_tls_words(long verify, const char *host, const char *ca_file, const char *detail,
		  char *ret, size_t cap);

/*
 * The server did not take ours: it sent an alert, which @error tells in OpenSSL's words.
 * False where it tells of none that is known.
 */
bool op_tls_alert_words(const char *error, const char *host, char *ret, size_t cap);

#endif
