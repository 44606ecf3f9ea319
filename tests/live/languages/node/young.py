# SPDX-License-Identifier: Apache-2.0
"""young.js: is each sample in burn() under the function that lived then, with its line and file?"""

import bisect
import os
import subprocess

import check
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "young.js")
RIGHT = 0.99
RIGHT_AT_ENDS = 0.98  # the last code may be compiled and gone before it is read
MIN_SAMPLES = 500
EDGE_NS = 200000  # around the calls that tell the time
ENDS = 20
END_SECONDS = "0.3"
MARKS = ("[unwind error", "[truncated]", "[no unwind table", "[stack lost]")


def rows_of(said):
    """[(begin, end, name, line)] of what the program said."""
    rows = [line.split() for line in said.splitlines() if line.startswith("now ")]
    return sorted((int(w[3]), int(w[4]), w[1], int(w[2])) for w in rows)


def burn_lines():
    with open(SOURCE, encoding="utf-8") as f:
        return {n for n, text in enumerate(f, 1) if text.rstrip().endswith("// burn")}


def judge(samples, rows, least):
    """Samples in a program's first moments, before there is a table, say so."""
    begins = [row[0] for row in rows]
    leaf = burn_lines()
    total = named = right = marked = 0
    wrong = {}
    for sample in samples:
        if sample.attributes.get("thread.id") != sample.pid:
            continue
        frames = [f for f in sample.frames if f.type == "v8js"]
        for stamp in sample.timestamps:
            i = bisect.bisect(begins, stamp) - 1
            if i < 0 or not rows[i][0] + EDGE_NS < stamp < rows[i][1] - EDGE_NS:
                continue
            if any(f.name.startswith(MARKS) for f in sample.frames):
                marked += 1
                continue
            names = [f.name for f in frames]
            if frames and "burn" not in names and rows[i][2] in names:
                continue  # on the way to burn() or back
            total += 1
            at = names.index("burn") if "burn" in names else -1
            below = frames[at + 1] if 0 <= at < len(frames) - 1 else None
            is_it = below is not None and below.name == rows[i][2]
            named += is_it
            if is_it and below.line == rows[i][3] and below.file == "made/%s.js" % below.name[5:] \
                    and frames[at].line in leaf:
                right += 1
                continue
            text = "%s:%d for " % rows[i][2:] + " ".join(
                "%s:%s:%d" % (f.name, os.path.basename(f.file), f.line) for f in sample.frames[:6])
            wrong[text] = wrong.get(text, 0) + 1
    result = check.Result()
    result.need(total >= MIN_SAMPLES, "%d samples in what lives for a moment" % total)
    result.need(right >= least * total, "%.2f %% under their own function, %.2f %% with line and file, %d marked" %
                (100 * named / max(total, 1), 100 * right / max(total, 1), marked))
    for text, n in sorted(wrong.items(), key=lambda x: -x[1])[:6] if result.problems else []:
        result.problems.append("  %d times: %s" % (n, text))
    return result


def cell(run, name, command, ends):
    """One process that goes on, or with @ends some that end soon."""
    said = run.path(name + ".said")
    if ends:
        script = "for i in %s; do %s %s %s; done" % (" ".join("x" * ENDS), " ".join(command), SOURCE,
                                                     END_SECONDS)
        capture, text = run.record(name, "-F", str(run.args.hz), "--", "sh", "-c", script)
        result = judge(capture.samples, rows_of(text), RIGHT_AT_ENDS)
    else:
        with open(said, "w", encoding="utf-8") as out:
            process = subprocess.Popen([*command, SOURCE, suite.LONG], stdout=out)
        try:
            while not os.path.getsize(said):
                if process.poll() is not None:
                    raise RuntimeError("%s did not start" % command)
            capture, text = run.record_process(name, process.pid, 3)
        finally:
            suite.stop([process])
        with open(said, encoding="utf-8") as f:
            result = judge(check.select(capture, process.pid), rows_of(f.read()), RIGHT)
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))
