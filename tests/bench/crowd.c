/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes, for scale.py.
 *
 *     crowd idle N           N processes, each by an exec of its own, that sleep; "ready" on
 *                            stdout, and they end with this one
 *     crowd churn RATE S [MS]  RATE execs a second for S seconds: each works for MS (2); one
 *                            in twenty is a copy that is deleted while it runs, and works
 *                            for 20 ms. Prints how many
 *     crowd work MS          work for so long
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void start(const char *path, const char *what, const char *argument)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("crowd: fork");
		exit(1);
	}
	if (pid)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(path, path, what, argument, (char *)NULL);
	_exit(127);
}

static void idle(int n)
{
	int i;

	for (i = 0; i < n; i++)
		start("/proc/self/exe", "sleep", "0");
	puts("ready");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

static void work(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		continue;
}

static void copy_to(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	struct stat st;
	off_t at = 0;

	if (from < 0 || to < 0 || fstat(from, &st) < 0) {
		perror("crowd: copy");
		exit(1);
	}
	while (at < st.st_size && sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0)
		continue;
	(void)close(from);
	(void)close(to);
}

static int churn(double rate, double seconds, const char *work_ms)
{
	double begin = now();
	double end = begin + seconds;
	unsigned long done = 0;
	char path[64];

	while (now() < end) {
		double left = begin + (double)done / rate - now();

		if (left > 0)
			(void)usleep((useconds_t)(left * 1e6));
		if (done % 20 == 0) {
			(void)snprintf(path, sizeof(path), "/tmp/crowd-%d-%lu",
				       (int)getpid(), done);
			copy_to(path);
			start(path, "work", "20");
			(void)usleep(5000);
			(void)unlink(path);
		} else {
			start("/proc/self/exe", "work", work_ms);
		}
		done++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
	while (wait(NULL) > 0 || errno == EINTR)
		continue;
	printf("%lu\n", done);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "idle") == 0)
		idle(atoi(argv[2]));
	if (argc > 3 && strcmp(argv[1], "churn") == 0)
		return churn(atof(argv[2]), atof(argv[3]), argc > 4 ? argv[4] : "2");
	if (argc > 2 && strcmp(argv[1], "work") == 0) {
		work(atof(argv[2]) / 1000);
		return 0;
	}
	if (argc > 2 && strcmp(argv[1], "sleep") == 0) {
		for (;;)
			(void)pause();
	}
	(void)fprintf(stderr,
		      "usage: crowd idle N | churn RATE SECONDS [MS] | work MS\n");
	return 2;
}
