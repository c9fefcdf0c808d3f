#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every hint is typed: for each cause of a drill, and for others, each command in what to do about its incident. Each can
be typed as it stands, none makes anything worse, and in the end the incident is over."""
import os
import random
import re
import resource
import shlex
import signal
import sqlite3
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import scenario  # noqa: E402
from station import free_base_port  # noqa: E402
from test_feed import Reader  # noqa: E402
sys.path.insert(0, os.path.join(harness.ROOT, "tests", "drill"))
import causes  # noqa: E402

# Behind a command, these are words of the sentence.
SENTENCE = {"names", "shows", "tells", "then", "brings", "has", "is", "if", "when", "which", "how", "it", "them", "and", "or",
            "costs", "in", "does", "lists"}
SAFE = "safe"  # switches everything off: is named, not advised
EXTRA = {"set": ["--yes"], "action": ["--yes"], "phase accept": ["--reason", "a test has looked at it"]}
VOLTS = "1400"
# A reset or an align that was carried out, of a link whose fault goes on: no help, and no harm.
CARRIED_OUT = ("locked and judged in", "was not locked and judged within", "its phase is not judged")
WAIT = 75  # s for the end of an incident, after the fault's: what has booted is shown for a minute


def commands(action):
    """["link show 2", ...]: what is to be typed behind fcmctl."""
    found = []
    for part in action.split("fcmctl ")[1:]:
        words = []
        for word in part.split():
            bare = word.rstrip(";:,.?!)")
            if bare in SENTENCE or bare.startswith("("):
                break
            words.append(VOLTS if bare == "VOLTS" else bare)
            if bare != word:
                break
        found.append(" ".join(words))
    return found


def texts(t):
    """a sentence is told from a command"""
    t.equal("one behind the other", commands("light? fcmctl get 'floor2.om*.rate'; then fcmctl link reset 1, and look"),
            ["get 'floor2.om*.rate'", "link reset 1"])
    t.equal("within a sentence", commands("fcmctl ledger show names floors; fcmctl set 'floor1.om2.hv' VOLTS."),
            ["ledger show", "set 'floor1.om2.hv' 1400"])
    t.equal("before what may be instead", commands("then fcmctl set floor1.fcm.silence_timer on (or off), which ends this"),
            ["set floor1.fcm.silence_timer on"])
    t.equal("none", commands("is the floor powered? Check fibre and SFP"), [])


def type_all(t, st, incident, typed):
    """All that its observations advise, each once."""
    for o in incident["observations"]:
        for command in commands(o["action"]):
            if command in typed or command == SAFE:
                continue
            typed.add(command)
            t.check(f"fcmctl {command}: quoted once", "''" not in command, o["action"])
            argv = shlex.split(command)
            extra = next((more for begin, more in EXTRA.items() if command.startswith(begin)), [])
            code, out, err = st.ctl(*argv, *extra, timeout=120)
            good = code == 0 or argv[0] == "status" or (code == 1 and any(said in out + err for said in CARRIED_OUT))
            t.check(f"{incident['object']}/{incident['code']}: fcmctl {command}", good, (o["action"], code, out[-300:], err[-300:]))


def of(st, number):
    return next((i for i in st.status()["incidents"]["list"] if i["number"] == number), None)


def try_cause(t, st, cause, begun, ends):
    """Its incident, what to do, and the end."""
    found = []

    def told():
        found[:] = [i for i in st.status()["incidents"]["list"] if i["code"] in cause.codes and i["since"] > begun - 3]
        return bool(found)
    st.wait_for(f"{cause.name} is told", told, 60)
    before = {i["number"] for i in st.status()["incidents"]["list"]}
    typed = set()
    number = found[0]["number"]
    end = begun + ends + 2
    while True:
        incident = of(st, number)
        if incident is None or incident["state"] == "cleared":
            break
        type_all(t, st, incident, typed)
        if time.time() > end + WAIT:
            break
        time.sleep(1)
    if cause.name in causes.MOVES_PHASE and incident and incident["state"] != "cleared":  # what stays is the expert's to accept
        code, _, err = st.ctl("phase", "accept", incident["object"].removeprefix("link"), "--reason", "looked at")
        t.check(f"{cause.name}: the expert accepts what stays", code == 0, err)
        st.wait_for("it is accepted", lambda: (of(st, number) or {"state": "cleared"})["state"] == "cleared", 15)
    incident = of(st, number)
    t.check(f"{cause.name}: it is over", incident is None or incident["state"] == "cleared", incident)
    nothing_worse(t, st, cause.name, before, cause.codes)


def nothing_worse(t, st, what, before, codes):
    worse = [(i["code"], i["object"], i["text"]) for i in st.status()["incidents"]["list"]
             if i["number"] not in before and not i["own"] and i["severity"] == "red" and i["code"] not in codes]
    t.check(f"{what}: nothing is worse than before", not worse, worse)


@harness.long
def each_hint(t):
    """each cause of a drill in turn, on links in turn"""
    r = random.Random(5)
    plan, at = [], 10
    for n, cause in enumerate(causes.CAUSES):
        lines, ends = cause.make(r, n % 4)
        plan.append((cause, at, lines, ends))
        at += ends + WAIT + 15
    st = t.station(load="quiet", scenario=t.scenario("from data\n" + "".join(
        f"at {when} {what}\n" for when, what in sorted((a + after, what) for _, a, lines, _ in plan for after, what in lines))))
    st.start()
    st.wait_ready()
    cells = min(sum(link["cells"].values()) for link in st.status()["links"])
    data = time.time() - cells / 8000
    for cause, at, _, ends in plan:
        time.sleep(max(0, data + at - time.time()))
        try_cause(t, st, cause, data + at, ends)


def follow(t, st, obj, code, mend=None):
    """The hints of an incident that is told are typed, then a person does `mend` of it: with that it ends."""
    def of_cause():
        return [i for i in st.status()["incidents"]["list"] if (i["object"], i["code"]) == (obj, code) and i["state"] != "cleared"]
    st.wait_for(f"{obj}/{code} is told", of_cause, 60)
    incident, before = of_cause()[0], {i["number"] for i in st.status()["incidents"]["list"]}
    t.check(f"{obj}/{code}: it says what to do", all(o["action"] for o in incident["observations"]), incident)
    type_all(t, st, incident, set())
    if mend:
        mend(incident["action"])
    st.wait_for(f"the end of {obj}/{code}", lambda: not of_cause(), WAIT)
    t.check(f"{obj}/{code}: it is over", True)
    nothing_worse(t, st, f"{obj}/{code}", before, {code})


def address(action):
    """Where the hint sends a consumer: (host, port)."""
    return re.search(r"connects to (?:tcp://)?([\d.]+)(?::| port )(\d+)", action).groups()


def of_consumers(t, st, base):
    def hold(what):
        st.consumers["trigger-1"].signal(what)
    for link in range(4):
        follow(t, st, f"feed tower1.floor{link + 1}", "consumer-none",
               lambda action, link=link: Reader(st, f"reader{link}", link, int(address(action)[1]) - link))
    Reader(st, "stalled", 1, base, stalled=True)
    follow(t, st, "feed tower1.floor2", "feed-reader-dropped")
    hold(signal.SIGSTOP)
    follow(t, st, "group trigger", "consumer-lag", lambda _: hold(signal.SIGCONT))
    st.consumers.pop("trigger-1").end()

    def start(action):
        t.equal("a consumer is sent to where the daemon listens", "tcp://%s:%s" % address(action), st.reserved)
        st.start_consumer("trigger-2", "trigger")
    follow(t, st, "group trigger", "consumer-none", start)


def of_disks(t, st):
    st.ask("record", "start", "--links", "2")
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (24 << 20, resource.RLIM_INFINITY))
    st.wait_for("the recording is stopped", lambda: any(r["code"] == "record-stopped" for r in st.seen()), 60)
    resource.prlimit(st.daemon.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    time.sleep(1)  # a recording has the name of its second
    follow(t, st, "recorder", "record-stopped")
    db = sqlite3.connect(st.database, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    follow(t, st, "store", "store-failing", lambda _: db.execute("ROLLBACK"))
    db.close()


def of_a_silent_shore(t, st, base):
    for name, value in (("time", "20"), ("timer", "on")):
        t.equal(f"floor2.fcm.silence_{name}", st.ctl("set", f"floor2.fcm.silence_{name}", value)[0], 0)
    st.daemon.kill9()
    time.sleep(20 + 10)
    st.start_daemon()
    for link in range(4):
        Reader(st, f"again{link}", link, base)
    follow(t, st, "tower1.floor2", "hv-silenced")


def of_a_board(t, st):
    st.emu.kill9()

    def again(_):
        os.unlink(st.path("board.sock"))
        st.scenario = None
        st.start_emulator()
    follow(t, st, "board", "board-gone", again)


@harness.long
def other_hints(t):
    """hints of what no drill has: the way down, limits, modules off by themselves, consumers, feed, disk, a silent shore, the board"""
    base = free_base_port()
    st = t.station(load="quiet", truth=False, depth_ms=8000, emulator_args=["--cold", "--rate", "20000"],
                   config=["[data]", "consumer_dead_ms = 60000", "[feed]", "enabled = yes", f"base_port = {base}", "budget_mb = 1",
                           "[record]", "min_free_mb = 1"],
                   scenario=scenario(t, (0, "link 0 down-crc 400"), (0, "link 3 unalign"), (80, "link 2 temperature 55"),
                                     (120, "link 2 temperature 24")))
    st.start()
    st.wait_ready()
    follow(t, st, "link0", "downlink-errors")
    follow(t, st, "tower1.floor3.fcm.temperature", "limit")
    follow(t, st, "link3", "byte-slip")
    follow(t, st, "tower1.floor1", "hv-off")  # with the other floors'
    of_consumers(t, st, base)
    of_disks(t, st)
    of_a_silent_shore(t, st, base)
    of_a_board(t, st)


if __name__ == "__main__":
    harness.main([texts, each_hint, other_hints])
