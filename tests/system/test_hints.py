#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every hint is typed: for each cause of a drill, each command in what to do about its incident. Each can be typed as it
stands, none makes anything worse, and in the end the incident is over."""
import os
import random
import shlex
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
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
            if bare in SENTENCE:
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
    t.equal("none", commands("is the floor powered? Check fibre and SFP"), [])


def type_all(t, st, incident, typed):
    """All that its observations advise, each once."""
    for o in incident["observations"]:
        for command in commands(o["action"]):
            if command in typed or command == SAFE:
                continue
            typed.add(command)
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
    worse = [(i["code"], i["object"], i["text"]) for i in st.status()["incidents"]["list"]
             if i["number"] not in before and not i["own"] and i["severity"] == "red" and i["code"] not in cause.codes]
    t.check(f"{cause.name}: nothing is worse than before", not worse, worse)


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


if __name__ == "__main__":
    harness.main([texts, each_hint])
