/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with the functions of own_names.c. It profiles for the seconds given as argument; its own
 * functions are its own, and only it has called them. With a path as second argument, that library
 * is loaded by dlopen(), and what it brings is not seen by others; "deep" as third: with
 * RTLD_DEEPBIND.
 */
#include <dlfcn.h>
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern int own_calls;
long ZSTD_compress(void);

static void *library;
static unsigned int requests;

enum {
	MORE = 10, /* times as long, until there is a request: a busy machine */
};

/* A call of the library, however it came. */
#define CALL(name) (*(__typeof__(name) *)find(#name))

static void *find(const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	requests++;
	printf("request of %zu bytes with %llu samples\n", len,
	       (unsigned long long)samples);
	return 0;
}

static int profile(time_t seconds)
{
	static struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_callback_config callback;
	struct otelprof *p = NULL;
	unsigned int i;
	time_t end;
	int r = CALL(otelprof_init)(NULL, &why, &p);

	if (r < 0) {
		fprintf(stderr, "%s\n", why.message);
		return r;
	}
	CALL(otelprof_callback_config_init)(&callback, sizeof(callback));
	callback.fn = take;
	r = CALL(otelprof_exporter_callback)(p, &callback);
	if (r >= 0)
		r = CALL(otelprof_start)(p);
	for (i = 0; i < MORE && r >= 0 && !requests; i++) {
		for (end = time(NULL) + seconds; r >= 0 && time(NULL) < end;)
			r = CALL(otelprof_poll)(p, 100);
		if (r >= 0)
			r = CALL(otelprof_export)(p);
	}
	if (r < 0) {
		(void)CALL(otelprof_last_error)(p, &why);
		fprintf(stderr, "%s\n", why.message);
	}
	CALL(otelprof_free)(p);
	return r;
}

int main(int argc, char **argv)
{
	int flags = RTLD_NOW | RTLD_LOCAL;
	int r;

	if (argc > 3 && strcmp(argv[3], "deep") == 0)
		flags |= RTLD_DEEPBIND;
	library = argc > 2 ? dlopen(argv[2], flags) : RTLD_DEFAULT;
	if (argc > 2 && !library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (argc > 2 && dlsym(RTLD_DEFAULT, "bpf_object__pin")) {
		fprintf(stderr, "libbpf is seen by the whole process\n");
		return 1;
	}
	r = profile(argc > 1 ? atoi(argv[1]) : 2);
	if (ZSTD_compress() != -1) {
		fprintf(stderr, "the host's ZSTD_compress() is another one\n");
		return 1;
	}
	if (own_calls != 1) {
		fprintf(stderr, "the host's functions were called %d times\n",
			own_calls - 1);
		return 3;
	}
	return r < 0;
}
