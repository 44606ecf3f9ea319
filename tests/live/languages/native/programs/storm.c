/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm CHILD DIR COUNT MS: runs COUNT processes one after the other. Each is forked and
 * executes a hard link DIR/sNNN to CHILD (distinct names, one inode), and uses MS
 * milliseconds of CPU time. Prints which process had which name, and how much CPU time
 * they used together.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int run_one(const char *path, char *ms)
{
	char *args[] = { (char *)path, ms, NULL };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)execv(path, args);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	(void)printf("child %d %s\n", (int)pid, strrchr(path, '/') + 1);
	return status == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	char path[512];
	int count;

	if (argc != 5)
		return 2;
	count = atoi(argv[3]);
	for (int i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "%s/s%03d", argv[2], i);
		if (link(argv[1], path) && errno != EEXIST) {
			(void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
			return 1;
		}
	}
	for (int i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "%s/s%03d", argv[2], i);
		if (run_one(path, argv[4])) {
			(void)fprintf(stderr, "%s failed\n", path);
			return 1;
		}
	}
	(void)getrusage(RUSAGE_CHILDREN, &usage);
	(void)printf("children_cpu_ns %lld\n",
		     (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
			     (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL);
	return 0;
}
