/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * A scene of Known for JDK 21 and later: a virtual thread works, gives its carrier away by
 * yielding and by parking, and works on, at the end of a chain of calls.
 */
public class Virtual implements IntConsumer {
    static final int DEPTH = 12;

    static void rest(int which) {
        if (which == 0)
            Thread.yield();
        else
            LockSupport.parkNanos(1000);
    }

    static void chain(int depth, int which) {
        if (depth > 0) {
            chain(depth - 1, which);
            return;
        }
        Known.leaf(which);
        rest(which);
        Known.leaf(which);
    }

    /** It has given its carrier away deeper than it works: frames come back as it returns. */
    static void back(int depth, int which) {
        if (depth == 0)
            rest(which);
        else
            back(depth - 1, which);
        if (depth == DEPTH / 2)
            Known.leaf(which);
    }

    @Override
    public void accept(int which) {
        Known.clock = () -> 0; // a virtual thread has no CPU time: what it takes is not counted
        try {
            Thread.startVirtualThread(() -> {
                chain(DEPTH, which);
                back(DEPTH, which);
            }).join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        Known.clock = Known.CLOCK::getCurrentThreadCpuTime;
    }
}
