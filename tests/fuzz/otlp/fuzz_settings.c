/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as text: what is taken holds strings that end, and is the same when it is read
 * again; what is refused has a sentence. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <otelprof/settings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

static size_t lengths(const char *const *texts, size_t len)
{
	size_t sum = 0, i;

	for (i = 0; i < len; i++)
		sum += length(texts[i]);
	return sum;
}

/* Go through all that it gives out. */
static size_t use(const struct otelprof_settings *settings)
{
	struct otelprof_otlp_config otlp = { .size = sizeof(otlp) };
	struct otelprof_config config = { .size = sizeof(config) };
	const struct otelprof_rule *rules;
	const char *const *probes;
	size_t sum = 0, len, i;

	if (otelprof_settings_get_config(settings, &config) ||
	    otelprof_settings_get_otlp(settings, &otlp))
		abort();
	sum += length(config.layouts_dir) + length(config.service_name) +
	       length(config.procfs_root) + length(config.sysfs_root);
	for (i = 0; i < config.attributes_len; i++)
		sum += length(config.attributes[i].key) +
		       length(config.attributes[i].value);
	sum += lengths(config.environment, config.environment_len);
	sum += length(otlp.endpoint) + length(otlp.spill_dir);
	probes = otelprof_settings_get_probes(settings, &len);
	sum += lengths(probes, len);
	rules = otelprof_settings_get_rules(settings, &len);
	for (i = 0; i < len; i++)
		sum += length(rules[i].text);
	return sum;
}

static int read_text(struct otelprof_settings *settings, const uint8_t *data, size_t size)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	int r = otelprof_settings_read(settings, "file", (const char *)data, size, &why);

	if (r > 0 ||
	    (r < 0 && (!memchr(why.message, 0, sizeof(why.message)) || !*why.message)))
		abort();
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct otelprof_settings *a = NULL, *b = NULL;

	if (otelprof_settings_new(&a) == 0 && otelprof_settings_new(&b) == 0 &&
	    read_text(a, data, size) == read_text(b, data, size)) {
		if (use(a) != use(b) || otelprof_settings_compare(a, b, NULL, NULL))
			abort();
		(void)read_text(a, data, size);
		(void)use(a);
	}
	(void)otelprof_settings_free(a);
	(void)otelprof_settings_free(b);
	return 0;
}
