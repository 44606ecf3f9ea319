# SPDX-License-Identifier: Apache-2.0
"""Messages for a log that nobody reads are made, and dropped."""
import json
import logging

log = logging.getLogger("shop")
logging.basicConfig(level=logging.WARNING)


def add_item(cart, item):
    cart.append(item)
    log.debug("cart is now " + json.dumps(cart, sort_keys=True))  # GUILTY


def fill_cart():
    cart = []
    for i in range(200):
        add_item(cart, {"name": "item %d" % i, "price": i * 1.5, "tags": ["new", "red"]})
    return cart


while True:
    fill_cart()
