/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the list of probes, loads their programs, and attaches them while the kind is
 * on. */
#include "parts/probes/probes.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"
#include "kernel/capture.h"
#include "otelprof/otelprof.h"
#include "parts/parts.h"
#include "parts/probes/attach.h"
#include "parts/probes/spec.h"
#include "sample/sampler.h"

enum {
	/* Names by number, kept for samples that are not exported yet. */
	NAMES_MAX = 4096,
};

struct probe {
	const char *text; /* points to its name */
	uint32_t number;
	int program; /* program of the first site */
	/* Programs of further sites with values at other places, or -1. */
	int more[OP_PROBE_SITES_MAX];
	int fd[OP_PROBE_SITES_MAX]; /* attachments */
	/* For latency: the program that notes calls, and its attachments. */
	int call;
	int call_fd[OP_PROBE_SITES_MAX];
	int *cpu_fd; /* attachments of an event of perf, by CPU */
	uint32_t cpus;
};

/* Unit and meaning of the samples with this number. */
struct name {
	struct op_detail detail;
	struct op_probe_spec spec; /* holds the strings of the detail */
	char text[];
};

struct op_probes {
	struct op_part_config config;
	struct probe probe[OTELPROF_PROBES_MAX];
	size_t len;
	struct name *name[NAMES_MAX]; /* by number */
	uint32_t next;		      /* next number to try */
	bool on;
};

static void detach(struct probe *probe)
{
	uint32_t i;

	for (i = 0; i < OP_PROBE_SITES_MAX; i++) {
		op_closep(&probe->fd[i]);
		op_closep(&probe->call_fd[i]);
		op_closep(&probe->more[i]);
	}
	for (i = 0; i < probe->cpus; i++)
		op_closep(&probe->cpu_fd[i]);
	free(probe->cpu_fd);
	probe->cpu_fd = NULL;
	probe->cpus = 0;
	op_closep(&probe->call);
	op_closep(&probe->program);
}

static void probes_free(void *part)
{
	struct op_probes *p = part;
	size_t i;

	for (i = 0; i < p->len; i++)
		detach(&p->probe[i]);
	for (i = 0; i < NAMES_MAX; i++)
		free(p->name[i]);
	free(p);
}

/* The meaning of the number of a present or past probe, or NULL. */
static const struct op_detail *detail_of(void *ctx, uint32_t number)
{
	const struct op_probes *p = ctx;

	return number < NAMES_MAX && p->name[number] ? &p->name[number]->detail : NULL;
}

static int probes_make(const struct op_part_config *config, void **ret)
{
	struct op_probes *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->config = *config;
	op_sampler_name_detail(config->sampler, detail_of, p);
	*ret = p;
	return 0;
}

/* Set the sentence why the probe @text cannot be used. Returns @error. */
static int refuse(struct op_probes *p, const char *text, int error)
{
	struct op_log *log = p->config.log;

	switch (error) {
	case -EINVAL:
		return op_fail(log, error,
			       "\"%s\" is not a probe; probes are uprobe:FILE:SYMBOL, "
			       "uretprobe:FILE:SYMBOL, usdt:FILE:PROVIDER:NAME, "
			       "tracepoint:NAME, kprobe:SYMBOL, kretprobe:SYMBOL and "
			       "perf:EVENT; the first six may end with :argN or :retval, "
			       "those of programs with :argN.str or :retval.str, and "
			       "uprobe with :latency",
			       text);
	case -ERANGE:
		return op_fail(log, error,
			       "the value of \"%s\" is not in a place that can be read",
			       text);
	case -ENOENT:
		return op_fail(log, error, "the place of the probe \"%s\" does not exist",
			       text);
	case -EADDRNOTAVAIL:
		return op_fail(
			log, error,
			"\"%s\" is an indirect function, which chooses its code when "
			"the program starts: name that code",
			text);
	case -OP_PROBE_NO_RETURN:
		return op_fail(
			log, -EOPNOTSUPP,
			"\"%s\" is a function of a Go program, which a probe of its return "
			"would end: Go moves its stacks, and checks their return addresses",
			text);
	case -EOPNOTSUPP:
		return op_fail(log, error, "this kernel has no probes such as \"%s\"",
			       text);
	default:
		return op_fail(log, error, "the probe \"%s\" could not be attached: %s",
			       text, strerror(-error));
	}
}

/* A PMU interrupts by an NMI on x86-64, where a program may read user memory safely since
 * Linux 6.4 (bpf_probe_read_user() asks nmi_uaccess_okay()). */
static bool may_read_in_nmi(void)
{
#if defined(__x86_64__)
	unsigned int major = 0, minor = 0;
	struct utsname name;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 4));
#else
	return true;
#endif
}

/* Set the sentence why the event of perf @text cannot be used. Returns @error, and
 * -EOPNOTSUPP if there is no such event. */
static int refuse_event(struct op_probes *p, const char *text, int error)
{
	if (error != -ENOENT && error != -EOPNOTSUPP && error != -EINVAL &&
	    error != -ENXIO)
		return refuse(p, text, error);
	return op_fail(
		p->config.log, -EOPNOTSUPP,
		"this machine has no event \"%s\": events of the hardware need a PMU, "
		"which virtual machines often lack",
		text);
}

/* Find the place of @text. Returns 0, or -errno with a sentence. */
static int find(struct op_probes *p, const char *text, struct op_probe_spec *spec,
		struct op_probe_place *place)
{
	int r = op_probe_spec_parse(text, spec);

	*place = (struct op_probe_place){ .sites_len = 1 };
	if (r == 0 && spec->file)
		r = op_probe_place_find(spec, place);
	return r < 0 ? refuse(p, text, r) : 0;
}

/* Load the program of site @site. Returns its descriptor, borrowed from @probe, or
 * -errno, with a sentence except for -ERANGE. */
static int load(struct op_probes *p, struct probe *probe,
		const struct op_probe_spec *spec, const struct op_probe_place *place,
		uint32_t site)
{
	int *to = site ? &probe->more[site] : &probe->program;
	struct op_argument value = { 0 };
	int r = 0;

	if (spec->value.wanted)
		r = op_probe_value_place(spec, place, site, &value);
	else if (site)
		return probe->program;
	else if (spec->event.hz)
		value.bytes = sizeof(uint64_t); /* the count, which the period lacks */
	if (r == 0)
		r = op_capture_load_probe(p->config.capture,
					  op_probe_program_type(spec->type),
					  probe->number, spec->event.most, &value);
	if (r >= 0)
		*to = r;
	return r;
}

/* Attach to the event on each online CPU. CPUs that come online later are not covered. */
static int attach_cpus(struct probe *probe, const struct op_probe_spec *spec)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t attached = 0;
	uint32_t i;

	if (n <= 0)
		return -EIO;
	probe->cpu_fd = calloc((size_t)n, sizeof(*probe->cpu_fd));
	if (!probe->cpu_fd)
		return -ENOMEM;
	memset(probe->cpu_fd, 0xff, (size_t)n * sizeof(*probe->cpu_fd));
	probe->cpus = (uint32_t)n;
	for (i = 0; i < probe->cpus; i++) {
		int fd = op_probe_attach_event(spec, i, probe->program);

		if (fd < 0 && fd != -ENODEV)
			return fd;
		probe->cpu_fd[i] = fd < 0 ? -1 : fd;
		attached += fd >= 0;
	}
	return attached ? 0 : -ENODEV;
}

static int attach_event(struct op_probes *p, struct probe *probe,
			const struct op_probe_spec *spec,
			const struct op_probe_place *place)
{
	int r;

	if (spec->event.type != PERF_TYPE_SOFTWARE && !may_read_in_nmi())
		return op_fail(p->config.log, -EOPNOTSUPP,
			       "\"%s\" is an event of the hardware, whose interrupts can "
			       "read the stacks of programs since Linux 6.4 only",
			       probe->text);
	r = load(p, probe, spec, place, 0);
	if (r < 0)
		return r;
	r = attach_cpus(probe, spec);
	return r < 0 ? refuse_event(p, probe->text, r) : 0;
}

/* Attach the program that notes the calls of site @site. Returns 0, or -errno with a
 * sentence. */
static int attach_calls(struct op_probes *p, struct probe *probe,
			const struct op_probe_spec *spec,
			const struct op_probe_place *place, uint32_t site)
{
	const struct op_argument call = { .place = OP_ARGUMENT_CALL };
	struct op_probe_spec at = *spec;

	if (probe->call < 0)
		probe->call = op_capture_load_probe(p->config.capture,
						    op_probe_program_type(spec->type),
						    probe->number, 0, &call);
	if (probe->call < 0)
		return probe->call;
	at.is_return = false;
	probe->call_fd[site] =
		op_probe_attach(&at, place, site, probe->call, p->config.sysfs_root);
	return probe->call_fd[site] < 0 ? refuse(p, probe->text, probe->call_fd[site])
					: 0;
}

static int attach_sites(struct op_probes *p, struct probe *probe,
			const struct op_probe_spec *spec,
			const struct op_probe_place *place)
{
	uint32_t i;
	int r;

	for (i = 0; i < place->sites_len; i++) {
		r = load(p, probe, spec, place, i);
		if (r < 0)
			return r == -ERANGE ? refuse(p, probe->text, r) : r;
		/* before the return, so that each return has a call */
		if (spec->value.is_latency) {
			int e = attach_calls(p, probe, spec, place, i);

			if (e < 0)
				return e;
		}
		probe->fd[i] = op_probe_attach(spec, place, i, r, p->config.sysfs_root);
		if (probe->fd[i] < 0)
			return refuse(p, probe->text, probe->fd[i]);
	}
	return 0;
}

static int attach(struct op_probes *p, struct probe *probe)
{
	struct op_probe_spec spec;
	struct op_probe_place place;
	int r;

	if (probe->program >= 0)
		return 0;
	r = find(p, probe->text, &spec, &place);
	if (r < 0)
		return r;
	if (spec.type == OP_PROBE_EVENT)
		r = attach_event(p, probe, &spec, &place);
	else
		r = attach_sites(p, probe, &spec, &place);
	if (r < 0)
		detach(probe);
	return r;
}

static int set_kinds(void *part, uint64_t kinds)
{
	struct op_probes *p = part;
	int error = 0;
	size_t i;

	p->on = kinds & OTELPROF_KIND_PROBES;
	for (i = 0; i < p->len; i++) {
		int r = 0;

		if (p->on)
			r = attach(p, &p->probe[i]);
		else
			detach(&p->probe[i]);
		if (r < 0)
			error = r;
	}
	return error;
}

static bool is_there(const struct op_probes *p, const char *text)
{
	size_t i;

	for (i = 0; i < p->len; i++)
		if (!strcmp(p->probe[i].text, text))
			return true;
	return false;
}

static bool is_among(const char *text, const char *const *specs, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!strcmp(specs[i], text))
			return true;
	return false;
}

/* A number that no probe has, or had recently. */
static uint32_t next_number(struct op_probes *p)
{
	size_t i = 0;

	while (i < p->len) {
		if (p->probe[i++].number != p->next % NAMES_MAX)
			continue;
		p->next++;
		i = 0;
	}
	return p->next++ % NAMES_MAX;
}

/* Set the meaning of the samples of the probe @text. */
static struct name *make_name(const char *text)
{
	struct name *name = calloc(1, sizeof(*name) + strlen(text) + 1);
	struct op_probe_spec *spec;

	if (!name)
		return NULL;
	memcpy(name->text, text, strlen(text) + 1);
	name->detail.name = name->text;
	spec = &name->spec;
	if (op_probe_spec_parse(text, spec) < 0 || !spec->type_name[0])
		return name;
	if (spec->value.is_text) {
		name->detail.text_key = spec->type_name;
		return name;
	}
	name->detail.type = spec->type_name;
	name->detail.unit = spec->unit;
	name->detail.alone = spec->type == OP_PROBE_EVENT;
	if (spec->event.period <= UINT32_MAX)
		name->detail.period = (uint32_t)spec->event.period;
	return name;
}

static int add(struct op_probes *p, const char *text)
{
	struct probe *probe = &p->probe[p->len];
	uint32_t number = next_number(p);
	struct name *name = make_name(text);

	if (!name)
		return -ENOMEM;
	free(p->name[number]);
	p->name[number] = name;
	*probe = (struct probe){
		.text = name->text, .number = number, .program = -1, .call = -1
	};
	memset(probe->fd, 0xff, sizeof(probe->fd)); /* every descriptor becomes -1 */
	memset(probe->more, 0xff, sizeof(probe->more));
	memset(probe->call_fd, 0xff, sizeof(probe->call_fd));
	p->len++;
	return 0;
}

static void keep_only(struct op_probes *p, const char *const *specs, size_t len)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < p->len; i++) {
		if (is_among(p->probe[i].text, specs, len))
			p->probe[kept++] = p->probe[i];
		else
			detach(&p->probe[i]);
	}
	p->len = kept;
}

/* Remove the probes that could not be attached. */
static void drop_refused(struct op_probes *p)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < p->len; i++)
		if (p->probe[i].program >= 0)
			p->probe[kept++] = p->probe[i];
	p->len = kept;
}

int op_probes_set(struct op_probes *p, const char *const *specs, size_t len)
{
	struct op_probe_spec spec;
	struct op_probe_place place;
	size_t i;
	int r = 0;

	if (len > OTELPROF_PROBES_MAX)
		return op_fail(p->config.log, -E2BIG,
			       "there are %zu probes; at most %d are taken", len,
			       OTELPROF_PROBES_MAX);
	for (i = 0; i < len && r == 0; i++)
		r = find(p, specs[i], &spec, &place);
	if (r < 0)
		return r;
	keep_only(p, specs, len);
	for (i = 0; i < len && r == 0; i++)
		if (!is_there(p, specs[i]))
			r = add(p, specs[i]);
	if (r < 0 || !p->on)
		return r;
	r = set_kinds(p, OTELPROF_KIND_PROBES);
	if (r < 0)
		drop_refused(p);
	return r;
}

const struct op_part_ops op_part_probes = {
	.name = "probes",
	.make = probes_make,
	.free = probes_free,
	.set_kinds = set_kinds,
};
