/* SPDX-License-Identifier: Apache-2.0 */
/* The gRPC exporter against a real server: every answer, accounted to the sample. */
#include "rig.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "otelprof/error.h"

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	*(uint64_t *)userdata += samples;
	return 0;
}

/* A program that takes the bytes itself never maps grpc: must be the first test. */
static void test_callback_alone_maps_no_grpc(void)
{
	struct otelprof_callback_config c;
	uint64_t taken = 0;
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", 1);
	otelprof_callback_config_init(&c);
	c.fn = take;
	c.userdata = &taken;
	CHECK_OK(op_exporters_add_callback(g.x, &c));
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 1000), 0);
	CHECK_INT(taken, 7);
	CHECK(process_maps("libc.so"));
	CHECK(!process_maps("libgrpc"));
	CHECK(!process_maps("otelprof-grpc"));
	CHECK_INT(count_threads(), 1);
	rig_down(&g);
}

static void test_missing_module_is_an_error(void)
{
	const char *dir = getenv("OTELPROF_MODULE_DIR");
	char kept[512];
	struct rig g;

	CHECK(dir);
	(void)snprintf(kept, sizeof(kept), "%s", dir);
	rig_init(&g, "http://", "127.0.0.1", 1);
	CHECK(!setenv("OTELPROF_MODULE_DIR", "/nonexistent", 1));
	CHECK_INT(op_exporters_add_grpc(g.x, &g.config), -OTELPROF_E_MODULE);
	CHECK(strstr(g.log.message, "libotelprof-grpc.so"));
	CHECK(strstr(g.log.detail, "/nonexistent/libotelprof-grpc.so"));
	/* One that is there, but of another version. */
	CHECK(!setenv("OTELPROF_MODULE_DIR", getenv("OTELPROF_BAD_MODULE_DIR"), 1));
	CHECK_INT(op_exporters_add_grpc(g.x, &g.config), -OTELPROF_E_MODULE);
	CHECK(strstr(g.log.detail, "not a transport of this version"));
	CHECK(!process_maps("libgrpc"));
	CHECK_INT(op_exporters_len(g.x), 0);
	CHECK(!setenv("OTELPROF_MODULE_DIR", kept, 1));
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
	rig_add(&g);
	submit(&g, "hello profiles", 7);
	CHECK_INT(flush(&g, 20000), 0);
	line = server_line(&s);
	CHECK(strstr(line, "len=14 body=hello profiles"));
	CHECK(strstr(line, "authorization=\"Bearer x y\""));
	CHECK(strstr(line, "x-test=\"1\""));
	CHECK(strstr(line, "user-agent=\"OTel-OTLP-Exporter-C/"));
	CHECK(strstr(line, "(otelprof)"));
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK_INT(g.stats.samples_pending, 0);
	CHECK_INT(g.stats.requests_sent, 1);
	CHECK_INT(g.stats.bytes_sent, 14);
	CHECK_INT(g.lines.len, 0);
	/* Threads of grpc and ours take none of the host's signals. */
	CHECK(process_maps("libgrpc"));
	CHECK(count_threads() > 1);
	CHECK_INT(count_threads_taking(SIGINT), 0);
	CHECK_INT(count_threads_taking(SIGTERM), 0);
	CHECK_INT(count_threads_taking(SIGPROF), 0);
	rig_down(&g);
	/* All of them end with the exporter. */
	CHECK(threads_end(2000));
	server_stop(&s);
}

/* grpc compresses a message only where that makes it smaller. */
static void check_compression(uint32_t compression, const char *want)
{
	struct server s = start("ok", NULL, NULL, NULL);
	enum {
		LEN = 3900000
	};
	char *big = malloc(LEN);
	struct rig g;

	CHECK(big);
	memset(big, 'z', LEN);
	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.compression = compression;
	g.config.queue_bytes = 2 * LEN;
	rig_add(&g);
	CHECK_OK(op_exporters_submit(g.x, big, LEN, 7));
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, want);
	CHECK_INT(g.stats.samples_exported, 7);
	rig_down(&g);
	server_stop(&s);
}

static void test_compression_is_as_asked(void)
{
	check_compression(OTELPROF_COMPRESSION_DEFAULT,
			  "len=3900000 body=zzzzzzzzzzzzzzzz gzip=1");
	check_compression(OTELPROF_COMPRESSION_GZIP,
			  "len=3900000 body=zzzzzzzzzzzzzzzz gzip=1");
	check_compression(OTELPROF_COMPRESSION_NONE,
			  "len=3900000 body=zzzzzzzzzzzzzzzz gzip=0");
}

static void test_unavailable_is_tried_again(void)
{
	struct server s = start("status:14:away", "status:4:slow", "ok", NULL);
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "call status:14");
	check_line(&s, "call status:4");
	check_line(&s, "call ok len=3 body=abc");
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK(said(&g, "UNAVAILABLE: away; trying again"));
	CHECK(said(&g, "answers again"));
	rig_down(&g);
	server_stop(&s);
}

static void test_retry_info_is_kept(void)
{
	struct server s = start("retry:14:700", "retry:8:300", "ok", NULL);
	uint64_t began;
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add(&g);
	began = op_clock_monotonic_ns();
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK(op_clock_monotonic_ns() - began >= UINT64_C(1000000000));
	CHECK_INT(g.stats.samples_exported, 7);
	rig_down(&g);
	server_stop(&s);
}

static void check_refused(const char *step, const char *word)
{
	struct server s = start(step, "ok", NULL, NULL);
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add(&g);
	submit(&g, "abc", 7);
	submit(&g, "def", 11);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, "body=abc");
	check_line(&s, "call ok len=3 body=def");
	CHECK_INT(g.stats.samples_dropped[OTELPROF_DROP_REFUSED], 7);
	CHECK_INT(g.stats.samples_exported, 11);
	CHECK_INT(g.stats.samples_pending, 0);
	if (!said(&g, word))
		TEST_FAIL("the log does not say %s", word);
	rig_down(&g);
	server_stop(&s);
}

static void test_refusals_are_dropped_and_explained(void)
{
	check_refused("status:8:full", "RESOURCE_EXHAUSTED: full");
	check_refused("status:3:bad", "INVALID_ARGUMENT: bad");
	check_refused("status:16:who", "UNAUTHENTICATED: who");
	check_refused("status:13:error unmarshalling request: x", "0.148");
	check_refused("status:12:unknown service", "service.profilesSupport");
}

static void test_partial_success_is_not_sent_again(void)
{
	struct server s = start("partial:3:too old", "ok", NULL, NULL);
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	rig_add(&g);
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
	rig_add(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK(said(&g, "not OTLP"));
	rig_down(&g);
	server_stop(&s);
}

static void test_hang_ends_at_the_deadline(void)
{
	struct server s = start("hang", "hang", "hang", "ok");
	uint64_t began;
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.timeout_ms = 300;
	rig_add(&g);
	began = op_clock_monotonic_ns();
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK(op_clock_monotonic_ns() - began >= UINT64_C(900000000));
	check_line(&s, "call hang");
	check_line(&s, "call hang");
	check_line(&s, "call hang");
	check_line(&s, "call ok");
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
	rig_add(&g);
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

static void test_nobody_listens_is_given_up(void)
{
	int port = 0;
	int fd = listen_tcp(&port);
	struct rig g;

	CHECK(!close(fd));
	rig_init(&g, "http://", "127.0.0.1", port);
	g.config.retry_elapsed_ms = 500;
	g.config.timeout_ms = 200;
	rig_add(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK_INT(g.stats.samples_dropped[OTELPROF_DROP_GIVEN_UP], 7);
	CHECK_INT(g.stats.samples_exported, 0);
	CHECK(said(&g, "UNAVAILABLE"));
	CHECK(said(&g, "gave a request up"));
	rig_down(&g);
}

/*
 * A server that comes late, goes away and comes again: nothing is lost, and the connection
 * is back within seconds (grpc by itself takes 10: nobody waits on its queue meanwhile).
 */
static void test_server_comes_and_goes(void)
{
	const char *const steps[] = { "ok", NULL };
	int port = 0;
	int fd = listen_tcp(&port);
	struct server s;
	struct rig g;

	CHECK(!close(fd));
	rig_init(&g, "http://", "127.0.0.1", port);
	rig_add(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 300), -ETIMEDOUT);
	s = server_start(port, NULL, steps);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 7);
	server_stop(&s);
	submit(&g, "def", 11);
	CHECK_INT(flush(&g, 300), -ETIMEDOUT);
	CHECK_INT(g.stats.samples_pending, 11);
	s = server_start(port, NULL, steps);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 18);
	CHECK_INT(g.stats.samples_dropped[OTELPROF_DROP_GIVEN_UP], 0);
	rig_down(&g);
	server_stop(&s);
}

/* A server that dies with a call in its hands. */
static void test_server_dies_in_a_call(void)
{
	const char *const steps[] = { "ok", NULL };
	struct server s = start("hang", NULL, NULL, NULL);
	int port = s.port;
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", port);
	rig_add(&g);
	submit(&g, "abc", 7);
	check_line(&s, "call hang");
	server_stop(&s);
	s = server_start(port, NULL, steps);
	/* Long before the call's own deadline of 5 s. */
	CHECK_INT(flush(&g, 4000), 0);
	check_line(&s, "call ok len=3 body=abc");
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK(said(&g, "UNAVAILABLE"));
	rig_down(&g);
	server_stop(&s);
}

struct closer {
	int fd;
	unsigned int connections;
	bool stop;
};

static void *close_connections(void *arg)
{
	struct closer *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		struct pollfd p = { .fd = c->fd, .events = POLLIN };

		if (poll(&p, 1, 50) == 1) {
			(void)close(accept(c->fd, NULL, NULL));
			__atomic_add_fetch(&c->connections, 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void test_closed_connection_is_given_up(void)
{
	struct closer c = { 0 };
	pthread_t thread;
	int port = 0;
	struct rig g;

	c.fd = listen_tcp(&port);
	CHECK(!pthread_create(&thread, NULL, close_connections, &c));
	rig_init(&g, "http://", "127.0.0.1", port);
	g.config.retry_elapsed_ms = 500;
	g.config.timeout_ms = 200;
	rig_add(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK_INT(g.stats.samples_dropped[OTELPROF_DROP_GIVEN_UP], 7);
	rig_down(&g);
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	CHECK(!pthread_join(thread, NULL));
	CHECK(c.connections > 0);
	CHECK(!close(c.fd));
}

static void test_two_exporters_are_apart(void)
{
	struct server ok = start("ok", NULL, NULL, NULL);
	struct server no = start("status:13:no", NULL, NULL, NULL);
	char second[64];
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", no.port);
	rig_add(&g);
	(void)snprintf(second, sizeof(second), "http://127.0.0.1:%d", ok.port);
	g.config.endpoint = second;
	rig_add(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&ok, "body=abc");
	check_line(&no, "body=abc");
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK_INT(g.stats.samples_dropped[OTELPROF_DROP_REFUSED], 0);
	CHECK_INT(g.stats.samples_pending, 0);
	rig_down(&g);
	CHECK(threads_end(2000));
	server_stop(&ok);
	server_stop(&no);
}

static void test_forked_child_can_free(void)
{
	struct server s = start("hang", "ok", NULL, NULL);
	int status = 0;
	struct rig g;
	pid_t pid;

	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.timeout_ms = 1000;
	rig_add(&g);
	submit(&g, "abc", 7);
	check_line(&s, "call hang");
	(void)fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		(void)alarm(10);
		op_exporters_forked(g.x);
		op_exporters_free(g.x);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK_INT(g.stats.samples_exported, 7);
	rig_down(&g);
	server_stop(&s);
}

TEST_MAIN({ "callback_alone_maps_no_grpc", test_callback_alone_maps_no_grpc },
	  { "missing_module_is_an_error", test_missing_module_is_an_error },
	  { "request_arrives_whole", test_request_arrives_whole },
	  { "compression_is_as_asked", test_compression_is_as_asked },
	  { "unavailable_is_tried_again", test_unavailable_is_tried_again },
	  { "retry_info_is_kept", test_retry_info_is_kept },
	  { "refusals_are_dropped_and_explained",
	    test_refusals_are_dropped_and_explained },
	  { "partial_success_is_not_sent_again", test_partial_success_is_not_sent_again },
	  { "junk_reply_is_a_reply", test_junk_reply_is_a_reply },
	  { "hang_ends_at_the_deadline", test_hang_ends_at_the_deadline },
	  { "free_cancels_a_hang", test_free_cancels_a_hang },
	  { "nobody_listens_is_given_up", test_nobody_listens_is_given_up },
	  { "server_comes_and_goes", test_server_comes_and_goes },
	  { "server_dies_in_a_call", test_server_dies_in_a_call },
	  { "closed_connection_is_given_up", test_closed_connection_is_given_up },
	  { "two_exporters_are_apart", test_two_exporters_are_apart },
	  { "forked_child_can_free", test_forked_child_can_free })
