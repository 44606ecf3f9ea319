# SPDX-License-Identifier: Apache-2.0
"""What helm makes of examples/kubernetes/chart: the objects, and what must hold of them."""
import glob
import os
import shutil
import subprocess
import tempfile

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


def render(helm, path, release="otelprof", namespace="otelprof", *more):
    status, out, err = run(helm, "template", release, CHART, "--namespace", namespace,
                           "--values", path, *KUBERNETES, *more)
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


def check_labels(docs, key, *conditions):
    """The agent reads that label of pods, and drops what these conditions mean."""
    agent = config(docs, "otelprof-agent", "agent.yaml")
    names = ["k8s_attributes", "k8s_attributes/label", "filter"]
    same("pipeline", agent["service"]["pipelines"]["profiles"]["processors"], names)
    name = "k8s.pod.label." + key
    for processor in names[:2]:
        same("labels of " + processor, agent["processors"][processor]["extract"]["labels"],
             [{"from": "pod", "key": key, "tag_name": name}])
    same("the label's pod", agent["processors"]["k8s_attributes/label"]["pod_association"],
         [{"sources": [{"from": "resource_attribute", "name": "k8s.pod.uid"}]}])
    wanted = " and ".join(conditions) % ('resource.attributes["%s"]' % name)
    same("filter", agent["processors"]["filter"]["profile_conditions"], [wanted])


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
    check_labels(docs, "otelprof.io/profile", '%s == "false"')
    same("endpoint", exporter["endpoint"].split("."), ["otelprof-gateway", "otelprof", "svc:4317"])


def check_full(docs):
    """What was given in the values stands where it belongs."""
    check_labels(docs, "example.com/profiled", 'resource.attributes["k8s.pod.uid"] != nil',
                 '%s != "true"')
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


def refuses(collector, text):
    """Why that Collector does not take a configuration; "" where it does."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([collector, "validate", "--config", f.name,
                            "--feature-gates=service.profilesSupport"], capture_output=True,
                           text=True, timeout=120, check=False,
                           env={**os.environ, "NODE_NAME": "node", "TOKEN": "x"})
    return (r.stderr.strip() or "exit %d" % r.returncode) if r.returncode else ""


def validate(helm, collector):
    """The Collector of builder.yaml takes all configurations. Returns how many."""
    count = 0
    for name, path in values().items():
        for doc in render(helm, path):
            for text in doc["data"].values() if doc["kind"] == "ConfigMap" else ():
                # Its image is built with one processor more.
                if "memory_limiter" in yaml.safe_load(text).get("processors", {}):
                    continue
                why = refuses(collector, text)
                if why:
                    raise Wrong("%s, %s: %s" % (name, doc["metadata"]["name"], why[-300:]))
                count += 1
                if '== "false"' in text and not refuses(collector, text.replace("==", "=")):
                    raise Wrong("a condition that is none is taken")
    return count


# Values of which one cannot mean what comes out, and what helm says to them.
REFUSED = [
    ([], "backend.endpoint must be set"),
    (["profile.label=", "profile.optIn=true"], "profile.optIn needs the name of the label"),
    (["agent.attributes={k8s.pod.name,k8s.pod.uid}"], "agent.attributes needs one of the container"),
]


def check_refused(helm, path):
    for sets, said in REFUSED:
        more = [word for each in sets for word in ("--set", each)] + (
            ["--values", path] if sets else [])
        status, _, err = run(helm, "template", CHART, *KUBERNETES, *more)
        if not status or said not in err:
            raise Wrong("%s: exit %d, not refused as \"%s\": %s" % (sets, status, said, err[-200:]))


# helm template does not print the notes, so a copy of the chart has them in an object.
NOTES = """apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {text: {{ include "notes" . | quote }}}
"""


def notes(helm, path, *more):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "chart")
        shutil.copytree(CHART, copy)
        with open(os.path.join(copy, "templates", "NOTES.txt"), encoding="utf-8") as f:
            text = f.read()
        for name, made in (("_notes.tpl", '{{ define "notes" }}%s{{ end }}' % text),
                           ("notes.yaml", NOTES)):
            with open(os.path.join(copy, "templates", name), "w", encoding="utf-8") as f:
                f.write(made)
        status, out, err = run(helm, "template", "otelprof", copy, *KUBERNETES, "--values", path,
                               *more)
    if status:
        raise Wrong("the notes: " + err[-300:])
    return find([doc for doc in yaml.safe_load_all(out) if doc], "ConfigMap", "notes")["data"]["text"]


def check_notes(helm, path):
    """Who upgrades with an older image is told why its agents do not start."""
    for label, wanted in (("a.b/c", True), ("", False)):
        text = notes(helm, path, "--set", "profile.label=" + label)
        if ('unknown type: "filter"' in text) != wanted:
            raise Wrong("notes with the label \"%s\": %s" % (label, text))


def check(helm):
    """Returns what was looked at; raises Wrong."""
    kinds = set()
    for name, path in values().items():
        lint(helm, path)
        docs = render(helm, path)
        check_references(docs)
        CHECKS[name](docs)
        kinds |= {d["kind"] for d in docs}
    check_refused(helm, values()["default"])
    check_notes(helm, values()["default"])
    return "%d sets of values, %d kinds" % (len(CHECKS), len(kinds))
