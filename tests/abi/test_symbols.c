/* SPDX-License-Identifier: Apache-2.0 */
/* Every public call is exported: the address of each is taken from the shared library. */
#include <otelprof/otelprof.h>

#include "test.h"

static void test_every_call_has_an_address(void)
{
	const void *const calls[] = {
		(const void *)otelprof_abandon,
		(const void *)otelprof_add_rule,
		(const void *)otelprof_callback_config_init,
		(const void *)otelprof_config_init,
		(const void *)otelprof_doctor,
		(const void *)otelprof_drops,
		(const void *)otelprof_events_init,
		(const void *)otelprof_export,
		(const void *)otelprof_exporter_callback,
		(const void *)otelprof_exporter_file,
		(const void *)otelprof_exporter_otlp,
		(const void *)otelprof_exporter_remove,
		(const void *)otelprof_exporter_stats_init,
		(const void *)otelprof_file_config_init,
		(const void *)otelprof_flush,
		(const void *)otelprof_free,
		(const void *)otelprof_get_exporter_stats,
		(const void *)otelprof_get_fd,
		(const void *)otelprof_get_stats,
		(const void *)otelprof_init,
		(const void *)otelprof_last_error,
		(const void *)otelprof_otlp_config_init,
		(const void *)otelprof_pause,
		(const void *)otelprof_poll,
		(const void *)otelprof_remove_rule,
		(const void *)otelprof_resume,
		(const void *)otelprof_rule_init,
		(const void *)otelprof_rules,
		(const void *)otelprof_set_events,
		(const void *)otelprof_set_rules,
		(const void *)otelprof_set_kinds,
		(const void *)otelprof_set_probes,
		(const void *)otelprof_set_rate,
		(const void *)otelprof_settings_compare,
		(const void *)otelprof_settings_free,
		(const void *)otelprof_settings_get_config,
		(const void *)otelprof_settings_get_otlp,
		(const void *)otelprof_settings_get_probes,
		(const void *)otelprof_settings_get_rules,
		(const void *)otelprof_settings_keys,
		(const void *)otelprof_settings_new,
		(const void *)otelprof_settings_read,
		(const void *)otelprof_settings_read_environment,
		(const void *)otelprof_settings_read_file,
		(const void *)otelprof_settings_set,
		(const void *)otelprof_start,
		(const void *)otelprof_stats_init,
		(const void *)otelprof_stop,
		(const void *)otelprof_stop_within,
		(const void *)otelprof_strerror,
		(const void *)otelprof_unwind_errors,
		(const void *)otelprof_unwind_files,
		(const void *)otelprof_version,
		(const void *)otelprof_wakeup,
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		CHECK(calls[i]);
}

static void test_the_version_is_the_headers(void)
{
	CHECK_STR(otelprof_version(), OTELPROF_VERSION);
}

static void test_a_null_handle_is_refused(void)
{
	struct otelprof_error_info info = { .size = sizeof(info) };

	CHECK(!otelprof_free(NULL));
	CHECK_INT(otelprof_start(NULL), -EINVAL);
	CHECK_INT(otelprof_stop(NULL), -EINVAL);
	CHECK_INT(otelprof_stop_within(NULL, 0), -EINVAL);
	CHECK_INT(otelprof_poll(NULL, 0), -EINVAL);
	CHECK_INT(otelprof_wakeup(NULL), -EINVAL);
	CHECK_INT(otelprof_export(NULL), -EINVAL);
	CHECK_INT(otelprof_add_rule(NULL, NULL, NULL), -EINVAL);
	CHECK_INT(otelprof_remove_rule(NULL, 1), -EINVAL);
	CHECK_INT(otelprof_rules(NULL, NULL, NULL), -EINVAL);
	CHECK_INT(otelprof_set_events(NULL, NULL), -EINVAL);
	CHECK_INT(otelprof_pause(NULL), -EINVAL);
	CHECK_INT(otelprof_resume(NULL), -EINVAL);
	CHECK_INT(otelprof_flush(NULL, 0), -EINVAL);
	CHECK_INT(otelprof_abandon(NULL), -EINVAL);
	CHECK_INT(otelprof_get_fd(NULL), -EINVAL);
	CHECK_INT(otelprof_get_stats(NULL, NULL), -EINVAL);
	CHECK_INT(otelprof_drops(NULL, NULL, NULL), -EINVAL);
	CHECK_INT(otelprof_exporter_remove(NULL, 1, 0), -EINVAL);
	CHECK_INT(otelprof_get_exporter_stats(NULL, 1, NULL), -EINVAL);
	CHECK_INT(otelprof_last_error(NULL, &info), -EINVAL);
	CHECK_INT(otelprof_init(NULL, NULL, NULL), -EINVAL);
	CHECK_INT(otelprof_init(NULL, &info, NULL), -EINVAL);
	CHECK_INT(info.code, -EINVAL);
	CHECK(strstr(info.message, "ret is NULL"));
	info.size = 8;
	CHECK_INT(otelprof_init(NULL, &info, NULL), -EINVAL);
}

/* The library may be newer or older than the header of the caller: it writes as much as the
 * caller has, and no byte more. */
static void test_an_init_call_writes_what_the_caller_has(void)
{
	unsigned char bytes[sizeof(struct otelprof_config) + 64];

	memset(bytes, 0xa5, sizeof(bytes));
	otelprof_config_init((struct otelprof_config *)(void *)bytes, 24);
	CHECK_INT(*(size_t *)(void *)bytes, 24);
	CHECK_INT(bytes[23], 0);
	CHECK_INT(bytes[24], 0xa5);
	otelprof_config_init((struct otelprof_config *)(void *)bytes, sizeof(bytes));
	CHECK_INT(*(size_t *)(void *)bytes, sizeof(bytes));
	CHECK_INT(bytes[sizeof(bytes) - 1], 0);
	otelprof_config_init(NULL, 24);
}

TEST_MAIN({ "every_call_has_an_address", test_every_call_has_an_address },
	  { "the_version_is_the_headers", test_the_version_is_the_headers },
	  { "a_null_handle_is_refused", test_a_null_handle_is_refused },
	  { "an_init_call_writes_what_the_caller_has",
	    test_an_init_call_writes_what_the_caller_has })
