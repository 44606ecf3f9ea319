/* SPDX-License-Identifier: Apache-2.0 */
/* Searches and loads transport modules. */
#include "transport/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "otelprof/error.h"
#include "transport/module_dir.h"

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

static int try_all(const char *name, struct op_strbuf *reasons,
		   const struct op_transport_ops **ret)
{
	_cleanup_free_ char *own = own_dir();
	const struct {
		const char *dir;
		const char *sub;
	} places[] = {
		{ secure_getenv("OTELPROF_MODULE_DIR"), "" },
		/* modules of this library come before those of another version */
		{ own, "/otelprof" },
		{ own, "" },
		{ OP_MODULE_DIR, "" },
	};
	size_t i;
	int err;

	for (i = 0; i < OP_ARRAY_SIZE(places); i++) {
		if (!places[i].dir || !*places[i].dir)
			continue;
		err = try_path(places[i].dir, places[i].sub, name, reasons, ret);
		if (err < 0 || *ret)
			return err;
	}
	return -OTELPROF_E_MODULE;
}

int op_module_load(const char *name, struct op_log *log,
		   const struct op_transport_ops **ret)
{
	const struct op_transport_ops *ops = NULL;
	struct op_strbuf reasons = { 0 };
	int err;

	err = try_all(name, &reasons, &ops);
	if (err < 0) {
		(void)op_fail(
			log, err,
			"%s exporter: libotelprof-%s.so cannot be loaded; is the package "
			"with this transport installed?",
			name, name);
		op_fail_detail(log, reasons.data);
	}
	op_strbuf_deinit(&reasons);
	if (err < 0)
		return err;
	*ret = ops;
	return 0;
}
