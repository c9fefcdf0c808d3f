#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of the control socket that are broken, hostile or die: the daemon answers or cuts off, and the
data never notice."""
import glob
import grp
import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from raw_peer import resident_mb  # noqa: E402


def connect(st, timeout=20):
    s = socket.socket(socket.AF_UNIX)
    s.connect(st.path("control.sock"))
    s.settimeout(timeout)
    return s


def line(op, ident="t", **args):
    return (json.dumps({"v": 2, "id": ident, "op": op, "args": args}) + "\n").encode()


def talk(st, data, timeout=20):
    """Send bytes; what comes back until the daemon closes, answers once, or the time is over."""
    with connect(st, timeout) as s:
        try:
            s.sendall(data)
        except OSError:
            pass  # cut off; what was said before can still be read
        try:
            return s.recv(1 << 16)
        except OSError as e:
            return str(e).encode()


def descriptors(st):
    return len(os.listdir(f"/proc/{st.daemon.pid}/fd"))


def started(t, **kwargs):
    st = t.station(load="quiet", **kwargs)
    st.start()
    st.wait_ready()
    st.ask("command", "list")  # the reader of the database is open from now on
    return st


def alive(t, st, what):
    """The daemon answers soon, and all links flow."""
    begin = time.monotonic()
    try:
        a = st.status()
        answered = time.monotonic() - begin
        st.wait_for("data on every link", lambda: all(
            y["cells"]["good"] > x["cells"]["good"] for x, y in zip(a["links"], st.status()["links"])))
        b = st.status()
    except Exception as e:
        return t.check(f"{what}: the daemon lives", False, f"{e!r}\n{st.daemon.tail()}")
    return t.check(f"{what}: it answers, data flow, no report is lost", answered < 5 and all(
        y["cells"]["good"] > x["cells"]["good"] for x, y in zip(a["links"], b["links"])) and
        b["capture"]["reports_lost"] == 0, (time.monotonic() - begin, b["capture"]))


GARBAGE = {
    "random bytes": random.Random(1).randbytes(5000) + b"\n",
    "a NUL": b'{"v":2,"id":"\0","op":"info"}\n',
    "an escaped NUL": b'{"v":2,"id":"\\u0000","op":"info"}\n',
    "not an object": b'[1,2,3]\n',
    "a number": b'42\n',
    "half an object": b'{"v":2,\n',
    "bad UTF-8": b'{"v":2,"id":"\xff\xfe","op":"info"}\n',
    "deep nesting": b"[" * 500000 + b"\n",
    "a deep id": b'{"v":2,"op":"info","id":' + b"[" * 2000 + b"]" * 2000 + b"}\n",
    "a huge integer": b'{"v":2,"id":123456789012345678901234567890,"op":"info"}\n',
    "a huge real": b'{"v":2,"id":1,"op":"info","args":{"x":1e999}}\n',
    "NaN": b'{"v":2,"id":1,"op":"info","args":{"x":NaN}}\n',
    "twice the same key": b'{"v":2,"v":2,"op":"info"}\n',
    "2 MiB without a newline": b"x" * (2 << 20),
    "900 KB of empty lists": b'{"v":2,"id":1,"op":"info","x":[' + b"[]," * 300000 + b"1]}\n",
    "2 MiB in one line": b'{"v":2,"id":"' + b"x" * (2 << 20) + b'","op":"info"}\n',
    "another version": b'{"v":3,"id":1,"op":"info"}\n',
    "no op": b'{"v":2,"id":1}\n',
    "op of another type": b'{"v":2,"id":1,"op":{"a":1}}\n',
    "args of another type": b'{"v":2,"id":1,"op":"info","args":[]}\n',
    "an unknown op": b'{"v":2,"id":1,"op":"' + b"x" * 100000 + b'"}\n',
}

OPS = ["info", "status", "link.list", "link.show", "phase.show", "phase.history", "phase.accept", "phase.soak",
       "clock.show", "clock.history", "param.list", "param.get", "param.set", "param.action", "param.history",
       "command.list", "command.show", "command.cancel", "consumer.list", "ledger.show", "run.show", "event.list",
       "run.stop"]
ARGS = ["link", "since", "limit", "reason", "trials", "interval_s", "command", "pattern", "names", "name", "value",
        "wait", "yes", "force", "client_id", "parameter", "state", "who", "note"]
VALUES = [None, True, False, -1, 0, 4, 1 << 62, -(1 << 63), (1 << 63) - 1, 1e300, -1e300, 1e-300, "", "nan", "inf",
          "1e400", "-1", "*", "%n%s", "'; DROP TABLE command; --", "x" * 10000, "\n\r\x1b[2J", "\u0001\u202e", [], {},
          ["*"] * 50, [None], [[]], {"a": {}}, "floor1.om0.threshold"]


def garbage(t):
    """garbage of every kind and every argument of the wrong type: each is answered, nothing is done"""
    st = started(t)
    for what, data in GARBAGE.items():
        answer = talk(st, data)
        bad = what not in ("a deep id",)
        t.check(f"{what}: refused with a message", not bad or (b'"ok":false' in answer and b'"message":"' in answer),
                answer[:300])
    st.wait_for("who cut connections off is counted", lambda: st.ask(
        "get", "control.bad_messages")["parameters"][0]["value"] >= 5, 5)
    clients = st.ask("get", "control.clients")["parameters"][0]["value"]
    t.check("who is connected is counted", 0 <= clients <= 3, clients)
    rng = random.Random(2)
    silent = []
    with connect(st) as s:
        f = s.makefile("rb")
        for op in OPS:
            requests = [{a: v} for a in ARGS for v in rng.sample(VALUES, 6)]
            requests += [{a: rng.choice(VALUES) for a in ARGS} for _ in range(40)]
            if op == "phase.soak":
                requests = [r | {"trials": 0} for r in requests]
            if op in ("param.set", "param.action"):
                requests = [r | {"name": "floor1.om0.threshold", "wait": False} for r in requests] + requests
            for n, args in enumerate(requests):
                s.sendall(line(op, n, **args))
                while True:
                    got = f.readline()
                    if not got or b'"ok":' in got:
                        break
                if not got or json.loads(got)["id"] != n:
                    silent.append((op, args, got))
    t.equal("every request with wrong arguments has one answer", silent, [])
    t.equal("no run was begun", st.status()["run"]["number"], 0)
    hv = st.request("param.set", name="floor1.om0.hv", value=1e308, wait=True, yes=True, force=True)
    t.check("a huge value is refused", not hv["ok"], hv)
    for value in ("nan", "inf", "-inf", "1e400", "0x1p5000"):
        hv = st.request("param.set", name="floor1.om0.hv", value=value, yes=True, force=True)
        t.check(f"the value {value} is refused", not hv["ok"], hv)
    alive(t, st, "after the garbage")
    t.account(st)


def cpu_s(st):
    """CPU time of the daemon's main thread, s."""
    with open(f"/proc/{st.daemon.pid}/task/{st.daemon.pid}/stat") as f:
        return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def crowds(t):
    """thousands of connections, clients that never read, floods of requests: the others are served"""
    st = started(t)
    before = descriptors(st)
    crowd = []
    try:
        for _ in range(900):
            crowd.append(connect(st))
        alive(t, st, "900 idle connections")
        st.wait_for("descriptors below a limit", lambda: descriptors(st) < before + 150, 5)
    finally:
        for s in crowd:
            s.close()
    for _ in range(2000):
        connect(st).close()
    alive(t, st, "2000 connections that say nothing")
    deaf = connect(st)
    deaf.setblocking(False)
    sent = 0
    begin = time.monotonic()
    while time.monotonic() - begin < 4:
        try:
            sent += deaf.send(line("status") * 500)
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            break
    alive(t, st, "a flood by a client that never reads")
    t.check("it is held back, not stored", sent < 8 << 20, sent)
    busy, begin = cpu_s(st), time.monotonic()
    time.sleep(3)
    busy, took = cpu_s(st) - busy, time.monotonic() - begin
    t.check("while it is held back the daemon has nothing to do with it", busy < took * (0.5 if t.sanitized else 0.2),
            (busy, took))
    flood = connect(st)
    many = ["floor*.*"] * 50000
    flood.sendall(line("param.get", names=many))
    answer = flood.recv(4096)
    t.check("50000 patterns at once are refused", b'"ok":false' in answer, answer[:200])
    flood.close()
    alive(t, st, "a request for everything, thousands of times")
    reader = connect(st, 60)
    n = 3000
    reader.sendall(line("info") * n)
    got, f = 0, reader.makefile("rb")
    while got < n and f.readline():
        got += 1
    t.equal("who reads gets every answer of a long queue", got, n)
    reader.close()
    deaf.close()
    st.wait_for("descriptors as before", lambda: descriptors(st) <= before + 2, 10)
    t.check("descriptors do not grow", descriptors(st) <= before + 2, (before, descriptors(st)))
    t.account(st)


CROWD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "control_crowd.py")
CROWDS = [("idle", 400), ("half", 400), ("watch", 128), ("ask", 128), ("knock", 1)]


def users(st):
    """Ways to run a crowd: as who runs the test; and, where it is root, as two other users of the readers' group."""
    if os.geteuid() != 0:
        return [[]]
    os.chmod(os.path.dirname(st.dir), 0o711)
    os.chmod(st.dir, 0o711)
    games = str(grp.getgrnam("games").gr_gid)
    return [[]] + [["setpriv", "--reuid", uid, "--regid", games, "--clear-groups"] for uid in ("20001", "20002")]


class Crowd:
    """Two processes of each user, for as long as the block lasts."""

    def __init__(self, st, who, kind, count):
        self.argv = [sys.executable, "-", st.path("control.sock"), kind, str(count)]
        self.who, self.processes = who, []

    def __enter__(self):
        for user in self.who * 2:
            with open(CROWD, "rb") as program:  # every user can read what is open
                self.processes.append(subprocess.Popen([*user, *self.argv], stdin=program, cwd="/"))
        time.sleep(1)
        return self

    def __exit__(self, *_):
        alive = [p.poll() is None for p in self.processes]
        for p in self.processes:
            p.kill()
            p.wait()
        assert all(alive), "the crowd was not there"


def served(st, *words, times=3):
    """(the longest time, s; the last failure)"""
    took, failure = [], None
    for _ in range(times):
        begin = time.monotonic()
        code, out, err = st.ctl(*words)
        took.append(time.monotonic() - begin)
        if code not in ((0, 1) if words[0] == "status" else (0,)) or "crowded" in out:
            failure = (words, code, out[:300], err)
    return max(took), failure


def crowded(t, own):
    st = t.station(load="quiet", config=["[control]", "reader_group = games"])
    st.start()
    st.wait_ready()
    everybody = users(st)
    who = everybody[:1] if own or len(everybody) == 1 else everybody[1:]
    before = descriptors(st)
    for kind, count in CROWDS:
        with Crowd(st, who, kind, count):
            results = [served(st, "safe", "--dry-run", times=5), served(st, "get", "floor1.om0.hv"), served(st, "status")]
            t.check(f"{kind}: safe, get and status are served", not any(failure for _, failure in results), results)
            print(f"          the longest took {max(took for took, _ in results):.2f} s")
            if not own and len(everybody) > 1:  # this one has no connection yet
                results = served(st, "run", "show")
                t.check(f"{kind}: who has few connections is served all else, too", not results[1], results)
        st.wait_for("descriptors as before", lambda: descriptors(st) <= before + 5, 20)
        alive(t, st, f"after the crowd ({kind})")
    t.account(st)


@harness.long
def crowd_of_one_user(t):
    """connections without end of the operator's own user, idle, half, watching, asking, knocking: safe is served"""
    crowded(t, own=True)


@harness.long
def crowd_of_others(t):
    """the same of other users, who may only read: the operator is served everything"""
    crowded(t, own=False)


def watches(t):
    """incident.watch without end: bounded by user, with a code; its places are those of newcomers"""
    st = started(t)
    watching = []
    for _ in range(12):
        s = connect(st)
        s.sendall(line("incident.watch"))
        watching.append((s, json.loads(s.makefile().readline())))
    errors = [answer["error"] for _, answer in watching if "error" in answer]
    t.equal("of one user so many watch", len(watching) - len(errors), 8)
    t.check("the others are refused, with a code and why", len(errors) == 4 and all(
        e["code"] == "refused" and e["detail"] == "watches" and "8 times already" in e["message"] for e in errors), errors)
    watching[0][0].close()
    with connect(st) as s:
        s.sendall(line("incident.watch"))
        t.check("one that has ended makes room at once", b"snapshot" in s.recv(1 << 16))
    serial = [connect(st) for _ in range(20)]
    said = []
    for n, s in enumerate(serial):
        s.sendall(line("serial.open", floor=1 + n // 6, channel=n % 6))
        said.append(json.loads(s.makefile().readline()))
    t.equal("serial channels of one user", [sum("progress" in a for a in said),
                                            {a["error"].get("detail") for a in said if "error" in a}], [16, {"sessions"}])
    for s in serial + [s for s, _ in watching]:
        s.close()
    alive(t, st, "after that")
    t.account(st)


def gone_in_the_middle(t):
    """disconnects in the middle of set, reset, soak and run; resets and soaks that compete"""
    st = started(t)
    before = descriptors(st)
    for op, args in (("param.set", {"name": "floor1.om0.threshold", "value": "21"}),
                     ("link.reset", {"link": 1}),
                     ("phase.soak", {"link": 2, "trials": 1000, "interval_s": 0, "command": "align"}),
                     ("run.start", {"note": "x" * 159})):
        with connect(st) as s:
            s.sendall(line(op, **args))
        with connect(st) as s:
            s.sendall(line(op, **args)[:-20])  # half a message
    st.wait_for("the run has begun all the same", lambda: st.status()["run"]["number"] == 1, 10)
    st.wait_for("the command has ended all the same",
                lambda: all(c["ended"] for c in st.ask("command", "list")["commands"]), 30)
    alive(t, st, "after the disconnects")
    both = [connect(st, 30), connect(st, 30)]
    for s in both:
        s.sendall(line("link.reset", link=3))
    ends = []
    for s in both:
        for got in s.makefile("rb"):
            if b'"ok":' in got:
                ends.append(json.loads(got))
                break
    t.equal("of two resets of a link one is done, one refused", sorted(e["ok"] for e in ends), [False, True])
    t.equal("two stops of a run: one is done", sorted(a["ok"] for a in (st.request("run.stop"), st.request("run.stop"))),
            [False, True])
    for link in (-1, 4, 1 << 40, "1", 1.5, None):
        t.check(f"link {link!r} is refused", not st.request("link.reset", link=link)["ok"])
    time.sleep(1)
    st.wait_for("all links up", lambda: all(l["state"] == "up" for l in st.status()["links"]), 30)
    # The daemon opens the database for reading (three files) when it is first asked for it.
    t.check("descriptors do not grow", descriptors(st) <= before + 5, (before, descriptors(st)))
    resets = [(l, c) for l in (1, 2, 3) for c in ("link-down", "alignment", "crc", "time-fault")]
    t.account(st, named=resets)


def pour(st, first, piece, total):
    """Send `first`, then `piece` again and again up to `total` bytes; how many went before the daemon cut it off."""
    sent = 0
    with connect(st) as s:
        try:
            sent += s.send(first)
            while sent < total:
                sent += s.send(piece)
        except OSError:
            pass
    return sent


def too_long_and_half(t):
    """1 GB in one message, as garbage and as half a message: cut off at once, each counted, memory as before"""
    st = started(t)
    gigabyte, mega = 1 << 30, 1 << 20

    def bad():
        return st.ask("get", "control.bad_messages")["parameters"][0]["value"]
    st.wait_for("the first count", lambda: bad() is not None, 10)
    before, memory, wanted = bad(), resident_mb(st.daemon.pid), 0
    for what, first, piece in (("zeros", b"", bytes(mega)), ("text", b"x", b"x" * mega),
                               ("one string", b'{"v":2,"op":"info","id":"', b"y" * mega),
                               ("one array", b'{"v":2,"op":"info","args":{"names":[', b'"*",' * (mega // 4))):
        sent = pour(st, first, piece, gigabyte)
        wanted += 1
        t.check(f"1 GB of {what} is cut off", sent < 64 * mega, sent)
    for data in (b'{"v":2,"id":1,"op":"sta', b"{", b"\0", b'{"v":2,"id":1,"op":"info"}\n{"v":2'):
        talk_half(st, data)
        wanted += 1
    st.wait_for("each is counted", lambda: bad() - before >= wanted, 10)
    time.sleep(1.5)  # counts are told once a second: one too many would show now
    t.equal("each is counted, once", bad() - before, wanted)
    t.check("none of it is kept", t.sanitized or resident_mb(st.daemon.pid) < memory + 40, (memory, resident_mb(st.daemon.pid)))
    alive(t, st, "after gigabytes")
    t.account(st)


def talk_half(st, data):
    with connect(st) as s:
        s.sendall(data)


BIG_SECONDS = 40000  # of four links: half a day, 0.3 GB a day


def put_much(path):
    """An old daemon's half a day of ledger and journal, up to now."""
    begin = int(time.time()) - BIG_SECONDS
    seconds = "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < ?1 - 1), " \
              "l(k) AS (VALUES (0), (1), (2), (3)) "
    with sqlite3.connect(path) as db:
        migrations = sorted(glob.glob(os.path.join(harness.ROOT, "schemas", "sql", "*.sql")))
        for sql in migrations:
            db.executescript(open(sql).read())
        db.executescript(f"PRAGMA user_version={len(migrations)}; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF")
        db.execute("INSERT INTO dma VALUES (1,0,1,0,1,1)")
        for sql in ("ledger_link SELECT 1,1,k,i,1,k+1,8000,7990,0,0,0,10,0,0,0,0,1,(?2+i)*1000000000,NULL FROM l, s",
                    "ledger_stream SELECT 1,1,k,'pmt','trigger',i,8000,8000,0,0,0,0,0,0,1,(?2+i)*1000000000 FROM l, s",
                    "loss SELECT 1,0,'crc',k,1,k+1,'','',1,i*8000,10,NULL,(?2+i)*1000000000,0,NULL FROM l, s",
                    "phase_row SELECT k,(?2+i)*1000000000,6000,20,-60,60,10,6,7000,3 FROM l, s",
                    "command SELECT i+1,NULL,(?2+i)*1000000000,'anna',1000,1,'local','x',0,1,1,'tower1.floor1.om0.hv',"
                    "'set',1400,1450,'V',i+1,1,'DONE','',1,(?2+i)*1000000000 FROM s"):
            db.execute(seconds + "INSERT INTO " + sql, (BIG_SECONDS, begin))


def too_large(t):
    """questions for more than can be read at once: refused in time, while others are served; fcmctl reads the file"""
    st = t.station(load="quiet")
    put_much(st.path("station.db"))
    st.start()
    st.wait_ready()
    questions = [("ledger.show", {"since": 1}), ("ledger.show", {"since": 1, "link": 2, "limit": 10000}),
                 ("command.list", {"who": "nobody"}), ("command.list", {"limit": 10000}),
                 ("phase.history", {"link": 1, "since": 1, "limit": 10000}), ("event.list", {"limit": 1 << 62})]
    many, answers = connect(st, 60), {}
    many.sendall(b"".join(line(op, f"{n}.{i}", **args) for n in range(20) for i, (op, args) in enumerate(questions)))
    f = many.makefile("rb")
    slow = [0.0]
    stop = threading.Event()

    def others():
        with connect(st, 60) as s:
            g = s.makefile("rb")
            while not stop.is_set():
                begin = time.monotonic()
                s.sendall(line("info"))
                g.readline()
                slow.append(time.monotonic() - begin)
                time.sleep(0.005)
    other = threading.Thread(target=others)
    other.start()
    for _ in range(20 * len(questions)):
        answer = json.loads(f.readline())
        answers.setdefault(answer["id"].split(".")[1], answer)
    stop.set()
    other.join()
    many.close()
    for i in ("0", "1", "5"):
        error = answers[i].get("error", {})
        t.check(f"{questions[int(i)]} is refused as too much, with what to do", error.get("code") == "refused" and
                error.get("detail") == "too-much" and "--since" in error.get("hint", ""), str(answers[i])[:300])
    t.check("a question within limits is answered", answers["3"]["ok"] or
            answers["3"]["error"]["detail"] == "too-much", str(answers["3"])[:300])
    # Some 0.1 s by design, and a busy host adds its own; without a limit one of them takes longer than this.
    t.check("nobody else waits long meanwhile", max(slow) < 2, sorted(slow)[-5:])
    code, out, err = st.ctl("ledger", "show", "--since", "1d", "--limit", "1")
    t.check("fcmctl reads the file instead, and says so", code in (0, 1) and ("BALANCED" in out or "balances" in out) and
            f"reading {st.path('station.db')} instead" in err, (code, out, err))
    code, out, err = st.ctl("ledger", "show", "--since", "1d", "--timeout", "0.1")
    # A busy daemon's refusal may take longer than that: then there is no answer at all.
    t.check("within its own limit", (code == 1 and "not answered within 100 ms" in err and "--timeout" in err) or
            (code == 3 and "no message from the daemon for 0.1 s" in err), (code, out, err))
    # A tenth of what it would give to the usual ten minutes; a busy host may need several tries.
    t.check("the last minute is answered by the daemon",
            t.sanitized or any("instead" not in st.ctl("ledger", "show", "--since", "1m")[2] for _ in range(20)))
    alive(t, st, "after questions that were too large")


if __name__ == "__main__":
    harness.main([garbage, crowds, crowd_of_one_user, crowd_of_others, watches, gone_in_the_middle, too_long_and_half, too_large])
