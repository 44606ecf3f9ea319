# SPDX-License-Identifier: Apache-2.0
"""Datadog through a Collector: the configuration of docs/backends/datadog.md in a real one, with an
endpoint of ours in place of the intake, which nobody may use without an account."""

import glob
import os
import re
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import check
import otlp
import peers
import receivers
import suite

PAGE = os.path.join(HERE, "..", "..", "..", "docs", "backends", "datadog.md")
RECEIVER = os.path.join(HERE, "..", "..", "harness", "receiver.py")
PROGRAM = "collector/0.159.0/otelcol-test"
KEY = "0123456789abcdef"
# Of each request, as receiver.py tells of it.
WANTED = (' path=/v1development/profiles ', 'dd-api-key="%s"' % KEY, 'content-encoding="zstd"',
          'content-type="application/x-protobuf"')


class Intake:
    """receiver.py, which keeps what comes, without compression, and tells of its headers."""

    def __init__(self, folder):
        self.folder = suite.fresh_folder(folder)
        self.process = subprocess.Popen(
            [sys.executable, RECEIVER, "--keep", self.folder, "0", "-", "-", "-", "ok"],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])

    def end(self):
        """(lines of what came, the capture)"""
        self.process.terminate()
        lines = self.process.communicate(timeout=30)[0].splitlines()
        paths = sorted(glob.glob(self.folder + "/*.bin"), key=lambda p: int(
            re.search(r"(\d+)\.bin$", p)[1]))
        data = b""
        for path in paths:
            with open(path, "rb") as f:
                body = f.read()
            data += len(body).to_bytes(4, "big") + body
        return lines, otlp.read_framed(data)


def configuration(port, intake):
    """As the page has it, but for where the intake is, and with a receiver."""
    with open(PAGE, encoding="utf-8") as f:
        block = re.search(r"```yaml\n(.*?)```", f.read(), re.S)[1]
    config = yaml.safe_load(block)
    (name, exporter), = config["exporters"].items()
    url, count = re.subn(r"^https://intake[^/]*", "http://127.0.0.1:%d" % intake,
                         exporter["profiles_endpoint"])
    if count != 1:
        raise RuntimeError("the page has another address: " + exporter["profiles_endpoint"])
    exporter["profiles_endpoint"] = url
    config["receivers"] = {"otlp": {"protocols": {"grpc": {"endpoint": "127.0.0.1:%d" % port}}}}
    config["service"] = {"telemetry": {"metrics": {"level": "none"}}, "pipelines": {
        "profiles": {"receivers": ["otlp"], "exporters": [name]}}}
    return config


class Collector(receivers.Receiver):
    def __init__(self, run, program, intake):
        path = run.path("datadog.yaml")

        def make_command(port):
            with open(path, "w", encoding="utf-8") as f:
                yaml.safe_dump(configuration(port, intake), f)
            return [program, "--config", path, "--feature-gates=service.profilesSupport"]

        os.environ["DD_API_KEY"] = KEY
        super().__init__(run, "datadog", make_command)


def cell(run, name, start_programs, arguments):
    """@start_programs: folder → {name: (process, path)}; @arguments: of otelprof export."""
    program = os.path.join(peers.cache(), PROGRAM)
    if not os.access(program, os.X_OK):
        raise suite.Skip("no Collector in the cache (tests/system/e2e/build-collector.sh makes it)")
    intake = Intake(run.path("datadog-intake"))
    programs = start_programs(run.args.dir)
    try:
        with Collector(run, program, intake.port) as collector:
            done = subprocess.run(
                [run.args.otelprof, "export", "--endpoint", "http://127.0.0.1:%d" % collector.port,
                 "--attribute", "profiler_name=otelprof", *arguments,
                 *(word for process, _ in programs.values() for word in ("-p", str(process.pid)))],
                capture_output=True, text=True, timeout=120, check=False)
    finally:
        suite.stop([process for process, _ in programs.values()])
        lines, capture = intake.end()
    result = check.Result()
    exported = re.search(r"exported (\d+)", done.stdout + done.stderr)
    arrived = sum(s.count for s in capture.samples)
    result.need(done.returncode == 0 and exported and int(exported[1]) == arrived > 0,
                "%d samples through a Collector, all there" % arrived if exported else
                done.stderr[-300:])
    for line in lines:
        missing = [text for text in WANTED if text not in line]
        if missing:
            result.problems.append("a request without %s: %s" % (missing, line))
    result.need(bool(lines), "%d requests with the key, as zstd" % len(lines))
    names = {s.resource.get("profiler_name") for s in capture.samples}
    result.need(names == {"otelprof"}, "profiler_name is %s" % names)
    run.judge(name, result)
