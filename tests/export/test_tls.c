/* SPDX-License-Identifier: Apache-2.0 */
/* TLS and mutual TLS, with certificates made for this run. */
#include "test.h"

#include <unistd.h>

#include "export/exporter.h"
#include "process.h"

static char dir[] = "/tmp/otelprof-tls-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[16][128];
	static unsigned int next;
	char *p = path[next++ % 16];

	(void)snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static void make_certificates(void)
{
	char command[512];

	CHECK(mkdtemp(dir));
	(void)snprintf(command, sizeof(command), "%s %s >%s/log 2>&1",
		       getenv("OTELPROF_TEST_CERTS"), dir, dir);
	if (system(command) != 0)
		SKIP("openssl cannot make certificates: see %s/log", dir);
}

static void remove_certificates(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
}

static char last_line[512];

static void keep_line(void *userdata, int level, const char *message)
{
	if (level <= OP_LOG_WARNING && strstr(message, "trying again"))
		(void)snprintf(last_line, sizeof(last_line), "%s", message);
}

/*
 * Deliver one request. @ca, @client: names of files or NULL. Returns true where it was
 * exported; where it was not, it was given up.
 */
static bool deliver(const struct tls_files *server, const char *scheme, const char *ca,
		    const char *client)
{
	static const char *const steps[] = { "ok", NULL };
	struct server s = server_start(0, server, steps);
	struct op_log log = { .fn = keep_line, .level = OP_LOG_WARNING };
	struct otelprof_grpc_config c;
	struct op_exporters_stats st;
	struct op_exporters *x = NULL;
	char endpoint[64];
	char key[64];
	char cert[64];

	last_line[0] = 0;
	CHECK_OK(op_exporters_new(&log, &x));
	otelprof_grpc_config_init(&c);
	(void)snprintf(endpoint, sizeof(endpoint), "%slocalhost:%d", scheme, s.port);
	c.endpoint = endpoint;
	c.retry_initial_ms = 50;
	c.retry_elapsed_ms = 500;
	c.timeout_ms = 2000;
	c.ca_file = ca ? in_dir(ca) : NULL;
	if (client) {
		(void)snprintf(cert, sizeof(cert), "%s/%s.pem", dir, client);
		(void)snprintf(key, sizeof(key), "%s/%s.key", dir, client);
		c.client_cert_file = cert;
		c.client_key_file = key;
	}
	CHECK_OK(op_exporters_add_grpc(x, &c));
	CHECK_OK(op_exporters_submit(x, strdup("abc"), 3, 7));
	CHECK_INT(op_exporters_flush(x, 30000), 0);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_exported + st.samples_dropped[OTELPROF_DROP_GIVEN_UP], 7);
	CHECK_INT(st.samples_pending, 0);
	op_exporters_free(x);
	op_log_deinit(&log);
	server_stop(&s);
	return st.samples_exported == 7;
}

/* Files that TLS cannot use are refused at once, with their names. */
static void check_refused(const char *ca, const char *cert, const char *key,
			  const char *word)
{
	struct op_log log = { 0 };
	struct otelprof_grpc_config c;
	struct op_exporters *x = NULL;

	CHECK_OK(op_exporters_new(&log, &x));
	otelprof_grpc_config_init(&c);
	c.endpoint = "https://localhost:1";
	c.ca_file = ca;
	c.client_cert_file = cert;
	c.client_key_file = key;
	CHECK_INT(op_exporters_add_grpc(x, &c), -EINVAL);
	if (!strstr(log.message, word))
		TEST_FAIL("\"%s\" does not say %s", log.message, word);
	op_exporters_free(x);
	op_log_deinit(&log);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static void check_bad_files(void)
{
	write_file(in_dir("junk.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n"
				       "-----END CERTIFICATE-----\n");
	check_refused(in_dir("junk.pem"), NULL, NULL, "junk.pem has no certificate");
	check_refused(in_dir("ca.key"), NULL, NULL, "ca.key has no certificate");
	check_refused(NULL, in_dir("client.pem"), in_dir("ca.pem"), "ca.pem has no");
	check_refused(NULL, in_dir("client.pem"), in_dir("other.key"),
		      "other.key is not the key of the certificate");
	/* No terminal is asked for the pass phrase. */
	check_refused(NULL, in_dir("client.pem"), in_dir("locked.key"),
		      "unencrypted key");
}

static void test_tls(void)
{
	struct tls_files good;
	struct tls_files mutual;
	struct tls_files expired;

	make_certificates();
	good = (struct tls_files){ in_dir("server.pem"), in_dir("server.key"), NULL };
	mutual = (struct tls_files){ good.cert, good.key, in_dir("ca.pem") };
	expired =
		(struct tls_files){ in_dir("expired.pem"), in_dir("expired.key"), NULL };

	CHECK(deliver(&good, "https://", "ca.pem", NULL));
	/* Without a scheme: TLS. */
	CHECK(deliver(&good, "", "ca.pem", NULL));
	CHECK(deliver(&mutual, "https://", "ca.pem", "client"));
	/* Nobody we know signed it; the system's roots neither. */
	CHECK(!deliver(&good, "https://", "other.pem", NULL));
	CHECK(strstr(last_line, "certificate"));
	CHECK(!deliver(&good, "https://", NULL, NULL));
	CHECK(!deliver(&expired, "https://", "ca.pem", NULL));
	CHECK(strstr(last_line, "certificate"));
	/* The server wants to know who we are. */
	CHECK(!deliver(&mutual, "https://", "ca.pem", NULL));
	/* One side speaks TLS and the other does not. */
	CHECK(!deliver(&good, "http://", NULL, NULL));
	CHECK(!deliver(NULL, "https://", "ca.pem", NULL));
	check_bad_files();
	remove_certificates();
}

TEST_MAIN({ "tls", test_tls })
