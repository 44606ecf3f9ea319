/* SPDX-License-Identifier: Apache-2.0 */
/* A server with Perl in it, as mod_perl: two interpreters that one thread uses in turn, and one in
 * a thread of its own. Each request is a sub that C code calls, which calls C code, which calls a
 * sub. "ready PID" is printed when the work begins. */
#include <EXTERN.h>
#include <perl.h>

#include <XSUB.h>
#include <pthread.h>
#include <stdio.h>

enum {
	REQUESTS = 1 << 30,
};

static XS(again)
{
	dXSARGS;

	(void)items;
	PUSHMARK(SP);
	PUTBACK;
	call_pv("Inner::work", G_VOID | G_DISCARD);
	XSRETURN(0);
}

static void add_subs(pTHX)
{
	newXS("main::again", again, __FILE__);
}

static PerlInterpreter *make(const char *name)
{
	char code[512];
	char *arguments[] = { "", "-e", code, NULL };
	PerlInterpreter *perl = perl_alloc();

	snprintf(
		code, sizeof(code),
		"package %s; sub handler { my $r = main::again(); return $r }\n"
		"package Inner; sub work { my $x = 1; for my $i (1 .. 20000) { $x = ($x * 3 + $i) "
		"& 0xffff } return $x }",
		name);
	PERL_SET_CONTEXT(perl);
	perl_construct(perl);
	if (perl_parse(perl, add_subs, 3, arguments, NULL) || perl_run(perl))
		exit(1);
	return perl;
}

__attribute__((noinline)) static void serve(PerlInterpreter *perl, const char *handler)
{
	PERL_SET_CONTEXT(perl);
	{
		dTHXa(perl);
		dSP;

		PUSHMARK(SP);
		call_pv(handler, G_EVAL | G_VOID | G_DISCARD);
	}
}

static void *run_thread(void *perl)
{
	int i;

	for (i = 0; i < REQUESTS; i++)
		serve(perl, "Third::handler");
	return NULL;
}

int main(int argc, char **argv, char **env)
{
	PerlInterpreter *perl[3];
	pthread_t thread;
	int i;

	PERL_SYS_INIT3(&argc, &argv, &env);
	perl[0] = make("First");
	perl[1] = make("Second");
	perl[2] = make("Third");
	pthread_create(&thread, NULL, run_thread, perl[2]);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (i = 0; i < REQUESTS; i++)
		serve(perl[i & 1], i & 1 ? "Second::handler" : "First::handler");
	return 0;
}
