# SPDX-License-Identifier: Apache-2.0
"""Prices by zone and weight."""


def price(zone, weight):
    return TABLE[zone, weight]


TABLE = {(zone, weight): round(2.5 * 1.07 ** zone + weight * 0.4, 2) for zone in range(1500) for weight in range(1000)}  # GUILTY
