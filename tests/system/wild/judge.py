# SPDX-License-Identifier: Apache-2.0
"""What is said of the stacks of a program: how many end early and why, how many are called
whole and cannot be, how many frames have no name, how deep they are."""

import collections
import functools
import math
import os
import re
import statistics
import struct

ADDRESS = re.compile(r"(\+0x[0-9a-f]+|^0x[0-9a-f]+|^)$")
ERROR = re.compile(r"\[unwind error: (\w+)\]$")


# What a stack begins with: of a process, a thread, a context with its own stack, a goroutine.
# A goroutine that changes to the scheduler's stack in these is not followed by Go itself.
BEGIN = re.compile(r"_start|_dl_start_user|__?clone3?|clone3?|__start_context|init:do_boot/3|"
                   r"runtime\.(goexit|kickoff|rt0_go|mstart|morestack|mcall)(\.abi0)?|"
                   r"_rt0_amd64_linux")
FRAMES_MAX = 1024  # of otelprof record
LEFT_OUT = "[frames left out]"  # in the middle of deeper stacks; those of 4,100 frames are cut
ENTRY_BYTES = 64  # of the code at an executable's entry point
begins = set()  # (file, address) of frames that were such by their names


def end_of(frames):
    """Why the stack ends early, "" where it does not; and the frames without that mark."""
    if not frames:
        return "", frames
    last = frames[-1]
    if last.type == "abort-marker":  # the peer's; its number is the address
        return "abort %d" % last.address, frames[:-1]
    if last.name == "[truncated]":
        deep = (sum(f.type != "kernel" for f in frames[:-1]) >= FRAMES_MAX or
                any(f.name == LEFT_OUT for f in frames))
        return "limit of frames" if deep else "truncated", frames[:-1]
    error = ERROR.match(last.name)
    if error:
        return error[1], frames[:-1]
    return "", frames


@functools.lru_cache(maxsize=None)
def entry_point(path):
    """Of an ELF file, by its header; None where it cannot be read."""
    try:
        with open(path, "rb") as f:
            head = f.read(32)
    except OSError:
        return None
    return struct.unpack("<Q", head[24:32])[0] if head[:4] == b"\x7fELF" else None


def may_begin(sample, frame):
    """Whether a stack may begin with @frame. The peer gives no names: what begins stacks
    there was found to do so in ours."""
    at = os.path.basename(frame.mapping), frame.address
    entry = entry_point(sample.resource.get("process.executable.path", ""))
    if BEGIN.fullmatch(frame.name) or (entry is not None and at[0] == os.path.basename(
            sample.resource["process.executable.path"]) and
            entry <= frame.address < entry + ENTRY_BYTES):
        begins.add(at)
    return at in begins


class Verdict:
    """Of one profiler on one program."""

    def __init__(self, begin="", never="", code=None):
        self.begin = begin  # see program.py
        self.never = never
        self.code = code  # calls.Calls: the code that ran
        self.untrue = 0  # stacks without a mark that the code does not allow
        self.guessed = 0  # stacks with a guessed frame
        self.samples = 0
        self.bad = 0
        self.odd = 0
        self.reasons = collections.Counter()
        self.where = collections.Counter()  # (reason, executable, last frames)
        self.roots = collections.Counter()  # (does it begin stacks, executable, outermost frame)
        self.frames = 0
        self.unnamed = 0
        self.depths = []

    def add(self, sample):
        reason, frames = end_of(sample.frames)
        user = [f for f in frames if f.type != "kernel"]
        self.samples += sample.count
        self.depths += [len(user)] * sample.count
        self.frames += len(user) * sample.count
        self.unnamed += sample.count * sum(bool(ADDRESS.search(f.name)) for f in user)
        guessed = any(f.guessed for f in user)
        self.guessed += sample.count if guessed else 0
        impossible = "" if guessed else self.impossible(user)
        untrue = self.code.judge(sample) if self.code else ""
        if untrue and not reason and not guessed:
            self.untrue += sample.count
            impossible = impossible or untrue
        if reason:
            self.bad += sample.count
            self.reasons[reason] += sample.count
            self.where[reason, sample.exe, trail(user)] += sample.count
        elif impossible:
            self.odd += sample.count
            self.roots[False, sample.exe, "impossible: " + impossible] += sample.count
        elif user:
            outermost = word(user[-1])
            good = may_begin(sample, user[-1]) or bool(
                self.begin and re.fullmatch(self.begin, outermost))
            self.roots[good, sample.exe, outermost] += sample.count
            self.odd += 0 if good else sample.count

    def impossible(self, frames):
        """The part of a stack that cannot be, "" where there is none."""
        names = "".join(f.name + ";" for f in frames)
        found = re.search(self.never, names) if self.never else None
        return found[0] if found else ""

    @property
    def bad_share(self):
        return 100 * self.bad / self.samples if self.samples else 0.0

    @property
    def odd_share(self):
        return 100 * self.odd / self.samples if self.samples else 0.0

    @property
    def unnamed_share(self):
        return 100 * self.unnamed / self.frames if self.frames else 0.0

    @property
    def depth(self):
        return int(statistics.median(self.depths)) if self.depths else 0

    def above(self, other):
        """Whether more end early than of @other's, by more than chance does."""
        if not other.samples:
            return False
        both = (self.bad + other.bad) / (self.samples + other.samples)
        chance = 100 * math.sqrt(both * (1 - both) * (1 / self.samples + 1 / other.samples))
        return self.bad_share - other.bad_share > max(2 * chance, 0.3)

    def said(self):
        """The reasons, and how many stacks say that frames were guessed."""
        share = 100 * self.guessed / self.samples if self.samples else 0
        return ", ".join(filter(None, [self.why(), share and "%.1f %% guessed" % share or ""]))

    def why(self):
        """The reasons, most frequent first, as "32 truncated, 1 native_no_rule"."""
        return ", ".join("%d %s" % (n, r) for r, n in self.reasons.most_common(4))


def trail(frames):
    """The outermost frames of a stack in words."""
    return " < ".join(word(f) for f in reversed(frames[-3:])) or "(no frame)"


def word(frame):
    at = "%s+%#x" % (os.path.basename(frame.mapping), frame.address)
    return at if not frame.name or frame.name == at else "%s (%s)" % (frame.name, at)
