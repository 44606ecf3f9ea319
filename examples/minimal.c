/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles this host for ten seconds and sends the profiles to a Collector. */
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <time.h>

int main(void)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_otlp_config otlp;
	struct otelprof *p = NULL;
	time_t end = time(NULL) + 10;
	int r;

	otelprof_otlp_config_init(&otlp, sizeof(otlp)); /* from OTEL_EXPORTER_OTLP_* */
	if ((r = otelprof_init(NULL, &why, &p)) < 0) {
		fprintf(stderr, "%s\n", why.message);
		return 1;
	}
	if ((r = otelprof_exporter_otlp(p, &otlp)) < 0 || (r = otelprof_start(p)) < 0)
		goto out;
	while (r >= 0 && time(NULL) < end)
		r = otelprof_poll(p, 1000);
	(void)otelprof_stop(p);
	if (r >= 0 && (r = otelprof_export(p)) >= 0)
		printf("%d samples\n", r);
	if (r >= 0)
		r = otelprof_flush(p, 10000);
out:
	if (r < 0)
		fprintf(stderr, "%s\n",
			otelprof_last_error(p, &why) ? otelprof_strerror(r)
						     : why.message);
	otelprof_free(p);
	return r < 0;
}
