/* SPDX-License-Identifier: Apache-2.0 */
/* A log of bookings. The flag of a test stayed in open(), so that each line waits for the disk. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int open_ledger(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_SYNC, 0600);
}

static int append_booking(int ledger, unsigned long number, long cents)
{
	char line[128];
	int len = snprintf(line, sizeof(line), "%lu;account %lu;%ld.%02ld\n", number,
			   number % 97, cents / 100, cents % 100);

	return write(ledger, line, (size_t)len) == len ? 0 : -1; /* GUILTY */
}

int main(int argc, char **argv)
{
	int ledger = open_ledger(argc > 1 ? argv[1] : "ledger.csv");
	unsigned long number;

	if (ledger < 0)
		return 1;
	for (number = 0; !append_booking(ledger, number, (long)(number * 37 % 10000));
	     number++)
		if (number % 10000 == 0 && lseek(ledger, 0, SEEK_SET) < 0)
			break;
	return 1;
}
