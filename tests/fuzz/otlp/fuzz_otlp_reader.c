/* SPDX-License-Identifier: Apache-2.0 */
/* A request from anywhere: read, checked, and written in every format of the exporter. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/macros.h"
#include "export/format/format.h"
#include "otelprof/export.h"
#include "otlp/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_violation(void *data, const char *sentence, uint64_t cases)
{
	uint64_t *sum = data;

	*sum += cases + (uint64_t)sentence[0];
}

static void write_as(uint32_t format, const uint8_t *data, size_t size)
{
	const struct op_format *f = op_format_get(format);
	struct op_collect *c = NULL;
	int fd;

	if (!f || op_format_collect(f, &c))
		return;
	(void)op_collect_add(c, data, size);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (f->write(c, fd))
		abort();
	(void)close(fd);
	(void)op_collect_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t formats[] = { OTELPROF_FORMAT_FOLDED, OTELPROF_FORMAT_HTML,
					    OTELPROF_FORMAT_PPROF };
	struct otlp_profiles *p = NULL;
	uint64_t sum = 0;

	if (otlp_read(data, size, &p, NULL) == 0 && otlp_check(p, on_violation, &sum) < 0)
		abort();
	(void)otlp_free(p);
	/* One of them each time: most of the time goes into what a format always writes. */
	write_as(formats[size % OP_ARRAY_SIZE(formats)], data, size);
	return 0;
}
