# SPDX-License-Identifier: Apache-2.0
"""Runs known.wat in wasmtime, which writes a perf map or a jitdump file.

    wasm_host.py known.wat perfmap|jitdump SECONDS

The leaves take 50, 30 and 20 % of the thread's CPU time: each works up to a point of that clock
that was fixed beforehand, so that errors do not add up. Prints "ready PID".
"""
import os
import sys
import time

import wasmtime

STRATEGIES = {"jitdump": 1, "perfmap": 3}  # wasmtime/config.h of the C API
SLOTS_NS = (50000000, 30000000, 20000000)


def now():
    return time.thread_time_ns()


def make(path, strategy):
    """f4 of the module, and the store that it runs in."""
    config = wasmtime.Config()
    # The Python package itself knows the jitdump file alone.
    wasmtime._ffi.wasmtime_config_profiler_set(config.ptr(), STRATEGIES[strategy])
    engine = wasmtime.Engine(config)
    store = wasmtime.Store(engine)
    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    known = {}

    def again(which, until):
        known["f2"](store, which, until)

    linker = wasmtime.Linker(engine)
    linker.define_func("host", "now", wasmtime.FuncType([], [i64]), now)
    linker.define_func("host", "again", wasmtime.FuncType([i32, i64], []), again)
    instance = linker.instantiate(store, wasmtime.Module.from_file(engine, path))
    known["f2"] = instance.exports(store)["f2"]
    return store, instance.exports(store)["f4"]


def run(store, f4, seconds):
    end = time.monotonic() + seconds
    until = now()
    while time.monotonic() < end:
        for which, slot in enumerate(SLOTS_NS):
            until += slot
            f4(store, which, until)


def main():
    store, f4 = make(sys.argv[1], sys.argv[2])
    print("ready", os.getpid(), flush=True)
    run(store, f4, float(sys.argv[3]))


main()
