# SPDX-License-Identifier: Apache-2.0
"""What the languages in Debian roots share: how their interpreters are found, the options of their
scripts, and the checks of known programs of Perl and Ruby."""
import os
import re
import subprocess
import time
import typing
from dataclasses import replace

import beside
import cells
import check
import scenes
import suite

OTHERS_MOST = 0.05  # share of the samples between two leaves: Ruby 1.5 to 3.2 % by its own loop


def start(name, checks):
    """The run of the suite @name, whose cells have @checks."""
    parser = suite.parser("otelprof")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    parser.add_argument("--only", choices=checks, action="append")
    beside.add_option(parser)
    run = suite.Run(parser.parse_args())
    run.suite = name
    return run


def fetch(folder, versions):
    """({version: the output of fetch.sh in @folder for it}, why others are missing)"""
    done = subprocess.run(["sh", os.path.join(folder, "fetch.sh"), *versions],
                          capture_output=True, text=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines()), " ".join(
        done.stderr.split())


class Language(typing.NamedTuple):
    title: str
    kind: str  # the type of its frames
    outermost: str  # the name of its outermost frame
    spin: cells.Cell
    calls: cells.Cell
    scenes: type  # of scenes.Scenes, made from the program's output

    def checks(self):
        return {"spin": self.check_spin, "calls": self.check_calls, "shapes": self.check_shapes}

    def check_mix(self, capture, result, start="_start"):
        """Check that its frames are above the native frame of the loop, and reach the program's
        @start, a pattern."""
        total = sum(s.count for s in capture.samples)
        right = sum(s.count for s in capture.samples
                    if re.fullmatch(start, s.frames[-1].name) and
                    any(a.type == self.kind and a.name == self.outermost and b.type == "native"
                        for a, b in zip(s.frames, s.frames[1:])))
        result.need(right >= 0.99 * total,
                    "native and %s frames in true order to _start in %d of %d"
                    % (self.title, right, total))

    def peers(self, samples):
        """The peer's figures for the same samples."""
        other = check.Result()
        shares = check.check_pattern(samples, replace(self.spin, exact=0), lambda f: f.name,
                                     "name", other)
        check.check_shares(shares, replace(self.spin, leaf_points=100), other)
        return other.figures

    def check_spin(self, run, name, program):
        start_ns = time.time_ns()
        capture, text, _, pid = scenes.record(run, name, program, "spin")
        result = check.check_chain(capture, scenes.spin_cell(self.spin, capture.samples), pid)
        self.check_mix(capture, result)
        total = sum(s.count for s in capture.samples)
        others = sum(s.count for s in capture.samples
                     if re.fullmatch(self.spin.others,
                                     check.stack_names(s, self.spin, check.name_by_record)))
        result.need(others <= OTHERS_MOST * total,
                    "%d of %d outside the chain" % (others, total))
        beside.tell(run, name, pid, start_ns, self.peers)
        return [result, check.check_rules(capture), check.check_accounting(text)]

    def check_calls(self, run, name, program):
        capture, _, _, pid = scenes.record(run, name, program, "calls")
        result = check.check_chain(capture, self.calls, pid)
        self.check_mix(capture, result)
        return [result]

    def check_shapes(self, run, name, program):
        capture, _, said, pid = scenes.record(run, name, program, "shapes", 2)
        result = check.Result()
        self.scenes(said).judge(check.select(capture, pid), result)
        return [result]
