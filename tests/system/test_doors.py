#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's ports between two daemons, and while another program has them; which failures of the start systemd does
not repeat. systemd itself is in `make check-vm BOOT=systemd`."""
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import station  # noqa: E402
from unit_manager import Manager  # noqa: E402

SQUATTER = """
import socket, sys, time
# As a local user would: take the ports as soon as they are free; say which it got.
while True:
    for port in map(int, sys.argv[1:]):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
            s.listen(16)
            print(port, flush=True)
            time.sleep(1000)
        except OSError:
            s.close()
"""


def ports_of(st):
    return {"reserved": int(st.reserved.rsplit(":", 1)[1]), "monitor": int(st.monitor.rsplit(":", 1)[1]),
            "control": st.network_port, **{f"feed{link}": st.feed_port + link for link in range(4)}}


def with_every_door(t):
    """A station with every listening socket that there may be; its configuration is written."""
    st = t.station(load="quiet", depth_ms=4000)  # a busy machine may start a daemon later than 2 s
    st.feed_port, st.network_port = station.free_base_port(), station.free_port()
    for words in (("server", st.path("server.key")), ("make", "somebody", "reader", st.path("somebody.key"))):
        made = subprocess.run([st.program("fcmctl"), "--json", "key", *words], capture_output=True, text=True, check=True,
                              stdin=subprocess.DEVNULL).stdout
    with open(st.path("allow"), "w") as f:
        f.write(json.loads(made)["line"] + "\n")
    st.config += ["[feed]", "enabled = yes", f"base_port = {st.feed_port}",
                  "[network]", f"endpoint = tcp://127.0.0.1:{st.network_port}", f"key_file = {st.path('server.key')}",
                  f"allow_list = {st.path('allow')}"]
    st.start_emulator()
    st.start_gpsd()
    st.write_config()
    return st


def reasons(st, code):
    return [r for r in st.seen() if r["code"] == code]


def kept(t):
    """killed ten times while a local user wants the ports: he never gets one, who connects meanwhile waits, nothing is lost"""
    st = with_every_door(t)
    manager = Manager(st)
    squatter = None
    try:
        manager.start()
        for name, group in (("trigger-1", "trigger"), ("acoustic-1", "acoustic")):
            st.start_consumer(name, group)
        st.wait_ready()
        ports = ports_of(st)
        t.equal("every listening socket is kept", sorted(manager.kept), sorted(ports))
        squatter = subprocess.Popen([sys.executable, "-c", SQUATTER, *map(str, ports.values())], stdout=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL)
        for n in range(10):
            st.daemon.kill9()
            with socket.create_connection(("127.0.0.1", ports["reserved"])) as waiting:
                time.sleep(0.1)
                manager.start()
                waiting.settimeout(20)
                t.check(f"{n}: who came between the two daemons is greeted by the next", waiting.recv(1) == b"\xff")
            st.wait_for("the rings to be emptied", lambda: all(
                4 * l["ring"]["used"] < l["ring"]["depth"] for l in st.status()["links"]), 20)
        os.set_blocking(squatter.stdout.fileno(), False)
        t.equal("the local user never got a port", (squatter.poll(), squatter.stdout.read()), (None, None))
        t.equal("each was stored once", {n: manager.said_of(n) for n in ports}, {n: ["FDSTORE"] for n in ports})
        t.equal("no door is shut", reasons(st, "door-not-open"), [])
        st.wait_ready()
    finally:
        if squatter:
            squatter.kill()
            squatter.wait()
        manager.close()
    t.account(st)


def another_endpoint(t):
    """the configuration has another port, and no feed any more: what was kept is not used, and is given up"""
    st = with_every_door(t)
    manager = Manager(st)
    try:
        manager.start()
        old = ports_of(st)
        st.daemon.kill9()
        st.reserved = f"tcp://127.0.0.1:{station.free_port()}"
        st.config = [line for line in st.config if line != "enabled = yes"]
        st.write_config()
        manager.start()
        new = ports_of(st)["reserved"]
        gone = ("reserved", "feed0", "feed1", "feed2", "feed3")
        st.wait_for("the old ones to be given up", lambda: all(station.is_free(old[n]) for n in gone), 10)
        t.check("the new one is listened to", not station.is_free(new))
        t.equal("and kept in the place of the old one", manager.said_of("reserved"), ["FDSTORE", "FDSTOREREMOVE", "FDSTORE"])
        t.equal("as the others still are", sorted(manager.kept), ["control", "monitor", "reserved"])
        t.check("on the others the daemon listens still", not station.is_free(old["monitor"]))
        st.start_consumer("trigger-1", "trigger")
        st.wait_for("a consumer there", lambda: any(m["alive"] for m in st.ask("consumer", "list")["members"]), 20)
        t.equal("the daemon ends with 0", st.stop(), 0)
    finally:
        manager.close()


def squatter(t):
    """ports that are another program's at the start: the daemon runs and says so, and has them when they are free"""
    st = with_every_door(t)
    ports = ports_of(st)
    taken = []
    for name in ("reserved", "monitor", "control", "feed2"):
        s = socket.create_server(("127.0.0.1", ports[name]))
        taken.append(s)
    st.start_daemon()
    st.start_consumer("trigger-1", "trigger")
    st.start_consumer("acoustic-1", "acoustic")
    found = st.status()
    why = [r for r in harness.observations(found) if r["code"] == "door-not-open"]
    t.check("status says which, why, what to do", len(why) == 1 and why[0]["severity"] == "red" and all(
        str(ports[n]) in why[0]["text"] for n in ("reserved", "monitor", "control", "feed2")) and
        str(ports["feed1"]) not in why[0]["text"] and "in use" in why[0]["text"] and "ss -ltnp" in why[0]["action"], why)
    st.wait_for("the log says it", lambda: "cannot listen at" in st.daemon.tail(200), 10)
    t.check("the other floors' ports are open", not station.is_free(ports["feed1"]))
    st.wait_ready()
    t.equal("a fast ramp", st.ctl("set", "floor1.om0.ramp", "500", "--force")[0], 0)
    code, out, err = st.ctl("safe", "--yes", "floor1.om0")
    t.check("slow control works", code == 0, (code, out, err))
    for s in taken:
        s.close()
    st.wait_for("consumers in their groups", lambda: sorted(m["member"] for m in st.ask("consumer", "list")["members"]
                                                            if m["alive"]) == ["acoustic-1", "trigger-1"], 30)
    st.wait_for("the reason is gone", lambda: not reasons(st, "door-not-open"), 20)
    t.check("all of them are listened to", not any(station.is_free(p) for p in ports.values()))
    st.wait_for("events of begin and end", lambda: [e["severity"] for e in st.ask("event", "list", "--limit", "100")["events"]
                                                    if e["code"] == "door-not-open"] == ["info", "red"], 10)
    t.account(st)


def exit_codes(t):
    """78, which systemd does not restart, for what only another configuration can mend; else 1"""
    st = t.station(load="quiet", gpsd=False)
    st.start_emulator()
    st.write_config()
    with open(st.path("empty.conf"), "w") as f:
        f.write("nonsense\n")

    def ends(*values):
        args = [a for v in values for a in ("--set", v)]
        r = subprocess.run([st.program("fcm-server"), "--config", st.path("board.conf"), *args], capture_output=True,
                           text=True, timeout=60, check=False)
        return r.returncode, r.stderr
    for what, code, *values in (
            ("a value out of range", 78, "data.block_frames=7"),
            ("no dictionary", 78, "slowctl.dictionary=/nowhere"),
            ("a dictionary with mistakes", 78, f"slowctl.dictionary={st.path('empty.conf')}"),
            ("no such group", 78, "control.socket_group=nosuchgroup"),
            ("no directory for the socket", 78, "control.socket=/nowhere/control.sock"),
            ("an endpoint that is none", 78, "data.reserved_endpoint=tcp://no.such.interface:5710"),
            ("no key", 78, "network.endpoint=tcp://127.0.0.1:5999", "network.key_file=/nowhere",
             f"network.allow_list={st.path('empty.conf')}"),
            ("no board", 1, "board.device=unix:/nowhere")):
        got, err = ends(*values)
        t.check(f"{what}: {code}", got == code and err, (got, err))
    st.start_daemon()
    got, err = ends()
    t.check("another daemon runs: 1", got == 1 and "another daemon answers there; stop it" in err, (got, err))
    t.equal("which goes on", st.stop(), 0)


if __name__ == "__main__":
    harness.main([kept, another_endpoint, squatter, exit_codes])
