/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP exporter against a real server: every answer, accounted to the sample. */
#include "rig.h"

#include <signal.h>
#include <unistd.h>

#include "base/io.h"
#include "otelprof/error.h"

static void test_callback_alone_maps_no_curl(void)
{
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", 1);
	CHECK(!process_maps("libcurl"));
	CHECK(!process_maps("otelprof-http"));
	rig_down(&g);
}

static void test_request_arrives_whole(void)
{
	const struct otelprof_attribute headers[] = { { "Authorization", "Bearer x y" },
						      { "x-test", "1" } };
	struct server s = start("ok", NULL, NULL, NULL);
	const char *line;
	struct rig g;

	rig_init(&g, "http://", "localhost", s.port);
	g.config.headers = headers;
	g.config.headers_len = 2;
	rig_add_http(&g);
	submit(&g, "hello profiles", 7);
	CHECK_INT(flush(&g, 20000), 0);
	line = server_line(&s);
	CHECK(strstr(line, "len=14 body=hello profiles gzip=1"));
	CHECK(strstr(line, "path=/v1development/profiles "));
	CHECK(strstr(line, "content-type=\"application/x-protobuf\""));
	CHECK(strstr(line, "authorization=\"Bearer x y\""));
	CHECK(strstr(line, "x-test=\"1\""));
	CHECK(strstr(line, "user-agent=\"OTel-OTLP-Exporter-C/"));
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK_INT(g.stats.requests_sent, 1);
	CHECK_INT(g.stats.bytes_sent, 14);
	CHECK_INT(g.lines.len, 0);
	CHECK(process_maps("libcurl"));
	CHECK(!process_maps("libgrpc"));
	CHECK_INT(count_threads_taking(SIGINT), 0);
	CHECK_INT(count_threads_taking(SIGTERM), 0);
	rig_down(&g);
	CHECK(threads_end(2000));
	server_stop(&s);
}

static void test_no_compression_as_asked(void)
{
	struct server s = start("ok", NULL, NULL, NULL);
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.compression = OTELPROF_COMPRESSION_NONE;
	rig_add_http(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "len=3 body=abc gzip=0");
	rig_down(&g);
	server_stop(&s);
}

/* One connection for all: its port is the same. */
static void test_connection_is_kept(void)
{
	struct server s = start("ok", NULL, NULL, NULL);
	char first[1024];
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add_http(&g);
	submit(&g, "abc", 1);
	CHECK_INT(flush(&g, 20000), 0);
	(void)snprintf(first, sizeof(first), "%s", strstr(server_line(&s), "from="));
	submit(&g, "def", 1);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, first);
	rig_down(&g);
	server_stop(&s);
}

static void test_a_large_request_does_not_wait(void)
{
	enum {
		LEN = 3900000
	};
	struct server s = start("ok", NULL, NULL, NULL);
	char *big = malloc(LEN);
	struct rig g;

	CHECK(big);
	memset(big, 'z', LEN);
	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.queue_bytes = 2 * LEN;
	rig_add_http(&g);
	CHECK_OK(op_exporters_submit(g.x, big, LEN, 7));
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "len=3900000 body=zzzzzzzzzzzzzzzz gzip=1");
	rig_down(&g);
	server_stop(&s);
}

static void test_retryable_statuses_are_tried_again(void)
{
	struct server s = start("status:429:slow", "page:502:<html>bad gateway</html>",
				"status:503:away", "ok");
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add_http(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "call status:429");
	check_line(&s, "call page:502");
	check_line(&s, "call status:503");
	check_line(&s, "call ok len=3 body=abc");
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK(said(&g, "HTTP 429: slow; trying again"));
	CHECK(said(&g, "answers again"));
	rig_down(&g);
	server_stop(&s);
}

static void test_retry_after_is_kept(void)
{
	struct server s = start("retry:503:1", "retry:429:1", "ok", NULL);
	uint64_t began;
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add_http(&g);
	began = op_clock_monotonic_ns();
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK(op_clock_monotonic_ns() - began >= UINT64_C(2000000000));
	CHECK_INT(g.stats.samples_exported, 7);
	rig_down(&g);
	server_stop(&s);
}

static void check_refused(const char *step, const char *word)
{
	struct server s = start(step, "ok", NULL, NULL);
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add_http(&g);
	submit(&g, "abc", 7);
	submit(&g, "def", 11);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "body=abc");
	check_line(&s, "call ok len=3 body=def");
	CHECK_INT(g.stats.samples_dropped[OTELPROF_DROP_REFUSED], 7);
	CHECK_INT(g.stats.samples_exported, 11);
	if (!said(&g, word))
		TEST_FAIL("the log does not say %s but %s", word,
			  g.lines.len ? g.lines.text[0] : "nothing");
	rig_down(&g);
	server_stop(&s);
}

static void test_refusals_are_dropped_and_explained(void)
{
	check_refused("status:400:proto: wrong wireType = 2 for field LinkIndex",
		      "0.148");
	check_refused("page:404:404 page not found", "service.profilesSupport");
	check_refused("status:401:who", "HTTP 401: who; see headers");
	check_refused("status:413:request body too large", "max_request_bytes");
	check_refused("status:500:oops", "HTTP 500: oops");
	check_refused("page:501:<h1>no\t</h1>", "HTTP 501: <h1>no </h1>");
	check_refused("redirect:308:https://elsewhere/",
		      "to https://elsewhere/; redirects");
	check_refused("big", "larger than 4 MiB");
}

static void test_partial_success_is_not_sent_again(void)
{
	struct server s = start("partial:3:too old", "ok", NULL, NULL);
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add_http(&g);
	submit(&g, "abc", 7);
	submit(&g, "def", 11);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "body=abc");
	check_line(&s, "body=def");
	CHECK_INT(g.stats.profiles_rejected, 3);
	CHECK_INT(g.stats.samples_exported, 18);
	CHECK(said(&g, "without 3 of its profiles: too old"));
	rig_down(&g);
	server_stop(&s);
}

static void test_junk_reply_is_a_reply(void)
{
	struct server s = start("junk", NULL, NULL, NULL);
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add_http(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK(said(&g, "not OTLP"));
	rig_down(&g);
	server_stop(&s);
}

static void test_hang_and_reset_are_tried_again(void)
{
	struct server s = start("hang", "reset", "ok", NULL);
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.timeout_ms = 300;
	rig_add_http(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK(said(&g, "DEADLINE_EXCEEDED"));
	rig_down(&g);
	server_stop(&s);
}

static void test_free_cancels_a_hang(void)
{
	struct server s = start("hang", NULL, NULL, NULL);
	uint64_t began;
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.timeout_ms = 60000;
	rig_add_http(&g);
	submit(&g, "abc", 7);
	check_line(&s, "call hang");
	CHECK_INT(flush(&g, 50), -ETIMEDOUT);
	CHECK_INT(g.stats.samples_pending, 7);
	began = op_clock_monotonic_ns();
	rig_down(&g);
	CHECK(op_clock_monotonic_ns() - began < UINT64_C(5000000000));
	CHECK(threads_end(2000));
	server_stop(&s);
}

static void test_server_comes_and_goes(void)
{
	const char *const steps[] = { "ok", NULL };
	int port = 0;
	int fd = listen_tcp(&port);
	struct server s;
	struct rig g;

	CHECK(!close(fd));
	rig_init(&g, "http://", "127.0.0.1", port);
	rig_add_http(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 300), -ETIMEDOUT);
	s = server_start(port, NULL, steps);
	CHECK_INT(flush(&g, 5000), 0);
	server_stop(&s);
	submit(&g, "def", 11);
	CHECK_INT(flush(&g, 300), -ETIMEDOUT);
	CHECK_INT(g.stats.samples_pending, 11);
	s = server_start(port, NULL, steps);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 18);
	rig_down(&g);
	server_stop(&s);
}

/* One that hangs and one that is not there do not hold the third. */
static void test_a_slow_one_holds_no_other(void)
{
	struct server hangs = start("hang", NULL, NULL, NULL);
	struct server ok = start("ok", NULL, NULL, NULL);
	char url[64];
	struct rig g;
	int i;

	rig_init(&g, "http://", "127.0.0.1", hangs.port);
	g.config.timeout_ms = 60000;
	rig_add_http(&g);
	g.config.endpoint = "http://127.0.0.1:1";
	rig_add_http(&g);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", ok.port);
	g.config.endpoint = url;
	rig_add_http(&g);
	for (i = 0; i < 20; i++)
		submit(&g, "abc", 1);
	for (i = 0; i < 20; i++)
		check_line(&ok, "call ok len=3 body=abc");
	check_line(&hangs, "call hang");
	CHECK_INT(flush(&g, 100), -ETIMEDOUT);
	CHECK_INT(g.stats.samples_exported, 20);
	CHECK_INT(g.stats.samples_pending, 0);
	rig_down(&g);
	server_stop(&ok);
	server_stop(&hangs);
}

TEST_MAIN({ "callback_alone_maps_no_curl", test_callback_alone_maps_no_curl },
	  { "request_arrives_whole", test_request_arrives_whole },
	  { "no_compression_as_asked", test_no_compression_as_asked },
	  { "connection_is_kept", test_connection_is_kept },
	  { "a_large_request_does_not_wait", test_a_large_request_does_not_wait },
	  { "retryable_statuses_are_tried_again",
	    test_retryable_statuses_are_tried_again },
	  { "retry_after_is_kept", test_retry_after_is_kept },
	  { "refusals_are_dropped_and_explained",
	    test_refusals_are_dropped_and_explained },
	  { "partial_success_is_not_sent_again", test_partial_success_is_not_sent_again },
	  { "junk_reply_is_a_reply", test_junk_reply_is_a_reply },
	  { "hang_and_reset_are_tried_again", test_hang_and_reset_are_tried_again },
	  { "free_cancels_a_hang", test_free_cancels_a_hang },
	  { "server_comes_and_goes", test_server_comes_and_goes },
	  { "a_slow_one_holds_no_other", test_a_slow_one_holds_no_other })
