# SPDX-License-Identifier: Apache-2.0
"""The shared library exports what its version script names, and nothing else."""
import re
import subprocess
import sys


def main(library, script):
    promised = set(re.findall(r"^\s+(otelprof_\w+);", open(script).read(), re.M))
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                         capture_output=True, text=True).stdout
    exported = {line.split()[2].split("@")[0] for line in out.splitlines()
                if line.split()[1] in "TtBbDdRrWwVv"}
    wrong = [f"not exported: {s}" for s in sorted(promised - exported)]
    wrong += [f"exported without a promise: {s}" for s in sorted(exported - promised)]
    if not promised:
        wrong.append("the version script names nothing")
    print("\n".join(wrong) or f"{len(exported)} symbols")
    return bool(wrong)


sys.exit(main(*sys.argv[1:]))
