#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Control over the network: who has no key, the wrong one, or one that may not, is refused, counted and written
down; whoever sends garbage, too much or too often disturbs nobody. Keys are made by fcmctl key, the good client is
schemas/datamanager_example.py."""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time

import zmq

import harness
from keys import Keys, secret_of
from raw_peer import Curve, number, pour, resident_mb
from station import free_port

EXAMPLE = os.path.join(harness.ROOT, "schemas", "datamanager_example.py")
# Must read as dangerous in schemas/parameters.conf: the first check of `roles` holds it against the daemon.
DANGEROUS = "floor1.fcm.reset"


class Net(Keys):
    """A station whose control is on the network, and its keys."""

    def __init__(self, t, name=None, rate=50, burst=200, **kwargs):
        super().__init__(t.station(load="quiet", truth=False, **kwargs))
        self.t = t
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        for n, role in (("grafana", "reader"), ("datamanager", "operator"), ("anna", "expert")):
            self.add(n, role)
        self.write_list()
        self.st.config += [f"endpoint = {self.endpoint}", f"rate = {rate}", f"burst = {burst}",
                           "[slowctl]", "reply_timeout_ms = 20000"]  # a busy host's floors answer late, not never

    def start(self):
        self.st.start()
        self.st.wait_ready()
        return self

    def client(self, name, server=None):
        """A DEALER with that key; None: without any."""
        s = zmq.Context.instance().socket(zmq.DEALER)
        s.linger, s.sndtimeo = 0, 5000
        if name:
            secret = secret_of(self.st.path(name + ".key"))
            s.curve_secretkey, s.curve_publickey = secret, zmq.curve_public(secret)
            s.curve_serverkey = (server or self.server).encode()
        s.connect(self.endpoint)
        return s

    def counts(self):
        return self.st.request("status")["result"]["control"]

    def wait_count(self, what, condition, timeout=30):
        try:
            self.st.wait_for(what, lambda: condition(self.counts()), timeout)
        except Exception as e:  # shown by the check
            return f"{e}: {self.counts()}"
        return ""

    def events(self, code):
        return [e for e in self.st.ask("event", "list", "--limit", "100")["events"] if e["code"] == code]

    def wait_event(self, code, word):
        """Events reach the database a moment later, and are told once a minute."""
        try:
            self.st.wait_for(code, lambda: any(word in e["text"] + e["object"] for e in self.events(code)), 80, 0.5)
        except Exception as e:
            return f"{e}: {self.events(code)}"
        return ""

    def example(self, key, *args, server="server.key.pub"):
        r = subprocess.run(["/usr/bin/python3", EXAMPLE, "--endpoint", self.endpoint, "--key", self.st.path(key + ".key"),
                            "--server-key", self.st.path(server), *args], capture_output=True, text=True, timeout=120,
                           check=False)
        return r.returncode, r.stdout, r.stderr


def ask(s, op, timeout=20, raw=None, **args):
    """The last answer; None: there is none."""
    try:
        s.send(raw if raw is not None else json.dumps({"v": 2, "id": "7", "op": op, "args": args}).encode())
    except zmq.Again:  # it has been refused, and libzmq does not try again
        return None
    return last(s, timeout)


def last(s, timeout=20):
    while s.poll(timeout * 1000):
        answer = json.loads(s.recv())
        if "ok" in answer:
            return answer
    return None


def is_refused(answer, detail):
    return bool(answer) and not answer["ok"] and answer["error"]["code"] == "refused" and \
        answer["error"].get("detail") == detail


def example(t):
    """the Python example: asks, sets a threshold, is answered the same again; with wrong keys it gets nothing"""
    n = Net(t).start()
    code, out, err = n.example("grafana")
    t.check("a reader's key gets the status", code in (0, 1) and "board 0: " in out, (code, out, err))
    t.check("who has logged in is in the log, with role and address", "key grafana (reader, " in n.st.daemon.tail(50) and
            "has logged in from 127.0.0.1\n" in n.st.daemon.tail(50), n.st.daemon.tail(10))
    code, out, err = n.example("datamanager", "--set", "floor1.om1.threshold", "13", "--reason", "run 4", "--client-id", "dm-1",
                               "--timeout", "60")
    t.check("an operator's key sets a threshold, to its end", code == 0 and "DONE" in out, (code, out, err))
    again = n.example("datamanager", "--set", "floor1.om1.threshold", "13", "--client-id", "dm-1", "--timeout", "60")
    t.equal("a repeat with its client id is the same command", again[:2], (code, out))
    command = n.st.ask("command", "list", "--limit", "1")["commands"][0]
    t.equal("the journal knows whose key, and that no user of this machine did it",
            [command[k] for k in ("who", "origin", "uid", "pid", "state", "reason", "new")],
            ["datamanager", "curve:datamanager", None, None, "DONE", "run 4", 13])
    code, out, err = n.example("grafana", "--set", "floor1.om1.threshold", "14")
    t.check("a reader's key sets nothing", code == 1 and "that is for operators" in err, (code, out, err))
    n.key("server", n.st.path("other.key"))
    code, out, err = n.example("datamanager", "--timeout", "3", server="other.key.pub")
    t.check("with another server's key there is no answer", code == 3 and "no word" in err, (code, out, err))
    executed = n.st.ask("command", "list", "--state", "DONE", "--limit", "100")["commands"]
    t.equal("one command was done, once", [c["parameter"] for c in executed], ["tower1.floor1.om1.threshold"])
    t.equal("the daemon ends with 0", n.st.stop(), 0)


def strangers(t):
    """no key, an unknown key, another server's key, no ZeroMQ at all: refused, counted, told by an event"""
    n = Net(t).start()
    n.add("mallory", "expert", listed=False)
    before = n.counts()["network"]
    with n.client("mallory") as s:
        t.check("a key that is not in the list gets no answer", ask(s, "status", 3) is None)
    t.check("it is counted as refused by its key",
            (why := n.wait_count("refused_key", lambda c: c["network"]["refused_key"] > before["refused_key"])) == "", why)
    secret = secret_of(n.st.path("mallory.key"))
    public = zmq.curve_public(secret).decode()
    t.check("an event has its address and the beginning of its key",
            (why := n.wait_event("network-refused", f"from 127.0.0.1 was refused: its key is not in the allow list, it "
                                                    f"begins with {public[:8]}")) == "", why)
    t.check("not more of the key than that", public not in json.dumps(n.events("network-refused")))
    for what, make in (("without encryption", lambda: n.client(None)),
                       ("with another server's key", lambda: n.client("anna", server=public))):
        then = n.counts()["network"]["refused"]
        with make() as s:
            t.check(f"{what}: no answer", ask(s, "status", 2) is None)
        t.check(f"{what}: counted", (why := n.wait_count("refused", lambda c: c["network"]["refused"] > then)) == "", why)
    # Nobody may knock while this is counted: its peers have gone.
    n.st.wait_for("the last ones have gone", lambda: n.counts()["network"]["connections"] == 0, 30)
    time.sleep(10)  # those of which libzmq said nothing count after 8 s (BACK_S in daemon/net/door.c)
    then = n.counts()["network"]["refused"]
    host, port = n.endpoint[6:].split(":")
    for i in range(20):
        with socket.create_connection((host, int(port))) as s:
            s.sendall([b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, os.urandom(500), b""][i % 4])
    t.check("20 who speak no ZeroMQ: counted", (why := n.wait_count(
        "refused", lambda c: c["network"]["refused"] == then + 20)) == "", why)
    with n.client("grafana") as s:
        t.check("who has a key is served all the time", ask(s, "status")["ok"])
    code, out, err = n.st.ctl("status", "-v")
    t.check("fcmctl status tells of the refused", "network" in out and "refused" in out, out)
    log = n.st.daemon.tail(100000)
    t.check("no secret is in the log", not any(
        secret_of(n.st.path(k + ".key")).decode() in log for k in ("server", "mallory", "anna", "grafana")))
    t.equal("the daemon ends with 0", n.st.stop(), 0)


def roles(t):
    """a reader that writes, an operator that does something dangerous: refused, counted, journaled"""
    n = Net(t).start()
    kinds = {p["name"]: p["danger"] for p in n.st.request("param.list")["result"]["parameters"]}
    t.equal("what this test calls dangerous is", kinds.get("tower1." + DANGEROUS), "dangerous")
    reader, operator, expert = n.client("grafana"), n.client("datamanager"), n.client("anna")
    refused = [
        (reader, "param.set", {"name": "floor1.om0.hv", "value": 1300, "reason": "x"}),
        (reader, "param.action", {"name": "floor1.om0.reset"}), (reader, "link.align", {"link": 0}),
        (reader, "run.start", {}), (reader, "record.start", {}), (reader, "phase.accept", {"link": 0, "reason": "x"}),
        (reader, "command.cancel", {"command": 1}),
        (operator, "param.action", {"name": DANGEROUS, "yes": True}),
        (operator, "param.set", {"name": "floor1.om0.hv", "value": 1850, "force": True}),
        (operator, "param.set", {"name": "floor1.om0.power", "value": "on", "yes": True}),
        (operator, "param.action", {"name": "floor1.om0.power_cycle", "yes": True}),
        (operator, "serial.open", {"floor": 1, "channel": 1}), (operator, "snapshot.remove", {"name": "x"}),
        (operator, "phase.accept", {"link": 0, "reason": "x"}),
        (operator, "phase.soak", {"link": 0, "trials": 1, "interval_s": 0, "command": "align"}),
    ]
    for s, op, args in refused:
        answer = ask(s, op, **args)
        t.check(f"{'reader' if s is reader else 'operator'}: {op} {args}: refused", is_refused(answer, "role") and
                answer["id"] == "7" and answer["error"]["hint"], answer)
    t.equal("all are counted", n.counts()["refused_role"], len(refused))
    # Rows that nobody waits for are written within a moment.
    n.st.wait_for("the journal's rows", lambda: len(n.st.ask("command", "list", "--limit", "50")["commands"]) >= 6)
    rows = [(c["who"], c["origin"], c["parameter"], c["state"]) for c in n.st.ask("command", "list", "--limit", "50")["commands"]]
    t.equal("commands are in the journal, as refused", sorted(rows), sorted([
        ("grafana", "curve:grafana", "tower1.floor1.om0.hv", "REFUSED"),
        ("grafana", "curve:grafana", "tower1.floor1.om0.reset", "REFUSED"),
        ("datamanager", "curve:datamanager", "tower1." + DANGEROUS, "REFUSED"),
        ("datamanager", "curve:datamanager", "tower1.floor1.om0.power", "REFUSED"),
        ("datamanager", "curve:datamanager", "tower1.floor1.om0.power_cycle", "REFUSED"),
        ("datamanager", "curve:datamanager", "tower1.floor1.om0.hv", "REFUSED")]))
    t.check("an event tells of it", (why := n.wait_event("access-refused", "curve:")) == "", why)
    for op in ("info", "status", "link.list", "param.list", "command.list", "event.list", "ledger.show", "run.show"):
        answer = ask(reader, op)
        t.check(f"a reader may {op}", answer and (answer["ok"] or answer["error"].get("detail") == "too-much"), answer)
    t.check("an operator may align a link", (a := ask(operator, "link.align", link=1)) and a["ok"], a)
    t.check("an operator may start and stop a run", (a := ask(operator, "run.start")) and a["ok"] and
            (a := ask(operator, "run.stop")) and a["ok"], a)
    t.check("an expert still has to say yes", (a := ask(expert, "param.action", name=DANGEROUS)) and
            not a["ok"] and a["error"]["code"] == "needs-yes", a)
    t.check("an expert may beyond the soft limits", (a := ask(expert, "param.set", 60, name="floor1.om1.threshold",
                                                              value=12, force=True)) and a["ok"], a)
    makes_safer(t, operator)
    for s in (reader, operator, expert):
        s.close()
    t.equal("the daemon ends with 0", n.st.stop(), 0)


def makes_safer(t, operator):
    """No expert is waited for: HV within the limits either way, down and off whatever else is said; then not on."""
    for value in (1350, 1380):
        a = ask(operator, "param.set", 60, name="floor2.om1.hv", value=value)
        t.check(f"an operator sets an HV to {value}", a and a["ok"], a)
    a = ask(operator, "param.set", 60, name="floor2.om1.hv", value=1300, force=True)
    t.check("an operator lowers it, with a force that is not needed", a and a["ok"], a)
    rate_is_its_own(t, operator)
    a = ask(operator, "param.set", name="floor2.om1.power", value="off")
    t.check("it still has to say yes to the power off", a and not a["ok"] and a["error"]["code"] == "needs-yes", a)
    a = ask(operator, "param.set", name="floor2.om1.power", value="off", dry_run=True)
    t.check("it may ask what that would do", a and a["ok"], a)
    a = ask(operator, "param.set", 60, name="floor2.om1.power", value="off", yes=True)
    t.check("an operator switches a module off", a and a["ok"] and a["result"]["state"] == "DONE", a)
    a = ask(operator, "param.set", 60, name="floor2.om1.power", value="on", yes=True)
    t.check("and not on again", is_refused(a, "role"), a)
    a = ask(operator, "safe", 60, pattern="floor2.om0", yes=True)
    t.check("an operator makes safe", a and a["ok"] and a["result"]["state"] == "DONE", a)
    a = ask(operator, "incident.ack", names=["nothing/at-all"])
    t.check("incidents are an operator's", a and not a["ok"] and a["error"]["code"] == "usage", a)


def rate_is_its_own(t, operator):
    """Lowering an HV needs no expert; a rate beyond the soft limits does, also together with a lower HV."""
    before = ask(operator, "param.get", names=["floor2.om1.ramp"])["result"]["parameters"][0]["value"]
    for more in ({"dry_run": True}, {}, {"client_id": "fast"}):
        a = ask(operator, "param.set", 60, name="floor2.om1.hv", value=1250, rate=300, force=True, **more)
        t.check(f"an operator's force does not set a rate beyond the soft limits {more}", a and not a["ok"] and
                a["error"]["code"] == "refused" and "soft limits" in a["error"]["message"], a)
    a = ask(operator, "param.get", names=["floor2.om1.ramp", "floor2.om1.hv"])["result"]["parameters"]
    t.check("rate and HV are as they were", a[0]["value"] == before and a[1]["setpoint"] == 1300, a)
    a = ask(operator, "param.set", 60, name="floor2.om1.hv", value=1250, rate=150, force=True)
    t.check("one inside them is set, with a force that is not needed", a and a["ok"] and a["result"]["state"] == "DONE", a)
    a = ask(operator, "param.set", 60, name="floor2.om1.hv", value=0, force=True)
    t.check("and the HV goes down, as ever", a and a["ok"] and a["result"]["state"] == "DONE", a)


def hostile(t):
    """garbage, many frames, 2 MiB, too many a second, nobody reads: answered or cut off, counted, others served"""
    n = Net(t, rate=20, burst=40).start()
    s, other = n.client("datamanager"), n.client("grafana")
    t.check("somebody else is there", ask(other, "info")["ok"])
    garbage = [b"", b"{", b"[]", b"7", os.urandom(1000), b"\0" * 100, b'{"v":1,"v":1}', b"[" * 100000,
               b'{"v":2,"id":"7","op":"info","x":[' + b"[]," * 300000 + b"1]}"]
    for g in garbage:
        answer = ask(s, "", raw=g)
        t.check(f"{g[:20]!r}: usage", answer and not answer["ok"] and answer["error"]["code"] == "usage", answer)
    s.send_multipart([b'{"v":2,"id":"1","op":"info"}', b"more", b"frames"])
    answer = last(s)
    t.check("three frames: usage", answer and answer["error"]["code"] == "usage" and "one frame" in answer["error"]["message"],
            answer)
    t.equal("all are counted", n.counts()["network"]["bad_messages"], len(garbage) + 1)
    answer = ask(s, "", raw=json.dumps({"v": 2, "id": "7", "op": "info", "x": "y" * ((1 << 20) - 60)}).encode())
    t.check("just below 1 MiB is served", answer and answer["ok"], str(answer)[:300])
    size = resident_mb(n.st.daemon.pid)
    with n.client("datamanager") as big:
        watch = big.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        for _ in range(5):
            big.send(b"x" * (2 << 20))
        t.check("2 MiB: the connection is cut off", watch.poll(20000) > 0)
        t.check("2 MiB: no answer", not big.poll(500))
        big.disable_monitor()
    t.check("they were not kept", t.sanitized or resident_mb(n.st.daemon.pid) - size < 32,
            (size, resident_mb(n.st.daemon.pid)))
    # Too often: each is answered, most by a refusal, by their ids.
    time.sleep(3)
    before = n.counts()["network"]["refused_rate"]
    for i in range(300):
        s.send(json.dumps({"v": 2, "id": i, "op": "info"}).encode())
    answers = {}
    while len(answers) < 300 and s.poll(20000):
        a = json.loads(s.recv())
        answers[a["id"]] = a
    slow = [a for a in answers.values() if is_refused(a, "rate")]
    t.equal("300 at once: every one is answered by its id", sorted(answers), list(range(300)))
    t.check("as many as allowed are served, the others told to wait", 40 <= 300 - len(slow) < 250, len(slow))
    t.equal("they are counted", n.counts()["network"]["refused_rate"] - before, len(slow))
    t.check("another key is served meanwhile", ask(other, "info")["ok"])
    time.sleep(2.5)
    t.check("after a rest it is served again", ask(s, "info")["ok"])
    # Asks much and reads nothing: its answers are kept for it up to a limit, then it is cut off.
    with n.client("anna") as deaf:
        deaf.rcvhwm = 1
        watch = deaf.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        for _ in range(40):
            deaf.send(json.dumps({"v": 2, "id": 1, "op": "param.list"}).encode())
        time.sleep(2)
        t.check("somebody who reads nothing costs no memory to speak of",
                t.sanitized or resident_mb(n.st.daemon.pid) - size < 64, (size, resident_mb(n.st.daemon.pid)))
        t.check("and no time", ask(other, "info")["ok"])
        deaf.disable_monitor()
        del watch
    for x in (s, other):
        x.close()
    t.equal("the daemon ends with 0", n.st.stop(), 0)


def crowd(t):
    """more connections than places: those that say nothing are cut off, nobody else notices, and it is counted"""
    n = Net(t).start()
    host, port = n.endpoint[6:].split(":")
    with n.client("grafana") as s:
        t.check("somebody is there", ask(s, "info")["ok"])
        many = [socket.create_connection((host, int(port))) for _ in range(300)]
        t.check("the crowd is counted", (why := n.wait_count("crowded", lambda c: c["network"]["crowded"] >= 250)) == "", why)
        t.check("who was there is served", ask(s, "info")["ok"])
        t.check("so is the Unix socket", n.st.request("info")["ok"])
        for c in many:
            c.close()
        n.st.wait_for("the crowd is gone", lambda: n.counts()["network"]["connections"] <= 2, 30)
        with n.client("datamanager") as late:
            t.check("a new one gets in again", ask(late, "info")["ok"])
        crowd_of_one_key(t, n)
        t.check("who was there is served", ask(s, "info")["ok"])
    t.equal("the daemon ends with 0", n.st.stop(), 0)


def crowd_of_one_key(t, n):
    """As many connections as there may be, from several addresses, all of one key and all served: others still get in."""
    secret, held = secret_of(n.file("datamanager")).decode(), []
    before = n.counts()["network"]["crowded"]
    for i in range(130):
        with contextlib.suppress(OSError):
            c = Curve(n.endpoint, b"DEALER", n.server, secret, source=f"127.0.0.{2 + i % 6}")
            held.append(c)
            c.socket.sendall(c.part(b'{"v":2,"id":1,"op":"info"}', False))
        time.sleep(0.02)  # below the rate of a key
    t.check("those that are too many of a key are counted",
            (why := n.wait_count("crowded", lambda c: c["network"]["crowded"] >= before + 98)) == "", why)
    with n.client("anna") as s:
        t.check("another key gets in", (a := ask(s, "info")) and a["ok"], a)
    for c in held:
        c.socket.close()


def ends(s):
    """Whether the connection ends, whatever comes before."""
    s.settimeout(5)
    try:
        while s.recv(4000):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def reload(t):
    """the allow list is read again: a key that is gone is out at once, a mistake changes nothing"""
    n = Net(t).start()
    with n.client("grafana") as s, n.client("datamanager") as d:
        t.check("two keys are served", ask(s, "info")["ok"] and ask(d, "info")["ok"])
        n.write_list("eve reader short\n")
        n.reload()
        n.st.wait_for("the mistake is told", lambda: "allow:5: " in n.st.daemon.tail(200))
        t.check("a list with a mistake changes nothing", ask(d, "info")["ok"])
        t.check("an event tells of it", (why := n.wait_event("network-allow-list", "mistakes")) == "", why)
        code, out, err = n.st.ctl("key", "list")
        t.check("fcmctl key list says where", code == 1 and "allow:5: the key of eve is no public key" in err, (code, err))
        gone = n.lines.pop("datamanager")
        n.lines["grafana"] = n.lines["grafana"].replace(" reader ", " operator ")
        refused = n.counts()["network"]["refused_key"]
        silent = Curve(n.endpoint, b"DEALER", n.server, secret_of(n.file("datamanager")).decode())
        n.write_list()
        n.reload()
        n.st.wait_for("the list is read", lambda: n.counts()["network"]["keys"] == 2)
        answer = ask(d, "info", 3)
        t.check("the key that is gone is not served", answer is None or is_refused(answer, "key"), answer)
        t.check("nor let in again", (why := n.wait_count(
            "refused_key", lambda c: c["network"]["refused_key"] > refused)) == "", why)
        t.check("another role holds at once", (a := ask(s, "run.start")) and a["ok"], a)
        listed = n.st.ask("key", "list")["keys"]
        t.equal("fcmctl key list has them", [(k["name"], k["role"]) for k in listed],
                [("grafana", "operator"), ("anna", "expert")])
        silent.socket.sendall(silent.part(b'{"v":2,"id":1,"op":"info"}', False))
        t.check("one that had said nothing is cut off with its first word", ends(silent.socket))
        n.lines["datamanager"] = gone
        n.write_list()
        n.reload()
        n.st.wait_for("the list is read", lambda: n.counts()["network"]["keys"] == 3)
        with n.client("datamanager") as again:
            t.check("back in the list, back in", (a := ask(again, "info")) and a["ok"], a)
    t.equal("the daemon ends with 0", n.st.stop(), 0)


def start(t):
    """keys that others may read, lists with mistakes, no key at all: the daemon says which file and what to do"""
    n = Net(t)
    st = n.st
    st.write_config()

    def check_config():
        r = subprocess.run([st.program("fcm-server"), "--check-config", "--config", st.path("board.conf")],
                           capture_output=True, text=True, check=False, timeout=60)
        return r.returncode, r.stderr
    t.equal("well as it is", check_config(), (0, ""))
    os.chmod(st.path("server.key"), 0o640)
    code, err = check_config()
    t.check("a key that others may read is refused", code == 78 and "server.key" in err and "chmod 600" in err, (code, err))
    os.chmod(st.path("server.key"), 0o600)
    n.write_list(f"anna reader {n.add('new', 'reader', False)['public_key']}\n"
                 f"twin reader {n.lines['grafana'].split()[2]}\neve king x\neve\n")
    code, err = check_config()
    t.check("all mistakes of the list, with their lines", code == 78 and [x in err for x in (
        "allow:5: the name anna is in line 4", "allow:6: the same key is grafana's in line 2", 'allow:7: "king" is no role',
        "allow:8: not NAME ROLE PUBLICKEY")] == [True] * 4, (code, err))
    n.write_list()
    os.chmod(st.path("allow"), 0o666)
    code, err = check_config()
    t.check("a list that anybody may write is refused", code == 78 and "anybody may write" in err, (code, err))
    os.chmod(st.path("allow"), 0o644)
    os.rename(st.path("server.key"), st.path("away.key"))
    code, err = check_config()
    t.check("no key: it says how to make one", code == 78 and "fcmctl key server" in err, (code, err))
    os.rename(st.path("away.key"), st.path("server.key"))
    others_files(t, st, check_config)


def others_files(t, st, check_config):
    """What somebody else may change or replace decides nothing; each is said with the command that mends it."""
    key, allow = st.path("server.key"), st.path("allow")

    def refused(what, *words):
        code, err = check_config()
        t.check(f"{what}: refused, with what to do", code == 78 and all(w in err for w in words), (code, err))
    for path, mode, good, hint in ((allow, 0o664, 0o644, "go-w"), (key, 0o604, 0o600, "600"), (key, 0o620, 0o600, "600"),
                                   (st.dir, 0o770, 0o700, "go-w"), (st.dir, 0o707, 0o700, "go-w")):
        os.chmod(path, mode)
        refused(f"{os.path.basename(path)} of mode {mode:o}", f"chmod {hint} {path}", f"{mode:o}")
        os.chmod(path, good)
    t.equal("all mended: well", check_config(), (0, ""))
    for path in (key, allow):
        os.rename(path, path + ".real")
        os.symlink(path + ".real", path)
        refused(f"{os.path.basename(path)} a link", path, "symbolic link")
        os.unlink(path)
        os.mkfifo(path, 0o600)
        refused(f"{os.path.basename(path)} a pipe, which is not waited for", path, "is no file")
        os.unlink(path)
        os.rename(path + ".real", path)
    with open(key, "a") as f:
        f.write("#" * 5000)
    refused("a key of 5 kB", key, "longer than")
    with open(key, "r+") as f:
        f.truncate(f.read().index("###"))
    if os.geteuid() == 0:
        os.chown(allow, 12345, -1)
        refused("a list of somebody else's", f"chown 0 {allow}", "belongs to uid 12345")
        code, _, err = st.ctl("key", "list", allow)
        t.check("fcmctl key list says so, too", code == 1 and f"chown 0 {allow}" in err, (code, err))
        os.chown(allow, 0, -1)
    os.chmod(st.dir, 0o1777)
    t.equal("in a sticky directory, as /tmp: well", check_config(), (0, ""))
    os.chmod(st.dir, 0o700)


def credentials(t):
    """keys and list as systemd's LoadCredential= gives them; a reload finds a list that its group may write: the one before holds"""
    n = Net(t)
    place = n.st.path("credentials")
    os.mkdir(place)
    for name in ("server.key", "allow"):
        shutil.copy(n.st.path(name), place)
        os.chmod(os.path.join(place, name), 0o400)
    os.chmod(place, 0o500)
    n.st.config[:] = [x.replace(n.st.path("server.key"), os.path.join(place, "server.key"))
                      .replace(n.st.path("allow"), os.path.join(place, "allow")) for x in n.st.config]
    n.start()
    with n.client("grafana") as s:
        t.check("the daemon serves with them", (a := ask(s, "info")) and a["ok"], a)
        os.chmod(os.path.join(place, "allow"), 0o460)
        n.reload()
        hint = f"chmod go-w {os.path.join(place, 'allow')}"
        n.st.wait_for("the reload says what is wrong", lambda: hint in n.st.daemon.tail(200))
        t.check("the list before still holds", (a := ask(s, "info")) and a["ok"], a)
        code, _, err = n.st.ctl("key", "list")
        t.check("fcmctl key list says the same", code == 1 and hint in err, (code, err))
        os.chmod(os.path.join(place, "allow"), 0o440)
        t.equal("and that all is well again", n.st.ctl("key", "list")[0], 0)
    t.equal("the daemon ends with 0", n.st.daemon.end(), 0)
    os.chmod(os.path.join(place, "server.key"), 0o444)
    n.st.launch_daemon()
    n.st.wait_for("the daemon's end", lambda: not n.st.daemon.alive(), 30)
    log = n.st.daemon.tail(100)
    t.check("with a key that others may read it does not start, and says why", n.st.daemon.popen.poll() not in (0, None) and
            f"chmod 600 {place}/server.key" in log, log)
    n.st.stop()


def bytes_without_end(t):
    """a message of parts that never end, large or tiny, behind a reader's key: cut off before it costs memory"""
    n = Net(t).start()
    anna = n.client("anna")
    pid = n.st.daemon.pid
    t.check("before", ask(anna, "info")["ok"])
    before = resident_mb(pid)
    for size, parts in ((16 << 10, 16), (1, 2000)):
        c = Curve(n.endpoint, b"DEALER", n.server, secret_of(n.file("grafana")).decode())
        seconds, most = pour(pid, c.socket, lambda c=c, size=size, parts=parts: b"".join(
            c.part(bytes(size), True) for _ in range(parts)), 30)
        t.check(f"parts of {size} bytes: cut off", seconds is not None, (seconds, most))
        t.check(f"parts of {size} bytes: they cost no memory to speak of", t.sanitized or most < before + 64, (before, most))
        c.socket.close()
    t.equal("each is counted", n.counts()["network"]["unfinished"], 2)
    t.check("the others are served", ask(anna, "info")["ok"])
    anna.close()
    t.equal("the daemon ends with 0", n.st.stop(), 0)


def names(t):
    """a reader that names its connection: by more bytes than a routing id has, or as ZeroMQ would number the next: the daemon
    lives, and serves others"""
    n = Net(t).start()
    secret = secret_of(n.file("grafana")).decode()

    def named(identity):
        c = Curve(n.endpoint, b"DEALER", n.server, secret, identity)
        c.socket.settimeout(5)
        return c
    request = b'{"v":2,"id":1,"op":"info"}'
    c = named(b"z" * 255)
    c.socket.sendall(c.part(request, False))
    t.check("255 bytes are a name", len(c.socket.recv(4000)) > 100)
    c.socket.close()
    bad = n.counts()["network"]["bad_messages"]
    for size in (256, 261, 300, 5000, 60000):
        c = named(b"z" * size)
        c.socket.sendall(c.part(request, False))
        try:
            end = c.socket.recv(4000)
        except OSError as e:
            end = e
        t.check(f"{size} are none: cut off", end == b"" or isinstance(end, ConnectionError), end)
        c.socket.close()
    t.check("each is counted", (why := n.wait_count("bad_messages", lambda x: x["network"]["bad_messages"] == bad + 5)) == "",
            why)
    held = [named(number(i)) for i in range(25)]
    for _ in range(5):
        with n.client("anna") as s:
            t.check("who comes then is served", (a := ask(s, "info")) and a["ok"], a)
    for c in held:
        c.socket.close()
    t.equal("the daemon ends with 0", n.st.stop(), 0)


if __name__ == "__main__":
    harness.main([example, strangers, roles, hostile, bytes_without_end, names, crowd, reload, start, credentials])
