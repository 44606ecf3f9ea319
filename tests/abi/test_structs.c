/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each struct that callers fill or get, in the size of version 0.1, in that of the library, and in
 * larger ones. Every block has its size and no byte more, so that a sanitizer sees what goes past
 * it. later.py builds this with headers that are older or newer than the library's, too: the
 * program's structs have OWN_MORE bytes more than those of this version, the library's LIB_MORE.
 */
#include <otelprof/context.h>
#include <otelprof/otelprof.h>
#include <stddef.h>

#include "structs.h" /* OP_STRUCTS: OP_STRUCT(name) of each */
#include "test.h"

#ifndef OWN_MORE
#define OWN_MORE 0
#define LIB_MORE 0
#endif

enum {
	SIZE_MAX_READ = 4096,
	TAIL_BYTES = 24,
	CANARY = 0xa5,
	FRAMES = 64,
	ROUNDS_MAX = 3000, /* a minute: on a busy machine its tables come late */
};

#define THROUGH(type, member) (offsetof(type, member) + sizeof(((type *)NULL)->member))

/* How a struct is used. One that is only handed to callbacks has no call of its own. */
enum use {
	CONFIGURES = 1, /* a caller fills it, the library reads it */
	TELLS = 2,	/* a caller gives it, the library fills it */
	HANDED = 4,	/* the library's, for a callback or as a result */
};

struct row {
	const char *name;
	size_t own;   /* its size in this program's headers */
	size_t first; /* and in version 0.1 */
	unsigned int use;
	bool live; /* needs a handle */
	/* fill what a library reads, in a block of at least @first bytes */
	void (*fill)(void *s);
	/* give it to the library */
	int (*configure)(struct otelprof *p, void *s);
	int (*tell)(struct otelprof *p, void *s);
	/* does it hold what the library is to tell? */
	bool (*told)(const void *s);
};

static size_t size_of(const void *s)
{
	return *(const size_t *)s;
}

static bool handed[64]; /* by row: a callback had one of the right size */

static void check_handed(const char *name, const void *s, size_t own);

#define HAND(type, s) check_handed(#type, (s), sizeof(struct type))

/* What the rows do, in their order. */

static int doctor(struct otelprof *p, void *s);

static int get_config(struct otelprof *p, void *s)
{
	struct otelprof_settings *settings = NULL;
	int r;

	CHECK_OK(otelprof_settings_new(&settings));
	CHECK_OK(otelprof_settings_set(settings, "max_processes", "77", NULL));
	r = otelprof_settings_get_config(settings, s);
	otelprof_settings_free(settings);
	return r;
}

static bool config_told(const void *s)
{
	return ((const struct otelprof_config *)s)->max_processes == 77;
}

static void fill_config(void *s)
{
	((struct otelprof_config *)s)->max_processes = 77;
}

static int give_otlp(struct otelprof *p, void *s)
{
	int number = otelprof_exporter_otlp(p, s);

	/* nobody listens, and there is nothing to send */
	return number < 0 ? number : otelprof_exporter_remove(p, number, 1000);
}

static void fill_otlp(void *s)
{
	((struct otelprof_otlp_config *)s)->endpoint = "http://127.0.0.1:1";
	((struct otelprof_otlp_config *)s)->protocol = OTELPROF_PROTOCOL_HTTP;
}

static int get_otlp(struct otelprof *p, void *s)
{
	struct otelprof_settings *settings = NULL;
	int r;

	CHECK_OK(otelprof_settings_new(&settings));
	CHECK_OK(otelprof_settings_set(settings, "timeout_ms", "77", NULL));
	r = otelprof_settings_get_otlp(settings, s);
	otelprof_settings_free(settings);
	return r;
}

static bool otlp_told(const void *s)
{
	return ((const struct otelprof_otlp_config *)s)->timeout_ms == 77;
}

static char file_path[] = "/tmp/otelprof-structs-XXXXXX";

static int give_file(struct otelprof *p, void *s)
{
	int number = otelprof_exporter_file(p, s);

	return number < 0 ? number : otelprof_exporter_remove(p, number, 1000);
}

static void fill_file(void *s)
{
	((struct otelprof_file_config *)s)->path = file_path;
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	return 0;
}

static int give_callback(struct otelprof *p, void *s)
{
	int number = otelprof_exporter_callback(p, s);

	return number < 0 ? number : otelprof_exporter_remove(p, number, 1000);
}

static void fill_callback(void *s)
{
	((struct otelprof_callback_config *)s)->fn = take;
}

static int give_rule_array(struct otelprof *p, void *s)
{
	size_t size = size_of(s);
	char *two;
	int r;

	if (size < sizeof(size))
		return otelprof_set_rules(p, s, 1);
	two = malloc(2 * size);
	CHECK(two);
	memcpy(two, s, size);
	memcpy(two + size, s, size);
	r = otelprof_set_rules(p, (const void *)two, 2);
	free(two);
	return r;
}

static int give_rule(struct otelprof *p, void *s)
{
	uint64_t number;
	int r = otelprof_add_rule(p, s, &number);

	return r < 0 ? r : otelprof_remove_rule(p, number);
}

static void fill_rule(void *s)
{
	((struct otelprof_rule *)s)->kind = OTELPROF_MATCH_UID;
	((struct otelprof_rule *)s)->sample_rate_hz = 99;
}

static int give_events(struct otelprof *p, void *s)
{
	int r = otelprof_set_events(p, s);

	CHECK_OK(otelprof_set_events(p, NULL));
	return r;
}

static int get_stats(struct otelprof *p, void *s)
{
	return otelprof_get_stats(p, s);
}

static bool stats_told(const void *s)
{
	return ((const struct otelprof_stats *)s)->sample_period_ns == 50000000;
}

static int get_exporter_stats(struct otelprof *p, void *s)
{
	struct otelprof_callback_config callback;
	int number;
	int r;

	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = take;
	number = otelprof_exporter_callback(p, &callback);
	CHECK_OK(number);
	r = otelprof_get_exporter_stats(p, number, s);
	CHECK_OK(otelprof_exporter_remove(p, number, 1000));
	return r;
}

static bool has_error(const struct otelprof_error_info *info)
{
	return info->size >= THROUGH(struct otelprof_error_info, code) &&
	       info->code == -EINVAL;
}

/* Settings take it in the sizes in which otelprof_init() does. */
static bool settings_give_error(const void *s)
{
	size_t room = size_of(s) < sizeof(size_t) ? sizeof(size_t) : size_of(s);
	struct otelprof_settings *settings = NULL;
	void *copy = malloc(room);
	bool has;

	CHECK(copy);
	memcpy(copy, s, room);
	CHECK_OK(otelprof_settings_new(&settings));
	CHECK_INT(otelprof_settings_set(settings, "no_key", "", copy), -EINVAL);
	has = has_error(copy);
	otelprof_settings_free(settings);
	free(copy);
	return has;
}

static int get_error(struct otelprof *p, void *s)
{
	bool of_settings = settings_give_error(s);

	/* it fails in any case, and tells why unless the struct is refused */
	CHECK_INT(otelprof_init(NULL, s, NULL), -EINVAL);
	CHECK_INT(of_settings, has_error(s));
	return has_error(s) ? 0 : -EINVAL;
}

static bool error_told(const void *s)
{
	return ((const struct otelprof_error_info *)s)->code == -EINVAL &&
	       strstr(((const struct otelprof_error_info *)s)->message, "ret is NULL");
}

static int publish(struct otelprof *p, void *s)
{
	int r = otelprof_context_publish(s);

	otelprof_context_unpublish();
	return r;
}

static void fill_context(void *s)
{
	static const char *const keys[] = { "http.route" };

	((struct otelprof_process_context *)s)->keys = keys;
	((struct otelprof_process_context *)s)->keys_len = 1;
}

#define ROW(type, last) #type, sizeof(struct type), THROUGH(struct type, last)

static const struct row rows[] = {
	{ ROW(otelprof_config, attributes_len), CONFIGURES | TELLS, false, fill_config,
	  doctor, get_config, config_told },
	{ ROW(otelprof_otlp_config, reserved0), CONFIGURES | TELLS, true, fill_otlp,
	  give_otlp, get_otlp, otlp_told },
	{ ROW(otelprof_file_config, reserved0), CONFIGURES, true, fill_file, give_file },
	{ ROW(otelprof_callback_config, max_request_bytes), CONFIGURES, true,
	  fill_callback, give_callback },
	{ ROW(otelprof_rule, keep_one_in), CONFIGURES | HANDED, true, fill_rule,
	  give_rule },
	{ ROW(otelprof_rule, keep_one_in), CONFIGURES, true, fill_rule, give_rule_array },
	{ ROW(otelprof_events, window), CONFIGURES, true, NULL, give_events },
	{ ROW(otelprof_process_context, keys_len), CONFIGURES, false, fill_context,
	  publish },
	{ ROW(otelprof_stats, sample_period_ns), TELLS, true, NULL, NULL, get_stats,
	  stats_told },
	{ ROW(otelprof_exporter_stats, bytes_sent), TELLS, true, NULL, NULL,
	  get_exporter_stats },
	{ ROW(otelprof_error_info, detail), TELLS, false, NULL, NULL, get_error,
	  error_told },
	{ ROW(otelprof_settings_key, reserved0), HANDED, false },
	{ ROW(otelprof_doctor_row, reserved0), HANDED, false },
	{ ROW(otelprof_executable, pid), HANDED, true },
	{ ROW(otelprof_process, attributes_len), HANDED, true },
	{ ROW(otelprof_window, samples), HANDED, true },
	{ ROW(otelprof_unwind_file, file_count), HANDED, true },
};

enum {
	ROWS = sizeof(rows) / sizeof(rows[0]),
};

static const struct row *row_of(const char *name)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	TEST_FAIL("struct %s has no row in this test", name);
}

/* The size that the library knows. */
static size_t known(const struct row *row)
{
	return row->own - OWN_MORE + LIB_MORE;
}

static void check_handed(const char *name, const void *s, size_t own)
{
	const struct row *row = row_of(name);

	if (size_of(s) != known(row))
		TEST_FAIL("%s: a callback had one of %zu bytes, not %zu", name,
			  size_of(s), known(row));
	handed[row - rows] = true;
}

static void on_doctor(void *userdata, const struct otelprof_doctor_row *row)
{
	HAND(otelprof_doctor_row, row);
	CHECK(*row->feature && row->state <= OTELPROF_DOCTOR_MISSING);
}

static int doctor(struct otelprof *p, void *s)
{
	int r = otelprof_doctor(s, on_doctor, NULL);

	return r > 0 ? 0 : r; /* how many features are missing here */
}

/* A block of @size bytes, of which the first say so and the others are zero, or CANARY where
 * the library fills it. */
static void *block(const struct row *row, size_t size, bool telling)
{
	size_t room = size < sizeof(size) ? sizeof(size) : size;
	char *s = malloc(room);

	CHECK(s);
	memset(s, telling ? CANARY : 0, room);
	if (row->fill && !telling && size >= row->first)
		row->fill(s);
	*(size_t *)(void *)s = size;
	return s;
}

static void configure(struct otelprof *p, const struct row *row, size_t size, size_t set,
		      int want)
{
	char *s = block(row, size, false);
	int r;

	if (set)
		s[set] = 1;
	r = row->configure(p, s);
	if (r != want)
		TEST_FAIL("%s of %zu bytes%s gives %d, not %d", row->name, size,
			  set ? " with a later field set" : "", r, want);
	free(s);
}

static void tell(struct otelprof *p, const struct row *row, size_t size)
{
	unsigned char *s = block(row, size, true);
	size_t i;
	int r = row->tell(p, s);

	if (r != 0)
		TEST_FAIL("%s of %zu bytes gives %d", row->name, size, r);
	CHECK_INT(size_of(s), size);
	CHECK(!row->told || row->told(s));
	for (i = known(row); i < size; i++)
		CHECK_INT(s[i], 0); /* of a later version: absent */
	free(s);
}

static void refuse_to_tell(struct otelprof *p, const struct row *row, size_t size)
{
	unsigned char *s = block(row, size, true);
	size_t i;
	int r = row->tell(p, s);

	if (r != -EINVAL)
		TEST_FAIL("%s of %zu bytes gives %d", row->name, size, r);
	for (i = sizeof(size); i < size; i++)
		CHECK_INT(s[i], CANARY); /* nothing is written */
	free(s);
}

static void run(struct otelprof *p, const struct row *row)
{
	const size_t right[] = { row->first, row->own, row->own - OWN_MORE, known(row),
				 known(row) + TAIL_BYTES };
	const size_t wrong[] = { 0, 1, row->first - 1, SIZE_MAX_READ + 1 };
	size_t i;

	for (i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		if (row->use & CONFIGURES)
			configure(p, row, right[i], 0, 0);
		if (row->use & TELLS)
			tell(p, row, right[i]);
	}
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (row->use & CONFIGURES)
			configure(p, row, wrong[i], 0, -EINVAL);
		if (row->use & TELLS)
			refuse_to_tell(p, row, wrong[i]);
	}
	if (row->use & CONFIGURES) {
		configure(p, row, known(row) + TAIL_BYTES, known(row), -E2BIG);
		configure(p, row, known(row) + TAIL_BYTES, known(row) + TAIL_BYTES - 1,
			  -E2BIG);
		configure(p, row, SIZE_MAX_READ, SIZE_MAX_READ - 1, -E2BIG);
	}
}

static const char *const all[] = {
#define OP_STRUCT(name) #name,
	OP_STRUCTS
#undef OP_STRUCT
};

static void run_all(struct otelprof *p)
{
	size_t i;

	for (i = 0; i < ROWS; i++) {
		CHECK(rows[i].first <= rows[i].own - OWN_MORE);
		if (rows[i].live == (p != NULL))
			run(p, &rows[i]);
	}
}

static void test_every_struct_of_the_headers_has_a_row(void)
{
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CHECK(row_of(all[i]));
	run_all(NULL);
}

static void on_key(void *userdata, const struct otelprof_settings_key *key)
{
	HAND(otelprof_settings_key, key);
	CHECK(strncmp(key->variable, "OTELPROF_", 9) == 0 && *key->text);
}

/* Those that never grow have no size: a change of one is a break. */
static void test_structs_that_never_grow(void)
{
	CHECK_INT(sizeof(struct otelprof_attribute), 2 * sizeof(char *));
	CHECK_INT(sizeof(struct otelprof_context_attribute), 2 * sizeof(char *));
	CHECK_INT(sizeof(struct otelprof_context), 640);
}

static void test_the_init_call_does_what_the_macro_does(void)
{
	struct otelprof_process_context macro = OTELPROF_PROCESS_CONTEXT_INIT;
	unsigned char bytes[sizeof(macro) + TAIL_BYTES];

	memset(bytes, CANARY, sizeof(bytes));
	otelprof_process_context_init((void *)bytes, sizeof(macro));
	CHECK(memcmp(bytes, &macro, sizeof(macro)) == 0);
	CHECK_INT(bytes[sizeof(macro)], CANARY);
}

static void test_rows_of_settings(void)
{
	struct otelprof_settings *settings = NULL;
	const struct otelprof_rule *rule;
	size_t len = 0;

	CHECK_OK(otelprof_settings_keys(on_key, NULL));
	CHECK_OK(otelprof_settings_new(&settings));
	CHECK_OK(otelprof_settings_set(settings, "rules", "include uid:0", NULL));
	rule = otelprof_settings_get_rules(settings, &len);
	CHECK_INT(len, 1);
	HAND(otelprof_rule, rule);
	otelprof_settings_free(settings);
}

static void on_rule(void *userdata, uint64_t number, const struct otelprof_rule *rule)
{
	HAND(otelprof_rule, rule);
	CHECK_INT(rule->sample_rate_hz, 99);
}

static void on_executable(void *userdata, const struct otelprof_executable *e)
{
	HAND(otelprof_executable, e);
}

static void on_process(void *userdata, const struct otelprof_process *process)
{
	HAND(otelprof_process, process);
}

static void on_window(void *userdata, const struct otelprof_window *window)
{
	HAND(otelprof_window, window);
}

static void on_file(void *userdata, const struct otelprof_unwind_file *row)
{
	HAND(otelprof_unwind_file, row);
}

/* Work for some milliseconds, deeper than the stacks that are taken. */
static __attribute__((noinline)) unsigned int deep(unsigned int frames)
{
	volatile unsigned int n = 0;

	if (frames)
		return deep(frames - 1) + 1 + n;
	while (n < 20000000)
		n = n + 1;
	return n;
}

static struct otelprof *start(void)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_callback_config callback;
	struct otelprof_events events;
	struct otelprof_config config;
	struct otelprof *p = NULL;
	int r;

	otelprof_config_init(&config, sizeof(config));
	config.max_frames = 16;
	r = otelprof_init(&config, &why, &p);
	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF || r == -EPERM)
		SKIP("no rights or no BTF here: %s", why.message);
	if (r < 0)
		TEST_FAIL("%s", why.message);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = take;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	otelprof_events_init(&events, sizeof(events));
	events.executable = on_executable;
	events.process = on_process;
	events.window = on_window;
	CHECK_OK(otelprof_set_events(p, &events));
	return p;
}

static void test_with_a_handle(void)
{
	struct otelprof *p = start();
	struct otelprof_rule rule;
	int fd = mkstemp(file_path);
	uint64_t number;
	size_t i;

	CHECK_OK(fd);
	CHECK_OK(otelprof_set_rate(p, 999));
	CHECK_OK(otelprof_start(p));
	for (i = 0; i < ROUNDS_MAX; i++) {
		CHECK(deep(FRAMES) > FRAMES);
		CHECK_OK(otelprof_poll(p, 10));
		CHECK_OK(otelprof_unwind_files(p, on_file, NULL));
		if (handed[row_of("otelprof_unwind_file") - rows] &&
		    handed[row_of("otelprof_executable") - rows])
			break;
	}
	CHECK_OK(otelprof_export(p));
	CHECK_OK(otelprof_stop(p));
	otelprof_rule_init(&rule, sizeof(rule));
	fill_rule(&rule);
	CHECK_OK(otelprof_add_rule(p, &rule, &number));
	CHECK_OK(otelprof_rules(p, on_rule, NULL));
	CHECK_OK(otelprof_remove_rule(p, number));
	CHECK_OK(otelprof_set_rate(p, 20));
	run_all(p);
	otelprof_free(p);
	CHECK_OK(remove(file_path));
	for (i = 0; i < ROWS; i++)
		if (rows[i].use & HANDED && !handed[i])
			TEST_FAIL("%s: no callback had one", rows[i].name);
}

TEST_MAIN({ "every_struct_of_the_headers_has_a_row",
	    test_every_struct_of_the_headers_has_a_row },
	  { "structs_that_never_grow", test_structs_that_never_grow },
	  { "the_init_call_does_what_the_macro_does",
	    test_the_init_call_does_what_the_macro_does },
	  { "rows_of_settings", test_rows_of_settings },
	  { "with_a_handle", test_with_a_handle })
