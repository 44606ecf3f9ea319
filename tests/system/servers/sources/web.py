# SPDX-License-Identifier: Apache-2.0
"""A small shop in Flask: routing, a template, JSON, a query in memory."""
import difflib
import json
import re

from flask import Flask, g, jsonify, render_template_string, request

app = Flask(__name__)
ITEMS = [{"id": n, "name": "item %d of %d" % (n, n * 7919 % 1000), "tags": ["a%d" % (n % 7), "b"],
          "price": n * 3.25} for n in range(400)]
PAGE = """<html><body><h1>{{ title|upper }}</h1><ul>
{% for item in items %}<li class="{{ loop.cycle('odd', 'even') }}">{{ item.name|e }}:
{{ "%.2f"|format(item.price) }}{% if item.tags %} ({{ item.tags|join(", ") }}){% endif %}</li>
{% endfor %}</ul></body></html>"""
WORDS = re.compile(r"(\w+) (\d+) of (\d+)")


@app.before_request
def who():
    g.words = request.args.get("q", "item 77").split()


def score(item):
    found = WORDS.match(item["name"])
    return sum(int(n) for n in found.groups()[1:]) % 97


def search(limit):
    ranked = sorted(ITEMS, key=score)
    return [dict(item, rank=rank) for rank, item in enumerate(ranked[:limit])]


def similar(name):
    return difflib.get_close_matches(name, [item["name"] for item in ITEMS[:25]], 3, 0.7)


@app.route("/")
def page():
    return render_template_string(PAGE, title="all", items=search(40))


@app.route("/api")
def api():
    return jsonify(items=search(60), again=json.loads(json.dumps(ITEMS[:50])),
                   similar=similar(" ".join(g.words)))
