/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of otelprof/settings.h. */
#include "otelprof/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/settings/config.h"
#include "api/settings/values.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "otelprof/otelprof.h"

enum {
	TEXT_BYTES_MAX = 1 << 20,
	LINE_BYTES_MAX = 8192,
	PLACE_BYTES = 256, /* "NAME:LINE" in a sentence */
	KEY_TEXT_BYTES = 1024,
	VARIABLE_BYTES = 64,
};

static const char VARIABLE_PREFIX[] = "OTELPROF_";

struct otelprof_settings {
	struct op_values values;
	uint32_t source; /* number of the current call, or of a row of _set() calls */
	bool setting;	 /* that row is not over */
	uint32_t given[OP_KEYS]; /* the source that last set the key; 0: none */
};

int otelprof_settings_new(struct otelprof_settings **ret)
{
	if (!ret)
		return -EINVAL;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

struct otelprof_settings *otelprof_settings_free(struct otelprof_settings *settings)
{
	if (settings)
		op_values_deinit(&settings->values);
	free(settings);
	return NULL;
}

/* End a public call that returns @r: @why gets the sentence. @what: the place that it names, "" for none. */
static int end(int r, struct op_log *log, const char *what,
	       struct otelprof_error_info *why)
{
	if (r >= 0)
		return r;
	if (!log->error)
		(void)op_fail(log, r, "%s: %s", what,
			      r == -ENOMEM ? "there is no memory" : strerror(-r));
	log->error = r;
	if (!*what && strncmp(log->message, ": ", 2) == 0)
		memmove(log->message, log->message + 2, strlen(log->message + 2) + 1);
	if (why)
		(void)op_config_give_error(log, why);
	return r;
}

static bool is_wrong(const struct otelprof_settings *settings,
		     const struct otelprof_error_info *why)
{
	return !settings || (why && !op_config_takes_error(why));
}

static void begin_source(struct otelprof_settings *s, bool setting)
{
	if (!setting || !s->setting)
		s->source++;
	s->setting = setting;
}

static int no_key(const char *name, const char *what, struct op_log *log)
{
	const struct op_key *like = op_key_like(name);

	/* Do not quote a header or a key that slipped into a line of its own. */
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
		return op_fail(log, -EINVAL,
			       "%s: the text before \"=\" is not a key; a key has small "
			       "letters, digits and \"_\"",
			       what);
	return op_fail(log, -EINVAL,
		       "%s: there is no key \"%.*s\"; %s%s%sotelprof_settings_new(3) "
		       "lists them",
		       what, OP_VALUE_QUOTED, name, like ? "perhaps it is " : "",
		       like ? like->name : "", like ? "; " : "");
}

/* Set a key for the current source. An empty value empties a list. */
static int set(struct otelprof_settings *s, const char *name, const char *value,
	       const char *what, struct op_log *log)
{
	const char *as = "";
	const struct op_key *key = op_key_find(name, &as);
	size_t number;

	if (!key)
		return no_key(name, what, log);
	number = op_key_number(key);
	if (s->given[number] != s->source || !*value)
		op_value_clear(&s->values, key);
	s->given[number] = s->source;
	return op_value_set(&s->values, key, value, as, what, log);
}

/* Parse one line, which is changed. */
static int take_line(struct otelprof_settings *s, char *line, const char *what,
		     struct op_log *log)
{
	char *value;

	line = op_trim(line);
	if (!*line || *line == '#')
		return 0;
	value = strchr(line, '=');
	if (!value)
		return op_fail(
			log, -EINVAL,
			"%s: the line is not a comment and has no \"=\"; write KEY = "
			"VALUE",
			what);
	*value++ = 0;
	return set(s, op_trim(line), op_trim(value), what, log);
}

static int read_lines(struct otelprof_settings *s, const char *name, const char *text,
		      size_t len, struct op_log *log)
{
	_cleanup_free_ char *line = malloc(LINE_BYTES_MAX + 1);
	const char *last = text + len;
	char what[PLACE_BYTES];
	unsigned int number = 0;
	int r = line ? 0 : -ENOMEM;

	begin_source(s, false);
	while (r == 0 && text < last) {
		const char *newline = memchr(text, '\n', (size_t)(last - text));
		size_t bytes = (size_t)((newline ? newline : last) - text);

		(void)snprintf(what, sizeof(what), "%.200s:%u", name, ++number);
		if (bytes > LINE_BYTES_MAX)
			return op_fail(log, -E2BIG,
				       "%s: the line has more than %d bytes; give a list "
				       "a line for each",
				       what, LINE_BYTES_MAX);
		if (memchr(text, 0, bytes))
			return op_fail(log, -EINVAL,
				       "%s: the line has a NUL byte; write plain text",
				       what);
		memcpy(line, text, bytes);
		line[bytes] = 0;
		r = take_line(s, line, what, log);
		explicit_bzero(line, bytes); /* it may hold a secret */
		if (r == -ENOMEM)
			return op_fail(log, r, "%s: there is no memory", what);
		text = newline ? newline + 1 : last;
	}
	return r;
}

int otelprof_settings_read(struct otelprof_settings *settings, const char *name,
			   const char *text, size_t len, struct otelprof_error_info *why)
{
	struct op_log log = { 0 };
	int r;

	if (is_wrong(settings, why) || !name || (!text && len))
		return -EINVAL;
	if (len > TEXT_BYTES_MAX)
		r = op_fail(&log, -E2BIG, "%.200s: it has more than %d bytes", name,
			    TEXT_BYTES_MAX);
	else
		r = read_lines(settings, name, text, len, &log);
	return end(r, &log, name, why);
}

int otelprof_settings_read_file(struct otelprof_settings *settings, const char *path,
				struct otelprof_error_info *why)
{
	_cleanup_free_ char *text = NULL;
	struct op_log log = { 0 };
	ssize_t len;
	int r;

	if (is_wrong(settings, why) || !path)
		return -EINVAL;
	len = op_read_file(path, TEXT_BYTES_MAX, &text);
	if (len == -EFBIG)
		r = op_fail(&log, -E2BIG, "%.200s: it has more than %d bytes", path,
			    TEXT_BYTES_MAX);
	else if (len < 0)
		r = op_fail(&log, (int)len, "%.200s: it cannot be read: %s", path,
			    strerror((int)-len));
	else
		r = read_lines(settings, path, text, (size_t)len, &log);
	if (len > 0)
		explicit_bzero(text, (size_t)len); /* it may hold secrets */
	return end(r, &log, path, why);
}

static const char *variable_of(const struct op_key *key, char *ret, size_t size)
{
	size_t i;

	(void)snprintf(ret, size, "%s%s", VARIABLE_PREFIX, key->name);
	for (i = 0; ret[i]; i++)
		ret[i] = (char)toupper((unsigned char)ret[i]);
	return ret;
}

/* Attributes that describe this program itself, not the profiled ones. */
static bool is_own(const char *key)
{
	static const char *const PREFIXES[] = { "service.", "process.", "telemetry." };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(PREFIXES); i++)
		if (strncmp(key, PREFIXES[i], strlen(PREFIXES[i])) == 0)
			return true;
	return false;
}

/* Attributes of OTEL_RESOURCE_ATTRIBUTES, which may be set for a whole pod or shell. If
 * one is malformed, the specification leaves out all, and @ignored says so. */
static int read_resource(struct otelprof_settings *s, struct op_log *ignored)
{
	static const char ATTRIBUTES[] = "OTEL_RESOURCE_ATTRIBUTES";
	struct op_pairs *to = &s->values.list.attributes;
	const char *value = secure_getenv(ATTRIBUTES);
	struct op_pairs whole = { 0 };
	int r;

	if (!value || !*value)
		return 0;
	r = op_parse_pairs(&whole, value, is_own, false, ATTRIBUTES, ignored);
	if (r == 0 && to->len + whole.len > OP_PAIRS_MAX)
		r = op_fail(ignored, -EINVAL, "%s: there are more than %d entries",
			    ATTRIBUTES, OP_PAIRS_MAX);
	op_pairs_clear(&whole);
	if (r < 0)
		return r == -EINVAL ? 0 : r;
	/* later than a file's, but OTELPROF_ATTRIBUTES wins */
	return op_parse_pairs(to, value, is_own,
			      s->given[OP_KEY_NUMBER_attributes] == s->source, ATTRIBUTES,
			      ignored);
}

static int read_variables(struct otelprof_settings *s, struct op_log *log)
{
	char variable[VARIABLE_BYTES];
	const char *value;
	int r = 0;
	int i;

	begin_source(s, false);
	for (i = 0; r == 0 && i < OP_KEYS; i++) {
		const struct op_key *key = op_key_get((enum op_key_number)i);

		value = secure_getenv(variable_of(key, variable, sizeof(variable)));
		if (value && *value)
			r = set(s, key->name, value, variable, log);
	}
	return r;
}

int otelprof_settings_read_environment(struct otelprof_settings *settings,
				       struct otelprof_error_info *why)
{
	struct op_log log = { 0 };
	int r;

	if (is_wrong(settings, why))
		return -EINVAL;
	r = read_variables(settings, &log);
	if (r == 0)
		r = read_resource(settings, &log);
	if (r == 0 && log.error && why) {
		log.error = 0;
		(void)op_config_give_error(&log, why);
	}
	return end(r, &log, "environment", why);
}

int otelprof_settings_set(struct otelprof_settings *settings, const char *key,
			  const char *value, struct otelprof_error_info *why)
{
	struct op_log log = { 0 };

	if (is_wrong(settings, why) || !key || !value)
		return -EINVAL;
	begin_source(settings, true);
	return end(set(settings, key, value, "", &log), &log, "", why);
}

int otelprof_settings_get_config(const struct otelprof_settings *settings,
				 struct otelprof_config *ret)
{
	struct otelprof_config config;

	if (!settings)
		return -EINVAL;
	config = settings->values.plain.config;
	config.attributes = settings->values.list.attributes.data;
	config.attributes_len = settings->values.list.attributes.len;
	config.environment = settings->values.list.environment.data;
	config.environment_len = settings->values.list.environment.len;
	/* in addition to the kinds that are sampled anyway */
	if (settings->values.list.probes.len)
		config.kinds = (config.kinds ? config.kinds : OTELPROF_KIND_CPU) |
			       OTELPROF_KIND_PROBES;
	return op_config_give(ret, &config, sizeof(config),
			      OP_CONFIG_THROUGH(struct otelprof_config, attributes_len));
}

int otelprof_settings_get_otlp(const struct otelprof_settings *settings,
			       struct otelprof_otlp_config *ret)
{
	struct otelprof_otlp_config otlp;

	if (!settings)
		return -EINVAL;
	otlp = settings->values.plain.otlp;
	otlp.headers = settings->values.list.headers.data;
	otlp.headers_len = settings->values.list.headers.len;
	return op_config_give(ret, &otlp, sizeof(otlp),
			      OP_CONFIG_THROUGH(struct otelprof_otlp_config, reserved0));
}

const char *const *otelprof_settings_get_probes(const struct otelprof_settings *settings,
						size_t *ret_len)
{
	if (!settings || !ret_len)
		return NULL;
	*ret_len = settings->values.list.probes.len;
	return settings->values.list.probes.data;
}

const struct otelprof_rule *
otelprof_settings_get_rules(const struct otelprof_settings *settings, size_t *ret_len)
{
	if (!settings || !ret_len)
		return NULL;
	*ret_len = settings->values.list.rules.len;
	return settings->values.list.rules.data;
}

static void tell(const struct op_key *key, otelprof_settings_fn fn, void *userdata)
{
	char variable[VARIABLE_BYTES];
	char text[KEY_TEXT_BYTES];
	const struct otelprof_settings_key row = {
		.size = sizeof(row),
		.key = key->name,
		.variable = variable_of(key, variable, sizeof(variable)),
		.text = text,
		.live = key->live,
	};

	op_word_fill(key->text,
		     key->type == OP_TYPE_BITS
			     ? op_key_words_get((enum op_key_words)key->min)
			     : NULL,
		     text, sizeof(text));
	fn(userdata, &row);
}

int otelprof_settings_keys(otelprof_settings_fn fn, void *userdata)
{
	int i;

	if (!fn)
		return -EINVAL;
	for (i = 0; i < OP_KEYS; i++)
		tell(op_key_get((enum op_key_number)i), fn, userdata);
	return 0;
}

int otelprof_settings_compare(const struct otelprof_settings *a,
			      const struct otelprof_settings *b, otelprof_settings_fn fn,
			      void *userdata)
{
	int differ = 0;
	int i;

	if (!a || !b)
		return -EINVAL;
	for (i = 0; i < OP_KEYS; i++) {
		const struct op_key *key = op_key_get((enum op_key_number)i);

		if (op_value_equal(&a->values, &b->values, key))
			continue;
		differ++;
		if (fn)
			tell(key, fn, userdata);
	}
	return differ;
}
