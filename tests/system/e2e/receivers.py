# SPDX-License-Identifier: Apache-2.0
"""Who receives what otelprof export sends: a real Collector, and otelprof's own sink."""

import glob
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "live", "framework"))
import otlp  # noqa: E402
import suite  # noqa: E402
from ports import free_port, wait_for_port  # noqa: E402

END_S = 30

CONFIG = """
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 127.0.0.1:%(port)d
exporters:
  file:
    path: %(out)s
    format: proto
  debug:
    verbosity: basic
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [file, debug]
"""


class Receiver:
    """A process that listens on a port of its own while the "with" block runs."""

    def __init__(self, run, name, make_command):
        self.port = free_port()
        self.status = None
        with open(run.path(name + ".log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(make_command(self.port), stdout=log, stderr=log)
            try:
                wait_for_port(self.port, self.process, log.name)
            except BaseException:
                self.process.kill()
                self.process.wait()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.status = suite.end(self.process, END_S, signal.SIGTERM)


class Collector(Receiver):
    """One whose file exporter writes what it took."""

    def __init__(self, run, name, program):
        self.out = run.fresh(name + ".otlp")
        config = run.path(name + ".yaml")

        def make_command(port):
            with open(config, "w", encoding="utf-8") as f:
                f.write(CONFIG % {"port": port, "out": self.out})
            return [program, "--config", config, "--feature-gates=service.profilesSupport"]

        super().__init__(run, name, make_command)

    def capture(self):
        return otlp.read_file(self.out)


class Sink(Receiver):
    """otelprof sink, which keeps each request as it came."""

    def __init__(self, run, name):
        self.folder = suite.fresh_folder(run.path(name))
        super().__init__(run, name, lambda port: [
            run.args.otelprof, "sink", "--listen", "127.0.0.1:%d" % port, "--dir", self.folder])

    def requests(self):
        for path in sorted(glob.glob(self.folder + "/*")):
            if path.endswith(".tmp"):  # is being written, and gets another name
                continue
            with open(path, "rb") as f:
                yield f.read()

    def capture(self):
        capture = otlp.Capture()
        for data in self.requests():
            otlp.read_request(data, capture)
        return capture
