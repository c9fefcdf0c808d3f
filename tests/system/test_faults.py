#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every fault of a scenario ends in the right counter, state and message, and the other links lose nothing."""
import os
import re
import shlex
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

# struct consumer_record of consumer_check.h: magic, link, status, block_flags. FCM_BLOCK_GAP, enum tdm_loss.
RECORD = struct.Struct("<HB3xB21xI96x")
RECORD_MAGIC, BLOCK_GAP, GOOD, LINK_DOWN = 0x5246, 0x002, 0, 1
SLICE = 1600  # frames
# Seconds of data before the first fault: time for the links to align and the clock to lock.
BEGIN = 10


def scenario(t, *events):
    lines = ["from data"] + [f"at {BEGIN + at} {what}" for at, what in events]
    return t.scenario("\n".join(lines) + "\n")


def codes(st):
    return {(r["code"], r["object"]) for r in st.status()["reasons"]}


def events(st, code=None):
    """Oldest first."""
    return [e for e in reversed(st.ask("event", "list", "--limit", "500")["events"]) if code in (None, e["code"])]


def sees(t, st, code, obj, timeout=20):
    """Status shows this reason, with a text and something to do."""
    found = []

    def shown():
        found[:] = [r for r in st.status()["reasons"] if r["code"] == code and obj in r["object"]]
        return bool(found)
    try:
        st.wait_for(f"{code} of {obj}", shown, timeout)
    except Exception:
        t.check(f"status says {code} of {obj}", False, st.status()["reasons"])
        return
    t.check(f"status says {code} of {obj}, and what to do", found[0]["text"] and found[0]["action"], found)
    for asked in re.findall(r"fcmctl ((?:get|link show|link list|ledger show|event list|consumer list|phase history|"
                            r"clock show)\b[^;:,()?!]*?)(?= (?:names|shows|tells|then)\b|[;:,()?!]|\. |\.?$)",
                            found[0]["action"]):
        exit_code, _, err = st.ctl(*shlex.split(asked))
        t.check(f"fcmctl {asked} can be typed", exit_code == 0, err)


def lost(ledger, link, code):
    return sum(x["frames"] for x in ledger["losses"] if x["kind"] == "link" and x["link"] == link and
               x["code"] == code)


def lost_later(ledger, link, code):
    """The same, behind the link's beginning."""
    return sum(x["frames"] for x in harness.after_beginning(ledger) if x["link"] == link and x["code"] == code)


def dark_frames(st, consumer, link):
    """Frames that the consumer was told to be link-down, behind the link's first good one: (all, in gap blocks)."""
    dark = gap = 0
    begun = False
    with open(st.path(f"{consumer}.rec"), "rb") as f:
        for magic, on, status, flags in RECORD.iter_unpack(f.read()):
            if magic == RECORD_MAGIC and on == link:
                begun = begun or status == GOOD
                if begun and status == LINK_DOWN:
                    dark += 1
                    gap += flags & BLOCK_GAP != 0
    return dark, gap


def damage_on_the_fibre(t):
    """bad CRC, dropped frames, lost alignment, false frame numbers: each on a link of its own"""
    st = t.station(scenario=scenario(t, (0, "link 0 crc 5"), (0.5, "link 1 drop 7"), (1, "link 2 unalign"),
                                     (1.5, "link 3 time-fault 4")))
    st.start()
    st.wait_ready()
    for link in range(4):
        sees(t, st, "link-loss", f"link{link}")
    slips = [e for e in st.ask("event", "list")["events"] if e["code"] == "byte-slip"]
    t.check("link 2's frames at another byte: an event says why there is no verdict", len(slips) == 1 and
            slips[0]["object"] == "link2" and "no new verdict" in slips[0]["text"], slips)
    code, out, err = st.ctl("link", "align", "2")
    t.check("which link align brings", code == 0 and "PASS" in out, (code, out, err))
    ledger = t.account(st, named=[(0, "crc"), (1, "board-fifo"), (2, "link-down"), (2, "alignment"), (2, "crc"), (3, "time-fault")])
    t.equal("link 0: the 5 frames with a bad CRC", lost(ledger, 0, "crc"), 5)
    t.equal("link 1: the 7 dropped frames", lost(ledger, 1, "board-fifo"), 7)
    t.check("link 2: alignment lost and found again within a few frames", 3 <= lost(ledger, 2, "alignment") < 20,
            lost(ledger, 2, "alignment"))
    t.check("link 3: the 4 false numbers, and at most 2 to trust them again", 4 <= lost(ledger, 3, "time-fault") <= 8,
            lost(ledger, 3, "time-fault"))
    t.check("every loss has its floor and frame range", all(x["floor"] == x["link"] + 1 and x["frames"] > 0
                                                          for x in ledger["losses"] if x["kind"] == "link" and
                                                          x["frames"] < 100 and x["floor"]), ledger["losses"])


def bursts_of_losses(t):
    """while losses are shown, each further burst and kind is an event of its own, with an end and its totals"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 2 crc 5"), (6, "link 2 crc 90"), (7, "link 2 drop 40")))
    st.start()
    st.wait_ready()
    st.wait_for("both ends", lambda: sum(e["severity"] == "info" for e in events(st, "link-loss")) == 2, 40)
    said = [(e["object"], e["severity"], re.sub(r"\d+\.\d s", "S s", e["text"])) for e in events(st, "link-loss")]
    wanted = [("link2", "warning", "frames are being lost: 5 crc"),
              ("link2", "info", "is over: 5 frames lost in S s: 5 crc"),
              ("link2", "warning", "frames are being lost: N crc"),
              ("link2", "warning", "frames are still being lost, until now: M board-fifo, 90 crc"),
              ("link2", "info", "is over: 130 frames lost in S s: 40 board-fifo, 90 crc")]
    said = [(o, s, re.sub(r"lost: \d+ crc$", "lost: N crc", t) if n == 2 else re.sub(r"now: \d+ b", "now: M b", t))
            for n, (o, s, t) in enumerate(said)]
    t.equal("begin, end, begin, another kind, end", said, wanted)
    t.account(st, named=[(2, "crc"), (2, "board-fifo")])


def reasons_in_order(t):
    """what is wrong for longer comes first, red before warnings"""
    st = t.station(scenario=scenario(t, (0, "link 3 unplug 9"), (2, "link 0 unplug 7"), (4, "link 1 unplug 5")),
                   truth=False)
    st.start()
    st.wait_ready()

    def dark():
        return [r["object"] for r in st.status()["reasons"] if r["code"] == "link-dark"]
    st.wait_for("three dark links", lambda: len(dark()) == 3, 30)
    reasons = st.status()["reasons"]
    t.equal("the first that went dark comes first", dark(), ["link3", "link0", "link1"])
    t.check("red ones, then the oldest first", all(
        (a["severity"], b["severity"]) == ("red", "warning") or
        (a["severity"] == b["severity"] and a["since"] < b["since"] + 0.01) for a, b in zip(reasons, reasons[1:])), reasons)
    t.check("each tells what is documented, and no more",
            all(set(r) == {"severity", "code", "object", "text", "action", "since"} for r in reasons), reasons)
    st.stop()


def fibre_unplugged(t):
    """a fibre out and in again: dark, gap blocks, lock and verdict on return"""
    st = t.station(scenario=scenario(t, (0, "link 1 unplug 2")))
    st.start()
    st.wait_ready()
    sees(t, st, "link-dark", "link1")
    st.wait_for("link 1 up again", lambda: st.status()["links"][1]["state"] == "up", 20)
    st.wait_for("the verdict PASS", lambda: st.status()["phases"][1]["last"]["verdict"] == "PASS", 10)
    r = [r for r in st.status()["reasons"] if r["code"] == "link-loss"]
    t.check("lost in the last minute, of link 1 alone", [x["object"] for x in r] == ["link1"], r)
    st.wait_for("its end in the events", lambda: len(events(st, "link-loss")) > 1 and
                events(st, "link-loss")[-1]["severity"] == "info", 15)
    r = [r for r in st.status()["reasons"] if r["code"] == "link-loss"]
    t.check("then it has ended, and is a warning", len(r) == 1 and "ended" in r[0]["text"] and
            r[0]["severity"] == "warning", r)
    said = events(st, "link-loss")
    ledger = t.account(st, named=[(1, "link-down"), (1, "alignment"), (1, "crc")])
    over = re.fullmatch(r"is over: (\d+) frames lost in (\d+\.\d) s: (.*)", said[-1]["text"])
    t.check("the event of the end has the losses' own duration", over and 2.0 <= float(over[2]) < 4, said)
    t.check("and totals by name: the ledger's", over and f"{lost_later(ledger, 1, 'link-down')} link-down" in over[3],
            (said, ledger["losses"]))
    t.check("about 2 s of link-down", 15000 <= lost(ledger, 1, "link-down") <= 20000, lost(ledger, 1, "link-down"))
    named = lost_later(ledger, 1, "link-down")
    dark, gap = dark_frames(st, "trigger-1", 1)
    t.equal("the consumer is told of each of them", dark, named)
    t.check("whole dark slices come as gap blocks", gap % SLICE == 0 and gap > dark - 2 * SLICE, (gap, dark))
    t.equal("nothing dark on another link", [dark_frames(st, "trigger-1", link) for link in (0, 2, 3)], [(0, 0)] * 3)


def fibres_swapped(t):
    """two fibres swapped and back: found from the floors' own names, writes refused, no false verdict, no false boot"""
    st = t.station(scenario=scenario(t, (0, "swap 0 3"), (10, "swap 0 3")))
    st.start()
    st.wait_ready()
    sees(t, st, "floor-identity", "link0")
    sees(t, st, "floor-identity", "link3")
    code, _, err = st.ctl("set", "floor1.om0.threshold", "11")
    t.check("a write to a swapped floor is refused with what to do", code == 1 and err, (code, err))
    code, _, err = st.ctl("phase", "accept", "0", "--reason", "test")
    t.check("the other floor's phase cannot become the reference", code == 1 and "another floor" in err, (code, err))
    t.equal("no verdict on the other floor", [c for c in codes(st) if c[0].startswith("phase-")], [])
    st.wait_for("the right floors back", lambda: not any(c == "floor-identity" for c, _ in codes(st)), 20)
    st.wait_for("judged again", lambda: all(st.status()["phases"][l]["last"]["age_s"] < 9 for l in (0, 3)), 10)
    phases = st.status()["phases"]
    t.equal("the right floors pass, no jump is counted", [(phases[l]["last"]["verdict"], phases[l]["jumps"],
                                                           phases[l]["slips"]) for l in (0, 3)], [("PASS", 0, 0)] * 2)
    t.equal("no floor has booted, no phase has jumped", [e for e in events(st) if e["code"] == "fcm-booted" or
                                                         e["code"].startswith("phase-")], [])
    ledger = t.account(st, named=[(l, c) for l in (0, 3) for c in ("link-down", "alignment", "crc", "time-fault")])
    t.check("rows after it carry the floor's own name", any(r["link"] == 0 and r["floor"] == 4
                                                           for r in ledger["links"]), ledger["links"][-4:])


def gps_lost_and_back(t):
    """a silent receiver: holdover, uncertainty grows, data flow; its return locks in the same time epoch"""
    st = t.station(scenario=scenario(t, (0, "gps silent"), (9, "gps ok")))
    st.start()
    st.wait_ready()
    epoch = st.status()["clock"]["time_epoch"]
    sees(t, st, "clock-holdover", "clock", 30)
    first = st.status()["clock"]["uncertainty_ns"]
    time.sleep(3)
    later = st.status()["clock"]["uncertainty_ns"]
    t.check("uncertainty grows", later > first, (first, later))
    st.wait_for("locked again", lambda: st.status()["clock"]["state"] == "locked", 40)
    t.equal("same time epoch", st.status()["clock"]["time_epoch"], epoch)
    t.account(st)


def gpsd_jumps(t):
    """gpsd jumps by 2 s and keeps to it: said by how much, given in to, told for long; losses have the data's time"""
    st = t.station(scenario=scenario(t, (0, "gps jump 2"), (42, "link 1 crc 5")), truth=False)
    st.start()
    st.wait_ready()
    epoch = st.status()["clock"]["time_epoch"]
    t.check("no relabelling is told before", st.status()["clock"]["relabelled"] is None)
    sees(t, st, "clock-fault", "clock", 30)
    reason = st.status()["clock"]["reason"]
    t.check("the fault says by how much", "it is 2 s ahead of the time in use" in reason, reason)
    sees(t, st, "clock-relabelled", f"time epoch {epoch + 1}", 60)
    st.wait_for("locked again", lambda: st.status()["clock"]["state"] == "locked", 10)
    status = st.status()
    clock = status["clock"]
    told = "time relabelled by +2.000 s at 20"
    t.equal("by 2 s, a new time epoch", (clock["relabelled"]["by_s"], clock["relabelled"]["time_epoch"],
                                         clock["time_epoch"]), (2, epoch + 1, epoch + 1))
    t.check("the warning stays beside a locked clock", [r for r in status["reasons"] if told in r["text"]],
            status["reasons"])
    # An emulator that is late by a second still leaves the most of the 2 s.
    t.check("the system clock is 2 s behind", -2.5 < clock["system_offset_s"] < -0.5, clock)
    time.sleep(2)  # rows are written in groups
    events = st.ask("event", "list")["events"]
    t.check("an event says it", [e for e in events if told in e["text"] and e["action"] and
                                 f"time epoch {epoch} -> {epoch + 1}" in e["text"]], events)
    history = st.ask("clock", "history")["events"]
    t.check("the clock's history says it", [e for e in history if told in e["reason"]], history)
    sees(t, st, "link-loss", "link1")
    time.sleep(2)  # the same
    st.daemon.kill9()
    st.start_daemon()
    st.wait_ready()
    status = st.status()
    t.check("a restarted daemon warns on", [r for r in status["reasons"] if r["code"] == "clock-relabelled" and
                                            told in r["text"]], status["reasons"])
    t.check("with the time of the relabelling", abs(status["clock"]["relabelled"].pop("time") -
                                                    clock["relabelled"].pop("time")) < 0.1 and
            status["clock"]["relabelled"] == clock["relabelled"], (status["clock"], clock))
    time.sleep(1)
    history = st.ask("clock", "history")["events"]
    t.equal("which is in the history once", sum(told in e["reason"] for e in history), 1)
    st.stop()
    losses = [x for x in st.ledger()["losses"] if x["link"] == 1 and x["code"] == "crc"]
    t.check("a loss begins at its label's time", losses and all(abs(x["begun"] + 37 - x["tai"]) < 1e-3 and
                                                                0.2 < x["begun"] - x["time"] < 2.5 for x in losses),
            losses)


def gpsd_killed(t):
    """gpsd itself dies and is started again"""
    st = t.station()
    st.start()
    st.wait_ready()
    st.gpsd.kill9()
    sees(t, st, "clock-holdover", "clock", 30)
    t.check("gpsd not connected", not st.status()["clock"]["gpsd"]["connected"])
    st.start_gpsd()
    st.wait_for("locked again", lambda: st.status()["clock"]["state"] == "locked", 40)
    t.account(st)


def board_stalled(t):
    """the board's DMA hangs for longer than the rings hold: said, counted by name, recovered, no consumer blamed"""
    st = t.station(scenario=scenario(t, (0, "stall 3")))
    st.start()
    st.wait_ready()
    sees(t, st, "board-stalled", "board")
    st.wait_for("the stall's end", lambda: ("board-stalled", "board") not in codes(st), 20)
    st.wait_for("all links up again", lambda: all(l["state"] == "up" for l in st.status()["links"]), 20)
    st.wait_for("the ends in the events", lambda: sum(e["severity"] == "info" for e in events(st, "link-loss")) == 4, 15)
    r = [r for r in st.status()["reasons"] if r["code"] == "link-loss"]
    t.check("all links name the one cause", len(r) == 4 and all("the board did it" in x["text"] and
                                                                "one cause" in x["action"] for x in r), r)
    ledger = t.account(st, named=[(l, c) for l in range(4) for c in ("board-fifo", "alignment")])
    t.check("the frames of the stall are named", all(lost(ledger, l, "board-fifo") > 16000 for l in range(4)),
            [lost(ledger, l, "board-fifo") for l in range(4)])
    t.equal("no consumer is charged for it", [x for x in ledger["losses"] if x["kind"] == "group"], [])


def bioluminescence(t):
    """a burst overflows the FCM's FIFOs: whole hits are lost there, flagged; no frame is lost"""
    st = t.station(scenario=scenario(t, (0, "link 2 burst 3000000 2")))
    st.start()
    st.wait_ready()
    sees(t, st, "hits-lost", "tower1.floor3", 40)
    r = [r for r in st.status()["reasons"] if r["code"] == "hits-lost"]
    t.check("one line, a warning, which names the modules", len(r) == 1 and r[0]["severity"] == "warning" and
            re.search(r": \d+ hits lost .* om\d \d+", r[0]["text"]), r)
    told = int(re.search(r": (\d+) hits lost", r[0]["text"]).group(1))
    st.wait_for("the end in the events", lambda: any(e["severity"] == "info" for e in events(st, "hits-lost")), 90)
    over = [e["text"] for e in events(st, "hits-lost") if e["severity"] == "info"]
    m = re.fullmatch(r"is over: (\d+) hits lost within (\d+) s: (om\d \d+(?:, om\d \d+)*)", over[0])
    t.check("the end has the sum of its modules, and the time in which they lost them", m and len(over) == 1 and
            sum(int(x.split()[1]) for x in m.group(3).split(", ")) == int(m.group(1)) >= told and
            2 <= int(m.group(2)) <= 40, over)
    t.account(st)
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
    code, out, err = st.ctl("action", f"{om.split('.')[0]}.*.clear_trip")
    t.check("the clear of all its floor's says where the HV goes", code == 0 and "6 of 6 done" in out and
            f"{om}.hv now goes to 1300.0 V, within" in out, (code, out, err))
    st.wait_for("the HV at its new set value", lambda: abs(value(f"{om}.hv") - 1300) < 3, 30)


def slow_control_faults(t):
    """lost and duplicated replies, a refusal, a mute FCM, a trip, a boot: every command ends in a true state"""
    st = t.station(load="quiet",
                   scenario=scenario(t, (0, "link 0 lose-replies 1"), (0, "link 1 duplicate-replies 20"),
                                     (0, "link 2 refuse 1"), (0, "link 3 mute"), (6, "link 3 unmute"),
                                     (12, "link 1 hv-trip 2"), (13, "link 1 hv-trip 4"), (14, "link 0 fcm-boot")))
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
    st.wait_for("both trips in one line", lambda: [r["text"][-8:] for r in st.status()["reasons"] if
                                                   r["code"] == "hv-trip"] == ["om2, om4"], 20)
    trip_answered(t, st, "floor2.om2")
    sees(t, st, "fcm-booted", "link0", 40)
    time.sleep(2)
    t.equal("one boot is one event", [(e["object"], e["severity"]) for e in events(st, "fcm-booted")],
            [("link0", "warning")])
    t.account(st, named=[(0, "link-down"), (0, "alignment")])


def mute_then_dark(t):
    """a mute floor whose link goes dark is still mute: over when it has answered"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 3 mute"), (12, "link 3 unplug 2"), (20, "link 3 unmute")))
    st.start()
    st.wait_ready()
    sees(t, st, "floor-mute", "floor4", 30)
    sees(t, st, "link-dark", "link3", 30)
    st.wait_for("floor-mute over", lambda: len(events(st, "floor-mute")) > 1, 40)
    mute, dark = events(st, "floor-mute"), events(st, "link-dark")
    t.equal("mute once, over once", [e["severity"] for e in mute], ["alarm", "info"])
    t.check("over long after the dark", mute[-1]["time"] > dark[-1]["time"] + 3, (mute, dark))
    t.account(st, named=[(3, "link-down"), (3, "alignment"), (3, "crc")])


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
            r.update({x["object"]: x["action"] for x in st.status()["reasons"] if x["code"] == "consumer-lag"})
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


def soak_finds_the_slips(t):
    """20 trials of reset and align find exactly the injected bit slips"""
    slips = [3, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]
    text = "".join(f"at 0.1 link 2 slip-on-align {n}\n" for n in slips)
    st = t.station(load="quiet", scenario=t.scenario("from data\n" + text.replace("at 0.1", f"at {BEGIN - 2}")))
    st.start()
    st.wait_ready()
    time.sleep(BEGIN)
    answer = st.request("phase.soak", timeout=300, link=2, trials=20, interval_s=0.5, command="reset")
    t.check("the soak ends", answer["ok"], answer)
    found = [x["slip"] % 10 if x["verdict"] == "SLIP" else 0 for x in answer["result"]["trials"]]
    t.equal("exactly the injected slips", found, slips)
    t.equal("the rest passed", answer["result"]["passes"], slips.count(0))
    sees(t, st, "phase-slip", "link2") if slips[-1] else None
    t.account(st, named=[(2, c) for c in ("link-down", "alignment", "crc", "time-fault")])


if __name__ == "__main__":
    harness.main([damage_on_the_fibre, bursts_of_losses, reasons_in_order, fibre_unplugged, fibres_swapped,
                  gps_lost_and_back, gpsd_jumps, gpsd_killed, board_stalled, bioluminescence, slow_control_faults, mute_then_dark, consumers_lag,
                  soak_finds_the_slips])
