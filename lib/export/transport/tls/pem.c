/* SPDX-License-Identifier: Apache-2.0 */
/* Parses PEM texts with OpenSSL. */
#include "export/transport/tls/certs.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

/* Without this OpenSSL would ask for a pass phrase on the terminal. */
static int no_pass_phrase(char *buf, int size, int rwflag, void *userdata)
{
	return -1;
}

static X509 *read_certificate(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *x = NULL;

	if (bio)
		x = PEM_read_bio_X509(bio, NULL, no_pass_phrase, NULL);
	BIO_free(bio);
	/* OpenSSL's error queue is per thread, and so also the host program's. */
	ERR_clear_error();
	return x;
}

static EVP_PKEY *read_key(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = NULL;

	if (bio)
		key = PEM_read_bio_PrivateKey(bio, NULL, no_pass_phrase, NULL);
	BIO_free(bio);
	ERR_clear_error();
	return key;
}

bool op_pem_has_certificate(const char *pem)
{
	X509 *x = read_certificate(pem);

	X509_free(x);
	return x != NULL;
}

bool op_pem_has_key(const char *pem)
{
	EVP_PKEY *key = read_key(pem);

	EVP_PKEY_free(key);
	return key != NULL;
}

bool op_pem_expired(const char *pem, char *ret_date, size_t cap)
{
	X509 *x = read_certificate(pem);
	bool expired = x && X509_cmp_current_time(X509_get0_notAfter(x)) < 0;
	struct tm tm = { 0 };

	ret_date[0] = 0;
	if (expired && ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm))
		(void)strftime(ret_date, cap, "%Y-%m-%d %H:%M UTC", &tm);
	X509_free(x);
	ERR_clear_error();
	return expired;
}

bool op_pem_match(const char *cert_pem, const char *key_pem)
{
	X509 *x = read_certificate(cert_pem);
	EVP_PKEY *key = read_key(key_pem);
	bool match = x && key && X509_check_private_key(x, key) == 1;

	ERR_clear_error();
	EVP_PKEY_free(key);
	X509_free(x);
	return match;
}
