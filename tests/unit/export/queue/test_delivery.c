/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue and its thread, over a transport made here: what is sent, in which order, and
 * what becomes of every sample. Also run under the thread sanitizer.
 */
#include "rig.h"

#include <sys/wait.h>
#include <unistd.h>

static void test_requests_go_in_order(void)
{
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, &ok, 1);
	submit(&g, "a", 1);
	submit(&g, "b", 2);
	submit(&g, "c", 4);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK_INT(g.stats.requests_sent, 3);
	CHECK_INT(g.stats.bytes_sent, 3);
	CHECK_INT(g.fake.sends, 3);
	CHECK_STR(g.fake.bodies[0], "a");
	CHECK_STR(g.fake.bodies[1], "b");
	CHECK_STR(g.fake.bodies[2], "c");
	/* The host's signals never come to this thread. */
	CHECK(sigismember(&g.fake.mask, SIGINT) == 1 &&
	      sigismember(&g.fake.mask, SIGPROF) == 1 &&
	      sigismember(&g.fake.mask, SIGUSR1) == 1);
	rig_down(&g);
}

static void test_unavailable_is_tried_again(void)
{
	const struct op_transport_result script[] = {
		answer(OP_GRPC_UNAVAILABLE, -1),
		answer(OP_GRPC_DEADLINE_EXCEEDED, -1),
		answer(OP_GRPC_RESOURCE_EXHAUSTED, 1),
		answer(OP_GRPC_OK, -1),
	};
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, script, 4);
	submit(&g, "a", 3);
	submit(&g, "b", 4);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.sends, 5);
	CHECK_STR(g.fake.bodies[3], "a");
	CHECK_STR(g.fake.bodies[4], "b");
	CHECK_INT(g.stats.samples_exported, 7);
	CHECK(said(&g, "UNAVAILABLE: because; trying again"));
	CHECK(said(&g, "answers again"));
	rig_down(&g);
}

static void test_errno_is_tried_again(void)
{
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, &ok, 1);
	hold(&g.fake, true);
	submit(&g, "a", 3);
	wait_for_send(&g.fake);
	g.fake.fail = -ENOMEM;
	hold(&g.fake, false);
	CHECK_INT(flush(&g, 30), -ETIMEDOUT);
	CHECK(!pthread_mutex_lock(&g.fake.lock));
	g.fake.fail = 0;
	CHECK(!pthread_mutex_unlock(&g.fake.lock));
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 3);
	rig_down(&g);
}

static void test_server_s_delay_is_kept(void)
{
	const struct op_transport_result script[] = {
		answer(OP_GRPC_UNAVAILABLE, 200),
		answer(OP_GRPC_OK, -1),
	};
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, script, 2);
	submit(&g, "a", 3);
	CHECK_INT(flush(&g, 100), -ETIMEDOUT);
	CHECK_INT(g.stats.samples_pending, 3);
	g.sink->ops->hurry(g.sink);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK(g.fake.times_ns[1] - g.fake.times_ns[0] >= 200000000);
	CHECK_INT(g.stats.samples_exported, 3);
	rig_down(&g);
}

/* Nobody asked for the wait but we ourselves: a flush does not sit it out. */
static void test_flush_ends_a_back_off(void)
{
	const struct op_transport_result script[] = {
		answer(OP_GRPC_UNAVAILABLE, -1),
		answer(OP_GRPC_OK, -1),
	};
	struct op_export_settings s = quick();
	struct rig g;
	int i;

	s.retry_initial_ms = s.retry_max_ms = 60000;
	rig_up(&g, &s, script, 2);
	submit(&g, "a", 3);
	for (i = 0; i < 500 && !said(&g, "trying again"); i++)
		CHECK_OK(usleep(10000));
	CHECK_INT(flush(&g, 50), -ETIMEDOUT);
	g.sink->ops->hurry(g.sink);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 3);
	rig_down(&g);
}

static void check_refused(int status, int64_t delay)
{
	const struct op_transport_result script[] = {
		answer(status, delay),
		answer(OP_GRPC_OK, -1),
	};
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, script, 2);
	submit(&g, "a", 3);
	submit(&g, "b", 5);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.sends, 2);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_REFUSED], 3);
	CHECK_INT(g.stats.samples_exported, 5);
	CHECK(said(&g, "refused a request for good"));
	CHECK(said(&g, op_retry_status_name(status)));
	rig_down(&g);
}

static void test_refused_is_dropped_at_once(void)
{
	check_refused(OP_GRPC_INTERNAL, -1);
	check_refused(OP_GRPC_UNIMPLEMENTED, -1);
	check_refused(OP_GRPC_INVALID_ARGUMENT, 1);
	check_refused(OP_GRPC_RESOURCE_EXHAUSTED, -1);
	check_refused(OP_GRPC_UNKNOWN, -1);
}

static void test_patience_ends(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, -1);
	struct op_export_settings s = quick();
	uint64_t began;
	struct rig g;

	s.retry_elapsed_ms = 300;
	rig_up(&g, &s, &away, 1);
	began = op_clock_monotonic_ns();
	submit(&g, "a", 3);
	CHECK_INT(flush(&g, 60000), 0);
	CHECK(op_clock_monotonic_ns() - began >= 300000000);
	CHECK(g.fake.sends > 1);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 3);
	CHECK(said(&g, "a request was given up"));
	rig_down(&g);
}

/* A server that wants more time than there is gets no second try. */
static void test_too_long_a_delay_is_given_up(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 20000);
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, &away, 1);
	submit(&g, "a", 3);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.sends, 1);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 3);
	rig_down(&g);
}

/* Ten bytes of queue: the one on the wire stays, the oldest of the others goes. */
static void test_oldest_is_dropped_first(void)
{
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, &ok, 1);
	hold(&g.fake, true);
	submit(&g, "aaaa", 1);
	wait_for_send(&g.fake);
	submit(&g, "bbb", 2);
	submit(&g, "ccc", 4);
	submit(&g, "d", 8); /* 11 bytes: bbb goes */
	submit(&g, "eeeeeee",
	       16); /* with aaaa 11 bytes: never fits, and d and ccc went */
	op_ledger_get_stats(&g.ledger, &g.stats);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_QUEUE], 2 + 4 + 8 + 16);
	submit(&g, "ffffff", 32);
	submit(&g, "ggggggggggg", 64); /* larger than the queue: f is not sacrificed */
	hold(&g.fake, false);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 1 + 32);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_QUEUE], 2 + 4 + 8 + 16 + 64);
	CHECK(said(&g, "the queue is full"));
	rig_down(&g);
}

/* One that waits for its next try is not on the wire. */
static void test_waiting_for_a_try_is_droppable(void)
{
	const struct op_transport_result script[] = {
		answer(OP_GRPC_UNAVAILABLE, 100),
		answer(OP_GRPC_OK, -1),
	};
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, script, 2);
	submit(&g, "aaaaaa", 1);
	CHECK_INT(flush(&g, 50), -ETIMEDOUT);
	submit(&g, "bbbbbb", 2);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.sends, 2);
	CHECK_STR(g.fake.bodies[1], "bbbbbb");
	CHECK(g.fake.times_ns[1] - g.fake.times_ns[0] >= 100000000);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_QUEUE], 1);
	CHECK_INT(g.stats.samples_exported, 2);
	rig_down(&g);
}

static void check_partial(uint64_t rejected, uint64_t exported, uint64_t refused)
{
	/* resource { scope { profile, profile } } */
	static const uint8_t body[] = { 0x0a, 0x06, 0x12, 0x04, 0x12, 0, 0x12, 0 };
	struct op_transport_result partial = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = quick();
	struct op_request *r = NULL;
	struct rig g;
	void *copy = malloc(sizeof(body));

	partial.rejected = rejected;
	(void)strcpy(partial.message, "not all");
	rig_up(&g, &s, &partial, 1);
	memcpy(copy, body, sizeof(body));
	CHECK_OK(op_request_new(&g.ledger, copy, sizeof(body), 10, 1, &r));
	g.sink->ops->submit(g.sink, r);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.sends, 1);
	CHECK_INT(g.stats.profiles_rejected, rejected);
	CHECK_INT(g.stats.samples_exported, exported);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_REFUSED], refused);
	/* with nothing rejected the words are a warning */
	CHECK(said(&g, rejected ? "profiles: not all" : "and warns: not all"));
	rig_down(&g);
}

static void test_partial_success_is_counted(void)
{
	check_partial(0, 10, 0);
	check_partial(1, 10, 0);
	check_partial(2, 0, 10);
}

static void test_free_cuts_a_send_short(void)
{
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, &ok, 1);
	hold(&g.fake, true);
	submit(&g, "a", 3);
	submit(&g, "b", 4);
	wait_for_send(&g.fake);
	rig_down(&g);
	CHECK(g.fake.cancelled);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 7);
}

static void test_free_ends_a_back_off(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 600000);
	struct op_export_settings s = quick();
	uint64_t began = op_clock_monotonic_ns();
	struct rig g;

	s.retry_elapsed_ms = 0;
	rig_up(&g, &s, &away, 1);
	submit(&g, "a", 3);
	CHECK_INT(flush(&g, 50), -ETIMEDOUT);
	rig_down(&g);
	CHECK(op_clock_monotonic_ns() - began < 60 * (uint64_t)OP_NS_PER_S);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 3);
}

/* The end of a program whose back end is away: all is counted before the handle is gone. */
static void test_abandoned_is_counted(void)
{
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = quick();
	struct rig g;

	rig_up(&g, &s, &ok, 1);
	submit(&g, "a", 1);
	CHECK_INT(flush(&g, 5000), 0);
	hold(&g.fake, true);
	submit(&g, "b", 2);
	wait_for_send(&g.fake);
	submit(&g, "c", 4);
	CHECK_INT(flush(&g, 20), -ETIMEDOUT);
	CHECK_INT(g.stats.samples_pending, 6);
	g.sink->ops->abandon(g.sink);
	g.sink->ops->abandon(g.sink);
	CHECK(g.fake.cancelled);
	submit(&g, "d", 8); /* too late */
	g.sink->ops->finish(g.sink);
	g.sink->ops->finish(g.sink);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_pending, 0);
	CHECK_INT(g.stats.samples_exported, 1);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 2 + 4 + 8);
	CHECK_INT(g.fake.sends, 2);
	rig_down(&g);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 2 + 4 + 8);
}

/* Two exporters share requests: one that answers and one that refuses. */
static void test_shared_requests_add_up(void)
{
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_transport_result no = answer(OP_GRPC_INTERNAL, -1);
	struct op_export_settings s = quick();
	struct op_sink *second = NULL;
	struct rig g;
	struct rig h;
	int i;

	s.queue_bytes = 1 << 20;
	rig_up(&g, &s, &ok, 1);
	rig_up(&h, &s, &no, 1);
	/* The second delivery with the first one's books. */
	h.sink->ops->free(h.sink);
	h.fake.closed = h.fake.cancelled = false;
	CHECK_OK(op_delivery_new(&g.base, &s, &fake_ops, &h.fake, &second));
	for (i = 0; i < 200; i++) {
		struct op_request *r = NULL;

		CHECK_OK(op_request_new(&g.ledger, strdup("abc"), 3, 5, 2, &r));
		g.sink->ops->submit(g.sink, r);
		second->ops->submit(second, r);
	}
	CHECK_INT(second->ops->flush(second, UINT64_MAX), 0);
	CHECK_INT(flush(&g, 10000), 0);
	CHECK_INT(g.stats.samples_exported, 1000);
	CHECK_INT(g.stats.samples_pending, 0);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_REFUSED], 0);
	CHECK_INT(g.stats.requests_sent, 200);
	h.sink = second;
	rig_down(&h);
	rig_down(&g);
}

static void test_forked_child_touches_nothing(void)
{
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = quick();
	int status = 0;
	struct rig g;
	pid_t pid;

	rig_up(&g, &s, &ok, 1);
	hold(&g.fake, true);
	submit(&g, "a", 3);
	wait_for_send(&g.fake);
	(void)fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		(void)alarm(10);
		g.sink->ops->forked(g.sink);
		g.sink->ops->free(g.sink);
		_exit(g.fake.closed || g.fake.cancelled);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	hold(&g.fake, false);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 3);
	rig_down(&g);
}

static const char CERTIFICATE[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBbzCCARWgAwIBAgIUJ/0Ptghv+2nZ2/EbaTJYYNdI7bgwCgYIKoZIzj0EAwIw\n"
	"DDEKMAgGA1UEAwwBYTAgFw0yNjExMjMxNjU2MjVaGA8yMTI2MTAzMDE2NTYyNVow\n"
	"DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEcxeCpmvGqv\n"
	"92eGsbehLqk7R7Dua3KLC1wM+MdcwWsg2jCwd8esQ2STu3YcZHyeppYMiiomgL7y\n"
	"ovvxvSOyG/ujUzBRMB0GA1UdDgQWBBRUH3UUy/Nh1CBSFI4XNSCoBUMD/zAfBgNV\n"
	"HSMEGDAWgBRUH3UUy/Nh1CBSFI4XNSCoBUMD/zAPBgNVHRMBAf8EBTADAQH/MAoG\n"
	"CCqGSM49BAMCA0gAMEUCIEokUCLBm4zMYSqdURGIWl4cYeG2Tye+sMt3H8mqqnFw\n"
	"AiEA4Zkwn70xt4WGrfLv9AE6pxeGYDkef+6QufTa33gdqwI=\n"
	"-----END CERTIFICATE-----\n";

/* New certificates that the transport could not take are not forgotten. */
static void test_certificates_are_tried_again(void)
{
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	char path[] = "/tmp/otelprof-delivery-XXXXXX";
	struct op_export_settings s = quick();
	int fd = mkstemp(path);
	struct rig g;

	CHECK(fd >= 0);
	CHECK(write(fd, CERTIFICATE, sizeof(CERTIFICATE) - 1) > 0 && !close(fd));
	s.certs.tls = true;
	s.certs.files[OP_CERT_CA].path = strdup(path);
	s.certs.files[OP_CERT_CA].from = "ca_file";
	rig_up(&g, &s, &ok, 1);
	g.fake.tls_fails = 2;
	submit(&g, "a", 1);
	submit(&g, "b", 1);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK(said(&g, "the new certificates cannot be used"));
	CHECK_INT(g.fake.tls_sets, 2);
	submit(&g, "c", 1);
	submit(&g, "d", 1);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.tls_sets, 3);
	CHECK_INT(g.stats.samples_exported, 4);
	rig_down(&g);
	CHECK(!unlink(path));
}

TEST_MAIN({ "requests_go_in_order", test_requests_go_in_order },
	  { "unavailable_is_tried_again", test_unavailable_is_tried_again },
	  { "errno_is_tried_again", test_errno_is_tried_again },
	  { "flush_ends_a_back_off", test_flush_ends_a_back_off },
	  { "server_s_delay_is_kept", test_server_s_delay_is_kept },
	  { "refused_is_dropped_at_once", test_refused_is_dropped_at_once },
	  { "patience_ends", test_patience_ends },
	  { "too_long_a_delay_is_given_up", test_too_long_a_delay_is_given_up },
	  { "oldest_is_dropped_first", test_oldest_is_dropped_first },
	  { "waiting_for_a_try_is_droppable", test_waiting_for_a_try_is_droppable },
	  { "partial_success_is_counted", test_partial_success_is_counted },
	  { "free_cuts_a_send_short", test_free_cuts_a_send_short },
	  { "free_ends_a_back_off", test_free_ends_a_back_off },
	  { "abandoned_is_counted", test_abandoned_is_counted },
	  { "shared_requests_add_up", test_shared_requests_add_up },
	  { "certificates_are_tried_again", test_certificates_are_tried_again },
	  { "forked_child_touches_nothing", test_forked_child_touches_nothing })
