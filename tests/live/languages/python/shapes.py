# SPDX-License-Identifier: Apache-2.0
"""
Shapes of code, by turns, for CPython 3.6 and later: each works in leaf() below a chain that Python itself
tells. Prints "stack SHAPE NAME:LINE ..." of each new one, innermost first, without leaf(); "ready" once
all have run. "shapes.py SECONDS [SHAPE...]".
"""
import asyncio
import collections
import contextlib
import copy
import enum
import functools
import json
import marshal
import os
import pickle
import re
import signal
import string
import sys
import threading
import time
import types
import weakref

try:
    import _xxsubinterpreters as interpreters
except ImportError:
    interpreters = None
try:
    import ctypes
    COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
except ImportError:
    ctypes = None

OUT = os.fdopen(os.dup(1), "w", encoding="utf-8")
SHAPES = collections.OrderedDict()
TOLD = set()
NOW = [""]
TURNS = 3000
OUTER = []  # callers in another interpreter


def callers(frame):
    words = []
    while frame is not None:
        code = frame.f_code
        words.append("%s:%d" % (getattr(code, "co_qualname", code.co_name).replace(" ", "_"), frame.f_lineno))
        frame = frame.f_back
    return words


def tell(frame):
    text = " ".join(["stack", NOW[0]] + callers(frame) + OUTER)
    if text not in TOLD:
        TOLD.add(text)
        OUT.write(text + "\n")
        OUT.flush()


def leaf(*unused, **more):
    tell(sys._getframe(1))
    n, x = TURNS, 0
    while n:
        x = x * 3 + n & 0xffff
        n -= 1
    return 1


def shape(fn):
    SHAPES[fn.__name__] = fn
    return fn


# ---- calls ----

@shape
def plain():
    leaf()


@shape
def in_lambda():
    (lambda x: leaf() + x)(1)


@shape
def closure():
    def inner():
        def innermost():
            return leaf() + one
        return innermost()
    one = 1
    inner()


def recurse(n):
    return recurse(n - 1) + 1 if n else leaf()


@shape
def recursion():
    recurse(60)


def wants(a, *rest, key=None, **more):
    return leaf(a, *rest, **more)


@shape
def arguments():
    wants(*range(20), key=1, **{"k%d" % n: n for n in range(20)})


@shape
def partial():
    functools.partial(wants, 1, key=2)(3)


def decorate(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args) + 1
    return wrapper


@decorate
@decorate
def decorated(x):
    return leaf() + x


@shape
def decorators():
    decorated(1)


@functools.lru_cache(maxsize=2)
def cached(x):
    return leaf() + x


@shape
def cache():
    cached(time.time())


# ---- classes ----

class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        leaf()
        return made


class Descriptor:
    def __get__(self, obj, of):
        return leaf()

    def __set__(self, obj, value):
        leaf()


class Everything(metaclass=Meta):
    described = Descriptor()

    def __new__(cls):
        leaf()
        return super().__new__(cls)

    def __init__(self):
        leaf()

    def __call__(self):
        return leaf()

    def __getattr__(self, name):
        return leaf()

    def __getitem__(self, i):
        return leaf()

    def __iter__(self):
        leaf()
        return iter([1])

    def __contains__(self, x):
        return leaf()

    def __len__(self):
        return leaf()

    def __bool__(self):
        return leaf() > 0

    def __add__(self, other):
        return leaf()

    def __radd__(self, other):
        return leaf()

    def __eq__(self, other):
        return leaf() > 0

    def __lt__(self, other):
        return leaf() > 1

    def __hash__(self):
        return leaf()

    def __str__(self):
        return str(leaf())

    def __format__(self, spec):
        return str(leaf())

    def __enter__(self):
        return leaf()

    def __exit__(self, *args):
        leaf()

    def __deepcopy__(self, memo):
        return leaf()

    def __reduce__(self):
        leaf()
        return int, ()

    def method(self):
        return leaf()

    @classmethod
    def of_class(cls):
        return leaf()

    @staticmethod
    def static():
        return leaf()

    @property
    def value(self):
        return leaf()

    @value.setter
    def value(self, x):
        leaf()


NOW[0] = "setup"
IT = Everything()
TWO = Everything()


@shape
def constructor():
    Everything()


@shape
def methods():
    IT.method()
    IT.of_class()
    Everything.static()


@shape
def properties():
    IT.value
    IT.value = 1


@shape
def descriptors():
    IT.described
    IT.described = 2


@shape
def called():
    IT()


@shape
def attribute():
    IT.nothing_of_that_name


@shape
def subscript():
    IT[1]


@shape
def iterated():
    for unused in IT:
        pass


@shape
def contained():
    1 in IT


@shape
def truth():
    len(IT)
    not IT


@shape
def operators():
    IT + 1
    1 + IT
    IT == 2


@shape
def compared():
    [0, TWO].index(IT)
    sorted([IT, TWO])


@shape
def hashed():
    {IT: 1}


@shape
def formatted():
    str(IT)
    "{}".format(IT)
    f"{IT:>1}"


@shape
def with_block():
    with IT:
        leaf()


@shape
def copied():
    copy.deepcopy([IT])
    pickle.dumps(IT)


class Ends:
    def __del__(self):
        leaf()


@shape
def destructor():
    Ends()


class Registered:
    def __init_subclass__(cls, **more):
        leaf()


class Named:
    def __set_name__(self, owner, name):
        leaf()


@shape
def class_body():
    class Made(Registered):
        member = Named()
        leaf()


class Colour(enum.Enum):
    RED = 1

    @classmethod
    def _missing_(cls, value):
        leaf()
        return cls.RED


@shape
def enumeration():
    Colour(time.time())


# ---- called by C ----

@shape
def sorting():
    sorted([1], key=leaf)
    max([1, 2], key=lambda x: leaf() + x)


@shape
def mapping():
    list(map(leaf, [1]))
    list(filter(lambda x: leaf(), [1]))
    functools.reduce(lambda a, b: leaf() + a, [1, 2])


@shape
def substituted():
    re.sub("a", lambda found: str(leaf()), "a")


@shape
def parsed():
    json.loads("{}", object_hook=leaf)
    json.dumps(IT, default=leaf)


@shape
def defaults():
    collections.defaultdict(leaf)["x"]


@shape
def weak():
    def gone(ref):
        leaf()
    return weakref.ref(string.Template(""), gone) and None


@shape
def from_ctypes():
    if ctypes is None:
        return leaf()

    def compare(a, b):
        leaf()
        return 0
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, COMPARE(compare))


def on_signal(number, frame):
    leaf()


@shape
def signals():
    signal.signal(signal.SIGUSR1, on_signal)
    os.kill(os.getpid(), signal.SIGUSR1)
    for unused in range(10):
        pass


@shape
def thread():
    made = threading.Thread(target=wants, args=(1,))
    made.start()
    made.join()


# ---- generators and coroutines ----

def generate():
    yield leaf()


def delegate():
    yield from generate()


@shape
def generator():
    for unused in generate():
        pass


@shape
def delegating():
    list(delegate())


def receive():
    try:
        while True:
            x = yield
            leaf(x)
    except ValueError:
        leaf()
    finally:
        leaf()


@shape
def sent():
    g = receive()
    next(g)
    g.send(1)
    try:
        g.throw(ValueError())
    except StopIteration:
        pass


@shape
def closed():
    g = receive()
    next(g)
    g.close()


@shape
def comprehensions():
    [leaf() for unused in range(1)]
    {leaf(): leaf() for unused in range(1)}
    sum(leaf() for unused in range(1))


@contextlib.contextmanager
def managed():
    leaf()
    try:
        yield
    finally:
        leaf()


@shape
def context():
    with managed():
        leaf()


class Awaitable:
    def __await__(self):
        leaf()
        yield


class Entered:
    async def __aenter__(self):
        leaf()

    async def __aexit__(self, *args):
        leaf()


async def agenerate():
    yield leaf()


async def inner_coroutine():
    leaf()
    async with Entered():
        leaf()
    async for unused in agenerate():
        leaf()


async def outer_coroutine():
    await inner_coroutine()


@shape
def coroutine():
    try:
        outer_coroutine().send(None)
    except StopIteration:
        pass


@shape
def awaited():
    async def waits():
        await Awaitable()
    c = waits()
    c.send(None)
    c.close()


LOOP = asyncio.new_event_loop()


@shape
def event_loop():
    LOOP.call_soon(leaf)
    LOOP.run_until_complete(outer_coroutine())


# ---- another interpreter; since 3.12 its callers are marked as missing ----

if interpreters and sys.version_info < (3, 12):
    MADE_HERE = interpreters.create()
    interpreters.run_string(MADE_HERE, """import os, sys, marshal, types
OUT, TOLD, TURNS = os.fdopen(os.dup(1), "w", encoding="utf-8"), set(), 3000
for code in %r:
    made = types.FunctionType(marshal.loads(code), globals())
    globals()[made.__name__] = made
""" % [marshal.dumps(made.__code__) for made in (callers, tell, leaf)])

    def interpreted():
        interpreters.run_string(MADE_HERE, "NOW, OUTER = %r; leaf()" % ((NOW, callers(sys._getframe())),))

    @shape
    def interpreter():
        interpreted()

    @shape
    def interpreter_in_thread():
        made = threading.Thread(target=interpreted)
        made.start()
        made.join()


# ---- flow, and code made while it runs ----

@shape
def exceptions():
    try:
        try:
            raise ValueError()
        except ValueError:
            leaf()
            raise KeyError()
        finally:
            leaf()
    except KeyError:
        leaf()


@shape
def executed():
    exec("\n\nleaf()", {"leaf": leaf})
    eval("\nleaf()", {"leaf": leaf})


MADE = {"leaf": leaf}
exec(compile("\n" * 40 + "def made(x):\n    return (leaf(),\n        x)\n", "made.py", "exec"), MADE)


@shape
def compiled():
    MADE["made"](1)


@shape
def function_of_code():
    types.FunctionType(plain.__code__, {"leaf": leaf})()


@shape
def module():
    made = types.ModuleType("made")
    made.leaf = leaf
    exec(compile("class Body:\n    leaf()\nleaf()\n", "module.py", "exec"), made.__dict__)


@shape
def young():
    names = {"leaf": leaf}
    exec("def young_%d():\n    return leaf()" % (len(TOLD) % 7), names)
    names.popitem()[1]()


@shape
def many_lines():
    x = [
        1,
        leaf(),
        2,

        leaf(
            3),
    ]
    return x


def main():
    wanted = sys.argv[2:] or list(SHAPES)
    end = time.monotonic() + float(sys.argv[1])
    turn = 0
    while time.monotonic() < end:
        for name in wanted:
            NOW[0] = name
            SHAPES[name]()
        turn += 1
        if turn == 3:
            OUT.write("ready %d\n" % len(wanted))
            OUT.flush()


if __name__ == "__main__":
    main()
