/* SPDX-License-Identifier: Apache-2.0 */
/* Probes in every mapped file, for two who want some. The kernel's part is a pretended one. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../process/world.h"
#include "parts/parts.h"
#include "parts/probes/attach.h"
#include "parts/probes/mapped_probes.h"
#include "test.h"

static int attached; /* calls */

int __wrap_op_probe_attach(const struct op_probe_spec *spec,
			   const struct op_probe_place *place, uint32_t site, int program,
			   const char *sysfs_root);

int __wrap_op_probe_attach(const struct op_probe_spec *spec,
			   const struct op_probe_place *place, uint32_t site, int program,
			   const char *sysfs_root)
{
	attached++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int load(void *ctx, size_t i, const struct op_argument argument[OP_ARGUMENTS_MAX])
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Of no file here, and of this program. */
static const struct op_mapped_probe NOWHERE = { OP_PROBE_STATIC, "otel_memory", "alloc" };
static const struct op_mapped_probe HERE = { OP_PROBE_USER, .symbol = "known_function" };

static struct op_mapped_probes *user_new(struct world *w,
					 const struct op_mapped_probe *probe)
{
	struct op_mapped_probes *x = calloc(1, sizeof(*x));

	CHECK(x);
	x->config = (struct op_mapped_probes_config){
		.executables = op_processes_executables(w->p),
		.what = "tests",
		.probe = probe,
		.len = 1,
		.load = load,
	};
	return x;
}

/* Users come and go one by one. Each gets the files that are mapped already. */
static void test_two_users(void)
{
	struct op_mapped_probes *heap;
	struct op_mapped_probes *other;
	struct op_part_config config = { 0 };
	struct world w;
	void *m = NULL;

	world_init(&w, NULL);
	world_learn_self(&w);
	config.processes = w.p;
	CHECK_OK(op_part_mapped.make(&config, &m));
	heap = user_new(&w, &NOWHERE);
	other = user_new(&w, &HERE);
	op_mapped_on(m, heap);
	CHECK_INT(heap->len, 0);
	op_mapped_on(m, other);
	CHECK_INT(other->len, 1);
	CHECK_INT(attached, 1);
	op_mapped_off(m, heap);
	CHECK_INT(other->len, 1);
	CHECK_INT(op_part_mapped.snapshot(m, w.window, OP_PART_END_EXPORT, NULL), 0);
	CHECK_INT(other->len, 1);
	op_mapped_on(m, heap);
	CHECK_INT(attached, 1);
	op_mapped_off(m, other);
	CHECK_INT(other->len, 0);
	op_mapped_off(m, heap);
	op_part_mapped.free(m);
	world_deinit(&w);
	free(heap);
	free(other);
}

TEST_MAIN({ "two_users", test_two_users })
