# SPDX-License-Identifier: GPL-2.0-or-later
"""Transcripts: a file says what is typed, what is shown and the exit code; playing it types the commands again and
compares what is shown now.

    # a comment
    [NAME ARGUMENTS]          the stage is set: a function of the player's, by its name
    $ fcmctl ...              typed as in a shell, without its variables and pipes
    stdout, a line with # behind `| `
    2| stderr
    [exit N]
"""
import difflib
import os
import re
import shlex


def play(bench, path, run, mask, stage):
    """`run(*args)` -> (code, stdout, stderr); `mask(text)`; `stage` has a function for every name in brackets."""
    seen = []
    with open(path) as f:
        wanted = f.read()
    for line in wanted.splitlines():
        directive = re.fullmatch(r"\[(\w+) ?(.*)\]", line)
        if line.startswith("# "):
            seen.append(line)
        elif directive and directive[1] != "exit":
            stage[directive[1]](*shlex.split(directive[2]))
            seen.append(line)
        elif line.startswith("$ fcmctl"):
            code, out, err = run(*shlex.split(line[2:])[1:])
            seen.append(line)
            seen += ["| " + x if x.startswith("# ") else x for x in mask(out).splitlines()]
            seen += ["2| " + e for e in mask(err).splitlines()]
            seen += [f"[exit {code}]", ""]
    got = "\n".join(seen).rstrip() + "\n"
    if bench.update:
        with open(path, "w") as f:
            f.write(got)
    elif not bench.check(os.path.basename(path), got == wanted, "differs"):
        print("".join(difflib.unified_diff(wanted.splitlines(True), got.splitlines(True), "wanted", "got")), flush=True)
