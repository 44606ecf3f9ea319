# SPDX-License-Identifier: Apache-2.0
"""
Say where the lines of code objects are, as this CPython itself decodes its tables:

  lines.py FILES   of so many files of its standard library

A code object is: "code FIRSTLINE TABLE-IN-HEX", then "START END LINE" for each range of
bytes of its bytecode (LINE 0: it has none), then "end".
"""
import dis
import os
import sys
import sysconfig


def ranges(code):
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            yield start, end, line or 0
        return
    starts = list(dis.findlinestarts(code))
    ends = [start for start, line in starts[1:]] + [len(code.co_code)]
    for (start, line), end in zip(starts, ends):
        yield start, end, line


def say(code):
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    print("code", code.co_firstlineno, table.hex() or "-")
    for start, end, line in ranges(code):
        print(start, end, line)
    print("end")
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            say(constant)


def odd_sources():
    # far lines, lines that go back, many lines in one statement, no lines at all
    yield "def f():\n" + "\n" * 500 + "    return (g(\n" + "1,\n" * 200 + "))\n"
    yield "x = [\n" + "".join("y%d,\n" % i for i in range(300)) + "]\n"
    yield "f(a,\n\n\n b)(\n\n\n c)(\n\n d)\n" + "\n" * 70000 + "z = 1\n"
    yield "async def f():\n  async with a as b:\n    async for c in b:\n      yield c\n"
    yield "try:\n  x\nexcept E as e:\n  y\nfinally:\n  z\nfor i in a:\n  if i: continue\n"
    yield "x = " + "+".join("a%d" % i for i in range(400)) + "\n"
    yield ""


def main():
    folder = sysconfig.get_paths()["stdlib"]
    files = sorted(f for f in os.listdir(folder) if f.endswith(".py"))
    step = max(1, len(files) // int(sys.argv[1]))
    for source in odd_sources():
        say(compile(source, "odd.py", "exec"))
    for name in files[::step]:
        with open(os.path.join(folder, name), "rb") as f:
            say(compile(f.read(), name, "exec", dont_inherit=True))
    print("done", "%d.%d" % sys.version_info[:2])


main()
