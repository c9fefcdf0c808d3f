#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the system tests one after the other and add up their closing lines."""
import argparse
import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bin", required=True)
    p.add_argument("--tests", required=True)
    p.add_argument("--sanitized", action="store_true")
    p.add_argument("names", nargs="*", help="test_NAME.py to run; none = all")
    args = p.parse_args()
    passed = failed = skipped = 0
    slowest = []
    for path in sorted(glob.glob(os.path.join(HERE, "test_*.py"))):
        name = os.path.basename(path)[5:-3]
        if args.names and name not in args.names:
            continue
        argv = [sys.executable, path, "--bin", args.bin, "--tests", args.tests]
        begin = time.monotonic()
        with subprocess.Popen(argv + (["--sanitized"] if args.sanitized else []), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as child:
            closing = None
            for line in child.stdout:
                print(line, end="", flush=True)
                found = re.fullmatch(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\n?", line)
                closing = found or closing
        slowest.append((time.monotonic() - begin, name))
        if closing:
            passed += int(closing[1])
            failed += int(closing[2])
            skipped += int(closing[3] or 0)
        if not closing or (child.returncode != 0 and int(closing[2]) == 0):
            failed += 1
            print(f"FAILED  {name}: exit {child.returncode}, {'no' if not closing else 'a'} closing line")
    print("time: " + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in sorted(slowest, reverse=True)))
    print(f"system: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
