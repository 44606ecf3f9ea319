/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the programs that the kernel left out, because the same one was at work on the CPU:
 * they are lost samples, also after their kind was turned off. */
#include <dlfcn.h>
#include <linux/bpf.h>
#include <string.h>

#include <otelprof/otelprof.h>

#include "drops.h"
#include "test.h"

enum {
	MISSED = 7,
	POLL_MS = 50,
};

static uint64_t missed;

__attribute__((visibility("default"))) int bpf_obj_get_info_by_fd(int fd, void *info,
								  uint32_t *len);

/* In place of libbpf's, so that the kernel seems to have left out runs of one program. */
int bpf_obj_get_info_by_fd(int fd, void *info, uint32_t *len)
{
	int (*real)(int, void *, uint32_t *) = dlsym(RTLD_NEXT, "bpf_obj_get_info_by_fd");
	struct bpf_prog_info *program = info;
	int r;

	CHECK(real);
	r = real(fd, info, len);
	if (r == 0 && *len >= sizeof(*program) &&
	    strcmp(program->name, "op_signals") == 0)
		program->recursion_misses = missed;
	return r;
}

/* Returns the samples that are said to be lost by nesting. */
static uint64_t check_account(struct otelprof *p, uint64_t fewest)
{
	uint64_t nested = drops_of(p, "nested");
	struct otelprof_stats s;

	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(p, &s));
	CHECK_INT(s.samples_taken, s.samples_exported + s.samples_filtered +
					   s.samples_pending + s.samples_dropped);
	CHECK(s.samples_dropped >= fewest);
	return nested;
}

static void test_missed_runs_are_dropped_samples(void)
{
	struct otelprof_config config;
	struct otelprof *p = NULL;
	int r;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_SIGNALS;
	r = otelprof_init(&config, NULL, &p);
	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", otelprof_strerror(r));
	CHECK_OK(r);
	CHECK_OK(otelprof_start(p));
	CHECK(otelprof_poll(p, POLL_MS) >= 0);
	CHECK_INT(check_account(p, 0), 0);
	missed = MISSED;
	CHECK_INT(check_account(p, MISSED), MISSED);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU));
	CHECK_INT(check_account(p, MISSED), MISSED);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_SIGNALS));
	CHECK_INT(check_account(p, 2 * MISSED), 2 * MISSED);
	CHECK_OK(otelprof_stop(p));
	otelprof_free(p);
}

TEST_MAIN({ "dropped", test_missed_runs_are_dropped_samples })
