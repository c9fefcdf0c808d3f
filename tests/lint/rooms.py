#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rooms and arrows: what each file includes and calls, against what the module.mk of its room allows.

    rooms.py BUILD          prints every arrow that is not allowed, every circle between files, every file without a
                            room, and last one line about the whole; exit 1 if there is anything
    rooms.py BUILD --draw   the rooms from the highest floor down: lines, and what each uses

A room is a folder of `make rooms`. Included is what `#include "..."` names; called is what an object below BUILD/obj
needs of another object (nm), functions and variables. The kernel module is one room, whose objects are elsewhere: there
a call is the name of what another file defines. Of tests/ only circles are looked for."""
import argparse
import collections
import os
import re
import subprocess
import sys

KERNEL = "driver/kernel/"
# Each puts a program together, from any room below it.
MAINS = {"daemon/main.c", "driver/emu/main.c", "driver/perf/main.c", "slowctl/fcmctl/main.c", "slowctl/page/main.c",
         "slowctl/notify/main.c"}
# What only these files may do.
ALONE = [
    (r"#include <gps.h>", r"daemon/time/gps\.c"),
    (r"#include <systemd/sd-daemon.h>", r"daemon/(main|net/listener)\.c"),
    (r"SQLITE_OPEN_READWRITE", r"daemon/store/\w+\.c|slowctl/fcmctl/backup/database\.c"),  # that writes copies
    (r'#include "daemon/station/station.h"', r"daemon/(main|station/\w+)\.c"),
]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def table():
    """{room: what it uses}, lowest first."""
    rooms = {}
    for line in run("make", "-s", "--no-print-directory", "rooms").splitlines():
        room, _, uses = line.partition(":")
        rooms[room] = uses.split()
    return rooms


def sources():
    """(files of the rooms, of the kernel module, of tests)"""
    files = run("tests/lint/files.sh", "*.c", "*.h").split()
    kernel = [f for f in files if f.startswith(KERNEL)]
    tests = [f for f in files if f.startswith("tests/")]
    return [f for f in files if f not in {*kernel, *tests}], kernel, tests


def includes(files):
    for f in files:
        with open(f, encoding="utf-8") as text:
            for name in re.findall(r'^#include "([^"]+)"', text.read(), re.M):
                yield f, name


def objects(build, files):
    """{source: its object}; those of a shared library are in a folder of their own."""
    found = {}
    for f in files:
        if f.endswith(".c"):
            places = [os.path.join(build, kind, f[:-2] + ".o") for kind in ("obj", "pic")]
            found[f] = next(filter(os.path.exists, places), None)
    return found


def calls(build, files):
    """(caller, called, names), from the objects."""
    defined, needed = {}, {}
    for f, obj in objects(build, files).items():
        if not obj:
            continue
        needed[f] = set()
        for line in run("nm", obj).splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                needed[f].add(name)
            elif kind in "TDBRCVW":
                defined.setdefault(name, []).append(f)
    if not needed:
        sys.exit(f"rooms.py: no objects below {build}/obj")
    for f, names in needed.items():
        found = collections.defaultdict(list)
        for name in sorted(names):
            # A name that several programs define for themselves is no call between them.
            if len(defined.get(name, ())) == 1 and defined[name][0] != f:
                found[defined[name][0]].append(name)
        for other, what in found.items():
            yield f, other, what


def kernel_calls(files):
    """(caller, called), from the text without comments and strings."""
    text, defined = {}, {}
    for f in files:
        if f.endswith(".c"):
            with open(f, encoding="utf-8") as source:
                text[f] = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', "", source.read(), flags=re.S)
            for m in re.finditer(r"^(?!static|extern)[a-z][^\n;=#]*?\b(nanet3_\w+)(?=\(| *=|\[)", text[f], re.M):
                defined[m[1]] = f
    if not defined:
        sys.exit(f"rooms.py: nothing is defined below {KERNEL}")
    for f, source in text.items():
        yield from ((f, defined[name]) for name in set(re.findall(r"\bnanet3_\w+", source)) if defined.get(name, f) != f)


def circles(graph):
    """Strongly connected sets of more than one (Tarjan)."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in graph[node]:
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(frozenset(stack[at:]))
            del stack[at:]
    for node in list(graph):
        if node not in order:
            visit(node)
    return found


def draw(rooms, files):
    floor = {}
    for room, uses in rooms.items():
        floor[room] = 1 + max((floor[u] for u in uses), default=0)
    lines = collections.Counter()
    for f in files:
        with open(f, encoding="utf-8") as text:
            lines[os.path.dirname(f)] += len(text.readlines())
    for n in range(max(floor.values()), 0, -1):
        print(f"floor {n}")
        for room in (r for r in rooms if floor[r] == n):
            print(f"  {room:24}{lines[room]:6} lines   uses {' '.join(rooms[room]) or 'nothing'}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--draw", action="store_true")
    args = p.parse_args()
    rooms, (files, kernel, tests) = table(), sources()
    if args.draw:
        return draw(rooms, files)
    wrong, used = [], set()

    def arrow(f, other, how):
        a, b = os.path.dirname(f), os.path.dirname(other)
        used.add((a, b))
        if a == b or b in rooms.get(a, ()) or f in MAINS:
            return
        wrong.append(f"{f} {how}, and {a} may use only: {' '.join(rooms.get(a, ())) or 'nothing'}")
    graph, headers = collections.defaultdict(set), collections.defaultdict(set)
    for f in files:
        if os.path.dirname(f) not in rooms and f not in MAINS:
            wrong.append(f"{f} is in no room (Makefile, rooms)")
        with open(f, encoding="utf-8") as text:
            wrong += [f"{f} uses {what}, which belongs in {where} alone" for what, where in ALONE
                      for _ in [text.seek(0)] if re.search(what, text.read()) and not re.fullmatch(where, f)]
    wrong += [f"{f} has no object below {args.build}" for f, obj in objects(args.build, files).items() if not obj]
    wrong += [f"{room} has no {name}" for room in rooms for name in ("README.md", "module.mk")
              if not os.path.exists(os.path.join(room, name))]
    for f, name in includes(files):
        headers[f].add(name)
        arrow(f, name, f"includes {name}")
        if name.endswith("private.h") and os.path.dirname(name) != os.path.dirname(f):
            wrong.append(f"{f} includes {name}, which is its room's own")
    arrows = set(kernel_calls(kernel))
    for f, other, names in calls(args.build, files):
        arrows.add((f, other))
        arrow(f, other, f"calls {other} ({', '.join(names[:4])})")
    for f, other in (*arrows, *((f, other) for f, other, _ in calls(args.build, tests))):
        graph[f].add(other)
    wrong += [f"{a} may use {b} (module.mk) and does not" for a in rooms for b in rooms[a] if (a, b) not in used]
    wrong += [f"a circle of {len(c)} files: {' '.join(sorted(c))}" for c in circles(graph) + circles(headers)]
    print("\n".join(wrong) + ("\n" if wrong else "") + f"{len(rooms)} rooms and the kernel module, {len(files) + len(kernel)} files, "
          f"{len(arrows)} arrows of calls between files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
