#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An intruder on a running station at design load, all that he can do from this machine without a right to it, one after the
other and at last at once; meanwhile an operator makes a floor safe, again and again. Afterwards no frame is without a name."""
import collections
import contextlib
import json
import os
import random
import re
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time

import zmq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from keys import Keys, secret_of  # noqa: E402
from raw_peer import Curve, frame, knock, number, plain, resident_mb  # noqa: E402
from station import free_base_port, free_port  # noqa: E402

SECONDS = 8       # each of them
MEMORY_MB = 192   # more than before, while the attacks last
OWN_S = 1         # for safe, besides what the machine takes from everybody

sys.path[:0] = [os.path.join(harness.ROOT, "schemas")]
import fcm_data  # noqa: E402


class Operator(threading.Thread):
    """Makes floor 4 safe again and again, asks for status; how long it takes, and how late the machine runs anybody."""

    def __init__(self, st):
        super().__init__(daemon=True)
        self.st, self.ended, self.failed = st, threading.Event(), []
        self.lag_s, self.most_mb, self.times = 0, 0, 0
        self.took, self.doing = [], "nothing"  # s, beside which attack
        self.clock = threading.Thread(target=self.measure, daemon=True)

    def measure(self):
        while not self.ended.is_set():
            begin = time.monotonic()
            time.sleep(0.01)
            self.lag_s = max(self.lag_s, time.monotonic() - begin - 0.01)
            with contextlib.suppress(OSError, IndexError):
                self.most_mb = max(self.most_mb, resident_mb(self.st.daemon.pid))

    def run(self):
        self.clock.start()
        while not self.ended.wait(0.2):
            begin = time.monotonic()
            code, out, err = self.st.ctl("--timeout", "30", "safe", "floor4", "--yes", timeout=60)
            self.took.append((time.monotonic() - begin, self.doing))
            self.times += 1
            if code:
                self.failed.append((code, out[-300:], err[-300:]))
            code, out, err = self.st.ctl("--json", "status", timeout=60)
            if code not in (0, 1):
                self.failed.append((code, out[-300:], err[-300:]))


def until(end):
    while time.monotonic() < end:
        yield


def dealer(st, context, identity=None):
    s = context.socket(zmq.DEALER)
    s.linger, s.rcvtimeo, s.sndtimeo = 0, 100, 100
    if identity:
        s.setsockopt(zmq.IDENTITY, identity)
    s.connect(st.reserved)
    return s


def hello(name, group="trigger", credit=1024):
    return [b"HELLO", json.dumps({"protocol": 1, "name": name, "group": group, "credit": credit}).encode()]


def impostor(st, _, end):
    """HELLO with the names of the living; with their routing ids, as far as he can guess them."""
    context = zmq.Context()
    for _ in until(end):
        for name, group in (("trigger-1", "trigger"), ("acoustic-1", "acoustic"), ("trigger-1", "acoustic")):
            s = dealer(st, context, random.choice((None, b"\0k\x8bEg", name.encode())))
            s.send_multipart(hello(name, group))
            with contextlib.suppress(zmq.Again):
                while s.recv_multipart()[0] == b"BLOCK":
                    raise AssertionError(f"{name}: got its data")
            s.close()
    context.destroy(0)


def namer(st, keys, end):
    """Names of connections that are too long, or that ZeroMQ would give to the next; behind a reader's key too."""
    secret = secret_of(keys.file("grafana")).decode()
    for n, _ in enumerate(until(end)):
        name = (number(n % 64), b"trigger-1" + bytes(256), bytes(3000))[n % 3]
        with contextlib.suppress(OSError), plain(st.reserved, b"DEALER", name) as s:
            s.sendall(frame(b"ACK", more=True) + frame(bytes(16)))
        with contextlib.suppress(OSError):
            c = Curve(keys.endpoint, b"DEALER", keys.server, secret, name)
            c.socket.sendall(c.part(b'{"v":2,"id":1,"op":"info","x":[' + b"[]," * 100000 + b"1]}", False))
            c.socket.close()
        time.sleep(0.02)


def thief(st, _, end):
    """What others have in flight, as a monitor sees it go by, is acknowledged for them."""
    context = zmq.Context()
    sub = context.socket(zmq.SUB)
    sub.linger, sub.rcvtimeo = 0, 500
    sub.subscribe(b"")
    sub.connect(st.monitor)
    s = dealer(st, context, b"trigger-1")
    for _ in until(end):
        with contextlib.suppress(zmq.Again):
            _, header, payload = sub.recv_multipart()
            s.send_multipart([b"ACK", fcm_data.Block(header, payload).key])
    context.destroy(0)


def idle_crowd(st, keys, end):
    """Hundreds of connections that say nothing, at each door."""
    endpoints = (st.reserved, st.monitor, keys.endpoint, f"tcp://127.0.0.1:{st.feed_port}")
    crowd = []
    for _ in until(end):
        with contextlib.suppress(OSError):
            crowd.append(knock(endpoints[len(crowd) % 4]))
            if len(crowd) % 3 == 0:
                s = socket.socket(socket.AF_UNIX)
                s.settimeout(1)
                crowd.append(s)
                s.connect(st.path("control.sock"))
        if len(crowd) > 900:
            for s in crowd[:300]:
                s.close()
            del crowd[:300]
        time.sleep(0.002)
    for s in crowd:
        s.close()


def without_end(st, keys, end):
    """Parts without an end, at each door, behind a reader's key too."""
    tiny, huge = b"\1\0" * 50000, b"\3" + struct.pack(">Q", 1 << 20) + bytes(1 << 20)
    while time.monotonic() < end:
        for make, what in ((lambda: plain(st.reserved, b"DEALER"), lambda s: tiny),
                           (lambda: plain(st.reserved, b"DEALER"), lambda s: huge),
                           (lambda: plain(st.monitor, b"SUB"), lambda s: tiny),
                           (lambda: Curve(keys.endpoint, b"DEALER", keys.server, secret_of(keys.file("grafana")).decode()),
                            lambda c: b"".join(c.part(bytes(16 << 10), True) for _ in range(16)))):
            with contextlib.suppress(OSError):
                peer = make()
                s = getattr(peer, "socket", peer)
                s.settimeout(0.2)
                with contextlib.closing(s):
                    begin = time.monotonic()
                    while time.monotonic() < min(begin + 2, end):
                        s.sendall(what(peer))


def greedy(st, _, end):
    """Topics without number, each another."""
    context = zmq.Context()
    for n, _ in enumerate(until(end)):
        sub = context.socket(zmq.SUB)
        sub.linger = 0
        sub.connect(st.monitor)
        for i in range(200):
            sub.subscribe(b"%d.%d" % (n, i) + b"x" * 200)
        time.sleep(0.05)
        sub.close()
    context.destroy(0)


def noise(st, keys, end):
    """No protocol at all; and requests that never end, at the control socket."""
    rng = random.Random(1)
    for _ in until(end):
        for endpoint in (st.reserved, st.monitor, keys.endpoint):
            with contextlib.suppress(OSError), knock(endpoint) as s:
                s.sendall(rng.randbytes(500))
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
            s.settimeout(0.2)
            s.connect(st.path("control.sock"))
            s.sendall(b'{"v":2,"id":"x","op":"' + b"a" * (2 << 20))


def watchers(st, _, end):
    """Whoever may ask asks for all alarms, and never reads one."""
    crowd = []
    for _ in until(end):
        with contextlib.suppress(OSError):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(1)
            crowd.append(s)
            s.connect(st.path("control.sock"))
            s.sendall(b'{"v":2,"id":"w","op":"incident.watch","args":{}}\n')
        if len(crowd) > 400:
            crowd.pop(0).close()
        time.sleep(0.01)
    for s in crowd:
        s.close()


def stalled_readers(st, _, end):
    """Readers of the feed that stand still, again and again."""
    crowd = []
    for _ in until(end):
        with contextlib.suppress(OSError):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(1)
            s.connect(("127.0.0.1", st.feed_port))
            crowd.append(s)
        if len(crowd) > 50:
            crowd.pop(0).close()
        time.sleep(0.05)
    for s in crowd:
        s.close()


ATTACKS = impostor, namer, thief, idle_crowd, without_end, greedy, noise, watchers, stalled_readers


def evil_database(t, st):
    """A database made to do harm, read by fcmctl: no file is written, no library loaded, it ends."""
    path, victim = st.path("evil.db"), st.path("victim")
    subprocess.run([sys.executable, "-c", "import sqlite3,sys;a=sqlite3.connect(f'file:{sys.argv[1]}?mode=ro',uri=True);"
                    "b=sqlite3.connect(sys.argv[2]);a.backup(b)", st.database, path], check=True, timeout=120)
    db = sqlite3.connect(path)
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'")]
    for name in tables:
        with contextlib.suppress(sqlite3.Error):
            db.executescript(f"ALTER TABLE {name} RENAME TO old_{name}; CREATE VIEW {name} AS SELECT *, "
                             f"writefile('{victim}', 'x'), load_extension('/nowhere'), edit('x') FROM old_{name};")
    db.commit()
    db.close()
    for words in (("ledger", "show"), ("event", "list"), ("command", "list"), ("get", "floor1.*", "--at", "1m")):
        r = subprocess.run([st.program("fcmctl"), "--socket", st.path("nobody.sock"), "--database", path, *words],
                           capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        t.check(f"evil database, {' '.join(words)}: an error, no crash, no file", 0 < r.returncode < 64 and
                not os.path.exists(victim), (r.returncode, r.stderr[-300:]))


def evil_recordings(t, st):
    """A pipe and links in the place of recordings: nobody waits, nothing outside is read."""
    folder = st.path("evil-recordings")
    os.makedirs(os.path.join(folder, "a"))
    os.mkfifo(os.path.join(folder, "a", "L0-000001.rec"))
    os.symlink("/etc", os.path.join(folder, "b"))
    os.symlink("/etc/passwd", os.path.join(folder, "a", "L0-000002.rec"))
    for words in (("record", "dump", os.path.join(folder, "a")), ("record", "dump", os.path.join(folder, "a", "L0-000001.rec")),
                  ("record", "verify", os.path.join(folder, "a"))):
        r = subprocess.run([st.program("fcmctl"), "--dir", folder, *words], capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=30, check=False)
        t.check(f"evil recording, {words[1]}: an error, not a wait", r.returncode != 0 and "root:" not in r.stdout + r.stderr,
                (r.returncode, r.stderr[-300:]))


def squatter(t, st):
    """Ports that the daemon has, nobody else gets."""
    got = []
    for endpoint in (st.reserved, st.monitor):
        port = int(endpoint.rsplit(":", 1)[1])
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            with socket.socket() as s, contextlib.suppress(OSError):
                s.setsockopt(socket.SOL_SOCKET, option, 1)
                s.bind(("127.0.0.1", port))
                s.listen(5)
                got.append((endpoint, option))
    t.equal("no squatter gets a port", got, [])


def at_design_load(t):
    """every attack alone, then all at once: safe is answered, memory is bounded, no frame is without a name"""
    st = t.station(config=["[feed]", "enabled = yes", f"base_port = {free_base_port()}", "budget_mb = 16"])
    st.feed_port = int(st.config[-2].split()[2])
    keys = Keys(st)
    keys.endpoint = f"tcp://127.0.0.1:{free_port()}"
    st.config.append(f"endpoint = {keys.endpoint}")
    keys.add("grafana", "reader")
    keys.write_list()
    st.start()
    st.wait_ready()
    st.ctl("safe", "floor4", "--yes")  # the high voltage goes down by its ramp: what is measured is the way there and back
    before = resident_mb(st.daemon.pid)
    operator = Operator(st)
    operator.start()
    for attack in ATTACKS:
        errors, operator.doing = [], attack.__name__
        run_attack(attack, st, keys, SECONDS, errors)
        t.check(f"{attack.__name__}: {attack.__doc__.splitlines()[0]}", not errors and st.daemon.alive(), errors)
    squatter(t, st)
    evil_database(t, st)
    evil_recordings(t, st)
    errors, operator.doing = [], "all at once"
    together = [threading.Thread(target=run_attack, args=(a, st, keys, 2 * SECONDS, errors)) for a in ATTACKS]
    for x in together:
        x.start()
    for x in together:
        x.join()
    t.check("all at once", not errors and st.daemon.alive(), errors)
    operator.ended.set()
    operator.join(120)
    longest = max(operator.took)
    print(f"  safe {operator.times} times, the longest {longest[0]:.2f} s beside {longest[1]}; the machine's own lag {operator.lag_s:.2f} s; memory "
          f"{before:.0f} MB before, {operator.most_mb:.0f} at most")
    t.check("safe was answered throughout", operator.times > 20 and not operator.failed, operator.failed[:3])
    groups = {g["group"]: g for g in st.ask("consumer", "list")["groups"]}
    t.check("the station's own consumers are members still", all(groups[g]["members"] >= 1 for g in ("trigger", "acoustic")), groups)
    events = [e["code"] for e in st.ask("event", "list", "--limit", "2000")["events"] if e["code"] != "safe"]
    t.check("few events tell of it all", len(events) < 100, collections.Counter(events))
    ledger = t.account(st)
    # fcmctl, daemon and emulator each may have met the machine's worst; the floor's words go by the emulator's time.
    with open(st.path("emu.log")) as f:
        lag = max(operator.lag_s, float(re.search(r"worst lag ([\d.]+) ms", f.read())[1]) / 1000)
    t.check("within a second besides the machine's lag", t.sanitized or longest[0] < OWN_S + 3 * lag,
            (sorted(operator.took)[-5:], lag))
    t.check("memory is bounded", t.sanitized or operator.most_mb < before + MEMORY_MB, (before, operator.most_mb))
    t.equal("nothing of trigger and acoustic was dropped", [x for x in ledger["losses"] if x["kind"] == "group" and
                                                            x["group"] in ("trigger", "acoustic")], [])


def run_attack(attack, st, keys, seconds, errors):
    try:
        attack(st, keys, time.monotonic() + seconds)
    except Exception as e:  # an attack that cannot be made is no test
        errors.append(f"{attack.__name__}: {type(e).__name__}: {e}")


if __name__ == "__main__":
    harness.main([at_design_load])
