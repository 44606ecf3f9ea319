/* SPDX-License-Identifier: Apache-2.0 */
#include "export/transport/tls/explain.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "export/transport/transport.h"

#define WRONG_NAME                                                                       \
	"the server's certificate is not for this name: use a name that it has in "      \
	"endpoint, or issue one for this name"
/* A server may close the connection before its alert is read. */
#define CLOSED                                                                           \
	"the server ended the connection: it may want a client certificate or another "  \
	"one (client_cert_file, client_key_file)"

/* The words of OpenSSL, grpc and curl. The first that is found counts. */
static const struct {
	const char *said;
	const char *meaning;
} reasons[] = {
	{ "alert certificate required",
	  "the server wants a client certificate: set client_cert_file and "
	  "client_key_file" },
	{ "alert unknown ca",
	  "the server does not trust the authority that signed the client certificate: its "
	  "client CA must be that of client_cert_file" },
	{ "alert certificate expired",
	  "the server refuses the client certificate, which has expired: replace "
	  "client_cert_file and client_key_file" },
	{ "alert bad certificate",
	  "the server refuses the client certificate: see client_cert_file, and the "
	  "server's log for the reason" },
	{ "alert handshake failure",
	  "the server ended the handshake: it may want a client certificate "
	  "(client_cert_file), or other TLS versions" },
	{ "wrong version number", "the server does not speak TLS: is http:// meant?" },
	{ "certificate has expired",
	  "the server's certificate has expired: renew it there, or set the clock of this "
	  "host" },
	{ "certificate is not yet valid",
	  "the server's certificate is not valid yet: compare the clocks of both hosts" },
	{ "not in peer certificate", WRONG_NAME }, /* grpc */
	{ "subject name", WRONG_NAME },		   /* curl */
	{ "certificate problem",
	  "the server's certificate is not signed by an authority that is trusted here: set "
	  "ca_file to the certificate of its authority" },
	/* grpc does not report which */
	{ "certificate verify failed",
	  "the server's certificate is not signed by an authority that is trusted here, or "
	  "is out of date: set ca_file to the certificate of its authority, or renew it "
	  "there" },
	{ "Endpoint read failed", CLOSED }, /* grpc */
	{ "OpenSSL SSL_", CLOSED },	    /* curl, and the rest */
	{ "SSL_write() error", CLOSED },
	{ "Connection reset by peer", CLOSED },
	{ "getpeername() failed", CLOSED },
};

void op_tls_explain(char *text, size_t cap)
{
	char said[sizeof(((struct op_transport_result *)NULL)->message)];
	size_t i;

	(void)strlcpy(said, text, sizeof(said));
	for (i = 0; i < OP_ARRAY_SIZE(reasons); i++) {
		if (!strstr(said, reasons[i].said))
			continue;
		(void)snprintf(text, cap, "%s (%s)", reasons[i].meaning, said);
		return;
	}
}
