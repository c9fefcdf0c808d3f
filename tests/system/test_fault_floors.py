#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of floors, board and consumers: each ends in the right counter, state and message; nobody else loses."""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import BEGIN, scenario, codes, events, sees, lost  # noqa: E402


def board_stalled(t):
    """the board's DMA hangs for longer than the rings hold: said, counted by name, recovered, no consumer blamed"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "stall 3")))
    st.start()
    st.wait_ready()
    sees(t, st, "board-stalled", "board")
    st.wait_for("the stall's end", lambda: ("board-stalled", "board") not in codes(st), 20)
    st.wait_for("all links up again", lambda: all(l["state"] == "up" for l in st.status()["links"]), 20)
    st.wait_for("the ends in the events", lambda: sum(e["severity"] == "info" for e in events(st, "link-loss")) == 4, 15)
    lost_in = {i["number"]: i for i in st.status()["incidents"]["list"] if i["cost"]["frames"]}
    t.check("one incident, the board's, with the losses of four links", [i["code"] for i in lost_in.values()] == ["board-stalled"] and
            {o["object"] for i in lost_in.values() for o in i["observations"] if o["code"] == "link-loss"} ==
            {f"link{n}" for n in range(4)}, list(lost_in.values()))
    t.equal("no link is called silent for it", events(st, "link-silent"), [])
    ledger = t.account(st, named=[(l, c) for l in range(4) for c in ("board-fifo", "alignment")])
    t.check("the frames of the stall are named", all(lost(ledger, l, "board-fifo") > 16000 for l in range(4)),
            [lost(ledger, l, "board-fifo") for l in range(4)])
    t.equal("no consumer is charged for it", [x for x in ledger["losses"] if x["kind"] == "group"], [])


def mute_then_dark(t, st):
    """A mute floor whose link goes dark is still mute: over when it has answered."""
    sees(t, st, "floor-mute", "floor4", 30)
    sees(t, st, "link-dark", "link3", 30)
    st.wait_for("floor-mute over", lambda: len(events(st, "floor-mute")) > 1, 40)
    mute, dark = events(st, "floor-mute"), events(st, "link-dark")
    t.equal("mute once, over once", [e["severity"] for e in mute], ["red", "info"])
    t.check("over long after the dark", mute[-1]["time"] > dark[-1]["time"] + 3, (mute, dark))


@harness.long
def bioluminescence(t):
    """a burst overflows the FCM's FIFOs: whole hits are lost there, flagged; no frame is lost. In the minute until that is
    over another floor becomes mute, its link dark: it is still mute, until it has answered"""
    st = t.station(scenario=scenario(t, (0, "link 2 burst 3000000 2"), (1, "link 3 mute"), (13, "link 3 unplug 6"),
                                     (25, "link 3 unmute")))
    st.start()
    st.wait_ready()
    sees(t, st, "hits-lost", "tower1.floor3", 40)
    r = [r for r in st.seen() if r["code"] == "hits-lost"]
    t.check("one line, a warning, which names the modules", len(r) == 1 and r[0]["severity"] == "warning" and
            re.search(r": \d+ hits lost .* om\d \d+", r[0]["text"]), r)
    told = int(re.search(r": (\d+) hits lost", r[0]["text"]).group(1))
    mute_then_dark(t, st)
    st.wait_for("the end in the events", lambda: any(e["severity"] == "info" for e in events(st, "hits-lost")), 90)
    over = [e["text"] for e in events(st, "hits-lost") if e["severity"] == "info"]
    m = re.fullmatch(r"is over: (\d+) hits lost by the modules' FIFOs within (\d+) s: (om\d \d+(?:, om\d \d+)*)", over[0])
    t.check("the end has the sum of its modules, and the time in which they lost them", m and len(over) == 1 and
            sum(int(x.split()[1]) for x in m.group(3).split(", ")) == int(m.group(1)) >= told and
            2 <= int(m.group(2)) <= 40, over)
    ledger = t.account(st, named=[(3, "link-down"), (3, "alignment"), (3, "crc")])
    t.check("damaged is at most the frame in which the light went", ledger["totals"]["links"][3]["crc"] <= 1, ledger["totals"])
    s = st.summaries()["trigger-1"]
    t.check("the consumer sees FifoFull", s.get("fifo_full", 0) > 0, s)


def trip_answered(t, st, om):
    """What status advises of a trip: lower the set value, the module stays off; clear, and it ramps to that."""
    def value(name):
        return st.ask("get", name)["parameters"][0]["value"]
    code, out, err = st.ctl("set", f"{om}.hv", "1300")
    t.check("a tripped module takes a lower HV and says that it stays off", code == 0 and
            "the FCM holds 1300.0 V" in out and "stays off until" in out, (code, out, err))
    t.equal("it is off", value(f"{om}.hv"), 0)
    code, out, err = st.ctl("set", f"{om}.hv", "1310")
    t.check("a higher one is refused, with what to do", code == 1 and "trip is on" in err, (code, out, err))
    code, out, err = st.ctl("action", f"{om.split('.')[0]}.*.clear_trip", "--yes")
    t.check("the clear of all its floor's says where the HV goes", code == 0 and "6 of 6 done" in out and
            f"{om}.hv now goes to 1300.0 V, within" in out, (code, out, err))
    sees(t, st, "hv-low", "tower1.floor2", 20)
    st.wait_for("the HV at its new set value", lambda: abs(value(f"{om}.hv") - 1300) < 3, 30)


def slow_control_faults(t):
    """lost and duplicated replies, a refusal, a mute FCM, a trip, a boot: every command ends in a true state"""
    st = t.station(load="quiet",
                   scenario=scenario(t, (0, "link 0 lose-replies 1"), (0, "link 1 duplicate-replies 20"),
                                     (0, "link 2 refuse 1"), (0, "link 3 mute"), (12, "link 3 unmute"),
                                     (18, "link 1 hv-trip 2"), (19, "link 1 hv-trip 4"), (20, "link 0 fcm-boot")))
    st.start()
    st.wait_ready()
    st.wait_for("floor 4 mute", lambda: any("mute" in c for c, _ in codes(st)), 40)
    code, out, err = st.ctl("set", "floor1.om0.threshold", "15")
    t.equal("lost reply: done all the same", code, 0) or print(out, err)
    code, out, err = st.ctl("set", "floor2.om0.threshold", "16")
    t.equal("duplicated replies: done once", code, 0) or print(out, err)
    code, out, err = st.ctl("set", "floor3.om0.threshold", "17")
    t.check("refused by the FCM: exit 1 and why", code in (0, 1), (code, out, err))
    st.ctl("set", "--no-wait", "floor4.om0.threshold", "18")
    st.wait_for("the mute floor's command settled", lambda: all(
        c["ended"] for c in st.ask("command", "list")["commands"]), 40)
    states = {c["parameter"].split(".")[1]: c["state"] for c in st.ask("command", "list")["commands"]}
    t.equal("mute floor: settled after it spoke again", states["floor4"], "DONE")
    sees(t, st, "hv-trip", "tower1.floor2", 40)
    st.wait_for("both trips in one line", lambda: [r["text"][-8:] for r in st.seen() if
                                                   r["code"] == "hv-trip"] == ["om2, om4"], 20)
    trip_answered(t, st, "floor2.om2")
    sees(t, st, "fcm-booted", "tower1.floor1", 40)
    time.sleep(2)
    t.equal("one boot is one event", [(e["object"], e["severity"]) for e in events(st, "fcm-booted")],
            [("tower1.floor1", "warning")])
    t.account(st, named=[(0, "link-down"), (0, "alignment")])


def boot_unheard(t):
    """an FCM boots while no daemon runs: the next one tells it, once; it is still shown by the one behind that"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 1 fcm-boot")))
    st.start()
    began = time.monotonic()
    st.wait_ready()
    before = int(st.ask("get", "floor2.fcm.boot_count")["parameters"][0]["value"])
    for _ in range(2):
        st.daemon.kill9()
        time.sleep(max(0.5, began + BEGIN + 4 - time.monotonic()))
        st.start_daemon()
        sees(t, st, "fcm-booted", "tower1.floor2", 20)
    st.wait_for("the event is written", lambda: events(st, "fcm-booted"))
    told = events(st, "fcm-booted")
    t.check("one boot is one event, with both counts", [e["object"] for e in told] == ["tower1.floor2"] and
            f"(boot count {before + 1}, was {before})" in told[0]["text"], told)
    t.equal("the daemon ends with 0", st.stop(), 0)


def consumers_lag(t):
    """one group that lags is that consumer's doing, all together are this machine's"""
    st = t.station(load="quiet", depth_ms=8000, config=["[data]", "consumer_dead_ms = 60000"])  # paused, not dead
    st.start()
    st.wait_ready()

    def lags(*names):
        for name in names:
            st.consumers[name].signal(signal.SIGSTOP)
        r = {}

        def seen():
            r.update({x["object"]: x["action"] for x in st.seen() if x["code"] == "consumer-lag"})
            return len(r) == len(names)
        st.wait_for("the lag", seen, 10)
        time.sleep(0.3)
        seen()  # both known to lag
        for name in names:
            st.consumers[name].signal(signal.SIGCONT)
        st.wait_for("caught up", lambda: not any(c == "consumer-lag" for c, _ in codes(st)), 10)
        return r
    r = lags("trigger-1")
    t.check("one alone", list(r) == ["group trigger"] and "is the consumer busy" in r["group trigger"], r)
    st.consumers["acoustic-1"].signal(signal.SIGSTOP)
    time.sleep(6)
    members = {m["member"]: m["alive"] for m in st.ask("consumer", "list")["members"]}
    st.consumers["acoustic-1"].signal(signal.SIGCONT)
    t.equal("silent for less than consumer_dead_ms: still a member", members.get("acoustic-1"), True)
    st.wait_for("caught up", lambda: not any(c == "consumer-lag" for c, _ in codes(st)), 10)
    r = lags("trigger-1", "acoustic-1")
    t.check("all together", sorted(r) == ["group acoustic", "group trigger"] and
            all("this machine" in a for a in r.values()), r)
    rates = [l["frames_per_s"] for l in st.status()["links"]]
    t.check("frames a second by the board's count", all(abs(x - 8000) < 1 for x in rates), rates)
    t.account(st)


def consumer_stopped(t):
    """a group whose only consumer is stopped: which, since when, not that a second one is wanted; it comes back by itself"""
    st = t.station(load="quiet", depth_ms=8000, config=["[data]", "consumer_dead_ms = 2000"])
    st.start()
    st.wait_ready()
    st.consumers["trigger-1"].signal(signal.SIGSTOP)
    sees(t, st, "consumer-none", "group trigger")
    r = [r for r in st.seen() if r["code"] == "consumer-none"]
    st.consumers["trigger-1"].signal(signal.SIGCONT)
    t.check("the stopped one is named", len(r) == 1 and r[0]["text"].startswith("trigger-1 has been silent since 2") and
            "start it again only where it has ended" in r[0]["action"], r)
    st.wait_for("it to be back", lambda: "consumer-none" not in {c for c, _ in codes(st)}, 15)
    t.account(st)


if __name__ == "__main__":
    harness.main([board_stalled, bioluminescence, slow_control_faults, boot_unheard, consumers_lag, consumer_stopped])
