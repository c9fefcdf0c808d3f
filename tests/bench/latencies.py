# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a block takes from the board's hand-over to the consumer: histograms at design load and full rate with blocks
of 1, 5 and 10 ms; against bare ZeroMQ; and while commands are journaled. How a latency is known: bench_consumer.c."""
import json
import shutil
import socket
import statistics
import tempfile
import threading
import time

from lean import LeanStation, Unmeasured, message_sizes, spread, zmq

LOADS, BLOCKS_MS = ("design", "full"), (1, 5, 10)
WINDOW_S = 4
RATIO_ROUNDS, RATIO_WINDOWS, RATIO_WINDOW_S = 4, 2, 2
LOGGING_PAIRS, LOGGING_WINDOW_S = 4, 2
COMMANDS_PER_S = 100
FRAMES_PER_BUFFER = 8  # 1 ms: the board hands over a buffer when it is full
OVER_ZMQ = {"latency_p50_over_zmq": "4.5/3", "latency_p99_over_zmq": "7/5"}
LOGGING = "latency_logging_over_quiet"
LOGGING_GOAL = "1.2/1.05"


class Commands(threading.Thread):
    """Sets thresholds to what they are, COMMANDS_PER_S of them, each journaled before it is answered."""

    def __init__(self, st):
        super().__init__()
        self.names = [f"floor{floor}.om{om}.threshold" for floor in range(1, 5) for om in range(6)]
        st.wait_for("the set points are read", lambda: None not in self.set_points(st).values(), 60)
        self.values = self.set_points(st)
        self.names = list(self.values)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(st.path("control.sock"))
        self.answers, self.wanted, self.ended = [], 0, threading.Event()

    def set_points(self, st):
        found = st.request("param.get", names=self.names)["result"]["parameters"]
        return {p["name"]: p["setpoint"] for p in found}

    def run(self):
        begin, rest = time.monotonic(), b""
        while not self.ended.is_set():
            name = self.names[self.wanted % len(self.names)]
            self.socket.sendall((json.dumps({
                "v": 2, "id": str(self.wanted), "op": "param.set",
                "args": {"name": name, "value": self.values[name], "wait": False, "yes": True}}) + "\n").encode())
            self.wanted += 1
            *lines, rest = (rest + self.arrived()).split(b"\n")
            self.answers += [json.loads(line) for line in lines]
            time.sleep(max(0, begin + self.wanted / COMMANDS_PER_S - time.monotonic()))

    def arrived(self):
        try:
            return self.socket.recv(1 << 20, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return b""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        self.socket.close()

    def complaint(self, seconds):
        """Why they are not what was asked for; None: they are."""
        refused = [a["error"] for a in self.answers if not a.get("ok")]
        done = len(self.answers) - len(refused)
        if refused:
            return f"{len(refused)} commands refused: {refused[0]['message']}"
        if done < 0.9 * COMMANDS_PER_S * seconds:
            return f"only {done} commands in {seconds:.0f} s were journaled"
        return None


def checked(window):
    w = window["whole"]
    if window["unmatched"] > w["n"] / 1000:
        raise Unmeasured(f"{window['unmatched']} of {w['n']} blocks have no completion to be held against")
    return window


def histogram(figures, load, ms, window):
    name = f"latency_{load}_{ms}ms"
    whole, last = window["whole"], window["last"]
    for column in ("p50", "p99", "p999", "max"):
        figures.figure(f"{name}_{column}", whole[column] / 1000, "ms")
    print(f"# {name}: {whole['n']} blocks; below us: blocks: " +
          ", ".join(f"{below}: {n}" for below, n in whole["histogram"]))
    print(f"# {name}: from the block's own last frame, where a later buffer closed it: p50 {last['p50'] / 1000:.3f} ms, "
          f"p99 {last['p99'] / 1000:.3f} ms")


def over_zmq(figures, windows, bare, sizes):
    """Medians over the windows of either side."""
    for name, goal in OVER_ZMQ.items():
        column = name.split("_")[1]
        ours, theirs = [w["whole"][column] for w in windows], [b["latency"][column] for b in bare]
        last = [w["last"][column] for w in windows]
        figures.figure(name, statistics.median(ours) / statistics.median(theirs), "ratio", goal)
        print(f"# {name}: {statistics.median(ours):.0f} us ({spread(ours, 0)}) over {statistics.median(theirs):.0f} us "
              f"({spread(theirs, 0)}); from the block's own last frame {statistics.median(last):.0f} us; messages of {', '.join(map(str, sizes))} bytes a link each ms")
    late = {column: [b["late"][column] for b in bare] for column in ("p50", "p99", "p999")}
    print("# a thread that only sleeps till the next ms wakes late by " +
          ", ".join(f"{column} {statistics.median(v):.0f} us ({spread(v, 0)})" for column, v in late.items()))


def logging(figures, st):
    quiet, busy = [], []
    for _ in range(LOGGING_PAIRS):
        quiet.append(checked(st.window(LOGGING_WINDOW_S))["whole"]["p99"])
        with Commands(st) as commands:
            begin = time.monotonic()
            time.sleep(0.3)
            busy.append(checked(st.window(LOGGING_WINDOW_S))["whole"]["p99"])
            seconds = time.monotonic() - begin
        wrong = commands.complaint(seconds)
        if wrong:
            raise Unmeasured(wrong)
    ratio = statistics.median(busy) / statistics.median(quiet)
    figures.figure(LOGGING, ratio, "ratio", LOGGING_GOAL)
    print(f"# {LOGGING}: p99 of blocks of 1 ms: {statistics.median(busy):.0f} us ({spread(busy, 0)}) with {COMMANDS_PER_S} "
          f"commands a second in the journal, {statistics.median(quiet):.0f} us ({spread(quiet, 0)}) without")


def beside_zmq(figures, bin_dir, st):
    """Blocks of 1 ms and bare ZeroMQ, in turn beside one emulator."""
    windows, bare = [], []
    for _ in range(RATIO_ROUNDS):
        st.run_daemon(1)
        windows += [checked(st.window(RATIO_WINDOW_S)) for _ in range(RATIO_WINDOWS)]
        st.end_daemon()
        sizes = message_sizes(windows[-1])
        bare.append(zmq(bin_dir, sizes, RATIO_WINDOW_S, 1))
    over_zmq(figures, windows, bare, sizes)


def attempt(figures, name, function, *args):
    try:
        function(*args)
    except Exception as e:  # the other figures are wanted all the same
        figures.failure(name, f"{type(e).__name__}: {e}")


def one_histogram(figures, st, load, ms):
    histogram(figures, load, ms, checked(st.window(WINDOW_S)))


def of_load(figures, bin_dir, load, wanted, st):
    if load == "design" and any(map(wanted, OVER_ZMQ)):
        attempt(figures, ", ".join(OVER_ZMQ), beside_zmq, figures, bin_dir, st)
    for ms in BLOCKS_MS:
        name = f"latency_{load}_{ms}ms"
        with_logging = load == "design" and ms == 1 and wanted(LOGGING)
        if not wanted(name) and not with_logging:
            continue
        if st.daemon and st.daemon.alive():
            st.end_daemon()
        st.run_daemon(ms)
        if wanted(name):
            attempt(figures, name, one_histogram, figures, st, load, ms)
        if with_logging:
            attempt(figures, LOGGING, logging, figures, st)
        st.end_daemon()


def names_of(load):
    extra = [LOGGING, *OVER_ZMQ] if load == "design" else []
    return [f"latency_{load}_{ms}ms" for ms in BLOCKS_MS] + extra


def station(figures, bin_dir, load, wanted):
    directory = tempfile.mkdtemp(prefix="fcm-bench-")
    try:
        with LeanStation(bin_dir, directory, load, FRAMES_PER_BUFFER) as st:
            st.start_board()
            of_load(figures, bin_dir, load, wanted, st)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def measure(figures, bin_dir, wanted):
    for load in LOADS:
        if any(map(wanted, names_of(load))):
            attempt(figures, f"latency at {load} load", station, figures, bin_dir, load, wanted)
