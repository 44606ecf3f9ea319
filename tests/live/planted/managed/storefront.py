# SPDX-License-Identifier: Apache-2.0
"""A WSGI application, for gunicorn. Each request searches the list of all products by name."""
import json

PRODUCTS = [{"name": "product %d" % i, "price": i % 100} for i in range(5000)]


def find(name):
    return [p for p in PRODUCTS if p["name"].casefold() == name.casefold()]  # GUILTY


def basket(names):
    found = [find(name) for name in names]
    return {"items": found, "total": sum(p["price"] for hits in found for p in hits)}


def application(environ, start_response):
    body = json.dumps(basket(["Product %d" % i for i in range(0, 200, 10)])).encode()
    start_response("200 OK", [("Content-Type", "application/json"),
                              ("Content-Length", str(len(body)))])
    return [body]
