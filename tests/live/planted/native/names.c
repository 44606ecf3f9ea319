/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up its peers again for each round, at a resolver that does not answer. */
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

static int resolve_peer(const char *host)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	int r = getaddrinfo(host, "443", &hints, &found); /* GUILTY */

	if (r)
		return r;
	freeaddrinfo(found);
	return 0;
}

static void report_health(unsigned int round, int reached)
{
	fprintf(stderr, "round %u: %d of 2 peers\n", round, reached);
}

int main(void)
{
	static const char *const peers[] = { "billing.example.", "stock.example." };
	unsigned int round;
	int i, reached;

	for (round = 0;; round++) {
		for (i = reached = 0; i < 2; i++)
			reached += !resolve_peer(peers[i]);
		report_health(round, reached);
		usleep(10000);
	}
	return 0;
}
