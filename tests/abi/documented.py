# SPDX-License-Identifier: Apache-2.0
"""Every exported call has a comment before its prototype and stands in a man page."""
import pathlib
import re
import sys


def main(script, root):
    root = pathlib.Path(root)
    headers = "\n".join(p.read_text() for p in (root / "include/otelprof").glob("*.h"))
    pages = "\n".join(p.read_text() for p in (root / "docs/man").glob("*.3.scd"))
    wrong = []
    for name in re.findall(r"^\s+(otelprof_\w+);", open(script).read(), re.M):
        if not re.search(r"^OTELPROF_API[^;/]*\b%s\(" % name, headers, re.M):
            wrong.append(f"no prototype: {name}")
        if name not in pages:
            wrong.append(f"in no man page of section 3: {name}")
    print("\n".join(wrong) or "all documented")
    return bool(wrong)


sys.exit(main(*sys.argv[1:]))
