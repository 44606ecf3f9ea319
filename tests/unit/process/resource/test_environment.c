/* SPDX-License-Identifier: Apache-2.0 */
#include "process/resource/environment.h"

#include "profile/window.h"
#include "test.h"

/* The attributes of an environment; each variable of the literal with its NUL. */
#define CLAIMS(text) claims_of(text, sizeof(text))

static struct op_resource_attributes *last;

static const struct op_resource_attributes *claims_of(const char *text, size_t len)
{
	last = op_resource_attributes_put_ref(last);
	last = op_resource_attributes_new();
	CHECK(last);
	op_environ_attributes(text, len, last);
	return last;
}

/* All attributes as "key=stext;" */
static const char *shown(const struct op_resource_attributes *c)
{
	static char out[OP_RESOURCE_ATTRIBUTES_BYTES_MAX + 1];
	unsigned int nuls = 0;
	size_t i;

	for (i = 0; i < c->text.len; i++)
		out[i] = c->text.data[i] ? c->text.data[i] : nuls++ % 2 ? ';' : '=';
	out[i] = 0;
	return out;
}

static void test_service_name(void)
{
	CHECK_STR(CLAIMS("A=b\0OTEL_SERVICE_NAME=shop\0C=d")->service_name, "shop");
	CHECK_STR(CLAIMS("OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=my%20cart")
			  ->service_name,
		  "my cart");
	/* the variable of its own has precedence, whatever the order */
	CHECK_STR(
		CLAIMS("OTEL_SERVICE_NAME=one\0OTEL_RESOURCE_ATTRIBUTES=service.name=two")
			->service_name,
		"one");
	CHECK_STR(
		CLAIMS("OTEL_RESOURCE_ATTRIBUTES=service.name=two\0OTEL_SERVICE_NAME=one")
			->service_name,
		"one");
	CHECK_STR(
		CLAIMS("OTEL_RESOURCE_ATTRIBUTES=x=1, service.name=%C3%A9")->service_name,
		"\xc3\xa9");
	/* the first of two variables, as getenv() */
	CHECK_STR(CLAIMS("OTEL_SERVICE_NAME=one\0OTEL_SERVICE_NAME=two")->service_name,
		  "one");
}

static void test_no_service_name(void)
{
	CHECK_STR(CLAIMS("")->service_name, "");
	CHECK_STR(CLAIMS("OTEL_SERVICE_NAME=\0X=y")->service_name, "");
	CHECK_STR(CLAIMS("XOTEL_SERVICE_NAME=no")->service_name, "");
	CHECK_STR(CLAIMS("OTEL_SERVICE_NAMES=no")->service_name, "");
	CHECK_STR(CLAIMS("OTEL_SERVICE_NAME")->service_name, "");
	CHECK_STR(CLAIMS("OTEL_RESOURCE_ATTRIBUTES=my.service.name=no")->service_name,
		  "");
	CHECK_STR(CLAIMS("OTEL_RESOURCE_ATTRIBUTES=service.name=")->service_name, "");
	/* a NUL in it; and one cut off by the limit of reading */
	CHECK_STR(CLAIMS("OTEL_RESOURCE_ATTRIBUTES=service.name=a%00b")->service_name,
		  "");
	CHECK_INT(last->dropped, 1);
	CHECK_STR(claims_of("OTEL_SERVICE_NAME=sho", 21)->service_name, "");
}

static void test_attributes(void)
{
	const struct op_resource_attributes *c = CLAIMS(
		"OTEL_RESOURCE_ATTRIBUTES=service.version=1.2,"
		"deployment.environment.name=a%2Cb%3dc , team = red,service.version=1.3,x=");

	/* the last of a key stands; from the end on */
	CHECK_STR(shown(c), "x=s;service.version=s1.3;team=sred;"
			    "deployment.environment.name=sa,b=c;");
	CHECK_INT(c->len, 4);
	CHECK_INT(c->dropped, 0);
	CHECK_STR(shown(CLAIMS("OTEL_RESOURCE_ATTRIBUTES=,a=b,,")), "a=sb;");
}

/* "In case of any error the entire value should be discarded": SDK specification. */
static void test_malformed_lists_are_void(void)
{
	static const char *const lists[] = { "a=b,c",	 "a=b,=c",    "a=b,c=%",
					     "a=b,c=%2", "a=b,%zz=1", "a=b,c=%4=" };
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		char text[100];
		int len = snprintf(text, sizeof(text), "OTEL_RESOURCE_ATTRIBUTES=%s",
				   lists[i]);
		const struct op_resource_attributes *c = claims_of(text, (size_t)len + 1);

		if (c->len || c->dropped != 1)
			TEST_FAIL("%s: %s", lists[i], shown(c));
	}
}

static void test_what_is_observed_is_not_claimed(void)
{
	CHECK_STR(shown(CLAIMS("OTEL_RESOURCE_ATTRIBUTES=process.pid=1,container.id=x,"
			       "k8s.pod.uid=x,process.executable.name=x,host.name=x,"
			       "process.command_line=x,telemetry.sdk.name=x,"
			       "process.environment_variable.HOME=x,host.id=x,os.type=x,"
			       "process.runtime.name=yes,k8s.pod.name=x,"
			       "k8s.namespace.name=x,k8s.cluster.uid=x,"
			       "container.image.name=yes,hostile=yes")),
		  "hostile=syes;container.image.name=syes;process.runtime.name=syes;");
	CHECK_INT(last->dropped, 0);
}

static void test_limits(void)
{
	char text[40000] = "OTEL_RESOURCE_ATTRIBUTES=";
	size_t len = strlen(text);
	const struct op_resource_attributes *c;
	int i;

	/* from the end on: the last ones are taken */
	for (i = 0; i < OP_RESOURCE_ATTRIBUTES_MAX + 10; i++)
		len += (size_t)sprintf(text + len, "k%d=v,", i);
	c = claims_of(text, len + 1);
	CHECK_INT(c->len, OP_RESOURCE_ATTRIBUTES_MAX);
	CHECK_INT(c->dropped, 10);
	/* a value that is too long, and one that fits */
	len = (size_t)sprintf(text, "OTEL_RESOURCE_ATTRIBUTES=a=");
	memset(text + len, 'v', OP_RESOURCE_VALUE_MAX + 1);
	len += OP_RESOURCE_VALUE_MAX + 1;
	len += (size_t)sprintf(text + len, ",b=");
	memset(text + len, 'v', OP_RESOURCE_VALUE_MAX);
	len += OP_RESOURCE_VALUE_MAX;
	text[len] = 0;
	c = claims_of(text, len + 1);
	CHECK_INT(c->len, 1);
	CHECK_INT(c->dropped, 1);
	/* all together */
	len = (size_t)sprintf(text, "OTEL_RESOURCE_ATTRIBUTES=");
	for (i = 0; i < 9; i++) {
		len += (size_t)sprintf(text + len, "%c=", 'a' + i);
		memset(text + len, 'v', 1000);
		len += 1000;
		text[len++] = ',';
	}
	text[len] = 0;
	c = claims_of(text, len + 1);
	CHECK(c->text.len <= OP_RESOURCE_ATTRIBUTES_BYTES_MAX);
	CHECK_INT(c->len, 8);
	CHECK_INT(c->dropped, 1);
	/* a service's name */
	len = (size_t)sprintf(text, "OTEL_SERVICE_NAME=");
	memset(text + len, 'v', OP_SERVICE_NAME_MAX);
	text[len + OP_SERVICE_NAME_MAX] = 0;
	c = claims_of(text, len + OP_SERVICE_NAME_MAX + 1);
	CHECK_STR(c->service_name, "");
	CHECK_INT(c->dropped, 1);
}

static void test_variables_asked_for(void)
{
	static const char text[] = "SECRET=x\0APP_MODE=blue green\0EMPTY=\0APP_MODES=no";
	struct op_resource_attributes *c = op_resource_attributes_new();

	CHECK(c);
	op_environ_variable(text, sizeof(text), "APP_MODE", c);
	op_environ_variable(text, sizeof(text), "EMPTY", c);
	op_environ_variable(text, sizeof(text), "NOT_SET", c);
	op_environ_variable(text, sizeof(text), "APP", c);
	CHECK_STR(shown(c), "process.environment_variable.APP_MODE=sblue green;"
			    "process.environment_variable.EMPTY=s;");
	op_resource_attributes_put_ref(c);
	last = op_resource_attributes_put_ref(last);
}

TEST_MAIN({ "service", test_service_name }, { "no_service", test_no_service_name },
	  { "attributes", test_attributes },
	  { "malformed", test_malformed_lists_are_void },
	  { "observed", test_what_is_observed_is_not_claimed }, { "limits", test_limits },
	  { "variables", test_variables_asked_for })
