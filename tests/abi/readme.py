# SPDX-License-Identifier: Apache-2.0
"""The README's example is examples/minimal.c, which is built and run, and its links lead
somewhere."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text()
code = re.search(r"```c\n(.*?)```", readme, re.S).group(1)
example = (root / "examples/minimal.c").read_text().split("\n", 1)[1]
wrong = []
if code.strip() != example.strip():
    wrong.append("the example in README.md is not examples/minimal.c")
for page in [root / "README.md", *(root / "docs").rglob("*.md")]:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        if not (page.parent / link).exists():
            wrong.append(f"{page.relative_to(root)}: no such file: {link}")
print("\n".join(wrong) or "README.md and the links of docs/ hold")
sys.exit(bool(wrong))
