/* SPDX-License-Identifier: Apache-2.0 */
/* Money goes from one account to another, with both locked. The order of the locks is that of the
 * arguments, so that two transfers in opposite directions wait for each other. */
#include <pthread.h>
#include <stdio.h>

struct account {
	pthread_mutex_t lock;
	long cents;
};

static struct account savings = { PTHREAD_MUTEX_INITIALIZER, 100000 };
static struct account checking = { PTHREAD_MUTEX_INITIALIZER, 100000 };
static pthread_barrier_t both; /* have locked an account, and main() knows */

static void transfer(struct account *from, struct account *to, long cents)
{
	pthread_mutex_lock(&from->lock);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&to->lock); /* GUILTY */
	from->cents -= cents;
	to->cents += cents;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *pay_in(void *unused)
{
	transfer(&checking, &savings, 500);
	return unused;
}

static void *pay_out(void *unused)
{
	transfer(&savings, &checking, 700);
	return unused;
}

int main(void)
{
	pthread_t in, out;

	pthread_barrier_init(&both, NULL, 3);
	if (pthread_create(&in, NULL, pay_in, NULL) ||
	    pthread_create(&out, NULL, pay_out, NULL))
		return 1;
	pthread_barrier_wait(&both);
	puts("ready");
	fflush(stdout);
	pthread_join(in, NULL);
	pthread_join(out, NULL);
	return 0;
}
