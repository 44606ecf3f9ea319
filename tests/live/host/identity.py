#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which process, container and service do samples belong to? Live, in containers and namespaces
made for the test.

    identity.py --otelprof PROGRAM --dir DIR [CELL...]

Prints "ok|FAIL|skip identity CELL: what". What is expected was decided when the scene was
set: which process was put into which control group, namespace and environment. Cell "many"
has 2,000 processes in 200 containers and prints what they cost. Needs root.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import build  # noqa: E402
import check  # noqa: E402
import otlp  # noqa: E402
import suite  # noqa: E402

COMMAND_LINE = 1 << 4
NO_HOST = 1 << 7
MANY_PROCESSES = 2000
MANY_CONTAINERS = 200
PHASES = 4
EXEC_RUNS = 60


class Identity(suite.Run):
    suite = "identity"

    def library(self):
        return os.path.join(os.path.dirname(os.path.abspath(self.args.otelprof)),
                            "../../lib/libotelprof.so")

    def profile(self, name, options, setup="", unshare=()):
        """Profile by the library while the caller's scene runs. @setup: shell code that is
        run before, inside the namespaces of @unshare. Returns (capture, figures)."""
        out = self.path("identity-%s.otlp" % name)
        command = [sys.executable, os.path.join(HERE, "library.py"), self.library(), out,
                   json.dumps(options)]
        if unshare or setup:
            command = ["unshare", *unshare, "sh", "-c", setup + '\nexec "$@"', "sh", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        lines = done.stdout.strip().splitlines()
        if done.returncode or not lines:
            raise RuntimeError("exit %d: %s" % (done.returncode, done.stderr[-300:]))
        figures = json.loads(lines[-1])
        if "error" in figures:
            raise RuntimeError(figures["error"])
        return otlp.read_file(out), figures


class Cgroups:
    """Folders below a cgroup mount; v2's where there is one."""

    def __init__(self):
        self.made = []
        with open("/proc/mounts", encoding="utf-8") as f:
            mounts = [line.split() for line in f]
        found = [m[1] for m in mounts if m[2] == "cgroup2"]
        found += [m[1] for m in mounts if m[2] == "cgroup"]
        if not found:
            raise suite.Skip("no cgroup mount")
        self.mount = found[0]

    def make(self, path):
        """The folder of @path, relative to the mount. Raises suite.Skip where that may not be."""
        here = self.mount
        for part in path.strip("/").split("/"):
            here = os.path.join(here, part)
            if os.path.isdir(here):
                continue
            try:
                os.mkdir(here)
            except OSError as e:
                raise suite.Skip("no control group can be made: %s" % e) from e
            self.made.append(here)
        return here

    @staticmethod
    def join(folder, pid=0):
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write("%d" % pid)

    def remove(self):
        for folder in reversed(self.made):
            for _ in range(50):
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(0.1)  # its last process is still exiting


def pod_path(uid, container_id):
    """The cgroup path that the kubelet's systemd driver and containerd give a pod."""
    return ("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/"
            "cri-containerd-%s.scope" % (uid.replace("-", "_"), container_id))


def random_id():
    return uuid.uuid4().hex + uuid.uuid4().hex


def start(command, folder=None, env=None, wrap=()):
    """Start a program that says "ready PID", inside the control group of @folder."""
    def enter():
        if folder:
            Cgroups.join(folder)
    return suite.start(*wrap, *command, preexec_fn=enter, env={**os.environ, **(env or {})})


def compile_who(folder):
    out = os.path.join(folder, "who")
    source = os.path.join(HERE, "programs", "who.c")
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
        done = subprocess.run(["gcc", "-O2", "-g", "-Wall", "-D_GNU_SOURCE", source, "-o", out],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
    return out


def resources(capture, pid):
    """The different resources of a process's samples, and how many samples it has."""
    found = {}
    count = 0
    for s in capture.samples:
        if s.pid == pid:
            found[json.dumps(s.resource, sort_keys=True)] = s.resource
            count += s.count
    return list(found.values()), count


def expect(result, capture, pid, what, **wanted):
    """All samples of @pid are of one resource, which has @wanted; None: it must not have it.
    Keys with '_' for '.'."""
    found, count = resources(capture, pid)
    result.need(count >= 20, "%s: %d samples" % (what, count))
    if len(found) != 1:
        result.problems.append("%s: %d resources" % (what, len(found)))
    for key, value in wanted.items():
        key = key.replace("__", "\0").replace("_", ".").replace("\0", "_")
        for resource in found:
            if resource.get(key) != value:
                result.problems.append("%s: %s is %r, not %r" %
                                       (what, key, resource.get(key), value))
    return found[0] if found else {}


def cell_containers(identity, name):
    """One binary in two containers, one without: the stacks are equal, the resources not."""
    program = identity.program("c-gcc")
    groups = Cgroups()
    ids = [random_id(), random_id()]
    uids = [str(uuid.uuid4()), str(uuid.uuid4())]
    processes = []
    try:
        folders = [groups.make(pod_path(u, i)) for u, i in zip(uids, ids)] + [None]
        processes = [start([program, suite.LONG], folder) for folder in folders]
        capture, _ = identity.profile(name, {"pids": [p.pid for p in processes]})
    finally:
        suite.stop(processes)
        groups.remove()
    result = check.Result()
    for process, cid, uid in zip(processes, [*ids, None], [*uids, None]):
        expect(result, capture, process.pid, "container %s" % str(cid)[:8], container_id=cid,
               k8s_pod_uid=uid, service_name="c-gcc", process_executable_name="c-gcc",
               process_executable_path=program, container_name=None, process_vpid=None)
    identity.judge(name, result, check.check_rules(capture))


def cell_moved(identity, name):
    """A process moves into a container while it is profiled; no event announces it."""
    program = identity.program("c-gcc")
    groups = Cgroups()
    if "cgroup2" not in open("/proc/mounts", encoding="utf-8").read():
        raise suite.Skip("no cgroup v2, whose ids samples carry")
    cid = random_id()
    process = None
    try:
        folder = groups.make("docker/" + cid)
        process = start([program, suite.LONG])
        mover = subprocess.Popen(["sh", "-c", 'sleep 3; echo %d >"%s/cgroup.procs"' %
                                  (process.pid, folder)])
        capture, _ = identity.profile(name, {"pids": [process.pid], "seconds": 6})
        mover.wait()
    finally:
        if process:
            suite.stop([process])
        groups.remove()
    result = check.Result()
    found, _ = resources(capture, process.pid)
    result.need({r.get("container.id") for r in found} == {None, cid},
                "both before and after: %s" % [r.get("container.id") for r in found])
    late = max((s for s in capture.samples if s.pid == process.pid),
               key=lambda s: max(s.timestamps))
    result.need(late.resource.get("container.id") == cid, "the last sample is in it")
    identity.judge(name, result)


def cell_exec(identity, name):
    """Each process executes four programs, one after the other, for 40 ms each. No sample may have
    the name, the arguments or the service of a program other than that of its stack."""
    who = compile_who(identity.args.dir)
    folder = suite.fresh_folder(identity.path("exec-links"))
    for k in range(PHASES):
        os.link(who, os.path.join(folder, "p%d" % k))
    driver = subprocess.Popen(
        ["sh", "-c", "sleep 2; i=0; while [ $i -lt %d ]; do OTEL_SERVICE_NAME=svc-0 "
         '"$0/p0" phase "$0" 0 7 40; i=$((i+1)); done' % EXEC_RUNS, folder])
    try:
        capture, _ = identity.profile(name, {"hz": 999, "seconds": 16, "window": 0.7,
                                             "flags": COMMAND_LINE})
    finally:
        driver.kill()
        driver.wait()
    result = check.Result()
    wrong, right, named = [], 0, 0
    for s in capture.samples:
        phase = next((f.name[-1] for f in s.frames if re.fullmatch(r"phase_[0-3]", f.name)), None)
        if phase is None or not s.exe.startswith("p"):
            continue
        args = s.resource.get("process.command_args")
        service = s.resource.get("service.name")
        fine = s.exe == "p" + phase and (args is None or args[0].endswith("/p" + phase)) and \
            service in ("svc-" + phase, "p" + phase)
        right += fine * s.count
        named += (service == "svc-" + phase) * s.count
        if not fine:
            wrong.append("phase %s: exe %s, service %s, args %s" % (phase, s.exe, service, args))
    result.need(right > 1000, "%d samples of the right program" % right)
    result.need(not wrong, "%d samples of a wrong one: %s" % (len(wrong), wrong[:2]))
    # A program that ends before its environment is read, on a busy machine, has no service.
    result.need(named >= 0.5 * right, "%d of them with what the process says itself" % named)
    identity.judge(name, result)


def cell_short(identity, name):
    """Processes of 10 ms in a container, many of which exit before they are examined: all of them
    are in the container, and others of the same file outside of it are not."""
    who = compile_who(identity.args.dir)
    folder = suite.fresh_folder(identity.path("short-links"))
    for link in ("inside", "outside"):
        os.link(who, os.path.join(folder, link))
    groups = Cgroups()
    cid, uid = random_id(), str(uuid.uuid4())
    loop = 'sleep 1.5; while :; do "$0" phase x 0 0 10; done'
    drivers = []
    try:
        group = groups.make(pod_path(uid, cid))
        for link, join in (("inside", lambda: (os.setsid(), Cgroups.join(group))),
                           ("outside", os.setsid)):
            drivers.append(subprocess.Popen(["sh", "-c", loop, os.path.join(folder, link)],
                                            preexec_fn=join))
        capture, _ = identity.profile(name, {"hz": 999, "seconds": 6})
    finally:
        for driver in drivers:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        groups.remove()
    result = check.Result()
    for link, wanted in (("inside", (cid, uid)), ("outside", (None, None))):
        samples = [s for s in capture.samples if s.exe == link]
        pids = {s.pid for s in samples}
        wrong = [s for s in samples if (s.resource.get("container.id"),
                                        s.resource.get("k8s.pod.uid")) != wanted]
        result.need(len(pids) >= 20, "%d processes %s" % (len(pids), link))
        result.need(not wrong, "%d of %d samples elsewhere%s" % (
            len(wrong), len(samples), ": %s" % [(s.resource, s.timestamps[0], s.frames[0].name)
                                                for s in wrong[:2]] if wrong else ""))
    identity.judge(name, result)


def cell_pid_namespace(identity, name):
    """A process in a PID namespace of its own has the pid that we see, and its own pid."""
    program = identity.program("c-gcc")
    process = start([program, suite.LONG], wrap=["unshare", "-p", "-f", "--kill-child"])
    child = 0
    try:
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid),
                  encoding="ascii") as f:
            child = int(f.read().split()[0])
        capture, _ = identity.profile(name, {"pids": [child]})
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
        suite.stop([process])
    result = check.Result()
    expect(result, capture, child, "from outside", process_pid=child, process_vpid=1,
           process_executable_name="c-gcc", service_name="c-gcc")
    identity.judge(name, result)


SIDECAR = """
"$0" %s >/tmp/.identity-$$ &
target=$!
sleep 0.3
"$@"
status=$?
kill -9 $target
rm -f /tmp/.identity-$$
exit $status
"""


def cell_sidecar(identity, name):
    """Profiler and target share a PID namespace that is not the host's: pids are those of the
    namespace, and no other process of the host is seen."""
    program = identity.program("c-gcc")
    outside = start([program, suite.LONG])
    out = identity.path("identity-sidecar.otlp")
    command = [sys.executable, os.path.join(HERE, "library.py"), identity.library(), out,
               json.dumps({"seconds": 3})]
    try:
        done = subprocess.run(
            ["unshare", "-p", "-f", "-m", "--mount-proc", "sh", "-c", SIDECAR % suite.LONG,
             program, *command], capture_output=True, text=True, timeout=60)
    finally:
        suite.stop([outside])
    result = check.Result()
    if done.returncode or '"error"' in done.stdout:
        result.problems.append("exit %d: %s" % (done.returncode,
                                                (done.stdout + done.stderr)[-300:]))
        return identity.judge(name, result)
    capture = otlp.read_file(out)
    found = {s.pid for s in capture.samples if s.exe == "c-gcc"}
    result.need(len(found) == 1 and max(found, default=99) < 20,
                "the target alone, by its pid in here: %s" % found)
    for pid in found:
        expect(result, capture, pid, "from inside", service_name="c-gcc",
               process_executable_path=program)
        names = {f.name for s in capture.samples if s.pid == pid for f in s.frames}
        result.need({"f24", "f1", "main"} <= names, "its frames have names")
    identity.judge(name, result)


def cell_procfs_root(identity, name):
    """/proc of the host at another place and read only, as a DaemonSet mounts it; in /proc
    itself there is nothing of the target."""
    program = identity.program("c-gcc")
    root = suite.fresh_folder(identity.path("host-proc"))
    process = start([program, suite.LONG], env={"OTEL_SERVICE_NAME": "by-another-root"})
    setup = ("mount --bind /proc {0} && mount -o remount,ro,bind {0} && "
             "mount -t tmpfs none /proc/{1} && mount --bind {0}/sys /proc/sys").format(
                 root, process.pid)
    # In another mount namespace the kernel shows another path if / is not one of the
    # machine's mounts (chroot).
    path = subprocess.run(["unshare", "-m", "readlink", "/proc/%d/exe" % process.pid],
                          capture_output=True, text=True, check=True).stdout.strip()
    try:
        capture, _ = identity.profile(name, {"pids": [process.pid], "procfs_root": root},
                                      setup, ["-m"])
    finally:
        suite.stop([process])
    result = check.Result()
    result.need(path.endswith(program), "the kernel calls it %s" % path)
    expect(result, capture, process.pid, "by another root", service_name="by-another-root",
           process_executable_path=path)
    identity.judge(name, result)


def cell_hidden(identity, name):
    """The profiler is in a cgroup namespace and sees "/" for its own container: the files
    that Docker mounts over /etc/hostname tell which. Of a pod they tell the pod alone."""
    program = identity.program("c-gcc")
    cid, sandbox, uid = random_id(), random_id(), str(uuid.uuid4())
    top = suite.fresh_folder(identity.path("var"))
    docker = os.path.join(top, "docker/containers", cid)
    pod = os.path.join(top, "kubelet/pods", uid)
    box = os.path.join(top, "cri/sandboxes", sandbox)
    for folder in (docker, pod, box):
        os.makedirs(folder)
    for path in (docker + "/hostname", pod + "/etc-hosts", box + "/hostname"):
        with open(path, "w", encoding="ascii") as f:
            f.write("x\n")
    groups = Cgroups()
    processes = []
    try:
        folder = groups.make("some-group")
        for mounts in ([docker + "/hostname", "/etc/hostname"],
                       [pod + "/etc-hosts", "/etc/hosts", box + "/hostname", "/etc/hostname"],
                       []):
            setup = "".join("mount --bind %s %s && " % pair
                            for pair in zip(mounts[::2], mounts[1::2]))
            processes.append(start([program, suite.LONG], folder, wrap=[
                "unshare", "-m", "sh", "-c", setup + 'exec "$@"', "sh"]))
        setup = 'echo 0 >"%s/cgroup.procs" && exec unshare -C "$@"' % folder
        capture, _ = identity.profile(name, {"pids": [p.pid for p in processes]}, setup, ["-m"])
    finally:
        suite.stop(processes)
        groups.remove()
    result = check.Result()
    expect(result, capture, processes[0].pid, "Docker's", container_id=cid, k8s_pod_uid=None)
    expect(result, capture, processes[1].pid, "a pod's", container_id=None, k8s_pod_uid=uid)
    expect(result, capture, processes[2].pid, "none", container_id=None, k8s_pod_uid=None)
    identity.judge(name, result)


def cell_context(identity, name):
    """A process context appears late and then changes: each window has the context of its time."""
    who = compile_who(identity.args.dir)
    process = start([who, "context", "first", "second", "10"],
                    env={"OTEL_SERVICE_NAME": "by-environment",
                         "OTEL_RESOURCE_ATTRIBUTES": "team=red%2Cblue,service.name=no,"
                                                     "container.id=forged,process.pid=1"})
    try:
        capture, _ = identity.profile(name, {"pids": [process.pid], "seconds": 9,
                                             "window": 0.5})
    finally:
        suite.stop([process])
    samples = sorted((s for s in capture.samples if s.pid == process.pid),
                     key=lambda s: min(s.timestamps))
    order = []
    for s in samples:
        if not order or order[-1] != s.resource.get("service.name"):
            order.append(s.resource.get("service.name"))
    result = check.Result()
    result.need(order == ["by-environment", "first", "second"], "names in order: %s" % order)
    for s in samples[:1] + samples[-1:]:
        result.need(s.resource.get("team") == "red,blue", "team is %s" % s.resource.get("team"))
        result.need(s.resource["process.pid"] == process.pid and
                    "container.id" not in s.resource, "what is observed stands")
    identity.judge(name, result)


def cell_asked_for(identity, name):
    """Command line and environment are exported only on request, and only what was requested."""
    program = identity.program("c-gcc")
    process = start([program, suite.LONG], env={"APP_MODE": "blue", "APP_SECRET": "hush"})
    pids = {"pids": [process.pid]}
    try:
        without, _ = identity.profile(name, pids)
        asked, _ = identity.profile(name, {**pids, "flags": COMMAND_LINE | NO_HOST,
                                           "environment": ["APP_MODE", "NOT_SET"],
                                           "service_name": ""})
    finally:
        suite.stop([process])
    result = check.Result()
    resource = expect(result, without, process.pid, "not asked", process_command__args=None,
                      service_name="c-gcc", os_type="linux", host_name=socket.gethostname())
    result.need(not any("environment" in k for k in resource), "no variable")
    resource = expect(result, asked, process.pid, "asked",
                      process_command__args=[program, suite.LONG], service_name=None,
                      host_name=None, host_id=None, host_arch=None, os_type=None)
    variables = {k: v for k, v in resource.items() if "environment" in k}
    result.need(variables == {"process.environment_variable.APP_MODE": "blue"},
                "variables: %s" % variables)
    identity.judge(name, result)


def wait_for_children(count, process, lines):
    for line in process.stdout:
        if line.startswith("ready"):
            return
        lines.append(line)
    raise RuntimeError("the fleet did not start: %d of %d" % (len(lines), count))


def cell_many(identity, name):
    """2,000 processes in 200 containers: each has its own resource. Prints what that costs."""
    who = compile_who(identity.args.dir)
    groups = Cgroups()
    pods = [(str(uuid.uuid4()), random_id()) for _ in range(MANY_CONTAINERS)]
    listing = identity.path("folders")
    process = None
    lines = []
    try:
        with open(listing, "w", encoding="ascii") as f:
            for pod in pods:
                f.write(groups.make(pod_path(*pod)) + "\n")
        process = subprocess.Popen([who, "fleet", str(MANY_PROCESSES), "250", listing],
                                   stdout=subprocess.PIPE, text=True)
        wait_for_children(MANY_PROCESSES, process, lines)
        time.sleep(3)
        capture, figures = identity.profile(name, {"hz": 999, "seconds": 20, "window": 5.0})
    finally:
        if process:
            suite.stop([process])
        groups.remove()
    result = check.Result()
    number_of = dict(map(int, line.split()) for line in lines)
    seen = judge_many(result, capture, number_of, pods)
    start_, windows = figures["otelprof_start"], figures["windows"]
    learnt = windows[0]["user"] + windows[0]["system"]
    later = windows[-1]["user"] + windows[-1]["system"]
    identity.judge(name, result, check.check_rules(capture))
    print("    start with %d processes more: %.0f ms (%.0f ms of CPU time, %.0f us a process)" % (
        MANY_PROCESSES, start_["seconds"] * 1e3, (start_["user"] + start_["system"]) * 1e3,
        (start_["user"] + start_["system"]) * 1e6 / MANY_PROCESSES))
    print("    first window of 5 s: %d samples, %.0f ms user, %.0f ms system; the last one: "
          "%d samples, %.0f ms user, %.0f ms system; a process: %.0f us once; memory %.1f MB, at the most %.1f" % (
              windows[0]["samples"], windows[0]["user"] * 1e3, windows[0]["system"] * 1e3,
              windows[-1]["samples"], windows[-1]["user"] * 1e3, windows[-1]["system"] * 1e3,
              (learnt - later) * 1e6 / max(1, seen), (figures["rss_kb"] - figures["rss_before_kb"]) / 1024,
              (figures["max_rss_kb"] - figures["rss_before_kb"]) / 1024), flush=True)


def judge_many(result, capture, number_of, pods):
    wrong = []
    seen = set()
    for s in capture.samples:
        number = number_of.get(s.pid)
        if number is None:
            continue
        uid, cid = pods[number % len(pods)]
        r = s.resource
        seen.add(s.pid)
        if (r.get("container.id"), r.get("k8s.pod.uid"), r.get("service.name"), s.exe) != \
                (cid, uid, "svc-%d" % number, "who"):
            wrong.append(json.dumps(r))
    # The machine decides how many get a turn: nearly all if it has nothing else to do.
    result.need(len(seen) >= 0.05 * len(number_of), "%d of %d processes were sampled" %
                (len(seen), len(number_of)))
    result.need(not wrong, "%d samples with another's resource: %s" % (len(wrong), wrong[:1]))
    return len(seen)


CELLS = {
    "containers": cell_containers,
    "moved": cell_moved,
    "exec": cell_exec,
    "short": cell_short,
    "pid-namespace": cell_pid_namespace,
    "sidecar": cell_sidecar,
    "procfs-root": cell_procfs_root,
    "hidden": cell_hidden,
    "context": cell_context,
    "asked-for": cell_asked_for,
    "many": cell_many,
}


def main():
    identity = Identity(suite.parser("otelprof").parse_args())
    if os.geteuid() != 0 or not shutil.which("unshare"):
        identity.say("skip", "all", "not root, or no unshare")
        return identity.status()
    return identity.cells(CELLS)


if __name__ == "__main__":
    sys.exit(main())
