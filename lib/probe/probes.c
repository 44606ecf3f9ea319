/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the list of probes, loads their programs, and attaches them while the kind is
 * on. */
#include "probe/probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "capture/capture.h"
#include "otelprof/otelprof.h"
#include "probe/attach.h"
#include "probe/spec.h"

enum {
	/* Names kept by number, for samples that still wait to be exported. */
	NAMES_MAX = 4096,
};

struct probe {
	const char *text; /* points to its name */
	uint32_t number;
	int program;
	int fd[OP_PROBE_SITES_MAX]; /* attachments */
};

struct op_probes {
	struct op_probes_config config;
	struct probe probe[OTELPROF_PROBES_MAX];
	size_t len;
	char *name[NAMES_MAX]; /* by number */
	uint32_t next;	       /* the next number to try */
	bool on;
};

int op_probes_new(const struct op_probes_config *config, struct op_probes **ret)
{
	struct op_probes *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->config = *config;
	*ret = p;
	return 0;
}

static void detach(struct probe *probe)
{
	uint32_t i;

	for (i = 0; i < OP_PROBE_SITES_MAX; i++)
		op_closep(&probe->fd[i]);
	op_closep(&probe->program);
}

struct op_probes *op_probes_free(struct op_probes *p)
{
	size_t i;

	if (!p)
		return NULL;
	for (i = 0; i < p->len; i++)
		detach(&p->probe[i]);
	for (i = 0; i < NAMES_MAX; i++)
		free(p->name[i]);
	free(p);
	return NULL;
}

const char *op_probes_name(void *ctx, uint32_t number)
{
	const struct op_probes *p = ctx;

	return number < NAMES_MAX ? p->name[number] : NULL;
}

/* Tell the user why the probe @text cannot be used. Returns @error. */
static int refuse(struct op_probes *p, const char *text, int error)
{
	struct op_log *log = p->config.log;

	switch (error) {
	case -EINVAL:
		return op_fail(log, error,
			       "\"%s\" is not a probe; probes are uprobe:FILE:SYMBOL, "
			       "uretprobe:FILE:SYMBOL, usdt:FILE:PROVIDER:NAME, "
			       "tracepoint:NAME, kprobe:SYMBOL and kretprobe:SYMBOL",
			       text);
	case -ENOENT:
		return op_fail(log, error, "the place of the probe \"%s\" does not exist",
			       text);
	case -EOPNOTSUPP:
		return op_fail(log, error, "this kernel has no probes such as \"%s\"",
			       text);
	default:
		return op_fail(log, error, "the probe \"%s\" could not be attached: %s",
			       text, strerror(-error));
	}
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

static int attach(struct op_probes *p, struct probe *probe)
{
	struct op_probe_spec spec;
	struct op_probe_place place;
	uint32_t i;
	int r;

	if (probe->program >= 0)
		return 0;
	r = find(p, probe->text, &spec, &place);
	if (r < 0)
		return r;
	r = op_capture_load_probe(p->config.capture, op_probe_program_type(spec.type),
				  probe->number);
	if (r < 0)
		return r;
	probe->program = r;
	for (i = 0; i < place.sites_len; i++) {
		probe->fd[i] = op_probe_attach(&spec, &place, i, probe->program,
					       p->config.sysfs_root);
		if (probe->fd[i] < 0) {
			r = probe->fd[i];
			detach(probe);
			return refuse(p, probe->text, r);
		}
	}
	return 0;
}

int op_probes_switch(struct op_probes *p, bool on)
{
	size_t i;
	int error = 0;

	p->on = on;
	for (i = 0; i < p->len; i++) {
		int r = 0;

		if (on)
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

/* A number that no probe has, and that none had recently. */
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

static int add(struct op_probes *p, const char *text)
{
	struct probe *probe = &p->probe[p->len];
	uint32_t number = next_number(p);
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(p->name[number]);
	p->name[number] = copy;
	*probe = (struct probe){ .text = copy, .number = number, .program = -1 };
	memset(probe->fd, 0xff, sizeof(probe->fd)); /* every descriptor becomes -1 */
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

/* Forget the probes that could not be attached. */
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
	r = op_probes_switch(p, true);
	if (r < 0)
		drop_refused(p);
	return r;
}
