# SPDX-License-Identifier: Apache-2.0
"""imports.py: imports most of the standard library."""

import importlib
import pkgutil
import sys

SKIP = {"antigravity", "this", "idlelib", "turtledemo", "turtle", "tkinter", "lib2to3", "pip", "ensurepip",
        "test"}

for name in sorted({module.name for module in pkgutil.iter_modules()} | set(sys.builtin_module_names)):
    if name not in SKIP and not name.startswith("_"):
        try:
            importlib.import_module(name)
        except Exception:  # of another system, or without its library
            pass
