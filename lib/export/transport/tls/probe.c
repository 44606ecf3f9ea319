/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one TLS connection and reports why its handshake fails. */
#include "export/transport/tls/probe.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/transport/tls/lookup.h"
#include "export/transport/tls/messages.h"

enum {
	/* For the name, then for the connection, and then for the whole handshake. */
	STEP_MS = 1000,
	SLICE_MS = 50, /* how soon it is noticed that it was cancelled */
	ERROR_BYTES = 256,
};

/* Split "host:port"; the host loses its brackets. */
static int split_target(const char *target, char **ret_host, const char **ret_port)
{
	const char *colon = strrchr(target, ':');
	size_t len = colon ? (size_t)(colon - target) : 0;
	char *host;

	if (len > 1 && target[0] == '[' && target[len - 1] == ']') {
		target++;
		len -= 2;
	}
	host = len ? strndup(target, len) : NULL;
	if (!host)
		return -EINVAL;
	*ret_host = host;
	*ret_port = colon + 1;
	return 0;
}

static uint64_t step_end_ns(void)
{
	return op_clock_monotonic_ns() + (uint64_t)STEP_MS * OP_NS_PER_MS;
}

/* How long to wait now, in ms; 0: it is time to end. */
static uint32_t slice(const struct op_tls_probe *p, uint64_t end_ns)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	uint64_t left_ms = now_ns < end_ns ? (end_ns - now_ns) / OP_NS_PER_MS : 0;

	return p->cancelled(p->transport) ? 0
					  : (uint32_t)OP_MIN(left_ms, (uint64_t)SLICE_MS);
}

static bool wait_for(const struct op_tls_probe *p, int fd, short events, uint64_t end_ns)
{
	struct pollfd of = { .fd = fd, .events = events };
	uint32_t ms;

	while ((ms = slice(p, end_ns)))
		if (poll(&of, 1, (int)ms) == 1)
			return true;
	return false;
}

static int connect_one(const struct op_tls_probe *p, const struct addrinfo *a,
		       uint64_t end_ns)
{
	_cleanup_close_ int fd = op_fd_move_up(
		socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	socklen_t len = sizeof(int);
	int r = 0;

	if (fd < 0)
		return -EIO;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0 &&
	    (errno != EINPROGRESS || !wait_for(p, fd, POLLOUT, end_ns)))
		return -EIO;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &r, &len) < 0 || r)
		return -EIO;
	return OP_TAKE_FD(fd);
}

/* The addresses, which are p->lookup's. A look-up that takes longer is waited for by the next
 * probe, so that there is never more than one. */
static const struct addrinfo *find_addresses(struct op_tls_probe *p, const char *host,
					     const char *port)
{
	uint64_t end_ns = step_end_ns();
	const struct addrinfo *list;
	uint32_t ms;

	if (!p->lookup && op_lookup_begin(host, port, &p->lookup) < 0)
		return NULL;
	while ((ms = slice(p, end_ns)))
		if (op_lookup_wait(p->lookup, ms, &list))
			return list;
	return NULL;
}

/* The addresses share the time, so that one which is silent leaves some to the others. */
static int connect_to(struct op_tls_probe *p, const char *host, const char *port)
{
	const struct addrinfo *a = find_addresses(p, host, port);
	uint64_t end_ns = step_end_ns();
	const struct addrinfo *rest;
	int fd = -EIO;

	for (; a && fd < 0; a = a->ai_next) {
		uint64_t now_ns = op_clock_monotonic_ns();
		uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
		uint64_t among = 0;

		for (rest = a; rest; rest = rest->ai_next)
			among++;
		fd = connect_one(p, a, now_ns + left_ns / among);
	}
	return fd;
}

static bool trust(SSL_CTX *ctx, const char *pem)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	BIO *bio;
	X509 *x;

	if (!pem)
		return SSL_CTX_set_default_verify_paths(ctx) == 1;
	bio = BIO_new_mem_buf(pem, -1);
	while (bio && (x = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		(void)X509_STORE_add_cert(store, x);
		X509_free(x);
	}
	BIO_free(bio);
	return true;
}

static void introduce(SSL_CTX *ctx, const struct op_transport_tls *certs)
{
	BIO *cert = BIO_new_mem_buf(certs->client_cert_pem, -1);
	BIO *key = BIO_new_mem_buf(certs->client_key_pem, -1);
	X509 *x = cert ? PEM_read_bio_X509(cert, NULL, NULL, NULL) : NULL;
	EVP_PKEY *k = key ? PEM_read_bio_PrivateKey(key, NULL, NULL, NULL) : NULL;
	X509 *more;

	if (x && k && SSL_CTX_use_certificate(ctx, x) == 1 &&
	    SSL_CTX_use_PrivateKey(ctx, k) == 1) {
		/* The file may also contain intermediate certificates. */
		while ((more = PEM_read_bio_X509(cert, NULL, NULL, NULL)))
			if (SSL_CTX_add_extra_chain_cert(ctx, more) != 1)
				X509_free(more);
	}
	X509_free(x);
	EVP_PKEY_free(k);
	BIO_free(cert);
	BIO_free(key);
}

/* The server asks for a client certificate, and there is none. */
static int on_asked(SSL *tls, X509 **x, EVP_PKEY **key)
{
	*(bool *)SSL_get_app_data(tls) = true;
	return 0;
}

static SSL *make_tls(const char *host, const struct op_transport_tls *certs, int fd)
{
	static const unsigned char alpn[] = "\2h2\10http/1.1";
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *tls = NULL;
	X509_VERIFY_PARAM *p;

	if (ctx && trust(ctx, certs->ca_pem)) {
		if (certs->client_cert_pem)
			introduce(ctx, certs);
		else
			SSL_CTX_set_client_cert_cb(ctx, on_asked);
		tls = SSL_new(ctx);
	}
	SSL_CTX_free(ctx);
	if (!tls)
		return NULL;
	SSL_set_verify(tls, SSL_VERIFY_PEER, NULL);
	p = SSL_get0_param(tls);
	if (X509_VERIFY_PARAM_set1_ip_asc(p, host) != 1) {
		(void)SSL_set_tlsext_host_name(tls, host);
		(void)X509_VERIFY_PARAM_set1_host(p, host, 0);
	}
	(void)SSL_set_alpn_protos(tls, alpn, sizeof(alpn) - 1);
	(void)SSL_set_fd(tls, fd);
	return tls;
}

/* Collect all messages of OpenSSL's error queue in one line. */
static void read_errors(char *ret, size_t cap)
{
	char one[ERROR_BYTES];
	unsigned long e;

	ret[0] = 0;
	while ((e = ERR_get_error())) {
		ERR_error_string_n(e, one, sizeof(one));
		(void)strlcat(ret, one, cap);
		(void)strlcat(ret, " ", cap);
	}
}

static int read_one(SSL *tls)
{
	char first;

	return SSL_read(tls, &first, 1);
}

/* Call @fn until it needs no more of the peer, or the time is over: it wants to read then. */
static int talk(const struct op_tls_probe *p, SSL *tls, int (*fn)(SSL *), uint64_t end_ns)
{
	for (;;) {
		int r = fn(tls);
		int error = SSL_get_error(tls, r);
		short events = error == SSL_ERROR_WANT_READ    ? POLLIN
			       : error == SSL_ERROR_WANT_WRITE ? POLLOUT
							       : 0;

		if (r > 0 || !events || !wait_for(p, SSL_get_fd(tls), events, end_ns))
			return r;
	}
}

static bool explain(const struct op_tls_probe *p, SSL *tls, const char *host, char *ret,
		    size_t cap)
{
	uint64_t end_ns = step_end_ns();
	char errors[2 * ERROR_BYTES];
	bool asked = false;
	bool closed;
	long verify;
	int r;

	ERR_clear_error();
	(void)SSL_set_app_data(tls, &asked);
	r = talk(p, tls, SSL_connect, end_ns);
	/* With TLS 1.3 a server checks the client's certificate after the handshake. */
	if (r == 1)
		r = talk(p, tls, read_one, end_ns);
	if (r > 0)
		return false;
	closed = SSL_get_error(tls, r) != SSL_ERROR_WANT_READ;
	read_errors(errors, sizeof(errors));
	verify = SSL_get_verify_result(tls);
	if (verify != X509_V_OK) {
		op_tls_message(verify, host, p->certs->ca_file,
			       X509_verify_cert_error_string(verify), ret, cap);
		return true;
	}
	if (op_tls_alert_message(errors, host, ret, cap))
		return true;
	/* Some servers, such as grpc's own, close the connection without an alert. */
	return asked && closed &&
	       op_tls_alert_message("alert certificate required", host, ret, cap);
}

bool op_tls_probe(struct op_tls_probe *p, char *ret, size_t cap)
{
	_cleanup_free_ char *host = NULL;
	_cleanup_close_ int fd = -1;
	const char *port = NULL;
	bool found = false;
	const struct addrinfo *list;
	SSL *tls;

	if (split_target(p->target, &host, &port) < 0)
		return false;
	fd = connect_to(p, host, port);
	tls = fd < 0 ? NULL : make_tls(host, p->certs, fd);
	if (tls)
		found = explain(p, tls, host, ret, cap);
	SSL_free(tls);
	ERR_clear_error();
	/* the next probe asks anew */
	if (p->lookup && op_lookup_wait(p->lookup, 0, &list))
		p->lookup = op_lookup_release(p->lookup);
	return found;
}

void op_tls_probe_clear(struct op_tls_probe *p)
{
	p->lookup = op_lookup_release(p->lookup);
}

void op_tls_clear(struct op_transport_tls *certs)
{
	op_wipep(&certs->ca_pem);
	op_wipep(&certs->client_cert_pem);
	op_wipep(&certs->client_key_pem);
	op_freep(&certs->ca_file);
}

int op_tls_copy(struct op_transport_tls *to, const struct op_transport_tls *from)
{
	const char *const texts[] = { from->ca_pem, from->client_cert_pem,
				      from->client_key_pem, from->ca_file };
	const char **copies[] = { &to->ca_pem, &to->client_cert_pem, &to->client_key_pem,
				  &to->ca_file };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(texts); i++) {
		*copies[i] = texts[i] ? strdup(texts[i]) : NULL;
		if (texts[i] && !*copies[i]) {
			op_tls_clear(to);
			return -ENOMEM;
		}
	}
	return 0;
}
