# SPDX-License-Identifier: Apache-2.0
"""A control plane for tests: a real etcd and a real kube-apiserver on loopback, with RBAC,
admission and an audit log, and a client of their REST API. No kubelet, scheduler or
controller runs: tests say what those would.

    with Cluster(etcd, kube_apiserver, folder) as cluster:
        cluster.apply(manifest)
"""

import json
import os
import re
import secrets
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import suite
from ports import free_port

READY_SECONDS = 120
STOP_SECONDS = 30

AUDIT_POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  users: [%s]
- level: None
"""


class Refused(Exception):
    """The API server's answer, in its own words."""

    def __init__(self, status, message):
        super().__init__("%d: %s" % (status, message))
        self.status = status


class Cluster:
    # Who the audit log is kept of.
    AUDITED = "system:serviceaccount:otelprof:otelprof-agent"

    def __init__(self, etcd, apiserver, folder, host="127.0.0.1"):
        self.etcd, self.apiserver, self.folder, self.host = etcd, apiserver, folder, host
        self.processes = []
        self.kinds = {}
        self.admin = secrets.token_hex(16)
        self.port = free_port()
        self.ca = self.path("ca.crt")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", opener=private) as f:
            f.write(text)
        return self.path(name)

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            suite.end(process, STOP_SECONDS)
        self.processes = []

    def spawn(self, name, *command):
        with open(self.path(name + ".log"), "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))

    def start(self):
        client, peer = ("http://127.0.0.1:%d" % free_port() for _ in range(2))
        # One member that nobody else joins; what it holds need not outlive the test.
        self.spawn("etcd", self.etcd, "--data-dir", self.path("etcd"), "--unsafe-no-fsync",
                   "--listen-client-urls", client, "--advertise-client-urls", client,
                   "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                   "--initial-cluster", "default=" + peer)
        key = self.path("sa.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True,
                       stderr=subprocess.DEVNULL)
        tokens = self.write("tokens", "%s,admin,1,system:masters\n" % self.admin)
        policy = self.write("audit.yaml", AUDIT_POLICY % json.dumps(self.AUDITED))
        self.spawn("apiserver", self.apiserver, "--etcd-servers", client,
                   "--bind-address", self.host, "--secure-port", str(self.port),
                   "--cert-dir", self.path("certs"), "--token-auth-file", tokens,
                   "--authorization-mode", "RBAC", "--anonymous-auth=false",
                   "--service-account-issuer", "https://kubernetes.default",
                   "--service-account-key-file", key,
                   "--service-account-signing-key-file", key,
                   "--service-cluster-ip-range", "10.96.0.0/24",
                   "--audit-policy-file", policy, "--audit-log-path", self.path("audit.log"))
        self.wait()

    def wait(self):
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            for process in self.processes:
                if process.poll() is not None:
                    raise RuntimeError("%s ended with %d: see %s" % (
                        process.args[0], process.returncode, self.folder))
            try:
                self.trust()
                self.request("GET", "/readyz")
                return
            except (OSError, Refused):
                time.sleep(0.3)
        raise RuntimeError("kube-apiserver was not ready in %d s" % READY_SECONDS)

    def trust(self):
        """The CA is the last certificate of the chain that the server made for itself."""
        with open(self.path("certs/apiserver.crt"), encoding="ascii") as f:
            chain = re.findall(r"-----BEGIN [^-]*-----[^-]*-----END [^-]*-----\n", f.read())
        self.write("ca.crt", chain[-1])
        self.tls = ssl.create_default_context(cafile=self.ca)

    def request(self, method, path, body=None, token=None, content="application/json"):
        """The answer, decoded where it is JSON. Raises Refused, or OSError."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            "https://%s:%d%s" % (self.host, self.port, path), data, method=method,
            headers={"Authorization": "Bearer " + (token or self.admin),
                     "Content-Type": content})
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.tls) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as e:
            text = e.read().decode(errors="replace")
            raise Refused(e.code, json.loads(text).get("message", text)
                          if text.startswith("{") else text) from None
        return json.loads(text) if text.startswith("{") else text

    def resource_path(self, doc, namespace=None):
        """Where objects like @doc live, as the server's own discovery says."""
        group = doc["apiVersion"]
        base = ("/apis/" if "/" in group else "/api/") + group
        if group not in self.kinds:
            self.kinds[group] = {r["kind"]: r for r in self.request("GET", base)["resources"]
                                 if "/" not in r["name"]}
        resource = self.kinds[group].get(doc["kind"])
        if not resource:
            raise Refused(404, "no %s in %s" % (doc["kind"], group))
        namespace = namespace or doc["metadata"].get("namespace")
        if resource["namespaced"]:
            base += "/namespaces/" + namespace
        return base + "/" + resource["name"]

    def apply(self, doc):
        """Server-side apply, every field known to the server."""
        return self.request("PATCH", "%s/%s?fieldManager=test&fieldValidation=Strict" %
                            (self.resource_path(doc), doc["metadata"]["name"]), doc,
                            content="application/apply-patch+yaml")

    def create(self, doc, namespace=None, dry_run=False):
        query = "?fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
        return self.request("POST", self.resource_path(doc, namespace) + query, doc)

    def get(self, doc):
        return self.request("GET", self.resource_path(doc) + "/" + doc["metadata"]["name"])

    def set_status(self, doc, status):
        return self.request("PATCH", "%s/%s/status" % (self.resource_path(doc),
                                                       doc["metadata"]["name"]),
                            {"status": status}, content="application/merge-patch+json")

    def token(self, namespace, account, seconds=3600):
        """A token such as the kubelet gets for a pod's service account."""
        return self.request(
            "POST", "/api/v1/namespaces/%s/serviceaccounts/%s/token" % (namespace, account),
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": seconds}})["status"]["token"]

    def audited(self):
        """(verb, resource, request URI, HTTP status) of each request so far."""
        rows = []
        with open(self.path("audit.log"), encoding="utf-8") as f:
            for line in f:
                event = json.loads(line)
                what = event.get("objectRef") or {}
                rows.append((event["verb"], what.get("resource", event["requestURI"]),
                             event["requestURI"], event["responseStatus"]["code"]))
        return rows


def private(path, flags):
    return os.open(path, flags, 0o600)
