/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands requests of known samples to an exporter, for outage.py.
 *
 *   sender PROTOCOL URL SPILL_DIR LIFE EVERY_MS RETRY_MAX_MS QUEUE_BYTES [RETRY_FOR_MS]
 *
 * Each request has one profile, whose id is LIFE and the request's number, 8 bytes each, big
 * endian. Prints "submitted LIFE-NUMBER SAMPLES" after each was handed over. At the end of
 * its input, or at a line "end SECONDS", it flushes for so long, gives up the rest and prints
 * what became of all.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "export/exporter.h"

enum {
	ARGS = 8,
	NS_PER_MS = 1000000,
	MS_PER_S = 1000,
	PROFILE_ID_BYTES = 16,
	SAMPLES_MAX = 100,
	TABLES = 7,
};

static void print_line(void *userdata, int level, const char *message)
{
	(void)printf("log %d %s\n", level, message);
	(void)fflush(stdout);
}

/* A field of bytes; everything here is shorter than 128. */
static size_t put(uint8_t *to, unsigned int number, const void *bytes, size_t len)
{
	to[0] = (uint8_t)(number << 3 | 2);
	to[1] = (uint8_t)len;
	memcpy(to + 2, bytes, len);
	return len + 2;
}

/*
 * ExportProfilesServiceRequest { resource_profiles { scope_profiles { profiles {
 * samples { values: @samples }, profile_id } } }, dictionary }. Caller frees.
 */
static void *make_request(const uint8_t id[PROFILE_ID_BYTES], uint8_t samples,
			  size_t *ret_len)
{
	uint8_t a[128];
	uint8_t b[128];
	uint8_t *out = malloc(sizeof(a));
	size_t n;
	unsigned int table;

	n = put(a, 4, &samples, 1);		  /* Sample.values, packed */
	n = put(b, 2, a, n);			  /* Profile.samples */
	n += put(b + n, 7, id, PROFILE_ID_BYTES); /* Profile.profile_id */
	n = put(a, 2, b, n);			  /* ScopeProfiles.profiles */
	n = put(b, 2, a, n);			  /* ResourceProfiles.scope_profiles */
	n = put(a, 1, b, n);			  /* request.resource_profiles */
	memcpy(out, a, n);
	*ret_len = n;
	n = 0;
	for (table = 1; table <= TABLES; table++)
		n += put(a + n, table, "", 0); /* the zero entry of each table */
	*ret_len += put(out + *ret_len, 2, a, n);
	return out;
}

static void put_u64(uint8_t *to, uint64_t v)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		to[i] = (uint8_t)(v >> (56 - 8 * i));
}

static void submit_one(struct op_exporters *x, uint64_t life, uint64_t number)
{
	uint64_t samples = 1 + (number * 7 + life) % SAMPLES_MAX;
	uint8_t id[PROFILE_ID_BYTES];
	size_t len = 0;
	void *request;

	put_u64(id, life);
	put_u64(id + 8, number);
	request = make_request(id, (uint8_t)samples, &len);
	if (op_exporters_submit(x, request, len, samples) < 0)
		exit(1);
	(void)printf("submitted %" PRIu64 "-%" PRIu64 " %" PRIu64 "\n", life, number,
		     samples);
	(void)fflush(stdout);
}

static int add(struct op_exporters *x, char **argv, int argc)
{
	struct otelprof_otlp_config otlp;

	otelprof_otlp_config_init(&otlp, sizeof(otlp));
	otlp.protocol =
		strcmp(argv[1], "grpc") ? OTELPROF_PROTOCOL_HTTP : OTELPROF_PROTOCOL_GRPC;
	otlp.endpoint = argv[2];
	otlp.spill_dir = strcmp(argv[3], "-") ? argv[3] : NULL;
	otlp.retry_initial_ms = 50;
	otlp.timeout_ms = 1000;
	otlp.retry_max_ms = (uint32_t)atoi(argv[6]);
	otlp.queue_bytes = (uint64_t)atoll(argv[7]);
	if (argc > ARGS)
		otlp.retry_elapsed_ms = (uint32_t)atoi(argv[8]);
	return op_exporters_add_otlp(x, &otlp);
}

static void print_end(struct op_exporters *x)
{
	struct op_exporters_stats st;
	uint64_t dropped = 0;
	unsigned int i;

	op_exporters_get_stats(x, &st);
	for (i = 0; i < OP_DROPS; i++) {
		dropped += st.samples_dropped[i];
		if (st.samples_dropped[i])
			(void)printf("dropped %u %" PRIu64 "\n", i,
				     st.samples_dropped[i]);
	}
	(void)printf("end exported=%" PRIu64 " dropped=%" PRIu64 " pending=%" PRIu64
		     " spilled=%" PRIu64 " restored=%" PRIu64 " rejected=%" PRIu64
		     " sent=%" PRIu64 " errors=%" PRIu64 "\n",
		     st.samples_exported, dropped, st.samples_pending, st.samples_spilled,
		     st.samples_restored, st.profiles_rejected, st.requests_sent,
		     st.spill_errors);
}

/* Submit every @every_ms until there is a line; returns the seconds it says. */
static int run(struct op_exporters *x, uint64_t life, int every_ms)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char line[64] = "";
	uint64_t number = 0;
	int seconds = 0;

	do {
		submit_one(x, life, number++);
		(void)op_exporters_flush(x, 0, 0); /* the log */
	} while (poll(&in, 1, every_ms) != 1);
	if (fgets(line, sizeof(line), stdin))
		(void)sscanf(line, "end %d", &seconds);
	return seconds;
}

int main(int argc, char **argv)
{
	struct op_log log = { .fn = print_line, .level = OP_LOG_INFO };
	struct op_exporters *x = NULL;
	int seconds;

	if (argc < ARGS)
		return 2;
	if (op_exporters_new(&log, &x) < 0 || add(x, argv, argc) < 0) {
		(void)printf("failed %s\n", log.message);
		return 1;
	}
	seconds = run(x, strtoull(argv[4], NULL, 10), atoi(argv[5]));
	if (op_exporters_flush(x, 0, seconds * MS_PER_S) < 0)
		op_exporters_abandon(x);
	print_end(x);
	op_exporters_free(x);
	op_log_deinit(&log);
	return 0;
}
