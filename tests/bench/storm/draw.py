# SPDX-License-Identifier: Apache-2.0
"""Draws what storm.py measured as an SVG: panels above one another, over time."""

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 900, 130, 70, 20, 40, 34
SET, USED, OTHER = "#c0392b", "#1f5f99", "#7f8c8d"
STEP = 1.0  # seconds of a point


class Panel:
    """One panel: @title, and lines of (color, dashes, [(second, value)])."""

    def __init__(self, title, lines, top=0.0):
        self.title = title
        self.lines = lines
        self.top = max([top] + [v for _, _, points in lines for _, v in points]) * 1.08 or 1.0

    def svg(self, y, seconds, storm):
        def x_of(second):
            return LEFT + second / seconds * (WIDTH - LEFT - RIGHT)

        def y_of(value):
            return y + PANEL - value / self.top * PANEL

        out = ['<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#f3efe6"/>' % (
            x_of(storm[0]), y, x_of(storm[1]) - x_of(storm[0]), PANEL)]
        out.append('<text x="%d" y="%d">%s</text>' % (LEFT, y - 6, self.title))
        for part in (0, 0.5, 1):
            value = self.top / 1.08 * part
            out.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (
                LEFT - 6, y_of(value) + 4, "%.3g" % value))
            out.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (
                LEFT, y_of(value), WIDTH - RIGHT, y_of(value)))
        for color, dashes, points in self.lines:
            out.append('<polyline fill="none" stroke="%s" stroke-width="1.5"%s points="%s"/>' % (
                color, ' stroke-dasharray="6 4"' if dashes else "",
                " ".join("%.1f,%.1f" % (x_of(s), y_of(v)) for s, v in points)))
        return out


def by_second(rows, value):
    """[(second, growth of @value a second)]."""
    points = []
    last = rows[0]
    for row in rows[1:]:
        if row["s"] - last["s"] >= STEP:
            points.append((row["s"], (value(row) - value(last)) / (row["s"] - last["s"])))
            last = row
    return points


def line(rows, value):
    return [(row["s"], value(row)) for row in rows]


def ten(rows, value):
    """The growth of @value a second over the ten seconds before each moment."""
    points = []
    first = 0
    for row in rows:
        while row["s"] - rows[first]["s"] > 10:
            first += 1
        if first and row is not rows[first]:
            points.append((row["s"], (value(row) - value(rows[first])) /
                           (row["s"] - rows[first]["s"])))
    return points


def draw(args, rows, used_ns, bytes_of):
    seconds = rows[-1]["s"]
    storm = (args.quiet, args.quiet + args.seconds)

    def level(value):
        return (SET, True, [(0, value), (seconds, value)])

    def percent(points):
        return [(s, v / 1e7) for s, v in points]

    budget = args.setting("cpu_budget_permille") / 10
    panels = [Panel("CPU, % of a core: set (dashed), used in each second (grey), in the ten "
                    "seconds before (blue)",
                    [level(budget), (OTHER, False, percent(by_second(rows, used_ns))),
                     (USED, False, percent(ten(rows, used_ns)))]),
              Panel("rate, Hz", [(USED, False, line(rows, lambda r: 1e9 / r["period_ns"]))])]
    limit = args.setting("memory_limit_bytes") / 1e6
    memory = [(USED, False, line(rows, lambda r: bytes_of(r) / 1e6)),
              (OTHER, False, line(rows, lambda r: r["maps"] / 1e6))]
    if limit:
        memory.append(level(limit))
    panels.append(Panel("memory, MB: set (dashed), own and BPF maps together (blue), maps alone "
                        "(grey)", memory))
    panels.append(Panel("samples lost, a second", [(USED, False, by_second(
        rows, lambda r: r["dropped"]))]))
    height = TOP + len(panels) * (PANEL + GAP)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
           'font-family="sans-serif" font-size="12">' % (WIDTH, height),
           '<rect width="%d" height="%d" fill="white"/>' % (WIDTH, height)]
    for i, panel in enumerate(panels):
        out += panel.svg(TOP + i * (PANEL + GAP), seconds, storm)
    y = height - GAP + 16
    for second in range(0, int(seconds) + 1, 10):
        x = LEFT + second / seconds * (WIDTH - LEFT - RIGHT)
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%d s</text>' % (x, y, second))
    out.append("</svg>")
    return "\n".join(out) + "\n"
