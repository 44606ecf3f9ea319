/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/go/scale.h"

enum {
	FAR = 40, /* 1 - exp(-40) is 1 in double precision */
	TERMS = 14,
};

/* ln 2 in two parts, of which the first one has no digits at its end: a small multiple of it
 * is exact. */
static const double LN2_HIGH = 6.93147180369123816490e-01;
static const double LN2_LOW = 1.90821492927058770002e-10;

/*
 * exp(-x) for 0 <= x < FAR, to the last bit or the one before: 2^-k exp(r), with r of at most
 * ln 2 / 2 and its series. The library does without libm.
 */
static double falling(double x)
{
	int k = (int)(x / (LN2_HIGH + LN2_LOW) + 0.5);
	double r = (LN2_HIGH * k - x) + LN2_LOW * k;
	double e = 1;
	int i;

	for (i = TERMS; i > 0; i--)
		e = 1 + e * r / i;
	while (k-- > 0)
		e /= 2;
	return e;
}

/* No machine has more, but a forged profile may. */
static const uint64_t BYTES_MOST = UINT64_C(1) << 62;
/* The sum of 65,536 such numbers is still in range. */
static const uint64_t OBJECTS_MOST = UINT64_C(1) << 46;

static uint64_t whole(double number, uint64_t most)
{
	return number < (double)most ? (uint64_t)number : most;
}

struct op_go_estimate op_go_scale(uint64_t objects, uint64_t size, uint64_t rate)
{
	double bytes = (double)(objects * size);
	double share;

	if (!objects || !size)
		return (struct op_go_estimate){ 0 };
	if (rate <= 1)
		return (struct op_go_estimate){ objects < OBJECTS_MOST ? objects
								       : OBJECTS_MOST,
						objects * size };
	share = bytes / (double)objects / (double)rate;
	share = 1 / (share < FAR ? 1 - falling(share) : 1);
	return (struct op_go_estimate){ whole((double)objects * share, OBJECTS_MOST),
					whole(bytes * share, BYTES_MOST) };
}
