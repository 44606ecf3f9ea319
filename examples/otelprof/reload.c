/* SPDX-License-Identifier: Apache-2.0 */
#include "reload.h"

#include "base/macros.h"
#include "choose/rules.h"
#include "common.h"
#include "notify.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	REMOVE_MS = 2000, /* time for the queue of an exporter that is replaced */
	NAMES_BYTES = 512,
};

static volatile sig_atomic_t hung_up;

static void on_hangup(int number)
{
	(void)number;
	hung_up = 1;
}

void reload_catch(const struct reload *l)
{
	struct sigaction sa = { .sa_handler = on_hangup };

	if (l->o->config_path || !isatty(STDIN_FILENO))
		(void)sigaction(SIGHUP, &sa, NULL);
}

int reload_read(struct reload *l)
{
	return session_settings(l->o, &l->settings);
}

static void remove_exporters(const struct reload *l, struct reload_exporters *x)
{
	size_t i;

	for (i = 0; i < x->len; i++)
		if (otelprof_exporter_remove(l->p, x->numbers[i], REMOVE_MS) < 0)
			note("warning: not everything was delivered before the exporter "
			     "was replaced; the last line says what was lost");
	x->len = 0;
}

static int add_exporter(const struct reload *l, const struct otelprof_otlp_config *otlp,
			struct reload_exporters *x)
{
	int r;

	if (x->len == RELOAD_ENDPOINTS_MAX)
		return fail("--endpoint can be given at most %d times",
			    RELOAD_ENDPOINTS_MAX);
	r = otelprof_exporter_otlp(l->p, otlp);
	if (r < 0)
		return fail_library(l->p,
				    otlp->endpoint ? otlp->endpoint : "cannot export", r);
	x->numbers[x->len++] = r;
	return 0;
}

/* Add all exporters of @settings, or none: one for each endpoint of the command line.
 * Without an endpoint the library takes it from the environment. */
static int add_exporters(const struct reload *l, const struct otelprof_settings *settings,
			 struct reload_exporters *ret)
{
	struct reload_exporters made = { .len = 0 };
	struct otelprof_otlp_config otlp;
	size_t i;
	int r = 0;

	otelprof_otlp_config_init(&otlp, sizeof(otlp));
	(void)otelprof_settings_get_otlp(settings, &otlp);
	for (i = 0; !r && i < l->o->given_len; i++) {
		if (strcmp(l->o->given[i].name, "endpoint") != 0)
			continue;
		otlp.endpoint = l->o->given[i].value;
		r = add_exporter(l, &otlp, &made);
	}
	if (!r && !made.len)
		r = add_exporter(l, &otlp, &made);
	if (r)
		remove_exporters(l, &made);
	else
		*ret = made;
	return r;
}

int reload_begin(struct reload *l, struct otelprof *p)
{
	l->p = p;
	l->exporters_of = l->settings;
	return add_exporters(l, l->settings, &l->exporters);
}

/* The differences of new settings. */
struct changes {
	bool rate;
	bool kinds;
	bool rules;
	char live[NAMES_BYTES]; /* names of keys, with commas */
	char later[NAMES_BYTES];
};

static void note_change(void *userdata, const struct otelprof_settings_key *key)
{
	struct changes *c = userdata;
	char *names = key->live ? c->live : c->later;
	size_t len = strlen(names);

	(void)snprintf(names + len, NAMES_BYTES - len, "%s%s", len ? ", " : "", key->key);
	if (strcmp(key->key, "sample_rate_hz") == 0)
		c->rate = true;
	else if (strcmp(key->key, "kinds") == 0 || strcmp(key->key, "probes") == 0)
		c->kinds = true;
	else if (strcmp(key->key, "rules") == 0)
		c->rules = true;
}

/* Does this difference need new exporters? @userdata: bool. */
static void note_exporters(void *userdata, const struct otelprof_settings_key *key)
{
	static const char *const others[] = { "sample_rate_hz", "kinds", "probes",
					      "rules" };
	bool *differ = userdata;
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(key->key, others[i]) == 0)
			return;
	*differ |= key->live;
}

static int change_rate(const struct reload *l, const struct otelprof_config *config)
{
	int r = otelprof_set_rate(l->p, config->sample_rate_hz);

	return r < 0 ? fail_library(l->p, "cannot change the rate", r) : 0;
}

static int change_kinds(const struct reload *l, const struct otelprof_config *config)
{
	size_t len = 0;
	const char *const *probes = otelprof_settings_get_probes(l->settings, &len);
	int r = otelprof_set_probes(l->p, probes, len);

	if (r >= 0)
		r = otelprof_set_kinds(l->p,
				       config->kinds ? config->kinds : OTELPROF_KIND_CPU);
	return r < 0 ? fail_library(l->p, "cannot change what is sampled", r) : 0;
}

static bool spills(const struct otelprof_settings *settings)
{
	struct otelprof_otlp_config otlp;

	otelprof_otlp_config_init(&otlp, sizeof(otlp));
	(void)otelprof_settings_get_otlp(settings, &otlp);
	return otlp.spill_dir;
}

/* Replace the exporters by those of the settings. Remove the old ones last, so that
 * there are always some. But a spill directory allows only one. */
static void change_exporters(struct reload *l)
{
	bool first = spills(l->settings) && spills(l->exporters_of);
	struct reload_exporters made;

	if (first)
		remove_exporters(l, &l->exporters);
	if (add_exporters(l, l->settings, &made) == 0) {
		remove_exporters(l, &l->exporters);
		l->exporters = made;
		l->exporters_of = l->settings;
		return;
	}
	if (first)
		(void)add_exporters(l, l->exporters_of, &l->exporters);
	if (l->exporters.len)
		note("warning: the exporters stay as they were");
	else
		note("warning: there is no exporter now, and samples are dropped");
}

static void apply(struct reload *l, const struct changes *c)
{
	struct otelprof_config config;
	bool exporters = !l->exporters.len;

	otelprof_config_init(&config, sizeof(config));
	(void)otelprof_settings_get_config(l->settings, &config);
	if (c->rate || l->rate_failed)
		l->rate_failed = change_rate(l, &config) != 0;
	if (c->kinds || l->kinds_failed)
		l->kinds_failed = change_kinds(l, &config) != 0;
	if ((c->rules || l->rules_failed) && !l->o->rules_len) {
		l->rules_failed = rules_set(l->p, l->settings) != 0;
		if (l->rules_failed)
			note("warning: the rules stay as they were");
	}
	(void)otelprof_settings_compare(l->exporters_of, l->settings, note_exporters,
					&exporters);
	if (exporters)
		change_exporters(l);
	if (*c->later)
		note("warning: these keys take effect at the next start: %s", c->later);
	note("the configuration was read again; changed: %s",
	     *c->live ? c->live : "nothing");
}

static void tell_manager(void)
{
	struct timespec ts;
	char state[64];

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		       (uint64_t)ts.tv_sec * OP_US_PER_S +
			       (uint64_t)ts.tv_nsec / OP_NS_PER_US);
	notify_send(state);
}

void reload_check(struct reload *l)
{
	struct otelprof_settings *old = l->settings, *of = l->exporters_of;
	struct changes changes = { 0 };

	if (!hung_up)
		return;
	hung_up = 0;
	tell_manager();
	if (reload_read(l) == 0) {
		(void)otelprof_settings_compare(old, l->settings, note_change, &changes);
		apply(l, &changes);
		if (of != old && of != l->exporters_of)
			(void)otelprof_settings_free(of);
		if (old != l->exporters_of)
			(void)otelprof_settings_free(old);
	} else {
		note("warning: the configuration stays as it was");
	}
	notify_send("READY=1");
}

void reload_end(struct reload *l)
{
	if (l->exporters_of != l->settings)
		(void)otelprof_settings_free(l->exporters_of);
	(void)otelprof_settings_free(l->settings);
	l->settings = l->exporters_of = NULL;
}
