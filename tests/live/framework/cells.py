# SPDX-License-Identifier: Apache-2.0
"""The cells of the known-answer tests: how each program is built, and the only pattern that its
stacks can have. A pattern matches the names of the user stack, leaf first, one in each line.
"""

import re
from dataclasses import dataclass, replace

SHARES = {"a": 0.5, "b": 0.3, "c": 0.2}
LEAVES = {"a": "leaf_a", "b": "leaf_b", "c": "leaf_c"}

# A function of libc without a name: static functions of a stripped library have none.
NO_NAME = r"libc\.so\.6\+0x[0-9a-f]+"
VDSO = r"(?:__(?:vdso|kernel)_\w+|\[?(?:linux-)?vdso[^\n+]*\+0x[0-9a-f]+)"
CLOCK = r"(?:(?:%s|(?:__GI_)?(?:__)?clock_gettime(?:@plt)?)\n)*" % VDSO
LIBC_START = (r"(?:%s|__libc_start_call_main)\n__libc_start_main[\w.@]*\n_start\n" % NO_NAME)
RUN = r"(?:truth_run[\w.]*\n)(?:truth_main[\w.]*\n)?"
THREAD_START = r"(?:start_thread|%s)\n(?:__)?(?:clone3?|%s)\n" % (NO_NAME, NO_NAME)


def chain(first=1, last=24, name="f%d"):
    return "".join(name % n + "\n" for n in range(first, last + 1))


def one_of(leaves):
    return "(?:" + "|".join(leaves.values()) + r")\n"


@dataclass
class Cell:
    pattern: str
    leaves: dict
    program: str = ""  # the source file, in programs/
    command: str = ""  # the build command: {src} {out} {dir} {programs}
    needs: tuple = ()  # programs that the build requires
    shares: dict = None
    exact: float = 0.99
    leaf_points: float = 2.0  # at 999 Hz
    count_error: float = 0.03
    min_samples: int = 500
    by_name: bool = True
    by_address: bool = True
    twin: str = ""  # a cell whose program has the same code, with symbols
    known: str = r"f\d+|leaf_[abc]|main|_start|tiny\w*|dig\w*|truth_\w+"
    only_type: str = ""
    others: str = ""  # whole stacks of threads without the chain: not counted
    quick: bool = False  # part of every run

    def __post_init__(self):
        self.shares = self.shares or SHARES

    @property
    def leaf_anywhere(self):
        return "^(?:" + "|".join(self.leaves.values()) + ")$"

    def leaf_of(self, name):
        for key, pattern in self.leaves.items():
            if re.fullmatch(pattern, name):
                return key
        return None


def c_pattern(above=CLOCK, middle=None, run=RUN, root="main\n" + LIBC_START):
    return above + one_of(LEAVES) + (middle or chain()) + run + root


def c(program, command, **more):
    pattern = more.pop("pattern", None) or c_pattern()
    return Cell(pattern, LEAVES, program, command, **more)


GCC = "gcc -O2 -fomit-frame-pointer {src} -o {out}"
CLANG = "clang-14 -O2 -fomit-frame-pointer {src} -o {out}"
TINY = r"(?:(?:tiny_inner\n)?tiny\n|%s)" % CLOCK
SHAPES = "".join("f%d_in\nf%d\n" % (n, n) if n in (4, 7, 11, 14, 18, 21) else "f%d\n" % n
                 for n in range(1, 25))
PLT = r"(?:(?:plt_tiny(?:@plt)?|\[plt\][^\n]*|[\w-]*plt[\w-]*\+0x[0-9a-f]+)\n|%s)*" % CLOCK
SIGNAL = (chain(1, 12) + "on_signal\n(?:__restore_rt|__kernel_rt_sigreturn|%s)\n" % NO_NAME +
          r"(?:tiny\n|(?:__)?setitimer\n)?victim\n" + chain(13, 24))
# Anything but the chain: the C++ run time's unwinder on top of the leaf.
RUNTIME = r"(?:(?!f\d+\n|leaf_)[^\n]+\n)*"
THROW_LEAVES = {k: v + r"(?:\.cold|(?: \[clone \.cold\]))?" for k, v in LEAVES.items()}
THROW = (RUNTIME + one_of(THROW_LEAVES) + chain() +
         r"truth_run[^\n]*\n(?:truth_main[^\n]*\n)?main\n" + LIBC_START)
CPP_LEAVES = {k: r"(?:void )?truth::leaf<%d>(?:\(job\*\))?" % n for n, k in enumerate("abc")}
CPP = (CLOCK + one_of(CPP_LEAVES) +
       chain(name=r"truth::link<%d>::run(?:\(job\*\))?") +
       r"truth_run[^\n]*\n(?:truth_main[^\n]*\n)?main\n" + LIBC_START)
RUST_LEAVES = {k: "chain::leaf_" + k for k in "abc"}
RUST = (CLOCK + "(?:chain::cpu_ns\n)?" + one_of(RUST_LEAVES) + chain(name="chain::f%d") +
        r"chain::main\n(?:[^\n]+\n){1,12}main\n" + LIBC_START)
GO_LEAVES = {k: "main.leaf_" + k for k in "abc"}
# the package moved in Go 1.24
GO_SYSCALL = (r"(?:internal/runtime|runtime/internal)/syscall[/\w]*\.Syscall6|"
              r"syscall\.[rR]awSyscall\w*")
GO = (r"(?:(?:" + GO_SYSCALL + r"|main\.cpuNs)\n)*" +
      one_of(GO_LEAVES) + chain(name=r"main\.f%d") +
      r"main\.main\nruntime\.main\nruntime\.goexit(?:\.abi0)?\n")
# The run time's own threads and goroutines.
GO_OTHERS = (r"(?:(?!main\.)[^\n]+\n)*"
             r"runtime\.(?:mstart|mcall|systemstack|morestack|goexit)(?:\.abi0)?\n(?:runtime\.clone\n)?")
# musl's start-up code has no unwind tables: the stack may end at main or below it.
MUSL = c_pattern(above=CLOCK, root=r"main\n(?:[^\n]+\n)*")
STRIP = GCC + " && strip -s {out}"

CELLS = {
    "c-gcc": c("chain.c", GCC, quick=True),
    "c-clang": c("chain.c", CLANG, needs=("clang-14",)),
    "c-O0": c("chain.c", "gcc -O0 {src} -o {out}",
              pattern=c_pattern(above=CLOCK + r"(?:truth_cpu_ns\n)?")),
    "c-fp": c("chain.c", "gcc -O2 -fno-omit-frame-pointer {src} -o {out}"),
    "c-nopie": c("chain.c", GCC + " -no-pie -fno-pie"),
    "c-static": c("chain.c", GCC + " -static -no-pie -fno-pie"),
    "c-static-pie": c("chain.c", GCC + " -static-pie -fPIE", quick=True),
    "c-musl": c("chain.c", "musl-gcc -static -O2 -fomit-frame-pointer -DTRUTH_LOOPS=400000 {src} "
                "-o {out}",
                needs=("musl-gcc",), pattern=MUSL),
    "c-stripped": c("chain.c", STRIP, by_name=False, twin="c-gcc", quick=True),
    "c-debuglink": c("chain.c", GCC + " && objcopy --only-keep-debug {out} {out}.debug && "
                     "strip -s {out} && objcopy --add-gnu-debuglink={out}.debug {out}",
                     twin="c-gcc"),
    "c-minidebug": c("chain.c", GCC + " && objcopy --only-keep-debug {out} {out}.mini && "
                     "objcopy -S --remove-section .comment --keep-symbols={dir}/keep "
                     "{out}.mini && xz -f {out}.mini && strip -s {out} && objcopy "
                     "--add-section .gnu_debugdata={out}.mini.xz {out}",
                     needs=("xz",), twin="c-gcc"),
    "c-debugframe": c("chain.c", "gcc -O2 -fomit-frame-pointer -g -fno-unwind-tables "
                      "-fno-asynchronous-unwind-tables {src} -o {out}"),
    "shapes-gcc": c("shapes.c", GCC, pattern=c_pattern(middle=SHAPES), quick=True),
    "shapes-clang": c("shapes.c", CLANG, pattern=c_pattern(middle=SHAPES),
                      needs=("clang-14",)),
    "short-gcc": c("short.c", GCC, pattern=c_pattern(above=TINY), quick=True),
    "short-clang": c("short.c", CLANG, pattern=c_pattern(above=TINY), needs=("clang-14",)),
    "deep-600": c("deep.c", GCC, quick=True,
                  pattern=c_pattern(run=r"(?:dig[\w.]*\n){600}dig_all\n" + RUN)),
    # 512 frames from the leaf on, and the 255 outermost: the frame between them has no file
    "deep-2000": c("deep.c", GCC + " -DDEPTH_OF_DIG=2000", by_address=False,
                   pattern=r"(?=(?:.+\n){512}\[frames left out\]\n(?:.+\n){255}\Z)" +
                   c_pattern(run=r"(?:dig[\w.]*\n){480,487}\[frames left out\]\n"
                             r"(?:dig[\w.]*\n){240,254}dig_all\n" + RUN)),
    "upward": c("upward.c", GCC, by_address=False, quick=True,
                pattern=c_pattern(run="on_high\ncall_on\non_low\ncall_on\non_own\n" + RUN)),
    "vdso": c("vdso.c", GCC, quick=True),
    "plt": c("plt.c", "gcc -O2 -fomit-frame-pointer -fPIC -shared {programs}/plt_lib.c -o "
             "{dir}/libtruthplt.so && " + GCC + " -rdynamic -Wl,-z,lazy -Wl,-rpath,{dir} "
             "{dir}/libtruthplt.so", by_address=False,
             pattern=c_pattern(above=PLT, run="plt_chain\n" + RUN)),
    "signals": c("signals.c", GCC, pattern=c_pattern(middle=SIGNAL), quick=True),
    "threads": c("threads.c", GCC + " -pthread",
                 pattern=c_pattern(run="truth_run[\\w.]*\nthread_main\n", root=THREAD_START)),
    "cpp-gcc": Cell(CPP, CPP_LEAVES, "chain.cpp", GCC.replace("gcc", "g++"),
                    known=".*truth.*", quick=True),
    "cpp-clang": Cell(CPP, CPP_LEAVES, "chain.cpp", CLANG.replace("clang", "clang++", 1),
                      needs=("clang++-14",), known=".*truth.*"),
    # While the run time installs the landing pad's context, the return address and the saved
    # registers on the stack belong to two frames. No unwinder can handle that.
    "cpp-throw": Cell(THROW, THROW_LEAVES, "throwing.cpp", GCC.replace("gcc", "g++"),
                      by_address=False, exact=0.97),
    "rust": Cell(RUST, RUST_LEAVES, "chain.rs",
                 "rustc -O --crate-name chain {src} -o {out}", needs=("rustc",),
                 by_address=False, quick=True),
    "rust-v0": Cell(RUST, RUST_LEAVES, "chain.rs",
                    "rustc -O -C symbol-mangling-version=v0 --crate-name chain {src} -o {out}",
                    needs=("rustc",), by_address=False),
    "go": Cell(GO, GO_LEAVES, "chain.go", "go build -o {out} {src}", needs=("go",),
               by_address=False, quick=True, others=GO_OTHERS),
    # The same calls, but the compiler may inline: all functions must still appear.
    "go-inline": Cell(GO, GO_LEAVES, "chain.go",
                      "sed '/^.*go:noinline/d' {src} >{dir}/inline.go && "
                      "go build -o {out} {dir}/inline.go",
                      needs=("go",), by_address=False, quick=True, others=GO_OTHERS),
    "go-stripped": Cell(GO, GO_LEAVES, "chain.go", "go build -ldflags='-s -w' -o {out} {src}",
                        needs=("go",), by_address=False, others=GO_OTHERS),
    "storm": c("storm_child.c", GCC + " && gcc -O2 {programs}/storm.c -o {dir}/storm-driver",
               exact=0.98, quick=True, pattern=c_pattern(run="")),
}

# For emulated programs, and programs that are only partly sampled: see tests/system/vm.
VM_CELL = replace(CELLS["c-gcc"], exact=0.97, leaf_points=None, min_samples=200)
