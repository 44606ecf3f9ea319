/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/answer/services.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

/* By the beginning of function names. A frame type is given if programs have such
 * names, too. */
static const struct {
	const char *begins;
	const char *module; /* beginning of its name; "": any */
	const char *type;   /* type of the frame; "": any */
	enum service service;
} entries[] = {
	/* HotSpot 8 to 25 */
	{ "GangWorker::", "libjvm", "", SERVICE_GC },
	{ "WorkerThread::run", "libjvm", "", SERVICE_GC },
	{ "GCTaskThread::", "libjvm", "", SERVICE_GC },
	{ "ConcurrentGCThread::", "libjvm", "", SERVICE_GC },
	{ "VM_GC_", "libjvm", "", SERVICE_GC },
	{ "VM_G1", "libjvm", "", SERVICE_GC },
	{ "VM_Parallel", "libjvm", "", SERVICE_GC },
	{ "VM_GenCollect", "libjvm", "", SERVICE_GC },
	{ "VM_CollectFor", "libjvm", "", SERVICE_GC },
	{ "VM_Shenandoah", "libjvm", "", SERVICE_GC },
	{ "VM_Z", "libjvm", "", SERVICE_GC },
	{ "CompileBroker::compiler_thread_loop", "libjvm", "", SERVICE_JIT },
	/* Go 1.18 to 1.26 */
	{ "runtime.gcBgMarkWorker", "", "go", SERVICE_GC },
	{ "runtime.gcAssistAlloc", "", "go", SERVICE_GC },
	{ "runtime.gcDrain", "", "go", SERVICE_GC },
	{ "runtime.gcStart", "", "go", SERVICE_GC },
	{ "runtime.bgsweep", "", "go", SERVICE_GC },
	{ "runtime.bgscavenge", "", "go", SERVICE_GC },
	/* V8 of Node.js 12 to 24 */
	{ "v8::internal::Heap::CollectGarbage", "", "", SERVICE_GC },
	{ "v8::internal::Scavenger", "", "", SERVICE_GC },
	{ "v8::internal::ConcurrentMarking", "", "", SERVICE_GC },
	{ "v8::internal::MarkCompact", "", "", SERVICE_GC },
	{ "v8::internal::Sweeper", "", "", SERVICE_GC },
	{ "v8::internal::IncrementalMarking", "", "", SERVICE_GC },
	{ "v8::internal::OptimizedCompilationJob", "", "", SERVICE_JIT },
	{ "v8::internal::Compiler::Compile", "", "", SERVICE_JIT },
	/* .NET */
	{ "WKS::gc_heap", "", "", SERVICE_GC },
	{ "SVR::gc_heap", "", "", SERVICE_GC },
	/* CPython, Ruby, PHP */
	{ "gc_collect_main", "", "native", SERVICE_GC },
	{ "gc_collect_region", "", "native", SERVICE_GC },
	{ "gc_marks", "libruby", "", SERVICE_GC },
	{ "gc_sweep", "libruby", "", SERVICE_GC },
	{ "zend_gc_collect_cycles", "", "", SERVICE_GC },
};

const char *service_name(enum service s)
{
	static const char *const names[SERVICES] = {
		[SERVICE_NONE] = "program",
		[SERVICE_GC] = "garbage collector",
		[SERVICE_JIT] = "JIT compiler",
	};

	return names[s];
}

static bool begins(const char *text, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && !memcmp(text, with, n);
}

/* Does the last part of the path @text begin with @begin? */
static bool file_begins(const char *text, size_t len, const char *with)
{
	const char *slash = len ? memrchr(text, '/', len) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - text) : 0;

	return begins(text + skip, len - skip, with);
}

enum service service_of(const struct op_collect *c, uint32_t function)
{
	const struct op_collect_function *f = &c->functions.data[function];
	const char *name, *type, *module;
	size_t name_len, type_len, module_len, i;

	name = op_collect_text(c, f->name, &name_len);
	type = op_collect_text(c, f->type, &type_len);
	module = op_collect_text(c, f->module, &module_len);
	for (i = 0; i < OP_ARRAY_SIZE(entries); i++)
		if (begins(name, name_len, entries[i].begins) &&
		    begins(type, type_len, entries[i].type) &&
		    file_begins(module, module_len, entries[i].module))
			return entries[i].service;
	return SERVICE_NONE;
}
