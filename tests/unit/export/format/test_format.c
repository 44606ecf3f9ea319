/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of the file exporter, on requests written by hand (cli/request.h). */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/rows/rows.h"
#include "export/format/collect/kinds.h"
#include "export/format/format.h"
#include "otelprof/export.h"
#include "request.h"

#include "test.h"

enum {
	OUTPUT_MAX = 64 << 20
};

/* What @format makes of @request, given @times times. Caller frees. */
static char *make(uint32_t format, const struct rq_buf *request, int times, char *path)
{
	const struct op_format *f = op_format_get(format);
	char *text = NULL;
	struct op_collect *c = NULL;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK(f);
	CHECK_OK(op_format_collect(f, &c));
	for (; times; times--)
		CHECK_OK(op_collect_add(c, request->data, request->len));
	CHECK_OK(f->write(c, fd));
	(void)op_collect_free(c);
	CHECK_OK(op_read_fd(fd, OUTPUT_MAX, &text));
	(void)close(fd);
	return text;
}

static char *make_canned(uint32_t format, int times)
{
	char path[] = "/tmp/test-format-XXXXXX";
	struct rq_buf request = rq_canned();
	char *text = make(format, &request, times, path);

	(void)unlink(path);
	free(request.data);
	return text;
}

static void test_otlp_has_no_format(void)
{
	CHECK(!op_format_get(OTELPROF_FORMAT_OTLP));
	CHECK(!op_format_get(77));
}

static void test_folded_is_the_known_text(void)
{
	_cleanup_free_ char *text = make_canned(OTELPROF_FORMAT_FOLDED, 1);

	CHECK_STR(text, "evil;" RQ_EVIL ";a:b 1\n"
			"python;main;<module>;work 4\n"
			"web;main;handle;ksys_read 2\n"
			"web;main;handle;parse 3\n");
}

static void test_folded_sums_requests(void)
{
	_cleanup_free_ char *text = make_canned(OTELPROF_FORMAT_FOLDED, 3);

	CHECK(strstr(text, "web;main;handle;parse 9\n"));
	CHECK(strstr(text, "evil;" RQ_EVIL ";a:b 3\n"));
}

/* At 10 Hz but one sample at 100 Hz: each counts by the time that it stands for. */
static void test_folded_of_two_rates(void)
{
	char path[] = "/tmp/test-format-XXXXXX";
	struct rq_buf request = rq_canned_with(4, 10 * RQ_PERIOD_NS);
	_cleanup_free_ char *text = make(OTELPROF_FORMAT_FOLDED, &request, 1, path);

	(void)unlink(path);
	free(request.data);
	CHECK_STR(text, "evil;" RQ_EVIL ";a:b 10000000\n"
			"python;main;<module>;work 400000000\n"
			"web;main;handle;ksys_read 200000000\n"
			"web;main;handle;parse 300000000\n");
}

static void add_kind(struct op_collect *c, const char *type, const char *unit)
{
	struct op_collect_kind *k = op_vec_push(&c->kinds);

	CHECK(k);
	*k = (struct op_collect_kind){ 0 };
	CHECK_OK(op_strings_add(&c->strings, (struct otlp_text){ type, strlen(type) },
				&k->counted_type));
	CHECK_OK(op_strings_add(&c->strings, (struct otlp_text){ unit, strlen(unit) },
				&k->counted_unit));
}

/* Every kind of this library has a place before those of others, and CPU samples the first. */
static void test_main_kind(void)
{
	size_t len, i;
	const struct op_otlp_kind *rows = op_rows_otlp(&len);
	struct op_collect *c = NULL;

	for (i = 0; i < len; i++) {
		CHECK_OK(op_collect_new(OP_COLLECT_FUNCTIONS, &c));
		add_kind(c, "a", "count");
		add_kind(c, rows[i].type, rows[i].unit);
		CHECK_INT(op_collect_main_kind(c), 1);
		add_kind(c, "samples", "count");
		CHECK_INT(op_collect_main_kind(c), rows[i].event ? 2 : 1);
		(void)op_collect_free(c);
	}
}

static void test_nothing_is_an_empty_file(void)
{
	char path[] = "/tmp/test-format-XXXXXX";
	_cleanup_free_ char *text = make(OTELPROF_FORMAT_FOLDED, NULL, 0, path);

	(void)unlink(path);
	CHECK_STR(text, "");
}

static void test_html_cannot_be_left(void)
{
	_cleanup_free_ char *text = make_canned(OTELPROF_FORMAT_HTML, 1);
	static const char after[] =
		"\n<script type=\"application/json\" id=\"before\">null</script>\n"
		"<script type=\"application/json\" id=\"moments\">{";
	const char *data = strstr(text, "<script type=\"application/json\"");
	const char *end;

	CHECK(data);
	data = strchr(data, '>') + 1;
	end = strstr(data, "</script>");
	CHECK(end);
	/* The first end tag after the data is the page's own; there is nothing to compare with. */
	CHECK(strncmp(end + 9, after, sizeof(after) - 1) == 0);
	CHECK(!memchr(data, '<', (size_t)(end - data)));
	CHECK(!memchr(data, '>', (size_t)(end - data)));
	CHECK(!strstr(text, "<img"));
	CHECK(strstr(data, "\\u003c/script\\u003e\\u003cimg"));
	CHECK(!strstr(text, "@PROFILE@"));
}

static void test_html_tree_is_the_known_one(void)
{
	_cleanup_free_ char *text = make_canned(OTELPROF_FORMAT_HTML, 2);

	/* web: main, handle, then its two children; values twice those of one request. */
	CHECK(strstr(text, "\"n\":[3,1],\"d\":[0,2],\"s\":[6,4]") ||
	      strstr(text, "\"n\":[3,1],\"d\":[0,2],\"s\":[4,6]"));
	CHECK(strstr(text, "\"n\":[3],\"d\":[0],\"s\":[8]"));
	CHECK(strstr(text, "\"n\":[2],\"d\":[0],\"s\":[2]"));
}

static void test_bad_utf8_is_shown_in_html(void)
{
	char path[] = "/tmp/test-format-XXXXXX";
	_cleanup_free_ char *text = NULL;
	struct rq_buf request;
	struct rq q;
	uint32_t f, l;

	rq_begin(&q);
	f = rq_function(&q, "x\xff\xc0\xafy\xed\xa0\x80", "", 0);
	l = rq_location(&q, rq_string_attribute(&q, "profile.frame.type", "native"), 0, 1,
			f, 0, 0, 0);
	rq_sample(&q, rq_stack(&q, &l, 1), NULL, 0, 1);
	rq_process(&q, 1, "p", NULL);
	request = rq_end(&q);
	text = make(OTELPROF_FORMAT_HTML, &request, 1, path);
	(void)unlink(path);
	free(request.data);
	CHECK(strstr(
		text,
		"\"x\\u005cxff\\u005cxc0\\u005cxafy\\u005cxed\\u005cxa0\\u005cx80\""));
}

static void test_damaged_request_is_refused(void)
{
	static const uint32_t formats[] = { OTELPROF_FORMAT_FOLDED, OTELPROF_FORMAT_HTML,
					    OTELPROF_FORMAT_PPROF };
	struct rq_buf request = rq_canned();
	const struct op_format *f;
	struct op_collect *c = NULL;
	size_t i;

	for (i = 0; i < 3; i++) {
		f = op_format_get(formats[i]);
		CHECK_OK(op_format_collect(f, &c));
		CHECK_INT(op_collect_add(c, request.data, request.len - 1), -EBADMSG);
		(void)op_collect_free(c);
	}
	free(request.data);
}

/* What `go tool pprof` prints; the caller frees. */
static char *pprof_prints(const char *options, const char *file)
{
	char command[512];
	char *text = calloc(1, OUTPUT_MAX >> 6);
	size_t len;
	FILE *f;
	int status;

	(void)snprintf(command, sizeof(command),
		       "PPROF_TMPDIR=/tmp GOTOOLCHAIN=local "
		       "go tool pprof %s %s 2>&1",
		       options, file);
	f = popen(command, "r");
	CHECK(f && text);
	len = fread(text, 1, (OUTPUT_MAX >> 6) - 1, f);
	status = pclose(f);
	text[len] = '\0';
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		TEST_FAIL("go tool pprof failed: %s", text);
	return text;
}

/* One event of /bin/small and two of /bin/large, in the kernel and in a library first. */
static struct rq_buf two_programs(void)
{
	struct rq q;
	uint32_t vmlinux, small, large, kernel, main;

	rq_begin(&q);
	vmlinux = rq_mapping(&q, "vmlinux", "aa");
	small = rq_mapping(&q, "/bin/small", "bb");
	large = rq_mapping(&q, "large", "cc"); /* as recordings tell it */
	kernel = rq_location(&q, 0, vmlinux, 0x1000, rq_function(&q, "read", "", 0), 0, 0,
			     0);
	main = rq_location(&q, 0, small, 0x2000, rq_function(&q, "main", "", 0), 0, 0, 0);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ kernel, main }, 2), NULL, 0, 1);
	q.path = "/bin/small";
	rq_process(&q, 100, "small", NULL);
	main = rq_location(&q, 0, large, 0x2000, rq_function(&q, "main", "", 0), 0, 0, 0);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ kernel, main }, 2), NULL, 0, 2);
	q.path = "/bin/large";
	rq_process(&q, 101, "large", NULL);
	return rq_end(&q);
}

static void test_pprof_begins_with_the_program(void)
{
	char path[] = "/tmp/test-format-XXXXXX";
	struct rq_buf request = two_programs();
	_cleanup_free_ char *bytes = NULL;
	_cleanup_free_ char *top = NULL;
	_cleanup_free_ char *raw = NULL;

	if (system("go version >/dev/null 2>&1"))
		SKIP("there is no go for `go tool pprof`");
	bytes = make(OTELPROF_FORMAT_PPROF, &request, 1, path);
	top = pprof_prints("-top", path);
	raw = pprof_prints("-raw", path);
	(void)unlink(path);
	free(request.data);
	CHECK(strstr(top, "File: large\n"));
	CHECK(strstr(raw, " /bin/large "));
}

static void test_pprof_is_read_by_go(void)
{
	char path[] = "/tmp/test-format-XXXXXX";
	struct rq_buf request = rq_canned();
	_cleanup_free_ char *bytes = NULL;
	_cleanup_free_ char *top = NULL;
	_cleanup_free_ char *raw = NULL;

	if (system("go version >/dev/null 2>&1"))
		SKIP("there is no go for `go tool pprof`");
	bytes = make(OTELPROF_FORMAT_PPROF, &request, 1, path);
	top = pprof_prints("-top -nodecount=20 -sample_index=samples", path);
	raw = pprof_prints("-raw", path);
	(void)unlink(path);
	free(request.data);

	/* flat flat% sum% cum cum% name, of ten samples */
	CHECK(strstr(top, "4 40.00% 40.00%          4 40.00%  work\n"));
	CHECK(strstr(top, "3 30.00% 70.00%          3 30.00%  parse (inline)\n"));
	CHECK(strstr(top, "9 90.00%  main\n"));
	CHECK(strstr(raw, "PeriodType: cpu nanoseconds\nPeriod: 10000000\n"));
	CHECK(strstr(raw, "samples/count cpu/nanoseconds"));
	CHECK(strstr(raw, "3   30000000: "));
	/* New ones print the column too. */
	CHECK(strstr(raw, "parse parse.h:7:0") || strstr(raw, "parse parse.h:7 s="));
	CHECK(strstr(raw, "handle web.c:25:0") || strstr(raw, "handle web.c:25 s="));
	CHECK(strstr(raw, "process:[web]"));
	CHECK(strstr(raw, "thread:[worker]"));
	CHECK(strstr(raw, "container_id:[" RQ_CONTAINER "]"));
	CHECK(strstr(raw, "thread_id:[101]"));
	CHECK(strstr(raw, "0x1000/0x9000/0x1000 web aabb [FN]"));
}

TEST_MAIN({ "otlp_has_no_format", test_otlp_has_no_format },
	  { "folded_is_the_known_text", test_folded_is_the_known_text },
	  { "folded_sums_requests", test_folded_sums_requests },
	  { "folded_of_two_rates", test_folded_of_two_rates },
	  { "main_kind", test_main_kind },
	  { "nothing_is_an_empty_file", test_nothing_is_an_empty_file },
	  { "html_cannot_be_left", test_html_cannot_be_left },
	  { "html_tree_is_the_known_one", test_html_tree_is_the_known_one },
	  { "bad_utf8_is_shown_in_html", test_bad_utf8_is_shown_in_html },
	  { "damaged_request_is_refused", test_damaged_request_is_refused },
	  { "pprof_begins_with_the_program", test_pprof_begins_with_the_program },
	  { "pprof_is_read_by_go", test_pprof_is_read_by_go })
