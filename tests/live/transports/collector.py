#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exporters against a real Collector: TLS and mutual TLS over gRPC and HTTP, and the
sentences for what goes wrong.

    collector.py --collector PROGRAM --sender PROGRAM --certs certs.sh

The sender (sender.c) takes its certificates from OTEL_EXPORTER_OTLP_*. What arrived is looked
for by profile_id in the file that the Collector writes.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
from ports import free_port, wait_for_port

CONFIG = """
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "localhost:%(grpc)d"%(tls)s}
      http: {endpoint: "localhost:%(http)d"%(tls)s%(takes)s}
exporters:
  file: {path: "%(file)s", format: proto}
  debug: {verbosity: basic}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    %(pipeline)s: {receivers: [otlp], exporters: [%(exporter)s]}
"""


class Scenes:
    def __init__(self, args, directory):
        self.args, self.dir, self.failed, self.life = args, directory, 0, 1
        self.process = None

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self, cert=None, client_ca=None, pipeline="profiles", takes=None):
        """@takes: the Content-Encodings that its HTTP receiver takes; None: all it knows."""
        self.ports = {"grpc": free_port(), "http": free_port()}
        tls = ""
        if cert:
            tls = ', tls: {cert_file: "%s", key_file: "%s"' % (
                self.path(cert + ".pem"), self.path(cert + ".key"))
            tls += ', client_ca_file: "%s"}' % self.path(client_ca) if client_ca else "}"
        with open(self.path("config.yaml"), "w") as f:
            f.write(CONFIG % dict(self.ports, tls=tls,
                                  takes=", compression_algorithms: [%s]" % takes if takes else "",
                                  file=self.path("out.otlp"),
                                  pipeline=pipeline,
                                  exporter="file" if pipeline == "profiles" else "debug"))
        gates = ["--feature-gates=service.profilesSupport"] if pipeline == "profiles" else []
        self.log = open(self.path("collector.log"), "w")
        self.process = subprocess.Popen([self.args.collector, "--config",
                                         self.path("config.yaml")] + gates,
                                        stdout=self.log, stderr=self.log)
        for port in self.ports.values():
            wait_for_port(port, self.process, self.log.name)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def send(self, protocol, scheme, ca=None, client=None, compression=None):
        """One sender's life of about a second. (its life's number, all it said)."""
        env = dict(os.environ)
        for name, value in (("CERTIFICATE", ca and ca + ".pem"),
                            ("CLIENT_CERTIFICATE", client and client + ".pem"),
                            ("CLIENT_KEY", client and client + ".key")):
            env.pop("OTEL_EXPORTER_OTLP_" + name, None)
            if value:
                env["OTEL_EXPORTER_OTLP_" + name] = self.path(value)
        env["OTEL_EXPORTER_OTLP_COMPRESSION"] = compression or ""
        self.life += 1
        url = f"{scheme}://localhost:{self.ports[protocol]}"
        p = subprocess.Popen([self.args.sender, protocol, url, "-", str(self.life), "200",
                              "500", "1000000"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, env=env)
        time.sleep(1.2)
        out = p.communicate("end 3\n", timeout=60)[0]
        return self.life, out

    def judge(self, name, ok, text):
        print("%s delivery collector %s" % ("ok" if ok else "FAIL", name), flush=True)
        if not ok:
            self.failed += 1
            print("    " + "\n    ".join(text.splitlines()[-6:]), flush=True)

    def arrives(self, name, *args, word=None, no_word=None, **more):
        """All of it arrives, and the sender says @word and not @no_word."""
        life, out = self.send(*args, **more)
        sent = [line.split()[1].split("-")[1] for line in out.splitlines()
                if line.startswith("submitted")]
        missing = sent
        end = time.monotonic() + 5  # the file exporter writes once a second
        while missing and time.monotonic() < end:
            time.sleep(0.2)
            with open(self.path("out.otlp"), "rb") as f:
                data = f.read()
            missing = [n for n in sent
                       if life.to_bytes(8, "big") + int(n).to_bytes(8, "big") not in data]
        self.judge(name, sent and not missing and "dropped=0" in out and
                   (not word or out.count(word) == 1) and (not no_word or no_word not in out),
                   out + f"\nmissing: {missing}")

    def says(self, name, word, *args):
        _, out = self.send(*args)
        self.judge(f"{name}: \"{word}\"", word in out and "exported=0" in out, out)


def run(scenes):
    s = scenes
    s.start("server", "ca.pem")
    for protocol in ("grpc", "http"):
        s.arrives(f"{protocol}: mutual TLS", protocol, "https", "ca", "client")
        s.says(f"{protocol}: no client certificate", "a client certificate", protocol,
               "https", "ca", None)
        s.says(f"{protocol}: stranger's certificate", "client certificate", protocol,
               "https", "ca", "stranger")
        s.says(f"{protocol}: wrong CA", "is not signed by an authority", protocol, "https", "other", "client")
    s.stop()
    s.start("expired")
    for protocol in ("grpc", "http"):
        s.says(f"{protocol}: expired",
               "is out of date" if protocol == "grpc" else "certificate has expired", protocol,
               "https", "ca")
    s.stop()
    s.start("misnamed")
    for protocol in ("grpc", "http"):
        s.says(f"{protocol}: another name", "the server's certificate is not for this name", protocol,
               "https", "ca")
    s.stop()
    change = "the server does not take the compression: requests are sent %s from now on"
    for takes, compression, how in (('"zstd"', "zstd", None),
                                    ('"", "gzip"', "zstd", "with gzip"),
                                    ('""', "zstd", "without compression"),
                                    ('""', "gzip", "without compression")):
        s.start(takes=takes)
        s.arrives("http: %s where it takes %s" % (compression, takes), "http", "http",
                  compression=compression, word=how and change % how,
                  no_word=None if how else "log ")
        s.stop()
    s.start(pipeline="traces")
    for protocol in ("grpc", "http"):
        s.says(f"{protocol}: no profiles pipeline", "service.profilesSupport", protocol,
               "http")
    s.ports = {"grpc": s.ports["http"], "http": s.ports["grpc"]}
    s.says("gRPC to the HTTP port", "4318 is for OTLP/HTTP", "grpc", "http")
    s.says("HTTP to the gRPC port", "4317 is for gRPC", "http", "http")
    s.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--collector", required=True)
    parser.add_argument("--sender", required=True)
    parser.add_argument("--certs", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="otelprof-collector-") as directory:
        subprocess.run(["sh", args.certs, directory], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        scenes = Scenes(args, directory)
        try:
            run(scenes)
        finally:
            if scenes.process and scenes.process.poll() is None:
                scenes.process.kill()
    return 1 if scenes.failed else 0


sys.exit(main())
