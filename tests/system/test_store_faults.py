#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The database's disk is full, read-only or away, its file damaged, replaced or held: at the start and while the
daemon runs. Each time data flow and balance, nothing is sent to the detector, status says what to do, and it
recovers by itself. What needs a disk of its own (root) is left out where there is none."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from command_book import Book  # noqa: E402

NO_LIMIT = resource.RLIM_INFINITY
RESTARTED = [(link, "ring-full") for link in range(4)]  # a busy host may start a daemon later than the rings hold


def good(st):
    return [l["cells"]["good"] for l in st.status()["links"]]


def flows(t, st, what):
    before = good(st)
    time.sleep(1)
    after = good(st)
    t.check(f"{what}: data flow on every link", all(b > a for a, b in zip(before, after)), (before, after))


def store_reason(st):
    return next((r for r in st.seen() if r["code"] == "store-failing"), None)


def until_told(t, st, what, *words):
    """The alarm: red, and says what and which file, and what to do."""
    st.wait_for("store-failing", lambda: store_reason(st), 30)
    status, reason = st.status(), store_reason(st) or {}
    t.check(f"{what}: red, with the file, what it is, and what to do",
            status["incidents"]["word"] == "RED" and status["store"]["state"] == "failing" and reason["action"] and
            all(w in reason["text"] + " " + reason["action"] for w in (st.database, *words)), reason)
    t.equal(f"{what}: by one reason", [r["code"] for r in harness.observations(status) if r["object"] == "store"].count(
        "store-failing"), 1)


def refused(t, st, what, value=41):
    code, out, err = st.ctl("set", "floor1.om0.threshold", str(value))
    t.check(f"{what}: a set is refused, with the file and what to do", code == 1 and st.database in err and
            "nothing was sent" in err and "\n" in err.strip(), (code, out, err))


def recovers(t, st, what, value=42):
    st.wait_for("a set after it", lambda: st.request("param.set", name="floor1.om0.threshold", value=value)["ok"], 60,
                1)
    st.wait_for("no store-failing", lambda: not store_reason(st), 30)
    t.check(f"{what}: by itself it is well again", st.status()["store"]["state"] == "well", st.status()["store"])


def rows(st, sql):
    with sqlite3.connect(f"file:{st.database}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def none_missing(t, ledger):
    for link in range(4):
        seconds = sorted(r["second"] for r in ledger["links"] if r["link"] == link)
        t.equal(f"link {link}: no second is missing in the ledger", seconds, list(range(seconds[0], seconds[-1] + 1)))


def prepare(t, **kwargs):
    """All but the daemon runs."""
    st = t.station(load="quiet", **kwargs)
    st.start_emulator()
    return st


def copy_of(st, name):
    """A good copy, as an administrator makes it."""
    with sqlite3.connect(st.database) as db, sqlite3.connect(st.path(name)) as to:
        db.backup(to)
    return st.path(name)


def damage(path, first=1):
    """Pages behind the first are overwritten."""
    with open(path, "r+b") as f:
        f.seek(4096 * first)
        while f.tell() < os.path.getsize(path):
            f.write(os.urandom(4096))


def forget_log(st):
    for end in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(st.database + end)


def began_without(t, st, what, *words):
    """The daemon has been started without its database."""
    st.wait_ready()
    until_told(t, st, what, *words)
    refused(t, st, what)
    flows(t, st, what)
    st.wait_for("floors are still read", lambda: st.request("param.get", names=["floor1.om0.hv"])["result"][
        "parameters"][0]["value"] is not None, 30)
    verb = "stop" if st.status()["run"]["number"] else "start"
    code, out, err = st.ctl("run", verb)
    t.check(f"{what}: a run does not {verb} without the journal", code == 1 and st.database in err, (code, out, err))


def damaged_at_start(t):
    """the file is damaged when the daemon starts; a good copy takes its place: numbers and the run go on"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    for n in range(3):
        st.ctl("set", f"floor{n + 1}.om0.threshold", "33")
    t.equal("a run", st.ctl("run", "start", "--note", "night")[0], 0)
    reference = {p["link"]: p["reference"] for p in st.status()["phases"]}
    t.equal("it ends", st.daemon.end(30), 0)
    copy = copy_of(st, "copy.db")
    before = rows(st, "SELECT max(id), max(sequence) FROM command")[0]
    damage(st.database)
    forget_log(st)
    st.start_daemon()
    began_without(t, st, "damaged", "malformed", "-wal", "restart")
    t.equal("the run that the rings carry goes on", st.status()["run"]["number"], 1)
    time.sleep(3)
    os.rename(st.database, st.path("damaged.db"))
    st.wait_for("it says that the file is gone", lambda: "not there" in store_reason(st)["text"], 20)
    t.check("none is begun in its place", not os.path.exists(st.database))
    os.rename(copy, st.database)
    recovers(t, st, "damaged")
    after = rows(st, "SELECT id, sequence FROM command ORDER BY id DESC LIMIT 1")[0]
    t.check("ids and sequences go on behind those of before", after[0] > before[0] and after[1] > before[1],
            (before, after))
    status = st.status()
    t.equal("so does the run", (status["run"]["number"], status["run"]["note"]), (1, "night"))
    t.equal("and the phase's references", {p["link"]: p["reference"] for p in status["phases"]}, reference)
    t.equal("the next run has the next number", (st.ctl("run", "stop")[0], st.ctl("run", "start")[0],
                                                 st.status()["run"]["number"]), (0, 0, 2))
    starts = rows(st, "SELECT count(*) FROM event WHERE code = 'daemon-start'")[0][0]
    t.equal("both starts are events", starts, 2)
    sessions = rows(st, "SELECT count(DISTINCT session) FROM ledger_link")[0][0]
    t.equal("the rings lived on: one session", sessions, 1)
    none_missing(t, t.account(st, named=RESTARTED))


def missing_at_start(t):
    """the directory is not there when the daemon starts, as when its disk is not mounted"""
    st = prepare(t)
    st.database = st.path("disk/station.db")
    started(st)
    began_without(t, st, "no directory")
    os.mkdir(st.path("disk"))
    recovers(t, st, "no directory")
    none_missing(t, t.account(st))


def started(st, *prefix):
    """What start() does behind the emulator, with a prefix to the daemon's command line."""
    st.start_gpsd()
    st.write_config()
    st.start_consumer("trigger-1", "trigger")
    st.start_consumer("acoustic-1", "acoustic")
    program = st.program
    try:
        if prefix:
            st.program = lambda name: wrapper(st, prefix, program(name)) if name == "fcm-server" else program(name)
        st.start_daemon()
    finally:
        st.program = program


def wrapper(st, prefix, program):
    """A program that runs it behind the prefix, with the same pid."""
    path = st.path("behind.sh")
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\nexec {' '.join(prefix)} {program} \"$@\"\n")
    os.chmod(path, 0o755)
    return path


def full_at_start(t):
    """no file may grow when the daemon starts for the first time; then it may"""
    st = prepare(t)
    started(st, "prlimit", "--fsize=8192:unlimited")
    began_without(t, st, "full")
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))
    recovers(t, st, "full")
    none_missing(t, t.account(st))


def held_at_start(t):
    """another program has the file for itself when the daemon starts"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    st.daemon.end(30)
    db = sqlite3.connect(st.database, isolation_level=None)
    db.execute("PRAGMA locking_mode=EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    db.execute("UPDATE station SET value = value")
    st.start_daemon()
    began_without(t, st, "held", "locked")
    db.execute("ROLLBACK")
    db.close()
    recovers(t, st, "held")
    none_missing(t, t.account(st, named=RESTARTED))


def other_at_start(t):
    """a file of another version, or of another program: data flow, it is left as it is, and when it has been moved
    away with the command of the alarm, a new one is begun"""
    st = prepare(t)
    others = {"newer": "CREATE TABLE later(x); PRAGMA application_id=0x46434d01; PRAGMA user_version=99",
              "older": "CREATE TABLE command(x); PRAGMA user_version=12", "foreign": "CREATE TABLE mine(x)"}
    with sqlite3.connect(st.database) as db:
        db.executescript(others["newer"])
    started(st)
    began_without(t, st, "newer", "schema is 99", "another version", "mv station.db")
    t.equal("newer: the file is as it was", rows(st, "PRAGMA user_version")[0][0], 99)
    for what, next_one, schema in (("newer", "older", 12), ("older", "foreign", 0), ("foreign", None, None)):
        command = re.search(r"cd .* && mv [^(]*", store_reason(st)["action"])
        if next_one:
            with sqlite3.connect(st.path("next.db")) as db:
                db.executescript(others[next_one])
        t.check(f"{what}: the alarm has the command to type", command, store_reason(st))
        t.equal(f"{what}: it does what it says", subprocess.run(command[0], shell=True, check=False).returncode, 0)
        if next_one:
            os.rename(st.path("next.db"), st.database)
            st.wait_for("the next one is seen", lambda: f"schema is {schema}," in store_reason(st)["text"], 20)
            until_told(t, st, next_one, "another program", "mv station.db")
            refused(t, st, next_one)
            for question in (("ledger", "show"), ("run", "show")):
                code, out, err = st.ctl(*question)
                t.check(f"{next_one}: {' '.join(question)} says once what is wrong, and the command to type",
                        code == 1 and not out and err.count("another program") == 1 and "&& mv station.db" in err, (code, out, err))
            flows(t, st, next_one)
    recovers(t, st, "moved away")
    t.equal("the others are whole", [sqlite3.connect(st.path(f"station.db.old{n}/station.db")).execute(
        "PRAGMA user_version").fetchone()[0] for n in ("", 2, 3)], [99, 12, 0])
    none_missing(t, t.account(st))


def full_while_running(t):
    """no file may grow any more while the daemon runs; then it may"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    # Of none there is one: a set value has to be known first.
    st.wait_for("a snapshot", lambda: st.ctl("snapshot", "save", "night") and st.ask("snapshot", "list")["snapshots"])
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (4096, NO_LIMIT))
    until_told(t, st, "full")
    refused(t, st, "full")
    for question in (("command", "list"), ("event", "list")):
        code, out, err = st.ctl(*question)
        t.check(f"full: {' '.join(question)} shows what is old, and says that it is not all, and why",
                code == 0 and out and "is not written now" in err and st.database in err, (code, out, err))
    code, out, err = st.ctl("snapshot", "remove", "night")
    t.check("full: a snapshot is not removed, and not said to be", code == 1 and ("was not removed" in err or "is not written now" in err), (code, out, err))
    flows(t, st, "full")
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))
    recovers(t, st, "full")
    t.equal("it is there still", [s["name"] for s in st.ask("snapshot", "list")["snapshots"]], ["night"])
    t.equal("then it is removed", (st.ctl("snapshot", "remove", "night")[0], st.ask("snapshot", "list")["snapshots"]),
            (0, []))
    none_missing(t, t.account(st))


def damaged_while_running(t):
    """pages are overwritten under the running daemon; a good copy takes the file's place"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    st.ctl("set", "floor1.om0.threshold", "33")
    copy = copy_of(st, "copy.db")
    # What is not in the log any more is read from the file.
    with sqlite3.connect(st.database) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(st.database)
    with open(st.database + "-wal", "r+b") as f:
        f.write(b"\0" * 32)
    until_told(t, st, "damaged")
    refused(t, st, "damaged")
    flows(t, st, "damaged")
    for end in ("", "-wal", "-shm"):
        if os.path.exists(st.database + end):
            os.rename(st.database + end, st.path("damaged.db" + end))
    os.rename(copy, st.database)
    recovers(t, st, "damaged")
    t.equal("the journal has both sets", rows(st, "SELECT count(*) FROM command WHERE state = 'DONE'")[0][0], 2)
    t.account(st)


def damaged_where_nobody_reads(t):
    """a page of a table that nobody reads is overwritten: the look at the whole file finds it; doctor says so, too"""
    st = t.station(load="quiet")
    st.start()

    def is_made():
        with contextlib.suppress(sqlite3.OperationalError):
            return rows(st, "SELECT count(*) FROM sqlite_schema WHERE name = 'dark'")[0][0]
    st.wait_for("a database", is_made, 10)
    with sqlite3.connect(st.database) as db:  # what is in the log only would hide the damage
        st.wait_for("all of it in the file", lambda: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, 5)
    root = rows(st, "SELECT rootpage FROM sqlite_schema WHERE name = 'snapshot_value'")[0][0]
    with open(st.database, "r+b") as f:
        f.seek(4096 * (root - 1))
        f.write(b"\x5a" * 4096)
    st.wait_ready()
    st.wait_for("store-damaged", lambda: "store-damaged" in {r["code"] for r in st.seen()}, 30)
    reason = next(r for r in st.seen() if r["code"] == "store-damaged")
    store = st.status()["store"]
    t.check("red, with the file, its damage and what to do", st.status()["incidents"]["word"] == "RED" and
            st.database in reason["text"] and store["damage"] in reason["text"] and "--deep" in reason["action"] and
            store["state"] == "damaged", (reason, store))
    st.ctl("set", "floor1.om0.threshold", "33")
    t.equal("what is not damaged is written", rows(st, "SELECT state FROM command")[0][0], "DONE")
    found = json.loads(st.ctl("--json", "doctor")[1])["checks"]
    t.check("doctor says so", "fail" in {line["state"] for line in found if line["check"] == "database"}, found)
    t.account(st)


def moved_while_running(t):
    """the file is moved away under the running daemon: it says so and begins none; then it is moved back"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    st.ctl("set", "floor1.om0.threshold", "33")
    os.rename(st.database, st.path("away.db"))
    until_told(t, st, "moved away", "not there")
    refused(t, st, "moved away")
    flows(t, st, "moved away")
    t.check("none is begun in its place", not os.path.exists(st.database))
    os.rename(st.path("away.db"), st.database)
    recovers(t, st, "moved back")
    t.equal("the journal has both sets", rows(st, "SELECT count(*) FROM command WHERE state = 'DONE'")[0][0], 2)
    none_missing(t, t.account(st))


def begun_anew(t):
    """the file is moved away, and a restarted daemon begins another while the FCMs remember what they executed: what is
    set then is executed, too, under sequences that they have not seen"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()

    def set_many(values):
        return [st.request("param.set", name="floor1.om0.threshold", value=v)["ok"] for v in values]
    t.check("sets of a register", all(set_many(range(20, 140))))
    before = Book(st)
    before.read()
    t.equal("the first journal is right", (before.faults(), len(before.commands)), ([], 120))
    for end in ("", "-wal", "-shm"):
        os.rename(st.database + end, st.path("away.db" + end))
    until_told(t, st, "moved away", "not there")
    st.daemon.end(30)
    st.start_daemon()
    st.wait_ready()
    t.check("sets after it, to their ends", all(set_many(range(150, 30, -1))))
    after = Book(st)
    after.wait_settled()
    known = set(before.executed)
    t.equal("the new journal has these only", len(after.commands), 120)
    t.equal("none under a sequence that its FCM had executed", sorted(set(after.by_word) & known), [])
    t.equal("each was executed once", [c for c in after.commands.values() if after.times(c) != 1 or after.value_fault(c)],
            [])
    t.equal("the floor has the last one", after.register_faults(), [])
    t.account(st, named=RESTARTED)


@contextlib.contextmanager
def disk_of_its_own(st, size="24m"):
    """A small file system at st.path("disk"); None where that is not permitted."""
    where = st.path("disk")
    os.makedirs(where, exist_ok=True)
    r = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes=64", "fcm-test", where],
                       capture_output=True, check=False)
    if r.returncode:
        yield None
        return
    try:
        yield where
    finally:
        if st.daemon and st.daemon.alive():
            st.daemon.kill9()
        subprocess.run(["umount", "-l", where], check=False)


def fill(where):
    fd = os.open(os.path.join(where, "filler"), os.O_WRONLY | os.O_CREAT, 0o600)
    with contextlib.suppress(OSError):
        while True:
            os.write(fd, b"x" * 4096)
    os.close(fd)


def a_real_disk(t):
    """a small disk: read-only at the start, then writable, then really full, then with room again"""
    st = prepare(t)
    with disk_of_its_own(st) as where:
        if not where:
            t.check("no disk of its own may be mounted here: left out", True)
            st.emu.end()
            return
        st.database = os.path.join(where, "station.db")
        subprocess.run(["mount", "-o", "remount,ro", where], check=True)
        started(st)
        began_without(t, st, "read-only", "Read-only")
        subprocess.run(["mount", "-o", "remount,rw", where], check=True)
        recovers(t, st, "read-only")
        fill(where)
        until_told(t, st, "full")
        refused(t, st, "full", 43)
        flows(t, st, "full")
        os.unlink(os.path.join(where, "filler"))
        recovers(t, st, "full", 44)
        t.equal("the daemon ends with 0", st.stop(), 0)
        kept = st.path("kept.db")
        shutil.copy(st.database, kept)
    st.database = kept
    ledger = st.ledger()
    t.check("both balances of the ledger are right", ledger["balanced"], ledger.get("unbalanced"))
    none_missing(t, ledger)
    rc, truth = st.compare()
    t.check("every delivered frame equals the truth, its time is that of the light, every other is named", rc == 0, truth)


def read_while_read_only(t):
    """the disk is read-only when a daemon starts after a kill -9, and the journal is asked for meanwhile: once it is
    writable the daemon writes"""
    st = prepare(t)
    with disk_of_its_own(st) as where:
        if not where:
            t.check("no disk of its own may be mounted here: left out", True)
            st.emu.end()
            return
        st.database = os.path.join(where, "station.db")
        started(st)
        st.wait_ready()
        t.equal("a set while it is well", st.ctl("set", "floor1.om0.threshold", "33")[0], 0)
        st.daemon.kill9()
        subprocess.run(["mount", "-o", "remount,ro", where], check=True)
        st.start_daemon()
        st.wait_ready()
        until_told(t, st, "read-only", "Read-only")
        code, out, err = st.ctl("command", "list")
        t.check("the journal is shown, and why that may not be all", code == 0 and "threshold" in out and
                "Read-only" in err, (code, out, err))
        subprocess.run(["mount", "-o", "remount,rw", where], check=True)
        recovers(t, st, "read-only", 44)
        t.equal("the daemon ends with 0", st.stop(), 0)


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    harness.main([damaged_at_start, missing_at_start, full_at_start, held_at_start, other_at_start, full_while_running,
                  damaged_while_running, damaged_where_nobody_reads, moved_while_running, begun_anew, a_real_disk,
                  read_while_read_only])
