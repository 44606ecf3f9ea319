# SPDX-License-Identifier: Apache-2.0
"""The cost of BPF programs, counted by the kernel (sysctl kernel.bpf_stats_enabled)."""
import contextlib
import os
import re

ENABLED = "/proc/sys/kernel/bpf_stats_enabled"


@contextlib.contextmanager
def counted():
    """Make the kernel count inside this context. Root only."""
    with open(ENABLED, encoding="ascii") as f:
        before = f.read()
    with open(ENABLED, "w", encoding="ascii") as f:
        f.write("1")
    try:
        yield
    finally:
        with open(ENABLED, "w", encoding="ascii") as f:
            f.write(before)


def programs(pid):
    """The fields in fdinfo, as text, of each program that process @pid has open."""
    seen = {}
    folder = "/proc/%d/fdinfo" % pid
    for name in os.listdir(folder):
        try:
            with open(os.path.join(folder, name), encoding="ascii") as f:
                row = dict(re.findall(r"^(\w+):\s+(\S+)", f.read(), re.M))
        except OSError:
            continue  # it was closed
        if "run_cnt" in row:
            seen[row["prog_id"]] = row
    return list(seen.values())
