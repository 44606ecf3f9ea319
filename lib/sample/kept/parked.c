/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kept/parked.h"

#include "base/macros.h"
#include "op_user_types.h"
#include "profile/window.h"

enum {
	FRAMES_MAX = 48, /* frames from the leaf that are searched */
};

/* Parts of function names that are on a stack only while its thread is parked. */
static const char *const PARKS[] = {
	/* Go: threads without a goroutine */
	"runtime.stopm",
	"runtime.sysmon",
	"runtime.templateThread",
	/* Java: workers without a task, and threads of the JVM without work */
	"ThreadPoolExecutor.getTask",
	"ForkJoinPool.awaitWork",
	"Reference.waitForReferencePendingList",
	"ReferenceQueue.remove",
	"VMThread::wait_for_vm_thread",
	"CompileQueue::get",
	"WatcherThread::sleep",
	"MonitorDeflationThread::monitor_deflation_thread_entry",
	"ServiceThread::service_thread_entry",
	"G1ServiceThread::wait_for_task",
	"GangWorker::wait_for_task",
	"WorkerThread::wait_for_task",
	/* threads of the JVM wait for work with these monitors and semaphores, and for
	 * locks with others */
	"Monitor::wait_without_safepoint_check",
	"PosixSemaphore::wait",
	"CallJavaMainInNewThread",
	/* a sleep, and a wait for the end of a thread */
	"JVM_Sleep",
	"java.lang.Thread.join",
	/* Node.js, and other programs with libuv: its pools */
	"uv_cond_wait",
	"StartIoThreadMain",
	/* CPython: workers of concurrent.futures */
	"_queue_SimpleQueue_get",
	/* Rust */
	"tokio::runtime::scheduler::multi_thread::park::",
	"rayon_core::sleep::Sleep::sleep",
	/* .NET */
	"LowLevelLifoSemaphore",
};

void op_parked_deinit(struct op_parked *p)
{
	op_map64_clear(&p->stacks);
}

static bool is_parked(struct op_parked *p, const struct op_window *window, uint32_t stack)
{
	uint64_t known;

	if (p->epoch != op_window_epoch(window)) {
		op_map64_clear(&p->stacks);
		p->epoch = op_window_epoch(window);
	}
	if (op_map64_get(&p->stacks, stack, &known))
		return known;
	known = op_window_stack_names(window, stack, FRAMES_MAX, PARKS,
				      OP_ARRAY_SIZE(PARKS));
	/* without memory the stack is searched again */
	(void)op_map64_put(&p->stacks, stack, known);
	return known;
}

int op_parked_type(struct op_parked *p, const struct op_record *h,
		   struct op_window *window, struct op_window_sample *sample)
{
	static const char type[] = "parked";
	static const char unit[] = "nanoseconds";
	int r;

	if (h->event != OP_EVENT_LOCKS || !is_parked(p, window, sample->stack))
		return 0;
	r = op_window_string(window, type, sizeof(type) - 1, &sample->type);
	if (r == 0)
		r = op_window_string(window, unit, sizeof(unit) - 1, &sample->unit);
	sample->alone = 1;
	sample->value = (int64_t)(h->value & OP_LOCKS_DELAY_MAX);
	return r;
}
