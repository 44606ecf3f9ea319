// SPDX-License-Identifier: Apache-2.0
const std = @import("std");

noinline fn fib(n: u64) u64 {
    return if (n < 2) n else fib(n - 1) + fib(n - 2);
}

noinline fn counts(gpa: std.mem.Allocator, n: u64) !u64 {
    var t = std.AutoHashMap(u64, u64).init(gpa);
    defer t.deinit();
    var i: u64 = 0;
    while (i < n) : (i += 1) try t.put(i * 7919 % 997, i);
    return t.count();
}

noinline fn sorted(gpa: std.mem.Allocator, n: u64) !u64 {
    const a = try gpa.alloc(u64, n);
    defer gpa.free(a);
    for (a, 0..) |*x, i| x.* = i * 7919 % 10007;
    std.mem.sort(u64, a, {}, std.sort.desc(u64));
    return a[0];
}

pub fn main() !void {
    var sum: u64 = 0;
    while (true) {
        sum ^= fib(25) ^ try counts(std.heap.page_allocator, 20000);
        sum ^= try sorted(std.heap.page_allocator, 20000);
        std.mem.doNotOptimizeAway(sum);
    }
}
