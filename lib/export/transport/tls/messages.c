/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences for TLS errors. */
#include "export/transport/tls/messages.h"

#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

static const char *separator(const char *detail)
{
	return *detail ? " (" : "";
}

void op_tls_message(long verify, const char *host, const char *ca_file,
		    const char *detail, char *ret, size_t cap)
{
	const char *open = separator(detail);
	const char *close = *detail ? ")" : "";

	switch (verify) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		(void)snprintf(
			ret, cap,
			"the certificate of %s has expired%s%s%s: renew it there, or "
			"set the clock of this host",
			host, open, detail, close);
		break;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		(void)snprintf(
			ret, cap,
			"the certificate of %s is not valid yet%s%s%s: compare the "
			"clocks of both hosts",
			host, open, detail, close);
		break;
	case OP_TLS_WRONG_HOST:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		(void)snprintf(
			ret, cap,
			"the certificate is not for %s%s%s%s: use a name that it has "
			"in endpoint, or issue one for this name",
			host, open, detail, close);
		break;
	default:
		(void)snprintf(
			ret, cap,
			"the certificate of %s is not signed by an authority %s%s%s%s"
			"%s: set ca_file to the certificate of its authority",
			host, ca_file ? "in " : "that this host trusts",
			ca_file ? ca_file : "", open, detail, close);
		break;
	}
}

bool op_tls_alert_message(const char *error, const char *host, char *ret, size_t cap)
{
	static const struct {
		const char *alert;
		const char *words;
	} alerts[] = {
		{ "alert certificate required",
		  "wants a client certificate: set client_cert_file and client_key_file" },
		{ "alert unknown ca",
		  "does not trust the authority that signed the client certificate: its "
		  "client CA must be that of client_cert_file" },
		{ "alert certificate expired",
		  "refuses the client certificate, which has expired: replace "
		  "client_cert_file and client_key_file" },
		{ "alert bad certificate",
		  "refuses the client certificate: see client_cert_file, and the server's "
		  "log for the reason" },
		{ "alert handshake failure",
		  "ended the handshake: it may want a client certificate "
		  "(client_cert_file), or other TLS versions" },
		{ "wrong version number", "does not speak TLS: is http:// meant?" },
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(alerts); i++) {
		if (!strstr(error, alerts[i].alert))
			continue;
		(void)snprintf(ret, cap, "%s %s", host, alerts[i].words);
		return true;
	}
	return false;
}
