/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "kernel/kinds/packed.h"
#include "kernel/state.h"
#include "otelprof/error.h"

enum {
	VERIFIER_LOG_BYTES = 256 * 1024,
	SELF_BYTES_MAX = 16 << 10,
	/* bytes of the end of the verifier's log, where the reason is */
	VERIFIER_LOG_SHOWN = 2000,
};

static const char SETTINGS_MAP[] = ".rodata.set"; /* bpf/event/settings.h */
static const char WALKERS_MAP[] = "op_walkers";
static const char HELD_MAP[] = "op_held"; /* bpf/event/named.h */

const char *const op_map_names[OP_MAPS] = {
	[OP_MAP_SLABS] = "op_slabs",
	[OP_MAP_RULES] = "op_rules",
	[OP_MAP_PROCESSES] = "op_processes",
	[OP_MAP_SLOTS] = "op_slots",
	[OP_MAP_COUNTERS] = "op_counters",
	[OP_MAP_CONTROLS] = "op_controls",
	[OP_MAP_RING] = "op_ring",
	[OP_MAP_ANNOUNCED] = "op_announced",
	[OP_MAP_REQUESTS] = "op_requests",
	[OP_MAP_COPIERS] = "op_copiers",
	[OP_MAP_TARGETS] = "op_targets",
	[OP_MAP_THINNINGS] = "op_thinnings",
	[OP_MAP_CLOCKS] = "op_clocks",
	[OP_MAP_CONTEXTS] = "op_contexts",
	[OP_MAP_LABEL_SETS] = "op_label_sets",
};

/* libbpf writes to stderr by default, and has one print function for the whole process.
 * Silence it during a call, then restore what the host had set. */
void *op_object_hush(void)
{
	return (void *)libbpf_set_print(NULL);
}

void op_object_unhush(void *before)
{
	(void)libbpf_set_print((libbpf_print_fn_t)before);
}

static int set_settings(struct bpf_object *object, const struct op_settings *settings)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, SETTINGS_MAP);

	if (!map)
		return 0; /* no program of this object uses them */
	return bpf_map__set_initial_value(map, settings, sizeof(*settings));
}

/* The descriptor of map @name of @walkers. -1: a new map is needed. */
static int map_of(const struct op_walkers *walkers, const char *name)
{
	if (!walkers)
		return -1;
	if (!strcmp(name, WALKERS_MAP))
		return walkers->fd;
	return strcmp(name, HELD_MAP) ? -1 : walkers->held_fd;
}

static int share_maps(struct op_capture *c, struct bpf_object *object,
		      const struct op_settings *settings,
		      const struct op_walkers *walkers)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		int fd = map_of(walkers, bpf_map__name(map));
		int i;

		for (i = 0; i < OP_MAPS; i++)
			if (!strcmp(bpf_map__name(map), op_map_names[i]))
				fd = c->map[i];
		if (fd >= 0) {
			int r = bpf_map__reuse_fd(map, fd);

			if (r < 0)
				return r;
		} else if (!strcmp(bpf_map__name(map), HELD_MAP) && !settings->holds) {
			/* the code that would use it is dead, so the program loads
			 * without the map */
			(void)bpf_map__set_autocreate(map, false);
		}
	}
	return 0;
}

/* Unpack the ELF file. The caller frees it. NULL: no memory. */
static void *unpack(const struct op_packed_object *packed)
{
	_cleanup_free_ void *bytes = malloc(packed->object_len);
	uLongf len = packed->object_len;

	if (!bytes || uncompress(bytes, &len, packed->bytes, packed->len) != Z_OK ||
	    len != packed->object_len)
		return NULL;
	return OP_TAKE_PTR(bytes);
}

/* libbpf copies what it needs, so the unpacked file is freed here. */
static struct bpf_object *open_packed(const struct op_object_source *source,
				      const struct bpf_object_open_opts *opts)
{
	_cleanup_free_ void *bytes = unpack(source->packed);
	struct bpf_object *object = NULL;

	if (bytes)
		object = bpf_object__open_mem(bytes, source->packed->object_len, opts);
	else
		errno = ENOMEM;
	return object;
}

struct bpf_object *op_object_peek(const struct op_object_source *source)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = source->name);

	return open_packed(source, &opts);
}

int op_object_open(struct op_capture *c, const struct op_object_source *source,
		   const struct op_settings *settings, const struct op_walkers *walkers,
		   struct bpf_object **ret)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = source->name);
	struct bpf_program *program;
	struct bpf_object *object;
	char path[64];
	int r;

	/* CO-RE relocations use the small copy of the kernel's types, if there is one */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", c->types_fd);
	if (c->types_fd >= 0 && access(path, R_OK) == 0)
		opts.btf_custom_path = path;
	object = open_packed(source, &opts);
	if (!object)
		return op_fail(c->log, -errno,
			       "the kernel programs '%s' could not be opened: %s",
			       source->name, strerror(errno));
	bpf_object__for_each_program(program, object)
		(void)bpf_program__set_autoload(program, false);
	r = set_settings(object, settings);
	if (r == 0)
		r = share_maps(c, object, settings, walkers);
	if (r < 0) {
		bpf_object__close(object);
		return op_fail(c->log, r,
			       "the kernel programs '%s' could not be prepared: %s",
			       source->name, strerror(-r));
	}
	*ret = object;
	return 0;
}

int op_object_want(struct bpf_object *object, const char *name, uint32_t type)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	if (!program)
		return -ENOENT;
	(void)bpf_program__set_type(program, (enum bpf_prog_type)type);
	return bpf_program__set_autoload(program, true);
}

const char *op_object_refusal(void)
{
	_cleanup_free_ char *status = NULL;
	_cleanup_free_ char *map = NULL;
	unsigned long first, parent, count;

	if (op_read_file("/proc/self/uid_map", SELF_BYTES_MAX, &map) >= 0 &&
	    (sscanf(map, "%lu %lu %lu", &first, &parent, &count) != 3 || first ||
	     parent || count != UINT32_MAX))
		return "this is a user namespace (/proc/self/uid_map), where nobody may "
		       "load kernel programs: run it outside";
	if (op_read_file("/proc/self/status", SELF_BYTES_MAX, &status) > 0 &&
	    strstr(status, "\nSeccomp:\t2\n"))
		return "a seccomp filter is on (/proc/self/status): it must allow bpf and "
		       "perf_event_open";
	return NULL;
}

static int load_failed(struct op_capture *c, const char *program, const char *verifier,
		       int error)
{
	size_t len = verifier ? strlen(verifier) : 0;
	const char *refusal = op_object_refusal();
	int r;

	if (error == -EPERM || (refusal && !len))
		return op_fail(c->log, -OTELPROF_E_CAPABILITY,
			       "loading the kernel programs is not permitted: %s",
			       refusal ? refusal
				       : "CAP_BPF and CAP_PERFMON (or root) are needed");
	if (error == -ENOMEM)
		return op_fail(c->log, error,
			       "there is not enough memory for the kernel's maps; "
			       "on kernels before 5.11 raise RLIMIT_MEMLOCK");
	if (error == -EMFILE || error == -ENFILE)
		return op_fail(
			c->log, error,
			"there are not enough descriptors for the kernel programs: "
			"raise RLIMIT_NOFILE");
	if (!len)
		return op_fail(c->log, error, "loading the kernel programs failed: %s",
			       strerror(-error));
	r = op_fail(
		c->log, -OTELPROF_E_VERIFIER,
		"this kernel's verifier refused the program %s: %s; please report it with "
		"the kernel's version",
		program, strerror(-error));
	op_fail_detail(c->log,
		       verifier +
			       (len > VERIFIER_LOG_SHOWN ? len - VERIFIER_LOG_SHOWN : 0));
	return r;
}

int op_object_load(struct op_capture *c, struct bpf_object *object)
{
	_cleanup_free_ char *log = calloc(1, VERIFIER_LOG_BYTES);
	struct bpf_program *program;
	const char *failed = "?";
	int r;

	if (!log)
		return -ENOMEM;
	bpf_object__for_each_program(program, object)
		if (bpf_program__autoload(program))
			(void)bpf_program__set_log_buf(program, log, VERIFIER_LOG_BYTES);
	r = bpf_object__load(object);
	if (r == 0)
		return 0;
	bpf_object__for_each_program(program, object)
		if (bpf_program__autoload(program) && bpf_program__fd(program) < 0)
			failed = bpf_program__name(program);
	return load_failed(c, failed, log, r);
}

static int own(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : copy;
}

int op_object_program_fd(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	return program ? own(bpf_program__fd(program)) : -ENOENT;
}

int op_object_map_fd(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? own(bpf_map__fd(map)) : -ENOENT;
}

void op_object_close(struct bpf_object *object)
{
	bpf_object__close(object);
}
