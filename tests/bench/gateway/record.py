# SPDX-License-Identifier: Apache-2.0
"""Real requests of real agents, and what an agent takes: `otelprof export` of each rate and
length of window, side by side, over the same load (load.py), into sinks that keep what came.

An agent's figures are of the time between its first request, which is of half a second, and
the last that came before it was ended:
  bytes         on the wire, gzip'ed by the agent, and as encoded
  user          CPU time of its process
  kernel        run time of its BPF programs (/proc/PID/fdinfo, kernel.bpf_stats_enabled)
"""

import math
import os
import re
import signal
import struct
import subprocess
import sys
import time

import rig

import bpf_stats  # rig says where it is

SETTLE_S = 8  # the load has begun to work


def bpf_ns(pid):
    """Run time of the programs that @pid has open."""
    return sum(int(row["run_time_ns"]) for row in bpf_stats.programs(pid))


class Agent:
    def __init__(self, args, tree, hz, window_s, path):
        self.hz, self.window_s, self.path = hz, window_s, path
        self.sink = rig.Sink(args.program, keep=path)
        self.log = open(path + ".said", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [*rig.FIRST, args.otelprof, "export", "--endpoint", "http://127.0.0.1:%d" % self.sink.port,
             "-F", str(hz), "--interval", str(window_s), "--tree", str(tree),
             "--attribute", "host.id=" + "0" * 32, "--attribute", "host.name=node-000000"],
            stdout=self.log, stderr=self.log)
        self.first = None

    def reading(self):
        return time.time_ns(), rig.cpu_ns(self.process.pid), bpf_ns(self.process.pid)

    def arrived(self):
        """[(realtime ns, raw bytes, wire bytes, samples)] of each request so far."""
        with open(self.path + ".log", encoding="ascii") as f:
            return [tuple(map(int, line.split())) for line in f if line.endswith("\n")]

    def stop(self):
        """Its figures."""
        last, rss, arrived = self.reading(), rig.memory_mb(self.process.pid)[1], self.arrived()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.sink.stop()
        self.log.close()
        return self.figures(last, rss, arrived)

    def kept(self, count):
        """Leave the requests of whole windows, from the second on, in the file."""
        with open(self.path, "rb") as f:
            data = f.read()
        whole, at = [], 0
        while at < len(data):
            length = struct.unpack(">I", data[at:at + 4])[0] + 4
            whole.append(data[at:at + length])
            at += length
        with open(self.path, "wb") as f:
            f.write(b"".join(whole[count[0]:count[1]]))

    def dropped(self):
        """Samples, as it said at its end."""
        with open(self.log.name, encoding="utf-8") as f:
            found = re.search(r"dropped (\d+)", f.read())
        return int(found[1]) if found else None

    def figures(self, last, rss, arrived):
        # Requests of one window come together.
        apart = self.window_s * 0.4e9
        begins = [i for i, row in enumerate(arrived)
                  if not i or row[0] - arrived[i - 1][0] > apart]
        if len(begins) < 2:
            raise RuntimeError("%d requests at %d Hz and %g s: see %s" % (
                len(arrived), self.hz, self.window_s, self.log.name))
        rows = arrived[begins[1]:]
        self.kept((begins[1], len(arrived)))
        seconds = (arrived[begins[-1]][0] - arrived[0][0]) / 1e9
        busy = (last[0] - self.first[0]) / 1e9
        return {"hz": self.hz, "window_s": self.window_s, "file": self.path, "rss_mb": rss,
                "seconds": seconds, "windows": len(begins) - 1, "requests": len(rows),
                "raw": sum(r[1] for r in rows), "wire": sum(r[2] for r in rows),
                "samples": sum(r[3] for r in rows), "busy_s": busy,
                "dropped": self.dropped(), "user_ns": last[1] - self.first[1], "bpf_ns": last[2] - self.first[2]}


def record(args, processes, rates, windows):
    """A list of figures, one of each rate and window, over @processes processes."""
    # As a whole the load weighs like a hundred processes, so that other work takes little: a
    # step of nice is a quarter.
    nice = -round(math.log(100 / processes) / math.log(1.25))
    load = subprocess.Popen(["nice", "-n", str(nice), sys.executable,
                             os.path.join(rig.HERE, "load.py"), str(processes)])
    agents = []
    try:
        time.sleep(SETTLE_S)
        for hz in rates:
            for window_s in windows:
                path = os.path.join(args.dir, "%d-%d-%g.requests" % (processes, hz, window_s))
                agents.append(Agent(args, load.pid, hz, window_s, path))
        deadline = time.monotonic() + 90
        for agent in agents:  # the names and tables of the load are read by then
            while not agent.arrived():
                if time.monotonic() > deadline or agent.process.poll() is not None:
                    raise RuntimeError("no request came: see %s" % agent.log.name)
                time.sleep(0.05)
            agent.first = agent.reading()
        # A window is up to a tenth longer than it was set.
        time.sleep(max(windows) * 1.1 * args.recorded_windows + 2)
        return [dict(agent.stop(), processes=processes) for agent in agents]
    finally:
        for agent in agents:
            agent.process.kill()
            agent.process.wait()
            agent.sink.process.kill()
            agent.sink.process.wait()
        load.terminate()
        load.wait()
