/* SPDX-License-Identifier: Apache-2.0 */
#include "api/settings/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/settings/values.h"
#include "base/allowance.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/rows/rows.h"
#include "op_user_types.h"
#include "process/resource/environment.h"
#include "process/resource/host.h"

enum {
	/* more than any struct will have: a larger size is an error */
	STRUCT_BYTES_MAX = 4096,
	COMM_LEN_MAX = OP_COMM_BYTES - 1,
	RULE_NAME_BYTES = 32,
	RULE_TEXT_MAX = 4095, /* as long as a path may be */
};

static const uint64_t FLAGS_KNOWN = (UINT64_C(1) << 11) - 1;

int op_config_copy(void *to, size_t to_size, const void *from, size_t min_size,
		   struct op_log *log, const char *what)
{
	size_t size = *(const size_t *)from;
	size_t i;

	if (size < min_size || size > STRUCT_BYTES_MAX)
		return op_fail(
			log, -EINVAL,
			"%s: size is %zu and must be sizeof the struct; call its _init()",
			what, size);
	for (i = to_size; i < size; i++)
		if (((const char *)from)[i])
			return op_fail(
				log, -E2BIG,
				"%s: a field at byte %zu is set that this library (%zu bytes) "
				"does not know",
				what, i, to_size);
	memset(to, 0, to_size);
	memcpy(to, from, OP_MIN(size, to_size));
	*(size_t *)to = to_size;
	return 0;
}

static bool is_size(size_t size, size_t min_size)
{
	return size >= min_size && size <= STRUCT_BYTES_MAX;
}

int op_config_give(void *to, const void *from, size_t from_size, size_t min_size)
{
	size_t size;

	if (!to)
		return -EINVAL;
	size = *(size_t *)to;
	if (!is_size(size, min_size))
		return -EINVAL;
	memset(to, 0, size);
	memcpy(to, from, OP_MIN(size, from_size));
	*(size_t *)to = size;
	return 0;
}

bool op_config_takes_error(const struct otelprof_error_info *ret)
{
	return is_size(ret->size, OP_CONFIG_THROUGH(struct otelprof_error_info, detail));
}

int op_config_give_error(const struct op_log *log, struct otelprof_error_info *ret)
{
	struct otelprof_error_info info = { .code = log->error };
	/* a detail that is too long loses its beginning */
	const char *detail = log->detail ? log->detail : "";
	size_t len = strlen(detail);

	if (len >= sizeof(info.detail))
		detail += len - sizeof(info.detail) + 1;
	(void)strlcpy(info.message, log->message, sizeof(info.message));
	(void)strlcpy(info.detail, detail, sizeof(info.detail));
	return op_config_give(ret, &info, sizeof(info),
			      OP_CONFIG_THROUGH(struct otelprof_error_info, detail));
}

static int check_environment(const struct otelprof_config *c, struct op_log *log)
{
	size_t i;

	if (c->environment_len && !c->environment)
		return op_fail(log, -EINVAL,
			       "environment is NULL with environment_len set");
	if (c->environment_len > OTELPROF_ENVIRONMENT_MAX)
		return op_fail(log, -EINVAL,
			       "environment_len is %zu; at most %d variables are read",
			       c->environment_len, OTELPROF_ENVIRONMENT_MAX);
	for (i = 0; i < c->environment_len; i++) {
		const char *name = c->environment[i];

		if (!name || !*name || strchr(name, '=') ||
		    strlen(name) > OP_VARIABLE_NAME_MAX)
			return op_fail(
				log, -EINVAL,
				"environment: name %zu must have 1 to %d bytes and "
				"no '='",
				i, OP_VARIABLE_NAME_MAX);
	}
	return 0;
}

int op_config_kinds(uint64_t kinds, struct op_log *log)
{
	if (kinds & ~op_word_bits(op_word_kinds))
		return op_fail(log, -E2BIG, "kinds has bits this library does not know");
	return 0;
}

static int check(const struct otelprof_config *c, struct op_log *log)
{
	size_t i;

	if (c->flags & ~FLAGS_KNOWN)
		return op_fail(log, -E2BIG, "flags has bits this library does not know");
	if (c->runtimes_off & ~op_word_bits(op_word_runtimes))
		return op_fail(log, -E2BIG,
			       "runtimes_off has bits this library does not know");
	if (op_config_kinds(c->kinds, log) < 0)
		return -E2BIG;
	if (c->reserved1 || c->reserved2)
		return op_fail(
			log, -E2BIG,
			"struct otelprof_config: reserved1 and reserved2 must be 0");
	if (c->attributes_len && !c->attributes)
		return op_fail(log, -EINVAL,
			       "attributes is NULL with attributes_len set");
	for (i = 0; i < c->attributes_len; i++)
		if (!c->attributes[i].key || !*c->attributes[i].key ||
		    !c->attributes[i].value)
			return op_fail(log, -EINVAL,
				       "attribute %zu has no key or no value", i);
	return check_environment(c, log);
}

/* Set defaults and check ranges of the values that keys set. */
static int settle(struct otelprof_config *c, struct op_log *log)
{
	struct op_values values = { .plain.config = *c };
	int r = 0;
	int i;

	for (i = 0; r == 0 && i < OP_KEYS; i++) {
		const struct op_key *key = op_key_get((enum op_key_number)i);

		if (key->offset < offsetof(struct op_values, plain.otlp))
			r = op_value_settle(&values, key, log);
	}
	if (r < 0)
		return r;
	*c = values.plain.config;
	/* the open window cannot be evicted, so it must leave memory for the rest */
	if (c->memory_limit_bytes)
		c->symbol_budget_bytes =
			OP_MIN(c->symbol_budget_bytes, c->memory_limit_bytes / 2);
	if (!c->kinds)
		c->kinds = OTELPROF_KIND_CPU;
	if (!c->procfs_root)
		c->procfs_root = "/proc";
	if (!c->sysfs_root)
		c->sysfs_root = "/sys";
	return 0;
}

static int copy_string(const char **s)
{
	if (!*s)
		return 0;
	*s = strdup(*s);
	return *s ? 0 : -ENOMEM;
}

static int copy_attributes(struct otelprof_config *c)
{
	const struct otelprof_attribute *from = c->attributes;
	struct otelprof_attribute *to;
	size_t i;

	if (!c->attributes_len) {
		c->attributes = NULL;
		return 0;
	}
	to = calloc(c->attributes_len, sizeof(*to));
	c->attributes = to;
	if (!to)
		return -ENOMEM;
	for (i = 0; i < c->attributes_len; i++) {
		to[i] = from[i];
		/* both are set before either is checked, so that op_config_deinit() frees
		 * only copies */
		to[i].key = strdup(from[i].key);
		to[i].value = strdup(from[i].value);
		if (!to[i].key || !to[i].value)
			return -ENOMEM;
	}
	return 0;
}

static int copy_environment(struct otelprof_config *c)
{
	const char *const *from = c->environment;
	const char **to;
	size_t i;

	c->environment = NULL;
	if (!c->environment_len)
		return 0;
	to = calloc(c->environment_len, sizeof(*to));
	c->environment = to;
	if (!to)
		return -ENOMEM;
	for (i = 0; i < c->environment_len; i++) {
		to[i] = strdup(from[i]);
		if (!to[i])
			return -ENOMEM;
	}
	return 0;
}

/* Replace every borrowed pointer of @c by a copy. On failure the pointers that were not
 * copied are NULL. */
static int copy_strings(struct otelprof_config *c)
{
	const char **strings[] = { &c->procfs_root, &c->sysfs_root, &c->service_name,
				   &c->layouts_dir };
	size_t i;
	int r = copy_attributes(c);

	if (r == 0)
		r = copy_environment(c);
	else
		c->environment = NULL;
	for (i = 0; i < OP_ARRAY_SIZE(strings); i++) {
		if (r == 0)
			r = copy_string(strings[i]);
		else
			*strings[i] = NULL;
	}
	return r;
}

int op_config_init(const struct otelprof_config *from, struct op_log *log,
		   struct otelprof_config *ret)
{
	struct otelprof_config defaults;
	struct otelprof_config c;
	int r;

	otelprof_config_init(&defaults, sizeof(defaults));
	r = op_config_copy(&c, sizeof(c), from ? from : &defaults,
			   OP_CONFIG_THROUGH(struct otelprof_config, attributes_len), log,
			   "struct otelprof_config");
	if (r < 0)
		return r;
	r = check(&c, log);
	if (r == 0)
		r = settle(&c, log);
	if (r < 0)
		return r;
	r = copy_strings(&c);
	if (r < 0) {
		op_config_deinit(&c);
		return op_fail(log, r, "there is no memory for the configuration");
	}
	*ret = c;
	return 0;
}

bool op_config_has_attribute(const struct otelprof_config *c, const char *key)
{
	size_t i;

	for (i = 0; i < c->attributes_len; i++)
		if (strcmp(c->attributes[i].key, key) == 0)
			return true;
	return false;
}

static int add_attribute(struct otelprof_config *c, const char *key, const char *value)
{
	struct otelprof_attribute new = { 0 };
	struct otelprof_attribute *grown;

	if (op_config_has_attribute(c, key))
		return 0; /* the user's values win */
	grown = realloc((void *)c->attributes, (c->attributes_len + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	c->attributes = grown;
	new.key = strdup(key);
	new.value = strdup(value);
	grown[c->attributes_len++] = new;
	return new.key &&new.value ? 0 : -ENOMEM;
}

int op_config_add_host(struct otelprof_config *c)
{
	struct op_host host;
	int r;

	if (c->flags & OTELPROF_NO_HOST)
		return 0;
	op_host_read(c->procfs_root, &host);
	r = *host.name ? add_attribute(c, "host.name", host.name) : 0;
	if (r == 0 && *host.id)
		r = add_attribute(c, "host.id", host.id);
#if defined(__x86_64__)
	if (r == 0)
		r = add_attribute(c, "host.arch", "amd64");
#elif defined(__aarch64__)
	if (r == 0)
		r = add_attribute(c, "host.arch", "arm64");
#endif
	return r == 0 ? add_attribute(c, "os.type", "linux") : r;
}

void op_config_deinit(struct otelprof_config *c)
{
	size_t i;

	for (i = 0; c->attributes && i < c->attributes_len; i++) {
		free((void *)c->attributes[i].key);
		free((void *)c->attributes[i].value);
	}
	free((void *)c->attributes);
	for (i = 0; c->environment && i < c->environment_len; i++)
		free((void *)c->environment[i]);
	free((void *)c->environment);
	free((void *)c->procfs_root);
	free((void *)c->sysfs_root);
	free((void *)c->service_name);
	free((void *)c->layouts_dir);
	memset(c, 0, sizeof(*c));
}

static bool has_text(uint32_t kind)
{
	return kind == OTELPROF_MATCH_COMM || kind == OTELPROF_MATCH_CGROUP ||
	       kind >= OTELPROF_MATCH_CONTAINER;
}

static int check_text(const struct otelprof_rule *rule, const char *what,
		      struct op_log *log)
{
	size_t most = rule->kind == OTELPROF_MATCH_COMM ? COMM_LEN_MAX : RULE_TEXT_MAX;

	if (!rule->text || !*rule->text)
		return op_fail(log, -EINVAL, "%s needs a text", what);
	if (strnlen(rule->text, most + 1) > most)
		return op_fail(log, -EINVAL, "the text of %s has more than %zu bytes",
			       what, most);
	if (rule->kind == OTELPROF_MATCH_EXECUTABLE && *rule->text != '/' &&
	    *rule->text != '*')
		return op_fail(log, -EINVAL,
			       "an executable's path begins with / or *, as in "
			       "\"*/%.64s\"",
			       rule->text);
	if (rule->kind == OTELPROF_MATCH_ENVIRONMENT && *rule->text == '=')
		return op_fail(log, -EINVAL,
			       "a variable of the environment has no name before \"=\"");
	return 0;
}

static int check_rule(const struct otelprof_rule *rule, const char *what,
		      struct op_log *log)
{
	bool include = rule->action == OTELPROF_RULE_INCLUDE;

	if (rule->kind > OTELPROF_MATCH_ENVIRONMENT)
		return op_fail(log, -E2BIG, "kind %u of %s is not known", rule->kind,
			       what);
	if (rule->action > OTELPROF_RULE_RATE)
		return op_fail(log, -E2BIG, "action %u of %s is not known", rule->action,
			       what);
	if (rule->sample_rate_hz > OP_CONFIG_RATE_HZ_MAX)
		return op_fail(log, -EINVAL, "the rate of %s is %u and must be 1 to %d",
			       what, rule->sample_rate_hz, OP_CONFIG_RATE_HZ_MAX);
	if (rule->action == OTELPROF_RULE_RATE && !rule->sample_rate_hz)
		return op_fail(log, -EINVAL, "%s sets a rate but has no sample_rate_hz",
			       what);
	if (rule->action == OTELPROF_RULE_EXCLUDE && rule->sample_rate_hz)
		return op_fail(log, -EINVAL,
			       "%s excludes, so it cannot have a sample_rate_hz", what);
	if (rule->keep_one_in > 1 && !include)
		return op_fail(log, -EINVAL, "%s has a keep_one_in but does not include",
			       what);
	return has_text(rule->kind) ? check_text(rule, what, log) : 0;
}

int op_config_rule(const struct otelprof_rule *from, const char *what, struct op_log *log,
		   struct otelprof_rule *ret)
{
	int r = op_config_copy(ret, sizeof(*ret), from,
			       OP_CONFIG_THROUGH(struct otelprof_rule, keep_one_in), log,
			       what);

	return r < 0 ? r : check_rule(ret, what, log);
}

int op_config_rules(const struct otelprof_rule *from, size_t len, struct op_log *log,
		    struct otelprof_rule *ret)
{
	const char *at = (const char *)from;
	char what[RULE_NAME_BYTES];
	size_t i;
	int r;

	for (i = 0; i < len; i++, at += from->size) {
		(void)snprintf(what, sizeof(what), "rule %zu", i);
		/* The distance between the caller's elements is the size of its struct,
		 * not of ours. */
		if (*(const size_t *)at != from->size)
			return op_fail(log, -EINVAL,
				       "the size of %s differs from the first rule's",
				       what);
		r = op_config_rule((const void *)at, what, log, &ret[i]);
		if (r < 0)
			return r;
	}
	return 0;
}
