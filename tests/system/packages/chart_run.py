#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The chart's agent and gateways as Collectors of this machine: certificates, turns, memory,
names and health.

    unshare --mount --net chart_run.py COLLECTOR RENDERED DIR [PART...]

RENDERED is a JSON file with the configurations that helm made: {"agent": ..., "gateway": ...}.
Of them alone this is changed: each Collector listens at a loopback address of its own in place of
0.0.0.0; the files of the secret are in DIR; the agent receives profiles in place of making them,
and asks no API server; the gateway writes a file in place of sending to a backend. Prints a line
for each part; exits with 1 where one is wrong. Needs root, openssl and iproute2.
"""
import contextlib
import copy
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

WAIT_S = 60  # for what must come
TLS = "/etc/otelprof-tls"
AGENT, GATEWAYS = "127.0.0.4", ("127.0.0.2", "127.0.0.3")


class Wrong(Exception):
    pass


def until(what, found):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        got = found()
        if got:
            return got
        time.sleep(0.2)
    raise Wrong("in %d s not: %s" % (WAIT_S, what() if callable(what) else what))


def openssl(*args, **more):
    subprocess.run(["openssl", *args], check=True, capture_output=True, text=True, **more)


def read_attribute(attribute, strings):
    """(key, value): texts, or references into the dictionary's strings."""
    value = attribute["value"]
    return (attribute["key"] if "key" in attribute else strings[attribute["keyStrindex"]],
            value["stringValue"] if "stringValue" in value else strings[value["stringValueStrindex"]])


class Authority:
    """A CA, and folders with what a secret of the chart holds."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder)
        self.key, self.cert = self.path("ca.key"), self.path("ca.crt")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-subj", "/CN=" + name, "-keyout", self.key, "-out", self.cert)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def secret(self, name, usage, trusts=None, names=()):
        """@trusts: the authority whose ca.crt stands in it, if not this one."""
        folder = self.path(name)
        os.makedirs(folder)
        request, extensions = (os.path.join(folder, n) for n in ("request", "extensions"))
        with open(extensions, "w", encoding="ascii") as f:
            f.write("extendedKeyUsage = %s\n" % usage)
            if names:
                f.write("subjectAltName = %s\n" % ", ".join("DNS:" + n for n in names))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=" + name, "-keyout", os.path.join(folder, "tls.key"),
                "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key,
                "-CAcreateserial", "-days", "1", "-extfile", extensions,
                "-out", os.path.join(folder, "tls.crt"))
        with open((trusts or self).cert, encoding="ascii") as f, \
                open(os.path.join(folder, "ca.crt"), "w", encoding="ascii") as to:
            to.write(f.read())
        return folder


class Collector:
    def __init__(self, run, name, config, address, secret):
        text = json.dumps(config).replace("0.0.0.0", address).replace(TLS, secret)
        self.address = address
        self.out = run.path(name + ".json")
        path, self.log = run.path(name + ".yaml"), run.path(name + ".log")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [run.program, "--config", path, "--feature-gates=service.profilesSupport"],
                stdout=log, stderr=log)

    def __enter__(self):
        try:
            until(lambda: "healthy: " + self.said()[-600:], self.healthy)
        except BaseException:
            self.end(signal.SIGKILL)
            raise
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)

    def end(self, sign):
        """An agent that has something to send tries on for as long as it may: no use to wait."""
        if self.process.poll() is None:
            self.process.send_signal(sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def get(self, port, path="/"):
        """(status, text); status 0 where nothing answers."""
        try:
            with urllib.request.urlopen("http://%s:%d%s" % (self.address, port, path),
                                        timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, ""
        except OSError:
            return 0, ""

    def healthy(self):
        if self.process.poll() is not None:
            raise Wrong("ended with %d: %s" % (self.process.returncode, self.said()[-600:]))
        return self.get(13133)[0] == 200

    def send(self, marker, **attributes):
        """One profile, as JSON over HTTP. Returns the status of the answer."""
        attributes = {"marker": marker, **{k.replace("__", "."): v for k, v in attributes.items()}}
        body = {"resourceProfiles": [{
            "resource": {"attributes": [{"key": k, "value": {"stringValue": v}}
                                        for k, v in attributes.items()]},
            "scopeProfiles": [{"scope": {}, "profiles": [{
                "sampleType": {"typeStrindex": 1, "unitStrindex": 2},
                "timeUnixNano": "1700000000000000000", "durationNano": "1000000000",
                "profileId": "%032x" % (abs(hash(marker)) + 1),
                "samples": [{"values": ["1"]}]}]}]}],
            "dictionary": {"stringTable": ["", "samples", "count"], "mappingTable": [{}],
                           "locationTable": [{}], "functionTable": [{}], "linkTable": [{}],
                           "attributeTable": [{}], "stackTable": [{}]}}
        request = urllib.request.Request(
            "http://%s:4318/v1development/profiles" % self.address,
            json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            return e.code

    def got(self):
        """marker → attributes of what came to a gateway, and how often each came."""
        resources, counts = {}, {}
        with contextlib.suppress(FileNotFoundError), open(self.out, encoding="utf-8") as f:
            for line in f:
                if not line.endswith("\n"):
                    break
                request = json.loads(line)
                for one in request["resourceProfiles"]:
                    found = dict(read_attribute(a, request["dictionary"]["stringTable"])
                                 for a in one["resource"]["attributes"])
                    resources[found["marker"]] = found
                    counts[found["marker"]] = counts.get(found["marker"], 0) + 1
        return resources, counts


class Run:
    def __init__(self, program, rendered, folder):
        self.program, self.folder = program, os.path.abspath(folder)
        os.makedirs(folder)
        with open(rendered, encoding="utf-8") as f:
            self.rendered = json.load(f)
        exporter = self.rendered["agent"]["exporters"]["otlp_grpc"]
        self.host, port = exporter["endpoint"].rsplit(":", 1)
        if port != "4317":
            raise Wrong("the agent sends to port " + port)
        name = exporter["tls"]["server_name_override"]
        self.authority = Authority(folder, "authority")
        self.gateway_secret = self.authority.secret("gateway", "serverAuth", names=[name])
        self.agent_secret = self.authority.secret("agent", "clientAuth")
        self.stranger = Authority(folder, "stranger")

    def path(self, name):
        return os.path.join(self.folder, name)

    def hosts(self, *addresses):
        """What the cluster's DNS says of the Service without an address."""
        with open("/etc/hosts", "w", encoding="ascii") as f:
            f.writelines("%s %s\n" % (a, self.host) for a in addresses)

    def gateway(self, name, address=GATEWAYS[0], secret=None, change=lambda config: None):
        config = copy.deepcopy(self.rendered["gateway"])
        config["exporters"] = {"file": {"path": self.path(name + ".json")}}
        config["service"]["pipelines"]["profiles"]["exporters"] = ["file"]
        change(config)
        return Collector(self, name, config, address, secret or self.gateway_secret)

    def agent(self, name, secret=None, change=lambda config: None):
        config = copy.deepcopy(self.rendered["agent"])
        config["receivers"] = {"otlp": {"protocols": {"http": {"endpoint": "0.0.0.0:4318"}}}}
        pipeline = config["service"]["pipelines"]["profiles"]
        pipeline["receivers"] = ["otlp"]
        for processor in [p for p in config["processors"] if p.startswith("k8s_attributes")]:
            del config["processors"][processor]
            pipeline["processors"].remove(processor)
        # So that what comes a second time comes soon.
        config["exporters"]["otlp_grpc"]["retry_on_failure"] = {
            "initial_interval": "500ms", "max_interval": "1s"}
        change(config)
        return Collector(self, name, config, AGENT, secret or self.agent_secret)

    def refused(self, gateway, name, why, **agent):
        """What that agent sends does not arrive, and its log says @why."""
        with self.agent(name, **agent) as one:
            if one.send(name) != 200:
                raise Wrong("%s took nothing" % name)
            found = until(lambda: "%s says %s: %s" % (name, why, one.said()[-600:]),
                          lambda: re.search(why, one.said()))
            one.end(signal.SIGKILL)
        if name in gateway.got()[0]:
            raise Wrong("what %s sent arrived" % name)
        return found[0]

    # What is shown

    def mtls(self):
        """An agent with a certificate of the authority delivers, and no other."""
        self.hosts(GATEWAYS[0])
        no_certificate = copy.deepcopy(self.rendered["agent"])["exporters"]["otlp_grpc"]["tls"]
        if not {"cert_file", "key_file"} <= set(no_certificate):
            raise Wrong("the agent has no certificate: %s" % no_certificate)

        def bare(config):
            for key in ("cert_file", "key_file"):
                del config["exporters"]["otlp_grpc"]["tls"][key]

        def plain(config):
            config["exporters"]["otlp_grpc"]["tls"] = {"insecure": True}

        other = self.stranger.secret("other", "clientAuth", trusts=self.authority)
        self_made = self.stranger.secret("self-made", "serverAuth",
                                         names=[self.rendered["agent"]["exporters"]["otlp_grpc"][
                                             "tls"]["server_name_override"]])
        elsewhere = self.authority.secret("elsewhere", "serverAuth", names=["elsewhere.example"])
        said = []
        with self.gateway("gateway-mtls") as gateway:
            with self.agent("agent-certificate") as agent:
                agent.send("first")
                until("what an agent with a certificate sends arrives",
                      lambda: gateway.got()[0].get("first"))
            said.append(self.refused(gateway, "agent-bare", "certificate required", change=bare))
            said.append(self.refused(gateway, "agent-stranger",
                                     "tls: (unknown certificate authority|bad certificate)",
                                     secret=other))
            # A gateway that wants TLS says nothing to who does not speak it.
            self.refused(gateway, "agent-plain", "Exporting failed", change=plain)
            with self.agent("agent-again") as agent:
                agent.send("last")
                until("after all of them one arrives", lambda: gateway.got()[0].get("last"))
            if set(gateway.got()[0]) != {"first", "last"}:
                raise Wrong("arrived: %s" % sorted(gateway.got()[0]))
        for name, secret, why in (("gateway-self-made", self_made, "x509: certificate signed by"),
                                  ("gateway-elsewhere", elsewhere, "x509: certificate is valid for")):
            with self.gateway(name, secret=secret) as gateway:
                said.append(self.refused(gateway, "agent-of-" + name, why))
        return "refused: %s" % ", ".join('"%s"' % text for text in said)

    def balance(self):
        """Requests go to all gateways in turn; what one of them leaves, the other takes."""
        self.hosts(*GATEWAYS)
        with self.gateway("gateway-a", GATEWAYS[0]) as a, \
                self.gateway("gateway-b", GATEWAYS[1]) as b, self.agent("agent-turns") as agent:
            sent = []

            def send(count):
                for _ in range(count):
                    sent.append("turn-%d" % len(sent))
                    agent.send(sent[-1])
                until("all arrive: %s, %s" % (a.out, b.out),
                      lambda: set(a.got()[0]) | set(b.got()[0]) >= set(sent))

            # Until both connections are there the first one gets all.
            until("both get some", lambda: send(2) or (a.got()[0] and b.got()[0]))
            before = [len(g.got()[0]) for g in (a, b)]
            send(20)
            turns = [len(g.got()[0]) - n for g, n in zip((a, b), before)]
            if min(turns) < 8:
                raise Wrong("20 requests went to two gateways as %s" % turns)
            a.end(signal.SIGTERM)
            send(10)
            twice = [m for g in (a, b) for m, n in g.got()[1].items() if n > 1]
            if twice or set(a.got()[0]) & set(b.got()[0]):
                raise Wrong("arrived twice: %s" % twice)
        return "20 requests as %d and %d, %d in all, none lost when one gateway ended" % (
            *turns, len(sent))

    def memory(self):
        """A gateway without memory refuses, and the agent sends it again; so does an agent."""
        self.hosts(GATEWAYS[0])

        def full(config):
            limiter = config["processors"]["memory_limiter"]
            for key in [k for k in limiter if k.endswith("_percentage")]:
                del limiter[key]
            limiter["limit_mib"] = 1

        def looked(collector):
            """It looks once a second, and knows after the first time."""
            until("memory_limiter looks",
                  lambda: collector.said().count("Memory usage after GC") > 1)

        refusal = "data refused due to high memory usage"
        with self.agent("agent-patient") as agent:
            with self.gateway("gateway-full", change=full) as gateway:
                looked(gateway)
                agent.send("kept")
                until("the gateway refuses", lambda: refusal in agent.said())
                if gateway.got()[0]:
                    raise Wrong("a gateway without memory took it")
            with self.gateway("gateway-roomy") as gateway:
                until(lambda: "it arrives afterwards: " + agent.said()[-600:],
                      lambda: gateway.got()[0].get("kept"))
        with self.agent("agent-full", change=full) as agent:
            looked(agent)
            status = agent.send("refused")
            if status != 503:
                raise Wrong("an agent without memory answers %d" % status)
        return "refused and delivered afterwards; an agent refuses as well"

    def names(self):
        """Who has a name keeps it, who has none is called as its program; and labels decide."""
        self.hosts(GATEWAYS[0])
        path = {"process__executable__path": "/usr/sbin/daemon"}
        with self.gateway("gateway-names") as gateway, self.agent("agent-names") as agent:
            agent.send("named", service__name="billing", **path)
            agent.send("nameless", **path)
            agent.send("thread", process__executable__name="[kworker/0:1]")
            agent.send("quiet", **path, **{"k8s.pod.label.otelprof.io/profile": "false"})
            agent.send("end")
            until("all but one arrive", lambda: len(gateway.got()[0]) >= 4)
            got = {m: a.get("service.name") for m, a in gateway.got()[0].items()}
            left = {k for a in gateway.got()[0].values() for k in a if k.startswith("otelprof")}
        want = {"named": "billing", "nameless": "daemon", "thread": None, "end": None}
        if got != want or left:
            raise Wrong("services %s in place of %s %s" % (got, want, left))
        return "a workload's own, a program's, and a kernel thread has none"

    def health(self):
        """Probes are answered when the pipelines run, and no more when they ended."""
        self.hosts(GATEWAYS[0])
        with self.gateway("gateway-health") as gateway:
            answers = [gateway.get(13133)[0]]
        answers.append(gateway.get(13133)[0])
        if answers != [200, 0]:
            raise Wrong("the probe's answers: %s" % answers)
        return "200 while it runs"


PARTS = ("health", "names", "mtls", "balance", "memory")


def main():
    program, rendered, folder = sys.argv[1:4]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    run = Run(program, rendered, folder)
    hosts = run.path("hosts")
    with open(hosts, "w", encoding="ascii"):
        pass
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
    for name in sys.argv[4:] or PARTS:
        try:
            print("%s: %s" % (name, getattr(run, name)()), flush=True)
        except Wrong as why:
            print("%s: wrong: %s" % (name, why), flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
