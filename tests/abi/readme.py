# SPDX-License-Identifier: Apache-2.0
"""The README's example is lines of examples/minimal.c, which is built and run."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text()
code = re.search(r"```c\n(.*?)```", readme, re.S).group(1)
lines = iter([line.strip() for line in (root / "examples/minimal.c").read_text().split("\n")])
wrong = [line for line in map(str.strip, code.splitlines())
         if line and line != "..." and line not in lines]
print("\n".join("README.md: not in examples/minimal.c, or not there: " + line
                for line in wrong) or "the example in README.md holds")
sys.exit(bool(wrong))
