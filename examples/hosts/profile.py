#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profiler in a Python program, by ctypes: profiles this host for the seconds given (3),
takes the requests as bytes and tells what became of the samples.

The library is looked for as libotelprof.so.0, or where OTELPROF_LIBRARY says.
"""
import ctypes
import os
import sys
import time

P = ctypes.c_void_p
REQUEST_FN = ctypes.CFUNCTYPE(ctypes.c_int, P, P, ctypes.c_size_t, ctypes.c_uint64)
DROP_FN = ctypes.CFUNCTYPE(None, P, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64)


class ErrorInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int32),
                ("reserved0", ctypes.c_uint32), ("message", ctypes.c_char * 512),
                ("detail", ctypes.c_char * 3072)]


class CallbackConfig(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("fn", REQUEST_FN), ("userdata", P),
                ("max_request_bytes", ctypes.c_uint64)]


class Config(ctypes.Structure):
    """The first fields of struct otelprof_config. Its size says how many there are, so a
    program needs no more of them than it sets; those of version 0.1 are the least."""
    _fields_ = [("size", ctypes.c_size_t), ("flags", ctypes.c_uint64),
                ("runtimes_off", ctypes.c_uint64), ("memory_budget_bytes", ctypes.c_uint64),
                ("symbol_budget_bytes", ctypes.c_uint64), ("sample_rate_hz", ctypes.c_uint32),
                ("max_frames", ctypes.c_uint32), ("max_processes", ctypes.c_uint32),
                ("ring_bytes", ctypes.c_uint32), ("threads", ctypes.c_uint32),
                ("log_level", ctypes.c_uint32), ("log", P), ("log_userdata", P),
                ("procfs_root", ctypes.c_char_p), ("sysfs_root", ctypes.c_char_p),
                ("service_name", ctypes.c_char_p), ("attributes", P),
                ("attributes_len", ctypes.c_size_t)]


class Profiler:
    """One profiler, for a with statement."""

    def __init__(self, rate_hz, on_request):
        self.lib = ctypes.CDLL(os.environ.get("OTELPROF_LIBRARY", "libotelprof.so.0"))
        self.lib.otelprof_free.argtypes = [P]
        self.lib.otelprof_free.restype = P
        self.lib.otelprof_strerror.restype = ctypes.c_char_p
        self.handle = P()
        config = Config()
        self.lib.otelprof_config_init(ctypes.byref(config),
                                      ctypes.c_size_t(ctypes.sizeof(config)))
        config.sample_rate_hz = rate_hz
        # A thread of the library does the work, so that Python's lock is free for the
        # program.
        config.threads = 1
        why = ErrorInfo(size=ctypes.sizeof(ErrorInfo))
        if self.lib.otelprof_init(ctypes.byref(config), ctypes.byref(why),
                                  ctypes.byref(self.handle)) < 0:
            raise OSError(why.message.decode())
        # ctypes keeps no reference: without this one Python would free the function.
        self.take = REQUEST_FN(
            lambda _, data, length, samples: on_request(ctypes.string_at(data, length),
                                                        samples))
        self.call("otelprof_exporter_callback",
                  ctypes.byref(CallbackConfig(size=ctypes.sizeof(CallbackConfig),
                                              fn=self.take)))

    def __enter__(self):
        self.call("otelprof_start")
        return self

    def __exit__(self, *_):
        self.handle = P(self.lib.otelprof_free(self.handle))

    def call(self, name, *args):
        result = getattr(self.lib, name)(self.handle, *args)
        if result < 0:
            why = ErrorInfo(size=ctypes.sizeof(ErrorInfo))
            self.lib.otelprof_last_error(self.handle, ctypes.byref(why))
            text = why.message if why.code == result else self.lib.otelprof_strerror(result)
            raise OSError(f"{name}: {text.decode()}")
        return result

    def drops(self):
        found = {}
        take = DROP_FN(lambda _, name, __, count: found.update({name.decode(): count}))
        self.call("otelprof_drops", take, None)
        return {name: count for name, count in found.items() if count}


def main(seconds):
    def on_request(request, samples):
        print(f"request of {len(request)} bytes with {samples} samples", flush=True)
        return 0

    with Profiler(99, on_request) as profiler:
        time.sleep(seconds)
        profiler.call("otelprof_stop")
        samples = profiler.call("otelprof_export")
        print(f"{samples} samples, dropped {profiler.drops() or 'none'}")
    return 0 if samples else 1


if __name__ == "__main__":
    try:
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 3))
    except OSError as e:
        sys.exit(str(e))
