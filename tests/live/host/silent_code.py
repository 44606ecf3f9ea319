# SPDX-License-Identifier: Apache-2.0
"""Assembler of functions without unwind data, made from a seed.

Function cI_K of chain I calls cI_(K+1) and nothing else; the last one works. So the name of the
innermost function of a chain tells the whole of it. One function of a chain, `noisy`, also calls
noise(), through a pointer.
"""

import random

SAVED = ["rbx", "r12", "r13", "r14", "r15"]
BIG_INSTRUCTIONS = 70000


class Function:
    def __init__(self, name, shape, entered):
        self.name = name
        self.shape = shape      # of its frame
        self.entered = entered  # how it is called


class Chain:
    def __init__(self, functions, noisy):
        self.functions = functions
        self.noisy = noisy


class Maker:
    """Writes the code of chains; @made code has no file, and no data that is relocated."""

    def __init__(self, seed, chains, gap=0):
        self.random = random.Random(seed)
        self.lines = []
        self.labels = 0
        self.is_last = False
        self.chains = [self.chain(i) for i in range(chains)]
        self.gap = gap

    def label(self):
        self.labels += 1
        return ".Lx%d" % self.labels

    def emit(self, *lines):
        self.lines += ["\t" + line for line in lines]

    # ---- frames: (lines that set one up, lines that take it down), sp is 8 off 16 before

    def room(self, pushed):
        """Bytes to reserve, so that sp is aligned where @pushed words are above it."""
        base = self.random.choice([16, 48, 256, 512, 1024, 2048, 4096, 24576])
        base += 16 * self.random.randrange(4)
        return base + (8 if pushed % 2 == 0 else 0)

    def some(self):
        return self.random.sample(SAVED, self.random.randrange(len(SAVED) + 1))

    def frame_plain(self):
        """Pushes, then a reservation; fp is another register, or the caller's."""
        regs = self.some()
        data = self.random.random() < 0.5
        if data:
            regs.insert(self.random.randrange(len(regs) + 1), "rbp")
        room = self.room(len(regs))
        down = ["sub $%d,%%rsp" % room]
        if data:
            down.append(self.random.choice(["xor %ebp,%ebp", "mov $77,%ebp", "lea 24(%rsp),%rbp",
                                            "lea %d(%%rsp),%%rbp" % (room + 64)]))
        return (["push %" + r for r in regs] + down,
                ["add $%d,%%rsp" % room] + ["pop %" + r for r in reversed(regs)])

    def frame_stored(self):
        """Registers are stored, not pushed."""
        regs = self.some()
        room = self.room(0) + 64
        return (["sub $%d,%%rsp" % room] +
                ["mov %%%s,%d(%%rsp)" % (r, 8 * i) for i, r in enumerate(regs)],
                ["mov %d(%%rsp),%%%s" % (8 * i, r) for i, r in enumerate(regs)] +
                ["add $%d,%%rsp" % room])

    def frame_pointer(self):
        regs = self.some()
        return (["push %rbp", "mov %rsp,%rbp"] + ["push %" + r for r in regs] +
                ["sub $%d,%%rsp" % self.room(len(regs) + 1)],
                ["lea %d(%%rbp),%%rsp" % (-8 * len(regs))] +
                ["pop %" + r for r in reversed(regs)] + ["pop %rbp"])

    def frame_leave(self):
        return (["push %rbp", "mov %rsp,%rbp", "sub $%d,%%rsp" % self.room(1)], ["leave"])

    def frame_variable(self):
        """A reservation whose size is in a register."""
        return (["push %rbp", "mov %rsp,%rbp", "push %rbx", "push %r12",
                 "mov $%d,%%eax" % self.room(3), "sub %rax,%rsp"],
                ["lea -16(%rbp),%rsp", "pop %r12", "pop %rbx", "pop %rbp"])

    def frame_realigned(self):
        return (["push %rbp", "mov %rsp,%rbp", "push %rbx", "and $-%d,%%rsp" %
                 self.random.choice([32, 64]), "sub $%d,%%rsp" % (self.room(1) & -16)],
                ["mov -8(%rbp),%rbx", "leave"])

    def frame_realigned_r10(self):
        """As gcc does it: the caller's sp is in r10, and its place is in the frame."""
        return (["lea 8(%rsp),%r10", "and $-32,%rsp", "push -8(%r10)", "push %rbp",
                 "mov %rsp,%rbp", "push %r10", "sub $%d,%%rsp" % (self.room(0) | 8)],
                ["mov -8(%rbp),%r10", "leave", "lea -8(%r10),%rsp"])

    def frame_register(self):
        """sp is kept in a register, as in OpenBLAS's kernels. Only rbx is followed through calls."""
        reg = self.random.choice(["rbx", "r12", "r14"]) if self.is_last else "rbx"
        return (["sub $0x60,%rsp", "mov %" + reg + ",(%rsp)", "mov %rbp,8(%rsp)",
                 "mov %rsp,%" + reg, "sub $%d,%%rsp" % self.room(1),
                 "and $-%d,%%rsp" % self.random.choice([64, 4096]), "xor %ebp,%ebp"],
                ["mov %" + reg + ",%rsp", "mov (%rsp),%" + reg, "mov 8(%rsp),%rbp",
                 "add $0x60,%rsp"])

    def frame_slot(self):
        """sp is kept in the new frame, as in x264's functions."""
        room = self.room(1) & -16
        return (["mov %rsp,%rax", "sub $%d,%%rsp" % (room + 64), "and $-64,%rsp",
                 "mov %%rax,%d(%%rsp)" % room], ["mov %d(%%rsp),%%rsp" % room])

    def frame_none(self):
        return (["sub $8,%rsp"], ["add $8,%rsp"])

    FRAMES = ["plain", "plain", "plain", "stored", "pointer", "leave", "variable", "realigned",
              "realigned_r10", "register", "slot", "none"]
    ENTRIES = ["direct", "direct", "direct", "register", "memory", "jump", "thunk"]

    # ---- bodies

    def burn(self):
        top = self.label()
        self.emit("mov $%d,%%ecx" % self.random.randrange(3000, 20000))
        self.lines.append(top + ":")
        if self.random.random() < 0.3:
            self.emit("push %rcx", "pop %rcx")
        if self.random.random() < 0.3:  # a vector register has the number of a general one
            self.emit("movups %%xmm%d,-64(%%rsp)" % self.random.choice([3, 4, 5, 12]),
                      "pshufb %xmm5,%xmm3")
        self.emit("dec %ecx", "jnz " + top)

    def call(self, to, how):
        if how == "register":
            self.emit("lea %s(%%rip),%%rax" % to, "call *%rax")
        elif how == "memory":
            self.emit("lea %s(%%rip),%%rax" % to, "mov %rax,-8(%rsp)", "call *-8(%rsp)")
        elif how == "jump":
            self.emit("call %s_j" % to)
        elif how == "thunk":
            self.emit("lea %s(%%rip),%%r11" % to, "call thunk")
        else:
            self.emit("call " + to)

    def chain(self, number):
        count = self.random.randrange(2, 7)
        functions = [Function("c%d_%d" % (number, k), self.random.choice(self.FRAMES),
                              self.random.choice(self.ENTRIES) if k else "pointer")
                     for k in range(count)]
        return Chain(functions, self.random.randrange(count))

    def begin(self, name):
        if self.random.random() < 0.8:
            self.emit(".p2align 4")
        self.emit(".globl " + name, ".hidden " + name, ".type %s,@function" % name)
        self.lines.append(name + ":")

    def end(self, name):
        self.emit(".size %s,.-%s" % (name, name))

    def function(self, chain, k, big):
        f = chain.functions[k]
        self.is_last = k + 1 == len(chain.functions) and k != chain.noisy
        up, down = getattr(self, "frame_" + f.shape)()
        self.begin(f.name)
        if self.random.random() < 0.1:
            self.emit("endbr64")
        self.emit(*up)
        if k == chain.noisy:
            self.emit("call *noise_at(%rip)")
        if self.random.random() < 0.4:  # a way out in the middle
            on = self.label()
            self.emit("test %rsp,%rsp", "jnz " + on, *down, "ret")
            self.lines.append(on + ":")
        if big:
            self.emit(".rept %d" % BIG_INSTRUCTIONS, "lea 1(%rdx),%edx", ".endr")
        if k + 1 < len(chain.functions):
            if self.random.random() < 0.3:
                self.burn()
            after = chain.functions[k + 1]
            self.call(after.name, after.entered)
            if self.random.random() < 0.3:
                self.burn()
        else:
            self.burn()
        self.emit(*down, "ret")
        self.end(f.name)
        if f.entered == "jump":
            self.begin(f.name + "_j")
            self.emit("jmp " + f.name)
            self.end(f.name + "_j")

    def thunk(self):
        self.begin("thunk")
        self.emit("call 1f", "2: pause", "lfence", "jmp 2b", ".p2align 4",
                  "1: mov %r11,(%rsp)", "ret")
        self.end("thunk")

    def text(self):
        self.emit(".data" if self.gap >= 0 else ".text", ".globl silent_code", ".p2align 3")
        self.lines.append("silent_code:")
        self.emit(".quad %d" % len(self.chains))
        self.lines.append("noise_at:")
        self.emit(".quad 0")
        self.emit(*[".quad %s - silent_code" % c.functions[0].name for c in self.chains])
        self.emit(".text")
        order = [(c, k) for c in self.chains for k in range(len(c.functions))]
        self.random.shuffle(order)
        self.thunk()
        for i, (c, k) in enumerate(order):
            if self.gap > 0 and i == len(order) // 2:
                self.emit(".fill %d,1,0x90" % self.gap, "ret")
            self.function(c, k, i in (3, 40))
        self.emit('.section .note.GNU-stack,"",@progbits')
        return "\n".join(self.lines) + "\n"
