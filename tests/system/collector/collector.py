#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pipelines of Collectors that are built with the receiver. Called by run.sh.

    collector.py --dir DIR --configs DIR --collector PROGRAM... [CELL...]

Each Collector profiles a program of known stacks into a file and into the OTLP receivers of
Collectors that are as new or newer, whose files are read too; then into one that comes late.
"""

import os
import re
import subprocess
import sys
import urllib.request
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "live", "framework"), os.path.join(HERE, "..", "e2e")]
import cells
import check
import otlp
import suite
from e2e import WORK_S, version_of, wait_for_work
from ports import free_port, wait_for_port

GATE = "--feature-gates=service.profilesSupport"
ATTRIBUTES = {"deployment.environment.name": "test", "empty": "",
              "process.environment_variable.OTELPROF_TEST": "its own"}
CELL = cells.replace(cells.CELLS["c-gcc"], leaf_points=None, min_samples=200)

AGENT = """
receivers:
  otelprof:
    sample_rate_hz: 199
    report_interval: 1s
    stats_interval: 200ms
    rules: ["include pid:%(pid)d"]
    attributes: {deployment.environment.name: test, empty: ""}
    environment: [OTELPROF_TEST]
exporters:
  file:
    path: %(out)s
    format: proto
%(exporters)s
service:
  telemetry:
    metrics:
      readers:
        - pull: {exporter: {prometheus: {host: 127.0.0.1, port: %(metrics)d}}}
  pipelines:
    profiles:
      receivers: [otelprof]
      exporters: [file, %(names)s]
"""

OTLP = """
  otlp_grpc/%(name)s:
    endpoint: 127.0.0.1:%(port)d
    tls: {insecure: true}
    sending_queue: {queue_size: 1000}
"""

# Nothing stands between the receiver and the gateway that would keep what fails.
DIRECT = """
  otlp_grpc/%(name)s:
    endpoint: 127.0.0.1:%(port)d
    tls: {insecure: true}
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
"""
RETRY = """
    retry_on_failure: {initial_interval: 100ms, max_interval: 500ms}"""

GATEWAY = """
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 127.0.0.1:%(port)d
exporters:
  file:
    path: %(out)s
    format: proto
service:
  telemetry:
    metrics: {level: none}
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [file]
"""


def key_of(version):
    return [int(n) for n in version.split(".")]


class Server:
    """A Collector that runs."""

    def __init__(self, run, program, name, config):
        self.log = run.path(name + ".log")
        path = run.path(name + ".yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(config)
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([program, "--config", path, GATE], stdout=log,
                                            stderr=log)

    def wait(self, port):
        wait_for_port(port, self.process, self.log, 60)

    def end(self):
        """Ask it to end. Returns what it printed."""
        suite.end(self.process)
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()


class Collectors(suite.Run):
    suite = "collector"


def check_resource(capture, pid):
    """What the receiver and the library say of the process came through, keys and values."""
    result = check.Result()
    want = dict(ATTRIBUTES)
    want["process.pid"] = pid
    want["process.executable.name"] = "c-gcc"
    wrong = {}
    for sample in capture.samples:
        for key, value in want.items():
            if sample.resource.get(key) != value:
                wrong[key] = sample.resource.get(key)
        for key in sample.resource:
            if not key:
                wrong[key] = "an attribute without a key"
    result.need(not wrong and capture.samples, "resources are whole; wrong: %s" % wrong)
    return result


def check_tables(capture):
    """The format's rules but one: an exporter's string table may hold what nobody uses."""
    result = check.Result()
    for violation in capture.violations:
        if "string_table has entries that nothing uses" not in violation:
            result.need(False, "rule broken: " + violation)
    return result


def check_metrics(text):
    """The Collector's own metrics of the receiver are there and sum up."""
    result = check.Result()
    sums, labels = {}, {}
    for line in text.splitlines():
        match = re.match(r"otelprof_([a-z_]+)(?:{(.*)})? ([0-9.e+]+)$", line)
        if match:
            name = match.group(1)
            sums[name] = sums.get(name, 0) + int(float(match.group(3)))
            label = re.search(r'(?:reason|end)="(\w+)"', match.group(2) or "")
            labels.setdefault(name, set()).add(label.group(1) if label else "")
    taken = sums.get("samples_taken", 0)
    parts = [sums.get("samples_" + part, 0)
             for part in ("exported", "filtered", "dropped", "pending")]
    result.need(taken > 0 and taken == sum(parts), "metrics: taken %d = %s" %
                (taken, " + ".join(map(str, parts))))
    result.need(parts[0] > 0, "metrics: exported %d" % parts[0])
    result.need({"ring", "queue", "refused"} <= labels.get("samples_dropped", set()),
                "metrics: reasons of drops: %s" % labels.get("samples_dropped"))
    result.need(labels.get("stacks") == {"complete", "truncated", "broken"},
                "metrics: ends of stacks: %s" % labels.get("stacks"))
    result.need(sums.get("arena_limit") == 64 << 20, "metrics: arena_limit %s" %
                sums.get("arena_limit"))
    for name in ("processes", "arena_usage", "requests", "requests_size", "symbols_usage"):
        result.need(sums.get(name, 0) > 0, "metrics: %s" % name)
    return result


def check_maps(pid):
    result = check.Result()
    with open("/proc/%d/maps" % pid, encoding="utf-8") as f:
        maps = f.read()
    result.need("libotelprof.so" in maps, "libotelprof is in the Collector")
    result.need("libgrpc" not in maps, "gRPC's C library is not")
    return result


def start_target(path):
    own = ATTRIBUTES["process.environment_variable.OTELPROF_TEST"]
    return suite.start(path, suite.LONG, env={**os.environ, "OTELPROF_TEST": own})


def pipeline(run, _, collector):
    """@collector profiles into a file and into gateways."""
    version = version_of(collector)
    gateways = [g for g in run.args.collector if key_of(version_of(g)) >= key_of(version)]
    target = start_target(run.program("c-gcc"))
    servers, outs = [], {}
    try:
        exporters, names = "", []
        for gateway in gateways:
            name = "wire-%s-%s" % (version, version_of(gateway))
            port = free_port()
            outs[name] = run.fresh(name + ".otlp")
            servers.append(Server(run, gateway, name,
                                  GATEWAY % {"port": port, "out": outs[name]}))
            servers[-1].wait(port)
            exporters += OTLP % {"name": name, "port": port}
            names.append("otlp_grpc/" + name)
        name = "receiver-" + version
        outs[name] = run.fresh(name + ".otlp")
        port = free_port()
        server = Server(run, collector, name, AGENT % {
            "pid": target.pid, "out": outs[name], "metrics": port, "exporters": exporters,
            "names": ", ".join(names)})
        servers.append(server)
        server.wait(port)
        if not wait_for_work(target.pid, server.process):
            raise RuntimeError("ended, or its target never ran: " + server.log)
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=10) as r:
            metrics = r.read().decode()
        with open(run.path(name + ".metrics"), "w", encoding="utf-8") as f:
            f.write(metrics)
        maps = check_maps(server.process.pid)
        text = server.end()
    finally:
        for server in servers:
            server.end()
        suite.stop([target])
    for name, out in outs.items():
        capture = otlp.read_file(out)
        results = [check.check_chain(capture, CELL, target.pid),
                   check.check_accounting(text, capture), check_resource(capture, target.pid),
                   check_tables(capture)]
        if name.startswith("receiver"):
            results += [check_metrics(metrics), maps]
        run.judge(name, *results)


def outage(run, name, collector):
    """The gateway is not there at first: the receiver keeps what fails and tries again."""
    target = start_target(run.program("c-gcc"))
    port, metrics = free_port(), free_port()
    out = run.fresh(name + ".otlp")
    servers = []
    try:
        config = AGENT.replace("\n    sample_rate_hz", RETRY + "\n    sample_rate_hz")
        config = re.sub(r"  file:\n.*\n.*\n", "", config).replace("[file, ", "[")
        agent = Server(run, collector, name, config % {
            "pid": target.pid, "metrics": metrics,
            "exporters": DIRECT % {"name": name, "port": port}, "names": "otlp_grpc/" + name})
        servers.append(agent)
        agent.wait(metrics)
        if not wait_for_work(target.pid, agent.process):
            raise RuntimeError("did not work: " + agent.log)
        servers.append(Server(run, collector, name + "-gateway",
                              GATEWAY % {"port": port, "out": out}))
        servers[1].wait(port)
        if not wait_for_work(target.pid, agent.process):
            raise RuntimeError("did not go on working: " + agent.log)
        text = agent.end()
    finally:
        for server in servers:
            server.end()
        suite.stop([target])
    capture = otlp.read_file(out)
    result = check.Result()
    result.need(not re.search(r", (queue|refused|given_up|exporter) \d", text),
                "the receiver lost nothing: %s" % check.accounting(text))
    spans = [t for sample in capture.samples for t in sample.timestamps]
    result.need(spans and max(spans) - min(spans) > 1.5 * WORK_S * 1e9,
                "samples from before the gateway was there too")
    run.judge(name, result, check.check_accounting(text, capture),
              check_resource(capture, target.pid))


def validate(run, name, collector):
    """The configurations of the example are good."""
    result = check.Result()
    environment = dict(os.environ, GATEWAY="localhost:4317", BACKEND="http://localhost:4317",
                       NODE_NAME="node")
    for file in ("agent.yaml", "gateway.yaml", "try.yaml"):
        done = subprocess.run([collector, "validate", GATE, "--config",
                               os.path.join(run.args.configs, file)], env=environment,
                              capture_output=True, text=True, timeout=60)
        result.need(done.returncode == 0, "%s is valid %s" % (file, done.stderr.strip()[-300:]))
    config = run.path("wrong.yaml")
    with open(config, "w", encoding="utf-8") as f:
        f.write((AGENT % {"pid": 1, "out": "x", "metrics": 1, "exporters": "", "names": ""})
                .replace("sample_rate_hz: 199", "samples_per_second: 0"))
    done = subprocess.run([collector, "validate", GATE, "--config", config],
                          capture_output=True, text=True, timeout=60)
    said = 'sample_rate_hz is "0" and must be a number from 1 to 1000' in done.stderr + done.stdout
    result.need(done.returncode != 0 and said, "a rate of 0 is refused in words %s" %
                (done.stderr + done.stdout)[-300:])
    run.judge(name, result)


def main():
    parser = suite.parser("configs")
    parser.add_argument("--collector", action="append", default=[])
    run = Collectors(parser.parse_args())
    return run.cells({"%s-%s" % (cell.__name__, version_of(collector)):
                      partial(cell, collector=collector)
                      for collector in run.args.collector for cell in (validate, pipeline, outage)})


if __name__ == "__main__":
    sys.exit(main())
