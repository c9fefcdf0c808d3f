#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Incidents on a real station: two levels, acknowledged and paused by name, watched, over a restart of the daemon."""
import getpass
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import scenario, events  # noqa: E402
from test_schema import Schema  # noqa: E402

TRIP = "tower1.floor2/hv-trip"
HOT = "tower1.floor3.fcm.temperature/limit"


class Watch:
    """A client that watches the incidents, until it is closed or the daemon goes away."""

    def __init__(self, st):
        self.news, self.ended, self.complaints = [], False, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(st.path("control.sock"))
        self.socket.sendall(b'{"v":2,"id":"w","op":"incident.watch"}\n')
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        schema = Schema()
        try:
            for line in self.socket.makefile():
                message = json.loads(line)
                self.complaints += schema.answer("incident.watch", message)
                if "progress" in message:
                    self.news.append(message["progress"])
        except (OSError, ValueError):
            pass
        self.ended = True

    def told(self, change, name):
        return [n["incident"] for n in list(self.news) if n["change"] == change and cause(n["incident"]) == name]

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def cause(incident):
    return f"{incident['object']}/{incident['code']}"


def found(st):
    """What is true or waits to be acknowledged, and what is paused, by name."""
    incidents = st.ask("incident", "list")
    by_name = {cause(o): dict(o, standing="held" if o["held"] else "true",
                              new=not (o["acknowledged"] or (o["paused"] or {}).get("covers") == "red"))
               for i in incidents["list"] for o in i["observations"] if not o["until"]}
    return {**by_name, **{p["name"]: dict(p, standing="not active") for p in incidents["pauses"]}}


def stands(st, name, **wanted):
    """The observation, once it is true and as wanted."""
    seen = {}

    def there():
        seen["a"] = found(st).get(name, {})
        return seen["a"].get("standing") == "true" and all(seen["a"][k] == v for k, v in wanted.items())
    st.wait_for(f"{name} {wanted}", there, 40)
    return seen["a"]


def observation(st, name):
    return found(st).get(name, {})


def counts(s):
    """What makes status red, by name; on a slow host there may be other reasons than the test's."""
    return [cause(o) for i in s["incidents"]["list"] if i["state"] in ("active", "acknowledged")
            for o in i["observations"] if not o["until"] and o["severity"] == "red" and
            (o.get("paused") or {}).get("covers") != "red"]


def acknowledged_and_paused(t):
    """a trip: acknowledged it is no longer new, but red; another module is; paused it does not count; all of it lasts"""
    me = getpass.getuser()
    st = t.station(load="quiet", scenario=scenario(t, (5, "link 1 hv-trip 2"), (12, "link 2 hv-trip 1")))
    st.start()
    st.wait_ready()
    watch = Watch(st)
    st.wait_for("all there is, at first", lambda: watch.news, 10)
    t.equal("what watches begins with all there is", watch.news[0]["change"], "snapshot")
    a = stands(st, TRIP, new=True)
    t.check("it is red and says what to do", a["severity"] == "red" and "clear_trip" in a["action"] and
            a["acknowledged"] is None and a["paused"] is None, a)
    st.wait_for("what watches is told", lambda: watch.told("began", TRIP), 10)
    stands(st, "tower1.floor3/hv-trip", new=True)

    answer = st.request("incident.pause", name="floor2/hv-trip", seconds=60, reason="")
    t.check("a pause without a reason is refused", answer["error"]["code"] == "usage" and "reason" in
            answer["error"]["message"], answer)
    code, out, err = st.ctl("incident", "ack", "floor2/hv-trip", "--reason", "daylight will do")
    t.check("acknowledged by name, without its tower", code == 0 and out == f"{TRIP}: acknowledged by {me}: daylight "
            "will do\n", (code, out, err))
    r = observation(st, TRIP)
    t.check("it stands as before, and says by whom and from where", r["severity"] == "red" and not r["new"] and
            (r["acknowledged"]["who"], r["acknowledged"]["origin"]) == (me, "local"), r)
    t.check("the other one is not", observation(st, "tower1.floor3/hv-trip")["new"], st.seen())
    code, out, _ = st.ctl("status")
    t.check("status is as red as before, and marks it", code == 1 and re.search(r" seen +\S+ tower1.floor2/hv-trip", out), (code, out))
    t.check("the list says by whom", f"acknowledged by {me}: daylight will do" in
            re.sub(r"\s+", " ", st.ctl("incident", "list")[1]), out)
    st.wait_for("what watches is told of that", lambda: watch.told("acknowledged", TRIP), 10)
    for words, exit_code, wanted in (
            (["ack", "floor2/hv-trip"], 1, f"was acknowledged by {me}"),
            (["ack", "floor2/hv-tripp"], 2, 'no incident "floor2/hv-tripp" is active'),
            (["ack", "floor3", "nowhere"], 2, 'no incident "nowhere" is active'),
            (["ack"], 2, "needs INCIDENT"),
            (["pause", "floor2/hv-trip", "--for", "25h", "--reason", "x"], 2, "1 s to 24 h"),
            (["pause", "floor2/hv-trip", "--for", "2h"], 2, "needs its end and a reason"),
            (["pause", "flor2/hv-trip", "--for", "2h", "--reason", "x"], 2, 'there is no "flor2"'),
            (["pause", "floor2/HV", "--for", "2h", "--reason", "x"], 2, 'no incident "floor2/HV"'),
            (["pause", "floor2/hv-tripp", "--for", "2h", "--reason", "x"], 2,
             "tower1.floor2 may have: floor-mute, fcm-booted, hv-trip, "),
            (["pause", "floor2.om2.hv/hv-trip", "--for", "2h", "--reason", "x"], 2,
             "tower1.floor2.om2.hv may have: limit, command-unknown"),
            (["pause", "link3/hv-trip", "--for", "2h", "--reason", "x"], 2, 'link3 cannot have an incident "hv-trip"'),
            (["pause", "floor\\2/hv-low", "--for", "2h", "--reason", "x"], 2, 'there is no "floor\\2"'),
            (["resume", "floor2/hv-trip"], 2, 'no incident "floor2/hv-trip" is paused')):
        code, out, err = st.ctl("incident", *words)
        t.check(f"incident {' '.join(words)}: exit {exit_code}, says why", code == exit_code and wanted in err and
                "->" in err, (code, out, err))
    t.check("of a list with a slip nothing was acknowledged", observation(st, "tower1.floor3/hv-trip")["new"])

    st.ask("incident", "pause", "floor2/hv-trip", "--for", "2h", "--reason", "spare module")
    st.ask("incident", "pause", "floor3/hv-trip", "--for", "1h", "--reason", "the same")
    s = st.status()
    t.check("paused it does not count", (s["incidents"]["word"] == "RED") == bool(counts(s)) and TRIP not in counts(s) and len([i for i in s["incidents"]["list"] if i["state"] == "paused"]) == 2,
            harness.observations(s))
    code, out, _ = st.ctl("status")
    t.check("but it is listed", code == 0 and len(re.findall(r"(?m)^ +\d+ paused ", out)) == 2, (code, out))
    out = st.ctl("incident", "list")[1]
    t.check("with its end", "paused until " in out and "spare module" in out, out)
    st.ask("incident", "pause", "link3/link-dark", "--for", "30m", "--reason", "fibre is exchanged")
    a = found(st)["link3/link-dark"]
    t.check("one that does not stand can be paused", a["standing"] == "not active", a)

    number = next(i["number"] for i in st.status()["incidents"]["list"] if cause(i) == TRIP)
    show = "incident", "show", str(number)
    by_name = rf"Incident {number}  red.*{TRIP}: .*clear_trip.*acknowledged by {me}: daylight will do"
    code, out, _ = st.ctl(*show)
    t.check("shown by its number", code == 0 and re.match(by_name, out, re.S) and
            re.search(r"^observations +1, its cause$", out, re.M), (code, out))

    st.daemon.kill9()
    t.check("what watches sees the end", st.wait_for("the end", lambda: watch.ended, 10) is None)
    code, out, err = st.ctl(*show)
    t.check("shown by its number while there is no daemon", code == 0 and re.match(by_name, out, re.S) and
            re.search(r"^observations +\d+, with its cause$", out, re.M) and "the daemon is not running" in err, (code, out, err))
    code, out, err = st.ctl("incident", "show", "999999")
    t.check("of a number that was never given it says so", code == 1 and "there is no incident 999999" in err, (code, out, err))
    st.start_daemon()
    a = stands(st, TRIP, new=False)
    t.check("over a restart it is acknowledged and paused as it was", a["acknowledged"]["text"] == "daylight will do" and
            a["paused"]["text"] == "spare module" and a["paused"]["origin"] == "local", a)
    t.check("so is what did not stand", found(st)["link3/link-dark"]["paused"]["text"] == "fibre is exchanged",
            found(st))
    st.wait_for("well again", lambda: st.word() != "RED", 30)
    watch = Watch(st)
    st.wait_for("all there is", lambda: watch.news, 10)
    st.ask("incident", "resume", "floor2/hv-trip")
    t.equal("resumed it counts again", st.word(), "RED")
    st.wait_for("that is told", lambda: watch.told("resumed", TRIP), 10)

    st.ask("action", "floor2.om2.clear_trip")
    st.wait_for("its end", lambda: TRIP not in found(st), 30)
    st.wait_for("the end is told", lambda: watch.told("over", TRIP), 10)
    said = [(e["code"], e["object"], e["severity"]) for e in events(st) if e["code"].startswith("incident-")]
    t.equal("each is an event", said, [
        ("incident-acknowledged", TRIP, "info"), ("incident-paused", TRIP, "info"),
        ("incident-paused", "tower1.floor3/hv-trip", "info"), ("incident-paused", "link3/link-dark", "info"),
        ("incident-resumed", TRIP, "info")])
    text = next(e["text"] for e in events(st, "incident-acknowledged"))
    t.check("which names who and from where", f"by {me} (local): daylight will do" in text, text)
    st.wait_for("a sign of life", lambda: any(n["change"] == "alive" for n in watch.news), 15)
    t.equal("all that was told fits the schema", watch.complaints, [])
    watch.close()
    st.ask("incident", "resume", "link3")
    t.check("nothing is left of what is over and not paused", "link3/link-dark" not in found(st), found(st))


def room(t):
    """pauses of what does not stand: one of a name, and not so many that nothing else has room"""
    st = t.station(load="quiet", scenario=scenario(t, (5, "link 1 hv-trip 2")))
    st.start()
    st.wait_ready()

    def pause(name, seconds=600):
        return st.request("incident.pause", name=name, seconds=seconds, reason="tests")
    for name in ("floor3/hv-low", "tower1.floor3/hv-low", "floor3/hv-low"):
        t.check(f"{name} is paused", pause(name)["ok"])
    t.equal("which is one", [n for n in found(st) if n.endswith("/hv-low")], ["tower1.floor3/hv-low"])
    names = [p["name"] for p in st.ask("get", "floor*.om*")["parameters"]]
    answer = {}
    for n, name in enumerate(names):
        answer = pause(f"{name}/limit")
        if not answer["ok"]:
            break
    t.equal("after so many there is no room", (n + 1, answer["ok"]), (64, False))
    t.check("which is said, with what to do", answer["error"]["code"] == "refused" and "no room" in
            answer["error"]["message"] and "incident list" in answer["error"]["hint"], answer)
    stands(st, TRIP, new=True)
    st.ask("incident", "ack", TRIP)
    t.check("what stands has room, and can be paused", pause(TRIP)["ok"])
    t.equal("all are resumed by a pattern", st.ctl("incident", "resume", "floor*")[0], 0)
    t.check("then there is room again", pause(f"{names[n]}/limit")["ok"])


def not_known(t):
    """what stood when nobody could look any more is not over: the trip of a mute floor, the slip of a board that is gone"""
    st = t.station(load="quiet", truth=False,
                   scenario=scenario(t, (0, "link 2 slip-on-align 3"), (5, "link 1 hv-trip 2"), (35, "link 1 mute")))
    st.start()
    st.wait_ready()
    st.wait_for("a slip", lambda: st.ctl("link", "align", "2") and "link2/phase-slip" in found(st), 60)
    stands(st, TRIP)
    st.wait_for("the trip of a mute floor is not known", lambda: "state of om2 unknown for" in observation(st, TRIP).get("text", ""),
                90)
    st.emu.kill9()
    st.wait_for("board-gone", lambda: "board/board-gone" in found(st), 10)
    time.sleep(1)
    r = observation(st, "link2/phase-slip")
    t.check("the slip stands, and is not known", r.get("severity") == "red" and "the board is gone" in r["text"], r)
    t.equal("no rate is known", {(k["frames_per_s"], k["bytes_per_s"], k["hits_per_s"]) for k in st.status()["links"]},
            {(None, None, None)})
    shown = st.ctl("link", "list")[1].splitlines()
    t.equal("nor shown", len([line for line in shown if re.search(r" unknown .*floor\d +- ", line)]), 4)
    t.equal("neither is told as over", [e for e in events(st) if e["code"] in ("phase-slip", "hv-trip") and
                                        e["severity"] == "info"], [])
    os.unlink(st.path("board.sock"))
    st.start_emulator()
    st.wait_for("the slip's end, with a new lock", lambda: len(events(st, "phase-slip")) > 1, 60)
    t.equal("told once", [e["severity"] for e in events(st, "phase-slip")], ["red", "info"])


def a_step_through_resets(t):
    """a step of the phase that resets do not change is one incident, and none of the resets' doing;
    the step home ends it"""
    st = t.station(load="quiet", truth=False,
                   scenario=scenario(t, (0, "link 1 phase-step 300"), (45, "link 1 phase-step -300")))
    st.start()
    st.wait_ready()
    stands(st, "link1/phase-jump")
    time.sleep(6)  # a reset of the same moment would have been the cause
    for _ in range(2):
        t.equal("a reset ends displaced as before", st.ctl("link", "reset", "1")[0], 1)
    jumps = [i for i in st.ask("incident", "list")["list"] if i["code"] == "phase-jump"]
    t.check("one incident", [i["state"] for i in jumps] == ["active"], jumps)
    t.equal("that no command of ours began", jumps[0]["own"], None)
    st.wait_for("its end, at home", lambda: "link1/phase-jump" not in found(st), 90)
    st.wait_for("the event of it", lambda: len(events(st, "phase-jump")) > 1, 10)
    t.equal("told once", [e["severity"] for e in events(st, "phase-jump")], ["red", "info"])


def our_own_commands(t):
    """what a reset and an align cost is counted and named, and the station stays well all the time"""
    st = t.station(load="quiet", truth=False, scenario=scenario(t))
    st.start()
    st.wait_ready()
    time.sleep(6)  # losses of the same moment would belong to the start
    w = Watch(st)
    st.wait_for("the list, to the watcher", lambda: w.news, 10)
    for verb, link in (("reset", 2), ("align", 1)):
        t.equal(f"the {verb} ends well", st.ctl("link", verb, str(link))[0], 0)
        st.wait_for("its losses, counted", lambda of=f"link{link}/link-loss": w.told("began", of), 10)
        t.equal(f"the station is well just after the {verb}", st.word(), "WELL")
    words = set()
    for _ in range(12):  # in some of them the daemon sees the moment without a lock
        st.ctl("link", "reset", "3")
        words.add(st.word())
        time.sleep(1.5)  # for the phase
    t.equal("nor is a row of them a trouble", (words, events(st, "link-dark")), ({"WELL"}, []))
    time.sleep(5)
    t.equal("nothing was ever active", [n for n in w.news[1:] if "incident" in n and
                                           n["incident"]["state"] != "cleared"], [])
    mine = {cause(i): i for i in st.ask("incident", "list")["list"] if i["own"]}
    t.equal("each is named", {n: i["own"].split(" by ")[0] for n, i in mine.items()},
            {"link2/link-loss": "reset", "link1/link-loss": "align", "link3/link-loss": "reset"})
    t.check("in its text, too", all("(reset by " in i["text"] or "(align by " in i["text"] for i in mine.values()), mine)
    t.check("each has its cost", all(i["cost"]["frames"] > 0 for i in mine.values()), mine)
    t.equal("no event is a warning", {e["severity"] for e in events(st, "link-loss") if "reset by" in e["text"] or
                                      "align by" in e["text"]}, {"info"})
    report = st.ctl("report", "--since", "1h")[1]
    t.check("with its time", all(re.fullmatch(r"\w+ by \S+ at \d\d:\d\d:\d\d", i["own"]) for i in mine.values()), mine)
    t.check("the report has both", re.search(r"link2 +reset by ", report) and re.search(r"link1 +align by ", report), report)
    st.ask("action", "floor4.fcm.reset", "--yes")

    def boots():
        return [i for i in st.ask("incident", "list")["list"] if cause(i) == "tower1.floor4/fcm-booted"]
    st.wait_for("the boot, as cause of its losses", boots, 20)
    boot = boots()[0]
    t.check("it is named, too", re.fullmatch(r"fcm\.reset by \S+ at \d\d:\d\d:\d\d", boot["own"] or "") and
            boot["own"] in boot["text"], boot)
    w.close()


def two_levels(t):
    """a temperature that rises: a warning, then red, which is new though the warning was seen and paused"""
    st = t.station(load="quiet", scenario=scenario(t, (5, "link 2 temperature 37"), (20, "link 2 temperature 55"),
                                                   (35, "link 2 temperature 24")))
    st.start()
    st.wait_ready()
    t.equal("nothing of a well station is beyond its limits",
            [n for n, a in found(st).items() if a.get("code") == "limit" and n != HOT], [])
    a = stands(st, HOT, severity="warning")
    t.check("the warning says the limit that was passed", "above 35" in a["text"] and HOT not in counts(st.status()), a)
    st.ask("incident", "ack", "floor3.fcm.temperature")
    st.ask("incident", "pause", "floor3.fcm.temperature", "--for", "1h", "--reason", "pump is off")
    a = stands(st, HOT, severity="red")
    t.check("red it is new, and its pause does not cover it", a["new"] and "above 40" in a["text"] and
            a["paused"]["covers"] == "warning", a)
    s = st.status()
    t.check("status is red because of it", s["incidents"]["word"] == "RED" and HOT in counts(s), harness.observations(s))
    st.wait_for("cooler: a paused warning again", lambda: found(st).get(HOT, {}).get("severity") == "warning", 60)
    t.check("that does not count", HOT not in counts(st.status()), st.seen())
    st.wait_for("cool", lambda: found(st)[HOT]["standing"] == "not active", 60)
    t.equal("it was both, and nothing else of this station was", sorted({
        (e["severity"], e["object"]) for e in events(st, "limit")}),
        [("info", HOT[:-6]), ("red", HOT[:-6]), ("warning", HOT[:-6])])
    t.equal("each once", len([e for e in events(st, "limit") if e["severity"] != "info"]), 2)


def light(t):
    """a storm of light: its trips are one incident, its lost hits another, seen by one word; no value fires"""
    st = t.station(load="quiet", scenario=scenario(t, (5, "link 2 burst 3000000 2")))
    st.start()
    st.wait_ready()
    lost, trip = "tower1.floor3/hits-lost", "tower1.floor3/hv-trip"
    for name in (trip, lost):
        st.wait_for(f"all modules in {name}", lambda n=name: all(
            f"om{m}" in found(st).get(n, {}).get("text", "") for m in range(6)), 60)
    a = found(st)
    t.check("the trips count, the lost hits warn", (a[trip]["severity"], a[lost]["severity"]) == ("red", "warning"), a)
    t.equal("red comes first", [n for n in a if n in (trip, lost)], [trip, lost])
    seen = st.ask("incident", "ack", "floor3", "--reason", "a storm of light")["observations"]
    t.check("one word acknowledges both", {lost, trip} <= {x["name"] for x in seen}, seen)
    time.sleep(3)
    loss = [e for e in events(st, "hits-lost") if e["object"] == "tower1.floor3"]
    t.check("of each module the lost hits are new once", len(loss) <= 6 and all(e["severity"] == "warning" for e in loss),
            loss)
    t.check("they stay so while they stand", all(x["acknowledged"] for n, x in found(st).items() if n in (lost, trip)),
            found(st))
    t.equal("all trips are cleared", st.ctl("action", "floor3.*.clear_trip", "--yes")[0], 0)
    st.wait_for("the ends of all", lambda: not {lost, trip} & set(found(st)), 120)
    t.equal("no value of a well station passes its limits, all the time", events(st, "limit"), [])


def site_and_latch(t):
    """a site's own limits, of a kind and of one floor; a latching one stays over its end and a restart, until seen"""
    site = os.path.join(t.base, "parameters.d")
    os.mkdir(site)

    def put(name, text):
        with open(os.path.join(site, name), "w") as f:
            f.write(text)

    def check():
        r = subprocess.run([st.program("fcm-server"), "--board", "0", "--config", st.path("board.conf"),
                            "--check-config"], capture_output=True, text=True, check=False)
        return r.returncode, r.stdout + r.stderr
    put("10-limits.conf", "[fcm.temperature]\nlatch = yes\n[floor3.fcm.temperature]\nwarn = ..150\nalarm = ..200\n"
        "[floor2.om4.trip]\nlatch = yes\n")
    st = t.station(load="quiet", config=["[slowctl]", f"site_dictionary = {site}"],
                   scenario=scenario(t, (5, "link 1 temperature 55"), (5, "link 2 temperature 60"),
                                     (6, "link 1 hv-trip 4"), (20, "link 1 temperature 24")))
    st.start()
    t.equal("the check of the configuration is content", check()[0], 0)
    put("20-wrong.conf", "[om.hv]\nsoft = 0..2500\n")
    code, out = check()
    t.check("it names file and line of what is wrong", code == 78 and "20-wrong.conf:1: [om.hv] soft limits" in out,
            (code, out))
    os.unlink(os.path.join(site, "20-wrong.conf"))
    st.wait_ready()
    name = "tower1.floor2.fcm.temperature/limit"
    stands(st, name, severity="red")
    st.wait_for("it is held", lambda: found(st).get(name, {}).get("standing") == "held", 60)
    r = observation(st, name)
    t.check("status says that it is over and waits", r.get("severity") == "red" and
            "waits to be acknowledged" in r["text"] and st.word() == "RED", r)
    hot = st.ask("get", "floor3.fcm.temperature")["parameters"][0]
    t.check("the floor with limits of its own has no incident", hot["value"] > 50 and
            "tower1.floor3.fcm.temperature/limit" not in found(st), (hot, found(st)))
    t.equal("the daemon ends with 0", st.daemon.end(30), 0)
    st.start_daemon()
    st.wait_for("the same after a restart", lambda: observation(st, name).get("standing") == "held", 30)
    stands(st, TRIP)
    st.ask("action", "floor2.om4.clear_trip")
    st.wait_for("a trip latches as well, where a site wants it", lambda: found(st)[TRIP]["standing"] == "held", 30)
    st.ask("incident", "ack", TRIP)
    st.ask("incident", "ack", "floor2.fcm.temperature")
    st.wait_for("gone once it is seen", lambda: name not in found(st) and st.word() != "RED", 30)
    t.check("and not back after another restart", st.daemon.end(30) == 0)
    st.start_daemon()
    st.wait_ready(60)
    t.check("nothing is left of it", name not in found(st), found(st))


def watchers(t):
    """many that watch: all are told the same; one more than one user may have is refused; those that go leave nothing"""
    st = t.station(load="quiet", scenario=scenario(t, (8, "link 1 hv-trip 2")))
    st.start()
    st.wait_ready()
    crowd = [Watch(st) for _ in range(8)]
    st.wait_for("all there is, to all", lambda: all(w.news for w in crowd), 20)
    answer = st.request("incident.watch")
    t.check("one more is refused, and told why", not answer["ok"] and answer["error"]["code"] == "refused", answer)
    for w in crowd[4:]:
        w.close()
    st.wait_for("the trip, to all that are left", lambda: all(w.told("began", TRIP) for w in crowd[:4]), 40)

    def room():
        w = Watch(st)
        time.sleep(0.5)
        ended = w.ended or not w.news
        w.close()
        return not ended
    st.wait_for("room again", room, 20)
    code, out, err = st.ctl("--json", "--timeout", "0.5", "incident", "list")
    t.check("the daemon answers others", code == 0, (code, out, err))
    t.equal("the daemon ends with 0 while they watch", st.stop(), 0)
    st.wait_for("the end, to all", lambda: all(w.ended for w in crowd), 10)


if __name__ == "__main__":
    harness.main([acknowledged_and_paused, room, not_known, a_step_through_resets, our_own_commands, two_levels, light, site_and_latch, watchers])
