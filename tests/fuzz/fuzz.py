#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the fuzz targets: first each input of the corpus in the tree, then new ones for a time. A finding is kept and
named. Ends with `N passed, N failed`, a target each."""
import argparse
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The sanitizers' own signal handlers and exit codes; a leak is a finding too.
ENVIRONMENT = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:handle_abort=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


def dictionary(name, found):
    """NAME.dict, if there is one; for control messages with the operations and arguments of their page too, so that none is forgotten."""
    path = os.path.join(HERE, f"{name}.dict")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        lines = f.read().splitlines()
    if name == "control":
        with open(os.path.join(ROOT, "schemas", "control.md")) as f:
            rows = [line.split(" | ") for line in f if line.startswith("| `")]
        words = {w for row in rows for w in re.findall(r"[a-z][a-z_.]+", row[0])}
        keys = {w for row in rows for w in re.findall(r"([a-z][a-z_]+)\??[,:}]", row[1])}
        lines += [f'"{w}"' for w in sorted(words)] + [f'"\\"{k}\\":"' for k in sorted(keys)]
    path = os.path.join(found, f"{name}.dict")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    return [f"-dict={path}"]


def run(path, seconds, found):
    """One target. What it says is kept beside its findings."""
    name = os.path.basename(path)[5:]
    grown = os.path.join(found, f"corpus-{name}")
    os.makedirs(grown, exist_ok=True)
    argv = [path, f"-max_total_time={seconds}" if seconds else "-runs=0", "-timeout=25", "-rss_limit_mb=4096", "-print_final_stats=1",
            f"-artifact_prefix={found}/{name}-", *dictionary(name, found), grown, os.path.join(HERE, "corpus", name)]
    log = os.path.join(found, f"{name}.log")
    with open(log, "w") as f:
        code = subprocess.run(argv, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, stdout=f, stderr=f,
                              stdin=subprocess.DEVNULL, check=False).returncode
    with open(log, errors="replace") as f:
        text = f.read()
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    edges = re.findall(r"cov: (\d+)", text)
    kept = re.search(r"Test unit written to (\S+)", text)
    if code == 0 and runs:
        print(f"  ok      {name}: {runs[1]} inputs, {edges[-1] if edges else '?'} edges of code, no finding", flush=True)
        return True
    print(f"  FAILED  {name}: exit {code}; see {log}" + (f"; once more: {path} {kept[1]}" if kept else ""), flush=True)
    return False


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bin", default="build/fuzz/bin")
    p.add_argument("--seconds", type=int, default=60, help="for each target; 0: the corpus only")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    found = os.path.abspath(os.path.join(os.path.dirname(args.bin), "found"))
    paths = [path for path in sorted(glob.glob(os.path.join(os.path.abspath(args.bin), "fuzz_*")))
             if not args.names or os.path.basename(path)[5:] in args.names]
    os.makedirs(found, exist_ok=True)
    results = [run(path, args.seconds, found) for path in paths]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
