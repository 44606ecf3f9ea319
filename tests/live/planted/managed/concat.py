# SPDX-License-Identifier: Apache-2.0
"""A string is built from its front, so that each step copies all of it."""


def render_rows(rows):
    page = ""
    for row in rows:
        page = row + page  # GUILTY
    return page


def serve(requests):
    return [len(render_rows(rows)) for rows in requests]


while True:
    serve([["<tr><td>%d</td></tr>" % i for i in range(20000)]])
