/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP exporter against a real server: every answer, accounted to the sample. */
#include "scenes.h"

#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <time.h>

enum {
	SLOW_MS = 20000,
	SOON_MS = 3000, /* on a machine with much other load */
};

const struct transport transport = {
	.add = rig_add_http,
	.library = "libcurl",
	.other_library = "libgrpc",
	.refused = "status:500:no",
	.request = { " gzip=1", "path=/v1development/profiles ",
		     "content-type=\"application/x-protobuf\"" },
};

/* One connection for all: its port is the same. */
static void test_connection_is_kept(void)
{
	struct server s = start("ok", NULL, NULL, NULL);
	char first[1024];
	struct rig g;

	rig_up(&g, s.port);
	submit(&g, "abc", 1);
	CHECK_INT(flush(&g, 20000), 0);
	(void)snprintf(first, sizeof(first), "%s", strstr(server_line(&s), "from="));
	submit(&g, "def", 1);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, first);
	rig_down(&g);
	server_stop(&s);
}

static void test_retryable_statuses_are_tried_again(void)
{
	const char *const steps[] = { "status:429:slow",
				      "page:502:<html>bad gateway</html>",
				      "status:503:away", "ok", NULL };

	check_tried_again(steps, 5000, 0, "HTTP 429: slow; trying again");
}

static void test_retry_after_is_kept(void)
{
	const char *const steps[] = { "retry:503:1", "retry:429:1", "ok", NULL };

	check_tried_again(steps, 5000, 2000, "HTTP 503: later");
}

static void test_hang_and_reset_are_tried_again(void)
{
	const char *const steps[] = { "hang", "reset", "ok", NULL };

	check_tried_again(steps, 300, 300, "DEADLINE_EXCEEDED");
}

static void test_refusals_are_dropped_and_explained(void)
{
	check_refused("status:400:proto: wrong wireType = 2 for field LinkIndex",
		      "0.148");
	check_refused("page:404:404 page not found", "service.profilesSupport");
	check_refused("status:401:who", "HTTP 401: who; see headers");
	check_refused("status:413:request body too large", "max_request_bytes");
	check_refused("status:500:oops", "HTTP 500: oops");
	check_refused("page:501:<h1>no\t</h1>", "HTTP 501: <h1>no\\x09</h1>");
	check_refused("redirect:308:https://elsewhere/",
		      "to https://elsewhere/; redirects");
	check_refused("page:200:<html>It works!</html>",
		      "HTTP 200: an answer that is not OTLP; is it a receiver");
	check_refused("page:202:{}", "HTTP 202: an answer that is not OTLP");
	check_refused("big", "larger than 4 MiB");
}

/* An exporter that compresses with @compression, and a server with such steps. */
static struct server start_compressed(struct rig *g, uint32_t compression, const char *a,
				      const char *b, const char *c)
{
	struct server s = start(a, b, c, NULL);

	rig_init(g, "http://", "127.0.0.1", s.port);
	g->config.compression = compression;
	transport.add(g);
	return s;
}

static void test_zstd_arrives(void)
{
	struct rig g;
	struct server s;

	s = start_compressed(&g, OTELPROF_COMPRESSION_ZSTD, "ok", NULL, NULL);
	submit(&g, "hello profiles", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "call ok len=14 body=hello profiles");
	submit(&g, "abc", 11);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "content-encoding=\"zstd\"");
	CHECK_INT(g.stats.samples_exported, 18);
	CHECK_INT(g.stats.bytes_sent, 17);
	CHECK_INT(g.stats.requests_recompressed, 0);
	CHECK_INT(g.lines.len, 0);
	rig_down(&g);
	server_stop(&s);
}

/* The request is sent again at once with gzip, and so are all after it; said once. */
static void check_gzip_instead(const char *refusal)
{
	struct rig g;
	struct server s =
		start_compressed(&g, OTELPROF_COMPRESSION_ZSTD, refusal, "ok", NULL);

	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "content-encoding=\"zstd\"");
	check_line(&s, "call ok len=3 body=abc gzip=1");
	CHECK(said(&g, "the server does not take the compression: requests are sent with "
		       "gzip from now on"));
	submit(&g, "def", 11);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "call ok len=3 body=def gzip=1");
	CHECK_INT(g.lines.len, 1);
	CHECK_INT(g.stats.samples_exported, 18);
	CHECK_INT(g.stats.requests_sent, 2);
	CHECK_INT(g.stats.requests_recompressed, 1);
	rig_down(&g);
	server_stop(&s);
}

static void test_a_server_without_zstd_gets_gzip(void)
{
	check_gzip_instead("status:415:no zstd here");
	check_gzip_instead("page:415:<h1>no</h1>");
	/* the Collector's words */
	check_gzip_instead("status:400:unsupported Content-Encoding: zstd");
}

static void test_a_server_without_gzip_gets_it_plain(void)
{
	struct rig g;
	struct server s = start_compressed(&g, OTELPROF_COMPRESSION_DEFAULT,
					   "status:415:no", "ok", NULL);

	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "body=abc gzip=1");
	check_line(&s, "call ok len=3 body=abc gzip=0");
	CHECK(said(&g, "requests are sent without compression from now on"));
	rig_down(&g);
	server_stop(&s);
}

/* Its 415 means something else: the request is refused in each form, and the next ones at once
 * and plain. After a request that it took that is not known any more: it may be another server,
 * which takes gzip. */
static void test_other_refusals_change_nothing(void)
{
	struct rig g;
	const char *const steps[] = { "status:415:no protobuf",
				      "status:415:no protobuf",
				      "status:415:no protobuf",
				      "status:415:no protobuf",
				      "status:415:no protobuf",
				      "ok",
				      "status:415:no zstd",
				      "ok",
				      NULL };
	struct server s = server_start(0, NULL, steps);
	int i;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.compression = OTELPROF_COMPRESSION_ZSTD;
	transport.add(&g);
	for (i = 0; i < 5; i++) {
		submit(&g, "abc", 7);
		CHECK_INT(flush(&g, 20000), 0);
		/* the first one, and the first one behind the one that was taken */
		if (i == 0 || i == 4) {
			check_line(&s, "content-encoding=\"zstd\"");
			check_line(&s, "gzip=1");
		}
		if (i < 4)
			check_line(&s, "gzip=0");
	}
	CHECK_INT(g.stats.samples_dropped[OP_DROP_REFUSED], 21);
	CHECK_INT(g.stats.requests_recompressed, 3);
	CHECK(said(&g, "HTTP 415: no protobuf"));
	CHECK(said(&g, "with gzip from now on"));
	rig_down(&g);
	server_stop(&s);
	/* and so does a 400 that does not speak of it */
	s = start_compressed(&g, OTELPROF_COMPRESSION_ZSTD, "status:400:bad", "ok", NULL);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "call status:400:bad");
	CHECK_INT(g.stats.samples_dropped[OP_DROP_REFUSED], 7);
	CHECK_INT(g.stats.requests_recompressed, 0);
	rig_down(&g);
	server_stop(&s);
}

/* In place of libc's: a name server that does not answer. */
int getaddrinfo(const char *restrict node, const char *restrict service,
		const struct addrinfo *restrict hints, struct addrinfo **restrict res)
{
	int (*next)(const char *, const char *, const struct addrinfo *,
		    struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");

	if (!node || strcmp(node, "slow.invalid") != 0)
		return next ? next(node, service, hints, res) : EAI_FAIL;
	(void)poll(NULL, 0, SLOW_MS);
	return EAI_AGAIN;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void test_free_does_not_wait_for_a_name_server(void)
{
	struct rig g;
	int64_t begin;

	rig_init(&g, "http://", "slow.invalid", 1);
	rig_add_http(&g);
	submit(&g, "abc", 1);
	CHECK_INT(flush(&g, 500), -ETIMEDOUT); /* the look-up has begun */
	begin = now_ms();
	op_exporters_abandon(g.x);
	op_exporters_get_stats(g.x, &g.stats);
	CHECK_INT(g.stats.samples_pending, 0);
	rig_down(&g);
	CHECK(now_ms() - begin < SOON_MS);
}

TEST_MAIN({ "callback_alone_maps_no_transport", test_callback_alone_maps_no_transport },
	  { "connection_is_kept", test_connection_is_kept },
	  { "retryable_statuses_are_tried_again",
	    test_retryable_statuses_are_tried_again },
	  { "retry_after_is_kept", test_retry_after_is_kept },
	  { "hang_and_reset_are_tried_again", test_hang_and_reset_are_tried_again },
	  { "refusals_are_dropped_and_explained",
	    test_refusals_are_dropped_and_explained },
	  { "zstd_arrives", test_zstd_arrives },
	  { "a_server_without_zstd_gets_gzip", test_a_server_without_zstd_gets_gzip },
	  { "a_server_without_gzip_gets_it_plain",
	    test_a_server_without_gzip_gets_it_plain },
	  { "other_refusals_change_nothing", test_other_refusals_change_nothing },
	  SCENES(SCENE_TEST)
	  /* last: its thread goes on for a while */
	  { "free_does_not_wait_for_a_name_server",
	    test_free_does_not_wait_for_a_name_server })
