/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of threads that are parked until there is work are told apart from those for locks. */
#include "sample/kept/parked.h"

#include <string.h>

#include "base/macros.h"
#include "op_user_types.h"
#include "profile/window.h"
#include "test.h"

enum {
	FRAMES_MAX = 64,
	WAIT_NS = 1234567,
};

/* A frame of a parked thread, and the frames below it, as runtimes have them. */
static const char *const parked[][4] = {
	{ "runtime.futex", "runtime.stopm", "runtime.schedule" },
	{ "runtime.futex", "runtime.sysmon", "runtime.mstart1" },
	{ "runtime.futex", "runtime.templateThread", "runtime.mstart1" },
	{ "java.util.concurrent.locks.LockSupport.park",
	  "java.util.concurrent.ThreadPoolExecutor.getTask", "java.lang.Thread.run" },
	{ "jdk.internal.misc.Unsafe.park",
	  "java.util.concurrent.ForkJoinPool.awaitWork" },
	{ "java.lang.ref.Reference.waitForReferencePendingList" },
	{ "java.lang.Object.wait0", "java.lang.ref.ReferenceQueue.remove",
	  "java.lang.ref.Finalizer$FinalizerThread.run" },
	{ "pthread_cond_wait", "VMThread::wait_for_vm_thread_work()" },
	{ "pthread_cond_timedwait", "VMThread::wait_for_vm_thread()", "VMThread::run()" },
	{ "Monitor::wait(unsigned long)", "CompileQueue::get(CompilerThread*)" },
	{ "Monitor::wait(unsigned long)", "WatcherThread::sleep() const" },
	{ "Monitor::wait(unsigned long)",
	  "MonitorDeflationThread::monitor_deflation_thread_entry(JavaThread*, "
	  "JavaThread*)" },
	{ "Monitor::wait(unsigned long)",
	  "ServiceThread::service_thread_entry(JavaThread*, JavaThread*)" },
	{ "Monitor::wait(unsigned long)",
	  "G1ServiceThread::wait_for_task(G1ServiceTask*)" },
	{ "Semaphore::wait()", "GangWorker::wait_for_task()" },
	{ "Semaphore::wait()", "WorkerThread::wait_for_task()" },
	{ "pthread_cond_timedwait",
	  "Monitor::wait_without_safepoint_check(unsigned long)" },
	{ "futex_wait", "PosixSemaphore::wait()" },
	{ "__futex_abstimed_wait_common", "pthread_join", "CallJavaMainInNewThread" },
	{ "pthread_cond_timedwait", "JVM_Sleep", "java.lang.Thread.sleep" },
	{ "java.lang.Object.wait0", "java.lang.Thread.join", "Main.main" },
	{ "pthread_cond_wait", "uv_cond_wait", "worker" },
	{ "pthread_cond_wait",
	  "node::inspector::(anonymous namespace)::StartIoThreadMain(void*)" },
	{ "do_futex_wait", "PyThread_acquire_lock_timed", "_queue_SimpleQueue_get" },
	{ "syscall", "parking_lot::condvar::Condvar::wait_until_internal",
	  "tokio::runtime::scheduler::multi_thread::park::Inner::park_condvar" },
	{ "std::sys::pal::unix::futex::futex_wait",
	  "rayon_core::sleep::Sleep::sleep::h0123456789abcdef",
	  "rayon_core::registry::WorkerThread::wait_until_cold" },
	{ "pthread_cond_timedwait",
	  "System.Threading.LowLevelLifoSemaphore.WaitForSignal",
	  "System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart" },
};

/* Waits for a lock that another thread holds, in programs of the same runtimes. */
static const char *const contends[][4] = {
	{ "__lll_lock_wait", "pthread_mutex_lock", "work", "main" },
	{ "runtime.futex", "runtime.lock2", "runtime.mallocgc", "main.main" },
	{ "runtime.semacquire1", "sync.(*Mutex).lockSlow", "main.work" },
	{ "ObjectMonitor::enter_internal(JavaThread*)", "Main.work",
	  "java.util.concurrent.ThreadPoolExecutor.runWorker", "java.lang.Thread.run" },
	{ "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire",
	  "java.util.concurrent.locks.ReentrantLock.lock", "Main.work" },
	{ "Mutex::lock()", "SafepointSynchronize::block(JavaThread*)" },
	{ "pthread_mutex_lock", "uv_mutex_lock", "node::Worker::Run()" },
	{ "pthread_cond_timedwait", "take_gil", "_PyEval_EvalFrameDefault" },
	{ "do_futex_wait", "PyThread_acquire_lock_timed", "lock_PyThread_acquire_lock" },
	{ "std::sys::sync::mutex::futex::Mutex::lock_contended", "app::work",
	  "tokio::runtime::scheduler::multi_thread::worker::run",
	  "tokio::runtime::blocking::pool::Inner::run" },
	{ "std::sys::sync::mutex::futex::Mutex::lock_contended", "app::work",
	  "rayon_core::job::StackJob<L,F,R>::execute",
	  "rayon_core::registry::WorkerThread::wait_until_cold" },
	{ "System.Threading.Monitor.Enter", "App.Work",
	  "System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart" },
};

struct rig {
	struct op_window *window;
	struct op_parked parked;
};

static void begin(struct rig *g)
{
	const struct op_window_config config = { .period_ns = 1 };

	memset(g, 0, sizeof(*g));
	CHECK_OK(op_window_new(&config, &g->window));
}

static void end(struct rig *g)
{
	op_parked_deinit(&g->parked);
	(void)op_window_free(g->window);
}

static uint32_t text(struct rig *g, const char *s)
{
	uint32_t n;

	CHECK_OK(op_window_string(g->window, s, strlen(s), &n));
	return n;
}

static uint32_t frame(struct rig *g, const char *name)
{
	const struct op_function function = { .name = text(g, name) };
	struct op_location location = { .lines_len = 1 };
	uint32_t n;

	CHECK_OK(op_window_function(g->window, &function, &location.lines[0].function));
	CHECK_OK(op_window_location(g->window, &location, &n));
	return n;
}

/* The stack of @names, leaf first, above @above other frames. */
static uint32_t stack(struct rig *g, const char *const names[4], size_t above)
{
	uint32_t frames[FRAMES_MAX];
	size_t len = 0;
	uint32_t n;
	size_t i;

	CHECK(above + 4 < FRAMES_MAX);
	while (len < above)
		frames[len++] = frame(g, "[kernel]");
	for (i = 0; i < 4 && names[i]; i++)
		frames[len++] = frame(g, names[i]);
	frames[len++] = frame(g, "clone3");
	CHECK_OK(op_window_stack(g->window, frames, len, &n));
	return n;
}

/* Is a wait of @event there one of a parked thread? */
static bool is_parked(struct rig *g, uint16_t event, uint32_t number)
{
	const struct op_record record = {
		.event = event, .value = WAIT_NS | UINT64_C(3) << OP_LOCKS_COUNT_SHIFT
	};
	struct op_window_sample sample = { .stack = number,
					   .value = (int64_t)record.value };

	CHECK_OK(op_parked_type(&g->parked, &record, g->window, &sample));
	if (!sample.alone) {
		CHECK_INT(sample.type, 0);
		CHECK_INT(sample.value, record.value);
		return false;
	}
	CHECK_INT(sample.type, text(g, "parked"));
	CHECK_INT(sample.unit, text(g, "nanoseconds"));
	CHECK_INT(sample.value, WAIT_NS);
	return true;
}

static void test_names(void)
{
	struct rig g;
	size_t i;
	int again;

	begin(&g);
	for (again = 0; again < 2; again++) /* searched once and kept */
		for (i = 0; i < OP_ARRAY_SIZE(parked); i++) {
			uint32_t number = stack(&g, parked[i], 0);

			if (!is_parked(&g, OP_EVENT_LOCKS, number))
				TEST_FAIL("%s is not parked", parked[i][0]);
			CHECK(!is_parked(&g, OP_EVENT_KERNEL_LOCKS, number));
			CHECK(!is_parked(&g, OP_EVENT_OFF_CPU, number));
		}
	end(&g);
}

static void test_contentions(void)
{
	struct rig g;
	size_t i;

	begin(&g);
	for (i = 0; i < OP_ARRAY_SIZE(contends); i++)
		if (is_parked(&g, OP_EVENT_LOCKS, stack(&g, contends[i], 0)))
			TEST_FAIL("%s is parked", contends[i][0]);
	end(&g);
}

/* Stacks of another window have other numbers. */
static void test_another_window(void)
{
	struct rig g;
	uint32_t number;

	begin(&g);
	number = stack(&g, parked[0], 0);
	CHECK(is_parked(&g, OP_EVENT_LOCKS, number));
	op_window_reset(g.window);
	CHECK_INT(stack(&g, contends[0], 0), number);
	CHECK(!is_parked(&g, OP_EVENT_LOCKS, number));
	end(&g);
}

/* Below the frames of a wait in the kernel and in libraries, but not at any depth. */
static void test_depth(void)
{
	struct rig g;

	begin(&g);
	CHECK(is_parked(&g, OP_EVENT_LOCKS, stack(&g, parked[0], 46)));
	CHECK(!is_parked(&g, OP_EVENT_LOCKS, stack(&g, parked[0], 47)));
	end(&g);
}

TEST_MAIN({ "names", test_names }, { "contentions", test_contentions },
	  { "another_window", test_another_window }, { "depth", test_depth })
