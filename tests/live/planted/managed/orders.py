# SPDX-License-Identifier: Apache-2.0
"""A page of orders from PostgreSQL, with one more query for the customer of each order."""
import sys

import psycopg2


def make(db):
    with db.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE customers AS SELECT i AS id, 'customer ' || i AS name"
                       " FROM generate_series(1, 20000) i")
        cursor.execute("CREATE TEMP TABLE orders AS SELECT i AS id, i * 7 % 20000 + 1 AS customer"
                       " FROM generate_series(1, 2000) i")


def customer_of(cursor, order):
    cursor.execute("SELECT name FROM customers WHERE id = %s", (order[1],))  # GUILTY
    return cursor.fetchone()[0]


def page(db):
    with db.cursor() as cursor:
        cursor.execute("SELECT id, customer FROM orders ORDER BY id LIMIT 100")
        return ["%d %s" % (order[0], customer_of(cursor, order)) for order in cursor.fetchall()]


connection = psycopg2.connect(sys.argv[1])
make(connection)
while True:
    page(connection)
