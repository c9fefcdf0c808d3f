# SPDX-License-Identifier: GPL-2.0-or-later
"""What every system test shares: options, named checks, a closing line `N passed, N failed`.

A test is a file test_NAME.py that calls harness.main(cases): cases are functions of one argument, a Bench
that makes stations below a directory of its own and counts checks. A case that raises has failed. One that has failed
while the host was too slow for half of the rings' depth is run once more, then skipped: neither passed nor failed.
"""
import argparse
import collections
import os
import re
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from station import Station, observations  # noqa: E402,F401

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Bench:
    def __init__(self, args, base, name):
        self.bin, self.tests, self.sanitized, self.update = args.bin, args.tests, args.sanitized, args.update
        self.name = name
        self.base, self.passed, self.failed, self.stations = base, 0, 0, []
        self.reports = 0  # of sanitizers

    @property
    def too_slow(self):
        """A slow host excuses a failure, but no sanitizer's report."""
        return self.failed and not self.reports and any(st.host_too_slow for st in self.stations)

    def check(self, what, good, detail=""):
        """One named check; a failure is printed with its detail and does not end the case."""
        if good:
            self.passed += 1
            print(f"  ok      {what}", flush=True)
        else:
            self.failed += 1
            print(f"  FAILED  {what}: {detail}", flush=True)
        return bool(good)

    def sanitizers(self, st):
        """No program of the station has a sanitizer's report in its log."""
        for name in sorted(os.listdir(st.dir) if os.path.isdir(st.dir) else []):
            if name.endswith(".log"):
                with open(st.path(name), errors="replace") as f:
                    text = f.read()
                found = re.search(r"(ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:)", text)
                if found:
                    self.reports += 1
                    self.check(f"no sanitizer's report in {name}", False, text[found.start():][:3000])

    def equal(self, what, got, wanted):
        return self.check(what, got == wanted, f"got {got!r}, wanted {wanted!r}")

    def station(self, name="station", **kwargs):
        # Instrumented programs are many times slower, by the hit: a dark sea, the same ways through the code.
        if self.sanitized and not kwargs.get("play"):
            kwargs["emulator_args"] = [*kwargs.get("emulator_args", ()), "--rate", "2000"]
        # Unix socket paths are at most 107 bytes: a short directory.
        st = Station(self.bin, os.path.join(self.base, name), **kwargs)
        st.patience = 3  # a machine may be loaded; what is waited for must come, not come soon
        st.confirm = 1  # the clock locks two seconds earlier; the default is for test_station and the deaths of gpsd and daemon
        self.stations.append(st)
        return st

    def scenario(self, text, name="scenario.scn"):
        path = os.path.join(self.base, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    # -- what most cases end with
    def account(self, st, named=()):
        """Stop the station and hold ledger and truth against each other. `named`: (link, loss) that may
        have lost frames after the start; every other link and loss must be zero. Returns the ledger."""
        code = st.stop()
        self.equal("the daemon ends with 0", code, 0)
        ledger = st.ledger()
        self.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
        self.equal("every loss in the ledger has its name and frames, no more and no fewer", *names_and_sums(ledger))
        rc, truth = st.compare()
        self.check("every delivered frame equals the truth, its time is that of the light, every other is named", rc == 0, truth)
        self.equal("libfcmdata knows repeats as the consumers' own books do",
                   {n: s["misjudged"] for n, s in st.summaries().items() if s.get("misjudged")}, {})
        lost = {(x["link"], x["code"]) for x in after_beginning(ledger)}
        self.check("no other link lost a frame, no other loss", lost <= set(named),
                   f"{sorted(lost)}, expected {sorted(named)}")
        return ledger


LINK_LOSSES = ("link-down", "board-fifo", "ring-full", "crc", "alignment", "time-fault")


def names_and_sums(ledger):
    """Frames lost by place and reason: as the rows of losses name them, and as the sums of the ledger have them."""
    names, sums = collections.Counter(), collections.Counter()
    for h in ledger["hops"]:
        names[h["link"], h["stream"], h["group"], h["code"]] += h["frames"]
    for link in ledger["totals"]["links"]:
        for code in LINK_LOSSES:
            sums[link["link"], None, None, code] += link[code]
    for s in ledger["totals"]["streams"]:
        for code, frames in s["dropped"].items():
            sums[s["link"], s["stream"], s["group"], code] += frames
    return +names, +sums


def after_beginning(ledger):
    """The link losses behind each link's first good frame: until then the board cuts in anywhere."""
    losses = sorted((x for x in ledger["losses"] if x["kind"] == "link"), key=lambda x: x["first"])
    rest, begins_at = [], {}
    for x in losses:
        rows = [r["second"] for r in ledger["links"] if r["link"] == x["link"]]
        at = begins_at.get(x["link"])
        if x["code"] in ("alignment", "link-down") and x["frames"] < 800 and (
                x["first"] == at or (at is None and x["first"] // 8000 == min(rows))):
            begins_at[x["link"]] = x["first"] + x["frames"]
        else:
            begins_at.setdefault(x["link"], -1)
            rest.append(x)
    return rest


def long(case):
    """A case that takes minutes: run when it is named, and by `make check-long`."""
    case.long = True
    return case


def main(cases):
    # Whoever was started in the background of a shell ignores SIGINT, and its children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    p = argparse.ArgumentParser()
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--tests", default="build/tests")
    p.add_argument("--sanitized", action="store_true")
    p.add_argument("--update", action="store_true", help="write transcripts instead of comparing them")
    p.add_argument("--long", action="store_true", help="the cases that take minutes, and only those")
    p.add_argument("case", nargs="*")
    args = p.parse_args()
    passed = failed = skipped = 0
    times = []
    for case in cases:
        if case.__name__ not in args.case if args.case else getattr(case, "long", False) != args.long:
            continue
        begin, used = time.monotonic(), cpu_s()
        bench = run_case(case, args)
        times.append(f"{case.__name__} {time.monotonic() - begin:.0f} s ({cpu_s() - used:.0f} of CPU)")
        if bench.too_slow:
            print("  host too slow: the emulator fell behind by more than half of what the rings hold; once more", flush=True)
            bench = run_case(case, args)
        if bench.too_slow:
            print("  host too slow again: neither passed nor failed")
            skipped += 1
            continue
        passed += bench.passed
        failed += bench.failed
    print("time: " + ", ".join(times))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed or not passed + skipped else 0)


def cpu_s():
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_memory():
    """The stations' place, where there is room: a test is not about the disk of this machine. TMPDIR names another."""
    room = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    enough = room is not None and room.f_bavail * room.f_frsize > 4 << 30
    return "/dev/shm" if enough and "TMPDIR" not in os.environ else None


def no_sockets(directory, names):
    return [n for n in names if stat.S_ISSOCK(os.lstat(os.path.join(directory, n)).st_mode)]


def run_case(case, args):
    print(f"== {os.path.basename(sys.argv[0])}: {case.__name__}: {(case.__doc__ or '').strip()}", flush=True)
    base = tempfile.mkdtemp(prefix="fcm-", dir=in_memory())
    bench = Bench(args, base, case.__name__)
    try:
        case(bench)
    except Exception:  # a case that raises has failed, the others go on
        bench.failed += 1
        traceback.print_exc()
    finally:
        for st in bench.stations:
            st.close()
            bench.sanitizers(st)
            if bench.failed:
                for part in (st.daemon, st.emu):
                    if part:
                        print(f"  -- {part.name}:\n{part.tail(25)}", flush=True)
        if bench.failed:
            kept = os.path.join(tempfile.mkdtemp(prefix="fcm-failed-"), case.__name__)  # not in memory
            shutil.copytree(base, kept, symlinks=True, ignore=no_sockets)
            print(f"  kept: {kept}")
        shutil.rmtree(base, ignore_errors=True)
    return bench
