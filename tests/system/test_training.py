#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcm-server-emulator: a training station in one command: started, used, its daemon killed, stopped, started twice."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from test_outsider import make_install  # noqa: E402
sys.path.insert(1, os.path.join(harness.ROOT, "training"))
import fcm_server_emulator as emu  # noqa: E402

PROGRAM = os.path.join(harness.ROOT, "training", "fcm_server_emulator.py")


def emulator(t, *args):
    r = subprocess.run([sys.executable, PROGRAM, "--bin", t.bin, *args], capture_output=True, text=True, timeout=180,
                       stdin=subprocess.DEVNULL, check=False)
    return r.returncode, r.stdout, r.stderr


def a_station(t):
    """start, status, commands, a killed daemon, stop; the database is readable after that"""
    where = os.path.join(t.base, "training")
    at = ["--dir", where]
    st = t.station("training")  # only to ask it
    code, out, err = emulator(t, "start", *at)
    t.equal("start: exit 0", (code, err), (0, ""))
    try:
        t.check("it says how to see it, and how to end it",
            f"--dir {where} status" in out and f"emulator stop --dir {where} ends it" in out, out)
        t.check("it has a page", re.search(r"browser: http://127.0.0.1:\d+/\n", out), out)
        st.wait_for("all well", lambda: st.word() == "WELL", 60)
        t.equal("status: exit 0", emulator(t, "status", *at)[0], 0)
        code, _, err = emulator(t, "start", *at)
        t.check("started twice: refused", code == 1 and "runs already" in err, (code, err))
        t.equal("a command is done", st.ctl("set", "floor1.om0.hv", "1390")[0], 0)
        with open(where + ".lock") as f:
            os.kill(daemon_of(int(f.read())), signal.SIGKILL)
        st.wait_for("the daemon is started again", lambda: st.status()["uptime_s"] < 5 and st.word() != "RED", 60)
    finally:
        code, out, err = emulator(t, "stop", *at)
    t.check("stop: exit 0, and it names the database", code == 0 and where in out, (code, out, err))
    code, out, _ = st.ctl("--json", "command", "list")
    t.check("the command is in its database", any("om0.hv" in json.dumps(c) for c in json.loads(out)["commands"]), out)
    t.equal("both balances of the ledger are right", st.ledger()["balanced"], True)
    t.equal("stopped twice: exit 1", emulator(t, "stop", *at)[0], 1)


def installed(t):
    """it finds what it needs among the files of make install; debian/check.sh starts a station from those of the packages"""
    root = os.path.join(t.base, "root")
    make_install(t, "install", f"DESTDIR={root}")
    r = subprocess.run([os.path.join(root, "usr/bin/fcm-server-emulator"), "scenarios"], capture_output=True, text=True,
                       timeout=60, check=False)
    t.equal("the installed program lists its scenarios", (r.returncode, r.stderr, r.stdout), (0, "", emulator(t, "scenarios")[1]))


def daemon_of(pid):
    """The fcm-server among the children of a process."""
    for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True).stdout.split():
        with open(f"/proc/{child}/comm") as f:
            if f.read().strip() == "fcm-server":
                return int(child)
    raise AssertionError(f"{pid} has no fcm-server")


def all_boards(t):
    """two boards of one machine: each is a line of status --board all; what each takes of the machine"""
    several_boards(t, 2)


@harness.long
def four_boards(t):
    """as many as a PC has"""
    several_boards(t, 4)


def several_boards(t, count):
    place = os.path.join(t.base, "machine")

    def status(*args):
        r = subprocess.run([os.path.join(t.bin, "fcmctl"), "--dir", place, "--board", "all", *args], capture_output=True,
                           text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
        return r.returncode, r.stdout, r.stderr

    def rows():
        """{board: the columns of its line}"""
        return {int(line.split()[0]): line.split(None, 8) for line in status("status")[1].splitlines()
                if re.match(r" *\d+ +[A-Z]+ ", line)}
    code, _, err = status("status")
    t.check("no board: exit 3, and where it has looked", code == 3 and place in err, (code, err))
    stations = [t.station(f"machine/{n}") for n in range(count)]  # only to ask them
    try:
        for n in range(count):
            code, _, err = emulator(t, "start", "--board", str(n), "--dir", os.path.join(place, str(n)))
            t.equal(f"board {n} starts", (code, err), (0, ""))
        for st in stations:
            st.wait_for("no board loses data", lambda st=st: st.word() != "RED", 60)
        found = rows()
        t.equal("a line for each", sorted(found), list(range(count)))
        for n, row in found.items():
            t.check(f"board {n}: its word, its links and modules", row[1] in ("WELL", "ATTENTION") and
                    row[2:6] == ["4/4", "up", "24/24", "on"], row)
        code, out, _ = status("--json", "status")
        t.equal("all, each with its number", [b["board"] for b in json.loads(out)["boards"]], list(range(count)))
        t.equal("no board is red: exit 0", code, 0)
        say_costs(place, count)
        t.equal("the last is stopped", emulator(t, "stop", "--dir", os.path.join(place, str(count - 1)))[0], 0)
        code, out, _ = status("status")
        t.check("exit 3, and what to type", code == 3 and f"-> {t.bin}/fcmctl --dir {place}/{count - 1} status" in out,
                (code, out))
        found = rows()
        t.check("it does not run; the others do", "RED" in found[count - 1] and "not running" in out and
                all(found[n][1] != "RED" for n in range(count - 1)), out)
    finally:
        for n in range(count):
            emulator(t, "stop", "--dir", os.path.join(place, str(n)))
    for args, word in ((("set", "floor1.om0.hv", "1390"), "one board"), (("--socket", "x", "status"), "itself")):
        code, _, err = status(*args)
        t.check(f"{args[0]}: refused", code == 2 and word in err, (code, err))


def say_costs(place, count):
    """For the manual: CPU and memory of each board's daemon."""
    pids = []
    for n in range(count):
        with open(os.path.join(place, f"{n}.lock")) as f:
            pids.append(daemon_of(int(f.read())))

    def seconds(pid):
        with open(f"/proc/{pid}/stat") as f:
            return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")
    before, began = [seconds(p) for p in pids], time.monotonic()
    time.sleep(8)
    took = time.monotonic() - began
    for n, (pid, then) in enumerate(zip(pids, before)):
        with open(f"/proc/{pid}/status") as f:
            own = re.search(r"RssAnon:\s+(\d+) kB", f.read())
        print(f"  board {n}: its daemon takes {(seconds(pid) - then) / took:.2f} of a core, {int(own[1]) // 1024} MB")


def ports(t):
    """beside a real station, which may be stopped, those of the manual are not taken"""
    etc = os.path.join(t.base, "etc")
    os.mkdir(etc)
    with open(os.path.join(etc, "notify-3.conf"), "w"):
        pass
    t.equal("no station", [emu.has_stations(d) for d in (etc, etc + "/none")], [False, False])
    with open(os.path.join(etc, "board-3.conf"), "w"):
        pass
    t.equal("a station", emu.has_stations(etc), True)
    args = emu.options(["run", "--dir", os.path.join(t.base, "training"), "--board", "7"])
    kept, emu.STATIONS = emu.STATIONS, etc
    try:
        taken = [int(e.rsplit(":", 1)[1]) for e in (emu.Training(args).reserved, emu.Training(args).monitor)]
    finally:
        emu.STATIONS = kept
    t.check("its ports are others", all(p >= 15700 for p in taken), taken)


def links(t):
    """no link is followed, and root starts nothing in the directory of another user"""
    where, victim = os.path.join(t.base, "training"), os.path.join(t.base, "victim")
    for end in (".lock", ".log"):
        with open(victim, "w") as f:
            f.write("kept")
        os.symlink(victim, where + end)
        code, _, err = emulator(t, "start", "--dir", where)
        with open(victim) as f:
            t.check(f"{end} is a link: refused", code == 1 and f.read() == "kept", (code, err))
        os.unlink(where + end)
    if os.geteuid() == 0:
        foreign = os.path.join(t.base, "foreign")
        os.mkdir(foreign)
        os.chown(foreign, 4243, -1)
        code, _, err = emulator(t, "run", "--dir", os.path.join(foreign, "0"))
        t.check("another user's directory: refused", code == 1 and "another user" in err and not os.listdir(foreign),
                (code, err))


def what_is_wrong(t):
    """a scenario that is not there; one that is: its fault comes; the list"""
    at = ["--dir", os.path.join(t.base, "training")]
    code, _, err = emulator(t, "start", "--scenario", "nonsense", *at)
    t.check("an unknown scenario: exit 1, and where the list is",
            code == 1 and "no scenario nonsense" in err, (code, err))
    code, out, _ = emulator(t, "scenarios")
    t.check("the scenarios are listed", code == 0 and re.search(r"(?m)^shift +\S", out), out)
    code, _, err = emulator(t, "status", *at)
    t.check("status without a station: exit 1, and what to type", code == 1 and "emulator start" in err, (code, err))
    st = t.station("training")
    t.equal("start with one: exit 0", emulator(t, "start", "--scenario", "unplugged", *at)[0], 0)
    try:
        st.wait_for("the fibre is out", lambda: "link0" in [o["object"] for o in st.seen(cleared=True)
                                                            if o["code"] == "link-dark"], 60)
    finally:
        t.equal("stop: exit 0", emulator(t, "stop", *at)[0], 0)


if __name__ == "__main__":
    harness.main([a_station, installed, all_boards, four_boards, ports, links, what_is_wrong])
