# SPDX-License-Identifier: Apache-2.0
"""What a kubelet and containerd make of a pod, as far as a test needs it, with runc: an
overlay over the image, the control group with the names the systemd driver gives it, the
capabilities, the mounts and masks, the service account's token, and the status that goes
back to the API server. Every pod has a network namespace on one bridge.

The caller has mount and network namespaces of its own (see k8s.py).
"""

import json
import os
import secrets
import signal
import subprocess

BRIDGE, HOST_IP, POD_IP = "node0", "10.217.0.1", "10.217.0.%d"
TOKEN_SECONDS = 3607
MIRROR = "kubernetes.io/config.mirror"

# A container's, unless the pod says otherwise (containerd's defaults).
DEFAULT_CAPABILITIES = """CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP
    SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE""".split()
MASKED = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
          "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
          "/sys/firmware", "/sys/devices/virtual/powercap"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
MOUNTS = [
    ("/proc", "proc", "proc", "nosuid,noexec,nodev"),
    ("/dev", "tmpfs", "tmpfs", "nosuid,strictatime,mode=755,size=65536k"),
    ("/dev/pts", "devpts", "devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5"),
    ("/dev/shm", "tmpfs", "shm", "nosuid,noexec,nodev,mode=1777,size=65536k"),
    ("/dev/mqueue", "mqueue", "mqueue", "nosuid,noexec,nodev"),
    ("/sys", "sysfs", "sysfs", "nosuid,noexec,nodev,ro"),
    ("/sys/fs/cgroup", "cgroup", "cgroup", "nosuid,noexec,nodev,relatime,ro"),
]
UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more)


def make_bridge():
    """The node's network: HOST_IP and, later, the pods."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "addr", "add", HOST_IP + "/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")


def memory_bytes(text):
    return int(text[:-2]) * UNITS[text[-2:]] if text[-2:] in UNITS else int(text)


def capabilities(context):
    asked = context.get("capabilities", {})
    dropped = asked.get("drop", [])
    kept = [] if "ALL" in dropped else [c for c in DEFAULT_CAPABILITIES if c not in dropped]
    return sorted({"CAP_" + c for c in kept + asked.get("add", [])})


def pod_uid(pod):
    """As it stands in paths: for a static pod, the hash of its manifest."""
    return pod["metadata"].get("annotations", {}).get(MIRROR) or pod["metadata"]["uid"]


def pod_slice(pod):
    """The systemd cgroup driver's: dashes are levels there, so the uid has none."""
    containers = pod["spec"]["containers"]
    asked = [c.get("resources") for c in containers if c.get("resources")]
    qos = "burstable" if asked else "besteffort"
    return "/kubepods.slice/kubepods-%s.slice/kubepods-%s-pod%s.slice" % (
        qos, qos, pod_uid(pod).replace("-", "_"))


def remove_groups(path):
    """@path and the groups above it in each hierarchy, as far as they are empty: runc removes
    the container's own alone."""
    with open("/proc/self/mountinfo", encoding="ascii") as f:
        mounts = [line.split()[4] for line in f if " - cgroup" in line]
    for mount in mounts:
        group = mount + path
        while group != mount:
            try:
                os.rmdir(group)
            except OSError:
                break  # not in this hierarchy, or used by others
            group = os.path.dirname(group)


def nest(container):
    """Move the container's process into a group below, as Docker inside of a pod makes it for a
    container of its own, which the API server does not know."""
    inner = "%s/docker/%s" % (container.cgroup, secrets.token_hex(32))
    with open("/proc/self/mountinfo", encoding="ascii") as f:
        mounts = [line.split()[4] for line in f if " - cgroup" in line]
    for mount in mounts:
        if not os.path.isdir(mount + container.cgroup):
            continue
        try:
            os.makedirs(mount + inner)
            with open(mount + inner + "/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(container.pid))
        except OSError:
            pass  # cpuset: a new group has no CPUs
    with open("/proc/%d/cgroup" % container.pid, encoding="ascii") as f:
        if inner not in f.read():
            raise RuntimeError("%s is not in a group below its own" % container.name)


class Container:
    def __init__(self, kubelet, pod, spec, name):
        self.kubelet, self.pod, self.spec = kubelet, pod, spec
        self.name = spec["name"]
        self.id = secrets.token_hex(32)
        self.bundle = os.path.join(kubelet.folder, name + "." + self.name)
        self.log = self.bundle + ".log"
        self.cgroup = "%s/cri-containerd-%s.scope" % (pod_slice(pod), self.id)
        self.process = None

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def memory_peak(self):
        """Bytes, page cache and BPF maps included; 0 where the kernel does not tell."""
        for path in ("/sys/fs/cgroup/memory%s/memory.max_usage_in_bytes",
                     "/sys/fs/cgroup%s/memory.peak"):
            try:
                with open(path % self.cgroup, encoding="ascii") as f:
                    return int(f.read())
            except OSError:
                pass
        return 0

    @property
    def pid(self):
        """The process as the host sees it; 0 while it is not there."""
        state = subprocess.run([*self.kubelet.runc, "state", self.id], capture_output=True,
                               text=True, check=False).stdout
        state = json.loads(state or "{}")
        return state["pid"] if state.get("status") == "running" else 0


class Kubelet:
    def __init__(self, cluster, node, folder, images, seccomp):
        """@images: name → (root file system, entry point). @seccomp: the program of that
        folder."""
        self.cluster, self.node, self.folder, self.images = cluster, node, folder, images
        self.seccomp = seccomp
        self.runc = ["runc", "--root", os.path.join(folder, "runc")]
        self.containers = []
        self.hosts = {}
        self.networks = []
        os.makedirs(folder, exist_ok=True)

    # The pod's parts

    def network(self):
        name = "pod%d" % len(self.networks)
        ip = POD_IP % (len(self.networks) + 2)
        self.networks.append(name)
        run("ip", "netns", "add", name)
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", name, "master", BRIDGE, "up")
        for command in (["addr", "add", ip + "/24", "dev", "eth0"],
                        ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
            run("ip", "-n", name, *command)
        return "/run/netns/" + name, ip

    def volume(self, pod, volume, folder):
        """A folder with the volume's files."""
        os.makedirs(folder, exist_ok=True)
        sources = volume.get("projected", {}).get("sources") or [
            {key: value for key, value in volume.items() if key != "name"}]
        for source in sources:
            for name, text in self.files(pod, source).items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
        return folder

    def files(self, pod, source):
        namespace = pod["metadata"]["namespace"]
        if "serviceAccountToken" in source:
            token = self.cluster.token(namespace, pod["spec"]["serviceAccountName"],
                                       TOKEN_SECONDS)
            return {source["serviceAccountToken"]["path"]: token}
        if "downwardAPI" in source:
            return {item["path"]: self.field(pod, item["fieldRef"]["fieldPath"])
                    for item in source["downwardAPI"]["items"]}
        if "configMap" in source:
            name = source["configMap"].get("name")
            return self.cluster.get({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": name, "namespace": namespace}})["data"]
        raise RuntimeError("no such volume here: %s" % source)

    def field(self, pod, path):
        value = pod
        for part in path.split("."):
            value = value[part]
        return value

    def environment(self, pod, spec):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": pod["metadata"]["name"],
               "KUBERNETES_SERVICE_HOST": self.cluster.host,
               "KUBERNETES_SERVICE_PORT": str(self.cluster.port)}
        for item in spec.get("env", []):
            env[item["name"]] = item["value"] if "value" in item else \
                self.field(pod, item["valueFrom"]["fieldRef"]["fieldPath"])
        return ["%s=%s" % pair for pair in env.items()]

    def mounts(self, pod, container):
        mounts = [{"destination": where, "type": kind, "source": source,
                   "options": options.split(",")} for where, kind, source, options in MOUNTS]
        etc = container.bundle + ".hosts"
        with open(etc, "w", encoding="utf-8") as f:
            f.writelines("%s %s\n" % pair for pair in
                         [("127.0.0.1", "localhost")] + [(ip, n) for n, ip in self.hosts.items()])
        binds = [(etc, "/etc/hosts", True)]
        volumes = {v["name"]: v for v in pod["spec"].get("volumes", [])}
        for mount in container.spec.get("volumeMounts", []):
            volume = volumes[mount["name"]]
            source = volume["hostPath"]["path"] if "hostPath" in volume else self.volume(
                pod, volume, "%s.%s" % (container.bundle, volume["name"]))
            binds.append((source, mount["mountPath"], mount.get("readOnly", False)))
        return mounts + [{"destination": where, "type": "bind", "source": source,
                          "options": ["rbind", "rprivate", "ro" if read_only else "rw"]}
                         for source, where, read_only in binds]

    def config(self, pod, container, entry, network):
        spec, context = container.spec, container.spec.get("securityContext", {})
        user = context.get("runAsUser", 0)
        if context.get("runAsNonRoot") and user == 0:
            raise RuntimeError("%s would run as root" % container.name)
        if context.get("privileged"):
            raise RuntimeError("privileged containers are not made here")
        # A control group namespace is what nodes with cgroup v2 give.
        kinds = ["mount", "ipc", "uts", "cgroup"]
        kinds += [] if pod["spec"].get("hostPID") else ["pid"]
        limit = spec.get("resources", {}).get("limits", {}).get("memory")
        caps = capabilities(context)
        config = {
            "ociVersion": "1.0.2",
            "hostname": pod["metadata"]["name"],
            "root": {"path": "rootfs", "readonly": context.get("readOnlyRootFilesystem", False)},
            "process": {
                "user": {"uid": user, "gid": user}, "cwd": "/",
                "args": (spec.get("command") or entry) + spec.get("args", []),
                "env": self.environment(pod, spec),
                "capabilities": {kind: caps for kind in ("bounding", "effective", "permitted")},
                "noNewPrivileges": not context.get("allowPrivilegeEscalation", True)},
            "mounts": self.mounts(pod, container),
            "linux": {
                "namespaces": [{"type": kind} for kind in kinds] +
                              [{"type": "network", "path": network}],
                "cgroupsPath": container.cgroup,
                "resources": {"devices": [{"allow": False, "access": "rwm"}],
                              **({"memory": {"limit": memory_bytes(limit)}} if limit else {})},
                "maskedPaths": MASKED, "readonlyPaths": READ_ONLY}}
        if context.get("seccompProfile", {}).get("type") == "RuntimeDefault":
            config["linux"]["seccomp"] = json.loads(run(self.seccomp, *caps).stdout)
        return config

    # Its life

    def start(self, pod, reported=True):
        """Create @pod at the API server, start its containers, and report them running."""
        pod["spec"]["nodeName"] = self.node
        pod = self.cluster.create(pod)
        name = pod["metadata"]["name"]
        network, ip = self.network()
        if pod["metadata"].get("labels", {}).get("app.kubernetes.io/name"):
            self.hosts[pod["metadata"]["labels"]["app.kubernetes.io/name"]] = ip
        made = [self.run(pod, spec, name, network) for spec in pod["spec"]["containers"]]
        if not reported:
            return pod, made
        self.cluster.set_status(
            {"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]},
            {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "containerStatuses": [
                {"name": c.name, "image": c.spec["image"], "imageID": c.spec["image"],
                 "containerID": "containerd://" + c.id, "ready": True, "restartCount": 0,
                 "started": True, "state": {"running": {}}} for c in made]})
        return pod, made

    def run(self, pod, spec, name, network):
        container = Container(self, pod, spec, name)
        image, entry = self.images[spec["image"]]
        rootfs = os.path.join(container.bundle, "rootfs")
        layers = [container.bundle + "." + n for n in ("upper", "work")]
        for folder in [rootfs, *layers]:
            os.makedirs(folder)
        run("mount", "-t", "overlay", "overlay", "-o", "lowerdir=%s,upperdir=%s,workdir=%s" %
            (image, *layers), rootfs)
        config = self.config(pod, container, entry, network)
        with open(container.bundle + "/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f, indent=1)
        with open(container.log, "w", encoding="utf-8") as log:
            container.process = subprocess.Popen(
                [*self.runc, "run", "--bundle", container.bundle, container.id],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.containers.append(container)
        return container

    def stop(self, container, seconds=30):
        """As a pod is ended: SIGTERM, then SIGKILL. Returns the exit status."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            subprocess.run([*self.runc, "kill", container.id, str(int(sign))],
                           capture_output=True, check=False)
            try:
                container.process.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                pass
        subprocess.run([*self.runc, "delete", "--force", container.id], capture_output=True,
                       check=False)
        return container.process.returncode

    def stop_all(self):
        for container in reversed(self.containers):
            if container.process.poll() is None:
                self.stop(container, 10)
        for name in self.networks:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        for slice_path in {pod_slice(c.pod) for c in self.containers}:
            remove_groups(slice_path)
