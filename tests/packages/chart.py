# SPDX-License-Identifier: Apache-2.0
"""What helm makes of examples/kubernetes/chart: the objects, and what must hold of them."""
import glob
import os
import subprocess

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples", "kubernetes")
CHART = os.path.join(EXAMPLES, "chart")


# helm that go made knows no version of Kubernetes.
KUBERNETES = ["--kube-version", "1.30.0"]


class Wrong(Exception):
    pass


def values():
    """The sets of values that are tried, by name."""
    paths = sorted(glob.glob(os.path.join(CHART, "ci", "*-values.yaml")))
    return {os.path.basename(path)[:-len("-values.yaml")]: path for path in paths}


def run(helm, *args):
    r = subprocess.run([helm, *args], capture_output=True, text=True, timeout=120,
                       env={**os.environ, "HOME": "/nonexistent", "HELM_CACHE_HOME": "/nonexistent"})
    return r.returncode, r.stdout, r.stderr


def lint(helm, path):
    status, out, err = run(helm, "lint", "--strict", *KUBERNETES, CHART, "--values", path)
    if status:
        raise Wrong("helm lint, %s: %s%s" % (os.path.basename(path), out, err))


def render(helm, path, release="otelprof", namespace="otelprof"):
    status, out, err = run(helm, "template", release, CHART, "--namespace", namespace,
                           "--values", path, *KUBERNETES)
    if status:
        raise Wrong("helm template, %s: %s" % (os.path.basename(path), err))
    return [doc for doc in yaml.safe_load_all(out) if doc]


def find(docs, kind, name):
    found = [d for d in docs if d["kind"] == kind and d["metadata"]["name"] == name]
    return found[0] if found else None


def manifest(kind, name):
    """The object that examples/kubernetes has without helm."""
    for path in glob.glob(os.path.join(EXAMPLES, "*.yaml")):
        with open(path, encoding="utf-8") as f:
            found = find([d for d in yaml.safe_load_all(f) if d], kind, name)
        if found:
            return found
    raise Wrong("no %s %s in examples/kubernetes" % (kind, name))


def config(docs, name, key):
    return yaml.safe_load(find(docs, "ConfigMap", name)["data"][key])


def same(what, a, b):
    if a != b:
        raise Wrong("%s: %s is not %s" % (what, a, b))


def check_like_manifests(docs):
    """Without its additions the chart is what the manifests are: rights, arguments, limits."""
    for kind, name in (("DaemonSet", "otelprof-agent"), ("Deployment", "otelprof-gateway")):
        mine, theirs = (d["spec"]["template"]["spec"]
                        for d in (find(docs, kind, name), manifest(kind, name)))
        for key in ("hostPID", "serviceAccountName", "tolerations", "volumes",
                    "automountServiceAccountToken"):
            same("%s %s" % (name, key), mine.get(key), theirs.get(key))
        mine, theirs = mine["containers"][0], theirs["containers"][0]
        for key in ("securityContext", "args", "resources", "volumeMounts", "ports", "image"):
            same("%s %s" % (name, key), mine[key], theirs[key])
    same("rules", find(docs, "ClusterRole", "otelprof-agent")["rules"],
         manifest("ClusterRole", "otelprof-agent")["rules"])
    for name, key in (("otelprof-agent", "agent.yaml"), ("otelprof-gateway", "gateway.yaml")):
        mine = config(docs, name, key)
        theirs = yaml.safe_load(manifest("ConfigMap", name)["data"][key])
        # These say where to, and how long a connection lasts.
        for each in (mine, theirs):
            each["exporters"]["otlp_grpc"].pop("endpoint")
            each["exporters"]["otlp_grpc"].pop("tls")
            each["receivers"].get("otlp", {"protocols": {"grpc": {}}})["protocols"]["grpc"].pop(
                "keepalive", None)
        same(key, mine, theirs)


def check_references(docs):
    """Volumes, accounts, priority classes and selectors name what is there."""
    names = {(d["kind"], d["metadata"]["name"]) for d in docs}
    for doc in docs:
        if doc["kind"] not in ("DaemonSet", "Deployment"):
            continue
        spec = doc["spec"]["template"]["spec"]
        labels = doc["spec"]["template"]["metadata"]["labels"]
        if not doc["spec"]["selector"]["matchLabels"].items() <= labels.items():
            raise Wrong("%s does not select its pods" % doc["metadata"]["name"])
        if ("ServiceAccount", spec["serviceAccountName"]) not in names:
            raise Wrong("no account %s" % spec["serviceAccountName"])
        for volume in spec["volumes"]:
            if "configMap" in volume and ("ConfigMap", volume["configMap"]["name"]) not in names:
                raise Wrong("no ConfigMap %s" % volume["configMap"]["name"])
        mounts = {m["name"] for c in spec["containers"] for m in c["volumeMounts"]}
        same("mounts of " + doc["metadata"]["name"], mounts, {v["name"] for v in spec["volumes"]})


def check_mtls(docs):
    """Both sides have the certificates that their configurations name, of one authority."""
    secrets = {name: find(docs, "Secret", name)
               for name in ("otelprof-agent-tls", "otelprof-gateway-tls")}
    for name, secret in secrets.items():
        if not secret or set(secret["data"]) != {"ca.crt", "tls.crt", "tls.key"}:
            raise Wrong("secret %s: %s" % (name, secret and sorted(secret["data"])))
    same("authority", *(s["data"]["ca.crt"] for s in secrets.values()))
    tls = config(docs, "otelprof-gateway", "gateway.yaml")["receivers"]["otlp"]["protocols"][
        "grpc"]["tls"]
    same("client_ca_file", tls["client_ca_file"], "/etc/otelprof-tls/ca.crt")
    exporter = config(docs, "otelprof-agent", "agent.yaml")["exporters"]["otlp_grpc"]
    same("cert_file", exporter["tls"]["cert_file"], "/etc/otelprof-tls/tls.crt")
    same("insecure", exporter["tls"].get("insecure"), None)
    same("endpoint", exporter["endpoint"].split("."), ["otelprof-gateway", "otelprof", "svc:4317"])


def check_full(docs):
    """What was given in the values stands where it belongs."""
    gateway = config(docs, "otelprof-gateway", "gateway.yaml")
    same("memory_limiter", gateway["service"]["pipelines"]["profiles"]["processors"],
         ["memory_limiter"])
    exporter = gateway["exporters"]["otlp_grpc"]
    same("header", exporter["headers"], {"authorization": "Bearer ${env:TOKEN}"})
    same("authority", exporter["tls"], {"insecure": False,
                                        "ca_file": "/etc/otelprof-backend/ca.crt"})
    same("receiver", config(docs, "otelprof-agent", "agent.yaml")["receivers"]["otelprof"],
         {"sample_rate_hz": 50})
    agent = find(docs, "DaemonSet", "otelprof-agent")["spec"]["template"]["spec"]
    same("priority", agent["priorityClassName"], "system-node-critical")
    same("secret", agent["volumes"][1]["secret"]["secretName"], "agent-cert")
    if find(docs, "PriorityClass", "otelprof-agent") or any(d["kind"] == "Secret" for d in docs):
        raise Wrong("made what is there already")
    rules = find(docs, "NetworkPolicy", "otelprof-gateway")["spec"]["ingress"]
    same("ports", [[p["port"] for p in rule["ports"]] for rule in rules], [["otlp"], ["metrics"]])
    if not all("from" in rule for rule in rules):
        raise Wrong("a port is open to everybody: %s" % rules)


def check_direct(docs):
    same("gateway", [d["kind"] for d in docs if "gateway" in d["metadata"]["name"]], [])
    exporter = config(docs, "otelprof-agent", "agent.yaml")["exporters"]["otlp_grpc"]
    same("endpoint", exporter["endpoint"], "backend.example.com:4317")


CHECKS = {"plain": check_like_manifests, "default": check_mtls, "full": check_full,
          "direct": check_direct}


def check(helm):
    """Returns what was looked at; raises Wrong."""
    kinds = set()
    for name, path in values().items():
        lint(helm, path)
        docs = render(helm, path)
        check_references(docs)
        CHECKS[name](docs)
        kinds |= {d["kind"] for d in docs}
    status, _, err = run(helm, "template", CHART, *KUBERNETES)
    if not status or "backend.endpoint must be set" not in err:
        raise Wrong("without a backend: exit %d %s" % (status, err[-200:]))
    return "%d sets of values, %d kinds" % (len(CHECKS), len(kinds))
