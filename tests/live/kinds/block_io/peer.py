#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time in the queue and in the device against bpftrace, which looks at the requests of the same
device at the same time.

    peer.py --otelprof PROGRAM

Threads read a loop device past the page cache that has room for four requests at a time. Needs
root, bpftrace and a loop device; exits 77 where it has not.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = str(HERE.parents[1] / "framework"), str(HERE.parents[2] / "harness")
import otlp  # noqa: E402
import suite  # noqa: E402
import tracer  # noqa: E402

WITHIN = 0.03  # bpftrace's sums are of several CPUs, and not atomic
DEVICE_BYTES = 64 << 20
SECONDS = 60
LONG = 600  # of a recording that is ended when the reads are done

LOAD = r"""
import mmap, os, sys, threading
path, count, size = sys.argv[1], 1500, 65536
def read(first):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    page = mmap.mmap(-1, size)
    for i in range(count):
        os.preadv(fd, [page], (first + i % 50) * size)
def run():
    threads = [threading.Thread(target=read, args=(i * 60,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
run()
print("warm", flush=True)
sys.stdin.readline()
run()
print("done", flush=True)
sys.stdin.readline()
"""

# A read is known by its sector: each thread has its own ones. The device's number is that of the
# kernel, with 20 bits for the minor one.
PROBES = """
tracepoint:block:block_bio_queue /args->dev == DEV/ { @q[args->sector] = nsecs; }
tracepoint:block:block_rq_issue /args->dev == DEV && @q[args->sector]/ {
	@issued[args->sector] = nsecs; @wait = @wait + nsecs - @q[args->sector];
	delete(@q[args->sector]); @n = @n + 1;
}
tracepoint:block:block_rq_complete /args->dev == DEV && @issued[args->sector]/ {
	@work = @work + nsecs - @issued[args->sector]; delete(@issued[args->sector]);
}
END { clear(@q); clear(@issued); printf("n %lu wait %lu work %lu\\n", @n, @wait, @work);
      clear(@n); clear(@wait); clear(@work); }
"""


def loop_device(directory):
    path = directory / "device"
    path.write_bytes(b"x" * DEVICE_BYTES)
    got = subprocess.run(["losetup", "--find", "--show", path], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False)
    return got.stdout.strip()


def count(device):
    """bpftrace, once it counts."""
    number = os.stat(device).st_rdev
    return tracer.begin(PROBES.replace("DEV",
                                       str(os.major(number) << 20 | os.minor(number))))


def profiled(path, device):
    """What the recording says: requests, time in the queue, time in the device."""
    capture = otlp.read_file(path)
    if capture.violations:
        raise RuntimeError("; ".join(capture.violations))
    sums = {}
    for s in capture.samples:
        if s.attributes.get("system.device") == os.path.basename(device):
            sums[s.sample_type] = sums.get(s.sample_type, 0) + sum(s.values)
    both = sums["block_io_queue", "nanoseconds"] + sums["block_io_service", "nanoseconds"]
    if both != sums["block_io", "nanoseconds"]:
        raise RuntimeError("%d ns in queue and device of %d" % (both, sums["block_io",
                                                                          "nanoseconds"]))
    return [sums["block_io", "count"], sums["block_io_queue", "nanoseconds"],
            sums["block_io_service", "nanoseconds"]]


def measure(otelprof, device, recording):
    target = subprocess.Popen([sys.executable, "-c", LOAD, device], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    counter = None
    try:
        target.stdout.readline()
        # The recorder's programs are the first of each tracepoint. If they came second, the walk
        # of the stack would be in bpftrace's time in the queue.
        recorder = subprocess.Popen([otelprof, "record", "-q", "--kinds", "block_io", "-d",
                                     str(LONG), "-p", str(target.pid), "-o", recording])
        time.sleep(5)
        counter = count(device)
        target.stdin.write("go\n")
        target.stdin.flush()
        target.stdout.readline()
        recorder.send_signal(2)
        recorder.wait(SECONDS)
        return (tracer.end(counter, r"n (\d+) wait (\d+) work (\d+)"),
                profiled(recording, device))
    finally:
        suite.stop([p for p in (counter, target) if p])


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--otelprof", type=os.path.abspath, required=True)
    otelprof = args.parse_args().otelprof
    if os.geteuid() != 0 or not shutil.which("bpftrace"):
        print("SKIP: root and bpftrace are needed")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        device = loop_device(directory)
        if not device:
            print("SKIP: no loop device here")
            return 77
        requests = pathlib.Path("/sys/block", os.path.basename(device), "queue/nr_requests")
        before = requests.read_text(encoding="ascii")
        try:
            requests.write_text("4", encoding="ascii")
            want, got = measure(otelprof, device, directory / "recording.otlp")
        finally:
            requests.write_text(before, encoding="ascii")
            subprocess.run(["losetup", "-d", device], check=False)
    ok = True
    for what, w, g in zip(("requests", "ns in the queue", "ns in the device"), want, got):
        print("  %d %s, bpftrace %d: %+.2f %%" % (g, what, w, 100 * (g / w - 1)))
        ok = ok and abs(g / w - 1) <= WITHIN
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
