/* SPDX-License-Identifier: Apache-2.0 */
/* TLS and mutual TLS, with certificates made for this run. */
#include <fcntl.h>

#include "rig.h"
#include "tools.h"

static void test_make_certificates(void)
{
	if (tools_try("%s . >log 2>&1", getenv("OTELPROF_TEST_CERTS")) != 0) {
		(void)tools_try("cat log >&2");
		SKIP("openssl cannot make certificates");
	}
}

/* Which transport a test is of; the receiver speaks both. */
static bool http;

static void add(struct rig *g)
{
	if (http)
		rig_add_http(g);
	else
		rig_add_grpc(g);
}

static void set_client(struct rig *g, const char *name)
{
	static char key[128];
	static char cert[128];

	(void)snprintf(cert, sizeof(cert), "%s/%s.pem", tools_dir, name);
	(void)snprintf(key, sizeof(key), "%s/%s.key", tools_dir, name);
	g->config.client_cert_file = cert;
	g->config.client_key_file = key;
}

/* What the last deliver() logged. */
static struct rig last;

/* One request to a server; the rig is up until undeliver(). */
static void deliver(struct server *s, const struct tls_files *server, const char *scheme,
		    const char *ca, const char *client)
{
	static const char *const steps[] = { "ok", NULL };

	*s = server_start(0, server, steps);
	rig_init(&last, scheme, "localhost", s->port);
	last.config.retry_initial_ms = 50;
	last.config.retry_elapsed_ms = 60000;
	last.config.timeout_ms = 2000;
	last.config.ca_file = ca ? tools_path(ca) : NULL;
	if (client)
		set_client(&last, client);
	add(&last);
	submit(&last, "abc", 7);
}

static void undeliver(struct server *s)
{
	rig_down(&last);
	server_stop(s);
}

static void check_taken(const struct tls_files *server, const char *scheme,
			const char *ca, const char *client)
{
	struct server s;

	deliver(&s, server, scheme, ca, client);
	CHECK_INT(flush(&last, 30000), 0);
	CHECK_INT(last.stats.samples_exported, 7);
	undeliver(&s);
}

/* It is not delivered, and the log says @word. */
static void check_fails(const struct tls_files *server, const char *scheme,
			const char *ca, const char *client, const char *word)
{
	struct server s;
	unsigned int i;

	deliver(&s, server, scheme, ca, client);
	for (i = 0; i < 300 && !said(&last, word); i++)
		CHECK_INT(flush(&last, 50), -ETIMEDOUT);
	if (!said(&last, word)) {
		for (i = 0; i < last.lines.len; i++)
			(void)fprintf(stderr, "it said: %s\n", last.lines.text[i]);
		TEST_FAIL("nothing says \"%s\" (%s)", word, http ? "http" : "grpc");
	}
	undeliver(&s);
}

/* Files that TLS cannot use are refused at once, with their names. */
static void check_refused(const char *ca, const char *cert, const char *key,
			  const char *word)
{
	struct op_log log = { 0 };
	struct otelprof_otlp_config c;
	struct op_exporters *x = NULL;

	CHECK_OK(op_exporters_new(&log, &x));
	otelprof_otlp_config_init(&c, sizeof(c));
	c.endpoint = "https://localhost:1";
	c.ca_file = ca;
	c.client_cert_file = cert;
	c.client_key_file = key;
	CHECK_INT(op_exporters_add_otlp(x, &c), -EINVAL);
	if (!strstr(log.message, word))
		TEST_FAIL("\"%s\" does not say %s", log.message, word);
	op_exporters_free(x);
	op_log_deinit(&log);
}

static void check_bad_files(void)
{
	tools_write("junk.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n"
				"-----END CERTIFICATE-----\n");
	check_refused(tools_path("junk.pem"), NULL, NULL, "junk.pem has no certificate");
	check_refused(tools_path("ca.key"), NULL, NULL, "ca.key has no certificate");
	check_refused(NULL, tools_path("client.pem"), tools_path("ca.pem"),
		      "ca.pem has no");
	check_refused(NULL, tools_path("client.pem"), tools_path("other.key"),
		      "other.key is not the key of the certificate");
	/* No terminal is asked for the pass phrase. */
	check_refused(NULL, tools_path("client.pem"), tools_path("locked.key"),
		      "unencrypted key");
}

static struct tls_files files_of(const char *name, const char *client_ca)
{
	char pem[64];
	char key[64];

	(void)snprintf(pem, sizeof(pem), "%s.pem", name);
	(void)snprintf(key, sizeof(key), "%s.key", name);
	return (struct tls_files){ tools_path(pem), tools_path(key),
				   client_ca ? tools_path(client_ca) : NULL };
}

static void check_transport(void)
{
	struct tls_files good = files_of("server", NULL);
	struct tls_files mutual = files_of("server", "ca.pem");
	struct tls_files expired = files_of("expired", NULL);
	struct tls_files misnamed = files_of("misnamed", NULL);

	check_taken(&good, "https://", "ca.pem", NULL);
	check_taken(&mutual, "https://", "ca.pem", "client");
	/* Nobody we know signed it; the system's roots neither. */
	check_fails(&good, "https://", "other.pem", NULL,
		    "the server's certificate is not signed by an authority");
	check_fails(&good, "https://", NULL, NULL,
		    "the server's certificate is not signed by an authority");
	/* grpc does not say whether it is that or the date. */
	check_fails(&expired, "https://", "ca.pem", NULL,
		    http ? "the server's certificate has expired" : "or is out of date");
	check_fails(&misnamed, "https://", "ca.pem", NULL,
		    "the server's certificate is not for this name");
	/* The server wants to know who we are. */
	check_fails(&mutual, "https://", "ca.pem", NULL, "a client certificate");
	check_fails(&mutual, "https://", "ca.pem", "late", "late.pem was valid until");
	/* One side speaks TLS and the other does not. */
	check_fails(&good, "http://", NULL, NULL, "trying again");
	check_fails(NULL, "https://", "ca.pem", NULL, "does not speak TLS");
}

static void copy_file(const char *from, const char *to)
{
	TOOLS_RUN("cp %s %s.new && mv %s.new %s", from, to, to, to);
}

/*
 * The authority of the clients changes: with new files, and no restart, it goes on. What is
 * there in between, the new certificate beside the old key, is not used.
 */
static void check_reload(void)
{
	static const char *const steps[] = { "ok", NULL };
	struct tls_files old = files_of("server", "ca.pem");
	struct tls_files fresh = files_of("server", "other.pem");
	struct server s = server_start(0, &old, steps);
	int port = s.port;
	struct rig g;

	copy_file("client.pem", "mine.pem");
	copy_file("client.key", "mine.key");
	rig_init(&g, "https://", "localhost", port);
	g.config.retry_elapsed_ms = 60000;
	g.config.timeout_ms = 2000;
	g.config.ca_file = tools_path("ca.pem");
	set_client(&g, "mine");
	add(&g);
	submit(&g, "abc", 1);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "body=abc");

	copy_file("stranger.pem", "mine.pem");
	submit(&g, "def", 2);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "body=def");
	CHECK(said(&g, "mine.key is not the key of the certificate"));
	CHECK(said(&g, "the certificates read before stay in use"));

	server_stop(&s);
	s = server_start(port, &fresh, steps);
	submit(&g, "ghi", 4);
	CHECK_INT(flush(&g, 500), -ETIMEDOUT);
	copy_file("stranger.key", "mine.key");
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "body=ghi");
	CHECK(said(&g, "the certificates were read again"));
	CHECK_INT(g.stats.samples_exported, 7);
	rig_down(&g);
	server_stop(&s);
}

static void test_grpc(void)
{
	struct tls_files good = files_of("server", NULL);

	http = false;
	/* Without a scheme: TLS. */
	check_taken(&good, "", "ca.pem", NULL);
	check_transport();
	check_bad_files();
}

static void test_http(void)
{
	if (!getenv("OTELPROF_TEST_HTTP"))
		return;
	http = true;
	check_transport();
}

static void test_certificates_are_read_again(void)
{
	http = false;
	check_reload();
	if (!getenv("OTELPROF_TEST_HTTP"))
		return;
	http = true;
	check_reload();
}

static void test_an_answer_is_told_as_it_is(void)
{
	static const char *const steps[] = { "status:14:away", "status:14:away", "ok",
					     NULL };
	struct tls_files good = files_of("server", NULL);
	struct server s = server_start(0, &good, steps);
	struct rig g;
	int i;

	rig_init(&g, "https://", "localhost", s.port);
	g.config.retry_initial_ms = 50;
	g.config.retry_elapsed_ms = 60000;
	g.config.timeout_ms = 2000;
	g.config.ca_file = tools_path("ca.pem");
	rig_add_grpc(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 30000), 0);
	for (i = 0; i < 3; i++)
		check_line(&s, "connections=1 ");
	CHECK(said(&g, "UNAVAILABLE: away; trying again"));
	rig_down(&g);
	server_stop(&s);
}

/* grpc's own words about a handshake that fails do not reach the host's stderr. */
static void test_nothing_on_stderr(void)
{
	struct tls_files good = files_of("server", NULL);
	int kept = dup(STDERR_FILENO);
	int file =
		open(tools_path("stderr"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(kept >= 0 && file >= 0 && !getenv("GRPC_VERBOSITY"));
	CHECK(dup2(file, STDERR_FILENO) == STDERR_FILENO);
	http = false;
	check_fails(&good, "https://", "other.pem", NULL, "is not signed by");
	CHECK(dup2(kept, STDERR_FILENO) == STDERR_FILENO);
	CHECK_INT(lseek(file, 0, SEEK_END), 0);
	(void)close(kept);
	(void)close(file);
}

TEST_MAIN({ "make_certificates", test_make_certificates }, { "grpc", test_grpc },
	  { "http", test_http },
	  { "an_answer_is_told_as_it_is", test_an_answer_is_told_as_it_is },
	  { "nothing_on_stderr", test_nothing_on_stderr },
	  { "certificates_are_read_again", test_certificates_are_read_again })
