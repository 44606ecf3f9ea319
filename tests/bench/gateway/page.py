# SPDX-License-Identifier: Apache-2.0
"""Tables and a picture of what gateway.py measured."""

import math
import re

DAY_S = 86400
SHARE = 0.5  # of a gateway's CPU that is planned for


def number(value):
    """Three digits, or a whole number."""
    return "{:,.0f}".format(value) if value >= 100 else "%.3g" % value


def rows_of(head, rows):
    out = ["| %s |" % " | ".join(head), "|" + "---|" * len(head)]
    return "\n".join(out + ["| %s |" % " | ".join(map(str, row)) for row in rows])


def ladders_of(figures):
    return [figures[key] for key in ("small", "large", "slow") if key in figures]


def name_of(shape):
    return [shape["processes"], shape["hz"], "%g s" % shape["window_s"]]


def request_ms(row):
    return 1e3 * row["cpu_s"] / row["done"]


def node(figures):
    """What a node sends and takes, and how many of them half a gateway's core serves."""
    rows = []
    for s, c in zip(figures["shapes"], figures["cost"]):
        each = request_ms(c)
        rate = s["requests"] / s["seconds"]
        rows.append(name_of(s) + [
            number(s["wire"] / s["requests"] / 1e3),
            number(s["wire"] * DAY_S / s["seconds"] / 1e6),
            number((s["user_ns"] + s["bpf_ns"]) / 1e9 / s["busy_s"] * DAY_S),
            number(each / 1e3 * rate * DAY_S),
            number(math.floor(SHARE * 1e3 / (each * rate)))])
    return rows_of(["processes", "Hz", "window", "kB a request", "**MB a day**",
                    "agent's CPU s a day", "gateway's CPU s a day",
                    "**agents for half a core**"], rows)


def lost(row):
    return row["seen"]["refused"] + row["seen"]["timed_out"] + row["seen"]["failed"]


def behind(row):
    return row["seen"]["behind"] + row["seen"]["unsent"]


def agents_row(name, row):
    seen, seconds = row["seen"], row["seconds"]
    return [name, number(row["agents"]), number(seen["sent"] / seconds),
            number(row["done"] / seconds), "%.2f" % (row["cpu_s"] / seconds),
            number(row["peak_mb"]), number(seen["P99"]), number(lost(row)), number(behind(row))]


def spaced(delay):
    return delay.replace("ms", " ms")


def ladders(figures):
    """Of each ladder the last two steps: what held, and what broke. The picture has the others."""
    rows = [agents_row(made["name"], row)
            for made in ladders_of(figures) for row in made["rows"][-2:]]
    if figures.get("minute"):
        rows.append(agents_row("windows of a minute", figures["minute"]))
    return rows_of(["", "agents", "requests a second", "passed on", "CPUs", "RSS peak, MB",
                    "p99, ms", "lost", "behind"], rows)


def away(figures):
    return rows_of(["agents", "`queue_size`", "`GOMEMLIMIT`", "RSS at the start, MB",
                    "with all connections", "peak", "timed out"],
                   [[row["agents"], row["queue"], row["limit"] or "–", number(row["empty_mb"]),
                     number(row["connected_mb"]), number(row["peak_mb"]),
                     row["seen"]["timed_out"]] for row in figures["away"]])


def machine(figures):
    m = figures["machine"]
    return ("Measured on %s: %d CPUs (%s), Linux %s, Collector %s. Other work made a load of %.0f "
            "before it." % (m["when"], m["cpus"], m["cpu"], m["kernel"].split("-")[0],
                            m["collector"], m["load_before"]))


TABLES = {"machine": machine, "node": node, "ladders": ladders, "away": away}
NEEDS = {"machine": "machine", "node": "cost", "ladders": "small", "away": "away"}


def tables(figures):
    """(name, text) of each; a run that was broken off has not all of them."""
    for name, table in TABLES.items():
        yield name, table(figures) if NEEDS[name] in figures else "*Not measured yet.*"


def fill(text, figures):
    """Put each table between its marks, <!-- NAME --> and <!-- end -->."""
    for name, table in tables(figures):
        text, count = re.subn(r"(<!-- %s -->\n).*?(<!-- end -->)" % name,
                              lambda m: m[1] + "\n" + table + "\n\n" + m[2], text, flags=re.S)
        if count != 1:
            raise RuntimeError("the page has %d marks of %s" % (count, name))
    return text


# --- the picture: panels above one another, over the number of agents

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 900, 130, 70, 20, 58, 34
COLORS = ["#1f5f99", "#c0392b", "#7f8c8d"]


def log_x(agents, first, last):
    return LEFT + math.log(agents / first) / math.log(last / first) * (WIDTH - LEFT - RIGHT)


class Panel:
    """@value of each row of each ladder; @level: a dashed line; @log: a scale of tens."""

    def __init__(self, title, figures, value, level=None, log=False):
        self.title, self.level, self.log = title, level, log
        self.lines = [[(row["agents"], value(row)) for row in made["rows"]]
                      for made in ladders_of(figures)]
        values = [v for line in self.lines for _, v in line] + ([level] if level else [])
        if log:
            self.low = math.floor(math.log10(max(1e-3, min(values))))
            self.high = max(self.low + 1, math.ceil(math.log10(max(values))))
            self.marks = [10 ** e for e in range(self.low, self.high + 1)]
        else:
            self.low, self.high = 0, max(values) * 1.08 or 1
            self.marks = [max(values) * part for part in (0, 0.5, 1)]

    def svg(self, y, first, last):
        def y_of(value):
            value = math.log10(max(value, 1e-3)) if self.log else value
            return y + PANEL - (value - self.low) / (self.high - self.low) * PANEL

        out = ['<text x="%d" y="%d">%s</text>' % (LEFT, y - 6, self.title)]
        for mark in self.marks:
            out.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (
                LEFT - 6, y_of(mark) + 4, number(mark)))
            out.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (
                LEFT, y_of(mark), WIDTH - RIGHT, y_of(mark)))
        if self.level:
            out.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#333" '
                       'stroke-dasharray="6 4"/>' % (LEFT, y_of(self.level), WIDTH - RIGHT,
                                                     y_of(self.level)))
        for color, line in zip(COLORS, self.lines):
            points = [(log_x(n, first, last), y_of(v)) for n, v in line]
            out.append('<polyline fill="none" stroke="%s" stroke-width="1.5" points="%s"/>' % (
                color, " ".join("%.1f,%.1f" % p for p in points)))
            out += ['<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>' % (*p, color)
                    for p in points]
        return out


def draw(figures):
    everything = [row["agents"] for made in ladders_of(figures) for row in made["rows"]]
    first, last = min(everything), max(everything)
    panels = [
        Panel("CPUs of the gateway; it had one (dashed)", figures,
              lambda r: r["cpu_s"] / r["seconds"], level=1),
        Panel("RSS of the gateway at its peak, MB", figures, lambda r: r["peak_mb"]),
        Panel("ms from the moment a request was due to its answer, 99 of 100; an agent's deadline "
              "(dashed)", figures, lambda r: r["seen"]["P99"], level=10000, log=True),
        Panel("of 100 requests, how many were lost or more than a window behind", figures,
              lambda r: 100 * (lost(r) + behind(r)) / (r["seen"]["sent"] + r["seen"]["unsent"])),
    ]
    height = TOP + len(panels) * (PANEL + GAP)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
           'font-family="sans-serif" font-size="12">' % (WIDTH, height),
           '<rect width="%d" height="%d" fill="white"/>' % (WIDTH, height)]
    x = LEFT
    for color, made in zip(COLORS, ladders_of(figures)):
        label = "%s: %d processes, %d Hz%s" % (
            made["name"], made["processes"], made["hz"],
            "" if made["delay"] == "0s" else ", " + spaced(made["delay"]))
        out.append('<line x1="%d" y1="16" x2="%d" y2="16" stroke="%s" stroke-width="3"/>' % (
            x, x + 20, color))
        out.append('<text x="%d" y="20">%s</text>' % (x + 26, label))
        x += 275
    for i, panel in enumerate(panels):
        out += panel.svg(TOP + i * (PANEL + GAP), first, last)
    for agents in sorted({10, 100, 1000, 2000, last}):
        if first <= agents <= last and (agents == last or agents < 0.75 * last):
            out.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % (
                log_x(agents, first, last), height - GAP + 16, number(agents)))
    out.append('<text x="%d" y="%d" text-anchor="end">agents</text>' % (LEFT - 20,
                                                                       height - GAP + 16))
    out.append("</svg>")
    return "\n".join(out) + "\n"


def write(args, figures):
    for name, table in tables(figures):
        print("\n%s\n\n%s" % (name, table))
    if args.page:
        with open(args.page, encoding="utf-8") as f:
            text = fill(f.read(), figures)
        with open(args.page, "w", encoding="utf-8") as f:
            f.write(text)
    if args.svg and ladders_of(figures):
        with open(args.svg, "w", encoding="utf-8") as f:
            f.write(draw(figures))
