# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal of commands against the least that makes 512 bytes durable; a set against its parts; many sets side by side
against one after the other; fcmctl against starting any program."""
import json
import os
import shutil
import socket
import statistics
import tempfile
import time

from lean import LeanStation, Unmeasured, program, spread

SET, ONE, HUNDRED, GET = "set_overhead_over_link", "journal_over_fdatasync", "journal_100_over_1", "fcmctl_get_over_exec"
LEAST = "least_journal_over_fdatasync"
OUTSTANDING = (1, 16, 256)
RATES = [f"set_rate_{n}_over_1" for n in OUTSTANDING[1:]]
GOALS = {SET: "2/1.2", ONE: "1.5/1.25", LEAST: "-", HUNDRED: "5/3", GET: "10/5",
         RATES[0]: "6/10", RATES[1]: "10/20"}
RUNS = 3  # of bench-journal
STARTS = 60  # of either program
PARAMETER = "floor1.om0.hv"
SETS = TRIPS = 200  # a round, a life: a trip's length is anything in a buffer of 2 ms, the middle of few is anywhere
SET_LIVES = 3  # of the daemon: trips want its link
SET_ROUNDS = 3  # a life
SET_JOURNAL_ROUNDS = 4
SET_PARAMETER = "floor1.om0.threshold"  # settles at once: no ramp
RATE_PARAMETERS = [f"floor{floor}.om{om}.{what}" for what in ("threshold", "ramp") for floor in range(1, 5) for om in range(6)]
RATE_S = 4  # of a window
RATE_ROUNDS = 3


def beside_programs(bin_dir, prefix):
    """A directory on the disk of the tree: /tmp may be memory."""
    return tempfile.mkdtemp(prefix=prefix, dir=os.path.dirname(os.path.abspath(bin_dir)))


def run_journal(bin_dir, *rounds):
    directory = beside_programs(bin_dir, "journal-")
    try:
        return program(bin_dir, "bench-journal", directory, *rounds)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class Client:
    """Sets over one connection, any number of them under way."""

    def __init__(self, st):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(st.path("control.sock"))
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def set(self, *pairs):
        self.socket.sendall("".join(
            json.dumps({"v": 2, "id": "b", "op": "param.set", "args": {"name": name, "value": value, "yes": True}}) + "\n"
            for name, value in pairs).encode())

    def ends(self):
        """How many have ended since the last look, at least one; all of them DONE."""
        ended = 0
        while not ended:
            got = self.socket.recv(1 << 18)
            if not got:
                raise Unmeasured("the daemon closed the connection")
            *lines, self.rest = (self.rest + got).split(b"\n")
            for line in lines:
                if b'"progress"' in line:
                    continue
                answer = json.loads(line)
                if not answer["ok"]:
                    raise Unmeasured(answer["error"]["message"])
                ended += 1
        return ended


def setpoints(st, names):
    found = st.request("param.get", names=names)["result"]["parameters"]
    return {p["name"]: p["setpoint"] for p in found}


def set_life(st):
    """A trip, and [(journal, set)], us: the word's own way on the bare board, then journal and sets of a daemon in turn."""
    trip = program(st.bin, "bench-trip", f"unix:{st.path('board.sock')}", TRIPS)["trip"]["p50"]
    st.run_daemon()
    value, = setpoints(st, [SET_PARAMETER]).values()
    rounds = [(run_journal(st.bin, SET_JOURNAL_ROUNDS),
               program(st.bin, "bench-set", st.path("control.sock"), SET_PARAMETER, value + 1, value, SETS)["set"]["p50"])
              for _ in range(SET_ROUNDS)]
    st.end_daemon()
    return trip, rounds


def overhead(figures, bin_dir, _wanted):
    """Trips, journal and sets in turn, on one disk and one emulator."""
    directory = beside_programs(bin_dir, "set-")
    try:
        with LeanStation(bin_dir, directory, "quiet") as st:
            st.start_board()
            lives = [set_life(st) for _ in range(SET_LIVES)]
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    trips = [trip for trip, _ in lives]
    journals, sets = zip(*(r for _, rounds in lives for r in rounds))

    def ratios(journal):
        return [(taken - trip) / j[journal] for trip, rounds in lives for j, taken in rounds]
    paced, pairs = [j["paced"] for j in journals], [j["pair"] for j in journals]
    figures.figure(SET, statistics.median(ratios("paced")), "ratio", GOALS[SET])
    print(f"# {SET}: {statistics.median(sets):.0f} us ({spread(sets, 0)}) from request to end of {SET_PARAMETER}, less a trip of "
          f"{statistics.median(trips):.0f} us ({spread(trips, 0)}) on the link, over intent and outcome in the journal at the same pace "
          f"{statistics.median(paced):.0f} us ({spread(paced, 0)}); {spread(ratios('paced'))} in {len(sets)} rounds, "
          f"{SET_LIVES} lives of the daemon")
    print(f"# {SET}: over intent and outcome without a pause, {statistics.median(pairs):.0f} us ({spread(pairs, 0)}), it would be "
          f"{statistics.median(ratios('pair')):.2f} ({spread(ratios('pair'))})")


def journal(figures, bin_dir, wanted):
    runs = [run_journal(bin_dir) for _ in range(RUNS)]

    def us(what):
        return statistics.median(r[what] for r in runs)
    for name, over, under in ((ONE, "one", "bare"), (LEAST, "least", "bare"), (HUNDRED, "hundred", "one")):
        if wanted(name):
            ratios = [r[over] / r[under] for r in runs]
            figures.figure(name, statistics.median(ratios), "ratio", GOALS[name])
            print(f"# {name}: {us(over):.0f} us over {us(under):.0f} us; {spread(ratios)} in {RUNS} runs")
    print(f"# journal: from the row's submission to its answer; the commit alone {us('commit'):.0f} us, intent and outcome "
          f"{us('pair'):.0f} us")


def rate(client, values, outstanding):
    """Sets that ended a second, so many of them under way all the time."""
    names, given, ended = list(values), 0, 0

    def give(n):
        nonlocal given
        client.set(*((names[i % len(names)], values[names[i % len(names)]]) for i in range(given, given + n)))
        given += n
    begin = time.monotonic()
    give(outstanding)
    while time.monotonic() - begin < RATE_S:
        n = client.ends()
        ended += n
        give(n)
    seconds = time.monotonic() - begin
    left = given - ended
    while left:
        left -= client.ends()
    return ended / seconds


def rates(figures, bin_dir, wanted):
    directory = beside_programs(bin_dir, "rate-")
    found = {n: [] for n in OUTSTANDING}
    try:
        with LeanStation(bin_dir, directory, "quiet") as st:
            st.start_board()
            st.run_daemon()
            values = setpoints(st, RATE_PARAMETERS)
            with Client(st) as client:
                for _ in range(RATE_ROUNDS):
                    for n, to in found.items():
                        to.append(rate(client, values, n))
            st.end_daemon()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for name, n in zip(RATES, OUTSTANDING[1:]):
        if wanted(name):
            ratios = [many / one for many, one in zip(found[n], found[1])]
            figures.figure(name, statistics.median(ratios), "ratio", GOALS[name])
            print(f"# {name}: {statistics.median(found[n]):.0f} sets a second ({spread(found[n], 0)}), each DONE, over "
                  f"{statistics.median(found[1]):.0f} ({spread(found[1], 0)}); {len(values)} parameters of four floors")


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
    for names, function in (((ONE, HUNDRED, LEAST), journal), ((SET,), overhead), (RATES, rates), ((GET,), get)):
        if any(map(wanted, names)):
            try:
                function(figures, bin_dir, wanted)
            except Exception as e:  # the other figures are wanted all the same
                figures.failure(", ".join(filter(wanted, names)), f"{type(e).__name__}: {e}")
