// SPDX-License-Identifier: Apache-2.0
/* Three threads contend for a lock for so many seconds, beside pools of the JDK that have hardly any work.
 * Tells the seconds of the waits for the lock. */
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

public class Parked {
    static final ReentrantLock LOCK = new ReentrantLock();
    static final AtomicLong WAITED = new AtomicLong();

    static void contends(long end) {
        while (System.nanoTime() < end) {
            long begin = System.nanoTime();
            LOCK.lock();
            WAITED.addAndGet(System.nanoTime() - begin);
            holds();
        }
    }

    static void holds() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException e) {
        } finally {
            LOCK.unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000000L;
        ExecutorService fixed = Executors.newFixedThreadPool(4);
        ExecutorService cached = Executors.newCachedThreadPool();
        ForkJoinPool stealing = new ForkJoinPool(3);
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        timer.scheduleAtFixedRate(() -> {
            fixed.submit(() -> { });
            cached.submit(() -> { });
            stealing.submit(() -> { });
        }, 0, 50, TimeUnit.MILLISECONDS);
        Thread[] workers = new Thread[3];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(() -> contends(end));
            workers[i].start();
        }
        for (Thread worker : workers)
            worker.join();
        System.out.println(WAITED.get() / 1e9);
        System.exit(0);
    }
}
