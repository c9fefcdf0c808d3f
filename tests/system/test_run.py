#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make run`'s own program: its summary, what it says of a broken run, when it exits non-zero."""
import contextlib
import io
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import run  # noqa: E402


def run_it(t, name, *args):
    """run.py as make run starts it; a station, so that a host too slow is noticed."""
    st = t.station(name)
    r = subprocess.run([sys.executable, os.path.join(harness.ROOT, "tests", "system", "run.py"), "--bin", t.bin,
                        "--dir", st.dir, "--keep", *args], capture_output=True, text=True, timeout=180, check=False)
    with open(st.path("emu.log")) as f:
        st.host_too_slow = "host too slow" in f.read()
    return st, r


def a_good_run(t):
    """five seconds: exit 0, 8000 frames a second and link, none lost, locked, balanced, equal to the truth"""
    st, r = run_it(t, "run", "--seconds", "5", *(["--load", "quiet"] if t.sanitized else []))
    t.equal("exit status", r.returncode, 0) or print(r.stdout[-3000:], r.stderr[-2000:])
    rows = [line.split() for line in r.stdout.splitlines() if line.endswith("none") and line.split()[0].isdigit()]
    frames = [int(w[2]) for w in rows]  # 40 000, but a busy host starts and ends later
    t.check("four links, five seconds each, none lost", len(rows) == 4 and 24000 < min(frames) and
            max(frames) < 120000 and all(w[2] == w[3] for w in rows), r.stdout[-2500:])
    t.check("as many of each link, within 0.2 s", max(frames) - min(frames) < 1600, frames)
    for text in ("locked by gpsd", "both balances correct", "every delivered frame equals it", "balanced: every frame", "not delivered:"):
        t.check(f"it says \"{text}\"", text in r.stdout, r.stdout[-2500:])


def a_broken_run(t):
    """dropped frames and a killed consumer: the losses stand in the summary by name, floor and frame range"""
    path = t.scenario("from data\nat 9 link 2 drop 9\n")
    st, r = run_it(t, "run", "--seconds", "8", "--scenario", path, "--kill-consumer", "trigger-1", "--load", "quiet")
    lines = r.stdout.splitlines()
    t.check("the dropped frames: name, floor, link, range, number",
            any("board-fifo" in x and "floor 3" in x and "link 2" in x and "(9)" in x for x in lines), r.stdout[-3000:])
    t.check("the killed consumer: name, floor, stream, group, range",
            any(("no-member" in x or "slow" in x) and "pmt for trigger" in x and ".." in x for x in lines),
            r.stdout[-3000:])
    t.check("the ledger balances all the same: exit 0", r.returncode == 0, (r.returncode, r.stdout[-1500:], r.stderr))


def a_board_that_was_gone(t):
    """the board is off the bus: its counts begin anew, the truth is of no use, and the rest is judged without it"""
    path = t.scenario("from data\nat 8 board-gone 1 # as after power-up\n")
    _, r = run_it(t, "gone", "--seconds", "12", "--scenario", path, "--load", "quiet")
    t.check("it says that it cannot be compared", "cannot be compared" in r.stdout and "DISAGREES" not in r.stdout,
            r.stdout[-2000:])
    t.check("the ledger balances: well, exit 0", r.returncode == 0 and "both balances correct" in r.stdout,
            (r.returncode, r.stdout[-2000:], r.stderr))


def a_ledger_that_does_not_balance(t):
    """one frame taken out of one row: the row is named, the summary says so, the exit status is not 0"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    before = run.cells(st.status())
    final = st.status()
    st.stop()
    with sqlite3.connect(st.path("station.db")) as db:
        db.execute("UPDATE ledger_link SET good = good - 1 WHERE link = 1 AND second = "
                   "(SELECT max(second) FROM ledger_link WHERE good > 100 AND link = 1)")
    code, out, _ = st.ctl("ledger", "show", "--since", "1000d")
    t.check("fcmctl ledger show exits 1 and says that it does not balance", code == 1 and "BALANCE" in out.upper(),
            (code, out[:500]))
    t.check("the row is named", any(r.get("link") == 1 for r in st.ledger()["unbalanced"]), st.ledger()["unbalanced"])
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        good = run.summary(st, before, run.cells(final), final)
    t.check("the summary of make run says so", not good and "DOES NOT BALANCE" in text.getvalue(),
            text.getvalue()[-1500:])


def a_daemon_started_again(t):
    """somebody has killed the daemon meanwhile and started it again: no count below 0, and it is said since when it is"""
    names = ["good", *run.LOSSES]
    before = [dict.fromkeys(names, 80)] * run.LINKS
    after = [{**dict.fromkeys(names, 0), "good": 50000} for _ in range(run.LINKS)]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run.show_links(before, after, {"links": [{"floor": n + 1} for n in range(run.LINKS)]})
    rows = [line.split() for line in text.getvalue().splitlines() if line.endswith("none")]
    t.equal("all that it counted, nothing lost", [r[2:] for r in rows], [["50000", "50000", "none"]] * run.LINKS)
    t.check("it is said", "started again" in text.getvalue(), text.getvalue())


def a_run_that_was_killed(t):
    """kill -9 of the run ends its programs too; a station that still runs is not run over"""
    st = t.station(load="quiet", gpsd=False, truth=False)
    script = [sys.executable, os.path.join(harness.ROOT, "tests", "system", "run.py"), "--bin", t.bin, "--dir", st.dir]
    first = subprocess.Popen([*script, "--load", "quiet"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    st.wait_for("the first station", st.answers, 30)
    pid = run.daemon_of(st.dir)
    first.kill()
    first.wait()
    st.wait_for("the daemon's end", lambda: not os.path.exists(f"/proc/{pid}"), 15)
    st.start()  # by somebody who writes no run.pid
    os.remove(st.path("run.pid"))
    r = subprocess.run([*script, "--seconds", "1"], capture_output=True, text=True, timeout=30, check=False)
    t.check("a second run is refused, with the daemon to end", r.returncode == 1 and f"kill {st.daemon.pid}" in r.stderr,
            (r.returncode, r.stdout, r.stderr))
    t.check("the first one goes on", st.daemon.alive() and st.status()["board"] == 0)
    os.unlink(st.path("control.sock"))
    st.wait_for("its socket is made again when it is removed", st.answers, 5)
    t.check("and that is said", "was removed; the daemon has made it again" in st.daemon.tail(200), st.daemon.tail())
    t.equal("the daemon ends with 0", st.stop(), 0)


def a_silent_daemon(t):
    """a daemon that is not heard for a while ends no run; what the run before has left stays readable"""
    st = t.station("silent", load="quiet")
    os.makedirs(st.dir, exist_ok=True)
    kept = {"station.db": "the journal", "truth.bin": "large", "trigger-1.rec": "large"}
    for name, text in kept.items():
        with open(st.path(name), "w") as f:
            f.write(text)
    for recording in ("recordings/night", "recordings/blackbox-20260101T000000Z-0", "../silent.recordings/night"):
        os.makedirs(st.path(recording))
    with subprocess.Popen([sys.executable, os.path.join(harness.ROOT, "tests", "system", "run.py"), "--bin", t.bin,
                           "--dir", st.dir, "--keep", "--load", "quiet", "--seconds", "10"], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as r:
        lines = [r.stdout.readline()]
        while lines[-1] and " s  " not in lines[-1]:
            lines.append(r.stdout.readline())
        pid = run.daemon_of(st.dir)
        os.kill(pid, signal.SIGSTOP)
        while lines[-1] and "no message from the daemon" not in lines[-1]:
            lines.append(r.stdout.readline())
        os.kill(pid, signal.SIGCONT)
        out = "".join(lines) + r.stdout.read()
    t.check("it is told, and the run goes on to its balance", "no message from the daemon" in out and
            "both balances correct" in out, out[-3000:])
    t.equal("exit status", r.returncode, 0) or print(out[-3000:])
    t.equal("of the run before all but its data is there", sorted(os.listdir(f"{st.dir}.before")), ["station.db"])
    t.equal("a recording is kept beside it", sorted(os.listdir(f"{st.dir}.recordings")), ["night", "night-2"])
    t.check("and it is said how to read it", re.search(r"run is kept: fcmctl --dir \S+\.before reads its database", out), out[:500])


def run_beside(t, name, *args):
    """run.py, when it has said where consumers connect: (station, process, endpoint)."""
    st = t.station(name)
    r = subprocess.Popen([sys.executable, os.path.join(harness.ROOT, "tests", "system", "run.py"), "--bin", t.bin, "--dir", st.dir,
                          "--keep", "--load", "quiet", *args], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    for line in r.stdout:
        if line.startswith("Consumers connect to "):
            return st, r, line.split()[3].rstrip(",.")
    return st, r, None


def at_a_terminal(t):
    """the addresses stay until Enter; then the live view; Ctrl-C ends it"""
    st = t.station("terminal")
    outer, inner = pty.openpty()
    with subprocess.Popen([sys.executable, os.path.join(harness.ROOT, "tests", "system", "run.py"), "--bin", t.bin, "--dir",
                           st.dir, "--load", "quiet"], stdin=inner, stdout=inner, stderr=inner, start_new_session=True) as r:
        os.close(inner)
        said = b""

        def until(text):
            nonlocal said
            while text not in said:
                said += os.read(outer, 65536)
        until(b"Enter ")
        t.check("where consumers, monitors and browsers connect", b"monitors to tcp://" in said and b"In a browser: http://" in said, said)
        said = b""
        os.write(outer, b"\n")
        until(b"clock")
        os.killpg(r.pid, signal.SIGINT)
        until(b"stopping ...")
    t.equal("exit status", r.returncode, 0)
    os.close(outer)


def a_guest(t):
    """somebody's own consumer has a share of the blocks: the run says that it cannot compare them, not that they are lost"""
    _, r, endpoint = run_beside(t, "guest", "--seconds", "12")
    with r:
        guest = subprocess.Popen([os.path.join(t.bin, "fcm-consumer"), "--endpoint", endpoint, "--name", "mine", "--group", "trigger"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out = r.stdout.read()
        guest.terminate()
        guest.wait()
    t.check("it is named, and what it had is no loss", "mine in group trigger had blocks" in out and "DISAGREES" not in out, out[-3000:])
    t.check("balanced, exit 0", r.returncode == 0 and "both balances correct" in out, (r.returncode, out[-1500:]))


def a_daemon_that_was_killed(t):
    """kill -9 of a timed run's daemon: it is said at once, in a line each second, and the run ends with 1"""
    st, r, _ = run_beside(t, "killed", "--seconds", "10")
    with r:
        lines = [r.stdout.readline()]
        while lines[-1] and " s  " not in lines[-1]:
            lines.append(r.stdout.readline())
        os.kill(run.daemon_of(st.dir), signal.SIGKILL)
        out = "".join(lines) + r.stdout.read()
    t.check("each second says so, in short", "fcm-server is not running\n" in out and max(map(len, out.splitlines())) < 400, out[-3000:])
    t.check("it ends with 1, and says why and where to read on", r.returncode == 1 and "fcm-server has ended with -9" in out and
            "daemon.log" in out, (r.returncode, out[-1500:]))


def ended_by_its_pid(t):
    """SIGTERM ends the live view as Ctrl-C does: the station stops, exit 0"""
    st, r, _ = run_beside(t, "ended")
    with r:
        with open(st.path("run.pid")) as f:
            os.kill(int(f.read()), signal.SIGTERM)
        out = r.stdout.read()
    t.check("it says so and ends with 0", r.returncode == 0 and "stopping ..." in out and "Traceback" not in out,
            (r.returncode, out[-1500:]))
    t.check("nothing of it is left", not os.path.exists(st.path("run.pid")) and not run.daemon_of(st.dir))


def make(t, *words, **kwargs):
    return subprocess.Popen(["make", *words], cwd=t.base, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**os.environ, "MAKEFLAGS": ""}, **kwargs)


def clean_beside_a_run(t):
    """make clean leaves the files of a running make run alone, and says so; nor is there a second run"""
    def write(path, text):
        path = os.path.join(t.base, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o755)
        return path
    # The Makefile itself, in a tree that has nothing to build; its station is a sleep.
    shutil.copy(os.path.join(harness.ROOT, "Makefile"), t.base)
    write("tests/setup/setup.sh", "#!/bin/sh\n")
    write("tests/system/run.py", "import time\nprint('up', flush=True)\ntime.sleep(120)\n")
    for directory in ("build", "elsewhere"):
        where = [] if directory == "build" else [f"B={directory}"]
        kept = write(f"{directory}/run/station.db", "x")
        first = make(t, *where, "run", start_new_session=True)
        t.check(f"a station runs in {directory}", "up\n" in iter(first.stdout.readline, ""))
        clean = make(t, *where, "clean")
        out = clean.communicate(timeout=30)[0]
        t.check("make clean is refused and says why", clean.returncode != 0 and f"lives in {directory}/run: end it" in
                out, (clean.returncode, out))
        t.check("the station's files are there", os.path.exists(kept))
        second = make(t, *where, "run")
        out = second.communicate(timeout=30)[0]
        t.check("a second make run too", second.returncode != 0 and f"runs in {directory}/run: end it" in out,
                (second.returncode, out))
        os.killpg(first.pid, signal.SIGINT)
        first.communicate(timeout=30)
        clean = make(t, *where, "clean")
        out = clean.communicate(timeout=30)[0]
        t.check("then make clean cleans", clean.returncode == 0 and not os.path.exists(kept), (clean.returncode, out))


if __name__ == "__main__":
    harness.main([a_good_run, a_broken_run, a_board_that_was_gone, a_ledger_that_does_not_balance,
                  a_daemon_started_again, a_run_that_was_killed, a_silent_daemon, at_a_terminal, a_guest,
                  a_daemon_that_was_killed, ended_by_its_pid, clean_beside_a_run])
