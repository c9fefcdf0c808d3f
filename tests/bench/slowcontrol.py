# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal of commands against the least that makes 512 bytes durable; a set against its parts; fcmctl against starting
any program."""
import os
import shutil
import statistics
import tempfile
import time

from lean import LeanStation, Unmeasured, program, spread

SET, ONE, HUNDRED, GET = "set_overhead_over_link", "journal_over_fdatasync", "journal_100_over_1", "fcmctl_get_over_exec"
GOALS = {SET: "2/1.2", ONE: "1.5/1.25", HUNDRED: "5/3", GET: "10/5"}
RUNS = 3  # of bench-journal
STARTS = 60  # of either program
PARAMETER = "floor1.om0.hv"
SETS = 60
SET_PARAMETER = "floor1.om0.threshold"  # settles at once: no ramp
TRIPS = 2  # of a set: the write and its read-back


def beside_programs(bin_dir, prefix):
    """A directory on the disk of the tree: /tmp may be memory."""
    return tempfile.mkdtemp(prefix=prefix, dir=os.path.dirname(os.path.abspath(bin_dir)))


def run_journal(bin_dir):
    directory = beside_programs(bin_dir, "journal-")
    try:
        return program(bin_dir, "bench-journal", directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def timed_set(st, value):
    begin = time.perf_counter()
    answer = st.request("param.set", name=SET_PARAMETER, value=value, yes=True)
    if not answer["ok"]:
        raise Unmeasured(f"{SET_PARAMETER}: {answer['error']['message']}")
    return (time.perf_counter() - begin) * 1e6


def overhead(figures, bin_dir, _wanted):
    """The word's own way on the bare board, then the journal and sets on a station, on one disk and one emulator."""
    directory = beside_programs(bin_dir, "set-")
    try:
        with LeanStation(bin_dir, directory, "quiet") as st:
            st.start_board()
            trip = program(bin_dir, "bench-trip", f"unix:{st.path('board.sock')}")["trip"]["p50"]
            pairs = [run_journal(bin_dir)["pair"]]
            st.run_daemon()
            value = st.request("param.get", names=[SET_PARAMETER])["result"]["parameters"][0]["setpoint"]
            sets = [timed_set(st, value + i % 2) for i in range(SETS)]
            st.end_daemon()
            pairs.append(run_journal(bin_dir)["pair"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    pair = statistics.fmean(pairs)
    figures.figure(SET, (statistics.median(sets) - TRIPS * trip) / pair, "ratio", GOALS[SET])
    print(f"# {SET}: set {SET_PARAMETER} {statistics.median(sets):.0f} us from request to its end, less {TRIPS} trips of "
          f"{trip:.0f} us on the link, over intent and outcome in the journal {pair:.0f} us ({spread(pairs, 0)})")


def journal(figures, bin_dir, wanted):
    runs = [run_journal(bin_dir) for _ in range(RUNS)]

    def us(what):
        return statistics.median(r[what] for r in runs)
    for name, over, under in ((ONE, "one", "bare"), (HUNDRED, "hundred", "one")):
        if wanted(name):
            ratios = [r[over] / r[under] for r in runs]
            figures.figure(name, statistics.median(ratios), "ratio", GOALS[name])
            print(f"# {name}: {us(over):.0f} us over {us(under):.0f} us; {spread(ratios)} in {RUNS} runs")
    print(f"# journal: from the row's submission to its answer; the commit alone {us('commit'):.0f} us, intent and outcome "
          f"{us('pair'):.0f} us")


def start(argv, devnull):
    """Seconds from spawn to exit, and the exit code."""
    begin = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, devnull, 1)])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return time.perf_counter() - begin, code


def get(figures, bin_dir, _wanted):
    directory = tempfile.mkdtemp(prefix="fcm-bench-")
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        with LeanStation(bin_dir, directory, "quiet") as st:
            st.start_board()
            st.run_daemon()
            fcmctl = [st.program("fcmctl"), "--dir", st.dir, "get", PARAMETER]
            st.wait_for(f"a value of {PARAMETER}", lambda: start(fcmctl, devnull)[1] == 0, 20)
            ours, bare = [], []
            for _ in range(STARTS):
                bare.append(start(["/bin/true"], devnull)[0])
                seconds, code = start(fcmctl, devnull)
                ours.append(seconds)
                if code != 0:
                    raise Unmeasured(f"fcmctl get {PARAMETER}: exit {code}")
            st.end_daemon()
    finally:
        os.close(devnull)
        shutil.rmtree(directory, ignore_errors=True)
    figures.figure(GET, statistics.median(ours) / statistics.median(bare), "ratio", GOALS[GET])
    print(f"# {GET}: fcmctl get {PARAMETER} {statistics.median(ours) * 1e3:.2f} ms, /bin/true "
          f"{statistics.median(bare) * 1e3:.2f} ms, {STARTS} of each in turn, on a station with a quiet sea")


def measure(figures, bin_dir, wanted):
    for names, function in (((ONE, HUNDRED), journal), ((SET,), overhead), ((GET,), get)):
        if any(map(wanted, names)):
            try:
                function(figures, bin_dir, wanted)
            except Exception as e:  # the other figures are wanted all the same
                figures.failure(", ".join(filter(wanted, names)), f"{type(e).__name__}: {e}")
