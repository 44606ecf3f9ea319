# SPDX-License-Identifier: Apache-2.0
"""Prints one price. Most of its time goes before that, to a table of a module that it imports."""
import tariffs

print(tariffs.price(17, 3))
