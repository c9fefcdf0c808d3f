#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The board dies, stops or comes back; the daemon is stopped or started twice; the database is held."""
import errno
import os
import random
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from station import Process, free_port  # noqa: E402


def codes(st):
    return {r["code"] for r in st.seen()}


def ended(st):
    """Also what has ended in the last minutes."""
    return {r["code"] for r in st.seen(cleared=True)}


def started(t, **kwargs):
    st = t.station(load="quiet", **kwargs)
    st.start()
    st.wait_ready()
    return st


def good(st):
    return [l["cells"]["good"] for l in st.status()["links"]]


def flows(t, st, what):
    before = good(st)
    time.sleep(1)
    t.check(f"{what}: data flow on every link", all(b > a for a, b in zip(before, good(st))), (before, good(st)))


def stopped(process, seconds):
    process.signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.signal(signal.SIGCONT)


def said_seconds(st, what, begin=0):
    """The times in the daemon's log of "... WHAT for N s", from byte `begin` of it."""
    with open(st.daemon.log) as f:
        f.seek(begin)
        return [float(s) for s in re.findall(rf"{what} for ([0-9.]+) s", f.read())]


def open_descriptors(st):
    return len(os.listdir(f"/proc/{st.daemon.pid}/fd"))


def board_killed(t):
    """the emulator is killed under the daemon, twice, and comes back: said, re-opened, both accounts kept"""
    st = started(t, truth=False)
    before = open_descriptors(st)
    for n in (1, 2):
        st.emu.kill9()
        st.wait_for("board-gone", lambda: "board-gone" in codes(st), 10)
        t.equal(f"{n}: nobody can say how the links are", {l["state"] for l in st.status()["links"]}, {"unknown"})
        t.check(f"{n}: nor the modules", re.search(r"(?m)^modules +! all 24 unknown", st.ctl("status")[1]),
                st.ctl("status")[1])
        begin = time.monotonic()
        code, out, err = st.ctl("set", "floor1.om0.threshold", str(30 + n))
        t.check(f"{n}: a command is refused at once, with what to do", code == 1 and time.monotonic() - begin < 3,
                (code, time.monotonic() - begin, out, err))
        answer = st.request("link.reset", link=0)
        t.check(f"{n}: so is a reset", not answer["ok"] and answer["error"]["hint"], answer)
        os.unlink(st.path("board.sock"))
        st.start_emulator()
        st.wait_for("the board back", lambda: "board-gone" not in codes(st), 20)
        st.wait_for("all links up", lambda: all(l["state"] == "up" for l in st.status()["links"]), 30)
        flows(t, st, f"{n}: after the board's return")
        st.wait_for("a set: the links are granted again", lambda: st.request(
            "param.set", name="floor1.om0.threshold", value=30 + n)["ok"], 20, 1)
    # The links' black boxes are open for some seconds more.
    st.wait_for("descriptors as before", lambda: open_descriptors(st) <= before + 4, 20)
    t.check("descriptors do not grow", open_descriptors(st) <= before + 4, (before, open_descriptors(st)))
    time.sleep(1)
    t.equal("the daemon ends with 0", st.stop(), 0)
    ledger = st.ledger()
    t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
    with sqlite3.connect(f"file:{st.path('station.db')}?mode=ro", uri=True) as db:
        sessions = db.execute("SELECT count(*) FROM dma WHERE link = 0").fetchone()[0]
    t.equal("a session for every ring", sessions, 3)


def board_off_the_bus(t):
    """the board is off the bus for 3 s and comes back counting anew: said, re-opened, both accounts kept"""
    st = started(t, truth=False, scenario=t.scenario("from data\nat 9 board-gone 3\n"))
    st.wait_for("board-gone", lambda: "board-gone" in codes(st), 20)
    actions = []
    while "board-gone" in (now := {r["code"]: r["action"] for r in st.seen()}):
        actions += [a for c, a in now.items() if c.startswith("clock-")]
        time.sleep(0.1)
    t.check("meanwhile nobody is sent to the PPS cable", all("board-gone" in a for a in actions), set(actions))
    st.wait_for("the board back", lambda: "board-gone" not in codes(st), 20)
    st.wait_for("all links up", lambda: all(l["state"] == "up" for l in st.status()["links"]), 30)
    flows(t, st, "after the board's return")
    told = {r["code"]: r["text"] for r in st.seen(cleared=True)}
    t.check("what it cost stays in sight", re.search(r"about \d\.\d s of all links", told.get("board-back", "")), told)
    events = [(e["code"], e["text"]) for e in st.request("event.list", limit=100)["result"]["events"]]
    t.equal("an event tells it, once", sum(c == "board-back" for c, _ in events), 1)
    losses = []

    def lost_in_events():
        losses[:] = [(e["text"], e["action"]) for e in st.request("event.list", limit=100)["result"]["events"]
                     if e["code"] == "link-loss" and "lost:" in e["text"]]
        return losses
    st.wait_for("events of the losses", lost_in_events)
    t.check("the rings' beginning is no loss; that the board's first PPS moved its count is its doing, not the floors'",
            losses and all("alignment" not in x and "counts restarted" in x and "board-back" in a for x, a in losses), losses)
    t.equal("the daemon ends with 0", st.stop(), 0)
    ledger = st.ledger()
    t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))


def board_stopped(t):
    """the emulator stands still for 2 s, then for 8: the daemon answers, says board-gone, and all goes on"""
    st = started(t, truth=False)
    try:
        begin = os.path.getsize(st.daemon.log)
        stopped(st.emu, 2)
        flows(t, st, "after 2 s")
        late, waited = (said_seconds(st, what, begin) for what in ("did not get to run", "the board did not answer"))
        t.check("it is the board that did not answer, not the machine that was late",
                any(1 < s < 4 for s in waited) and all(s < 1 for s in late), (late, waited))
        st.emu.signal(signal.SIGSTOP)
        time.sleep(4)
        t.check("status answers meanwhile: board-gone", "board-gone" in codes(st), st.seen())
        time.sleep(4)
        st.emu.signal(signal.SIGCONT)
        st.wait_for("the board back", lambda: "board-gone" not in codes(st), 20)
        st.wait_for("all links up", lambda: all(l["state"] == "up" for l in st.status()["links"]), 30)
        flows(t, st, "after 8 s")
        t.equal("the daemon ends with 0", st.stop(), 0)
        ledger = st.ledger()
        t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
    finally:
        st.emu.signal(signal.SIGCONT)
        st.close()
        st.host_too_slow = False  # the emulator was late because it was stopped


def daemon_stopped_within_the_ring(t):
    """the daemon stands still for 1 s, less than the rings hold: nothing is lost"""
    st = started(t)
    for _ in range(3):  # a daemon that is stopped in the middle of a question to the board takes it for the board's delay
        stopped(st.daemon, 1)
        time.sleep(2)
        if "machine-late" in ended(st):
            break
    t.check("machine-late says so", "machine-late" in ended(st) and
            any(0.5 < s < 2 for s in said_seconds(st, "did not get to run")), st.seen())
    t.account(st)


def daemon_stopped_beyond_the_ring(t):
    """the daemon stands still for 4 s, more than the rings hold: the rest is ring-full by name"""
    st = started(t)
    stopped(st.daemon, 4)
    st.wait_ready()
    time.sleep(1)
    ledger = t.account(st, named=[(l, "ring-full") for l in range(4)])
    for link in range(4):
        n = sum(x["frames"] for x in ledger["losses"] if x["code"] == "ring-full" and x["link"] == link)
        t.check(f"link {link}: what did not fit is named", 8000 < n < 32000, n)


def second_daemon(t):
    """a second daemon on the same board is refused clearly; the first one does not notice"""
    st = started(t)
    argv = list(st.daemon.argv)
    ports = [f"data.reserved_endpoint=tcp://127.0.0.1:{free_port()}",
             f"data.monitor_endpoint=tcp://127.0.0.1:{free_port()}"]
    for what, sets in (("all the same", []),
                       ("ports of its own", ports),
                       ("everything its own but the board",
                        ports + [
                         f"control.socket={st.path('second.sock')}", f"store.database={st.path('second.db')}"])):
        r = subprocess.run(argv + [x for s in sets for x in ("--set", s)], capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=30, check=False)
        said = [l for l in r.stderr.splitlines() if " error " in l]
        t.check(f"{what}: refused, one line says why", r.returncode == 1 and len(said) == 1 and
                ("another daemon" in said[0].lower()), (r.returncode, r.stdout, r.stderr))
    flows(t, st, "meanwhile")
    t.account(st)


def refuse_version(server):
    """The answer of a driver of another version to any INFO."""
    while True:
        try:
            s, _ = server.accept()
        except OSError:
            return
        with s:
            request = struct.unpack_from("<I", s.recv(1024))[0]
            s.send(struct.pack("<IiII", request, -errno.EPROTO, 0, 0))
            s.recv(1024)


def driver_of_another_version(t):
    """daemon and nanet3-perf say what is wrong, and what to load"""
    st = t.station(load="quiet", gpsd=False, truth=False)
    st.write_config()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(st.path("board.sock"))
        server.listen()
        threading.Thread(target=refuse_version, args=(server,), daemon=True).start()
        for argv in (["fcm-server", "--config", st.path("board.conf")],
                     ["nanet3-perf", "selftest", f"unix:{st.path('board.sock')}"]):
            r = subprocess.run([st.program(argv[0]), *argv[1:]], capture_output=True, text=True, check=False,
                               stdin=subprocess.DEVNULL, timeout=30)
            t.check(argv[0], r.returncode == 1 and "another version" in r.stderr and "modinfo nanet3" in r.stderr,
                    (r.returncode, r.stderr))
        server.shutdown(socket.SHUT_RDWR)


def board_of_its_own_with_our_files(t):
    """a daemon of another board with our database, or our socket, is refused; ours are untouched"""
    st, other = started(t), t.station("other", load="quiet", gpsd=False, truth=False)
    other.start_emulator()
    other.write_config()
    for key, value in (("store.database", st.path("station.db")), ("control.socket", st.path("control.sock"))):
        r = subprocess.run([other.program("fcm-server"), "--config", other.path("board.conf"), "--set",
                            f"{key}={value}"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30,
                           check=False)
        said = [l for l in r.stderr.splitlines() if " error " in l]
        t.check(f"{key} of another daemon is refused", r.returncode == 1 and len(said) == 1 and value in said[0],
                (r.returncode, r.stderr))
    other.emu.end()
    flows(t, st, "meanwhile")
    t.account(st)


def database_held(t):
    """another process holds a write lock for 8 s: data flow, a set waits or is refused, then all is written"""
    st = started(t)
    db = sqlite3.connect(st.path("station.db"), isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    begin = time.monotonic()
    answers = [st.request("param.set", name=f"floor{f}.om0.threshold", value=40 + f, wait=False, timeout=8)
               for f in (1, 2)]
    took = time.monotonic() - begin
    t.check("commands are refused, or wait no longer than the lock", took < 8, took)
    t.check("refusals say what is wrong, and with which file", all(
        a["ok"] or (st.path("station.db") in a["error"]["message"] and "holds it" in a["error"]["message"] and
                    "fuser" in a["error"]["hint"]) for a in answers), answers)
    flows(t, st, "while the database is held")
    t.check("status is not well", st.word() == "RED" or st.status()["store"]["state"] != "well",
            st.status()["store"])
    time.sleep(max(0, begin + 8 - time.monotonic()))
    db.execute("ROLLBACK")
    db.close()
    st.wait_for("a set after it", lambda: st.request("param.set", name="floor3.om0.threshold", value=43)["ok"], 20, 1)
    st.wait_for("the store recovered", lambda: st.status()["store"]["state"] == "well", 15)
    ledger = t.account(st)
    seconds = sorted(r["second"] for r in ledger["links"] if r["link"] == 0)
    t.equal("no second is missing in the ledger", seconds, list(range(seconds[0], seconds[-1] + 1)))


def stopped_under_load(t):
    """SIGTERM with a consumer that has stopped: ends within 10 s, what it did not acknowledge is named"""
    st = started(t)
    st.consumers["trigger-1"].signal(signal.SIGSTOP)
    time.sleep(1)
    begin = time.monotonic()
    code = st.daemon.end(20)
    took = time.monotonic() - begin
    st.consumers["trigger-1"].signal(signal.SIGCONT)
    # It reads what is left, and that the connection has ended in the middle of a block: libzmq 4.3.4 does not give
    # back the parts of a message that a socket is closed in the middle of, which a sanitizer would call a leak.
    time.sleep(1)
    t.check("ends with 0 within 10 s", code == 0 and took < 10, (code, took))
    ledger = t.account(st)
    drops = {x["group"] for x in ledger["losses"] if x["kind"] == "group"}
    t.check("drops are the stopped group's", drops <= {"trigger"}, drops)


def holds_signals(process):
    with open(f"/proc/{process.pid}/status") as f:
        mask = int(re.search(r"^SigBlk:\t(\w+)", f.read(), re.M)[1], 16)
    return mask >> (signal.SIGTERM - 1) & mask >> (signal.SIGHUP - 1) & 1


def starting(st, n, number, rng):
    """A daemon that gets a signal at some moment of its start. It first blocks the signals of the main loop; before
    that there is nothing to shut down."""
    daemon = Process("fcm-server", st.daemon.argv, st.path(f"daemon-{n}.log"))
    st.wait_for("blocked signals", lambda: holds_signals(daemon), 2, 0.0005)
    time.sleep(rng.uniform(0, 0.25))
    daemon.signal(number)
    return daemon


def text_of(process):
    with open(process.log) as f:
        return f.read()


def stopped_while_starting(t):
    """SIGTERM or SIGINT at any moment of the start: ends soon with status 0, the rings stay for the next daemon"""
    st = started(t)
    st.daemon.end(20)
    rng = random.Random(1)
    for n in range(24):
        number = rng.choice([signal.SIGTERM, signal.SIGINT])
        daemon = starting(st, n, number, rng)
        begin = time.monotonic()
        code = daemon.popen.wait(30)
        said = text_of(daemon)
        t.check(f"{n}: {number.name} ends it in order", code == 0 and time.monotonic() - begin < 10 and
                "stopp" in said and "Sanitizer" not in said and "runtime error" not in said,
                (code, time.monotonic() - begin, said[-500:]))
    st.start_daemon()
    st.wait_for("the rings are taken over", lambda: all(l["taken_over"] for l in st.status()["links"]))
    st.wait_ready()
    time.sleep(1)
    t.account(st, named=[(l, c) for l in range(4) for c in ("ring-full", "link-down", "alignment")])


def hung_up_while_starting(t):
    """SIGHUP at any moment of the start: the daemon starts and reloads its configuration"""
    st = started(t, truth=False)
    rng = random.Random(2)
    for n in range(12):
        st.daemon.end(20)
        st.config = ["[daemon]", f"name = name-{n}"]
        st.write_config()
        st.daemon = starting(st, n, signal.SIGHUP, rng)
        st.wait_for("the daemon", lambda: st.request("status")["result"]["name"] == f"name-{n}", 20)
        t.check(f"{n}: it starts and reloads", st.daemon.alive() and text_of(st.daemon).count("ready") == 1, st.daemon.tail())
    t.equal("the daemon ends with 0", st.stop(), 0)


def hung_up_while_stopping(t):
    """signals of every kind during the stop change nothing: the daemon shuts down"""
    st = started(t, truth=False)
    st.consumers["trigger-1"].signal(signal.SIGSTOP)  # the stop takes its time
    time.sleep(1)
    st.daemon.signal(signal.SIGTERM)
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT) * 3:
        time.sleep(0.02)
        st.daemon.signal(number)
    t.equal("the daemon ends with 0", st.daemon.popen.wait(30), 0)
    st.consumers["trigger-1"].signal(signal.SIGCONT)
    st.stop()


def first_status(t):
    """the first status after a start does not say board-gone while the board is there"""
    st = started(t, truth=False)
    for n in range(8):
        (st.daemon.kill9 if n % 2 else st.daemon.end)()
        st.launch_daemon()
        first = None
        while first is None and st.daemon.alive():
            try:
                first = st.request("status")["result"]
            except OSError:
                time.sleep(0.001)
        said = {r["code"] for r in harness.observations(first)}
        states = {l["state"] for l in first["links"]}
        t.check(f"{n}: board there, its links not dark", "board-gone" not in said and not states & {"dark", "unknown"},
                (said, states))
    t.equal("the daemon ends with 0", st.stop(), 0)


if __name__ == "__main__":
    harness.main([board_killed, board_off_the_bus, board_stopped, daemon_stopped_within_the_ring,
                  daemon_stopped_beyond_the_ring, second_daemon, driver_of_another_version,
                  board_of_its_own_with_our_files, database_held, stopped_under_load, stopped_while_starting,
                  hung_up_while_starting, hung_up_while_stopping, first_status])
