/* SPDX-License-Identifier: Apache-2.0 */
/* Reads PEM files, and notices when they change. */
#include "export/transport/tls/certs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "export/sink/thread.h"
#include "export/transport/env.h"

enum {
	PEM_BYTES_MAX = 4 << 20,
	DATE_BYTES = 32,
};

static const struct {
	bool (*check)(const char *pem);
	const char *what;
} kinds[OP_CERT_KINDS] = {
	[OP_CERT_CA] = { op_pem_has_certificate, "certificate" },
	[OP_CERT_CLIENT] = { op_pem_has_certificate, "certificate" },
	[OP_CERT_KEY] = { op_pem_has_key, "unencrypted key" },
};

static void clear_pems(struct op_certs *c)
{
	size_t i;

	for (i = 0; i < OP_CERT_KINDS; i++)
		op_wipep(&c->files[i].pem);
}

static int read_stamp(const char *path, struct op_cert_stamp *ret)
{
	struct stat st;

	/* Links are followed: a mounted secret is replaced by changing a link. */
	if (stat(path, &st) < 0)
		return -errno;
	memset(ret, 0, sizeof(*ret));
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	ret->size = (uint64_t)st.st_size;
	ret->changed = st.st_ctim;
	ret->modified = st.st_mtim;
	return 0;
}

/* A file to read, in this thread or in one of its own. */
struct reading {
	char *path;
	struct op_cert_stamp stamp;
	char *text;
	ssize_t len; /* or -errno */
};

static void read_now(void *arg)
{
	struct reading *reading = arg;
	int r;

	/* Take the stamp first, so that a file that changes after it is read again. */
	r = read_stamp(reading->path, &reading->stamp);
	reading->len =
		r < 0 ? r : op_read_file(reading->path, PEM_BYTES_MAX, &reading->text);
}

static void free_reading(void *arg)
{
	struct reading *r = arg;

	if (r->text)
		explicit_bzero(r->text, (size_t)r->len);
	free(r->text);
	free(r->path);
	free(r);
}

/* Like read_now(), in this thread or, because its disk may not answer, in another one. */
static int read_bounded(void *arg)
{
	return op_sink_thread_call(read_now, free_reading, arg);
}

static int read_here(void *arg)
{
	read_now(arg);
	return 0;
}

/* Keep the contents of the file if they are valid. */
static int keep(struct op_cert_file *f, enum op_cert_kind kind, struct reading *r,
		struct op_log *log)
{
	if (r->len < 0)
		return op_fail(log, (int)r->len, "%s: cannot read %s: %s", f->from,
			       f->path, strerror((int)-r->len));
	if (!kinds[kind].check(r->text))
		return op_fail(log, -EINVAL,
			       "%s: %s has no %s in PEM form that can be read", f->from,
			       f->path, kinds[kind].what);
	f->stamp = r->stamp;
	f->pem = OP_TAKE_PTR(r->text);
	return 0;
}

static int read_file(struct op_cert_file *f, enum op_cert_kind kind,
		     int (*read)(void *reading), struct op_log *log)
{
	struct reading *r;
	int err;

	if (!f->path)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->path = strdup(f->path);
	err = r->path ? read(r) : -ENOMEM;
	/* the thread owns it */
	if (err == -ETIMEDOUT)
		return op_fail(log, err, "%s: cannot read %s: its disk does not answer",
			       f->from, f->path);
	if (err == 0)
		err = keep(f, kind, r, log);
	free_reading(r);
	return err;
}

static int read_all(struct op_certs *c, int (*read)(void *reading), struct op_log *log)
{
	const struct op_cert_file *cert = &c->files[OP_CERT_CLIENT];
	const struct op_cert_file *key = &c->files[OP_CERT_KEY];
	enum op_cert_kind i;
	int r;

	for (i = 0; i < OP_CERT_KINDS; i++) {
		r = read_file(&c->files[i], i, read, log);
		if (r < 0)
			return r;
	}
	if (cert->pem && !op_pem_match(cert->pem, key->pem))
		return op_fail(log, -EINVAL,
			       "%s: %s is not the key of the certificate %s", key->from,
			       key->path, cert->path);
	return 0;
}

static int name_files(struct op_certs *c, const struct otelprof_otlp_config *config)
{
	const struct op_env_value values[OP_CERT_KINDS] = {
		[OP_CERT_CA] = op_env_or(config->ca_file, "ca_file", OP_ENV_CERTIFICATE),
		[OP_CERT_CLIENT] = op_env_or(config->client_cert_file, "client_cert_file",
					     OP_ENV_CLIENT_CERTIFICATE),
		[OP_CERT_KEY] = op_env_or(config->client_key_file, "client_key_file",
					  OP_ENV_CLIENT_KEY),
	};
	size_t i;

	for (i = 0; i < OP_CERT_KINDS; i++) {
		c->files[i].from = values[i].from;
		if (!values[i].text)
			continue;
		c->files[i].path = strdup(values[i].text);
		if (!c->files[i].path)
			return -ENOMEM;
	}
	return 0;
}

/* Is the client certificate out of date? The server has to refuse it. The library only
 * warns. */
static bool out_of_date(const struct op_certs *c, char *ret_date, size_t cap)
{
	const char *pem = c->files[OP_CERT_CLIENT].pem;

	return pem && op_pem_expired(pem, ret_date, cap);
}

static int load(struct op_certs *c, const char *target, struct op_log *log)
{
	const struct op_cert_file *f = c->files;
	char date[DATE_BYTES];
	int r;

	if (!f[OP_CERT_CLIENT].path != !f[OP_CERT_KEY].path) {
		bool cert = f[OP_CERT_CLIENT].path;

		return op_fail(log, -EINVAL, "%s: the %s for it is not given",
			       f[cert ? OP_CERT_CLIENT : OP_CERT_KEY].from,
			       cert ? "client key" : "client certificate");
	}
	if (!c->tls) {
		if (f[OP_CERT_CA].path || f[OP_CERT_CLIENT].path)
			op_log(log, OP_LOG_WARNING,
			       "%s: %s is reached without TLS, so the certificates are "
			       "not used",
			       f[f[OP_CERT_CA].path ? OP_CERT_CA : OP_CERT_CLIENT].from,
			       target);
		return 0;
	}
	r = read_all(c, read_bounded, log);
	if (!r && out_of_date(c, date, sizeof(date)))
		op_log(log, OP_LOG_WARNING,
		       "%s: %s was valid until %s: servers will refuse it; put a new one in "
		       "its place",
		       f[OP_CERT_CLIENT].from, f[OP_CERT_CLIENT].path, date);
	return r;
}

int op_certs_init(struct op_certs *c, const struct otelprof_otlp_config *config, bool tls,
		  const char *target, struct op_log *log)
{
	struct op_certs made = { .tls = tls };
	int r;

	r = name_files(&made, config);
	if (!r)
		r = load(&made, target, log);
	if (r < 0) {
		op_certs_deinit(&made);
		return r;
	}
	*c = made;
	return 0;
}

void op_certs_deinit(struct op_certs *c)
{
	size_t i;

	clear_pems(c);
	for (i = 0; i < OP_CERT_KINDS; i++)
		op_freep(&c->files[i].path);
}

/* Does a file have another stamp than the one in use? @stamps gets the current stamps. */
static bool changed(const struct op_certs *c, struct op_cert_stamp stamps[OP_CERT_KINDS])
{
	bool any = false;
	size_t i;

	memset(stamps, 0, OP_CERT_KINDS * sizeof(*stamps));
	for (i = 0; i < OP_CERT_KINDS; i++) {
		if (!c->files[i].path)
			continue;
		/* A file that does not exist at the moment has a stamp of zeros. */
		(void)read_stamp(c->files[i].path, &stamps[i]);
		any |= memcmp(&stamps[i], &c->files[i].stamp, sizeof(stamps[i])) != 0;
	}
	return any;
}

int op_certs_refresh(struct op_certs *c, struct op_notes *notes)
{
	struct op_cert_stamp now[OP_CERT_KINDS];
	struct op_certs fresh = *c;
	struct op_log log = { 0 };
	char date[DATE_BYTES];
	size_t i;

	if (!c->tls || !changed(c, now) || !memcmp(now, c->refused, sizeof(now)))
		return 0;
	for (i = 0; i < OP_CERT_KINDS; i++)
		fresh.files[i].pem = NULL;
	/* in the sending thread, whose end is waited for with a limit */
	if (read_all(&fresh, read_here, &log) < 0) {
		clear_pems(&fresh);
		memcpy(c->refused, now, sizeof(now));
		op_notes_add(notes, OP_LOG_WARNING,
			     "export: %s; the certificates read before stay in use",
			     log.message[0] ? log.message : "no memory");
		op_log_deinit(&log);
		return 0;
	}
	clear_pems(c);
	*c = fresh;
	memset(c->refused, 0, sizeof(c->refused));
	op_notes_add(notes, OP_LOG_INFO, "export: the certificates were read again");
	if (out_of_date(c, date, sizeof(date)))
		op_notes_add(notes, OP_LOG_WARNING,
			     "export: %s: %s was valid until %s: servers will refuse it",
			     c->files[OP_CERT_CLIENT].from, c->files[OP_CERT_CLIENT].path,
			     date);
	return 1;
}

struct op_transport_tls op_certs_get(const struct op_certs *c)
{
	return (struct op_transport_tls){
		.ca_pem = c->files[OP_CERT_CA].pem,
		.client_cert_pem = c->files[OP_CERT_CLIENT].pem,
		.client_key_pem = c->files[OP_CERT_KEY].pem,
	};
}
