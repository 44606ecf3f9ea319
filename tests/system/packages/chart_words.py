# SPDX-License-Identifier: Apache-2.0
"""What helm says to who installs the chart: why it refuses values, and the notes."""
import os
import shutil
import tempfile

import yaml

import chart

# Values of which one cannot mean what comes out, and what helm says to them.
REFUSED = [
    ([], "backend.endpoint must be set"),
    (["profile.label=", "profile.optIn=true"], "profile.optIn needs the name of the label"),
    (["agent.attributes={k8s.pod.name,k8s.pod.uid}"], "agent.attributes needs one of the container"),
    (["agent.receiver.service_name=agent"], "agent.receiver must not name a service"),
    (["agent.receiver.attributes.service\\.name=agent"], "agent.receiver must not name a service"),
    # What is written wrong would be left out in silence.
    (["gateway.replica=3"], "additional properties 'replica' not allowed"),
    (["image.digest=latest"], "does not match pattern"),
]


def check_refused(helm, path):
    for sets, said in REFUSED:
        more = [word for each in sets for word in ("--set", each)] + (
            ["--values", path] if sets else [])
        status, _, err = chart.run(helm, "template", chart.CHART, *chart.KUBERNETES, *more)
        if not status or said not in err:
            raise chart.Wrong("%s: exit %d, not refused as \"%s\": %s" % (sets, status, said, err[-200:]))


# helm template does not print the notes, so a copy of the chart has them in an object.
NOTES = """apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {text: {{ include "notes" . | quote }}}
"""


def notes(helm, path, *more):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "chart")
        shutil.copytree(chart.CHART, copy)
        with open(os.path.join(copy, "templates", "NOTES.txt"), encoding="utf-8") as f:
            text = f.read()
        for name, made in (("_notes.tpl", '{{ define "notes" }}%s{{ end }}' % text),
                           ("notes.yaml", NOTES)):
            with open(os.path.join(copy, "templates", name), "w", encoding="utf-8") as f:
                f.write(made)
        status, out, err = chart.run(helm, "template", "otelprof", copy, *chart.KUBERNETES,
                                     "--values", path, *more)
    if status:
        raise chart.Wrong("the notes: " + err[-300:])
    return chart.find([doc for doc in yaml.safe_load_all(out) if doc], "ConfigMap", "notes")["data"]["text"]


def check_notes(helm, path):
    """Who upgrades with an older image is told why its pods do not start."""
    for label, wanted in (("a.b/c", True), ("", False)):
        text = notes(helm, path, "--set", "profile.label=" + label)
        if 'unknown type: "health_check"' not in text or ("a.b/c" in text) != wanted:
            raise chart.Wrong("notes with the label \"%s\": %s" % (label, text))


def check(helm, path):
    check_refused(helm, path)
    check_notes(helm, path)
