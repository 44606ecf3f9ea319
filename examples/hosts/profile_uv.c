/* SPDX-License-Identifier: Apache-2.0 */
/* The profiler in a libuv loop: a poll handle on its descriptor, and a timer that closes
 * a window each second. Ends after as many seconds as the argument says (3). */
#include <errno.h>
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

struct host {
	uv_loop_t *loop;
	uv_poll_t work;
	uv_timer_t second;
	struct otelprof *p;
	int seconds;
	unsigned long long samples;
	int error;
};

static int on_request(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct host *h = userdata;

	(void)request; /* an ExportProfilesServiceRequest, valid during this call */
	h->samples += samples;
	printf("request of %zu bytes with %llu samples\n", len,
	       (unsigned long long)samples);
	return 0;
}

/* After an error the handles are closed, so that the loop ends. */
static void note(struct host *h, int r)
{
	if (r >= 0 || r == -EINTR)
		return;
	h->error = r;
	uv_poll_stop(&h->work);
	uv_timer_stop(&h->second);
}

static void on_readable(uv_poll_t *work, int status, int events)
{
	struct host *h = work->data;

	(void)events;
	note(h, status < 0 ? status : otelprof_poll(h->p, 0));
}

static void on_second(uv_timer_t *timer)
{
	struct host *h = timer->data;

	note(h, otelprof_export(h->p));
	if (--h->seconds > 0)
		return;
	uv_poll_stop(&h->work);
	uv_timer_stop(&h->second);
}

static int run(struct host *h)
{
	struct otelprof_callback_config callback;
	int r;

	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = on_request;
	callback.userdata = h;
	r = otelprof_exporter_callback(h->p, &callback);
	if (r >= 0)
		r = otelprof_start(h->p);
	if (r >= 0)
		r = otelprof_get_fd(h->p);
	if (r < 0)
		return r;
	h->work.data = h->second.data = h;
	if ((r = uv_poll_init(h->loop, &h->work, r)) < 0 ||
	    (r = uv_poll_start(&h->work, UV_READABLE, on_readable)) < 0 ||
	    (r = uv_timer_init(h->loop, &h->second)) < 0 ||
	    (r = uv_timer_start(&h->second, on_second, 1000, 1000)) < 0)
		return r;
	uv_run(h->loop, UV_RUN_DEFAULT);
	return h->error;
}

int main(int argc, char **argv)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct host h = { .loop = uv_default_loop(),
			  .seconds = argc > 1 ? atoi(argv[1]) : 3 };
	struct otelprof_config config;
	int r;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = 99;
	r = otelprof_init(&config, &why, &h.p);
	if (r < 0) {
		fprintf(stderr, "%s\n", why.message);
		return 1;
	}
	r = run(&h);
	if (r < 0)
		fprintf(stderr, "%s\n",
			otelprof_last_error(h.p, &why) ? otelprof_strerror(r)
						       : why.message);
	otelprof_free(h.p);
	return r < 0 || !h.samples;
}
