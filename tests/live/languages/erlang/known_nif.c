/* SPDX-License-Identifier: Apache-2.0 */
/* C functions that known.erl calls: on a scheduler's thread, and on a dirty one's. */
#include <erl_nif.h>

__attribute__((noinline)) unsigned nif_work(unsigned n)
{
	volatile unsigned x = 0;

	while (n--)
		x = x * 3 + n;
	return x;
}

static ERL_NIF_TERM spin(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	unsigned n = 0;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &n))
		return enif_make_badarg(env);
	return enif_make_uint(env, nif_work(n) & 1);
}

static ErlNifFunc functions[] = {
	{ "nif_spin", 1, spin, 0 },
	{ "nif_dirty", 1, spin, ERL_NIF_DIRTY_JOB_CPU_BOUND },
};

ERL_NIF_INIT(known, functions, NULL, NULL, NULL, NULL)
