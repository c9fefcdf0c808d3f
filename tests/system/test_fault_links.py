#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of fibres: each ends in the right counter, state and message; nobody else loses."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import SLICE, scenario, codes, events, sees, lost, lost_later, dark_frames  # noqa: E402


def damage_on_the_fibre(t):
    """bad CRC up and down, dropped frames, lost alignment, false frame numbers: each on a link of its own"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 0 crc 5"), (0.5, "link 1 drop 7"),
                                                   (1, "link 2 unalign"), (1.5, "link 3 time-fault 4"),
                                                   (2, "link 0 down-crc 400")))
    st.start()
    st.wait_ready()
    for link in range(4):
        sees(t, st, "link-loss", f"link{link}")
    sees(t, st, "downlink-errors", "link0")
    st.wait_for("the 400 frames damaged on the way down", lambda: st.status()["links"][0]["downlink_errors"] >= 400, 10)
    t.equal("by the floors' own count", [l["downlink_errors"] for l in st.status()["links"]], [400, 0, 0, 0])
    sees(t, st, "byte-slip", "link2")
    st.wait_for("link 3's losses to be over", lambda: any(e["object"] == "link3" and e["severity"] == "info"
                                                          for e in events(st, "link-loss")), 20)
    t.check("link 2's frames stay at another byte: it stands on", ("byte-slip", "link2") in codes(st) and
            st.status()["links"][2]["offset_bytes"] > 0, st.seen())
    out = st.ctl("link", "show", "2")[1]
    t.check("and link show says it", "aligned at byte" in out, out)
    slips = [e for e in st.ask("event", "list")["events"] if e["code"] == "byte-slip"]
    t.check("link 2's frames at another byte: an event says why there is no verdict", len(slips) == 1 and
            slips[0]["object"] == "link2" and "no new verdict" in slips[0]["text"], slips)
    code, out, err = st.ctl("link", "align", "2")
    t.check("which link align brings", code == 0 and "PASS" in out, (code, out, err))
    st.wait_for("link 2's frames back at byte 0", lambda: ("byte-slip", "link2") not in codes(st), 10)
    st.wait_for("and the event of its end", lambda: [e["severity"] for e in events(st, "byte-slip")] ==
                ["warning", "info"], 10)
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
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 2 crc 5"), (6, "link 2 crc 60"), (7, "link 2 drop 30")))
    st.start()
    st.wait_ready()
    st.wait_for("both ends", lambda: sum(e["severity"] == "info" for e in events(st, "link-loss")) == 2, 40)
    said = [(e["object"], e["severity"], re.sub(r"\d+\.\d s", "S s", e["text"])) for e in events(st, "link-loss")]
    wanted = [("link2", "warning", "frames are being lost: 5 crc"),
              ("link2", "info", "is over: 5 frames lost in S s: 5 crc"),
              ("link2", "warning", "frames are being lost: N crc"),
              ("link2", "warning", "more frames were lost, until now: M board-fifo, 60 crc"),
              ("link2", "info", "is over: 90 frames lost in S s: 30 board-fifo, 60 crc")]
    said = [(o, s, re.sub(r"lost: \d+ crc$", "lost: N crc", t) if n == 2 else re.sub(r"now: \d+ b", "now: M b", t))
            for n, (o, s, t) in enumerate(said)]
    t.equal("begin, end, begin, another kind, end", said, wanted)
    t.account(st, named=[(2, "crc"), (2, "board-fifo")])


def reasons_in_order(t):
    """the newest comes first, red before warnings"""
    st = t.station(load="quiet", truth=False, scenario=scenario(t, (0, "link 3 unplug 18"), (5, "link 0 unplug 13"),
                                                                (10, "link 1 unplug 8")))
    st.start()
    st.wait_ready()

    def dark():
        return [r["object"] for r in st.seen() if r["code"] == "link-dark"]
    st.wait_for("three dark links", lambda: len(dark()) == 3, 30)
    listed = [i for i in st.status()["incidents"]["list"] if i["state"] == "active"]
    t.equal("the last that went dark comes first", dark(), ["link1", "link0", "link3"])
    t.check("red ones, then the newest first", all(
        (a["severity"], b["severity"]) == ("red", "warning") or
        (a["severity"] == b["severity"] and a["since"] > b["since"] - 0.01) for a, b in zip(listed, listed[1:])), listed)
    t.equal("a link is an incident", [i["object"] for i in listed if i["code"] == "link-dark"], dark())
    st.stop()


def losses_of_the_start(t):
    """what a link loses before its first good frame is in the ledger, and no loss of the last minute"""
    st = t.station(load="quiet", scenario=t.scenario("from start\nat 0 link 2 unplug 6\n"))
    st.start()
    st.wait_ready()
    links = st.status()["links"]
    t.check("link 2 began dark", links[2]["cells"]["link-down"] > 800, links[2]["cells"])
    t.equal("lost in the last minute", [l["lost_last_minute"] for l in links], [0] * 4)
    rows = [x.split() for x in st.ctl("status")[1].splitlines() if re.match(r" +[0-3]  up ", x)]
    t.equal("on the screen", [r[-3] for r in rows], ["0"] * 4)  # before "moved ps" and "re-lock"
    t.account(st, named=[(2, "link-down"), (2, "alignment")])


def fibre_unplugged(t):
    """a fibre out and in again: dark, gap blocks, lock and verdict on return"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 1 unplug 2")))
    st.start()
    st.wait_ready()
    sees(t, st, "link-dark", "link1")
    st.wait_for("link 1 up again", lambda: st.status()["links"][1]["state"] == "up", 20)
    st.wait_for("the verdict PASS", lambda: st.status()["phases"][1]["last"]["verdict"] == "PASS", 10)
    r = [r for r in st.seen(cleared=True) if r["code"] == "link-loss"]
    t.equal("lost of link 1 alone", {x["object"] for x in r}, {"link1"})
    st.wait_for("its end in the events", lambda: len(events(st, "link-loss")) > 1 and
                events(st, "link-loss")[-1]["severity"] == "info", 15)
    t.check("then it has ended", not [r for r in st.seen() if r["code"] == "link-loss"], st.seen())
    said = events(st, "link-loss")
    incidents = [i for i in st.status()["incidents"]["list"] if i["cost"]["frames"]]
    ledger = t.account(st, named=[(1, "link-down"), (1, "alignment"), (1, "crc")])
    t.check("all of it is one incident, cleared, and no command of ours did it",
            [(i["code"], i["object"], i["state"], i["own"]) for i in incidents] ==
            [("link-dark", "link1", "cleared", None)], incidents)
    t.equal("its frames are the ledger's", [i["cost"]["frames"] for i in incidents],
            [sum(x["frames"] for x in harness.after_beginning(ledger) if x["link"] == 1)])
    t.check("six modules were dark for about 2 s", all(9 <= i["cost"]["dark_s"] < 30 for i in incidents), incidents)
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
    st = t.station(load="quiet", scenario=scenario(t, (0, "swap 0 3"), (10, "swap 0 3")))
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
    st.wait_for("judged again", lambda: all((st.status()["phases"][l]["last"]["age_s"] or 99) < 9 for l in (0, 3)), 10)
    phases = st.status()["phases"]
    t.equal("the right floors pass, no jump is counted", [(phases[l]["last"]["verdict"], phases[l]["jumps"],
                                                           phases[l]["slips"]) for l in (0, 3)], [("PASS", 0, 0)] * 2)
    t.equal("no floor has booted, no phase has jumped", [e for e in events(st) if e["code"] == "fcm-booted" or
                                                         e["code"].startswith("phase-")], [])
    ledger = t.account(st, named=[(l, c) for l in (0, 3) for c in ("link-down", "alignment", "crc", "time-fault")])
    t.check("rows after it carry the floor's own name", any(r["link"] == 0 and r["floor"] == 4
                                                           for r in ledger["links"]), ledger["links"][-4:])


def incidents_of_a_dark_fibre(t):
    """a fibre without light is one incident with all that it explains, on the list and by its number"""
    st = t.station(load="quiet", scenario=scenario(t, (0, "link 2 unplug 12")))
    st.start()
    st.wait_ready()
    sees(t, st, "link-dark", "link2", 30)
    sees(t, st, "link-loss", "link2", 30)
    time.sleep(2)
    answer = st.ask("incident", "list")
    mine = [i for i in answer["list"] if i["object"] == "link2" and i["state"] == "active"]
    t.equal("one incident", [i["code"] for i in mine], ["link-dark"])
    number = str(mine[0]["number"])
    t.check("with its losses", {"link-dark", "link-loss"} <= {o["code"] for o in mine[0]["observations"]} and
            mine[0]["cost"]["frames"] > 8000, mine[0])
    code, out, err = st.ctl("incident", "list")
    t.check("the list names it", code == 0 and re.search(rf"^ *{number} +red .*link2/link-dark", out, re.M), out + err)
    code, out, err = st.ctl("incident", "show", number)
    t.check("shown: what to do, cost, what it explains", code == 0 and f"Incident {number}  red, active" in out and
            "-> " in out and re.search(r"cost +\d+ frames", out) and "link2/link-loss" in out, out + err)
    t.equal("the name of its cause shows the same", st.ask("incident", "show", "link2/link-dark")["number"], int(number))
    t.check("another number is none", st.ctl("incident", "show", "999")[0] == 1)
    st.wait_for("light", lambda: st.status()["links"][2]["state"] == "up", 40)
    st.wait_for("it clears", lambda: next(i for i in st.ask("incident", "list")["list"]
                                          if str(i["number"]) == number)["state"] == "cleared", 90)
    t.account(st, named=[(2, "link-down"), (2, "alignment"), (2, "crc")])


if __name__ == "__main__":
    harness.main([damage_on_the_fibre, bursts_of_losses, losses_of_the_start, reasons_in_order, fibre_unplugged, fibres_swapped,
                  incidents_of_a_dark_fibre])
