# SPDX-License-Identifier: Apache-2.0
"""Cells of golang.py for Go programs that are not one executable of a known version: half of the
chain in a plugin; a version that nobody knows; a function table that nobody can read."""

import os
import re
import shutil
import subprocess
from dataclasses import replace

import check
import suite
from cells import CELLS, GO_LEAVES

SPLIT = 12  # f1 to this one stand in the plugin
PLUGIN = r"plugin/unnamed-[0-9a-f]+"
VERSION = re.compile(rb"(\xff Go buildinf:.{18}.go1\.)(\d\d)", re.S)
TABLE = b"\xf1\xff\xff\xff\x00\x00\x01\x08"  # Go 1.20 to 1.27
ODD_TABLE = b"\xee\xff\xff\xff\x00\x00\x01\x08"
CHECK = re.compile(rb"(\x83[\xf8-\xff])\xf1", re.S)  # cmp reg, -15
HEAD = """
import "unsafe"

//go:noinline
func Enter(j unsafe.Pointer) { f%d((*job)(j)) }
""" % SPLIT
# What stands before step() has another frame.
FAULT = """
//go:noinline
func beforeStep(a int) int { var b [40]int; b[a&31] = a; return b[a&7] + a }

//go:noinline
func step(p *int) int { return *p }

//go:noinline
func faulting(j *job) {
	defer func() {
		f%d(j)
		recover()
	}()
	var none *int
	step(none)
	beforeStep(len(os.Args))
}
""" % SPLIT
FAULT_STACK = (r"main\.faulting\.func1\nruntime\.gopanic\n(?:runtime\.panicmem\n)?runtime\.sigpanic\n"
               r"main\.step\nmain\.faulting\n")
CALL = """
var enter func(unsafe.Pointer)

func load() {
	p, err := plugin.Open(os.Args[2])
	if err != nil {
		panic(err)
	}
	f, err := p.Lookup("Enter")
	if err != nil {
		panic(err)
	}
	enter = f.(func(unsafe.Pointer))
}

func main() {
	load()
"""


def functions(text):
    """name → text of each function of chain.go, with what stands before it."""
    found = {}
    for part in re.finditer(r"(?:^//go:noinline\n)?^func (\w+)\(.*?^}\n", text, re.M | re.S):
        found[part.group(1)] = part.group(0)
    return found


def halves(text):
    """chain.go as two programs: (main's, the plugin's)."""
    parts = functions(text)
    inner = ["leaf_a", "leaf_b", "leaf_c"] + ["f%d" % n for n in range(1, SPLIT + 1)]
    main = text
    for name in inner:
        main = main.replace(parts[name], "")
    main = main.replace("f%d(j)" % SPLIT, "enter(unsafe.Pointer(j))")
    main = main.replace("func main() {\n", CALL).replace('import (\n', 'import (\n\t"plugin"\n')
    own = ["cpuNs", *inner]
    head = text[:text.index("func cpuNs")].replace('\t"fmt"\n', "").replace('\t"os"\n', "")
    head = head.replace('\t"runtime"\n', "").replace('\t"strconv"\n', "")
    job = re.search(r"^type job struct.*?^}\n", text, re.M | re.S).group(0)
    return main, head + job + HEAD.replace('import "unsafe"\n', "") + \
        "\n".join(parts[name] for name in own) + "\nfunc main() {}\n"


def build(run, go, source, text, *flags):
    folder = suite.fresh_folder(run.path(source))
    path = os.path.join(folder, source + ".go")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    out = os.path.join(folder, source)
    done = go("local", "build", *flags, "-o", out, path)
    if done.returncode:
        raise suite.Skip("not built: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    return out


def plugin_cell():
    own = CELLS["go"]
    pattern = own.pattern.replace("main\\.f%d\n" % SPLIT, PLUGIN + r"\.f%d" "\n" % SPLIT +
                                  PLUGIN + r"\.Enter\n")
    for n in range(1, SPLIT):
        pattern = pattern.replace("main\\.f%d\n" % n, PLUGIN + r"\.f%d" "\n" % n)
    for leaf in GO_LEAVES.values():
        pattern = pattern.replace(leaf, PLUGIN + r"\." + leaf.split(".")[1])
    pattern = pattern.replace(r"main\.cpuNs", PLUGIN + r"\.cpuNs")
    # Threads of a program with cgo end in C.
    others = r"(?:(?!main\.|plugin/)[^\n]+\n)*"
    return replace(own, pattern=pattern, others=others,
                   leaves={k: PLUGIN + r"\.leaf_" + k for k in GO_LEAVES})


def judge(run, name, process, known, notes=()):
    try:
        capture, text = run.record_process(name, process.pid)
    finally:
        suite.stop([process])
    result = check.check_chain(capture, known, process.pid)
    result.notes[:] = ["; ".join(result.notes + list(notes))]
    return capture, text, result


def plugin(run, name, go, source):
    with open(source, encoding="utf-8") as f:
        main, inner = halves(f.read())
    library = build(run, go, "inner", inner, "-buildmode=plugin")
    program = build(run, go, "outer", main)
    process = suite.start(program, suite.LONG, library)
    capture, text, result = judge(run, name, process, plugin_cell())
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def odd(run, go, name, source, table):
    """The program built, and patched to be of Go 1.99, with another function table if @table."""
    with open(source, encoding="utf-8") as f:
        path = build(run, go, name, f.read())
    with open(path, "rb") as f:
        image = bytearray(f.read())
    if len(VERSION.findall(image)) != 1:
        raise suite.Skip("its version is not where it is expected")
    image[:] = VERSION.sub(rb"\g<1>99", bytes(image))
    if table:
        change_table(path, image)
    out = path + "-odd"
    with open(out, "wb") as f:
        f.write(image)
    shutil.copymode(path, out)
    return out


def change_table(path, image):
    """Another magic number in the table, and in the code by which the runtime checks it."""
    done = subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True)
    loads = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True)
    place = next((line.split()[:2] for line in done.stdout.splitlines()
                  if line.endswith(" runtime.moduledataverify1")), None)
    segments = [[int(word, 16) for word in line.split()[1:6]]
                for line in loads.stdout.splitlines() if line.strip().startswith("LOAD")]
    if not place or image.count(TABLE) != 1:
        raise suite.Skip("its function table is not where it is expected")
    address, size = (int(word, 16) for word in place)
    offset = next(s[0] + address - s[1] for s in segments if s[1] <= address < s[1] + s[3])
    code = bytes(image[offset:offset + size])
    code, count = CHECK.subn(lambda found: found.group(1) + ODD_TABLE[:1], code)
    if count != 1:
        raise suite.Skip("its runtime does not check the table as expected")
    image[offset:offset + size] = code
    at = image.index(TABLE)
    image[at:at + len(TABLE)] = ODD_TABLE


def fault(run, name, go, source):
    """A nil pointer is read at a function's first instruction, and the rest runs in a deferred call."""
    with open(source, encoding="utf-8") as f:
        text = f.read()
    link = functions(text)["f%d" % (SPLIT + 1)]
    text = text.replace(link, link.replace("f%d(j)" % SPLIT, "faulting(j)")) + FAULT
    process = suite.start(build(run, go, "fault", text), suite.LONG)
    own = CELLS["go"]
    known = replace(own, pattern=own.pattern.replace(
        "main\\.f%d\n" % (SPLIT + 1), FAULT_STACK + "main\\.f%d\n" % (SPLIT + 1)))
    capture, text, result = judge(run, name, process, known)
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def unknown(run, name, go, source):
    """What is not known is not needed: stacks and lines are whole."""
    process = suite.start(odd(run, go, name, source, False), suite.LONG)
    capture, text, result = judge(run, name, process, CELLS["go"])
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def unknown_table(run, name, go, source):
    """Its stacks are walked by its code; a warning names the file and says why."""
    program = odd(run, go, name, source, True)
    process = suite.start(program, suite.LONG)
    # Where a thread of the runtime's begins, nothing says so any more.
    known = replace(CELLS["go"], others=r"(?:(?!main\.)[^\n]+\n)*")
    capture, text, result = judge(run, name, process, known)
    said = [line for line in text.splitlines() if "Go function table" in line]
    result.need(len(said) == 1 and os.path.basename(program) in said[0],
                "what is said of the table: %s" % said)
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))
