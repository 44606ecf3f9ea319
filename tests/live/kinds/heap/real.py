#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody here wrote, under the sampler: what the profile says was allocated, and is
in use at the end, against every call of the allocator counted by bpftrace at the same time.

    real.py --build DIR

Needs root, bpftrace, and of python3 and sqlite3 what is to be tested; exits 77 where it has
nothing to run with.
"""
import argparse
import os
import pathlib
import re
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

INTERVAL = 1024
WITHIN = 0.05  # of the bytes; what is in use is estimated from some 7,000 samples
SECONDS = 90

PYTHON = r"""
import sys
sys.stdin.readline()
kept = []
for i in range(60):
    rows = [{"key": "k%d" % (i * 1000 + j), "value": [j] * (j % 20), "text": "x" * (j % 300)}
            for j in range(1000)]
    kept.append(rows[: 400 if i % 2 else 50])
print("done", flush=True)
sys.stdin.readline()
"""

SQL = """create table t(a integer primary key, b text, c blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
  insert into t select i, 'row ' || i, randomblob(i % 200) from n;
create index x on t(b);
select count(*) from (select substr(b, 1, 6) as p, count(*) from t group by p);
delete from t where a % 3 = 0;
"""

# Of the C library alone: what it calls inside is not seen by these, nor by the sampler.
PROBES = """
uprobe:LIBC:malloc /pid == PID/ { @n[tid] = arg0; }
uprobe:LIBC:calloc /pid == PID/ { @n[tid] = arg0 * arg1; }
uprobe:LIBC:realloc /pid == PID/ {
	@n[tid] = arg1;
	if (arg0 != 0) { @live = @live - @size[arg0]; delete(@size[arg0]); }
}
uretprobe:LIBC:malloc, uretprobe:LIBC:calloc, uretprobe:LIBC:realloc /pid == PID && @n[tid]/ {
	@all = @all + @n[tid]; @live = @live + @n[tid]; @size[retval] = @n[tid]; delete(@n[tid]);
}
uprobe:LIBC:free /pid == PID && arg0 != 0/ {
	@live = @live - @size[arg0]; delete(@size[arg0]);
}
END { clear(@n); clear(@size); printf("all %lu live %lu\\n", @all, @live); clear(@all); clear(@live); }
"""


def libc_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        found = re.search(r"(/\S*/libc\.so\.6)$", line)
        if found:
            return found.group(1)
    return None


def count(pid):
    """bpftrace, once it counts."""
    return tracer.begin(PROBES.replace("LIBC", libc_of(pid)).replace("PID", str(pid)),
                        BPFTRACE_MAP_KEYS_MAX="2000000")


def profiled(path, pid):
    """What the recording says: allocated in all, and in use in its last window."""
    capture = otlp.read_file(path)
    if capture.violations:
        raise RuntimeError("; ".join(capture.violations))
    allocated = in_use = 0
    last = 0
    for sample in capture.samples:
        if sample.pid != pid:
            raise RuntimeError("a sample of another process")
        if sample.sample_type == ("alloc_space", "bytes"):
            allocated += sample.values[0]
        if sample.sample_type == ("inuse_space", "bytes"):
            last = max(last, sample.window)
    for sample in capture.samples:
        if sample.sample_type == ("inuse_space", "bytes") and sample.window == last:
            in_use += sample.values[0]
    return allocated, in_use


def run(name, command, begin, build, directory, environment):
    sampler = build / "lib/preload/heap/libotelprof-heap.so"
    env = dict(os.environ, LD_PRELOAD=str(sampler), OTELPROF_HEAP_INTERVAL=str(INTERVAL),
               **environment)
    recording = directory / (name + ".otlp")
    target = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=env)
    counter = None
    try:
        time.sleep(0.5)
        counter = count(target.pid)
        recorder = subprocess.Popen([build / "examples/otelprof/otelprof", "record", "--kinds",
                                     "heap", "-d", "300", "-p", str(target.pid),
                                     "-o", recording],
                                    stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        target.stdin.write(begin)
        target.stdin.flush()
        line = target.stdout.readline()
        while line and "done" not in line:
            line = target.stdout.readline()
        time.sleep(1)
        recorder.send_signal(2)
        said = recorder.communicate(timeout=SECONDS)[1]
        want = tracer.end(counter, r"all (\d+) live (\d+)")
    finally:
        suite.stop([p for p in (counter, target) if p])
    if "dropped" in said:
        print(said)
    got = profiled(recording, target.pid)
    ok = True
    for what, w, g in zip(("allocated", "in use"), want, got):
        off = (g - w) / w if w else 0
        print(f"  {name}: {what} {w} bytes, the profile says {g}: {100 * off:+.2f} %")
        ok = ok and abs(off) <= WITHIN
    return ok


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", type=pathlib.Path, required=True)
    build = args.parse_args().build.resolve()
    if os.geteuid() != 0 or not shutil.which("bpftrace"):
        print("SKIP: root and bpftrace are needed")
        return 77
    ok = True
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        ok = run("python3", [shutil.which("python3", path="/usr/bin") or "python3", "-c", PYTHON],
                 "go\n", build, directory, {"PYTHONMALLOC": "malloc"})
        if shutil.which("sqlite3"):
            ok = run("sqlite3", ["sqlite3", ":memory:"], SQL + ".print done\n", build,
                     directory, {}) and ok
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
