/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one TLS connection and reports why its handshake fails. */
#include "transport/tls/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "transport/tls/words.h"

enum {
	STEP_MS = 1000, /* limit for connecting, and for each answer of the handshake */
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

static int connect_one(const struct addrinfo *a)
{
	const struct timeval limit = { .tv_usec = 900000 };
	_cleanup_close_ int fd = op_fd_move_up(
		socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0;

	if (fd < 0)
		return -EIO;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0 &&
	    (errno != EINPROGRESS || poll(&p, 1, STEP_MS) != 1))
		return -EIO;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err)
		return -EIO;
	if (fcntl(fd, F_SETFL, 0) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -EIO;
	return OP_TAKE_FD(fd);
}

static int connect_to(const char *host, const char *port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	struct addrinfo *a;
	int fd = -EIO;

	if (getaddrinfo(host, port, &hints, &list))
		return -EIO;
	for (a = list; a && fd < 0; a = a->ai_next)
		fd = connect_one(a);
	freeaddrinfo(list);
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

static bool explain(SSL *tls, const char *host, const char *ca_file, char *ret,
		    size_t cap)
{
	char errors[2 * ERROR_BYTES];
	bool asked = false;
	bool closed;
	char first;
	long verify;
	int r;

	ERR_clear_error();
	(void)SSL_set_app_data(tls, &asked);
	r = SSL_connect(tls);
	/* With TLS 1.3 a server checks the client's certificate after the handshake. */
	if (r == 1)
		r = SSL_read(tls, &first, 1);
	if (r > 0)
		return false;
	closed = SSL_get_error(tls, r) != SSL_ERROR_WANT_READ;
	read_errors(errors, sizeof(errors));
	verify = SSL_get_verify_result(tls);
	if (verify != X509_V_OK) {
		op_tls_words(verify, host, ca_file, X509_verify_cert_error_string(verify),
			     ret, cap);
		return true;
	}
	if (op_tls_alert_words(errors, host, ret, cap))
		return true;
	/* Some servers, such as grpc's own, close the connection without an alert. */
	return asked && closed &&
	       op_tls_alert_words("alert certificate required", host, ret, cap);
}

bool op_tls_probe(const char *target, const struct op_transport_tls *certs, char *ret,
		  size_t cap)
{
	_cleanup_free_ char *host = NULL;
	_cleanup_close_ int fd = -1;
	const char *port = NULL;
	bool found = false;
	SSL *tls;

	if (split_target(target, &host, &port) < 0)
		return false;
	fd = connect_to(host, port);
	tls = fd < 0 ? NULL : make_tls(host, certs, fd);
	if (tls)
		found = explain(tls, host, certs->ca_file, ret, cap);
	SSL_free(tls);
	ERR_clear_error();
	return found;
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
