// SPDX-License-Identifier: Apache-2.0
// Young.java SECONDS - classes that live for a moment: each has a method made_N of its own, which burns 10 ms below and is then
// unloaded; the next ones get its memory. Prints a line a class: N, and when it ran (ns since the epoch). -Dcompiled=1: made_N
// is compiled before.
import java.nio.charset.StandardCharsets;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;

public class Young {
    public static class Made {
        public static int made_000000(int n) {
            if (n > 0)
                return n * 3;
            Young.burn();
            return 1;
        }
        public static int warm(int n) {
            int r = 0;
            for (int i = n; i > 0; i--)
                r += made_000000(i);
            return r;
        }
    }

    static class Fresh extends ClassLoader {
        Class<?> define(String code) {
            byte[] b = code.getBytes(StandardCharsets.ISO_8859_1);
            return defineClass("Young$Made", b, 0, b.length);
        }
    }

    static final long BURN_NS = 10_000_000;
    // the wall clock in ns, from one of ms
    static final long EPOCH_NS = epoch();
    static volatile long sink;

    static long epoch() {
        long ms = System.currentTimeMillis();
        while (System.currentTimeMillis() == ms)
            ;
        return System.currentTimeMillis() * 1_000_000 - System.nanoTime();
    }

    public static void burn() {
        for (long end = System.nanoTime() + BURN_NS; System.nanoTime() < end;)
            for (int i = 0; i < 1000; i++)
                sink += i;
    }

    public static void main(String[] args) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream in = Young.class.getResourceAsStream("Young$Made.class")) {
            for (int b = in.read(); b >= 0; b = in.read())
                bytes.write(b);
        }
        String code = new String(bytes.toByteArray(), StandardCharsets.ISO_8859_1);
        boolean compiled = Boolean.getBoolean("compiled") || System.getProperty("compiled") != null;
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        for (int n = 1; System.nanoTime() < end; n++) {
            String name = String.format("made_%06d", n);
            Class<?> c = new Fresh().define(code.replace("made_000000", name));
            if (compiled)
                c.getMethod("warm", int.class).invoke(null, 50000);
            long from = EPOCH_NS + System.nanoTime();
            c.getMethod(name, int.class).invoke(null, 0);
            System.out.println(n + " " + from + " " + (EPOCH_NS + System.nanoTime()));
            if (n % 8 == 0)
                System.gc();
        }
    }
}
