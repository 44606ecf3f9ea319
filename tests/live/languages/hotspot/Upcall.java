/* SPDX-License-Identifier: Apache-2.0 */
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.IntConsumer;

/**
 * A scene of Known for JDK 22 and later: qsort() in libc calls a comparator that is Java. Run
 * by itself it does nothing else, once it has printed "ready".
 */
public class Upcall implements IntConsumer {
    static final Linker LINKER = Linker.nativeLinker();
    static final MethodHandle QSORT = LINKER.downcallHandle(
        LINKER.defaultLookup().find("qsort").get(),
        FunctionDescriptor.ofVoid(ValueLayout.ADDRESS, ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
    static final MemorySegment TWO = Arena.global().allocate(ValueLayout.JAVA_INT, 2);
    static final MemorySegment COMPARE = compare();
    static final int LASTING = 1000; // calls: after 127 the VM makes other code of a handle
    static int which;

    /** What is called lasts from here on. */
    public Upcall() {
        Known.idle = true;
        for (int i = 0; i < LASTING; i++)
            accept(0);
        Known.idle = false;
    }

    static MemorySegment compare() {
        try {
            return LINKER.upcallStub(
                MethodHandles.lookup().findStatic(Upcall.class, "compare",
                    MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class)),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS,
                    ValueLayout.ADDRESS),
                Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static int compare(MemorySegment a, MemorySegment b) {
        Known.leaf(which);
        return 0;
    }

    @Override
    public void accept(int n) {
        which = n;
        try {
            QSORT.invokeExact(TWO, 2L, 4L, COMPARE);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) {
        Upcall upcall = new Upcall();

        Known.idle = true;
        System.out.println("ready");
        for (;;)
            upcall.accept(0);
    }
}
