# SPDX-License-Identifier: GPL-2.0-or-later
"""What ceilings.py, latencies.py and stalled.py share: a station whose one consumer only checks and acknowledges (bench-consumer),
measured window by window, and bare ZeroMQ (bench-zmq) beside the same emulator."""
import json
import os
import signal
import subprocess
import time

from proc import QuietStation, frames_between, gone_wrong, run_time_s
from station import Process

STREAMS = "pmt,hydrophone,instrument"
FRAMES_PER_MS = 8
FULL_RATE = 8000  # frames a second of a link
PACE_LEAST = 0.9  # of real time: figures here are ratios to bytes, or of times; a late emulator does not falsify them
ATTEMPTS = 3
SETTLE_S = 2  # after all is up: first use of memory is over, a backlog is gone


class Unmeasured(Exception):
    """The figure would not be what its name says."""


class LeanStation(QuietStation):
    """One group `bench` that takes every stream, one member. The emulator and gpsd stay; the daemon comes and goes with
    configurations of its own."""

    def __init__(self, bin_dir, directory, load, frames_per_buffer=16):
        super().__init__(bin_dir, directory, load=load,
                         emulator_args=["--frames-per-buffer", str(frames_per_buffer)])

    def start_board(self):
        self.start_emulator()
        self.start_gpsd()

    def start_lean(self, name, group):
        argv = [self.program("bench-consumer"), "--endpoint", self.reserved, "--name", name, "--group", group,
                "--board", f"unix:{self.path('board.sock')}"]
        log = self.path(f"{name}.log")
        open(log, "w").close()  # of one before it
        self.consumers[name] = Process(name, argv, log)
        return self.consumers[name]

    def run_daemon(self, block_ms=10, links=4, more=(), others=()):
        """With the consumer (and `others`: name, group), until all that was asked for is up and the beginning is over.
        Consumers are there first, so that nothing piles up for them."""
        self.config = ["[data]", f"block_frames = {block_ms * FRAMES_PER_MS}",
                       f"tick_us = {1000 if block_ms == 1 else 2000}",
                       "[group bench]", f"streams = {STREAMS}", *more]
        for link in range(links, 4):
            self.config += [f"[link {link}]", "enabled = no"]
        self.write_config()
        for name, group in (("bench-1", "bench"), *others):
            self.start_lean(name, group)
        self.start_daemon()

        def ready():
            s = self.status()
            return s["clock"]["state"] == "locked" and sum(l["state"] == "up" for l in s["links"]) == links
        self.wait_for(f"{links} links up and the clock locked", ready, 30, 0.25)
        time.sleep(SETTLE_S)

    def end_daemon(self):
        code = self.daemon.end(30)
        for consumer in self.consumers.values():
            consumer.end()
        self.consumers.clear()
        if code != 0:
            raise Unmeasured(f"the daemon ended with {code}:\n{self.daemon.tail()}")

    def cut(self, name="bench-1"):
        """End the consumer's window: what it says of it."""
        consumer = self.consumers[name]
        with open(consumer.log) as f:
            before = f.read().count("\n")
        consumer.signal(signal.SIGUSR1)
        text = []

        def there():
            with open(consumer.log) as f:
                text[:] = f.read().split("\n")[before:]
            return len(text) > 1
        self.wait_for(f"the window of {name}", there, 10, 0.01)
        return json.loads(text[0])

    def window(self, seconds, links=4):
        """A window of the consumer, with the daemon's CPU time in it. One in which the emulator itself fell behind says
        nothing and is repeated, with a remark; Unmeasured when that goes on, or when frames are missing at full pace."""
        for _ in range(ATTEMPTS):
            w, pace, wrong = self.one_window(seconds, links)
            if pace >= PACE_LEAST:
                break
            wrong.append(f"only {pace:.1%} of the frames came: host too slow")
            print(f"# window repeated: {'; '.join(wrong)}")
            time.sleep(SETTLE_S)
        if wrong:
            raise Unmeasured("; ".join(wrong))
        return w

    def one_window(self, seconds, links):
        """It, the pace over real time, and what was lost in it."""
        before, begin, lost = self.links(), time.monotonic(), self.dropped("bench")
        self.cut()
        cpu = run_time_s(self.daemon.pid)
        time.sleep(seconds)
        cpu = run_time_s(self.daemon.pid) - cpu
        w = self.cut()
        w["daemon_cpu_s"], w["total_bytes"] = cpu, sum(w["bytes"])
        after = self.links()
        pace = frames_between(before, after) / (time.monotonic() - begin) / FULL_RATE / links
        wrong, lost = gone_wrong(before, after), self.dropped("bench") - lost
        if lost or w["frames_lost"]:
            wrong.append(f"{lost} frames were dropped, {w['frames_lost']} were missing in blocks")
        return w, pace, wrong


def message_sizes(window):
    """Mean bytes of a message of each stream, header and payload."""
    return [b // n for b, n in zip(window["bytes"], window["blocks"])]


def program(bin_dir, *argv, timeout=60):
    """One line of JSON from one of our programs."""
    done = subprocess.run([os.path.join(bin_dir, argv[0]), *map(str, argv[1:])], capture_output=True, text=True,
                          timeout=timeout, check=False)
    if done.returncode != 0:
        raise Unmeasured(f"{' '.join(map(str, argv))}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def zmq(bin_dir, sizes, seconds, period_ms=0, links=4, hwm=64):
    return program(bin_dir, "bench-zmq", "--sizes", ",".join(map(str, sizes)), "--links", links,
                   "--period-us", period_ms * 1000, "--seconds", seconds, "--hwm", hwm)


def spread(values, digits=3):
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"
