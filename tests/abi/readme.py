# SPDX-License-Identifier: Apache-2.0
"""The README's example is examples/minimal.c, which is built and run."""
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
print("\n".join(wrong) or "the example in README.md holds")
sys.exit(bool(wrong))
