#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The built files have what the Makefile's HARDEN_... flags promise: hardening.py BUILD looks at the programs in
BUILD/bin, the shared libraries in BUILD/lib and the objects in BUILD/obj and BUILD/pic, and prints what is missing.
Not seen are: that large stack frames are probed (-fstack-clash-protection leaves no mark in a file), and one object of
many that was not fortified and does not print."""
import glob
import os
import re
import subprocess
import sys

# The files in which there is nothing to protect, each with the reason. An entry that is no longer true is a failure.
NO_STACK_BUFFER = {"data-layout": "it prints constants", "kill-at.so": "its functions have no arrays"}
NOTHING_TO_CHECK = {"kill-at.so": "it calls no function that has a checked form"}
# With _FORTIFY_SOURCE=2 the compiler leaves none of these in an object. It does leave a snprintf that cannot overflow.
NEVER_PLAIN = {"printf", "fprintf", "vprintf", "vfprintf", "dprintf", "vdprintf", "sprintf", "vsprintf", "vsnprintf",
               "asprintf", "vasprintf", "syslog", "vsyslog"}


def readelf(option, paths):
    """What readelf prints of each path. It must know every file and have no complaint."""
    done = subprocess.run(["readelf", "-W", option, *paths, "/proc/self/exe"], capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    parts = re.split(r"^File: (.*)\n", done.stdout, flags=re.M)
    said = dict(zip(parts[1::2], parts[2::2]))
    if done.returncode or done.stderr or any(p not in said for p in paths):
        sys.exit(f"readelf {option}: {done.stderr or 'it has skipped a file'}")
    return {p: said[p] for p in paths}


def undefined(symbols):
    """The names that a file takes from others."""
    return set(re.findall(r" UND (\w+)", symbols))


def checked_forms(names):
    """The functions of which these names hold the checked form: memcpy for __memcpy_chk, open for __open_2."""
    found = (re.fullmatch(r"__(?!stack)(\w+)_chk|__(open|openat)_2", name) for name in names)
    return {m[1] or m[2] for m in found if m}


def linked_missing(path, headers, fortifiable):
    """What a program or shared library lacks."""
    name, program = os.path.basename(path), "/bin/" in path
    taken = undefined(headers)
    stack = re.search(r"^ +GNU_STACK .* ([RWE ]{3}) 0x\w+$", headers, flags=re.M)
    if not re.search(r"Type: +DYN ", headers) or program and not re.search(r"\(FLAGS_1\).*\bPIE\b", headers):
        yield "not position-independent"
    if not re.search(r"\(FLAGS\).*\bBIND_NOW\b", headers):
        yield "no BIND_NOW"
    if not re.search(r"^ +GNU_RELRO ", headers, flags=re.M):
        yield "no GNU_RELRO"
    if not stack or "E" in stack[1]:
        yield "its stack is executable, or may be"
    if ("__stack_chk_fail" in taken) == (name in NO_STACK_BUFFER):
        yield "listed without need in NO_STACK_BUFFER" if name in NO_STACK_BUFFER else "no __stack_chk_fail"
    if name in NOTHING_TO_CHECK:
        if checked_forms(taken) or taken & fortifiable:
            yield "listed without need in NOTHING_TO_CHECK"
    elif not checked_forms(taken):
        yield f"none of its calls is checked: {' '.join(sorted(taken & fortifiable)) or 'it has none that could be'}"


def object_missing(notes, symbols):
    """What an object of ours lacks."""
    feature = re.search(r"x86 feature: (.*)", notes)
    for mark in ("IBT", "SHSTK"):
        if not feature or mark not in feature[1].split(", "):
            yield f"no {mark}"
    plain = undefined(symbols) & NEVER_PLAIN
    if plain:
        yield f"not fortified: {' '.join(sorted(plain))}"


def main():
    build = sys.argv[1]
    linked = sorted(glob.glob(f"{build}/bin/*")) + sorted(glob.glob(f"{build}/lib/*.so*"))
    objects = sorted(glob.glob(f"{build}/obj/**/*.o", recursive=True) + glob.glob(f"{build}/pic/**/*.o", recursive=True))
    if not linked or not objects:
        sys.exit(f"nothing to check in {build}")
    libc = subprocess.run(["cc", "-print-file-name=libc.so.6"], capture_output=True, text=True, check=True).stdout.strip()
    names = set(re.findall(r"(\w+)@@", readelf("--dyn-syms", [libc])[libc]))
    fortifiable = checked_forms(names) & names
    if not fortifiable >= {"memcpy", "read", "snprintf"}:
        sys.exit(f"{libc}: its checked forms are not found")
    headers = readelf("-hld", linked)
    symbols = readelf("--dyn-syms", linked)
    missing = [(p, w) for p in linked for w in linked_missing(p, headers[p] + symbols[p], fortifiable)]
    notes = readelf("-n", objects)
    symbols = readelf("-s", objects)
    missing += [(p, w) for p in objects for w in object_missing(notes[p], symbols[p])]
    for path, what in missing:
        print(f"{path}: {what}")
    if missing:
        print("What was built before the flags changed keeps what it had: `make clean` first.")
    print(f"{len(linked)} programs and shared libraries, {len(objects)} objects")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
