/* SPDX-License-Identifier: Apache-2.0 */
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.Callable;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;

/**
 * Stacks known by construction. Each scene calls the three leaves by its own way, with 50, 30
 * and 20 % of its work. At first each leaf prints the stack that the Java runtime itself sees:
 *
 *     stack LEAF CLASS.METHOD:LINE ...   (leaf first)
 *
 * then "ready PID" is printed and the scenes run in turn until the time is over.
 *
 *     Known scenes|calls SECONDS [FACTOR]
 *
 * FACTOR: how much more work the leaves do.
 */
public class Known {
    static int unit = 40000;
    static boolean telling, idle;
    public static long sink;
    static final int[] share = {50, 30, 20};

    // ---- the leaves: the same work by other names ----

    static void leafA(int n) { // leaf
        if (telling) tell("leafA"); // leaf
        long x = sink; // leaf
        for (int i = 0; i < n; i++) // leaf
            x = x * 31 + i; // leaf
        sink = x; // leaf
    } // leaf

    static void leafB(int n) { // leaf
        if (telling) tell("leafB"); // leaf
        long x = sink; // leaf
        for (int i = 0; i < n; i++) // leaf
            x = x * 31 + i; // leaf
        sink = x; // leaf
    } // leaf

    static void leafC(int n) { // leaf
        if (telling) tell("leafC"); // leaf
        long x = sink; // leaf
        for (int i = 0; i < n; i++) // leaf
            x = x * 31 + i; // leaf
        sink = x; // leaf
    } // leaf

    static void tell(String leaf) {
        StringBuilder line = new StringBuilder("stack ").append(leaf);
        StackTraceElement[] at = new Throwable().getStackTrace();

        for (int i = 1; i < at.length; i++) // without this method
            line.append(' ').append(at[i].getClassName()).append('.')
                .append(at[i].getMethodName()).append(':')
                .append(Math.max(at[i].getLineNumber(), 0));
        System.out.println(line);
    }

    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static LongSupplier clock = CLOCK::getCurrentThreadCpuTime;
    static final long[] used = new long[3]; // CPU time of each leaf, ns

    /**
     * One of the leaves, or hardly any of it while idle. How much of it is such that its share
     * of the CPU time, by the thread's clock, stays what it is to be: equal loops of different
     * methods need not be equally fast.
     */
    public static void leaf(int which) {
        double all = used[0] + used[1] + used[2] + 1e7;
        double behind = all * share[which] / 100 / (used[which] + 1e5 * share[which]);
        int n = idle ? 1 : (int) (unit / 10 * share[which] * Math.max(0.5, Math.min(behind, 2)));
        long begin = idle ? 0 : clock.getAsLong();

        if (which == 0)
            leafA(n);
        else if (which == 1)
            leafB(n);
        else
            leafC(n);
        if (!idle)
            used[which] += clock.getAsLong() - begin;
    }

    // ---- scenes ----

    static void chain(int depth, int which) {
        if (depth == 0)
            leaf(which);
        else
            chain(depth - 1, which);
    }

    static void kinds(int which) {
        new Derived().go(which);
    }

    interface Step {
        void step(int which);
    }

    static class Base {
        void go(int which) {
            over(which);
        }

        void over(int which) {
            throw new IllegalStateException();
        }
    }

    static class Derived extends Base implements Step {
        @Override
        void go(int which) {
            super.go(which);
        }

        @Override
        void over(int which) {
            Step s = this;

            s.step(which);
        }

        @Override
        public synchronized void step(int which) {
            own(which);
        }

        private void own(int which) {
            synchronized (this) {
                leaf(which);
            }
        }
    }

    static void lambda(int which) {
        Step outer = n -> {
            Runnable inner = () -> leaf(n);

            inner.run();
        };

        outer.step(which);
    }

    static MethodHandle handle;
    static Method method;

    static void handles(int which) throws Throwable {
        handle.invokeExact(which);
    }

    static void reflect(int which) throws Throwable {
        method.invoke(null, which);
    }

    public static void reflected(int which) {
        leaf(which);
    }

    static void sorted(int which) {
        Integer[] two = {1, 0};

        Arrays.sort(two, new Comparator<Integer>() {
            boolean done;

            @Override
            public int compare(Integer a, Integer b) {
                if (!done) {
                    done = true;
                    leaf(which);
                }
                return a - b;
            }
        });
    }

    @SuppressWarnings({"deprecation", "removal"})
    static void privileged(int which) {
        AccessController.doPrivileged((PrivilegedAction<Void>) () -> {
            leaf(which);
            return null;
        });
    }

    static void thrown(int which) {
        try {
            thrower(6);
        } catch (IllegalArgumentException e) {
            leaf(which);
        } finally {
            sink++;
        }
    }

    static void thrower(int n) {
        if (n == 0)
            throw new IllegalArgumentException();
        try {
            thrower(n - 1);
        } finally {
            sink++;
        }
    }

    static void threads(int which) throws Throwable {
        Thread t = new Thread(() -> leaf(which));

        t.start();
        t.join();
    }

    static class Loader extends ClassLoader {
        final byte[] bytes;

        Loader(byte[] bytes) {
            super(Known.class.getClassLoader());
            this.bytes = bytes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Known$Far"))
                return super.loadClass(name, resolve);
            Class<?> c = findLoadedClass(name);

            return c != null ? c : defineClass(name, bytes, 0, bytes.length);
        }
    }

    public static class Far implements Callable<Void> {
        public int which;

        @Override
        public Void call() {
            leaf(which);
            return null;
        }

        @Override
        public int hashCode() {
            return which = (which + 1) % 3;
        }
    }

    static Callable<?> near, far;

    static void loaders(int which) throws Throwable {
        while (near.hashCode() != which)
            ;
        near.call();
        while (far.hashCode() != which)
            ;
        far.call();
    }

    /** Its class is initialised anew each time, by a new loader: Java code called by the VM. */
    static class Initialised {
        static {
            leaf(initialising);
        }

        static void touch() {
            sink++;
        }
    }

    public static int initialising;

    public static class Toucher implements Runnable {
        @Override
        public void run() {
            Initialised.touch();
        }
    }

    static byte[] toucherBytes, initialisedBytes;

    static class Fresh extends ClassLoader {
        Fresh() {
            super(Known.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            byte[] bytes = name.equals("Known$Toucher") ? toucherBytes
                : name.equals("Known$Initialised") ? initialisedBytes : null;

            if (bytes == null)
                return super.loadClass(name, resolve);
            Class<?> c = findLoadedClass(name);

            return c != null ? c : defineClass(name, bytes, 0, bytes.length);
        }
    }

    static void initialiser(int which) throws Throwable {
        Class<?> c = new Fresh().loadClass("Known$Toucher", true);
        Runnable r = (Runnable) c.getConstructor().newInstance();

        initialising = which;
        r.run();
    }

    /** Upcall.java and Virtual.java, where they were compiled and the JDK can run them. */
    static IntConsumer upcall, virtual;

    static void upcall(int which) {
        if (upcall != null)
            upcall.accept(which);
    }

    static void virtual(int which) {
        if (virtual != null)
            virtual.accept(which);
    }

    static IntConsumer newer(String name) throws Exception {
        try {
            return (IntConsumer) Class.forName(name).getConstructor().newInstance();
        } catch (ClassNotFoundException | UnsupportedClassVersionError e) {
            return null;
        }
    }

    static byte[] classBytes(String name) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();

        try (InputStream in = Known.class.getResourceAsStream(name + ".class")) {
            for (int b; (b = in.read()) >= 0;)
                out.write(b);
        }
        return out.toByteArray();
    }

    static void scene(int scene, int which) throws Throwable {
        switch (scene) {
        case 0:
            chain(24, which);
            break;
        case 1:
            kinds(which);
            break;
        case 2:
            lambda(which);
            break;
        case 3:
            handles(which);
            break;
        case 4:
            reflect(which);
            break;
        case 5:
            sorted(which);
            break;
        case 6:
            privileged(which);
            break;
        case 7:
            thrown(which);
            break;
        case 8:
            threads(which);
            break;
        case 9:
            loaders(which);
            break;
        case 10:
            upcall(which);
            break;
        case 11:
            virtual(which);
            break;
        default:
            initialiser(which);
        }
    }

    static final int SCENES = 13;

    // ---- calls: hardly anything but calls and returns ----

    interface Rung {
        int c4(int n);
    }

    static class Ladder implements Rung {
        static int c1(int n) {
            int x = c2(n); // c1

            return x + c2(n); // c1
        }

        static int c2(int n) {
            return new Ladder().c3(n, 1L, 2) + 1; // c2
        }

        int c3(int n, long wide, int more) {
            Rung r = this; // c3

            return r.c4(n) + (int) wide + r.c4(more); // c3
        }

        @Override
        public int c4(int n) {
            return c5(n) + c5(n + 1); // c4
        }

        synchronized int c5(int n) {
            return c6(n, 1.0) + c6(n, 2.0); // c5
        }

        private int c6(int n, double d) {
            return c7(n, n, n, n, n, n, n) + (int) d; // c6
        }

        static int c7(int a, int b, int c, int d, int e, int f, int g) {
            int x1 = a, x2 = b, x3 = c, x4 = d, x5 = e, x6 = f, x7 = g; // c7

            return c8() + x1 + x2 + x3 + x4 + x5 + x6 + x7; // c7
        }

        static int c8() {
            return 1; // c8
        }
    }

    static void calls() { // calls
        for (int i = 0; i < 1000; i++) // calls
            sink += Ladder.c1(i); // calls
    } // calls

    static void setUp() throws Exception {
        handle = MethodHandles.lookup().findStatic(Known.class, "reflected",
            MethodType.methodType(void.class, int.class));
        method = Known.class.getMethod("reflected", int.class);
        near = new Far();
        far = (Callable<?>) new Loader(classBytes("Known$Far")).loadClass("Known$Far")
            .getConstructor().newInstance();
        toucherBytes = classBytes("Known$Toucher");
        initialisedBytes = classBytes("Known$Initialised");
        upcall = newer("Upcall");
        virtual = newer("Virtual");
    }

    static String pid() throws Exception {
        return new java.io.File("/proc/self").getCanonicalFile().getName();
    }

    static void scenes() throws Throwable {
        for (int s = 0; s < SCENES; s++)
            for (int which = 0; which < 3; which++)
                scene(s, which);
    }

    public static void main(String[] args) throws Throwable {
        boolean scenes = args[0].equals("scenes");
        long end = System.nanoTime() + Long.parseLong(args[1]) * 1000000000L;

        if (args.length > 2)
            unit *= Integer.parseInt(args[2]);
        setUp();
        // The second round tells: by then what is told is what lasts.
        for (int round = 0; round < 2 || System.nanoTime() < end; round++) {
            telling = scenes && round == 1;
            idle = round < 2;
            if (round == 2)
                System.out.println("ready " + pid());
            run(scenes);
        }
    }

    static void run(boolean scenes) throws Throwable {
        if (scenes)
            scenes();
        else
            calls();
    }
}
