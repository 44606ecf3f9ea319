# SPDX-License-Identifier: Apache-2.0
"""
Programs whose stacks are known. For CPython 3.6 and later, standard library only.

  known.py hold SCENE   goes to the scene's innermost function, says its frames (leaf
                        first: name, file, line, first line, separated by tabs; then an
                        empty line) and waits for a line on stdin. Then the next scene.
                        SCENE "all": every scene in turn, each after "scene NAME".
  known.py spin SECONDS a chain of 24 functions f24..f1, then leaf_50, leaf_30 or leaf_20,
                        which use 50, 30 and 20 per cent of the thread's CPU time.
  known.py calls SECONDS  the same chain, then leaf_calls, which calls tick all the time.

A function whose name ends in _via_c was called by C code that Python code called.
"""
import os
import sys
import threading
import time

try: # before the first scene: its libraries are mapped then
    import ctypes
    CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
except ImportError:
    ctypes = None

OUT = os.fdopen(os.dup(1), "w", encoding="utf-8")


def say(frame):
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        OUT.write("%s\t%s\t%d\t%d\n" % (name, code.co_filename, frame.f_lineno,
                                         code.co_firstlineno))
        frame = frame.f_back
    OUT.write("\n")
    OUT.flush()


def hold(*unused):
    say(sys._getframe()); os.read(0, 1)
    return 0


# ---- scenes ----

def scene_plain():
    hold()


def make_chain(leaf):
    """f24 calls f23 … calls f1 calls leaf; each is a function of its own."""
    source = "def f0(): leaf()\n"
    for i in range(1, 25):
        source += "def f%d():\n    f%d()\n    return %d\n" % (i, i - 1, i)
    source = source.replace("f0()", "leaf()").replace("def leaf(): leaf()\n", "")
    names = {"leaf": leaf}
    exec(compile(source, "chain.py", "exec"), names)
    return names["f24"]


def scene_chain():
    make_chain(hold)()


def key_via_c(x):
    hold()
    return x


def scene_sorted():
    sorted([1], key=key_via_c)


def inner_via_c(x):
    return sorted([x], key=key_via_c)


def scene_sorted_in_sorted():
    list(map(inner_via_c, [1]))


def scene_ctypes():
    if ctypes is None:
        return hold()

    def compare_via_c(a, b):
        if not compare_via_c.done:
            compare_via_c.done = True
            hold()
        return 0
    compare_via_c.done = False
    numbers = (ctypes.c_int * 3)(3, 2, 1)
    ctypes.CDLL(None).qsort(numbers, 3, 4, CALLBACK(compare_via_c))
    return 0


def generate_inner():
    hold()
    yield 1


def generate():
    yield from generate_inner()


def scene_generator():
    for unused in generate():
        pass


def scene_generator_in_c():
    sum(hold() for unused in range(1))


def recurse(n):
    if n:
        recurse(n - 1)
    else:
        hold()


def scene_recursion():
    recurse(100)


class Made:
    def __init__(self):
        hold()

    def __del__(self):
        pass

    def method(self):
        (lambda: hold())()

    @property
    def value(self):
        return hold()


def make_made():
    return Made()


def scene_init():
    # often enough to be specialized by 3.11 and later
    global hold
    real = hold
    hold = int
    for unused in range(100):
        make_made()
    hold = real
    make_made()


def scene_method():
    made = Made.__new__(Made)
    made.method()


def scene_property():
    return Made.__new__(Made).value


def scene_comprehension():
    return [hold() for unused in range(1)]


async def wait_inner():
    hold()


async def wait():
    await wait_inner()


def scene_coroutine():
    try:
        wait().send(None)
    except StopIteration:
        pass


def scene_unicode():
    source = ("def na\u00efve():\n    \u51fd\u6570()\n"
              "def \u51fd\u6570():\n    \U00020000x()\n"
              "def \U00020000x():\n    hold()\n")
    names = {"hold": hold}
    exec(compile(source, "\U0001f40d.py", "exec"), names)
    names["na\u00efve"]()


def scene_far_lines():
    source = "def far(hold):\n" + "\n" * 1000 + "    x = [\n"
    source += "      1,\n" * 300 + "      hold(\n" + "        1,\n" * 40
    source += "      )]\n    return x\n"
    names = {}
    exec(compile(source, "far.py", "exec"), names)
    names["far"](hold)


def scene_thread():
    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()


def scene_exec():
    exec("\n\nhold()", {"hold": hold})


def run_hold(wanted):
    scenes = [(name[6:], fn) for name, fn in sorted(globals().items())
              if name.startswith("scene_")]
    for name, fn in scenes:
        if wanted in ("all", name):
            OUT.write("scene %s\n" % name)
            fn()
    OUT.write("done\n")
    OUT.flush()


# ---- shares ----

def cpu():
    return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


class Shares:
    """Choose the leaf that is furthest below its share of the CPU time used so far."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.used = {50: 0.0, 30: 0.0, 20: 0.0}

    def choose(self):
        return min(self.used, key=lambda part: self.used[part] / part)


def work(n):
    x = 0
    while n:
        x = x * 3 + n & 0xffff
        n -= 1
    return x


TURNS = [0] # of the leaf that runs next: some milliseconds


def leaf_50():
    n = x = TURNS[0]
    while n:
        x = x * 3 + n & 0xffff
        n -= 1


def leaf_30():
    n = x = TURNS[0]
    while n:
        x = x * 3 + n & 0xffff
        n -= 1


def leaf_20():
    n = x = TURNS[0]
    while n:
        x = x * 3 + n & 0xffff
        n -= 1


def run_spin(seconds):
    shares = Shares(seconds)
    chains = {50: make_chain(leaf_50), 30: make_chain(leaf_30), 20: make_chain(leaf_20)}
    number = 1
    while time.monotonic() < shares.end:
        # A length that changes cannot keep step with the sampling clock.
        number = number * 1103515245 + 12345 & 0x7fffffff
        TURNS[0] = 40000 + (number >> 8) % 40000
        part = shares.choose()
        before = cpu()
        chains[part]()
        shares.used[part] += cpu() - before
    total = sum(shares.used.values())
    for part in sorted(shares.used):
        OUT.write("leaf_%d %.4f\n" % (part, shares.used[part] / total))
    OUT.flush()


def tick(x):
    return x


def leaf_calls():
    n = 20000
    while n:
        n = tick(n) - 1


def run_calls(seconds):
    end = time.monotonic() + seconds
    chain = make_chain(leaf_calls)
    OUT.write("ready\n")
    OUT.flush()
    while time.monotonic() < end:
        chain()


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        run_hold(sys.argv[2])
    elif sys.argv[1] == "spin":
        run_spin(float(sys.argv[2]))
    else:
        run_calls(float(sys.argv[2]))
