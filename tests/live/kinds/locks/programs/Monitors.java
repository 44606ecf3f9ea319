// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.locks.ReentrantLock;

/** One thread holds a lock for a while, again and again, and another waits for it: a monitor,
 * then a ReentrantLock. Writes for each by System.nanoTime() how long the second one waited,
 * the least
 * without the CPU time that it took meanwhile. */
public class Monitors {
    static final int TIMES = 150;
    static final long HOLD_MS = 5;
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static volatile int held;
    static volatile int taken;

    interface Wait {
        void run();
    }

    static void waitsForMonitor() {
        synchronized (monitor) {
            taken++;
        }
    }

    static void waitsForLock() {
        lock.lock();
        taken++;
        lock.unlock();
    }

    /** The same, before anything is measured: a profiler meets all files in it. */
    static void warmsUp() {
        synchronized (monitor) {
            taken++;
        }
    }

    static void hold() {
        held++;
        try {
            Thread.sleep(HOLD_MS);
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    static void holdsMonitor() {
        synchronized (monitor) {
            hold();
        }
    }

    static void holdsLock() {
        lock.lock();
        hold();
        lock.unlock();
    }

    /** The holder takes it first each time, by turns with who waits. */
    static void measure(String name, Wait holds, Wait waits) throws InterruptedException {
        held = taken = 0;
        Thread holder = new Thread(() -> {
            for (int i = 0; i < TIMES; i++) {
                while (taken < i) {
                    Thread.onSpinWait();
                }
                holds.run();
            }
        });
        java.lang.management.ThreadMXBean threads =
            java.lang.management.ManagementFactory.getThreadMXBean();
        long all = 0;
        long cpu = threads.getCurrentThreadCpuTime();
        long other = 0;

        holder.start();
        for (int i = 0; i < TIMES; i++) {
            while (held <= i) {
                Thread.onSpinWait();
            }
            long ran = threads.getCurrentThreadCpuTime();
            long begin = System.nanoTime();
            waits.run();
            all += System.nanoTime() - begin;
            other += threads.getCurrentThreadCpuTime() - ran;
        }
        holder.join();
        if (!name.equals("warmsUp")) {
            System.out.println(name + " " + (all - other) + " " + all);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        measure("warmsUp", Monitors::holdsMonitor, Monitors::warmsUp);
        measure("waitsForMonitor", Monitors::holdsMonitor, Monitors::waitsForMonitor);
        measure("waitsForLock", Monitors::holdsLock, Monitors::waitsForLock);
    }
}
