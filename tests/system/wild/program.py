# SPDX-License-Identifier: Apache-2.0
"""What a program of the suite is: what it needs, how its input is made, what keeps it busy.

All of it is shell. @make runs once in the program's own folder, outside of the recording;
@load runs there in a control group while the profilers record, and is killed with all its
children at the end. $DIR is that folder, $SRC, $LOADS and $LANGUAGES are tests/system/wild/sources,
loads and languages, $TOP the project, $PORT
a free port of the loopback. Inputs are the same in every run.
"""

from dataclasses import dataclass


@dataclass
class Program:
    name: str
    load: str
    needs: str = ""  # commands or files, any of which missing skips the program
    make: str = ""
    exe: str = ""  # a pattern: only processes of these executables are judged
    bound: float = 1.0  # per cent of stacks that may end early
    begin: str = ""  # a pattern of what else its stacks begin with, see judge.py
    never: str = ""  # a pattern of names, leaf first and each with ";", that cannot follow
    warm: float = 0  # seconds of load before the recording, for what starts slowly


# The bound of programs that are for the most part assembly by hand, or code compiled without.
NO_UNWIND_DATA = 10.0


def forever(command):
    """Again and again, until it fails, which the suite reports."""
    return "while %s; do :; done" % command


# 16 MB of text that compresses about as well as text does.
TEXT = "seq 1 1500000 | awk '{ print $1 * 7919 % 1000003, \"word\" $1 % 977 }' >text; "
