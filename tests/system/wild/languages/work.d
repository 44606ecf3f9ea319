// SPDX-License-Identifier: Apache-2.0
import std.algorithm, std.array, std.conv, std.range;
import core.thread : Fiber;

long fib(int n) { pragma(inline, false); return n < 2 ? n : fib(n - 1) + fib(n - 2); }

size_t counts(int n)
{
    pragma(inline, false);
    int[string] t;
    foreach (i; 0 .. n)
        t["k" ~ to!string(i % 997)]++;
    return t.length;
}

long thrown(int n)
{
    pragma(inline, false);
    long s;
    foreach (i; 0 .. n)
        try
            s += to!int(i % 3 ? to!string(i) : "x");
        catch (ConvException e)
            s++;
    return s;
}

void fibers()
{
    long s;
    auto f = new Fiber({ foreach (i; 0 .. 50) { s += fib(15); Fiber.yield(); } });
    while (f.state != Fiber.State.TERM)
        f.call();
}

void main()
{
    for (;;) {
        fib(25), counts(20_000), thrown(300), fibers();
        iota(20_000).map!(i => i * 7919 % 10_007).array.sort!((a, b) => a > b);
    }
}
