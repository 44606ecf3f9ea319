/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler inside a foreign event loop: one descriptor, one timer, no thread. It
 * takes each request as bytes, as an agent with a transport of its own would. Ends after
 * as many seconds as the argument says (5).
 */
#include <errno.h>
#include <otelprof/otelprof.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int on_request(void *userdata, const void *request, size_t len, uint64_t samples)
{
	unsigned int *requests = userdata;

	(void)request; /* an ExportProfilesServiceRequest, valid during this call */
	(*requests)++;
	printf("request of %zu bytes with %llu samples\n", len,
	       (unsigned long long)samples);
	return 0;
}

static int fail(struct otelprof *p, int error)
{
	struct otelprof_error_info why = { .size = sizeof(why) };

	fprintf(stderr, "%s\n",
		otelprof_last_error(p, &why) ? otelprof_strerror(error) : why.message);
	otelprof_free(p);
	return 1;
}

static int watch(int loop, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
}

/* The host program's event loop. The profiler's descriptor is one of many here. */
static int run(struct otelprof *p, int loop, int timer, unsigned int seconds)
{
	struct epoll_event event;
	uint64_t ticks;
	int r = 0;

	while (seconds && r >= 0) {
		if (epoll_wait(loop, &event, 1, -1) < 0) {
			r = errno == EINTR ? 0 : -errno;
		} else if (event.data.fd != timer) {
			r = otelprof_poll(p, 0);
		} else if (read(timer, &ticks, sizeof(ticks)) == sizeof(ticks)) {
			r = otelprof_export(p);
			seconds--;
		}
	}
	return r;
}

int main(int argc, char **argv)
{
	struct itimerspec second = { { 1, 0 }, { 1, 0 } };
	unsigned int seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 5;
	struct otelprof_callback_config callback;
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_config config;
	struct otelprof *p = NULL;
	unsigned int requests = 0;
	int loop, timer, r;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = 99;
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = on_request;
	callback.userdata = &requests;
	r = otelprof_init(&config, &why, &p);
	if (r < 0) {
		fprintf(stderr, "%s\n", why.message);
		return 1;
	}
	r = otelprof_exporter_callback(p, &callback);
	if (r >= 0)
		r = otelprof_start(p);
	if (r < 0)
		return fail(p, r);

	loop = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (loop < 0 || timer < 0 || timerfd_settime(timer, 0, &second, NULL) < 0 ||
	    watch(loop, timer) < 0 || watch(loop, otelprof_get_fd(p)) < 0)
		r = -errno;
	else
		r = run(p, loop, timer, seconds);
	(void)close(timer);
	(void)close(loop);
	if (r < 0)
		return fail(p, r);
	otelprof_free(p);
	return requests ? 0 : 1;
}
