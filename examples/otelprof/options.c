/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the commands that profile. Most are keys of the settings: the
 * library's table lists them, with their help. */
#include "base/rows/rows.h"
#include "choose/rules.h"
#include "common.h"
#include "near.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_COLUMN = 30,
	NAME_BYTES = 32,
	LONGS_MAX = 160,
	LETTERS_BYTES = 32,
	TEXT_BYTES = 512,
};
#define SECONDS_MAX 31536000.0 /* a year */

enum where {
	WHERE_ALL,
	WHERE_PROGRAM,
	WHERE_EXPORT,
	WHERE_LIBRARY,
};

static const struct setting {
	const char *key; /* NULL: @text is the heading of a group */
	const char *word;
	const char *fallback;
	const char *text;
	const char *type;
	enum where where;
} settings[] = {
#define OP_GROUP(heading) { .text = heading },
#define OP_KEY(key, of, field, type, min, max, live, unit, where, word, fallback, text)  \
	{ #key, word, fallback, text, #type, WHERE_##where },
#include "api/settings/each.h"
};

static const struct alias {
	const char *name;
	const char *key;
	const char *as;
	const char *word;
	char letter;
} aliases[] = {
#define OP_ALIAS(name, letter, key, as, word) { #name, #key, as, word, letter },
#include "api/settings/each.h"
};

enum {
	SETTINGS = sizeof(settings) / sizeof(settings[0]),
	ALIASES = sizeof(aliases) / sizeof(aliases[0]),
};

static const struct option shared[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "duration", required_argument, NULL, 'd' },
	{ "pid", required_argument, NULL, 'p' },
	{ "cgroup", required_argument, NULL, OPTION_CGROUP },
	{ "container", required_argument, NULL, OPTION_CONTAINER },
	{ "pod", required_argument, NULL, OPTION_POD },
	{ "tree", required_argument, NULL, OPTION_TREE },
	{ "user", required_argument, NULL, OPTION_USER },
	{ "exclude", required_argument, NULL, OPTION_EXCLUDE },
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "comm", required_argument, NULL, OPTION_COMM },
	{ NULL, 0, NULL, 0 },
};

static bool has(const struct options *o, const struct setting *s)
{
	return s->key && (s->where == WHERE_ALL || s->where == WHERE_PROGRAM ||
			  (s->where == WHERE_EXPORT && o->exports));
}

static bool is_off(const struct setting *s)
{
	return strcmp(s->type, "OFF") == 0;
}

static const struct setting *setting_of(const char *key)
{
	size_t i;

	for (i = 0; i < SETTINGS; i++)
		if (settings[i].key && strcmp(settings[i].key, key) == 0)
			return &settings[i];
	return NULL;
}

/* The alias that the help shows in place of @key, or NULL. */
static const struct alias *alias_of(const char *key)
{
	size_t i;

	for (i = 0; i < ALIASES; i++)
		if (strcmp(aliases[i].key, key) == 0 &&
		    strcmp(aliases[i].as, "not") != 0 &&
		    strcmp(aliases[i].as, "one") != 0)
			return &aliases[i];
	return NULL;
}

/* "max-frames" for max_frames. */
static const char *switch_of(const char *prefix, const char *key, char *ret)
{
	char *c;

	(void)snprintf(ret, NAME_BYTES, "%s%s", prefix, key);
	for (c = ret; *c; c++)
		if (*c == '_')
			*c = '-';
	return ret;
}

/* The start of the help line for @s. */
static void print_left(FILE *f, const struct setting *s, int *ret_columns)
{
	const struct alias *a = alias_of(s->key);
	const char *word = a ? a->word : s->word;
	char letter[] = "    ", name[NAME_BYTES];

	if (a && a->letter)
		(void)snprintf(letter, sizeof(letter), "-%c, ", a->letter);
	(void)switch_of(is_off(s) ? "no-" : "", a ? a->name : s->key, name);
	*ret_columns = fprintf(f, "  %s--%s%s%s", letter, name, *word ? " " : "", word);
}

/* The first sentence of its text, and its default. */
static void print_setting(FILE *f, const struct setting *s, const char *fallback)
{
	static const char *const plain[] = { "none", "0", "true", "false" };
	const char *from = s->text + (is_off(s) ? strlen("false: ") : 0);
	const char *end = strstr(from, ". ");
	int len = end ? (int)(end - from) : (int)strlen(from) - 1;
	char text[TEXT_BYTES];
	char filled[TEXT_BYTES];
	int columns = 0;
	size_t i;

	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strcmp(fallback, plain[i]) == 0)
			fallback = "";
	(void)snprintf(text, sizeof(text), "%.*s%s%s%s", len, from, *fallback ? " (" : "",
		       fallback, *fallback ? ")" : "");
	if (islower((unsigned char)text[1]) || text[1] == ' ')
		*text = (char)tolower((unsigned char)*text);
	op_word_fill(text,
		     strcmp(s->key, "kinds") == 0 ? op_word_kinds : op_word_runtimes,
		     filled, sizeof(filled));
	print_left(f, s, &columns);
	print_wrapped(f, filled, columns, TEXT_COLUMN);
}

void options_help(FILE *f, const struct options *o)
{
	const char *heading = NULL;
	size_t i;

	(void)fputs(
		"  -d, --duration S            end after S seconds\n"
		"      --config FILE           read options from this file\n"
		"  -v, --verbose               say more on stderr, twice: everything\n"
		"  -h, --help                  show this text\n"
		"\n"
		"What to sample (without these every process, with several any of them):\n"
		"  -p, --pid PID               this process\n"
		"      --tree PID              this process and its descendants\n"
		"      --user USER             processes of this user, by name or number\n"
		"      --cgroup PATH           this control group and those below it\n"
		"      --container ID          this container, by the first digits of its id or\n"
		"                              by name\n"
		"      --pod UID               this pod of Kubernetes\n"
		"      --comm NAME             threads of this name (as ps -L -o comm shows it)\n"
		"      --exclude TARGET        leave this out, as in --rules 'exclude TARGET'\n\n" RULES_SENTENCE,
		f);
	for (i = 0; i < SETTINGS; i++) {
		const struct setting *s = &settings[i];

		if (!s->key)
			heading = s->text;
		if (!has(o, s))
			continue;
		if (heading)
			(void)fprintf(f, "\n%s:\n", heading);
		heading = NULL;
		print_setting(f, s,
			      strcmp(s->key, "sample_rate_hz") == 0 ? o->rate
								    : s->fallback);
	}
	(void)fputs(
		"\nA SIZE takes KiB, MiB or GiB, a TIME ms, s or m. Options from \"Samples\" on are\n"
		"keys of a --config FILE, too, and variables: --max-frames 64, max_frames = 64,\n"
		"OTELPROF_MAX_FRAMES=64. otelprof_settings_new(3) has all. Options win over\n"
		"variables, and variables over the file.\n",
		f);
}

int parse_number(const char *command, const char *option, const char *arg, long long min,
		 long long max, long long *ret)
{
	const char *why = NULL;
	long long n = strtonum(arg, min, max, &why);

	if (why) {
		(void)fail("%s takes a number from %lld to %lld, not \"%s\"", option, min,
			   max, arg);
		return usage_hint(command);
	}
	*ret = n;
	return 0;
}

int parse_seconds(const char *command, const char *option, const char *arg, double *ret)
{
	char *end = NULL;
	double v = strtod(arg, &end);

	if (end == arg || *end || !isfinite(v) || v <= 0 || v > SECONDS_MAX) {
		(void)fail("%s takes a number of seconds above 0, not \"%s\"", option,
			   arg);
		return usage_hint(command);
	}
	*ret = v;
	return 0;
}

void options_clear(struct options *o)
{
	free(o->given);
	rules_clear(o);
}

static int give(struct options *o, const char *name, const char *value)
{
	struct given *more = reallocarray(o->given, o->given_len + 1, sizeof(*o->given));

	if (!more)
		return fail("out of memory");
	o->given = more;
	o->given[o->given_len++] = (struct given){ name, value };
	return 0;
}

static bool is_given(const struct options *o, const char *name)
{
	size_t i;

	for (i = 0; i < o->given_len; i++)
		if (strcmp(o->given[i].name, name) == 0)
			return true;
	return false;
}

/* Kinds of the command line replace others and their probes. @list stays changed. */
static int take_kinds(struct options *o, char *list)
{
	int r = is_given(o, "probes") ? 0 : give(o, "probes", "");
	char *item;

	while (!r && (item = strsep(&list, ","))) {
		bool probe = strncmp(item, "probe:", strlen("probe:")) == 0;

		if (!probe && strncmp(item, "perf:", strlen("perf:")) != 0) {
			r = give(o, "kinds", item);
			continue;
		}
		r = give(o, "kinds", "probes");
		if (!r)
			r = give(o, "probes", item + (probe ? strlen("probe:") : 0));
	}
	return r;
}

static int take(struct options *o, int c, const char *name, char *arg)
{
	switch (c) {
	case 'v':
		return give(o, "log-level", o->verbose++ ? "debug" : "info");
	case 'd':
		return parse_seconds(o->command, "-d", arg, &o->seconds);
	case OPTION_CONFIG:
		o->config_path = arg;
		return 0;
	case OPTION_KEY:
		if (strcmp(name, "kinds") == 0)
			return take_kinds(o, arg);
		if (strncmp(name, "rule", strlen("rule")) == 0)
			return rules_take(o, OPTION_RULE, arg);
		return give(o, name, arg ? arg : "true");
	default:
		return rules_take(o, c, arg);
	}
}

/* All long options, which end with a line of zeroes. */
struct longs {
	struct option of[LONGS_MAX];
	size_t len;
};

static void add_all(struct longs *l, const struct option *more)
{
	for (; more->name; more++)
		l->of[l->len++] = *more;
}

static void add_setting(struct longs *l, const char *prefix, const char *name,
			const struct setting *s)
{
	static char names[LONGS_MAX][NAME_BYTES];

	l->of[l->len] = (struct option){
		.name = switch_of(prefix, name, names[l->len]),
		.has_arg = *s->word ? required_argument : optional_argument,
		.val = OPTION_KEY,
	};
	l->len++;
}

static void add_settings(struct longs *l, const struct options *o)
{
	size_t i;

	for (i = 0; i < SETTINGS; i++) {
		if (!has(o, &settings[i]))
			continue;
		add_setting(l, "", settings[i].key, &settings[i]);
		if (is_off(&settings[i]))
			add_setting(l, "no-", settings[i].key, &settings[i]);
	}
	for (i = 0; i < ALIASES; i++) {
		const struct setting *s = setting_of(aliases[i].key);

		if (has(o, s))
			add_setting(l, "", aliases[i].name, s);
	}
}

/* The alias with the letter @c, or NULL. */
static const char *name_of_letter(int c)
{
	size_t i;

	for (i = 0; i < ALIASES; i++)
		if (aliases[i].letter == c)
			return aliases[i].name;
	return NULL;
}

static bool is_own(int c, const char *letters)
{
	return c >= OPTION_OWN || (c < OPTION_CGROUP && strchr(letters, c));
}

int options_parse(struct options *o, int argc, char **argv, const char *letters,
		  const struct option *longs, option_fn take_own, void *data)
{
	struct longs all = { .len = 0 };
	char all_letters[LETTERS_BYTES];
	int c, at = 0, r = 0;

	add_all(&all, longs);
	add_all(&all, shared);
	add_settings(&all, o);
	(void)snprintf(all_letters, sizeof(all_letters), "%shvagd:F:p:", letters);
	while (!r && (c = getopt_long(argc, argv, all_letters, all.of, &at)) != -1) {
		const char *letter = c < OPTION_CGROUP ? name_of_letter(c) : NULL;

		if (c == 'h')
			return OPTIONS_HELP;
		if (c == '?')
			return near_option(o->command, argv[optind - 1], all.of);
		/* Options that users of perf expect. */
		if ((c == 'a' || c == 'g') && !strchr(letters, c)) {
			note(c == 'a' ? "-a is the default: every process is sampled"
				      : "-g is always on: stacks are always recorded");
			continue;
		}
		if (is_own(c, letters))
			r = take_own(data, c, optarg);
		else if (letter)
			r = take(o, OPTION_KEY, letter, optarg);
		else
			r = take(o, c, all.of[at].name, optarg);
	}
	return r;
}
