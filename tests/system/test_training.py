#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcm-server-emulator: a training station in one command: started, used, its daemon killed, stopped, started twice."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
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


def daemon_of(pid):
    """The fcm-server among the children of a process."""
    for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True).stdout.split():
        with open(f"/proc/{child}/comm") as f:
            if f.read().strip() == "fcm-server":
                return int(child)
    raise AssertionError(f"{pid} has no fcm-server")


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
    harness.main([a_station, ports, links, what_is_wrong])
