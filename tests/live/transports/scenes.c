/* SPDX-License-Identifier: Apache-2.0 */
#include "scenes.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

#define NS_PER_MS UINT64_C(1000000)

enum {
	LARGE_BYTES = 3900000
};

void rig_up(struct rig *g, int port)
{
	rig_init(g, "http://", "127.0.0.1", port);
	transport.add(g);
}

static void rig_up_with_timeout(struct rig *g, int port, uint32_t timeout_ms)
{
	rig_init(g, "http://", "127.0.0.1", port);
	g->config.timeout_ms = timeout_ms;
	transport.add(g);
}

void check_tried_again(const char *const *steps, uint32_t timeout_ms, uint32_t least_ms,
		       const char *word)
{
	struct server s = server_start(0, NULL, steps);
	char call[64];
	uint64_t began;
	struct rig g;

	rig_up_with_timeout(&g, s.port, timeout_ms);
	began = op_clock_monotonic_ns();
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK(op_clock_monotonic_ns() - began >= least_ms * NS_PER_MS);
	for (; steps[1]; steps++) {
		(void)snprintf(call, sizeof(call), "call %s ", *steps);
		check_line(&s, call);
	}
	check_line(&s, "call ok len=3 body=abc");
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK(said(&g, word));
	CHECK(said(&g, "answers again"));
	rig_down(&g);
	server_stop(&s);
}

/* Two requests, of 7 and 11 samples, the first of which is answered by @step. */
static struct server send_two(struct rig *g, const char *step)
{
	struct server s = start(step, "ok", NULL, NULL);

	rig_up(g, s.port);
	submit(g, "abc", 7);
	submit(g, "def", 11);
	CHECK_INT(flush(g, 20000), 0);
	check_line(&s, "body=abc");
	return s;
}

void check_refused(const char *step, const char *word)
{
	struct rig g;
	struct server s = send_two(&g, step);

	check_line(&s, "call ok len=3 body=def");
	CHECK_INT(g.stats.samples_dropped[OP_DROP_REFUSED], 7);
	CHECK_INT(g.stats.samples_exported, 11);
	CHECK_INT(g.stats.samples_pending, 0);
	if (!said(&g, word))
		TEST_FAIL("the log does not say %s but %s", word,
			  g.lines.len ? g.lines.text[0] : "nothing");
	rig_down(&g);
	server_stop(&s);
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	*(uint64_t *)userdata += samples;
	return 0;
}

/* A program that takes the bytes itself never maps the transports. */
void test_callback_alone_maps_no_transport(void)
{
	struct otelprof_callback_config c;
	uint64_t taken = 0;
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", 1);
	otelprof_callback_config_init(&c, sizeof(c));
	c.fn = take;
	c.userdata = &taken;
	CHECK_OK(op_exporters_add_callback(g.x, &c));
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 1000), 0);
	CHECK_INT(taken, 7);
	CHECK(process_maps("libc.so"));
	CHECK(!process_maps("libgrpc"));
	CHECK(!process_maps("libcurl"));
	CHECK(!process_maps("otelprof-grpc"));
	CHECK(!process_maps("otelprof-http"));
	CHECK_INT(count_threads(), 1);
	rig_down(&g);
}

void test_request_arrives_whole(void)
{
	const struct otelprof_attribute headers[] = { { "Authorization", "Bearer x y" },
						      { "x-test", "1" } };
	struct server s = start("ok", NULL, NULL, NULL);
	const char *const *word;
	const char *line;
	struct rig g;

	rig_init(&g, "http://", "localhost", s.port);
	g.config.headers = headers;
	g.config.headers_len = 2;
	transport.add(&g);
	submit(&g, "hello profiles", 7);
	CHECK_INT(flush(&g, 20000), 0);
	line = server_line(&s);
	CHECK(strstr(line, "len=14 body=hello profiles"));
	CHECK(strstr(line, "authorization=\"Bearer x y\""));
	CHECK(strstr(line, "x-test=\"1\""));
	CHECK(strstr(line, "user-agent=\"OTel-OTLP-Exporter-C/"));
	CHECK(strstr(line, "(otelprof)"));
	for (word = transport.request; *word; word++) {
		if (!strstr(line, *word))
			TEST_FAIL("\"%s\" has no %s", line, *word);
	}
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK_INT(g.stats.samples_pending, 0);
	CHECK_INT(g.stats.requests_sent, 1);
	CHECK_INT(g.stats.bytes_sent, 14);
	CHECK_INT(g.lines.len, 0);
	CHECK(process_maps(transport.library));
	CHECK(!process_maps(transport.other_library));
	/* Threads of the library and ours take none of the host's signals. */
	CHECK(count_threads() > 1);
	CHECK_INT(count_threads_taking(SIGINT), 0);
	CHECK_INT(count_threads_taking(SIGTERM), 0);
	CHECK_INT(count_threads_taking(SIGPROF), 0);
	rig_down(&g);
	/* All of them end with the exporter. */
	CHECK(threads_end(2000));
	server_stop(&s);
}

static void check_compression(uint32_t compression, size_t len, const char *want)
{
	struct server s = start("ok", NULL, NULL, NULL);
	char *body = malloc(len);
	struct rig g;

	CHECK(body);
	memset(body, 'z', len);
	rig_init(&g, "http://", "127.0.0.1", s.port);
	g.config.compression = compression;
	g.config.queue_bytes = 2 * LARGE_BYTES;
	transport.add(&g);
	CHECK_OK(op_exporters_submit(g.x, body, len, 7));
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&s, want);
	CHECK_INT(g.stats.samples_exported, 7);
	rig_down(&g);
	server_stop(&s);
}

/* A large one, as grpc compresses a message only where that makes it smaller. */
void test_compression_is_as_asked(void)
{
	check_compression(OTELPROF_COMPRESSION_DEFAULT, LARGE_BYTES,
			  "len=3900000 body=zzzzzzzzzzzzzzzz gzip=1");
	check_compression(OTELPROF_COMPRESSION_GZIP, LARGE_BYTES,
			  "len=3900000 body=zzzzzzzzzzzzzzzz gzip=1");
	check_compression(OTELPROF_COMPRESSION_NONE, LARGE_BYTES,
			  "len=3900000 body=zzzzzzzzzzzzzzzz gzip=0");
	check_compression(OTELPROF_COMPRESSION_NONE, 3, "len=3 body=zzz gzip=0");
}

void check_partial(const char *step)
{
	struct rig g;
	struct server s = send_two(&g, step);

	check_line(&s, "body=def");
	CHECK_INT(g.stats.profiles_rejected, 3);
	CHECK_INT(g.stats.samples_exported, 18);
	CHECK(said(&g, "but not 3 of its profiles: too old"));
	rig_down(&g);
	server_stop(&s);
}

void test_partial_success_is_not_sent_again(void)
{
	check_partial("partial:3:too old");
}

void test_junk_reply_accepts_nothing(void)
{
	struct server s = start("junk", NULL, NULL, NULL);
	struct rig g;

	rig_up(&g, s.port);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK_INT(g.stats.samples_exported, 0);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_REFUSED], 7);
	CHECK(said(&g, "not OTLP"));
	rig_down(&g);
	server_stop(&s);
}

void test_hang_ends_at_the_deadline(void)
{
	const char *const steps[] = { "hang", "hang", "hang", "ok", NULL };

	check_tried_again(steps, 300, 900, "DEADLINE_EXCEEDED");
}

void test_free_cancels_a_hang(void)
{
	struct server s = start("hang", NULL, NULL, NULL);
	uint64_t began;
	struct rig g;

	rig_up_with_timeout(&g, s.port, 60000);
	submit(&g, "abc", 7);
	check_line(&s, "call hang");
	CHECK_INT(flush(&g, 50), -ETIMEDOUT);
	CHECK_INT(g.stats.samples_pending, 7);
	began = op_clock_monotonic_ns();
	rig_down(&g);
	CHECK(op_clock_monotonic_ns() - began < 5000 * NS_PER_MS);
	CHECK(threads_end(2000));
	server_stop(&s);
}

static void check_given_up(int port, const char *word)
{
	struct rig g;

	rig_init(&g, "http://", "127.0.0.1", port);
	g.config.retry_elapsed_ms = 500;
	g.config.timeout_ms = 200;
	transport.add(&g);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 7);
	CHECK_INT(g.stats.samples_exported, 0);
	CHECK(said(&g, word));
	CHECK(said(&g, "a request was given up"));
	rig_down(&g);
}

/* A port where nobody listens. */
static int closed_port(void)
{
	int port = 0;

	CHECK(!close(listen_tcp(&port)));
	return port;
}

void test_nobody_listens_is_given_up(void)
{
	check_given_up(closed_port(), "UNAVAILABLE");
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

void test_closed_connection_is_given_up(void)
{
	struct closer c = { 0 };
	pthread_t thread;
	int port = 0;

	c.fd = listen_tcp(&port);
	CHECK(!pthread_create(&thread, NULL, close_connections, &c));
	check_given_up(port, "trying again");
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	CHECK(!pthread_join(thread, NULL));
	CHECK(c.connections > 0);
	CHECK(!close(c.fd));
}

/*
 * A server that comes late, goes away and comes again: nothing is lost, and the connection
 * is back within seconds (grpc by itself takes 10: nobody waits on its queue meanwhile).
 */
void test_server_comes_and_goes(void)
{
	const char *const steps[] = { "ok", NULL };
	int port = closed_port();
	struct server s;
	struct rig g;

	rig_up(&g, port);
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
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 0);
	rig_down(&g);
	server_stop(&s);
}

/* A server that dies with a call in its hands. */
void test_server_dies_in_a_call(void)
{
	const char *const steps[] = { "ok", NULL };
	struct server s = start("hang", NULL, NULL, NULL);
	int port = s.port;
	struct rig g;

	rig_up(&g, port);
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

/* One more exporter of the rig, to @port. */
static void add_to(struct rig *g, int port)
{
	(void)snprintf(g->endpoint, sizeof(g->endpoint), "http://127.0.0.1:%d", port);
	transport.add(g);
}

void test_two_exporters_are_apart(void)
{
	struct server ok = start("ok", NULL, NULL, NULL);
	struct server no = start(transport.refused, NULL, NULL, NULL);
	struct rig g;

	rig_up(&g, no.port);
	add_to(&g, ok.port);
	submit(&g, "abc", 7);
	CHECK_INT(flush(&g, 20000), 0);
	check_line(&ok, "body=abc");
	check_line(&no, "body=abc");
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_REFUSED], 0);
	CHECK_INT(g.stats.samples_pending, 0);
	rig_down(&g);
	CHECK(threads_end(2000));
	server_stop(&ok);
	server_stop(&no);
}

/* One that hangs and one that is not there do not hold the third. */
void test_a_slow_one_holds_no_other(void)
{
	struct server hangs = start("hang", NULL, NULL, NULL);
	struct server ok = start("ok", NULL, NULL, NULL);
	struct rig g;
	int i;

	rig_up_with_timeout(&g, hangs.port, 60000);
	add_to(&g, 1);
	add_to(&g, ok.port);
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

void test_forked_child_can_free(void)
{
	struct server s = start("hang", "ok", NULL, NULL);
	int status = 0;
	struct rig g;
	pid_t pid;

	rig_up_with_timeout(&g, s.port, 1000);
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
