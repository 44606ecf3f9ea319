# SPDX-License-Identifier: Apache-2.0
"""What the agent's pod tells of itself: its metrics, and the dashboard and the alert rules over
them, in a real Prometheus that scrapes it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import check
import suite
from ports import free_port

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(TOP, "tests", "check"))
import monitoring

PATIENCE = 60
SCRAPES = 8  # seconds of them, once there is one
# What Grafana puts in place of its variables.
VARIABLES = {"$__rate_interval": "15s", "$instance": ".*"}


def fetch(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def asked():
    """(where, query): of the dashboard and the rules, as Prometheus gets them."""
    for where, query in monitoring.queries(pathlib.Path(TOP)):
        for name, value in VARIABLES.items():
            query = query.replace(name, value)
        yield where, re.sub(r"label_values\((\w+),.*\)", r"\1", query)


class Prometheus:
    """It scrapes @target once a second, and has the alert rules."""

    def __init__(self, run, programs, target):
        folder = suite.fresh_folder(run.path("prometheus"))
        rules = os.path.join(TOP, monitoring.FOLDER, "alerts.yaml")
        path = os.path.join(folder, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                       "rule_files": [os.path.abspath(rules)],
                       "scrape_configs": [{"job_name": "otelprof",
                                           "static_configs": [{"targets": [target]}]}]}, f)
        address = "127.0.0.1:%d" % free_port()
        self.url = "http://%s/api/v1/" % address
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.join(programs, "prometheus"), "--config.file", path,
                 "--storage.tsdb.path", os.path.join(folder, "data"),
                 "--web.listen-address", address], stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        suite.end(self.process, 30)

    def get(self, what, **arguments):
        return json.loads(fetch(self.url + what + "?" + urllib.parse.urlencode(arguments)))["data"]

    def series(self, query):
        return self.get("query", query=query)["result"]

    def wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if self.series("count_over_time(otelprof_samples_taken[1m]) > %d" % SCRAPES):
                    return
            except OSError:
                pass
            time.sleep(0.5)
        raise RuntimeError("Prometheus has no metrics of the agent")


def check_queries(run, programs, target):
    """Each query has an answer, and each metric of a query is there."""
    result = check.Result()
    with Prometheus(run, programs, target) as prometheus:
        prometheus.wait()
        names = set()
        for where, query in asked():
            names |= set(re.findall(r"\b(?:otelprof|otelcol)_\w+", query))
            # What compares is empty where all is well.
            if not prometheus.series(query) and not re.search("[<>=]=? [0-9.]+$", query):
                result.problems.append("%s has no data" % where)
        gone = sorted(n for n in names if not prometheus.series("count(%s)" % n))
        result.need(not gone, "%d metrics of the dashboard and the rules in Prometheus %s" % (
            len(names), gone or ""))
        ill = [rule["name"] for group in prometheus.get("rules")["groups"]
               for rule in group["rules"] if rule["health"] != "ok"]
        result.need(not ill, "rules that fail: %s" % (ill or "none"))
    return result


def check_rules(run, programs):
    """alerts_test.yaml: which rule means whom, and when."""
    folder = suite.fresh_folder(run.path("alerts"))
    shutil.copy(os.path.join(HERE, "alerts_test.yaml"), folder)
    shutil.copy(os.path.join(TOP, monitoring.FOLDER, "alerts.yaml"), folder)
    done = subprocess.run([os.path.join(programs, "promtool"), "test", "rules", "alerts_test.yaml"],
                          cwd=folder, capture_output=True, text=True, check=False)
    result = check.Result()
    result.need(done.returncode == 0, "alert rules mean whom they should%s" % (
        done.stdout[-600:] + done.stderr[-300:] if done.returncode else ""))
    return result


def check_metrics(run, target):
    """The agent's port "metrics" tells what the profiler did."""
    result = check.Result()
    text = fetch("http://%s/metrics" % target)
    with open(run.path("agent.metrics"), "w", encoding="utf-8") as f:
        f.write(text)
    taken = re.search(r"^otelprof_samples_taken\S* (\S+)$", text, re.M)
    result.need(taken and float(taken[1]) > 0, "%s tells of %s samples" % (
        target, taken[1] if taken else "no"))
    programs = run.args.prometheus
    return [result] + ([check_queries(run, programs, target), check_rules(run, programs)]
                       if programs else [])
