# SPDX-License-Identifier: Apache-2.0
"""A regular expression is compiled for each line; the module's own cache is too small for it."""
import re

RULES = 2000


def find_rule(line, number):
    pattern = re.compile(r"(?P<key>rule%d)\s*=\s*(?P<value>[^;]+);?(?:\s*#.*)?$" % number)  # GUILTY
    return pattern.match(line)


def check(lines):
    return sum(find_rule(line, i % RULES) is not None for i, line in enumerate(lines))


while True:
    check(["rule%d = value; # comment" % i for i in range(RULES)])
