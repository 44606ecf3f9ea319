/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PEM files of one exporter: read and checked when it is made, and again when they
 * change on disk, as they do where something renews certificates. A set that cannot be used,
 * such as a new certificate beside the old key, leaves the one before in use.
 */
#ifndef OP_TRANSPORT_TLS_CERTS_H
#define OP_TRANSPORT_TLS_CERTS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/log.h"
#include "export/notes.h"
#include "otelprof/export.h"
#include "transport/transport.h"

enum op_cert_kind {
	OP_CERT_CA,
	OP_CERT_CLIENT,
	OP_CERT_KEY,
	OP_CERT_KINDS,
};

/* Tells two states of a file apart. */
struct op_cert_stamp {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	struct timespec changed;
	struct timespec modified;
};

struct op_cert_file {
	char *path;	  /* NULL: not given */
	const char *from; /* name of the field or variable; static */
	char *pem;	  /* contents */
	struct op_cert_stamp stamp;
};

struct op_certs {
	bool tls; /* else nothing here is used */
	struct op_cert_file files[OP_CERT_KINDS];
	struct op_cert_stamp refused[OP_CERT_KINDS]; /* said so of this state */
};

/*
 * Read what @config or the environment names. Returns 0; -EINVAL or the errno of a file,
 * with its name; -ENOMEM.
 */
int op_certs_init(struct op_certs *c, const struct otelprof_otlp_config *config, bool tls,
		  const char *target, struct op_log *log);
void op_certs_deinit(struct op_certs *c);

/*
 * Read again what has changed. Returns 1 where there are new contents, else 0; why new ones
 * are not used is noted once.
 */
int op_certs_refresh(struct op_certs *c, struct op_notes *notes);

/* Borrows from @c until it changes. */
struct op_transport_tls op_certs_get(const struct op_certs *c);

#endif
