#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A shift of twelve faults, as an operator sees it: each cause is one entry with the right numbers, the screen stays a
screen, and the report has it all."""
import fnmatch
import getpass
import html.parser
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import blind_shifts  # noqa: E402
import harness  # noqa: E402
from faults import BEGIN, scenario  # noqa: E402


class Screens(threading.Thread):
    """What `fcmctl status` shows every other second: never more than 24 rows of 80 columns; a command that is too long, by
    the path of this station, is one line, and whole."""

    def __init__(self, st):
        super().__init__(daemon=True)
        self.st, self.ended, self.shown, self.too_large = st, threading.Event(), 0, []

    def run(self):
        while not self.ended.wait(2):
            code, out, _ = self.st.ctl("status")
            lines = out.splitlines() or ["nothing"]
            self.shown += 1
            word = lines[0].split()[0]
            wide = [x for x in lines if len(x) > 80]
            if sum(max(1, -(-len(x) // 80)) for x in lines) > 24 or word not in ("WELL", "ATTENTION", "RED") or \
                    (word == "RED") != (code in (1, 3)) or len(wide) > (1 if code < 3 else 2) or \
                    not all(re.match(r" +-> \S+ .*incident show \d+$", x) or code == 3 for x in wide):
                self.too_large.append(out)

    def end(self):
        self.ended.set()
        self.join(30)


def told(st):
    """[(code, object, incident)] of the database, without what the start brought."""
    return [(i["code"], i["object"], i) for i in st.ask("incident", "list", "--since", "1h")["incidents"]]


def only(t, incidents, code, obj):
    """The one incident of that cause."""
    found = [i for c, o, i in incidents if c == code and o == obj]
    t.check(f"{obj}/{code} is told once", len(found) == 1, [(c, o) for c, o, _ in incidents])
    nothing = {"cost": {"frames": None, "dark_s": 0, "hits": 0}, "own": None, "text": "", "until": None}
    return found[0] if found else nothing


@harness.long
def twelve_faults(t):
    """a step of the phase, losses, an unplug with a slip, a silent GPS, a trip, damage, a mute floor, a stall, swapped
    fibres, a burst, a drift, and a reset by the operator: each is told as what it is, once, with its cost"""
    st = t.station(load="quiet", scenario=scenario(
        t, (0, "link 1 phase-step 300"), (15, "link 2 drop 400"), (28, "link 3 slip-on-align 3"),
        (28.5, "link 3 unplug 1"),
        (45, "gps silent"), (115, "gps ok"), (50, "link 1 hv-trip 2"), (65, "link 0 crc 1500"), (80, "link 2 mute"),
        (125, "link 2 unmute"), (150, "stall 0.4"), (165, "swap 0 3"), (180, "swap 0 3"),
        (200, "link 1 burst 2000000 15"),
        (235, "link 2 phase-drift 9"), (290, "link 2 phase-drift 0")))
    st.start()
    st.wait_ready()
    screens = Screens(st)
    screens.start()
    begin = time.monotonic()

    def at(seconds):
        time.sleep(max(0, begin + seconds - time.monotonic()))
    at(75)
    st.ask("action", "floor2.om2.clear_trip")
    st.ask("log", "cleared a trip by hand", "--object", "floor2")
    at(285)
    st.ask("link", "reset", "3")
    st.ask("log", "--summary", "twelve faults <in> a row")
    at(320)
    screens.end()
    t.check("status was always a screen", screens.shown > 50 and not screens.too_large,
            (screens.shown, screens.too_large[:1]))
    incidents = told(st)
    drop = only(t, incidents, "link-loss", "link2")
    t.equal("400 frames dropped", drop["cost"]["frames"], 400)
    damage = only(t, incidents, "link-loss", "link0")
    t.equal("1500 frames damaged", damage["cost"]["frames"], 1500)
    t.check("called by its name", "crc" in damage["text"], damage["text"])
    unplug = only(t, incidents, "link-dark", "link3")
    t.check("an unplug of a second", 8000 <= unplug["cost"]["frames"] < 12000 and not unplug["own"], unplug)
    slip = only(t, incidents, "phase-slip", "link3")
    t.check("with a slip of 3 bits", "3 bit" in slip["text"], slip)
    step = only(t, incidents, "phase-jump", "link1")
    size = re.search(r"stepped \+(\d+) ps", step["text"])
    t.check("a step, with its size", size and abs(int(size[1]) - 300) < 50, step["text"])  # ten samples of 20 ps rms know it
    gps = only(t, incidents, "clock-holdover", "clock")
    t.check("GPS was silent for about 70 s", gps["until"] and 40 < gps["until"] - gps["since"] < 90, gps)
    trips = [i for c, o, i in incidents if (c, o) == ("hv-trip", "tower1.floor2")]
    t.equal("two trips: a module, and what the burst did", len(trips), 2)
    t.check("a module was dark for about 25 s", 15 < trips[0]["cost"]["dark_s"] < 60, trips[0]["cost"])
    ramp = only(t, incidents, "hv-low", "tower1.floor2")
    t.check("after it was cleared its voltage rose", ramp["until"], ramp)
    mute = only(t, incidents, "floor-mute", "tower1.floor3")
    t.check("a mute floor is over", mute["until"], mute)
    stall = only(t, incidents, "board-stalled", "board")
    t.check("a stall of 0.4 s of four links", 4 * 3000 < (stall["cost"]["frames"] or 0) < 4 * 4500, stall["cost"])
    only(t, incidents, "floor-identity", "link0")
    t.equal("the swap of two fibres is one incident", [o for c, o, _ in incidents if c == "floor-identity"], ["link0"])
    burst = only(t, incidents, "hits-lost", "tower1.floor2")
    t.check("hits were lost in the burst", burst["cost"]["hits"] > 1000, burst["cost"])
    drift = only(t, incidents, "phase-drift", "link2")
    drifted = [e["difference_ps"] for e in st.ask("phase", "history", "2")["events"] if e["verdict"] == "DRIFT"]
    t.check("a drift, told before it is out", drift["text"].startswith("the phase drifts") and len(drifted) == 1 and
            100 <= drifted[0] < 250, (drift["text"], drifted))
    own = [i for c, o, i in incidents if i["own"]]
    ours = [(i["object"], i["own"].split(" by ")[0]) for i in own]
    t.equal("our own reset is told as ours", ours, [("link3", "reset")])
    t.check("and that is all", len(incidents) == 15, [(c, o, i["text"]) for c, o, i in incidents])
    check_report(t, st, incidents)
    t.account(st, named=[(l, c) for l in range(4)
                         for c in ("link-down", "alignment", "crc", "board-fifo", "time-fault")])


def fits(incident, pairs):
    return any(incident["code"] == code and fnmatch.fnmatch(incident["object"], obj) for code, obj in pairs)


def blind_shift(t, night):
    """Each cause of a night is one incident, with its frames; what comes beside is ours, or was thought of."""
    st = t.station(load="quiet", scenario=scenario(t, *[(at - BEGIN, what) for at, what in night["events"]]))
    st.start()
    st.wait_ready()
    screens = Screens(st)
    screens.start()
    began = time.time() - min(sum(link["cells"].values()) for link in st.status()["links"]) / 8000
    for at, argv in night["operator"]:
        time.sleep(max(0, began + at - time.time()))
        print(f"          fcmctl {' '.join(argv)}: exit {st.ctl(*argv)[0]}", flush=True)
    time.sleep(max(0, began + 305 - time.time()))
    screens.end()
    t.check("status was always a screen", screens.shown > 50 and not screens.too_large, (screens.shown, screens.too_large[:1]))
    left = [i for _, _, i in told(st)]
    for wanted in night["expect"]:
        pairs = [(wanted["code"], wanted["object"]), *wanted.get("alt", [])]
        found = next((i for i in left if fits(i, pairs)), None)
        t.check(f"{wanted['object']}/{wanted['code']}: {wanted['about']}", found,
                [(i["code"], i["object"], round(i["since"] - began)) for i in left])
        if found:
            left.remove(found)
        if found and wanted["frames"]:
            t.equal(f"{wanted['object']}/{wanted['code']} has cost its frames", found["cost"]["frames"], wanted["frames"])
    thought_of = [(m["code"], m["object"]) for m in night["may"]]
    beside = [(i["code"], i["object"], i["text"], round(i["since"] - began)) for i in left if not i["own"] and not fits(i, thought_of)]
    t.check("and that is all", not beside, beside)
    for i in left:
        print(f"          beside: {i['object']}/{i['code']}: {i['text']} (own: {i['own']})", flush=True)


@harness.long
def storm_night(t):
    """bad weather, told blind"""
    blind_shift(t, blind_shifts.SCENARIOS[0])


@harness.long
def patch_panel_works(t):
    """work on shore, told blind"""
    blind_shift(t, blind_shifts.SCENARIOS[1])


@harness.long
def tired_electronics(t):
    """old electronics, told blind"""
    blind_shift(t, blind_shifts.SCENARIOS[2])


class Page(html.parser.HTMLParser):
    """Names of its elements, and what it would ask of others."""

    def __init__(self, text):
        super().__init__()
        self.names, self.asked, self.words = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.asked += [v for k, v in attrs if k in ("src", "href", "data", "action")]

    def handle_data(self, data):
        self.words += data


def check_report(t, st, incidents):
    code, text, err = st.ctl("report", "--since", "1h")
    t.check("the report begins with the shift's own words", code == 0 and
            "twelve faults <in> a row" in text.splitlines()[1], text + err)
    report = st.ask("report", "--since", "1h")
    t.equal("it has each incident", [i["number"] for i in report["incidents"]], [i["number"] for _, _, i in incidents])
    ledger = st.ledger()
    frames = sum(h["frames"] for h in ledger["hops"] if not h["group"])
    t.equal("its lost frames are the ledger's", report["sums"]["frames"], frames)
    t.equal("its dark time is the sum of its causes", round(report["sums"]["dark_s"], 3),
            round(sum(c["dark_s"] for c in report["dark"]["causes"]), 3))
    dark = {i["number"]: i["cost"]["dark_s"] for _, _, i in incidents if i["until"]}  # others are written every 10 s
    account = {}
    for c in report["dark"]["causes"]:
        account[c["incident"]] = account.get(c["incident"], 0) + c["dark_s"]
    t.check("the account of darkness is that of the incidents",
            all(abs(account.get(n, 0) - s) < 1.5 for n, s in dark.items()), (account, dark))
    t.check("remarks and commands are there", [e["object"] for e in report["remarks"]] == ["floor2", "shift"] and
            any(c["parameter"].endswith("clear_trip") for c in report["commands"]), report["remarks"])
    code, text, err = st.ctl("report", "--since", "1h", "--html")
    page = Page(text)
    t.check("as a page: pictures, no request to others, text is text", code == 0 and page.names.count("svg") >= 8 and
            not page.asked and not {"script", "in"} & set(page.names) and "twelve faults <in> a row" in page.words,
            (page.asked, sorted(set(page.names)), err))


def numbers_last(t):
    """a number is given once: an incident that a killed daemon had goes on under it, with its cost"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 2 unplug"), (40, "link 2 plug")))
    st.start()
    st.wait_ready()

    def mine():
        return next((i for i in st.ask("incident", "list")["list"]
                     if (i["object"], i["code"]) == ("link2", "link-dark")), None)
    st.wait_for("a dark link", mine, 30)
    time.sleep(12)  # its row is written every 10 s
    before = mine()
    st.daemon.kill9()
    st.start_daemon()
    st.wait_for("the same incident", lambda: (mine() or {}).get("number") == before["number"], 30)
    after = mine()
    t.check("since the same moment", abs(after["since"] - before["since"]) < 0.01, (before["since"], after["since"]))
    t.check("with what it had cost", after["cost"]["frames"] >= before["cost"]["frames"] - 90000 and
            after["cost"]["dark_s"] > 0.5 * before["cost"]["dark_s"], (before["cost"], after["cost"]))
    st.wait_for("light", lambda: st.status()["links"][2]["state"] == "up", 60)
    st.wait_for("its end", lambda: mine()["state"] == "cleared", 30)
    time.sleep(1)
    listed = [(i["number"], i["state"]) for c, o, i in told(st) if o == "link2" and c == "link-dark"]
    t.equal("one row, cleared", listed, [(before["number"], "cleared")])
    st.daemon.end(20)
    code, out, err = st.ctl("report", "--since", "1h")
    t.check("the report is made without the daemon, too", code == 0 and "link2/link-dark" in out, (code, out, err))
    code, out, err = st.ctl("ledger", "dark", "--since", "1h")
    t.check("so is the account of darkness", code == 0 and "link2/link-dark" in out, (code, out, err))


def named_as_ours(t, st, floor, what):
    """Which command has switched its modules off, and whose: nobody needs to look for it."""
    def mine():
        return [i for i in st.status()["incidents"]["list"] if i["code"] == "hv-off" and i["object"] == floor]
    st.wait_for("it is told", mine, 20)
    i = mine()[0]
    t.check(f"it is named: {what}", re.fullmatch(rf"{what} by {getpass.getuser()} at \d\d:\d\d:\d\d", i["own"] or "") and
            i["own"] in i["text"] and i["action"].startswith("to switch it on: fcmctl set "), i)


def modules_off(t):
    """modules that somebody has switched off are in sight: what is wrong is not WELL, and it can be paused"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    st.wait_for("well", lambda: st.word() == "WELL", 60)
    st.ask("set", "floor2.om1.power", "off", "--yes")
    st.wait_for("ATTENTION", lambda: st.word() == "ATTENTION", 40)
    code, out, _ = st.ctl("status")
    t.check("status says which", code == 0 and re.search(r"modules +! 23/24 on; off: tower1.floor2.om1", out) and
            "tower1.floor2/hv-off" in out, out)
    named_as_ours(t, st, "tower1.floor2", "power off")
    st.ask("incident", "pause", "floor2/hv-off", "--for", "1h", "--reason", "test")
    t.equal("paused it does not count", st.word(), "WELL")
    st.ask("set", "floor2.om1.power", "on", "--yes")
    st.ask("set", "floor2.om1.hv", "1400")
    st.wait_for("its end", lambda: st.status()["modules"]["on"] == 24, 60)
    st.ask("safe", "floor3.om[01]", "--yes")
    named_as_ours(t, st, "tower1.floor3", "safe")
    t.account(st)


if __name__ == "__main__":
    harness.main([numbers_last, modules_off, twelve_faults, storm_night, patch_panel_works, tired_electronics])
