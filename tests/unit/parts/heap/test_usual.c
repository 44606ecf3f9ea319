/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel verifies for long is there before the first file: a poll loads nothing. The
 * kernel's part is a pretended one here, and this program maps the sampler. */
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "../../process/world.h"
#include "kernel/capture.h"
#include "otelprof/config.h"
#include "parts/parts.h"
#include "parts/probes/attach.h"
#include "test.h"

static int attached; /* calls */
static int loaded;
static int loaded_first; /* before the first attachment */

int __wrap_op_capture_load_heap(struct op_capture *c, bool is_free,
				const struct op_argument argument[OP_ARGUMENTS_MAX],
				struct op_capture_heap *heap);
int __wrap_op_probe_attach(const struct op_probe_spec *spec,
			   const struct op_probe_place *place, uint32_t site, int program,
			   const char *sysfs_root);

int __wrap_op_capture_load_heap(struct op_capture *c, bool is_free,
				const struct op_argument argument[OP_ARGUMENTS_MAX],
				struct op_capture_heap *heap)
{
	loaded++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int __wrap_op_probe_attach(const struct op_probe_spec *spec,
			   const struct op_probe_place *place, uint32_t site, int program,
			   const char *sysfs_root)
{
	if (!attached++)
		loaded_first = loaded;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void test_programs_are_there_before(void)
{
	struct op_part_config config = { 0 };
	struct world w;
	void *heap = NULL;
	void *mapped = NULL;

	CHECK(dlopen(HEAP_SAMPLER, RTLD_NOW | RTLD_LOCAL));
	world_init(&w, NULL);
	world_learn_self(&w);
	config.processes = w.p;
	config.sampler = w.sampler;
	CHECK_OK(op_part_mapped.make(&config, &mapped));
	config.mapped = mapped;
	CHECK_OK(op_part_heap.make(&config, &heap));
	CHECK_OK(op_part_heap.set_kinds(heap, OTELPROF_KIND_HEAP));
	CHECK(attached > 0);
	CHECK_INT(loaded_first, 2);
	CHECK_INT(loaded, 2);
	op_part_heap.free(heap);
	op_part_mapped.free(mapped);
	world_deinit(&w);
}

TEST_MAIN({ "programs_are_there_before", test_programs_are_there_before })
