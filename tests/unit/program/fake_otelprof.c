/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public API over one fixed request (request.h), so that the program is tested on
 * known data. Only the first export passes the request to the exporters, so that sums do
 * not depend on time. FAKE_OTELPROF sets other behaviour:
 *
 *   none    no sample was taken         drop    all ten were lost in the ring
 *   filter  all ten were filtered       init    otelprof_init() fails
 *   poll    otelprof_poll() fails       missing the doctor misses a feature
 *   some    three of 13 were lost       full    the file's disk is full: all were lost
 *   later   work takes 14 in place of 4
 *   slow    the rate is 10 Hz, whatever was asked for
 *   config  otelprof_init() tells what it was given
 *   dump    it tells each key, and no exporter can be made
 *   name=X  all events are of a function X         long    of 40 with long names
 *   hiccup  the first three polls fail  windows each export tells when it comes
 *   pager   the first three flushes are not over in time; stuck: none is
 *   exports the first three exports fail; flushes are told
 *   kinds   off_cpu in ns, alloc_space in bytes and contentions follow; kinds-only: no CPU
 *   never   all exports fail; flushes are told
 *   traced  of two services, linked to two traces
 *   budget  budgets have decided: counters of 101 to 110
 *   one     one sample was exported
 *   threads of the threads of one process
 *   deep    of one stack of ten functions
 *   poor    frames without names, stacks that are not whole, samples that were lost, and
 *           mappings that were not kept
 *   guessed three of ten stacks have a frame that is a guess
 *
 * A rule of the path /thereX has its target while the file X is there, that of /none never; one
 * of /deep cannot be made. An exporter cannot be made for http://bad:1, with a ca_file that is not there, or with a
 * spill_dir while another one has one.
 */
#include <errno.h>
#include <fcntl.h>
#include <otelprof/otelprof.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "export/format/format.h"
#include "fake_budget.h"
#include "fake_dump.h"
#include "request.h"

enum {
	EVENTS = 10,
	LOST = 3,
	HICCUPS = 3,
	SLOW_NS = 100000000,
	RULES_MAX = 64,
	LONG_NAMES = 40,
	LONG_CHARACTERS = 1000, /* of four bytes */
};

struct otelprof {
	struct rq_buf request;
	struct otelprof_callback_config callback;
	struct otelprof_file_config file;
	const struct op_format *format;
	struct op_collect *collect;
	struct otelprof_stats stats;
	struct fake_rule {
		struct otelprof_rule of;
		char text[256];
		uint64_t number;
		bool set;   /* by otelprof_set_rules() */
	} rules[RULES_MAX]; /* in the order of adding */
	uint64_t last_rule;
	uint64_t lost;	    /* in the ring */
	uint64_t unwritten; /* by the file */
	bool exported;
	int polls;
	int exports;
	int flushes;
	struct timespec began;
	int exporters; /* made so far */
	int spilling;  /* the one with a spill_dir; 0: none */
	char message[256];
	int error;
};

static int refuse(struct otelprof *p, int error)
{
	p->error = error;
	(void)snprintf(p->message, sizeof(p->message), "it cannot be made: %s",
		       strerror(-error));
	return error;
}

static bool acts(const char *what)
{
	const char *mode = getenv("FAKE_OTELPROF");

	return mode && strcmp(mode, what) == 0;
}

static uint64_t period_ns(void)
{
	return acts("slow") ? SLOW_NS : RQ_PERIOD_NS;
}

static struct rq_buf long_names(void)
{
	static char names[LONG_NAMES][LONG_CHARACTERS * 4 + 8];
	const char *list[LONG_NAMES];
	int i, j;

	for (i = 0; i < LONG_NAMES; i++) {
		(void)sprintf(names[i], "%d", i);
		for (j = 0; j < LONG_CHARACTERS; j++)
			(void)strcat(names[i], "\xf0\x9f\x90\x8c");
		list[i] = names[i];
	}
	return rq_named(list, LONG_NAMES);
}

static struct rq_buf request(void)
{
	const char *mode = getenv("FAKE_OTELPROF");

	if (mode && strncmp(mode, "name=", 5) == 0) {
		mode += 5;
		return rq_named(&mode, 1);
	}
	if (acts("poor"))
		return rq_poor();
	if (acts("traced"))
		return rq_traced();
	if (acts("deep"))
		return rq_deep();
	if (acts("threads"))
		return rq_threads();
	if (acts("guessed"))
		return rq_guessed();
	return acts("long") ? long_names()
			    : rq_canned_with(acts("later") ? 14 : 4, period_ns());
}

const char *otelprof_version(void)
{
	return "0.1.0-fake";
}

const char *otelprof_strerror(int code)
{
	return strerror(-code);
}

int otelprof_last_error(struct otelprof *p, struct otelprof_error_info *ret)
{
	if (!p || !p->error)
		return -ENODATA;
	ret->code = p->error;
	(void)strcpy(ret->message, p->message);
	return 0;
}

int otelprof_init(const struct otelprof_config *config, struct otelprof_error_info *why,
		  struct otelprof **ret)
{
	struct otelprof *p;

	if (acts("init")) {
		why->code = -OTELPROF_E_CAPABILITY;
		(void)strcpy(why->message, "CAP_BPF is missing");
		return -OTELPROF_E_CAPABILITY;
	}
	if (acts("dump"))
		dump_config(config);
	if (acts("config"))
		(void)fprintf(
			stderr,
			"fake: config rate %u kinds %llu frames %u flags %llu service "
			"%s attributes %zu\n",
			config->sample_rate_hz, (unsigned long long)config->kinds,
			config->max_frames, (unsigned long long)config->flags,
			config->service_name ? config->service_name : "-",
			config->attributes_len);
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->request = request();
	if (config->log)
		config->log(config->log_userdata, OTELPROF_LOG_WARNING,
			    "this is the fake");
	if (config->flags || config->runtimes_off || config->environment_len)
		(void)fprintf(
			stderr,
			"fake: flags %llx runtimes %llx memory %llu symbols %llu limit "
			"%llu frames %u off %llu environment %zu %s\n",
			(unsigned long long)config->flags,
			(unsigned long long)config->runtimes_off,
			(unsigned long long)config->memory_budget_bytes,
			(unsigned long long)config->symbol_budget_bytes,
			(unsigned long long)config->memory_limit_bytes,
			config->max_frames, (unsigned long long)config->off_cpu_min_ns,
			config->environment_len,
			config->environment_len ? config->environment[0] : "-");
	*ret = p;
	return 0;
}

struct otelprof *otelprof_free(struct otelprof *p)
{
	if (!p)
		return NULL;
	(void)op_collect_free(p->collect);
	free((char *)p->file.path);
	free(p->request.data);
	free(p);
	return NULL;
}

int otelprof_start(struct otelprof *p)
{
	return clock_gettime(CLOCK_MONOTONIC, &p->began);
}

int otelprof_stop(struct otelprof *p)
{
	return 0;
}

int otelprof_stop_within(struct otelprof *p, int timeout_ms)
{
	return 0;
}

int otelprof_get_fd(struct otelprof *p)
{
	return -ENOSYS;
}

int otelprof_poll(struct otelprof *p, int timeout_ms)
{
	struct timespec t = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

	if ((acts("poll") || (acts("hiccup") && p->polls++ < HICCUPS)) && timeout_ms) {
		p->error = -EIO;
		(void)strcpy(p->message, "the ring is gone");
		return -EIO;
	}
	return nanosleep(&t, NULL) < 0 ? -EINTR : 0;
}

/* To the callback, and to the file. */
static int deliver_kinds(struct otelprof *p)
{
	static const struct {
		const char *type;
		const char *unit;
		uint64_t value;
	} KINDS[] = {
		{ "contentions", "count", 1 },
		{ "alloc_space", "bytes", 3 << 20 },
		{ "off_cpu", "nanoseconds", 250000000 },
	};
	struct rq_buf b;
	size_t i;
	int r = 0;

	for (i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]) && !r; i++) {
		b = rq_of_type(KINDS[i].type, KINDS[i].unit, KINDS[i].value);
		r = p->callback.fn
			    ? p->callback.fn(p->callback.userdata, b.data, b.len, 4)
			    : 0;
		if (p->format) /* a callback's refusal is its own affair */
			r = op_collect_add(p->collect, b.data, b.len);
		free(b.data);
	}
	return r;
}

static int deliver(struct otelprof *p)
{
	int r = 0;

	if (p->callback.fn && !acts("kinds-only"))
		r = p->callback.fn(p->callback.userdata, p->request.data, p->request.len,
				   EVENTS);
	if ((!r || p->format) && (acts("kinds") || acts("kinds-only")))
		r = deliver_kinds(p);
	/* Another exporter's refusal is its own affair. */
	if (p->file.path)
		r = 0;
	if (!r && p->format)
		r = op_collect_add(p->collect, p->request.data, p->request.len);
	return r;
}

static void tell_time(const struct otelprof *p)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)fprintf(stderr, "fake: export after %.3f s\n",
		      (double)(now.tv_sec - p->began.tv_sec) +
			      (double)(now.tv_nsec - p->began.tv_nsec) / 1e9);
}

int otelprof_export(struct otelprof *p)
{
	if (acts("windows"))
		tell_time(p);
	if (acts("never") || (acts("exports") && p->exports++ < HICCUPS))
		return refuse(p, -ENOMEM);
	if (p->exported || acts("none"))
		return 0;
	p->exported = true;
	p->stats.samples_taken = EVENTS;
	if (acts("drop")) {
		p->lost = p->stats.samples_dropped = EVENTS;
		return 0;
	}
	if (acts("filter")) {
		p->stats.samples_filtered = EVENTS;
		return 0;
	}
	if (acts("full")) {
		p->unwritten = p->stats.samples_dropped = EVENTS;
		return EVENTS;
	}
	if (acts("poor")) {
		p->stats.stacks_complete = 900;
		p->stats.stacks_truncated = 20;
		p->stats.stacks_broken = 80;
		p->stats.mappings_unseen = 5;
	}
	if (acts("some") || acts("poor")) {
		p->stats.samples_taken += LOST;
		p->lost = p->stats.samples_dropped = LOST;
	}
	p->stats.samples_exported = acts("one") ? 1 : EVENTS;
	return deliver(p) ? -EIO : EVENTS;
}

/* As the library's, a new file takes the name of the older one and leaves its bytes. */
static void forget_file(const char *path)
{
	char *real = realpath(path, NULL);
	struct stat st;

	if (real && stat(real, &st) == 0 && S_ISREG(st.st_mode))
		(void)unlink(real);
	free(real);
}

int otelprof_flush(struct otelprof *p, int timeout_ms)
{
	uint32_t be;
	int fd, r = 0;

	if (acts("stuck"))
		(void)poll(NULL, 0, timeout_ms);
	if (acts("stuck") || (acts("pager") && p->flushes++ < HICCUPS))
		return refuse(p, -ETIMEDOUT);
	if (acts("never") || acts("exports"))
		(void)fputs("fake: flush\n", stderr);
	if (acts("full"))
		return -ENOSPC;
	if (!p->file.path)
		return 0;
	forget_file(p->file.path);
	fd = strcmp(p->file.path, "-") == 0
		     ? dup(STDOUT_FILENO)
		     : open(p->file.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (p->format) {
		r = p->format->write(p->collect, fd);
	} else {
		be = __builtin_bswap32((uint32_t)p->request.len);
		if (write(fd, &be, 4) != 4 ||
		    write(fd, p->request.data, p->request.len) < 0)
			r = -EIO;
	}
	(void)close(fd);
	return r;
}

int otelprof_abandon(struct otelprof *p)
{
	return 0;
}

/* What was asked for is told on stderr, for the test to see. */
int otelprof_set_probes(struct otelprof *p, const char *const *specs, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		(void)fprintf(stderr, "fake: probe %s\n", specs[i]);
	return 0;
}

int otelprof_set_rate(struct otelprof *p, uint32_t sample_rate_hz)
{
	(void)fprintf(stderr, "fake: rate %u\n", sample_rate_hz);
	return sample_rate_hz ? 0 : -EINVAL;
}

int otelprof_set_kinds(struct otelprof *p, uint64_t kinds)
{
	(void)fprintf(stderr, "fake: kinds %llu\n", (unsigned long long)kinds);
	return 0;
}

/* How many different rates the rules have. */
static int rates(const struct otelprof *p)
{
	int found = 0;
	uint64_t i, j;

	for (i = 0; i < p->stats.rules; i++) {
		uint32_t of = p->rules[i].of.sample_rate_hz;

		for (j = 0; j < i && p->rules[j].of.sample_rate_hz != of; j++)
			continue;
		found += of && j == i;
	}
	return found;
}

static int put_rule(struct otelprof *p, const struct otelprof_rule *rule, bool set)
{
	struct fake_rule *to = &p->rules[p->stats.rules];

	if (rule->text && strcmp(rule->text, "/deep") == 0)
		return -E2BIG;
	if (!set && rule->text && strcmp(rule->text, "/none") == 0)
		return -ENOENT;
	if (p->stats.rules == RULES_MAX)
		return -ENOSPC;
	to->of = *rule;
	to->set = set;
	(void)snprintf(to->text, sizeof(to->text), "%s", rule->text ? rule->text : "");
	to->number = ++p->last_rule;
	p->stats.rules++;
	return rates(p) > OTELPROF_RATES_MAX ? -ENOSPC : 0;
}

static void tell_rule(const struct otelprof_rule *rule)
{
	(void)fprintf(stderr, "fake: rule %s%u %llu %s\n",
		      rule->action == OTELPROF_RULE_EXCLUDE ? "not " : "", rule->kind,
		      rule->kind == OTELPROF_MATCH_TREE
			      ? 0ULL
			      : (unsigned long long)rule->number,
		      rule->text ? rule->text : "-");
}

int otelprof_add_rule(struct otelprof *p, const struct otelprof_rule *rule,
		      uint64_t *ret_number)
{
	uint64_t len = p->stats.rules;
	int r = put_rule(p, rule, false);

	if (r < 0) {
		p->stats.rules = len;
		return refuse(p, r);
	}
	*ret_number = p->last_rule;
	tell_rule(rule);
	return 0;
}

int otelprof_set_rules(struct otelprof *p, const struct otelprof_rule *rules, size_t len)
{
	struct otelprof before = *p;
	uint64_t i;
	int r = 0;

	p->stats.rules = 0;
	for (i = 0; r == 0 && i < len; i++)
		r = put_rule(p, &rules[i], true);
	for (i = 0; r == 0 && i < before.stats.rules; i++)
		if (!before.rules[i].set)
			p->rules[p->stats.rules++] = before.rules[i];
	if (r < 0) {
		*p = before;
		return refuse(p, r);
	}
	for (i = 0; i < len && acts("dump"); i++)
		tell_rule(&rules[i]);
	for (i = 0; i < len && acts("config"); i++)
		(void)fprintf(stderr, "fake: add %u %u %s\n", rules[i].action,
			      rules[i].sample_rate_hz,
			      rules[i].text ? rules[i].text : "");
	return 0;
}

int otelprof_remove_rule(struct otelprof *p, uint64_t number)
{
	uint64_t i;

	for (i = 0; i < p->stats.rules && p->rules[i].number != number; i++)
		continue;
	if (i == p->stats.rules)
		return -ENOENT;
	p->stats.rules--;
	memmove(&p->rules[i], &p->rules[i + 1],
		(p->stats.rules - i) * sizeof(p->rules[0]));
	return 0;
}

int otelprof_rules(struct otelprof *p, otelprof_rule_fn fn, void *userdata)
{
	uint64_t i;

	for (i = 0; i < p->stats.rules; i++) {
		p->rules[i].of.text = p->rules[i].of.text ? p->rules[i].text : NULL;
		fn(userdata, p->rules[i].number, &p->rules[i].of);
	}
	return 0;
}

int otelprof_pause(struct otelprof *p)
{
	p->stats.paused = 1;
	return 0;
}

int otelprof_resume(struct otelprof *p)
{
	p->stats.paused = 0;
	return 0;
}

int otelprof_exporter_otlp(struct otelprof *p, const struct otelprof_otlp_config *config)
{
	size_t i;

	if (acts("dump")) {
		dump_otlp(config);
		return refuse(p, -EINVAL);
	}
	if (config->endpoint && strcmp(config->endpoint, "http://bad:1") == 0)
		return refuse(p, -EINVAL);
	if (config->ca_file && access(config->ca_file, R_OK) < 0)
		return refuse(p, -errno);
	if (config->spill_dir && p->spilling)
		return refuse(p, -EBUSY);
	p->exporters++;
	if (config->spill_dir)
		p->spilling = p->exporters;
	if (config->protocol == OTELPROF_PROTOCOL_HTTP) {
		(void)fprintf(stderr, "fake: http %s compression %u spill %s\n",
			      config->endpoint ? config->endpoint : "-",
			      config->compression,
			      config->spill_dir ? config->spill_dir : "-");
		return p->exporters;
	}
	(void)fprintf(stderr, "fake: endpoint %s compression %u\n",
		      config->endpoint ? config->endpoint : "-", config->compression);
	if (config->spill_dir)
		(void)fprintf(stderr, "fake: spill %s %llu retry %u\n", config->spill_dir,
			      (unsigned long long)config->spill_bytes,
			      config->retry_elapsed_ms);
	for (i = 0; i < config->headers_len; i++)
		(void)fprintf(stderr, "fake: header %s=%s\n", config->headers[i].key,
			      config->headers[i].value);
	return p->exporters;
}

int otelprof_exporter_remove(struct otelprof *p, int exporter, int timeout_ms)
{
	if (exporter == p->spilling)
		p->spilling = 0;
	(void)fprintf(stderr, "fake: remove exporter %d\n", exporter);
	return 0;
}

int otelprof_exporter_file(struct otelprof *p, const struct otelprof_file_config *config)
{
	p->file = *config;
	p->file.path = strdup(config->path);
	p->format = op_format_get(config->format);
	return p->format ? op_format_collect(p->format, &p->collect) ?: 1 : 1;
}

int otelprof_exporter_callback(struct otelprof *p,
			       const struct otelprof_callback_config *config)
{
	p->callback = *config;
	return 1;
}

int otelprof_get_stats(struct otelprof *p, struct otelprof_stats *ret)
{
	size_t size = ret->size;

	*ret = p->stats;
	ret->size = size;
	ret->sample_period_ns = period_ns();
	if (acts("budget"))
		set_budget(ret);
	return 0;
}

int otelprof_drops(struct otelprof *p, otelprof_drop_fn fn, void *userdata)
{
	fn(userdata, "ring", "It was full.", p->lost);
	fn(userdata, "other", "It could not be written.", p->unwritten);
	return 0;
}

int otelprof_unwind_errors(struct otelprof *p, otelprof_unwind_error_fn fn,
			   void *userdata)
{
	if (acts("poor")) {
		fn(userdata, "native_rare", "It is rare.", 9);
		fn(userdata, "native_no_memory", "It could not be read.", 41);
		fn(userdata, "native_rarest", "It is very rare.", 1);
		fn(userdata, "native_twin", "It is there twice.", 29);
		return 0;
	}
	fn(userdata, "native_no_rule", "There is no rule.", 3);
	return 0;
}

int otelprof_unwind_files(struct otelprof *p, otelprof_unwind_file_fn fn, void *userdata)
{
	struct otelprof_unwind_file row = { .size = sizeof(row), .reason = "truncated" };
	char name[32];
	int i;

	/* one of a hostile name, one without a name, more than are shown, and the rest */
	for (i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof(name), "/lib/%d\033[31m", i);
		row.file = i == 1 ? "" : name;
		row.count = row.file_count = (uint64_t)(100 - i);
		fn(userdata, &row);
	}
	row = (struct otelprof_unwind_file){ .size = sizeof(row), .count = 4 };
	fn(userdata, &row);
	return 0;
}

int otelprof_doctor(const struct otelprof_config *config, otelprof_doctor_fn fn,
		    void *userdata)
{
	struct otelprof_doctor_row row = {
		.size = sizeof(row),
		.feature = "CPU sampling",
		.needs = "CAP_PERFMON",
		.found = "it is there",
		.effect = "",
	};
	int missing = acts("missing") ? 1 : 0;

	if (missing) {
		row.state = OTELPROF_DOCTOR_MISSING;
		row.found = "not there";
		row.effect = "no samples";
	}
	fn(userdata, &row);
	row = (struct otelprof_doctor_row){
		.size = sizeof(row),
		.feature = "kernel \"names\"",
		.needs = "kernel.kptr_restrict < 2",
		.found = "2",
		.effect = "kernel frames have no names",
		.state = OTELPROF_DOCTOR_LESS,
	};
	fn(userdata, &row);
	return missing;
}
