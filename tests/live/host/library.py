#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile by the library itself, with every field of its configuration.

    library.py LIBRARY OUTPUT OPTIONS      OPTIONS: a JSON object, see DEFAULTS

Writes each request after its length (4 bytes, big endian) to OUTPUT. Prints a JSON object:
what each step took, and what became of the samples; "error" where a call failed.
"""

import ctypes
import json
import resource
import struct
import sys
import time

DEFAULTS = {
    "seconds": 3, "hz": 199, "window": 1.0,
    "flags": 0, "procfs_root": None, "service_name": None,
    "environment": [], "pids": [],
}
COMMAND_LINE = 1 << 4
NO_HOST = 1 << 7


class Config(ctypes.Structure):
    """struct otelprof_config"""
    _fields_ = [("size", ctypes.c_size_t), ("flags", ctypes.c_uint64),
                ("runtimes_off", ctypes.c_uint64), ("memory_budget_bytes", ctypes.c_uint64),
                ("symbol_budget_bytes", ctypes.c_uint64), ("sample_rate_hz", ctypes.c_uint32),
                ("max_frames", ctypes.c_uint32), ("max_processes", ctypes.c_uint32),
                ("ring_bytes", ctypes.c_uint32), ("threads", ctypes.c_uint32),
                ("log_level", ctypes.c_uint32), ("log", ctypes.c_void_p),
                ("log_userdata", ctypes.c_void_p), ("procfs_root", ctypes.c_char_p),
                ("sysfs_root", ctypes.c_char_p), ("service_name", ctypes.c_char_p),
                ("attributes", ctypes.c_void_p), ("attributes_len", ctypes.c_size_t),
                ("environment", ctypes.POINTER(ctypes.c_char_p)),
                ("environment_len", ctypes.c_size_t)]


class Rule(ctypes.Structure):
    """struct otelprof_rule"""
    _fields_ = [("size", ctypes.c_size_t), ("kind", ctypes.c_uint32),
                ("action", ctypes.c_uint32), ("number", ctypes.c_uint64),
                ("text", ctypes.c_char_p), ("duration_ns", ctypes.c_uint64),
                ("sample_rate_hz", ctypes.c_uint32), ("keep_one_in", ctypes.c_uint32)]


class ErrorInfo(ctypes.Structure):
    """struct otelprof_error_info"""
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int32),
                ("reserved0", ctypes.c_uint32), ("message", ctypes.c_char * 512),
                ("detail", ctypes.c_char * 3072)]


EXPORT_FN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                             ctypes.c_uint64)


class Callback(ctypes.Structure):
    """struct otelprof_callback_config"""
    _fields_ = [("size", ctypes.c_size_t), ("fn", EXPORT_FN), ("userdata", ctypes.c_void_p),
                ("max_request_bytes", ctypes.c_uint64)]


class Failed(Exception):
    pass


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


def rss_kb():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * resource.getpagesize() // 1024


class Profiler:
    def __init__(self, path, options, out):
        self.lib = ctypes.CDLL(path)
        self.handle = ctypes.c_void_p()
        self.why = ErrorInfo(size=ctypes.sizeof(ErrorInfo))
        self.out = out
        self.requests = 0
        self.options = options
        names = [n.encode() for n in options["environment"]]
        self.config = Config(size=ctypes.sizeof(Config), flags=options["flags"],
                             sample_rate_hz=options["hz"])
        for key in ("procfs_root", "service_name"):
            if options[key] is not None:
                setattr(self.config, key, options[key].encode())
        if names:
            self.config.environment = (ctypes.c_char_p * len(names))(*names)
            self.config.environment_len = len(names)
        self.callback = Callback(size=ctypes.sizeof(Callback), fn=EXPORT_FN(self.take))

    def take(self, _, data, length, __):
        self.out.write(struct.pack(">I", length) + ctypes.string_at(data, length))
        self.requests += 1
        return 0

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status < 0:
            why = ErrorInfo(size=ctypes.sizeof(ErrorInfo))
            if self.handle:
                self.lib.otelprof_last_error(self.handle, ctypes.byref(why))
            else:
                why.message = self.why.message
            raise Failed("%s: %s" % (name, (why.message or b"%d" % status).decode()))
        return status

    def timed(self, times, name, *args):
        start, before = time.monotonic(), cpu()
        self.call(name, *args)
        after = cpu()
        times[name] = {"seconds": time.monotonic() - start, "user": after[0] - before[0],
                       "system": after[1] - before[1]}

    def filter(self):
        pids = self.options["pids"]
        if pids:
            rules = (Rule * len(pids))(*[Rule(size=ctypes.sizeof(Rule), kind=1, number=p)
                                         for p in pids])
            self.call("otelprof_set_rules", self.handle, rules, len(pids))

    def run(self):
        result = {"windows": [], "rss_before_kb": rss_kb()}
        self.timed(result, "otelprof_init", ctypes.byref(self.config),
                   ctypes.byref(self.why), ctypes.byref(self.handle))
        self.call("otelprof_exporter_callback", self.handle, ctypes.byref(self.callback))
        self.filter()
        self.timed(result, "otelprof_start", self.handle)
        print("started", flush=True)
        end = time.monotonic() + self.options["seconds"]
        while time.monotonic() < end:
            result["windows"].append(self.window(min(end, time.monotonic() +
                                                     self.options["window"])))
        result["rss_kb"] = rss_kb()
        self.call("otelprof_stop", self.handle)
        self.call("otelprof_export", self.handle)
        self.call("otelprof_flush", self.handle, 10000)
        self.lib.otelprof_free(self.handle)
        result["max_rss_kb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result["requests"] = self.requests
        return result

    def window(self, end):
        before = cpu()
        while (left := end - time.monotonic()) > 0:
            self.call("otelprof_poll", self.handle, max(1, int(left * 1000)))
        samples = self.call("otelprof_export", self.handle)
        after = cpu()
        return {"samples": samples, "user": after[0] - before[0],
                "system": after[1] - before[1]}


def main():
    library, output, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    unknown = set(options) - set(DEFAULTS)
    if unknown:
        sys.exit("library.py: no such option: %s" % ", ".join(unknown))
    with open(output, "wb") as out:
        try:
            result = Profiler(library, {**DEFAULTS, **options}, out).run()
        except Failed as e:
            result = {"error": str(e)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
