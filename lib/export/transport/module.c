/* SPDX-License-Identifier: Apache-2.0 */
/* Searches and loads transport modules. */
#include "export/transport/transport.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "export/sink/thread.h"
#include "export/transport/module_dir.h"
#include "otelprof/error.h"

static const char module_symbol[] = "op_transport_module";

/* The directory of this library or, if it is linked statically, of the program. */
static char *own_dir(void)
{
	Dl_info info = { 0 };
	const char *slash;

	if (!dladdr((void *)(uintptr_t)op_module_load, &info) || !info.dli_fname)
		return NULL;
	slash = strrchr(info.dli_fname, '/');
	return slash ? strndup(info.dli_fname, (size_t)(slash - info.dli_fname)) : NULL;
}

enum {
	MODULE_BYTES_MAX = 64 << 20,
};

/*
 * If the disk does not answer, this thread waits, and not the loader: dlopen(3) opens
 * the file with a lock that pthread_create(3) also takes, in all of the process (seen
 * with glibc 2.36). The loader reports errors of the file.
 */
static void wait_for_disk(const char *path)
{
	_cleanup_free_ char *bytes = NULL;

	(void)op_read_file(path, MODULE_BYTES_MAX, &bytes);
}

/* Try one path. Returns 0 with *@ret NULL if it cannot be loaded; @reasons gets the
 * reason. */
static int try_path(const char *dir, const char *sub, const char *name,
		    struct op_strbuf *reasons, const struct op_transport_ops **ret)
{
	_cleanup_free_ char *path = NULL;
	const struct op_transport_ops *ops;
	void *handle;

	if (asprintf(&path, "%s%s/libotelprof-%s.so", dir, sub, name) < 0)
		return -ENOMEM;
	wait_for_disk(path);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle) {
		op_strbuf_printf(reasons, "%s%s", reasons->len ? "; " : "", dlerror());
		return 0;
	}
	ops = dlsym(handle, module_symbol);
	if (ops && ops->abi == OP_TRANSPORT_ABI) {
		*ret = ops;
		return 0;
	}
	op_strbuf_printf(reasons, "%s%s: not a transport of this version of the library",
			 reasons->len ? "; " : "", path);
	return 0;
}

/* Work of a thread, because a disk may not answer. */
struct loading {
	char *name;
	char *given; /* the directory of the environment; NULL: none */
	struct op_strbuf reasons;
	const struct op_transport_ops *ops;
	int err;
};

static int try_all(struct loading *l)
{
	_cleanup_free_ char *own = own_dir();
	const struct {
		const char *dir;
		const char *sub;
	} places[] = {
		{ l->given, "" },
		/* modules of this library come before those of another version */
		{ own, "/otelprof" },
		{ own, "" },
		{ OP_MODULE_DIR, "" },
	};
	size_t i;
	int r;

	for (i = 0; i < OP_ARRAY_SIZE(places); i++) {
		if (!places[i].dir || !*places[i].dir)
			continue;
		r = try_path(places[i].dir, places[i].sub, l->name, &l->reasons, &l->ops);
		if (r < 0 || l->ops)
			return r;
	}
	return -OTELPROF_E_MODULE;
}

static void load(void *arg)
{
	struct loading *l = arg;

	l->err = try_all(l);
}

static void free_loading(void *arg)
{
	struct loading *l = arg;

	if (!l)
		return;
	op_strbuf_deinit(&l->reasons);
	free(l->given);
	free(l->name);
	free(l);
}

/* Read the environment here: a thread that is left behind must not read it. */
static struct loading *new_loading(const char *name)
{
	const char *given = secure_getenv("OTELPROF_MODULE_DIR");
	struct loading *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->name = strdup(name);
	l->given = given ? strdup(given) : NULL;
	if (l->name && (l->given || !given))
		return l;
	free_loading(l);
	return NULL;
}

static int judge(const struct loading *l, struct op_log *log,
		 const struct op_transport_ops **ret)
{
	if (l->err < 0) {
		(void)op_fail(
			log, l->err,
			"%s exporter: libotelprof-%s.so cannot be loaded; is the package "
			"with this transport installed?",
			l->name, l->name);
		op_fail_detail(log, l->reasons.data);
		return l->err;
	}
	*ret = l->ops;
	return 0;
}

int op_module_load(const char *name, struct op_log *log,
		   const struct op_transport_ops **ret)
{
	struct loading *l = new_loading(name);
	int r;

	r = l ? op_sink_thread_call(load, free_loading, l) : -ENOMEM;
	if (r == -ETIMEDOUT)
		return op_fail(
			log, r,
			"%s exporter: the disk of libotelprof-%s.so does not answer",
			name, name);
	if (r == 0)
		r = judge(l, log, ret);
	free_loading(l);
	return r;
}
