// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;

/**
 * Code that comes and goes: each round loads the class Work anew, by a class loader that is
 * dropped then. So classes are unloaded, their code is thrown away and its memory used again, and
 * what was compiled while Base had no subclass is deoptimised. `Storm SECONDS`.
 */
public class Storm {
    public static int sink;

    public static class Base {
        public int value(int n) {
            return n;
        }
    }

    public static class Work extends Base {
        @Override
        public int value(int n) {
            return n * 3;
        }

        static int c(int n) {
            int s = n;
            for (int i = 0; i < 300; i++)
                s = s * 31 + i;
            return s;
        }

        static int b(int n) {
            return c(n) + c(n + 1);
        }

        static int a(int n) {
            return b(n) ^ b(n + 2);
        }

        public static void run() {
            Base base = new Base();
            Base work = new Work();
            for (int i = 0; i < 3000; i++)
                sink += a(i) + calls(base, i) + calls(work, i);
        }
    }

    public static int calls(Base base, int n) {
        return base.value(n) + base.value(n + 1);
    }

    static class Loader extends ClassLoader {
        private final byte[] bytes;

        Loader(byte[] bytes) {
            super(Storm.class.getClassLoader());
            this.bytes = bytes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Storm$Work"))
                return super.loadClass(name, resolve);
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    static byte[] read(String name) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (InputStream in = Storm.class.getResourceAsStream(name)) {
            for (int b = in.read(); b >= 0; b = in.read())
                out.write(b);
        }
        return out.toByteArray();
    }

    static void round(byte[] bytes) throws Exception {
        Method run = new Loader(bytes).loadClass("Storm$Work", true).getMethod("run");
        run.invoke(null);
    }

    public static void main(String[] arguments) throws Exception {
        byte[] bytes = read("Storm$Work.class");
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
        for (int n = 0; System.nanoTime() < end; n++) {
            round(bytes);
            if (n % 20 == 0)
                System.gc();
            if (n == 40)
                System.out.println("ready");
        }
    }
}
