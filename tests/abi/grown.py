# SPDX-License-Identifier: Apache-2.0
"""The structs of the public headers, and headers of a version to come: in those, each struct
that begins with its size has one field more."""
import pathlib
import re

# Structs without a size: they never grow, and abi.md says so of each.
FIXED = {"otelprof_attribute", "otelprof_context", "otelprof_context_attribute"}
FIELD = "\tuint64_t of_a_later_version;\n"
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.M | re.S)


def structs(include):
    """(name, its first field, the header that has it) of each struct."""
    for path in sorted(pathlib.Path(include, "otelprof").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for name, body in STRUCT.findall(text):
            yield name, re.search(r"[^;]+;", body).group(0).strip(), path.name


def sized(include):
    """The names of those that begin with their size; raises for one that does neither."""
    names = []
    for name, first, header in structs(include):
        if first == "size_t size;":
            names.append(name)
        elif name not in FIXED:
            raise ValueError(f"{header}: struct {name} begins with '{first}', not with its size")
    return names


def grow(include, to):
    """Write headers to @to/otelprof, in which each sized struct has a field more at its end."""
    names = set(sized(include))
    pathlib.Path(to, "otelprof").mkdir(parents=True)
    for path in pathlib.Path(include, "otelprof").glob("*.h"):
        pathlib.Path(to, "otelprof", path.name).write_text(
            STRUCT.sub(lambda m: m.group(0)[:-2] + FIELD + "};" if m.group(1) in names
                       else m.group(0), path.read_text()))
