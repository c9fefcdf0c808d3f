#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""High voltage goes down and modules go off whatever the database's disk does: it hangs, is full, or the file was
damaged at the start. What was sent without it is in the database when that answers, once, and says so; everything
else waits for it, as ever."""
import contextlib
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import station  # noqa: E402
from unit_manager import Manager  # noqa: E402
from command_book import Book  # noqa: E402

NO_LIMIT = resource.RLIM_INFINITY
FIRST_OWN_ID = 10**12


@contextlib.contextmanager
def disk_that_hangs(st, *options):
    """A file system at st.path("disk") whose server can be stopped: its process; None where that is not permitted."""
    behind, where = st.path("behind"), st.path("disk")
    os.makedirs(behind, exist_ok=True)
    os.makedirs(where, exist_ok=True)
    p = subprocess.Popen(["bindfs", "-f", *options, behind, where], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if os.path.ismount(where) or p.poll() is not None:
                break
            time.sleep(0.05)
        yield p if os.path.ismount(where) else None
    finally:
        if p.poll() is None:
            p.send_signal(signal.SIGCONT)
        if st.daemon and st.daemon.alive():
            st.daemon.kill9()
        subprocess.run(["umount", "-l", where], check=False, stderr=subprocess.DEVNULL)
        p.terminate()
        p.wait(10)


def rows(st, sql):
    with sqlite3.connect(f"file:{st.database}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def fast_ramps(t, st, modules="floor*.om*"):
    """As fast as modules can: at their own rate the way down takes 14 s."""
    code, out, err = st.ctl("set", f"{modules}.ramp", "500", "--force", "--yes", timeout=120)
    t.check("the modules ramp at 500 V/s", code == 0, (code, out, err))


def down_and_off(t, st, what, timeout=120):
    """safe of everything, checked by the floors' values. Returns its output."""
    code, out, err = st.ctl("safe", "--yes", "--reason", what, timeout=timeout)
    t.check(f"{what}: safe takes all modules down and off", code == 0 and "24 of 24 modules off" in out, (code, out, err))
    st.wait_for("the floors' values", lambda: all(
        p["value"] is not None and abs(p["value"]) <= 2 for p in st.request(
            "param.get", names=["floor*.om*.hv", "floor*.om*.power"])["result"]["parameters"]), 60, 0.5)
    t.check(f"{what}: every HV and power reads 0", True)


def brought(t, st, what, least=48):
    """All commands sent without the database are in it, DONE, executed once, and their text says how they were sent."""
    st.wait_for("the database is well", lambda: st.status()["store"]["state"] == "well", 60, 0.5)
    st.wait_for("the emergency journal is in the database", lambda: not any(
        r["code"] == "emergency-rows" for r in st.seen()), 60, 0.5)
    found = rows(st, "SELECT id, parameter, state, detail FROM command WHERE detail LIKE '%sent before it was journaled%'")
    t.check(f"{what}: their rows are in the database, all DONE", len(found) >= least and
            all(r[2] == "DONE" for r in found), found)
    book = Book(st)
    book.wait_settled()
    t.equal(f"{what}: nothing was executed twice, nothing without a row", book.faults(), [])
    shown = st.ask("command", "show", str(found[0][0]))
    t.check(f"{what}: command show says why", any("to be sent before it is in the database" in (x["detail"] or "")
                                                  for x in shown["transitions"]), shown)


def hung(t):
    """the disk of the database hangs: safe is sent, and the thread that sends does not access that disk"""
    st = t.station(load="quiet")
    with disk_that_hangs(st) as disk:
        if not disk:
            t.check("no file system may be mounted here: skipped", True)
            return
        st.database = st.path("disk/station.db")
        st.start(consumers=False)
        st.wait_ready()
        fast_ramps(t, st)
        t.equal("a set while it is well", st.ctl("set", "floor1.om0.threshold", "33")[0], 0)
        trace = subprocess.Popen(["strace", "-y", "-qq", "-o", st.path("trace"), "-e", "trace=%file,%desc", "-p",
                                  str(st.daemon.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        os.kill(disk.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        try:
            down_and_off(t, st, "hung")
            time.sleep(max(0, stopped + 15 - time.monotonic()))  # what looks at the disk now and then is in the trace, too
            with open(st.path("trace"), errors="replace") as f:
                seen = f.readlines()
            t.equal("hung: no call of the thread that sends is on that disk", [l for l in seen if st.path("disk") in l], [])
            t.check("what it did is in the trace", sum("control.sock" in l or "socket:" in l for l in seen) > 10, len(seen))
            st.wait_for("it says that the disk hangs", lambda: "disk-hangs" in [
                r["code"] for r in st.seen()], 20)
            code, _, err = st.ctl("command", "list")
            t.check("a database query is refused at once", code != 0 and "does not answer" in err,
                    (code, err))
        finally:
            os.kill(disk.pid, signal.SIGCONT)
            trace.terminate()
            trace.wait(10)
        brought(t, st, "hung")
        t.equal("the daemon ends with 0", st.stop(), 0)


def on_no_disk(line):
    """A call of a trace: on sockets, pipes and events; on the control socket's path (/run); a line of the log to stderr; on
    the configuration, which a reload has to read; on memory without a file."""
    return re.search(r"^\w+\((\d+<(socket|anon_inode|pipe):|.*control\.sock\"|2<|.*/board\.conf|.*MAP_ANONYMOUS)|"
                     r"^epoll_|^poll|^strace:|^---|resumed>", line)


def main_thread(t):
    """whatever operators ask and do: the thread that serves them makes no call on any disk, nor asks the name service"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    trace = subprocess.Popen(["strace", "-y", "-qq", "-o", st.path("trace"), "-e", "trace=%file,%desc,fsync,fdatasync", "-p",
                              str(st.daemon.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    st.wait_for("the trace", lambda: os.path.exists(st.path("trace")) and os.path.getsize(st.path("trace")) > 1000, 20)
    ends = {}
    for words in ("set floor1.om0.threshold 33", "set floor1.om0.ramp 500 --force", "get floor1.*", "history floor1.om0.threshold", "command list", "command show 1",
                  "ledger show --since 1m", "status", "incident list", "snapshot save all", "snapshot list", "snapshot show all",
                  "snapshot remove all", "consumer list", "record start", "record stop", "safe floor1.om0 --yes",
                  "run start --note x", "run show", "run stop", "event list", "phase history 0", "clock history",
                  "link reset 3", "get floor1.om0.threshold --at 1s"):
        ends[words] = st.ctl(*words.split())[0]
    a = st.request("param.set", name="floor2.om0.threshold", value=34, client_id="x-1")
    ends["a repeat"] = not (a["ok"] and st.request("param.set", name="floor2.om0.threshold", value=34, client_id="x-1")["ok"])
    st.daemon.signal(signal.SIGHUP)  # reads the table of leap seconds again, too
    time.sleep(3)
    trace.terminate()
    trace.wait(10)
    t.equal("all of it was done", {w: c for w, c in ends.items() if c and w != "status"}, {})
    with open(st.path("trace"), errors="replace") as f:
        seen = f.readlines()
    t.check("what it did is in the trace", sum("control.sock" in l or "socket:" in l for l in seen) > 100, len(seen))
    t.check("the reload is", any("board.conf" in l for l in seen))
    t.equal("nothing of it on a disk", [l for l in seen if not on_no_disk(l)], [])
    t.equal("the daemon ends with 0", st.stop(), 0)


def watchdog(t):
    """the disk hangs for longer than systemd's watchdog, just as the database is asked: the daemon feeds the watchdog, data
    flow, operators are answered, and nothing is lost"""
    limit_s = 10
    st = t.station(load="quiet")
    with disk_that_hangs(st, "-o", "attr_timeout=0,entry_timeout=0") as disk:  # the kernel answers nothing for it
        if not disk:
            t.check("no file system may be mounted here: skipped", True)
            return
        st.database = st.path("disk/station.db")
        st.start_around()
        manager = Manager(st)
        stop = threading.Event()
        asked = []

        def ask(op, args):
            while not stop.wait(0.02):  # refused at once, it would take a core
                with contextlib.suppress(OSError, station.StationError):
                    asked.append(st.request(op, **args)["ok"])
        others = [threading.Thread(target=ask, args=a, daemon=True) for a in (
            ("command.list", {}), ("ledger.show", {"since": 1}), ("event.list", {}), ("run.show", {}))]
        try:
            manager.start(WATCHDOG_USEC=str(limit_s * 1000000))
            st.wait_ready()
            t.equal("a set while it is well", st.ctl("set", "floor1.om0.threshold", "33")[0], 0)
            delivered = sum(m["delivered"] for m in st.ask("consumer", "list")["members"])
            os.kill(disk.pid, signal.SIGSTOP)
            for o in others:  # the first of all: the database has to be opened, and nobody knows yet that its disk hangs
                o.start()
            begin, codes = time.monotonic(), []
            while time.monotonic() < begin + 1.5 * limit_s:
                codes.append((st.ctl("status")[0], st.ctl("get", "floor2.om1.hv")[0], st.ctl("safe", "floor2.om1", "--yes")[0]))
                time.sleep(0.1)
            t.equal("get and safe do what they do, all the time", {c[1:] for c in codes}, {(0, 0)})
            t.equal("status answers, red when the hang is known", ({c[0] for c in codes[:-2]} - {0, 1}, codes[-1][0]), (set(), 1))
            t.check("questions are refused, not left without an answer", len(asked) > 10 and not any(asked), asked)
            now = sum(m["delivered"] for m in st.ask("consumer", "list")["members"])
            t.check("data flow", now > delivered + 1000, (delivered, now))
            feeds = [begin, *[f for f in manager.feeds if f > begin], time.monotonic()]
            t.check(f"the watchdog is never without a word for {limit_s} s", max(
                b - a for a, b in zip(feeds, feeds[1:])) < limit_s, feeds)
        finally:
            os.kill(disk.pid, signal.SIGCONT)
            stop.set()
            for o in others:
                if o.is_alive():
                    o.join()
        try:
            brought(t, st, "watchdog", least=2)
            t.account(st)
        finally:
            manager.close()


def hung_at_the_start(t):
    """the disk hangs when the daemon starts: floors are read, safe goes; when it answers, the journal is read and has it"""
    st = t.station(load="quiet")
    with disk_that_hangs(st) as disk:
        if not disk:
            t.check("no file system of one's own may be mounted here: left out", True)
            return
        st.database = st.path("disk/station.db")
        st.start(consumers=False)
        st.wait_ready()
        fast_ramps(t, st)
        t.equal("a set while it is well", st.ctl("set", "floor1.om0.threshold", "33")[0], 0)
        t.equal("the daemon ends with 0", st.daemon.end(30), 0)
        os.kill(disk.pid, signal.SIGSTOP)
        try:
            st.start_daemon()
            st.wait_ready()
            st.wait_for("it says that the disk does not answer", lambda: "disk-hangs" in [
                r["code"] for r in st.seen()], 20)
            code, _, err = st.ctl("set", "floor1.om0.threshold", "34")
            t.check("a threshold is refused, and why", code == 1 and "the disk does not answer" in err, (code, err))
            down_and_off(t, st, "hung at the start")
        finally:
            os.kill(disk.pid, signal.SIGCONT)
        brought(t, st, "hung at the start")
        t.equal("no number was given twice", rows(st, "SELECT count(*), count(DISTINCT id), min(id) FROM command")[0][1:],
                (rows(st, "SELECT count(*) FROM command")[0][0], 1))
        t.equal("a set works again", st.ctl("set", "floor1.om0.power", "on", "--yes")[0], 0)
        t.equal("the daemon ends with 0", st.stop(), 0)


def full(t):
    """no file may grow: safe is sent, a threshold is not; kill -9 in between: nothing is lost or done twice"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()
    fast_ramps(t, st)
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (4096, NO_LIMIT))
    st.wait_for("store-failing", lambda: "store-failing" in [r["code"] for r in st.seen()], 30)
    code, _, err = st.ctl("set", "floor1.om0.threshold", "41")
    t.check("full: a threshold is refused, without a number", code == 1 and "nothing was sent" in err and
            "command " not in err.replace("command journal", ""), (code, err))
    down_and_off(t, st, "full")
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))
    time.sleep(2.5)  # its copy is written beside it, and does not take its place
    with open(f"/proc/{st.daemon.pid}/maps") as f:
        t.equal("full: the emergency journal in use is the file of its name", [
            l for l in f if "emergency.journal" in l and "deleted" in l], [])
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (4096, NO_LIMIT))
    st.daemon.kill9()
    st.start_daemon()
    st.wait_ready()
    brought(t, st, "full")
    t.equal("the daemon ends with 0", st.stop(), 0)


def damaged(t):
    """the database was damaged when the daemon started: floors are read, safe is sent, and its rows are in the good copy
    that replaces the file, under unique numbers"""
    for fresh in (False, True):
        what = f"damaged, {'nothing' if fresh else 'the emergency journal'} known"
        st = t.station("fresh" if fresh else "known", load="quiet")
        st.start(consumers=False)
        st.wait_ready()
        fast_ramps(t, st)
        for n in range(3):
            st.ctl("set", f"floor{n + 1}.om0.threshold", "33")
        st.daemon.end(30)
        last = rows(st, "SELECT max(id) FROM command")[0][0]
        os.rename(st.database, st.path("good.db"))
        with open(st.database, "wb") as f:
            f.write(os.urandom(65536))
        if fresh:
            os.unlink(st.path("emergency.journal"))
            os.unlink(st.database + ".emergency")
        st.start_daemon()
        st.wait_for("store-failing", lambda: "store-failing" in [r["code"] for r in st.seen()], 30)
        st.wait_for("floors are read", lambda: st.request("param.get", names=["floor1.om0.hv"])["result"]["parameters"][0][
            "value"] is not None, 30)
        down_and_off(t, st, what)
        os.rename(st.database, st.path("damaged.db"))
        shutil.copy(st.path("good.db"), st.database)
        brought(t, st, what)
        st.request("param.set", name="floor1.om0.power", value="on", yes=True)
        ids = [r[0] for r in rows(st, "SELECT id FROM command ORDER BY id") if r[0] > last]
        own = [i for i in ids if i >= FIRST_OWN_ID]
        t.check(f"{what}: their numbers are {'a range of their own' if fresh else 'the next ones'}",
                (len(own) >= 48) if fresh else not own, ids)
        t.equal(f"{what}: the next command has the next number", [i for i in ids if i < FIRST_OWN_ID][-1] < last + 200, True)
        st.stop()


def own_copy(t):
    """the copy of the emergency journal has a name of its own, after the database: beside the live one it does not take
    its place, and stations whose databases share a directory have one each"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()
    fast_ramps(t, st, "floor1.om0")
    st.daemon.end(30)
    shutil.copy(st.database, st.path("good.db"))
    with open(st.database, "wb") as f:
        f.write(os.urandom(65536))
    st.start_daemon()
    os.mkdir(st.database + ".emergency.new")  # so the copy fails, as on a disk that takes nothing
    live = os.stat(st.path("emergency.journal")).st_ino
    t.equal("safe of a module", st.ctl("safe", "floor1.om0", "--yes", timeout=120)[0], 0)
    time.sleep(2)  # it is copied once a second
    t.equal("the live file is the one that the daemon has mapped", os.stat(st.path("emergency.journal")).st_ino, live)
    before = os.stat(st.database + ".emergency").st_ino
    os.rmdir(st.database + ".emergency.new")
    st.wait_for("its copy beside the database, once that can be written",
                lambda: os.stat(st.database + ".emergency").st_ino != before, 20)
    st.daemon.kill9()
    st.start_daemon()
    st.wait_for("after kill -9 its rows are there", lambda: "emergency-rows" in [
        r["code"] for r in st.seen()], 20)
    st.daemon.kill9()
    shutil.copy(st.path("good.db"), st.database)
    _, _, err = st.ctl("command", "show", str(FIRST_OWN_ID))
    t.check("while the daemon is away fcmctl says where else a command may be", "emergency journal" in err, err)
    st.start_daemon()
    st.wait_for("the database has them, beside the ramp's", lambda: len(rows(st, "SELECT id FROM command")) == 3, 20)
    t.equal("the daemon ends with 0", st.stop(), 0)


def long_reason(t):
    """a reason, and a run's note, beyond its limit is refused with the limit; one at the limit is kept to the last byte, through kill -9"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()
    fast_ramps(t, st, "floor1.om0")
    for op, args in (("param.set", {"name": "floor1.om0.threshold", "value": 20}), ("safe", {"pattern": "floor1.om0", "yes": True})):
        a = st.request(op, reason="\u00e9" * 201, **args)
        t.check(f"{op}: a reason of 402 bytes is refused, with the limit", not a["ok"] and "402 bytes" in a["error"]["message"]
                and "at most 400" in a["error"]["message"], a)
        a = st.request(op, reason="\u00e9" * 200, **args)
        t.check(f"{op}: one of 400 bytes is taken", a["ok"], a)
    a = st.request("run.start", note="\u00e9" * 80)
    t.check("run.start: a note of 160 bytes is refused, with the limit", not a["ok"] and "160 bytes" in a["error"]["message"]
            and "at most 159" in a["error"]["message"], a)
    a = st.request("run.start", note="\u00e9" * 79 + "n")
    t.equal("run.start: one of 159 bytes is kept whole", (a["ok"], rows(st, "SELECT note FROM run")), (True, [("\u00e9" * 79 + "n",)]))
    journal = "SELECT reason, parameter, unit, state FROM command WHERE parameter NOT LIKE '%.ramp'"
    kept = rows(st, journal)
    t.check("the journal has every row whole", len(kept) == 3 and all(
        r[0].endswith("\u00e9" * 200) and re.fullmatch(r"tower1\.floor1\.om0\.\w+", r[1]) and r[3] == "DONE" for r in kept), kept)
    st.daemon.kill9()
    st.start_daemon()
    st.wait_ready()
    t.equal("after kill -9, too", rows(st, journal), kept)


def repeats(t):
    """the client id of a command that ended long ago is answered with that command, not with "nothing was sent"; with another
    value it is refused, with the number"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()
    first = st.request("param.set", name="floor1.om0.threshold", value=20, client_id="night-1")
    for n in range(1100):
        st.request("param.set", name=f"floor{n % 4 + 1}.om1.threshold", value=20 + n % 2, wait=False)
    st.wait_for("all ended", lambda: rows(st, "SELECT count(*) FROM command WHERE ended IS NULL")[0][0] == 0, 60, 0.5)
    again = st.request("param.set", name="floor1.om0.threshold", value=20, client_id="night-1")
    t.equal("the repeat is that command, DONE", again.get("result", again)["command"], first["result"]["command"])
    other = st.request("param.set", name="floor1.om0.threshold", value=21, client_id="night-1")
    t.check("for another value it is refused and names the command", not other["ok"] and
            f"belongs to command {first['result']['command']}" in other["error"]["message"], other)
    t.equal("it was set once", rows(st, "SELECT count(*) FROM command WHERE parameter LIKE '%floor1.om0.threshold'")[0][0], 1)


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    harness.main([main_thread, hung, watchdog, hung_at_the_start, full, damaged, own_copy, long_reason, repeats])
