# SPDX-License-Identifier: Apache-2.0
"""What helm makes of examples/kubernetes/chart: the objects, and what must hold of them."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

import chart_policy

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "..", "examples", "kubernetes")
CHART = os.path.join(EXAMPLES, "chart")
CACHE = os.environ.get("OTELPROF_CACHE", os.path.expanduser("~/.cache/otelprof-tests"))
# What tests/system/e2e/build-collector.sh builds of examples/collector/builder.yaml.
COLLECTOR = os.path.join(CACHE, "collector/0.159.0/otelcol-test")

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
        for key in ("hostPID", "serviceAccountName", "tolerations", "nodeSelector", "volumes",
                    "automountServiceAccountToken"):
            same("%s %s" % (name, key), mine.get(key), theirs.get(key))
        mine, theirs = mine["containers"][0], theirs["containers"][0]
        for key in ("securityContext", "args", "resources", "volumeMounts", "ports", "image",
                    "startupProbe", "livenessProbe", "readinessProbe"):
            same("%s %s" % (name, key), mine.get(key), theirs.get(key))
    same("rules", find(docs, "ClusterRole", "otelprof-agent")["rules"],
         manifest("ClusterRole", "otelprof-agent")["rules"])
    for name, key in (("otelprof-agent", "agent.yaml"), ("otelprof-gateway", "gateway.yaml")):
        mine = config(docs, name, key)
        theirs = yaml.safe_load(manifest("ConfigMap", name)["data"][key])
        # These say where to, and how long a connection lasts.
        for each in (mine, theirs):
            for address in ("endpoint", "tls", "balancer_name"):
                each["exporters"]["otlp_grpc"].pop(address, None)
            each["receivers"].get("otlp", {"protocols": {"grpc": {}}})["protocols"]["grpc"].pop(
                "keepalive", None)
        same(key, mine, theirs)


def check_references(docs, *there):
    """Volumes, accounts and selectors name what is made, or is @there."""
    names = {(d["kind"], d["metadata"]["name"]) for d in docs}
    for doc in docs:
        if doc["kind"] not in ("DaemonSet", "Deployment"):
            continue
        spec = doc["spec"]["template"]["spec"]
        labels = doc["spec"]["template"]["metadata"]["labels"]
        if not doc["spec"]["selector"]["matchLabels"].items() <= labels.items():
            raise Wrong("%s does not select its pods" % doc["metadata"]["name"])
        account = spec["serviceAccountName"]
        if account not in there and ("ServiceAccount", account) not in names:
            raise Wrong("no account %s" % account)
        for volume in spec["volumes"]:
            if "configMap" in volume and ("ConfigMap", volume["configMap"]["name"]) not in names:
                raise Wrong("no ConfigMap %s" % volume["configMap"]["name"])
        mounts = {m["name"] for c in spec["containers"] for m in c["volumeMounts"]}
        same("mounts of " + doc["metadata"]["name"], mounts, {v["name"] for v in spec["volumes"]})
    for binding in (d for d in docs if d["kind"] == "ClusterRoleBinding"):
        role, subject = binding["roleRef"], binding["subjects"][0]
        if {(role["kind"], role["name"]), (subject["kind"], subject["name"])} - names:
            raise Wrong("%s binds what is not there" % binding["metadata"]["name"])


def pods(docs):
    """component → (labels of its pods, its container), of the DaemonSet and the Deployment."""
    made = {}
    for doc in docs:
        if doc["kind"] in ("DaemonSet", "Deployment"):
            template = doc["spec"]["template"]
            container, = template["spec"]["containers"]
            made[container["name"]] = template["metadata"]["labels"], container
    return made


def check_guards(docs, limited):
    """memory_limiter is the first processor of each pipeline, where it is @limited; probes ask
    health_check."""
    for name, (_, container) in pods(docs).items():
        made = config(docs, "otelprof-" + name, name + ".yaml")
        processors = made["service"]["pipelines"]["profiles"].get("processors", [])
        same("memory_limiter of " + name, ["memory_limiter"] * limited,
             [p for p in processors if p == "memory_limiter"])
        if limited:
            same("first of " + name, processors[0], "memory_limiter")
            limits = made["processors"]["memory_limiter"]
            if not 0 < limits["spike_limit_percentage"] < limits["limit_percentage"] < 100:
                raise Wrong("limits of %s: %s" % (name, limits))
        same("processors of " + name, set(processors), set(made.get("processors", {})))
        same("extensions of " + name, made["service"]["extensions"], ["health_check"])
        ports = {p["name"]: p["containerPort"] for p in container["ports"]}
        same("health_check of " + name, made["extensions"]["health_check"]["endpoint"],
             "0.0.0.0:%d" % ports["health"])
        for probe in ("livenessProbe", "readinessProbe") + ("startupProbe",) * (name == "agent"):
            same("%s of %s" % (probe, name), container[probe].get("httpGet"),
                 {"path": "/", "port": "health"})


def check_names(docs):
    """A workload's own word on service.name, then Kubernetes's, then its program; no constant.
    The host's attributes are the receiver's."""
    agent = config(docs, "otelprof-agent", "agent.yaml")
    receiver = agent["receivers"]["otelprof"]
    same("service_name", receiver.get("service_name"), "")
    same("host_attributes", receiver.get("host_attributes", True), True)
    extract = agent["processors"]["k8s_attributes"]["extract"]
    if "service.name" not in extract["metadata"]:
        raise Wrong("service.name is not asked for: %s" % extract["metadata"])
    for rule in extract["annotations"]:
        # Not all that have the prefix: an annotation would put in another pod's name.
        same("annotation", rule, {"from": "pod", "tag_name": rule["tag_name"],
                                  "key": "resource.opentelemetry.io/" + rule["tag_name"]})
    same("annotations", {rule["tag_name"] for rule in extract["annotations"]},
         {"service.name", "service.namespace", "service.version", "deployment.environment.name"})
    processors = agent["service"]["pipelines"]["profiles"]["processors"]
    if processors.index("resource") < processors.index("k8s_attributes"):
        raise Wrong("a program's name comes before Kubernetes's: %s" % processors)
    for name, (_, container) in pods(docs).items():
        if any(e["name"].startswith("OTEL_") for e in container["env"]):
            raise Wrong("%s is told what it is called: %s" % (name, container["env"]))


def check_balance(docs):
    """Agents know all gateways, by a Service without an address of its own, which is where the
    name leads: so its port is the container's."""
    exporter = config(docs, "otelprof-agent", "agent.yaml")["exporters"]["otlp_grpc"]
    same("balancer", exporter["balancer_name"], "round_robin")
    host, port = exporter["endpoint"].rsplit(":", 1)
    name, namespace, rest = host.split(".", 2)
    service = find(docs, "Service", name)
    same("Service", (service["metadata"]["namespace"], rest, service["spec"]["clusterIP"]),
         (namespace, "svc", "None"))
    labels, container = pods(docs)["gateway"]
    if not service["spec"]["selector"].items() <= labels.items():
        raise Wrong("%s does not select gateways" % name)
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    same("port", [(p["port"], ports[p["targetPort"]]) for p in service["spec"]["ports"]],
         [(int(port), int(port))])
    age = config(docs, "otelprof-gateway", "gateway.yaml")["receivers"]["otlp"]["protocols"][
        "grpc"]["keepalive"]["server_parameters"]["max_connection_age"]
    same("age of a connection", age, "10m")


def reached(docs, metrics):
    """The port for profiles by the release's agents alone; health_check's by no pod; that of
    metrics by "everybody" or by "monitoring"."""
    made = pods(docs)
    agent = made["agent"][0]
    gateway = made.get("gateway", made["agent"])[0]
    sources = {"agent": ("otelprof", {}, agent), "gateway": ("otelprof", {}, gateway),
               "pod without labels": ("otelprof", {}, {}),
               "agent of another release": ("otelprof", {}, {
                   **agent, "app.kubernetes.io/instance": "another"}),
               "agent's labels in another namespace": ("shop", {}, agent),
               "monitoring": ("monitoring", {"kubernetes.io/metadata.name": "monitoring"}, {})}
    metrics = set(sources) if metrics == "everybody" else {metrics}
    want = {"otlp": {"agent"}, "metrics": metrics, "health": set()}
    for name, (labels, container) in made.items():
        for port in container["ports"]:
            got = {who for who, source in sources.items()
                   if chart_policy.reaches(docs, source, ("otelprof", labels), port)}
            same("who reaches %s of %s" % (port["name"], name), got, want[port["name"]])


def check_labels(docs, key, *conditions):
    """The agent reads that label of pods, and drops what these conditions mean."""
    agent = config(docs, "otelprof-agent", "agent.yaml")
    names = ["memory_limiter", "k8s_attributes", "k8s_attributes/label", "filter", "resource"]
    same("pipeline", agent["service"]["pipelines"]["profiles"]["processors"], names)
    name = "k8s.pod.label." + key
    for processor in names[1:3]:
        same("labels of " + processor, agent["processors"][processor]["extract"]["labels"],
             [{"from": "pod", "key": key, "tag_name": name}])
    same("the label's pod", agent["processors"]["k8s_attributes/label"]["pod_association"],
         [{"sources": [{"from": "resource_attribute", "name": "k8s.pod.uid"}]}])
    wanted = " and ".join(conditions) % ('resource.attributes["%s"]' % name)
    same("filter", agent["processors"]["filter"]["profile_conditions"], [wanted])


def check_placement(docs):
    """Agents have the priority class that was made, and one gateway stays while nodes are emptied."""
    spec = find(docs, "DaemonSet", "otelprof-agent")["spec"]["template"]["spec"]
    made = find(docs, "PriorityClass", spec["priorityClassName"])
    same("priority", (made["value"], made["preemptionPolicy"], made["globalDefault"]),
         (100000, "Never", False))
    deployment = find(docs, "Deployment", "otelprof-gateway")["spec"]
    labels, _ = pods(docs)["gateway"]
    budget = find(docs, "PodDisruptionBudget", "otelprof-gateway")["spec"]
    if not 0 < budget["minAvailable"] < deployment["replicas"]:
        raise Wrong("%s of %s gateways" % (budget["minAvailable"], deployment["replicas"]))
    spread, = deployment["template"]["spec"]["topologySpreadConstraints"]
    for selector in (budget["selector"], spread["labelSelector"]):
        if not selector["matchLabels"].items() <= labels.items():
            raise Wrong("%s does not select gateways" % selector)
    same("spread over", spread["topologyKey"], "kubernetes.io/hostname")


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
    check_placement(docs)
    # The name that certificates had before there was a Service without an address.
    same("server's name", exporter["tls"]["server_name_override"].split("."),
         ["otelprof-gateway", "otelprof", "svc"])
    reached(docs, "everybody")


def check_full(docs):
    """What was given in the values stands where it belongs."""
    check_labels(docs, "example.com/profiled", 'resource.attributes["k8s.pod.uid"] != nil',
                 '%s != "true"')
    gateway = config(docs, "otelprof-gateway", "gateway.yaml")
    same("memory_limiter", gateway["processors"]["memory_limiter"],
         {"check_interval": "1s", "limit_percentage": 70, "spike_limit_percentage": 15})
    exporter = gateway["exporters"]["otlp_grpc"]
    same("header", exporter["headers"], {"authorization": "Bearer ${env:TOKEN}"})
    same("authority", exporter["tls"], {"insecure": False,
                                        "ca_file": "/etc/otelprof-backend/ca.crt"})
    same("receiver", config(docs, "otelprof-agent", "agent.yaml")["receivers"]["otelprof"],
         {"sample_rate_hz": 50, "service_name": ""})
    agent = find(docs, "DaemonSet", "otelprof-agent")["spec"]["template"]["spec"]
    same("priority", agent["priorityClassName"], "system-node-critical")
    same("secret", agent["volumes"][1]["secret"]["secretName"], "agent-cert")
    same("account", agent["serviceAccountName"], "profiler")
    same("who may ask the API server", find(docs, "ClusterRoleBinding", "otelprof-agent")[
        "subjects"], [{"kind": "ServiceAccount", "name": "profiler", "namespace": "otelprof"}])
    same("annotations", find(docs, "ServiceAccount", "profiler")["metadata"]["annotations"],
         {"example.com/role": "profiler"})
    same("image", agent["containers"][0]["image"],
         "registry.example.com/otelcol-profiling@sha256:" + "1".zfill(64))
    for doc in docs:
        made = [doc["metadata"], doc["spec"]["template"]["metadata"]] if "template" in doc.get(
            "spec", {}) else [doc["metadata"]]
        same("labels of %s" % doc["kind"], {m["labels"].get("cost-center") for m in made}, {"4711"})
    if find(docs, "PriorityClass", "otelprof-agent") or any(d["kind"] == "Secret" for d in docs) or \
            find(docs, "ServiceAccount", "default"):
        raise Wrong("made what is there already")
    check_monitoring(docs)
    reached(docs, "monitoring")


def check_monitoring(docs):
    """The operator's objects have the files of the folder monitoring, and mean all pods."""
    monitor, = [d for d in docs if d["kind"] == "PodMonitor"]
    endpoint, = monitor["spec"]["podMetricsEndpoints"]
    same("interval", endpoint["interval"], "15s")
    for name, (labels, container) in pods(docs).items():
        if not monitor["spec"]["selector"]["matchLabels"].items() <= labels.items():
            raise Wrong("the monitor does not select " + name)
        if endpoint["port"] not in {p["name"] for p in container["ports"]}:
            raise Wrong("%s has no port %s" % (name, endpoint["port"]))
    rule, = [d for d in docs if d["kind"] == "PrometheusRule"]
    for one in (monitor, rule):
        same("label", one["metadata"]["labels"]["release"], "prometheus")
    with open(os.path.join(CHART, "monitoring", "alerts.yaml"), encoding="utf-8") as f:
        same("rules", rule["spec"], yaml.safe_load(f))
    dashboard = find(docs, "ConfigMap", "otelprof-dashboard")
    same("label", dashboard["metadata"]["labels"]["grafana_dashboard"], "1")
    with open(os.path.join(CHART, "monitoring", "dashboard.json"), encoding="utf-8") as f:
        same("dashboard", json.loads(dashboard["data"]["otelprof.json"]), json.load(f))


def check_direct(docs):
    same("gateway", [d["kind"] for d in docs if "gateway" in d["metadata"]["name"]], [])
    exporter = config(docs, "otelprof-agent", "agent.yaml")["exporters"]["otlp_grpc"]
    same("endpoint", exporter["endpoint"], "backend.example.com:4317")
    reached(docs, "everybody")


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


def lacks(collector):
    """What the Collector was built without of what the configurations name."""
    r = subprocess.run([collector, "components"], capture_output=True, text=True, timeout=120,
                       check=True)
    parts = set(re.findall(r"name: (\S+)$", r.stdout, re.M))
    return {"filter", "health_check", "memory_limiter", "otelprof", "otlp", "resource"} - parts


def validate(helm, collector):
    """The Collector of builder.yaml takes all configurations, and with them does what the chart
    is for. Returns how many."""
    lacking = lacks(collector)
    if lacking:
        print("skip packages chart-collector: built without %s: build it again" %
              " ".join(sorted(lacking)), flush=True)
        return 0
    count = 0
    for name, path in values().items():
        for doc in render(helm, path):
            for key, text in doc["data"].items() if doc["kind"] == "ConfigMap" else ():
                if not key.endswith(".yaml"):
                    continue
                why = refuses(collector, text)
                if why:
                    raise Wrong("%s, %s: %s" % (name, doc["metadata"]["name"], why[-300:]))
                count += 1
                if '== "false"' in text and not refuses(collector, text.replace("==", "=")):
                    raise Wrong("a condition that is none is taken")
                if not refuses(collector, text.replace("check_interval", "check_intervals")) and \
                        "check_interval" in text:
                    raise Wrong("a key that is none is taken")
    run_collectors(helm, collector)
    return count


def run_collectors(helm, collector):
    """Agent and gateways of the default values, in namespaces of their own: see chart_run.py."""
    for program in ("openssl", "unshare", "ip", "mount"):
        if not shutil.which(program):
            print("skip packages chart-run: no " + program, flush=True)
            return
    docs = render(helm, values()["default"])
    rendered = {name: config(docs, "otelprof-" + name, name + ".yaml")
                for name in ("agent", "gateway")}
    with tempfile.TemporaryDirectory() as folder:
        given = os.path.join(folder, "rendered.json")
        with open(given, "w", encoding="utf-8") as f:
            json.dump(rendered, f)
        r = subprocess.run(["unshare", "--mount", "--net", "--propagation", "private",
                            sys.executable, os.path.join(HERE, "chart_run.py"), collector, given,
                            os.path.join(folder, "run")], capture_output=True, text=True,
                           timeout=900, check=False)
    if r.returncode:
        raise Wrong("chart_run.py: " + (r.stdout + r.stderr)[-1500:])
    for line in r.stdout.splitlines():
        print("ok packages chart-" + line, flush=True)


def check(helm):
    """Returns what was looked at; raises Wrong."""
    kinds = set()
    for name, path in values().items():
        lint(helm, path)
        docs = render(helm, path)
        check_references(docs, *{"full": ["default"]}.get(name, []))
        check_guards(docs, limited=name != "direct")
        check_names(docs)
        if name != "direct":
            check_balance(docs)
        CHECKS[name](docs)
        kinds |= {d["kind"] for d in docs}
    if not os.path.exists(COLLECTOR):
        print("skip packages chart-collector: no Collector was built (tests/system/e2e/build-collector.sh)",
              flush=True)
    return "%d sets of values, %d kinds" % (len(CHECKS), len(kinds))
