// SPDX-License-Identifier: Apache-2.0
// Shapes.java SECONDS [SHAPE...] - shapes of code, by turns: each burns the same CPU time, by the thread's own clock, in a leaf below
// a chain that Java itself tells ("stack SHAPE NAME...", the outermost first, whenever it is a new one). Before a leaf works, a
// recursion leaves return addresses of noise() on the stack below; noise() has ended when the leaf works.
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public class Shapes {
    interface Shape { void work() throws Throwable; }
    interface Leaf { long burn(int i) throws Throwable; }

    static final long SLICE_NS = 10_000_000;
    static final int TELL_EVERY = 7;
    static final int LOOPS = Integer.getInteger("loops", 500); // fewer for the interpreter
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final Map<String, Shape> SHAPES = new LinkedHashMap<>();
    static final Set<String> TOLD = new HashSet<>();
    static volatile long sink;
    static double y = 1.3;
    static String now;
    static int calls;

    static int noise(int n) { return n == 0 ? (int) sink : noise(n - 1) + noise(0) + 1; }

    // Java's own stack of the one that calls this, without this.
    static void tell() {
        if (calls++ % TELL_EVERY != 0)
            return;
        StackTraceElement[] stack = new Throwable().getStackTrace();
        StringBuilder text = new StringBuilder("stack ").append(now);
        for (int i = stack.length - 1; i > 0; i--)
            text.append(' ').append(stack[i].getClassName()).append('.').append(stack[i].getMethodName());
        if (TOLD.add(text.toString()))
            System.out.println(text);
    }

    static void leaf(Leaf what) throws Throwable {
        tell();
        for (int i = 1; i < LOOPS; i++) {
            if (i % 10 == 0)
                sink += noise(12);
            sink += what.burn(i);
        }
    }

    // A leaf that is no stub.
    static int spin(int n) {
        tell();
        int s = n;
        for (int i = 0; i < 20000; i++)
            s = s * 31 + (i ^ s >> 3);
        return s;
    }

    static final byte[] A = new byte[4096], B = new byte[4096], C = new byte[4096];
    static final Object[] OA = new Object[1000], OB = new String[1000];
    static final String TEXT = IntStream.range(0, 40).mapToObj(i -> "abcdefghijklmnopqrstuvwxyz ").reduce("", String::concat) + "zy";
    static final BigInteger BIG = BigInteger.ONE.shiftLeft(2000).subtract(BigInteger.TEN);
    static final BigInteger ODD = BigInteger.ONE.shiftLeft(512).subtract(BigInteger.valueOf(569));
    static final CRC32 CRC = new CRC32();
    static final Adler32 ADLER = new Adler32();
    static final Object[] OLD = new Object[100000];

    static void stub(String name, Leaf what) { SHAPES.put(name, () -> leaf(what)); }

    static Leaf digest(String name) throws Exception {
        MessageDigest d = MessageDigest.getInstance(name);
        return i -> { d.update(A); return d.digest()[0]; };
    }

    static Leaf cipher(String name) throws Exception {
        Cipher c = Cipher.getInstance(name);
        c.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new IvParameterSpec(new byte[16]));
        return i -> c.update(A, 0, 4096, B);
    }

    static void stubs() throws Exception {
        stub("pow", i -> (long) (Math.pow(i, y) + Math.pow(y, i & 15)));
        stub("sin", i -> (long) (Math.sin(i + y) * 100));
        stub("cos", i -> (long) (Math.cos(i * y) * 100));
        stub("tan", i -> (long) (Math.tan(i + y) * 100));
        stub("far", i -> (long) (Math.sin(i * 1e9 + y) * 100));
        stub("log", i -> (long) (Math.log(i + y) * 100));
        stub("log10", i -> (long) (Math.log10(i + y) * 100));
        stub("exp", i -> (long) Math.exp((i & 31) + y));
        stub("fmod", i -> (long) (i % y));
        stub("multiply", i -> BIG.multiply(BIG).signum());
        stub("square", i -> BIG.pow(2).signum());
        stub("modpow", i -> BigInteger.valueOf(i + 3).modPow(BigInteger.TEN, ODD).signum());
        stub("md5", digest("MD5"));
        stub("sha1", digest("SHA-1"));
        stub("sha256", digest("SHA-256"));
        stub("sha512", digest("SHA-512"));
        stub("cbc", cipher("AES/CBC/NoPadding"));
        stub("ctr", cipher("AES/CTR/NoPadding"));
        stub("crc", i -> { CRC.update(A); return CRC.getValue(); });
        stub("adler", i -> { ADLER.update(A); return ADLER.getValue(); });
        stub("base64", i -> Base64.getEncoder().encode(A, B.length > 8000 ? B : new byte[5464]));
        stub("indexof", i -> TEXT.indexOf("zy"));
        stub("compare", i -> TEXT.compareTo(TEXT + i));
        stub("latin", i -> TEXT.getBytes(StandardCharsets.UTF_8).length);
        stub("copy", i -> { System.arraycopy(A, i & 7, B, 0, 4000); return 1; });
        stub("overlap", i -> { System.arraycopy(A, 0, A, i & 7, 4000); return 1; });
        stub("objects", i -> { System.arraycopy(OA, 0, OB, 0, 1000); return 1; });
        stub("fill", i -> { Arrays.fill(B, (byte) i); return 1; });
        stub("equals", i -> Arrays.equals(A, C) ? 1 : 2);
        stub("hash", i -> Arrays.hashCode(A));
        stub("clone", i -> A.clone().length);
        stub("barrier", i -> { Object young = new Object(); for (int k = i; k < OLD.length; k += 128) OLD[k] = young; return 1; });
        stub("throw", i -> { try { return thrower(10); } catch (IllegalStateException e) { return 1; } });
        stub("subtype", i -> { long n = 0; for (int k = 0; k < 100; k++) n += many instanceof H ? 1 : many instanceof G ? 2 : 3; return n; });
    }

    interface D { } interface E { } interface F { } interface G { } interface H { }
    static class Many implements D, E, F, G, H { }
    static Object many = new Many();
    static final RuntimeException THROWN = new IllegalStateException();
    static int thrower(int n) {
        if (n == 0)
            throw THROWN;
        return thrower(n - 1) + 1;
    }

    abstract static class Base { abstract int work(int n); }
    static class One extends Base { int work(int n) { return spin(n); } }
    static class Two extends Base { int work(int n) { return spin(n + 1); } }
    static class Three extends Base { int work(int n) { return spin(n + 2); } }
    static final Base[] BASES = { new One(), new Two(), new Three() };
    static final IntUnaryOperator[] OPERATORS = { Shapes::spin, n -> spin(n + 1), n -> -spin(n) };

    static int deep(int d, int n) { return d == 0 ? spin(n) : deep(d - 1, n) + 1; }
    static synchronized int locked(int n) { return spin(n); }
    static int caught(int n) {
        try {
            return spin(n) + thrower(n & 1);
        } catch (IllegalStateException e) {
            return spin(n);
        }
    }
    static int many(int a, long b, double c, float d, int e, long f, double g, int h, long i, int j) {
        return spin((int) (a + b + c + d + e + f + g + h + i + j));
    }
    public static int reflected(int n) { return spin(n); }

    static void shapes() throws Throwable {
        MethodHandle handle = MethodHandles.lookup().findStatic(Shapes.class, "reflected", MethodType.methodType(int.class, int.class));
        MethodHandle bound = MethodHandles.insertArguments(handle, 0, 3);
        Method method = Shapes.class.getMethod("reflected", int.class);
        InvocationHandler handler = (p, m, a) -> spin((Integer) a[0]);
        Comparator<Integer> comparator = (p, q) -> { sink += spin(p); return p - q; };
        Base proxied = new Base() { int work(int n) { return spin(n); } };
        IntUnaryOperator proxy = (IntUnaryOperator) Proxy.newProxyInstance(Shapes.class.getClassLoader(),
            new Class<?>[] { IntUnaryOperator.class }, handler);
        SHAPES.put("virtual", () -> { for (Base b : BASES) sink += b.work(2); });
        SHAPES.put("interface", () -> { for (IntUnaryOperator o : OPERATORS) sink += o.applyAsInt(2); });
        SHAPES.put("inner", () -> sink += proxied.work(1));
        SHAPES.put("recursion", () -> sink += deep(60, 2));
        SHAPES.put("synchronized", () -> sink += locked(2));
        SHAPES.put("exception", () -> sink += caught(1));
        SHAPES.put("arguments", () -> sink += many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
        SHAPES.put("reflection", () -> sink += (Integer) method.invoke(null, 4));
        SHAPES.put("handle", () -> sink += (int) handle.invokeExact(5));
        SHAPES.put("bound", () -> sink += (int) bound.invokeExact());
        SHAPES.put("proxy", () -> sink += proxy.applyAsInt(6));
        SHAPES.put("stream", () -> sink += IntStream.range(0, 3).map(Shapes::spin).sum());
        SHAPES.put("sort", () -> Arrays.sort(new Integer[] { 3, 1, 2 }, comparator));
        SHAPES.put("map", () -> new LinkedHashMap<String, Integer>().computeIfAbsent("k", k -> spin(1)));
        SHAPES.put("privileged", () -> java.security.AccessController.doPrivileged(
            (java.security.PrivilegedAction<Integer>) () -> spin(2)));
        SHAPES.put("callable", () -> sink += ((Callable<Integer>) () -> spin(3)).call());
    }

    static void run(Shape shape) throws Throwable {
        for (long end = CLOCK.getCurrentThreadCpuTime() + SLICE_NS; CLOCK.getCurrentThreadCpuTime() < end;)
            shape.work();
    }

    public static void main(String[] args) throws Throwable {
        Arrays.fill(OA, "x");
        stubs();
        shapes();
        List<String> names = args.length > 1 ? Arrays.asList(args).subList(1, args.length) : new ArrayList<>(SHAPES.keySet());
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        for (int round = 0; System.nanoTime() < end; round++) {
            for (String name : names) {
                now = name;
                run(SHAPES.get(name));
            }
            if (round == 1)
                System.out.println("ready " + names.size());
        }
    }
}
