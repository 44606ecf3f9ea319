/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library in two builds that have code at the same addresses, with other names and
 * other frames: -DFIRST has first_work and first_inner; otherwise second_work, second_mid
 * and second_inner.
 */
#define PLUGIN_FN                                                                        \
	__attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static volatile unsigned long sink;

static PLUGIN_FN void spin(unsigned long n)
{
	while (n--)
		sink += n;
}

#ifdef FIRST
static PLUGIN_FN void first_inner(void)
{
	spin(200000);
	sink++;
}

static PLUGIN_FN void first_work(void)
{
	first_inner();
	sink++;
}

void plugin_work(void)
{
	first_work();
	sink++;
}
#else
static PLUGIN_FN void second_inner(void)
{
	volatile char wide[400];

	wide[0] = 1;
	spin(200000);
	sink += (unsigned long)wide[0];
}

static PLUGIN_FN void second_mid(void)
{
	second_inner();
	sink++;
}

static PLUGIN_FN void second_work(void)
{
	second_mid();
	sink++;
}

void plugin_work(void)
{
	second_work();
	sink++;
}
#endif
