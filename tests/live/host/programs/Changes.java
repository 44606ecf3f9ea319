// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.OutputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Changes SEED SECONDS FOLDER LOG [DEPTH] - loads, replaces and drops classes at random, and writes
 * what ran when, like changes.py. The folder `classes` has builds of one class, MadeK.class, and a file
 * MadeK.lines of each with the lines of its methods made_same() and made_000000(). As a Java agent
 * it redefines classes, too.
 */
public class Changes {
    public interface Work {
        void made_same(long ns, long[] inner);
    }

    static final int LONG = Integer.parseInt(System.getenv().getOrDefault("CHANGES_LONG", "0"));
    static final int DEPTH_MAX = 1;
    static final int BUILDS = 6;
    static final int WARM = 12000;
    static final byte[][] code = new byte[BUILDS][];
    static final int[][] lines = new int[BUILDS][4];
    static Instrumentation agent;
    static OutputStream log;
    static String[] arguments;
    static int depth;
    static int count;
    public static volatile int sink;
    final Random chance;
    final String thread;

    Changes(long seed) throws IOException {
        chance = new Random(seed);
        thread = Files.readSymbolicLink(Paths.get("/proc/thread-self")).getFileName().toString();
    }

    public static void premain(String options, Instrumentation instrumentation) {
        agent = instrumentation;
    }

    int below(int n) {
        return chance.nextInt(n);
    }

    long pieceNs() {
        if (LONG > 0 && below(LONG) == 0)
            return 1000000L * (1100 + below(400));
        return 1000000L * (below(8) > 0 ? 1 + below(20) : 20 + below(300));
    }

    public static void burn(long ns, long[] inner) {
        inner[0] = System.nanoTime();
        long end = inner[0] + ns;
        int x = 1;
        while (System.nanoTime() < end)
            for (int i = 0; i < 500; i++)
                x = x * 31 + i & 65535;
        sink = x;
        inner[1] = System.nanoTime();
    }

    void runMade(Work work, int build, String name, String shape) throws IOException {
        long[] inner = new long[2];
        long outer = System.nanoTime();
        if (shape.startsWith("warm"))
            for (int i = 0; i < WARM; i++)
                work.made_same(0, inner);
        work.made_same(pieceNs(), inner);
        long end = System.nanoTime();
        String times = "\t" + outer + "\t" + inner[0] + "\t" + inner[1] + "\t" + end + "\t" + shape + "\n";
        int[] at = lines[build];
        String text = thread + "\tmade_same\tMade.java\t" + at[0] + "\t" + at[1] + times +
                thread + "\t" + name + "\tMade.java\t" + at[2] + "\t" + at[3] + times;
        log.write(text.getBytes(StandardCharsets.UTF_8));
    }

    String shape(String name) {
        return below(2) > 0 ? name : "warm-" + name;
    }

    static synchronized String newName() {
        return String.format("made_%06d", ++count);
    }

    /** The code of a build, with other names of the same length. */
    static byte[] named(int build, String name) {
        return new String(code[build], StandardCharsets.ISO_8859_1).replace("made_000000", name)
                .replace("Made" + build, "MadeX").getBytes(StandardCharsets.ISO_8859_1);
    }

    static class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("MadeX", bytes, 0, bytes.length);
        }
    }

    static Work make(Class<?> made) throws Exception {
        Constructor<?> constructor = made.getDeclaredConstructor();
        constructor.setAccessible(true);
        return (Work) constructor.newInstance();
    }

    void changeLoaded() throws Exception {
        int build = below(BUILDS);
        String name = newName();
        Work work = make(new Loader().define(named(build, name)));
        String shape = shape("loaded");
        runMade(work, build, name, shape);
        if (below(3) == 0)
            runMade(work, build, name, shape);
    }

    /** Some live at once, and die together. */
    void changeBeside() throws Exception {
        int[] build = new int[3];
        String[] name = new String[3];
        Work[] work = new Work[3];
        for (int i = 0; i < 3; i++) {
            build[i] = below(BUILDS);
            name[i] = newName();
            work[i] = make(new Loader().define(named(build[i], name[i])));
            runMade(work[i], build[i], name[i], shape("beside"));
        }
        for (int i = 0; i < 3; i++)
            runMade(work[i], build[i], name[i], shape("beside"));
    }

    void changeRedefined() throws Exception {
        int build = below(BUILDS);
        String name = newName();
        Class<?> made = new Loader().define(named(build, name));
        Work work = make(made);
        runMade(work, build, name, shape("loaded"));
        for (int i = 1 + below(3); i > 0; i--) {
            build = below(BUILDS);
            agent.redefineClasses(new ClassDefinition(made, named(build, name)));
            runMade(work, build, name, shape("redefined"));
        }
    }

    void changeHidden() throws Exception {
        int build = below(BUILDS);
        String name = newName();
        Class<?> made;
        try {
            made = MethodHandles.lookup().defineHiddenClass(named(build, name), false).lookupClass();
        } catch (NoSuchMethodError e) {
            return; // before JDK 15
        }
        runMade(make(made), build, name, shape("hidden"));
    }

    void changeThread() throws Exception {
        long seed = chance.nextLong();
        Thread other = new Thread(() -> {
            try {
                Changes own = new Changes(seed);
                for (int i = 1 + own.below(3); i > 0; i--)
                    own.changeLoaded();
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(1);
            }
        });
        other.start();
        changeLoaded();
        other.join();
    }

    void changeExecuted() throws Exception {
        List<String> command = new ArrayList<>();
        for (String word : new String(Files.readAllBytes(Paths.get("/proc/self/cmdline"))).split("\0"))
            command.add(word);
        command = command.subList(0, command.lastIndexOf("Changes") + 1);
        command.addAll(List.of("" + below(1 << 30), "0.3", arguments[2], arguments[3], "" + (depth + 1)));
        if (new ProcessBuilder(command).inheritIO().start().waitFor() != 0)
            System.exit(1);
    }

    void change() throws Exception {
        int kind = below(depth < DEPTH_MAX ? 21 : 20);
        if (kind < 8)
            changeLoaded();
        else if (kind < 11)
            changeBeside();
        else if (kind < 14 && agent != null)
            changeRedefined();
        else if (kind < 17)
            changeHidden();
        else if (kind < 20)
            changeThread();
        else
            changeExecuted();
        if (below(4) == 0)
            System.gc();
    }

    public static void main(String[] words) throws Exception {
        arguments = words;
        depth = words.length > 4 ? Integer.parseInt(words[4]) : 0;
        log = Files.newOutputStream(Paths.get(words[3]), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        Path folder = Paths.get(System.getProperty("classes"));
        for (int k = 0; k < BUILDS; k++) {
            code[k] = Files.readAllBytes(folder.resolve("Made" + k + ".class"));
            String[] at = new String(Files.readAllBytes(folder.resolve("Made" + k + ".lines"))).split(" ");
            for (int i = 0; i < 4; i++)
                lines[k][i] = Integer.parseInt(at[i]);
        }
        Changes changes = new Changes(Long.parseLong(words[0]));
        long end = System.nanoTime() + (long) (Double.parseDouble(words[1]) * 1e9);
        while (System.nanoTime() < end)
            changes.change();
    }
}
