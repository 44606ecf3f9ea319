# SPDX-License-Identifier: Apache-2.0
"""Stacks held against the code that ran: each caller's return address stands behind a call, and a call
with a fixed target leads into its callee, by jumps too. What is not found out so (calls through
registers, jumps through tables) counts as possible."""

import bisect
import collections
import os
import re
import struct
import subprocess
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # where Debian's package puts it
try:
    import capstone
except ImportError:
    capstone = None

INSTRUCTIONS_MAX = 60000  # that are followed from one call
SWEPT_MAX = 1 << 16  # bytes of a function that jumps by a table
CALL_BYTES = (5, 2, 6, 3, 7, 4, 8)
TARGET = re.compile(r"0x[0-9a-f]+$")
RIP = re.compile(r"\[rip ([-+]) (0x[0-9a-f]+|\d+)\]$")
TABLE = re.compile(r"\[r\w+\*8 ")  # with a base it may be a table of other functions
# The unwind data of these does not lead to what called them: a handler's, and that of a stack that grows.
OTHERS = re.compile(r"__restore_rt|__morestack(_non_split)?")
ENDS = ("ret", "hlt", "ud2", "int3", "iretq")
GUESSED = "guessed"
NO_CALL = "no call"
RIGHT, POSSIBLE, WRONG = "right", "possible", "wrong"


class Reach:
    """What a call to @start may run, by jumps."""

    def __init__(self, code, start):
        self.begins, self.ends = set(), set()
        self.open = False  # a jump leads where the code does not say
        self.tables = []  # jumps that lead where a table says
        self.slots = set()  # words of memory through which it jumps
        todo = [start]
        swept = set()
        while todo and len(self.begins) < INSTRUCTIONS_MAX:
            self.follow(code, todo.pop(), todo)
            while self.tables:
                function = code.function(self.tables.pop())
                if function not in swept:
                    swept.add(function)
                    self.sweep(code, function, todo)
        self.open = self.open or bool(todo)

    def sweep(self, code, function, todo):
        """What a table leads to is all of the function that has the jump."""
        if not function or function[1] - function[0] > SWEPT_MAX:
            self.open = True
            return
        at = function[0]
        while at < function[1]:
            self.follow(code, at, todo)
            at = next((at + n for n in range(16, 0, -1) if at + n in self.ends), at + 1)

    def follow(self, code, at, todo):
        before = ""
        while at not in self.begins:
            chunk = list(code.instructions(at))
            if not chunk:
                self.open = True
                return
            for address, size, name, operands in chunk:
                if address in self.begins:
                    return
                self.begins.add(address)
                self.ends.add(address + size)
                at = address + size
                name = name.replace("bnd ", "").replace("notrack ", "")
                if name.startswith(("j", "loop")):
                    if TARGET.match(operands):
                        todo.append(int(operands, 16))
                    else:
                        self.jump(operands, at, before)
                    if name == "jmp":
                        return
                elif name in ENDS:
                    return
                elif name == "mov" and operands.startswith("qword ptr [rsp], r"):
                    self.open = True  # it may return to what it has put there
                before = "%s %s" % (name, operands)

    def jump(self, operands, after, before):
        """A jump through a register or memory. That through a table stays in its function."""
        rip = RIP.search(operands)
        if rip:
            self.slots.add(after + int(rip[1] + rip[2], 0))
        elif TABLE.search(operands) or before.startswith("add %s," % operands):
            self.tables.append(after - 1)
        else:
            self.open = True


class Code:
    """Bytes at addresses."""

    def __init__(self, segments):
        self.segments = segments  # [(address, bytes)]
        self.reaches = {}
        self.machine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)

    def read(self, at, size):
        for start, data in self.segments:
            if start <= at < start + len(data):
                return data[at - start:at - start + size]
        return b""

    def instructions(self, at):
        return self.machine.disasm_lite(self.read(at, 256), at)

    def call_before(self, ra):
        """(its target or None, its operands); None where there is no call."""
        for size in CALL_BYTES:
            found = list(self.machine.disasm_lite(self.read(ra - size, size), ra - size))
            if len(found) == 1 and found[0][1] == size and found[0][2].endswith("call"):
                operands = found[0][3]
                return (int(operands, 16) if TARGET.match(operands) else None), operands
        return None

    def reach(self, at):
        if at not in self.reaches:
            self.reaches[at] = Reach(self, at)
        return self.reaches[at]

    def function(self, at):
        """The bounds of what unwind data calls a function there, or None."""
        return None

    def slot(self, at):
        """Whose address the word at @at has, or None."""
        return None


class File(Code):
    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        self.path = path
        phoff, = struct.unpack_from("<Q", data, 32)
        phsize, phnum = struct.unpack_from("<HH", data, 54)
        loads, frames = [], None
        for i in range(phnum):
            kind, _, offset, vaddr, _, size = struct.unpack_from("<IIQQQQ", data, phoff + i * phsize)
            if kind == 1:
                loads.append((vaddr, data[offset:offset + size]))
            elif kind == 0x6474e550:
                frames = vaddr
        super().__init__(loads)
        self.functions = self.read_functions(frames) if frames else []
        self.starts = [start for start, _ in self.functions]
        self.names = None  # of symbols, by the word that gets their address

    def read_functions(self, at):
        head = self.read(at, 12)
        if len(head) < 12 or head[0] != 1 or head[2] != 3 or head[3] != 0x3b:
            return []
        count, = struct.unpack_from("<I", head, 8)
        table = self.read(at + 12, count * 8)
        out = []
        for start, fde in struct.iter_unpack("<ii", table[:len(table) // 8 * 8]):
            size, = struct.unpack("<I", self.read(at + fde + 12, 4) or b"\0\0\0\0")
            out.append((at + start, at + start + size))
        return sorted(out)

    def function(self, at):
        i = bisect.bisect_right(self.starts, at) - 1
        return self.functions[i] if i >= 0 and at < self.functions[i][1] else None

    def slot(self, at):
        if self.names is None:
            self.names = {}
            text = subprocess.run(["readelf", "-rW", self.path], capture_output=True, text=True,
                                  errors="replace", check=False).stdout
            for line in text.splitlines():
                words = line.split()
                if len(words) >= 5 and re.match(r"R_X86_64_(JUMP_SLO|GLOB_DAT|64)", words[2]):
                    self.names[int(words[0], 16)] = words[4].split("@")[0]
        return self.names.get(at)


class Process:
    """The code of a living process, as it is now."""

    def __init__(self, pid):
        self.files = set()  # (name, path)
        made = []
        with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as f, \
                open("/proc/%d/mem" % pid, "rb", 0) as memory:
            for line in f:
                words = line.rstrip("\n").split(None, 5)
                start, end = (int(n, 16) for n in words[0].split("-"))
                path = words[5] if len(words) > 5 else ""
                if "x" not in words[1]:
                    continue
                if path.startswith("/") and "(deleted)" not in path:
                    self.files.add((os.path.basename(path), "/proc/%d/root%s" % (pid, path)))
                elif not path.startswith("["):
                    made.append((start, self.bytes(memory, start, end - start)))
        self.made = Code(made) if capstone else None

    @staticmethod
    def bytes(memory, start, size):
        try:
            memory.seek(start)
            return memory.read(size)
        except OSError:
            return b""


class Calls:
    """Judges stacks by the code of @processes, {pid: Process}, taken while they live."""

    def __init__(self, processes):
        self.processes = processes
        self.files = {}
        self.pairs = {}
        self.counts = collections.Counter()  # pairs by verdict
        self.seen = collections.Counter()  # (verdict, why, callee, caller)
        for process in processes.values():
            for name, path in process.files:
                self.load(name, path)

    def load(self, name, path):
        """Frames have only the names of files: of two with one name nothing is said."""
        try:
            if name not in self.files and capstone:
                self.files[name] = File(path)
            elif self.files.get(name) and not os.path.samefile(self.files[name].path, path):
                self.files[name] = None
        except (OSError, struct.error):
            pass

    def code(self, pid, frame):
        if frame.type != "native" or frame.address < 4096:
            return None
        if frame.mapping:
            return self.files.get(frame.mapping)
        process = self.processes.get(pid)
        return process.made if process and process.made.read(frame.address, 1) else None

    def judge(self, sample):
        """Whether a pair of it is wrong and says nothing of that: the reason, or ""."""
        frames = []
        for frame in sample.frames:
            if frame.type != "kernel" and not (frames and frame.address and (
                    frame.mapping, frame.address) == (frames[-1].mapping, frames[-1].address)):
                frames.append(frame)
        said = ""
        exact = True
        for callee, caller in zip(frames, frames[1:]):
            verdict, why = self.pair(sample.pid, callee, caller, exact)
            if why == NO_CALL and caller is frames[-1] and self.begins(sample.pid, caller):
                verdict = POSSIBLE
            exact = callee.name == "__restore_rt"
            if not verdict:
                continue
            if verdict == WRONG and (callee.guessed or caller.guessed):
                verdict = GUESSED
            self.counts[verdict] += sample.count
            if verdict in (WRONG, GUESSED):
                self.seen[verdict, why, callee.name, caller.name] += sample.count
            if verdict == WRONG:
                said = said or "%s: %s;%s" % (why, callee.name, caller.name)
        return said

    def begins(self, pid, frame):
        """Whether it returns to the first byte of a function, as a context that was made does."""
        code = self.code(pid, frame)
        return code and (code.function(frame.address + 1) or (0,))[0] == frame.address + 1

    def pair(self, pid, callee, caller, exact):
        """(verdict, why); (None, "") where the code of one of them is not at hand."""
        if OTHERS.fullmatch(callee.name) or caller.name == "__restore_rt":
            return None, ""
        of, to = self.code(pid, caller), self.code(pid, callee)
        if not of or not to:
            return None, ""
        key = (id(of), caller.address, id(to), callee.address, exact)
        if key not in self.pairs:
            self.pairs[key] = self.find(of, caller.address + 1, to, callee, exact)
        return self.pairs[key]

    def find(self, of, ra, to, callee, exact):
        call = of.call_before(ra)
        if not call:
            return WRONG, NO_CALL
        target, operands = call
        if target is None:
            rip = RIP.search(operands)
            name = of.slot(ra + int(rip[1] + rip[2], 0)) if rip else None
            return self.named(name, to, callee, exact) if name else (POSSIBLE, "indirect")
        reach = of.reach(target)
        if of is to:
            if self.inside(of, target, reach, callee.address, exact):
                return RIGHT, ""
        names = [of.slot(slot) for slot in reach.slots]
        if reach.open or None in names or len(names) > 1:
            return POSSIBLE, "jumps"
        if names:
            return self.named(names[0], to, callee, exact)
        return WRONG, "a call to %#x" % target

    @staticmethod
    def inside(code, target, reach, address, exact):
        """Is @address in what the call to @target may run?"""
        own = code.function(address)
        if own and (own[0] <= target < own[1] or any(
                own[0] <= begin < own[1] for begin in reach.begins)):
            return True
        return address in reach.begins if exact else address + 1 in reach.ends

    @staticmethod
    def named(name, to, callee, exact):
        return (RIGHT, "") if callee.name.split("(")[0] == name else (POSSIBLE, "named " + name)


def of_processes(pids):
    """What judges stacks of @pids by their code; None without the disassembler."""
    processes = {}
    for pid in pids if capstone else ():
        try:
            processes[pid] = Process(pid)
        except (OSError, ValueError):
            pass  # it has ended
    return Calls(processes) if processes else None
