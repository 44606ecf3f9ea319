/* SPDX-License-Identifier: Apache-2.0 */
/* The gRPC exporter against a real server: every answer, accounted to the sample. */
#include "scenes.h"

#include "otelprof/error.h"

const struct transport transport = {
	.add = rig_add_grpc,
	.library = "libgrpc",
	.other_library = "libcurl",
	.refused = "status:13:no",
};

static void test_missing_module_is_an_error(void)
{
	const char *dir = getenv("OTELPROF_MODULE_DIR");
	char kept[512];
	struct rig g;

	CHECK(dir);
	(void)snprintf(kept, sizeof(kept), "%s", dir);
	rig_init(&g, "http://", "127.0.0.1", 1);
	CHECK(!setenv("OTELPROF_MODULE_DIR", "/nonexistent", 1));
	CHECK_INT(op_exporters_add_otlp(g.x, &g.config), -OTELPROF_E_MODULE);
	CHECK(strstr(g.log.message, "libotelprof-grpc.so"));
	CHECK(strstr(g.log.detail, "/nonexistent/libotelprof-grpc.so"));
	/* One that is there, but of another version. */
	CHECK(!setenv("OTELPROF_MODULE_DIR", getenv("OTELPROF_BAD_MODULE_DIR"), 1));
	CHECK_INT(op_exporters_add_otlp(g.x, &g.config), -OTELPROF_E_MODULE);
	CHECK(strstr(g.log.detail, "not a transport of this version"));
	CHECK(!process_maps("libgrpc"));
	CHECK_INT(op_exporters_len(g.x), 0);
	CHECK(!setenv("OTELPROF_MODULE_DIR", kept, 1));
	rig_down(&g);
}

static void test_unavailable_is_tried_again(void)
{
	const char *const steps[] = { "status:14:away", "status:4:slow", "ok", NULL };

	check_tried_again(steps, 5000, 0, "UNAVAILABLE: away; trying again");
}

static void test_retry_info_is_kept(void)
{
	const char *const steps[] = { "retry:14:700", "retry:8:300", "ok", NULL };

	check_tried_again(steps, 5000, 1000, "UNAVAILABLE: later");
}

static void test_refusals_are_dropped_and_explained(void)
{
	check_refused("status:8:full", "RESOURCE_EXHAUSTED: full");
	check_refused("status:3:bad", "INVALID_ARGUMENT: bad");
	check_refused("status:16:who", "UNAUTHENTICATED: who");
	check_refused("status:13:error unmarshalling request: x", "0.148");
	check_refused("status:12:unknown service", "service.profilesSupport");
}

/* As servers in Go answer what is compressed. */
static void test_answers_are_unpacked(void)
{
	check_partial("packed:3:too old");
	check_refused("bomb", "an answer that cannot be unpacked");
}

TEST_MAIN({ "callback_alone_maps_no_transport", test_callback_alone_maps_no_transport },
	  { "missing_module_is_an_error", test_missing_module_is_an_error },
	  { "unavailable_is_tried_again", test_unavailable_is_tried_again },
	  { "retry_info_is_kept", test_retry_info_is_kept },
	  { "refusals_are_dropped_and_explained",
	    test_refusals_are_dropped_and_explained },
	  { "answers_are_unpacked", test_answers_are_unpacked }, SCENES(SCENE_TEST))
