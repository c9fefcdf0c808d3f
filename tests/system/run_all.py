#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the system tests and add up their closing lines: the heavy ones one after the other, beside them the others,
each with its output in one piece."""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# These have stations at quiet load, or none, and leave a core to somebody else. The longest first.
LIGHT = ("incidents", "shift", "engine", "hostile_daemon", "store_faults", "command_faults", "transcripts", "control_attack",
         "fault_floors", "plan", "safe_disk", "network", "board_away", "fault_clock", "fault_links",
         "consumer_attack", "runs", "silence", "dissector", "history", "serial", "fcmctl", "schema", "dtype",
         "outsider", "pyconsumer", "python", "beacons", "examples", "bench_set", "command_book", "page", "prometheus",
         "metrics", "notify", "drill", "hints", "locale", "looks", "backup", "doctor",
         "training", "books", "manuals", "ageing")
LANES = 3  # of which the heavy ones have one; with a fourth, emulators on two cores fall behind by seconds
LANES_SANITIZED = 2  # instrumented, no program is light
# Minutes of waiting: run when they are named, and by `make check-long`. The gate has only so much time. Of other files
# single cases are long: harness.long() marks them.
LONG = ("incidents", "attack", "engine", "command_faults", "hostile_daemon", "store_faults", "prometheus")


class Result:
    def __init__(self, name):
        self.name, self.seconds, self.cpu, self.closing, self.code = name, 0, 0, None, None


def name_of(path):
    return os.path.basename(path)[5:-3]


def has_long_cases(path):
    with open(path) as f:
        return "\n@harness.long\n" in f.read()


def run(path, args):
    """One test file, and what it printed."""
    result = Result(name_of(path))
    argv = [sys.executable, path, "--bin", args.bin, "--tests", args.tests]
    if args.long and result.name not in LONG:
        argv.append("--long")
    begin = time.monotonic()
    with subprocess.Popen(argv + (["--sanitized"] if args.sanitized else []), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as child:
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    for found in re.finditer(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", text, re.M):
        result.closing = found
    result.seconds, result.cpu, result.code = time.monotonic() - begin, usage.ru_utime + usage.ru_stime, child.returncode
    print(text, end="", flush=True)
    return result


def results(paths, args):
    """As they end. The first lane begins with the heavy ones, one after the other."""
    light = [os.path.join(HERE, f"test_{name}.py") for name in LIGHT]
    jobs = [[path for path in paths if path not in light], *([path] for path in light if path in paths)]
    with concurrent.futures.ThreadPoolExecutor(LANES_SANITIZED if args.sanitized else LANES) as lanes:
        running = [lanes.submit(lambda job: [run(path, args) for path in job], job) for job in jobs]
        for done in concurrent.futures.as_completed(running):
            yield from done.result()


def wanted(path, args):
    if args.names:
        return name_of(path) in args.names
    return name_of(path) in LONG or has_long_cases(path) if args.long else name_of(path) not in LONG


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bin", required=True)
    p.add_argument("--tests", required=True)
    p.add_argument("--sanitized", action="store_true")
    p.add_argument("--long", action="store_true", help="those that take minutes, and only those")
    p.add_argument("names", nargs="*", help="test_NAME.py to run; none = all but the long ones")
    args = p.parse_args()
    paths = [path for path in sorted(glob.glob(os.path.join(HERE, "test_*.py")))
             if wanted(path, args)]
    passed = failed = skipped = 0
    slowest = []
    for r in results(paths, args):
        slowest.append((r.seconds, r.cpu, r.name))
        if r.closing:
            passed += int(r.closing[1])
            failed += int(r.closing[2])
            skipped += int(r.closing[3] or 0)
        if not r.closing or (r.code != 0 and int(r.closing[2]) == 0):
            failed += 1
            print(f"FAILED  {r.name}: exit {r.code}, {'no' if not r.closing else 'a'} closing line")
    print("time: " + ", ".join(f"{name} {seconds:.0f} s ({cpu:.0f} of CPU)" for seconds, cpu, name in sorted(slowest, reverse=True)))
    print(f"system: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
