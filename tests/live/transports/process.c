/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum {
	ARGS_FIXED = 5,
	/* Below the ports that a connection of another program may take (tests/live/framework/ports.py). */
	PORT_FIRST = 10240,
	PORTS = 22528,
	PORT_TRIES = 100
};

static void exec_server(int port, const struct tls_files *tls, const char *const *steps)
{
	const char *argv[ARGS_FIXED + STEPS_MAX + 1] = { getenv("OTELPROF_TEST_SERVER") };
	char number[16];
	size_t i;

	(void)snprintf(number, sizeof(number), "%d", port);
	argv[1] = number;
	argv[2] = tls && tls->cert ? tls->cert : "-";
	argv[3] = tls && tls->key ? tls->key : "-";
	argv[4] = tls && tls->client_ca ? tls->client_ca : "-";
	for (i = 0; steps[i] && i < STEPS_MAX; i++)
		argv[ARGS_FIXED + i] = steps[i];
	(void)execv(argv[0], (char **)(uintptr_t)argv);
	_exit(127);
}

struct server server_start(int port, const struct tls_files *tls,
			   const char *const *steps)
{
	struct server s = { 0 };
	char line[64];
	int ends[2];

	CHECK(getenv("OTELPROF_TEST_SERVER"));
	CHECK(!pipe(ends));
	(void)fflush(NULL);
	s.pid = fork();
	CHECK(s.pid >= 0);
	if (!s.pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(ends[1], 1);
		(void)close(ends[0]);
		(void)close(ends[1]);
		exec_server(port, tls, steps);
	}
	(void)close(ends[1]);
	s.out = fdopen(ends[0], "r");
	CHECK(s.out);
	CHECK(fgets(line, sizeof(line), s.out));
	CHECK(sscanf(line, "port %d", &s.port) == 1);
	return s;
}

const char *server_line(struct server *s)
{
	static char line[1024];

	return fgets(line, sizeof(line), s->out);
}

void server_stop(struct server *s)
{
	CHECK(!kill(s->pid, SIGKILL));
	CHECK(waitpid(s->pid, NULL, 0) == s->pid);
	(void)fclose(s->out);
}

int listen_tcp(int *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	static unsigned int asked;
	unsigned int i;

	CHECK(fd >= 0);
	for (i = 0; i < PORT_TRIES; i++) {
		a.sin_port =
			htons(PORT_FIRST + ((uint32_t)getpid() * 31 + asked++) % PORTS);
		if (!bind(fd, (struct sockaddr *)&a, sizeof(a)))
			break;
	}
	CHECK(i < PORT_TRIES);
	CHECK(!listen(fd, 16));
	CHECK(!getsockname(fd, (struct sockaddr *)&a, &len));
	*ret_port = ntohs(a.sin_port);
	return fd;
}

bool process_maps(const char *word)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096];
	bool found = false;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, word) != NULL;
	(void)fclose(f);
	return found;
}

/* The mask of blocked signals of thread @name of this process. */
static uint64_t blocked(const char *name)
{
	char line[256];
	uint64_t mask = 0;
	FILE *f;

	(void)snprintf(line, sizeof(line), "/proc/self/task/%s/status", name);
	f = fopen(line, "r");
	if (!f)
		return UINT64_MAX; /* ended meanwhile */
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "SigBlk: %" SCNx64, &mask) == 1)
			break;
	}
	(void)fclose(f);
	return mask;
}

static size_t count_where(int signal)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	size_t n = 0;

	CHECK(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (!signal)
			n++;
		else if (atoi(e->d_name) != gettid() &&
			 !(blocked(e->d_name) & UINT64_C(1) << (signal - 1)))
			n++;
	}
	(void)closedir(dir);
	return n;
}

size_t count_threads(void)
{
	return count_where(0);
}

bool threads_end(unsigned int within_ms)
{
	unsigned int i;

	for (i = 0; i < within_ms && count_threads() > 1; i++)
		(void)usleep(1000);
	return count_threads() == 1;
}

size_t count_threads_taking(int signal)
{
	return count_where(signal);
}
