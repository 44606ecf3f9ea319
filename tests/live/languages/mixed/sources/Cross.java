// SPDX-License-Identifier: Apache-2.0
/** Java that calls C that calls Java. */
public class Cross {
    static int sink;

    static native void callBack();

    static void inner() {
        for (int i = 0; i < 200000; i++)
            sink = sink * 31 + i;
    }

    static void outer() {
        callBack();
    }

    public static void main(String[] arguments) {
        System.load(arguments[0]);
        outer();
        System.out.println("ready");
        long end = System.nanoTime() + Long.parseLong(arguments[1]) * 1000000000L;
        while (System.nanoTime() < end)
            outer();
    }
}
