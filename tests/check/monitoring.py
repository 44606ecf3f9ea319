# SPDX-License-Identifier: Apache-2.0
"""Checks that the dashboard and the alert rules use metrics and labels that the receiver has.

    monitoring.py ROOT

Names are those of metrics.go, as the Collector's pull exporter writes them: dots are underscores.
"""
import json
import pathlib
import re
import sys

FOLDER = "examples/kubernetes/chart/monitoring"
# of the Collector itself, as in v0.159 and v0.164
COLLECTOR = {"otelcol_process_cpu_seconds", "otelcol_process_memory_rss"}
# Every series has it: the target that was scraped.
LABELS = {"instance"}
FUNCTIONS = {"sum", "rate", "increase", "topk", "clamp_min"}
WORDS = {"by", "and", "on", "ignoring", "group_left", "label_values"}


def metrics(source):
    """name: the label of its own, or None."""
    single, families = source.split("var families")
    found = {name: None for name in re.findall(r'\{"(otelprof\.[a-z.]+)"', single)}
    found.update(re.findall(r'\{"(otelprof\.[a-z.]+)".*?"([a-z]+)",\s*func', families, re.S))
    return {name.replace(".", "_"): label for name, label in found.items()}


def wrong(expression, known):
    """What is wrong with a query, or an empty text."""
    for opening, closing in ("()", "{}", "[]"):
        if expression.count(opening) != expression.count(closing):
            return "%s is not closed" % opening
    plain = re.sub(r'"[^"]*"|\[[^\]]*\]|\$\w+', " ", expression)
    names = set(re.findall(r"\b[a-z_]{2,}\b", plain))
    asked = {name for name in names if name.startswith(("otelprof_", "otelcol_"))}
    labels = names - asked - FUNCTIONS - WORDS
    if not asked or asked - set(known) - COLLECTOR:
        return "no metric %s" % sorted(asked - set(known))
    allowed = LABELS | {known[name] for name in asked if known.get(name)}
    return "no label %s" % sorted(labels - allowed) if labels - allowed else ""


def queries(root):
    """(where, query) of the dashboard and of the rules."""
    folder = root / FOLDER
    dashboard = json.loads((folder / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield "panel " + panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield "variable " + variable["name"], variable["query"]["query"]
    text = (folder / "alerts.yaml").read_text()
    for name, folded, line in re.findall(
            r"- alert: (\w+)\n +expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)", text):
        yield "alert " + name, folded or line


def main():
    root = pathlib.Path(sys.argv[1])
    known = metrics((root / "examples/collector/otelprofreceiver/metrics.go").read_text())
    all_of = list(queries(root))
    alerts = (root / FOLDER / "alerts.yaml").read_text().count("- alert:")
    mistakes = ["%s: %s" % (where, wrong(query, known)) for where, query in all_of
                if wrong(query, known)]
    if len(known) < 15 or sum(where.startswith("alert ") for where, _ in all_of) != alerts:
        mistakes.append("the metrics or the rules are not read whole")
    # The check itself finds what it is for.
    for query in ("rate(otelprof_samples_lost[5m])", "sum by (pod) (otelprof_processes)",
                  "sum by (reason) (otelprof_stacks)", "sum(otelprof_stacks", "1 + 1"):
        if not wrong(query, known):
            mistakes.append("%s is taken" % query)
    print("\n".join(mistakes) or "%d queries of %d metrics" % (len(all_of), len(known)))
    return bool(mistakes)


if __name__ == "__main__":
    sys.exit(main())
