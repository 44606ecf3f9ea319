/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PEM files of one exporter. They are read and checked when it is made, and again
 * when they change on disk, because certificates are renewed. If the new set cannot be
 * used, such as a new certificate with the old key, the previous set stays in use.
 */
#ifndef OP_EXPORT_TRANSPORT_TLS_CERTS_H
#define OP_EXPORT_TRANSPORT_TLS_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/log.h"
#include "export/sink/notes.h"
#include "export/transport/transport.h"
#include "otelprof/export.h"

enum op_cert_kind {
	OP_CERT_CA,
	OP_CERT_CLIENT,
	OP_CERT_KEY,
	OP_CERT_KINDS,
};

/* Identifies the state of a file. */
struct op_cert_stamp {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	struct timespec changed;
	struct timespec modified;
};

struct op_cert_file {
	char *path;	  /* NULL: not given */
	const char *from; /* name of the member or variable; static */
	char *pem;	  /* contents */
	struct op_cert_stamp stamp;
};

struct op_certs {
	bool tls; /* otherwise none of this is used */
	struct op_cert_file files[OP_CERT_KINDS];
	/* the state for which a refusal was logged */
	struct op_cert_stamp refused[OP_CERT_KINDS];
};

/* Read the files that @config or the environment names, each in a thread of its own,
 * for which it waits as op_sink_thread_call() does. Returns 0; -EINVAL, -ETIMEDOUT or
 * the errno of a file, with a sentence that names it; or -ENOMEM. */
int op_certs_init(struct op_certs *c, const struct otelprof_otlp_config *config, bool tls,
		  const char *target, struct op_log *log);
void op_certs_deinit(struct op_certs *c);

/* Read changed files again. Returns 1 if there are new contents, else 0. The reason why
 * new ones cannot be used is logged once. */
int op_certs_refresh(struct op_certs *c, struct op_notes *notes);

/* Borrows from @c until it changes. */
struct op_transport_tls op_certs_get(const struct op_certs *c);

/* Checks PEM texts early, because grpc reports problems only when a connection fails. */

/* Does @pem begin with a valid certificate? */
bool op_pem_has_certificate(const char *pem);
/* Does @pem have a private key without a pass phrase? */
bool op_pem_has_key(const char *pem);
/* Has the first certificate expired? If so, *@ret_date is the end of its validity. */
bool op_pem_expired(const char *pem, char *ret_date, size_t cap);
/* Does @key_pem belong to the first certificate of @cert_pem? */
bool op_pem_match(const char *cert_pem, const char *key_pem);

#endif
