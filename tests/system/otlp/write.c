/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a made-up window for other decoders: write DIR SEED SAMPLES MAX_BYTES puts the
 * requests into DIR/request-N.bin and what they must hold into DIR/samples.txt.
 */
#include "model.h"
#include "profile/otlp/encode.h"

struct output {
	const char *dir;
	int requests;
};

static FILE *create(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f)
		TEST_FAIL("%s: %s", path, strerror(errno));
	return f;
}

static int write_request(void *data, void *bytes, size_t len, uint64_t samples)
{
	struct output *o = data;
	char name[64];
	FILE *f;

	(void)snprintf(name, sizeof(name), "request-%d.bin", ++o->requests);
	f = create(o->dir, name);
	CHECK_INT(fwrite(bytes, 1, len, f), len);
	CHECK_INT(fclose(f), 0);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct op_otlp_attribute host = { "host.name", "box" };
	const struct op_window_config config = { .period_ns = 50000000 };
	struct model m = { .processes = 20,
			   .locations = 2000,
			   .stack_max = 40,
			   .events = 2,
			   .start_ns = UINT64_C(1700000000000000000),
			   .length_ns = UINT64_C(5000000000) };
	struct op_otlp_options options = { .version = "1.2.3",
					   .attributes = &host,
					   .attributes_len = 1 };
	_cleanup_(op_window_freep) struct op_window *w = NULL;
	struct output o = { 0 };
	struct lines want = { 0 };
	uint64_t left_out;
	size_t i;
	FILE *f;

	if (argc != 5)
		TEST_FAIL("usage: write DIR SEED SAMPLES MAX_BYTES");
	o.dir = argv[1];
	m.random = strtoull(argv[2], NULL, 10) * 2 + 1;
	options.max_bytes = strtoull(argv[4], NULL, 10);
	options.start_ns = m.start_ns;
	options.end_ns = m.start_ns + m.length_ns;
	CHECK_OK(op_window_new(&config, &w));
	model_fill(&m, w, strtoull(argv[3], NULL, 10), &want);
	CHECK_OK(op_otlp_encode_kinds(w, &model_kinds, &options, write_request, &o,
				      &left_out));
	CHECK_INT(left_out, 0);
	f = create(o.dir, "samples.txt");
	for (i = 0; i < want.len; i++)
		(void)fprintf(f, "%s\n", want.line[i]);
	CHECK_INT(fclose(f), 0);
	lines_clear(&want);
	return 0;
}
