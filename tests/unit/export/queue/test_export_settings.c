/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints, headers and OTEL_EXPORTER_OTLP_*: what wins, and what is refused how. */
#include "test.h"

#include <unistd.h>

#include "base/macros.h"
#include "export/queue/export_settings.h"
#include "export/spill/spill_file.h"

static struct op_log log_;

static void clear_env(void)
{
	static const char *const names[] = {
		"ENDPOINT",    "HEADERS",    "COMPRESSION",	   "TIMEOUT",
		"CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE", "INSECURE",
		"PROTOCOL"
	};
	char name[64];
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++) {
		(void)snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s", names[i]);
		CHECK(!unsetenv(name));
		(void)snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_PROFILES_%s",
			       names[i]);
		CHECK(!unsetenv(name));
	}
}

#define GENERAL(name, value) CHECK(!setenv("OTEL_EXPORTER_OTLP_" name, value, 1))
#define SPECIFIC(name, value)                                                            \
	CHECK(!setenv("OTEL_EXPORTER_OTLP_PROFILES_" name, value, 1))

static struct otelprof_otlp_config empty(void)
{
	struct otelprof_otlp_config c;

	otelprof_otlp_config_init(&c, sizeof(c));
	return c;
}

/* Settings of the environment alone; deinit is the caller's. */
static struct op_export_settings from_env(void)
{
	struct otelprof_otlp_config c = empty();
	struct op_export_settings s;

	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	return s;
}

static void check_refused(const struct otelprof_otlp_config *c, int code,
			  const char *word)
{
	struct op_export_settings s;

	CHECK_INT(op_export_settings_init(&s, c, &log_), code);
	if (!strstr(log_.message, word))
		TEST_FAIL("\"%s\" does not name %s", log_.message, word);
}

static void check_endpoint(const char *text, bool insecure, const char *target, bool tls)
{
	struct op_endpoint e;

	CHECK_OK(op_endpoint_parse(text, insecure, "x", &log_, &e));
	CHECK_STR(e.target, target);
	CHECK_INT(e.tls, tls);
	op_endpoint_deinit(&e);
}

static void test_endpoints_are_read(void)
{
	struct op_endpoint e;

	check_endpoint("http://localhost:4317", false, "localhost:4317", false);
	check_endpoint("https://localhost:4317", true, "localhost:4317", true);
	check_endpoint("HTTPS://a.example", true, "a.example:4317", true);
	check_endpoint("http://a.example", false, "a.example:4317", false);
	check_endpoint("a.example:1", false, "a.example:1", true);
	check_endpoint("a.example:65535", true, "a.example:65535", false);
	check_endpoint("https://[::1]:99", false, "[::1]:99", true);
	check_endpoint("[fe80::1%eth0]", true, "[fe80::1%eth0]:4317", false);
	check_endpoint("http://10.0.0.1:4317/", false, "10.0.0.1:4317", false);
	CHECK_OK(op_endpoint_parse("http://h:1/v1/x?y", false, "x", &log_, &e));
	CHECK_STR(e.target, "h:1");
	CHECK(e.has_path);
	op_endpoint_deinit(&e);
	CHECK_OK(op_endpoint_parse("http://h:1/", false, "x", &log_, &e));
	CHECK(!e.has_path);
	op_endpoint_deinit(&e);
}

static void test_sockets_are_read(void)
{
	struct op_endpoint e;
	char text[140];

	CHECK_OK(op_endpoint_parse("unix:///run/c.sock", false, "x", &log_, &e));
	CHECK_STR(e.target, "unix:/run/c.sock");
	CHECK_STR(e.socket, "/run/c.sock");
	CHECK(!e.tls && !e.has_path && !e.url);
	op_endpoint_deinit(&e);
	CHECK_OK(op_endpoint_parse_http("unix:///run/c.sock", false, "x", &log_, &e));
	CHECK_STR(e.socket, "/run/c.sock");
	CHECK_STR(e.url, "http://localhost/v1development/profiles");
	CHECK(!e.tls);
	op_endpoint_deinit(&e);
	/* as long as the kernel takes, and a byte more */
	(void)snprintf(text, sizeof(text), "unix:///%0106d", 1);
	CHECK_OK(op_endpoint_parse(text, false, "x", &log_, &e));
	op_endpoint_deinit(&e);
	(void)snprintf(text, sizeof(text), "unix:///%0107d", 1);
	CHECK_INT(op_endpoint_parse(text, false, "x", &log_, &e), -EINVAL);
}

/* What may be a password or a key is in no sentence. */
static void test_secrets_are_not_quoted(void)
{
	static const char *const texts[] = {
		"grpc://user:SECRET@ingest:443",
		"htps://u:SECRET@h",
		"http://u:SECRET@h:1",
		"https://h:x/p?k=SECRET",
		"ftp://h/SECRET",
		"https://h:1/p?k=SECRET",
		"https://h:1/SECRET here",
	};
	struct op_endpoint e;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CHECK_INT(op_endpoint_parse_http(texts[i], false, "x", &log_, &e),
			  -EINVAL);
		CHECK(!strstr(log_.message, "SECRET"));
		if (op_endpoint_parse(texts[i], false, "x", &log_, &e) == 0)
			op_endpoint_deinit(&e);
		else
			CHECK(!strstr(log_.message, "SECRET"));
	}
}

static void test_bad_endpoints_are_refused(void)
{
	static const char *const bad[] = {
		"",
		"http://",
		"ftp://h:1",
		"http://h:0",
		"http://h:65536",
		"http://h:",
		"http://h:1x",
		"http://u:p@h",
		"::1",
		"http://::1:4317",
		"[::1",
		"[]:1",
		"h h:1",
		"http://h:-1",
		"unix://x",
		"unix:///",
		"unix:///run/a%20b.sock",
		"unix:///run/a b.sock",
		"unix:///a#b",
		"unix:/x",
		"h%41:1",
		"[::1]4317",
		":4317",
		"htt://h",
		"h:99999999999999999999",
	};
	struct op_endpoint e;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(bad); i++) {
		if (op_endpoint_parse(bad[i], false, "THE_NAME", &log_, &e) != -EINVAL)
			TEST_FAIL("\"%s\" was taken", bad[i]);
		CHECK(!strncmp(log_.message, "THE_NAME: ", 10));
	}
}

static void test_defaults_are_the_header_s(void)
{
	struct op_export_settings s;

	clear_env();
	s = from_env();
	CHECK_STR(s.endpoint.target, "localhost:4317");
	CHECK(!s.endpoint.tls && !s.headers.len && !s.certs.files[OP_CERT_CA].pem);
	CHECK_INT(s.compression, OP_COMPRESSION_GZIP);
	CHECK_INT(s.timeout_ms, 10000);
	CHECK_INT(s.retry_initial_ms, 1000);
	CHECK_INT(s.retry_max_ms, 30000);
	CHECK_INT(s.retry_elapsed_ms, 300000);
	CHECK_INT(s.queue_bytes, 16777216);
	CHECK_INT(s.max_request, 4000000);
	CHECK(!s.spill_dir);
	CHECK_INT(s.spill_bytes, 268435456);
	op_export_settings_deinit(&s);
}

static void check_url(const char *text, bool whole, const char *url, const char *id)
{
	struct op_endpoint e;

	CHECK_OK(op_endpoint_parse_http(text, whole, "x", &log_, &e));
	CHECK_STR(e.url, url);
	CHECK_STR(e.id, id);
	op_endpoint_deinit(&e);
}

#define PATH "/v1development/profiles"

static void test_http_endpoints_are_read(void)
{
	check_url("http://h:4318", false, "http://h:4318" PATH, "http://h:4318" PATH);
	check_url("http://h:4318/", false, "http://h:4318" PATH, "http://h:4318" PATH);
	check_url("https://h/a/b//", false, "https://h:443/a/b" PATH,
		  "http://h:443/a/b" PATH);
	check_url("http://h" PATH, false, "http://h:80" PATH, "http://h:80" PATH);
	check_url("http://[::1]:1/x", false, "http://[::1]:1/x" PATH,
		  "http://[::1]:1/x" PATH);
	/* Used as it is. */
	check_url("https://h:1/take?tenant=a", true, "https://h:1/take?tenant=a",
		  "http://h:1/take?tenant=a");
	check_url("http://h:1", true, "http://h:1/", "http://h:1/");
}

static void test_bad_http_endpoints_are_refused(void)
{
	static const char *const bad[] = {
		"",
		"h:4318",
		"ftp://h",
		"http://",
		"http://u:p@h/",
		"http://h/ ",
		"http://h/?a=b",
		"http://h/#x",
		"http://h:0/",
		"http://h/\n",
	};
	struct op_endpoint e;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(bad); i++) {
		if (op_endpoint_parse_http(bad[i], false, "NAME", &log_, &e) != -EINVAL)
			TEST_FAIL("\"%s\" was taken", bad[i]);
		CHECK(!strncmp(log_.message, "NAME: ", 6));
	}
}

/* The general variable is a base, the one of the signal a whole URL. */
static void test_http_variables_follow_the_specification(void)
{
	struct otelprof_otlp_config c = empty();
	struct op_export_settings s;

	c.protocol = OTELPROF_PROTOCOL_HTTP;
	clear_env();
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_STR(s.endpoint.url, "http://localhost:4318" PATH);
	op_export_settings_deinit(&s);
	GENERAL("ENDPOINT", "https://general/base");
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_STR(s.endpoint.url, "https://general:443/base" PATH);
	CHECK(s.endpoint.tls);
	op_export_settings_deinit(&s);
	SPECIFIC("ENDPOINT", "http://specific:1/mine");
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_STR(s.endpoint.url, "http://specific:1/mine");
	op_export_settings_deinit(&s);
	c.endpoint = "http://field";
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_STR(s.endpoint.url, "http://field:80" PATH);
	op_export_settings_deinit(&s);
	clear_env();
}

static void test_spill_settings_are_read(void)
{
	struct otelprof_otlp_config c = empty();
	struct op_export_settings s;

	clear_env();
	c.spill_dir = "/x";
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_STR(s.spill_dir, "/x");
	/* Files wait without end. */
	CHECK_INT(s.retry_elapsed_ms, 0);
	op_export_settings_deinit(&s);
	c.retry_elapsed_ms = 7;
	c.spill_bytes = 5000000;
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_INT(s.retry_elapsed_ms, 7);
	CHECK_INT(s.spill_bytes, 5000000);
	op_export_settings_deinit(&s);
	/* a default follows what is given */
	c.spill_bytes = 1 << 20;
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_INT(s.max_request, (1 << 20) - OP_SPILL_HEADER_BYTES);
	op_export_settings_deinit(&s);
	c.max_request_bytes = 1 << 20;
	check_refused(&c, -EINVAL, "spill_bytes");
	c.max_request_bytes = 0;
	c.spill_bytes = 65536;
	check_refused(&c, -EINVAL, "spill_bytes");
}

static void test_specific_wins_over_general(void)
{
	struct op_export_settings s;

	clear_env();
	GENERAL("ENDPOINT", "http://general:1");
	GENERAL("TIMEOUT", "11");
	GENERAL("COMPRESSION", "none");
	GENERAL("HEADERS", "a=general");
	s = from_env();
	CHECK_STR(s.endpoint.target, "general:1");
	CHECK_INT(s.timeout_ms, 11);
	CHECK_INT(s.compression, OP_COMPRESSION_NONE);
	CHECK_STR(s.headers.data[0].value, "general");
	op_export_settings_deinit(&s);
	SPECIFIC("ENDPOINT", "https://specific:2");
	SPECIFIC("TIMEOUT", "22");
	SPECIFIC("COMPRESSION", "gzip");
	SPECIFIC("HEADERS", "a=specific");
	s = from_env();
	CHECK_STR(s.endpoint.target, "specific:2");
	CHECK(s.endpoint.tls);
	CHECK_INT(s.compression, OP_COMPRESSION_GZIP);
	CHECK_INT(s.timeout_ms, 22);
	CHECK_INT(s.headers.len, 1);
	CHECK_STR(s.headers.data[0].value, "specific");
	op_export_settings_deinit(&s);
	/* Empty is unset. */
	SPECIFIC("ENDPOINT", "");
	SPECIFIC("TIMEOUT", "");
	s = from_env();
	CHECK_STR(s.endpoint.target, "general:1");
	CHECK_INT(s.timeout_ms, 11);
	op_export_settings_deinit(&s);
}

static void test_config_wins_over_environment(void)
{
	const struct otelprof_attribute header = { "Key", "value" };
	struct otelprof_otlp_config c = empty();
	struct op_export_settings s;

	clear_env();
	SPECIFIC("ENDPOINT", "https://env:1");
	SPECIFIC("TIMEOUT", "bad, and not looked at");
	SPECIFIC("COMPRESSION", "bad, and not looked at");
	SPECIFIC("HEADERS", "a=env");
	c.endpoint = "config:2";
	c.insecure = 1;
	c.timeout_ms = 5;
	c.compression = OTELPROF_COMPRESSION_NONE;
	c.headers = &header;
	c.headers_len = 1;
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_STR(s.endpoint.target, "config:2");
	CHECK(!s.endpoint.tls);
	CHECK_INT(s.compression, OP_COMPRESSION_NONE);
	CHECK_INT(s.timeout_ms, 5);
	CHECK_INT(s.headers.len, 1);
	CHECK_STR(s.headers.data[0].key, "key");
	CHECK_STR(s.headers.data[0].value, "value");
	op_export_settings_deinit(&s);
}

static void test_insecure_is_for_no_scheme(void)
{
	struct op_export_settings s;

	clear_env();
	SPECIFIC("ENDPOINT", "h:1");
	s = from_env();
	CHECK(s.endpoint.tls);
	op_export_settings_deinit(&s);
	GENERAL("INSECURE", "TRUE");
	s = from_env();
	CHECK(!s.endpoint.tls);
	op_export_settings_deinit(&s);
	SPECIFIC("INSECURE", "false");
	s = from_env();
	CHECK(s.endpoint.tls);
	op_export_settings_deinit(&s);
	GENERAL("INSECURE", "true");
	SPECIFIC("INSECURE", "");
	SPECIFIC("ENDPOINT", "https://h:1");
	s = from_env();
	CHECK(s.endpoint.tls);
	op_export_settings_deinit(&s);
}

/* Warnings that a variable is ignored. */
static unsigned int ignored;
static char ignored_last[256];

static void on_ignored(void *userdata, int level, const char *message)
{
	(void)userdata;
	if (level != OP_LOG_WARNING || !strstr(message, "it is ignored"))
		return;
	ignored++;
	(void)snprintf(ignored_last, sizeof(ignored_last), "%s", message);
}

/* Settings of the environment, of which one warning names @word. */
static struct op_export_settings with_warning(const char *word)
{
	const struct otelprof_otlp_config c = empty();
	struct op_log log = { .fn = on_ignored, .level = OP_LOG_WARNING };
	struct op_export_settings s;

	ignored = 0;
	CHECK_OK(op_export_settings_init(&s, &c, &log));
	CHECK_INT(ignored, 1);
	if (!strstr(ignored_last, word))
		TEST_FAIL("\"%s\" does not name %s", ignored_last, word);
	return s;
}

/* The specification: what is not understood is warned of, and counts as unset. */
static void test_bad_variables_are_ignored(void)
{
	static const char *const times[] = { "-1", "0", "10s", "99999999999999999999" };
	struct op_export_settings s;
	size_t i;

	clear_env();
	for (i = 0; i < OP_ARRAY_SIZE(times); i++) {
		SPECIFIC("TIMEOUT", times[i]);
		s = with_warning("OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT");
		CHECK_INT(s.timeout_ms, 10000);
		op_export_settings_deinit(&s);
	}
	/* what is unset lets the general variable in */
	GENERAL("TIMEOUT", "11");
	s = with_warning("OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT");
	CHECK_INT(s.timeout_ms, 11);
	op_export_settings_deinit(&s);
	clear_env();
	GENERAL("COMPRESSION", "snappy");
	s = with_warning("OTEL_EXPORTER_OTLP_COMPRESSION");
	CHECK_INT(s.compression, OP_COMPRESSION_GZIP);
	op_export_settings_deinit(&s);
	clear_env();
	GENERAL("INSECURE", "1");
	s = with_warning("OTEL_EXPORTER_OTLP_INSECURE");
	op_export_settings_deinit(&s);
	clear_env();
	GENERAL("ENDPOINT", "ftp://x");
	s = with_warning("OTEL_EXPORTER_OTLP_ENDPOINT");
	CHECK_STR(s.endpoint.target, "localhost:4317");
	op_export_settings_deinit(&s);
	clear_env();
	SPECIFIC("PROTOCOL", "http/json");
	GENERAL("PROTOCOL", "http/protobuf");
	s = with_warning("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL");
	CHECK_INT(s.protocol, OP_PROTOCOL_HTTP);
	op_export_settings_deinit(&s);
	clear_env();
	/* an entry that is wrong takes no other away */
	GENERAL("HEADERS", "content-type=x,authorization=Basic%20eA==");
	s = with_warning("OTEL_EXPORTER_OTLP_HEADERS");
	CHECK_INT(s.headers.len, 1);
	CHECK_STR(s.headers.data[0].value, "Basic eA==");
	op_export_settings_deinit(&s);
	clear_env();
}

/* Without its certificate an exporter would trust others, or be nobody. */
static void test_bad_certificates_are_refused(void)
{
	const struct otelprof_otlp_config c = empty();

	clear_env();
	GENERAL("ENDPOINT", "https://x");
	GENERAL("CERTIFICATE", "/nonexistent.pem");
	check_refused(&c, -ENOENT, "OTEL_EXPORTER_OTLP_CERTIFICATE");
	GENERAL("CERTIFICATE", "/etc/passwd");
	check_refused(&c, -EINVAL, "PEM");
	clear_env();
	GENERAL("CLIENT_KEY", "/x");
	check_refused(&c, -EINVAL, "OTEL_EXPORTER_OTLP_CLIENT_KEY");
	clear_env();
}

static void check_protocol(uint32_t field, enum op_protocol want)
{
	struct otelprof_otlp_config c = empty();
	struct op_export_settings s;

	c.protocol = field;
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_INT(s.protocol, want);
	op_export_settings_deinit(&s);
}

static void test_the_protocol(void)
{
	clear_env();
	check_protocol(OTELPROF_PROTOCOL_DEFAULT, OP_PROTOCOL_GRPC);
	check_protocol(OTELPROF_PROTOCOL_HTTP, OP_PROTOCOL_HTTP);
	GENERAL("PROTOCOL", "http/protobuf");
	check_protocol(OTELPROF_PROTOCOL_DEFAULT, OP_PROTOCOL_HTTP);
	check_protocol(OTELPROF_PROTOCOL_GRPC, OP_PROTOCOL_GRPC);
	SPECIFIC("PROTOCOL", "grpc");
	check_protocol(OTELPROF_PROTOCOL_DEFAULT, OP_PROTOCOL_GRPC);
	clear_env();
}

static unsigned int warnings;

static void count_warning(void *userdata, int level, const char *message)
{
	warnings += level == OP_LOG_WARNING && strstr(message, "without TLS") != NULL;
}

static unsigned int warnings_of(const char *endpoint)
{
	static const struct otelprof_attribute header = { "x-key", "secret" };
	struct op_log log = { .fn = count_warning, .level = OP_LOG_WARNING };
	struct otelprof_otlp_config c = empty();
	struct op_export_settings s;

	warnings = 0;
	c.endpoint = endpoint;
	c.headers = &header;
	c.headers_len = 1;
	CHECK_OK(op_export_settings_init(&s, &c, &log));
	op_export_settings_deinit(&s);
	op_log_deinit(&log);
	return warnings;
}

static void test_headers_without_tls_are_warned_of(void)
{
	clear_env();
	CHECK_INT(warnings_of("http://collector.example:4317"), 1);
	CHECK_INT(warnings_of("https://collector.example:4317"), 0);
	CHECK_INT(warnings_of("http://localhost:4317"), 0);
	CHECK_INT(warnings_of("http://127.0.0.1:4317"), 0);
	CHECK_INT(warnings_of("http://[::1]:4317"), 0);
}

static void check_limits(uint64_t queue, uint64_t request, uint64_t want_queue,
			 uint64_t want_request)
{
	struct otelprof_otlp_config c = empty();
	struct op_export_settings s;

	c.queue_bytes = queue;
	c.max_request_bytes = request;
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_INT(s.queue_bytes, want_queue);
	CHECK_INT(s.max_request, want_request);
	op_export_settings_deinit(&s);
}

static void test_a_request_fits_the_queue(void)
{
	struct otelprof_otlp_config c = empty();

	clear_env();
	check_limits(0, 0, 16 << 20, 4000000);
	check_limits(100000, 0, 100000, 100000);
	check_limits(0, 20 << 20, 20 << 20, 20 << 20);
	check_limits(100000, 100000, 100000, 100000);
	c.queue_bytes = 100000;
	c.max_request_bytes = 100001;
	check_refused(&c, -EINVAL, "queue_bytes");
	/* nothing would ever fit */
	c.max_request_bytes = 0;
	c.queue_bytes = 65535;
	check_refused(&c, -EINVAL, "queue_bytes");
	c.queue_bytes = 0;
	c.max_request_bytes = 65535;
	check_refused(&c, -EINVAL, "max_request_bytes");
	check_limits(65536, 65536, 65536, 65536);
}

/* grpc has no zstd: that is said at once, and not at the first request. */
static void test_zstd_needs_http(void)
{
	struct otelprof_otlp_config c = empty();
	struct op_export_settings s;

	clear_env();
	c.compression = OTELPROF_COMPRESSION_ZSTD;
	check_refused(&c, -EINVAL, "compression: gRPC does not support zstd");
	c.protocol = OTELPROF_PROTOCOL_HTTP;
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_INT(s.compression, OP_COMPRESSION_ZSTD);
	op_export_settings_deinit(&s);
	c = empty();
	SPECIFIC("COMPRESSION", "zstd");
	s = with_warning("OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION: gRPC");
	CHECK_INT(s.compression, OP_COMPRESSION_GZIP);
	op_export_settings_deinit(&s);
	SPECIFIC("PROTOCOL", "http/protobuf");
	CHECK_OK(op_export_settings_init(&s, &c, &log_));
	CHECK_INT(s.compression, OP_COMPRESSION_ZSTD);
	op_export_settings_deinit(&s);
	clear_env();
}

static void test_bad_fields_are_named(void)
{
	struct otelprof_otlp_config c;

	clear_env();
	c = empty();
	c.compression = OTELPROF_COMPRESSION_ZSTD + 1;
	check_refused(&c, -EINVAL, "compression");
	c = empty();
	c.insecure = 2;
	check_refused(&c, -EINVAL, "insecure");
	c = empty();
	c.max_request_bytes = (UINT64_C(64) << 20) + 1;
	check_refused(&c, -EINVAL, "max_request_bytes");
	c = empty();
	c.retry_initial_ms = 2;
	c.retry_max_ms = 1;
	check_refused(&c, -EINVAL, "retry_initial_ms");
	c = empty();
	c.client_cert_file = "/x";
	check_refused(&c, -EINVAL, "client_cert_file");
}

static void check_bad_headers(const char *text, const char *word)
{
	struct op_log log = { .fn = on_ignored, .level = OP_LOG_WARNING };
	struct op_headers h = { 0 };

	ignored = 0;
	CHECK_OK(op_headers_parse(&h, text, "THE_NAME", &log));
	if (ignored != 1)
		TEST_FAIL("\"%s\" was taken", text);
	CHECK(!strncmp(ignored_last, "THE_NAME: ", 10));
	if (!strstr(ignored_last, word))
		TEST_FAIL("\"%s\" does not say %s", ignored_last, word);
	CHECK(!strstr(ignored_last, "secret"));
	op_headers_deinit(&h);
}

static void test_headers_are_decoded(void)
{
	struct op_headers h = { 0 };

	CHECK_OK(op_headers_parse(
		&h, " Authorization = Basic%20c2VjcmV0%3D ,,x-b.c_d=1=2;p,e=", "x",
		&log_));
	CHECK_INT(h.len, 3);
	CHECK_STR(h.data[0].key, "authorization");
	CHECK_STR(h.data[0].value, "Basic c2VjcmV0=");
	CHECK_STR(h.data[1].key, "x-b.c_d");
	CHECK_STR(h.data[1].value, "1=2;p");
	CHECK_STR(h.data[2].key, "e");
	CHECK_STR(h.data[2].value, "");
	op_headers_deinit(&h);
}

static void test_bad_headers_are_refused(void)
{
	char many[OP_HEADERS_BYTES_MAX + 16];
	struct op_headers h = { 0 };
	int i;

	check_bad_headers("secret", "\"=\"");
	check_bad_headers("=secret", "name");
	check_bad_headers("a b=secret", "a b");
	check_bad_headers("a=secret%2", "escape");
	check_bad_headers("a=secret%zz", "escape");
	check_bad_headers("a=secret%00", "escape");
	check_bad_headers("a=secret%0a", "ASCII");
	check_bad_headers("a=secret%c3%a4", "ASCII");
	check_bad_headers("a-bin=secret", "binary");
	check_bad_headers("grpc-timeout=secret", "gRPC");
	check_bad_headers("Content-Type=secret", "gRPC");
	check_bad_headers(":path=secret", ":path");
	memset(many, 'v', sizeof(many));
	memcpy(many, "a=", 2);
	many[sizeof(many) - 1] = 0;
	check_bad_headers(many, "8192");
	for (i = 0; i < OP_HEADERS_MAX; i++)
		CHECK_OK(op_headers_add(&h, "a", "b", "x", &log_));
	CHECK_INT(op_headers_add(&h, "a", "b", "x", &log_), -EINVAL);
	CHECK_INT(h.len, OP_HEADERS_MAX);
	op_headers_deinit(&h);
	CHECK_INT(op_headers_add(&h, "a", NULL, "x", &log_), -EINVAL);
}

TEST_MAIN({ "endpoints_are_read", test_endpoints_are_read },
	  { "sockets_are_read", test_sockets_are_read },
	  { "bad_endpoints_are_refused", test_bad_endpoints_are_refused },
	  { "secrets_are_not_quoted", test_secrets_are_not_quoted },
	  { "defaults_are_the_header_s", test_defaults_are_the_header_s },
	  { "http_endpoints_are_read", test_http_endpoints_are_read },
	  { "bad_http_endpoints_are_refused", test_bad_http_endpoints_are_refused },
	  { "http_variables_follow_the_specification",
	    test_http_variables_follow_the_specification },
	  { "spill_settings_are_read", test_spill_settings_are_read },
	  { "specific_wins_over_general", test_specific_wins_over_general },
	  { "config_wins_over_environment", test_config_wins_over_environment },
	  { "insecure_is_for_no_scheme", test_insecure_is_for_no_scheme },
	  { "bad_variables_are_ignored", test_bad_variables_are_ignored },
	  { "bad_certificates_are_refused", test_bad_certificates_are_refused },
	  { "the_protocol", test_the_protocol },
	  { "headers_without_tls_are_warned_of", test_headers_without_tls_are_warned_of },
	  { "a_request_fits_the_queue", test_a_request_fits_the_queue },
	  { "zstd_needs_http", test_zstd_needs_http },
	  { "bad_fields_are_named", test_bad_fields_are_named },
	  { "headers_are_decoded", test_headers_are_decoded },
	  { "bad_headers_are_refused", test_bad_headers_are_refused })
