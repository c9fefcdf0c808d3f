#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys on the data: a key opens one door, for one name in one group; who has none, another's or an old one gets nothing and
takes nothing, and the station's own consumers lose nothing by it."""
import os
import subprocess
import sys
import time

import zmq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from keys import Keys, secret_of  # noqa: E402
from station import free_port  # noqa: E402

sys.path[:0] = [os.path.join(harness.ROOT, "schemas"), os.path.join(harness.ROOT, "daemon", "consumer")]
import fcmdata  # noqa: E402

CONSUMERS = ("trigger-1", "trigger"), ("acoustic-1", "acoustic")


class Locked(Keys):
    """A station that asks for keys, and its two consumers with theirs."""

    def __init__(self, t, **kwargs):
        super().__init__(t.station(**kwargs))
        for name, group in CONSUMERS:
            self.add(name, f"consumer:{group}")
        self.add("display", "monitor")
        self.write_list()
        self.st.config += ["[data]", "curve = yes"]

    def start(self):
        self.st.start(consumers=False)
        for name, group in CONSUMERS:
            self.consumer(name, group)
        self.st.wait_ready()
        return self

    def options(self, file, server=None):
        return "--server-key", server or self.server, "--key-file", self.file(file)

    def consumer(self, name, group, file=None):
        return self.st.start_consumer(name, group, *self.options(file or name))

    def refused(self, *args, seconds=20):
        """What fcm-consumer says with these arguments, which must not become a consumer: (exit, errors, blocks)."""
        r = subprocess.run([self.st.program("fcm-consumer"), "--seconds", str(seconds), *args], capture_output=True, text=True,
                           timeout=120, check=False)
        return r.returncode, r.stderr, r.stdout

    def dealer(self, file, identity=None):
        s = zmq.Context.instance().socket(zmq.DEALER)
        s.linger, s.rcvtimeo, s.sndtimeo = 0, 5000, 1000
        if identity:
            s.setsockopt(zmq.IDENTITY, identity)
        secret = secret_of(self.file(file))
        s.curve_secretkey, s.curve_publickey, s.curve_serverkey = secret, zmq.curve_public(secret), self.server.encode()
        s.connect(self.st.reserved)
        return s

    def members(self):
        """By name; who has gone before another of his name is left out."""
        return {m["member"]: m for m in sorted(self.st.ask("consumer", "list")["members"], key=lambda m: m["alive"])}

    def event(self, code, word):
        return [e for e in self.st.ask("event", "list", "--limit", "100")["events"]
                if e["code"] == code and word in e["text"] + e["object"]]


def said(s):
    """The first answer that is neither a block nor a sign of life."""
    for _ in range(5000):
        try:
            parts = s.recv_multipart()
        except zmq.Again:
            return [None]
        if parts[0] not in (b"BLOCK", b"ALIVE"):
            return parts
    return [None]


def who_may_not(t):
    """without a key, with an unknown one, another door's, another name or group, another server: nothing, and it is told"""
    n = Locked(t, load="quiet")
    n.add("mallory", "consumer:trigger", listed=False)
    n.start()
    st = n.st
    status = st.status()
    t.equal("status and info say the daemon's key", (status["data"]["public_key"],
                                                     st.request("info")["result"]["public_key"]), (n.server,) * 2)
    t.check("fcmctl status, too", f"encrypted, its key {n.server}" in st.ctl("status", "-v")[1], st.ctl("status", "-v"))
    at = "--endpoint", st.reserved, "--name"
    for what, args, word in (
            ("no key", (*at, "trigger-2", "--group", "trigger", "--seconds", "20"), None),
            ("a key that is not in the list", (*at, "mallory", "--group", "trigger", *n.options("mallory")), "key-refused"),
            ("a monitor's key at the reserved door", (*at, "display", "--group", "trigger", *n.options("display")), "key-refused"),
            ("another name", (*at, "trigger-2", "--group", "trigger", *n.options("trigger-1")), "not-your-name"),
            ("the name of a living member", (*at, "trigger-1", "--group", "trigger", *n.options("acoustic-1")),
             "not-your-name"),
            ("another group", (*at, "trigger-1", "--group", "acoustic", *n.options("trigger-1")), "not-your-name"),
            ("a consumer's key at the monitors' door", ("--monitor", st.monitor, *n.options("trigger-1")), "key-refused"),
            ("no key at the monitors' door", ("--monitor", st.monitor), None)):
        code, err, out = n.refused(*args, seconds=4)
        # Without a key the end of the connection may come before the word why.
        t.check(f"{what}: refused", '"blocks":0,' in out and (code == 1 and word in err if word else
                "this daemon encrypts" in err or '"failed_handshakes":0,' not in out), (code, err, out))
    code, err, out = n.refused(*at, "trigger-1", "--group", "trigger", *n.options("trigger-1", server=zmq.curve_keypair()[0]
                                                                                .decode()), seconds=3)
    t.check("another server's key: this daemon is not talked to", '"blocks":0,' in out and '"failed_handshakes":0,' not in out,
            (code, err, out))
    with open(n.file("loose"), "w") as f:
        f.write("secret " + "0" * 40 + "\n")
    os.chmod(n.file("loose"), 0o644)
    code, err, _ = n.refused(*at, "trigger-2", "--group", "trigger", *n.options("loose"))
    t.check("a key file that others may read: not used", code == 1 and "Permission denied" in err, (code, err))
    st.wait_for("events", lambda: n.event("data-refused", "reserved") and n.event("data-refused", "monitors"))
    # A connection that ended before it was looked at is from "somewhere".
    t.check("an event says from where and why", all(
        ("127.0.0.1" in e["text"] or "somewhere" in e["text"]) and any(x in e["text"] for x in ("allow list", "encrypt", "public key"))
        for door in ("reserved", "monitors") for e in n.event("data-refused", door)[:1]), n.event("data-refused", ""))
    code, out, err = st.ctl("data", "tail", "--count", "3")
    t.check("fcmctl data tail says that it needs a key", code == 1 and "--key FILE" in err, (code, out, err))
    code, out, err = st.ctl("data", "tail", "--count", "3", "--key", n.file("trigger-1"))
    t.check("and with a consumer's that it is not let in", code == 1 and "refused this key" in err,
            (code, out, err))
    code, out, err = st.ctl("data", "tail", "--count", "3", "--key", n.file("display"))
    t.check("with a monitor's it shows data", code == 0 and len(out.splitlines()) >= 3, (code, out, err))
    t.equal("the members are those with their keys", sorted(n.members()), ["acoustic-1", "trigger-1"])
    t.account(st)


def python_too(t):
    """the Python module: a monitor with its key sees data, with none or another's it is told"""
    n = Locked(t, load="quiet").start()
    st = n.st
    with fcmdata.Monitor(st.monitor, topics=["pmt."], server_key=n.server, key_file=n.file("display")) as data:
        t.check("data come", data.receive(20) is not None, data.stats)
    for what, keys in (("none", {}), ("a consumer's", {"server_key": n.server, "key_file": n.file("trigger-1")})):
        with fcmdata.Monitor(st.monitor, **keys) as data:
            try:
                block = data.receive(3)
                found = f"{block} {data.stats}"
                refused = block is None and data.stats["failed_handshakes"] > 0 and not keys
            except fcmdata.Refused as e:
                found, refused = str(e), True
        t.check(f"with {what}: refused", refused, found)
    for what, keys, error in (("one without the other", {"server_key": n.server}, ValueError),
                              ("no key in the file", {"server_key": n.server, "key_file": st.path("allow")}, Exception)):
        try:
            fcmdata.Monitor(st.monitor, **keys)
            t.check(what, False)
        except error as e:
            t.check(f"{what}: an error", bool(str(e)), e)
    t.account(st)


def thief(t):
    """the routing id of a dead member, with another's valid key: its ACKs count for nobody, nothing is lost"""
    n = Locked(t, load="quiet")
    n.start()
    st = n.st
    st.consumers["trigger-1"].end()
    victim = n.dealer("trigger-1", b"known")
    victim.send_multipart([b"HELLO", b'{"protocol":1,"name":"trigger-1","group":"trigger","credit":512}'])
    t.equal("a member with a routing id that somebody knows", said(victim)[0], b"WELCOME")
    held = [victim.recv_multipart() for _ in range(30)]
    keys = [fcmdata.Block(*b[2:]).key for b in held if b[0] == b"BLOCK"]
    t.check("it holds blocks", len(keys) > 5, len(held))
    victim.close()
    # While the victim's connection stands, ZeroMQ hears no other of this routing id.
    st.wait_for("its end", lambda: n.members().get("trigger-1", {}).get("alive") is False)
    robber = n.dealer("acoustic-1", b"known")
    before = st.ask("consumer", "list")["groups"][0]
    for body in keys:
        robber.send_multipart([b"ACK", body])
    answer = said(robber)
    t.check("who steals is told that he is none", answer[0] == b"ERROR" and b"unknown-member" in answer[1], answer)
    robber.send_multipart([b"HELLO", b'{"protocol":1,"name":"trigger-1","group":"trigger","credit":512}'])
    answer = said(robber)
    while answer[0] and b"unknown-member" in answer[1]:
        answer = said(robber)
    t.check("nor can he be", answer[0] == b"ERROR" and b"not-your-name" in answer[1], answer)
    after = st.ask("consumer", "list")["groups"][0]
    t.equal("nothing was delivered by it", after["acknowledged"], before["acknowledged"])
    robber.close()
    n.consumer("trigger-1", "trigger")
    t.account(st)


def key_rolled_over(t):
    """a consumer's key is changed while data flow: nothing is lost; with the old one nobody comes in any more"""
    n = Locked(t, load="quiet", depth_ms=8000)  # a busy machine may hand over a second at once
    n.start()
    st = n.st
    n.add("trigger-1", "consumer:trigger", file="trigger-1-new")
    n.write_list()
    n.reload()
    st.wait_for("a reload", lambda: "4 keys in" in open(st.path("daemon.log")).read())
    time.sleep(1)
    st.consumers["trigger-1"].end()
    st.wait_for("the old one has left", lambda: not n.members()["trigger-1"]["alive"])
    n.consumer("trigger-1", "trigger", file="trigger-1-new")
    st.wait_for("the new key is a member's", lambda: n.members()["trigger-1"]["alive"])
    del n.lines["trigger-1"]
    n.write_list()
    n.reload()
    st.wait_for("a reload", lambda: "3 keys in" in open(st.path("daemon.log")).read().split("4 keys in")[1])
    code, err, _ = n.refused("--endpoint", st.reserved, "--name", "trigger-1", "--group", "trigger",
                             *n.options("trigger-1"))
    t.check("the old key is refused", code == 1 and "key-refused" in err, (code, err))
    t.check("the member with the new one is untouched", n.members()["trigger-1"]["alive"], n.members())
    ledger = t.account(st)
    t.equal("nothing of the trigger's was lost by it",
            [x for x in ledger["losses"] if x["group"] == "trigger"], [])


def key_taken_out(t):
    """who is gone from the list is gone at once, member and monitor; the others stay, or come back"""
    n = Locked(t, load="quiet")
    n.add("trigger-2", "consumer:trigger")
    n.add("wall", "monitor")
    n.write_list()
    n.start()
    st = n.st
    second = n.consumer("trigger-2", "trigger")
    st.wait_for("a second member", lambda: n.members().get("trigger-2", {}).get("alive"))
    with fcmdata.Monitor(st.monitor, topics=["pmt."], server_key=n.server, key_file=n.file("display")) as stays, \
            fcmdata.Monitor(st.monitor, topics=["pmt."], server_key=n.server, key_file=n.file("wall")) as goes:
        t.check("both monitors get data", stays.receive(20) and goes.receive(20))
        del n.lines["trigger-2"], n.lines["wall"]
        n.write_list()
        n.reload()
        st.wait_for("the member is told and ends", lambda: not second.alive())
        t.check("it says why", "key-refused" in second.tail(), second.tail())
        try:
            end = time.monotonic() + 20
            while time.monotonic() < end:
                goes.receive(1)
            t.check("the monitor's key is refused", False, goes.stats)
        except fcmdata.Refused as e:
            t.check("the monitor's key is refused", "key-refused" in str(e), e)
        connections = stays.stats["connections"]
        blocks = stays.stats["blocks"]
        end = time.monotonic() + 20
        while time.monotonic() < end and (stays.stats["connections"] < 2 or stays.stats["blocks"] < blocks + 50):
            stays.receive(1)
        t.check("the other monitor is back, with data", stays.stats["blocks"] >= blocks + 50, (connections, stays.stats))
    t.check("the first member stays", n.members()["trigger-1"]["alive"], n.members())
    n.write_list("no line\n")
    n.reload()
    st.wait_for("an event", lambda: n.event("network-allow-list", ""))
    t.check("with a mistake in it the list before holds", n.members()["trigger-1"]["alive"], n.members())
    del st.consumers["trigger-2"]
    t.account(st)


def key_taken_out_beside_a_mistake(t):
    """a mistake in the configuration keeps no key in: the allow list is read all the same"""
    n = Locked(t, load="quiet")
    n.add("trigger-2", "consumer:trigger")
    n.write_list()
    n.start()
    st = n.st
    code, out, err = st.ctl("key", "list")
    t.check("fcmctl key list has the consumers' keys", code == 0 and "trigger-2" in out, (code, out, err))
    second = n.consumer("trigger-2", "trigger")
    st.wait_for("a second member", lambda: n.members().get("trigger-2", {}).get("alive"))
    st.config.append("[nonsense]\nkey = 1")
    st.write_config()
    del n.lines["trigger-2"]
    n.write_list()
    n.reload()
    st.wait_for("the reload", lambda: "the configuration stays as before" in st.daemon.tail(50))
    st.wait_for("the key's owner is told and ends", lambda: not second.alive())
    t.check("it says why", "key-refused" in second.tail(), second.tail())
    t.check("the others stay", n.members()["trigger-1"]["alive"] and n.members()["acoustic-1"]["alive"], n.members())
    del st.consumers["trigger-2"]
    t.account(st)


def no_such_group(t):
    """a consumer's key for a group that the configuration does not have: it would let nobody in, which is said"""
    n = Locked(t, load="quiet", truth=False)
    n.add("typo-1", "consumer:triger")
    n.write_list()
    n.start()
    st = n.st
    words = "typo-1 is a consumer of group triger, which the configuration does not have"
    t.check("the log warns at the start", words in st.daemon.tail(500), st.daemon.tail(20))
    check = subprocess.run([st.program("fcm-server"), "--board", "0", "--config", st.path("board.conf"), "--check-config"],
                           capture_output=True, text=True, timeout=60, check=False)
    t.check("--check-config says it, and goes on", check.returncode == 0 and words in check.stderr and
            "trigger-1" not in check.stderr, (check.returncode, check.stderr))
    n.lines["typo-1"] = n.lines["typo-1"].replace("triger", "acustic")
    n.write_list()
    n.reload()
    st.wait_for("a reload warns, too", lambda: words.replace("triger", "acustic") in st.daemon.tail(50))
    t.equal("the daemon ends with 0", st.stop(), 0)


def beyond_this_machine(t):
    """an endpoint beyond this machine: not without keys, unless the configuration says that it is insecure"""
    for name, config, code, reason in (
            ("refused", [], 78, False), ("insecure", ["insecure = yes"], 0, True), ("keys", ["curve = yes"], 0, False)):
        keys = Keys(t.station(name=name, load="quiet", truth=False, gpsd=False))
        st = keys.st
        keys.write_list()
        st.reserved = f"tcp://0.0.0.0:{free_port()}"
        st.config += ["[data]", *config]
        st.start_emulator()
        st.write_config()
        check = subprocess.run([st.program("fcm-server"), "--board", "0", "--config", st.path("board.conf"), "--check-config"],
                               capture_output=True, text=True, timeout=60, check=False)
        t.check(f"{name}: --check-config says {code}", check.returncode == code and
                (code == 0 or "curve = yes" in check.stderr), (check.returncode, check.stderr))
        if code:
            continue
        st.start_daemon()
        found = [r for r in st.seen() if r["code"] == "data-open"]
        t.check(f"{name}: status {'warns' if reason else 'is silent'}", bool(found) == reason and
                all(r["severity"] == "warning" and st.reserved in r["text"] for r in found), found)
        t.equal(f"{name}: the daemon ends with 0", st.stop(), 0)


if __name__ == "__main__":
    harness.main([who_may_not, python_too, thief, key_rolled_over, key_taken_out, key_taken_out_beside_a_mistake, no_such_group, beyond_this_machine])
