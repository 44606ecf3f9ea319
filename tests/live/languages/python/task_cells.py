# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/python/tasks.py with --await-chains: a task's frames are followed by those of
the tasks that await it.
"""

import ast
import os

import check
import suite
from cells import Cell

HERE = os.path.dirname(os.path.abspath(__file__))
MODE = "tasks await each other"
PROGRAM = os.path.join(HERE, "tasks.py")
# Way → its frames from the leaf to main, by qualified name.
WAYS = {
    "task": "leaf_task middle_task by_task",
    "tasks": "leaf_tasks inner_tasks outer_tasks by_tasks",
    "gather": "leaf_gather by_gather",
    "group": r"leaf_group TaskGroup\._aexit TaskGroup\.__aexit__ by_group",
    "generator": "leaf_generator generate by_generator",
    "timeout": "leaf_timeout wait_for by_timeout",
    "wait": "leaf_wait _wait wait by_wait",
    "class": r"leaf_class Wrapped\.__await__ by_class",
    "two": "leaf_two",
    "eager": "leaf_eager by_eager",
}
LOOP = (r"Handle\._run BaseEventLoop\._run_once BaseEventLoop\.run_forever "
        r"BaseEventLoop\.run_until_complete Runner\.run run <module>")


def lines_of(names):
    return "".join(name + "\n" for name in names.split())


def stack(way):
    """A task that two others await has no caller but the loop."""
    return lines_of(WAYS[way] + (" " if way == "two" else " main ") + LOOP)


CELL = Cell(r"(?:spin\n)?(?:" + "|".join(stack(way) for way in WAYS) + ")",
            {way: "leaf_" + way for way in WAYS}, shares={way: 1 / len(WAYS) for way in WAYS},
            only_type="cpython",
            # Between two leaves: the event loop, and what makes tasks.
            others=r"(?:(?!leaf_|spin\n)[^\n]+\n)*")


def known_lines():
    """Function → the lines at which it may stand: those of its awaits, or of its body."""
    with open(PROGRAM, encoding="utf-8") as f:
        text = f.read()
    source = text.split("\n")
    found = {}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        lines = set(range(node.lineno + 1, node.end_lineno + 1))
        if node.name.startswith(("by_", "middle_", "inner_", "outer_", "generate", "main")) and \
                node.name != "by_eager":
            lines = {n for n in lines if "await " in source[n - 1] or "async " in source[n - 1]}
        found[node.name] = lines
    found["Wrapped.__await__"] = found.pop("__await__")
    return found


def cell(run, name, command, release, why):
    if not command:
        raise suite.Skip("no such interpreter here" + ("; " + why if why else ""))
    run.row["release"] = release
    with suite.interpreted(command, PROGRAM, suite.LONG) as process:
        capture, text = run.record_process(name, process.pid, options=["--await-chains"])
    result = check.check_chain(capture, CELL, process.pid)
    check.check_lines(check.select(capture, process.pid), CELL, known_lines(), result)
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))
