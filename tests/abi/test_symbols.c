/* SPDX-License-Identifier: Apache-2.0 */
/* Every public call is exported: the address of each is taken from the shared library. */
#include <otelprof/otelprof.h>

#include "test.h"

static void test_every_call_has_an_address(void)
{
	const void *const calls[] = {
		(const void *)otelprof_abandon,
		(const void *)otelprof_doctor,
		(const void *)otelprof_drop_name,
		(const void *)otelprof_export,
		(const void *)otelprof_exporter_callback,
		(const void *)otelprof_exporter_file,
		(const void *)otelprof_exporter_grpc,
		(const void *)otelprof_exporter_http,
		(const void *)otelprof_flush,
		(const void *)otelprof_free,
		(const void *)otelprof_get_fd,
		(const void *)otelprof_get_stats,
		(const void *)otelprof_init,
		(const void *)otelprof_last_error,
		(const void *)otelprof_poll,
		(const void *)otelprof_set_filter,
		(const void *)otelprof_set_kinds,
		(const void *)otelprof_set_rate,
		(const void *)otelprof_start,
		(const void *)otelprof_stop,
		(const void *)otelprof_strerror,
		(const void *)otelprof_unwind_errors,
		(const void *)otelprof_unwind_files,
		(const void *)otelprof_version,
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
	CHECK_INT(otelprof_poll(NULL, 0), -EINVAL);
	CHECK_INT(otelprof_export(NULL), -EINVAL);
	CHECK_INT(otelprof_flush(NULL, 0), -EINVAL);
	CHECK_INT(otelprof_abandon(NULL), -EINVAL);
	CHECK_INT(otelprof_get_fd(NULL), -EINVAL);
	CHECK_INT(otelprof_get_stats(NULL, NULL), -EINVAL);
	CHECK_INT(otelprof_init(NULL, NULL), -EINVAL);
	CHECK_OK(otelprof_last_error(NULL, &info));
	CHECK_INT(info.code, -EINVAL);
}

static void test_drop_reasons_have_names(void)
{
	unsigned int i;

	for (i = 0; i <= OTELPROF_DROP_SPILL; i++)
		CHECK(otelprof_drop_name(i));
	CHECK(!otelprof_drop_name(OTELPROF_DROP_SPILL + 1));
	CHECK(!otelprof_drop_name(UINT32_MAX));
}

TEST_MAIN({ "every_call_has_an_address", test_every_call_has_an_address },
	  { "the_version_is_the_headers", test_the_version_is_the_headers },
	  { "a_null_handle_is_refused", test_a_null_handle_is_refused },
	  { "drop_reasons_have_names", test_drop_reasons_have_names })
