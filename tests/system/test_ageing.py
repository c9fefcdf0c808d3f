#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What only comes with the years: the year's end with and without a leap second, a table of leap seconds that has
expired, a receiver whose week number has restarted at 0, counters that wrap."""
import datetime
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import codes, events, lost, scenario, sees  # noqa: E402
from page_server import Server, scrape  # noqa: E402

SINCE_1900 = 2208988800
WEEKS_S = 1024 * 7 * 86400
BEFORE_S = 20  # the emulator begins so long before midnight: the clock is locked by then
YEAR = datetime.datetime.now(datetime.timezone.utc).year + 1
MIDNIGHT_S = int(datetime.datetime(YEAR, 1, 1, tzinfo=datetime.timezone.utc).timestamp())


def table(st, seconds, expires_s=None):
    """A table of leap seconds: [(UTC second, TAI - UTC)], in the place of the station's."""
    def write():
        path = st.path("leap-seconds.list")
        with open(path, "w") as f:
            f.write(f"#@ {(expires_s or MIDNIGHT_S + 366 * 86400) + SINCE_1900}\n")
            f.writelines(f"{second + SINCE_1900} {offset}\n" for second, offset in seconds)
        return path
    st.leap_table = write


def utc(second):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def over_midnight(t, seconds, announced):
    """A station that runs over the year's end. The model's time is another than the host's: far_s is off."""
    st = t.station(load="quiet", emulator_args=["--start", utc(MIDNIGHT_S - BEFORE_S)], config=["[clock]", "far_s = 0"])
    table(st, seconds)
    leaps = [second for second, offset in seconds if offset > 37]
    st.start(consumers=False)
    for name, group in (("trigger-1", "trigger"), ("acoustic-1", "acoustic")):
        st.start_consumer(name, group, *(f"--leap={second}" for second in leaps))
    st.wait_ready()
    before = st.status()["clock"]
    t.check("the clock is locked before midnight", before["utc"] < MIDNIGHT_S, before)
    t.equal("a leap second is announced", before["leap"]["announced"], announced)
    time.sleep(BEFORE_S + 5)
    after = st.status()["clock"]
    t.check("midnight is past", after["utc"] > MIDNIGHT_S, after)
    t.equal("one label goes through", (after["state"], after["time_epoch"], after["relabelled"]),
            ("locked", before["time_epoch"], before["relabelled"]))
    t.account(st)


def the_year_ends(t):
    """31 December becomes 1 January while data flow: no frame is lost, each hit has the time of its light"""
    over_midnight(t, [(1483228800, 37)], announced=False)


def a_leap_second(t):
    """23:59:60 while data flow: announced before, one label goes through, each hit has the time of its light"""
    over_midnight(t, [(1483228800, 37), (MIDNIGHT_S, 38)], announced=True)


def an_expired_table(t):
    """a table of leap seconds that has expired: said, with what to do; the clock is locked all the same"""
    st = t.station(load="quiet")
    table(st, [(1483228800, 37)], expires_s=int(time.time()) - 86400)
    st.start()
    st.wait_ready()
    sees(t, st, "leap-table-expired", "clock")
    t.account(st)


def weeks_begin_again(t):
    """a receiver that is 1024 weeks back: gpsd knows better, and the station has today's date"""
    st = t.station(load="quiet", emulator_args=["--start", utc(time.time() - WEEKS_S)], truth=False)
    st.start(consumers=False)
    st.wait_ready()
    clock = st.status()["clock"]
    t.check("the date is right", abs(clock["utc"] - time.time()) < 60, clock)
    t.equal("the daemon ends with 0", st.stop(), 0)


# Counters that begin at their largest: what is done to each below, and what it counts then. Polled once a minute.
ONE = [("fcm_om_trips_total", {"floor": 1, "module": "om2"}, "a trip", 0),
       ("fcm_om_clears_total", {"floor": 1, "module": "om2"}, "its clear", 0),
       ("fcm_om_resets_total", {"floor": 2, "module": "om0"}, "a reset", 0),
       ("fcm_om_power_cycles_total", {"floor": 2, "module": "om1"}, "a power cycle", 0),
       ("fcm_floor_rejected_total", {"floor": 2}, "a word that the FCM refuses", 0),
       ("fcm_floor_executed_total", {"floor": 2}, "words", 2),
       ("fcm_link_lost_locks_total", {"link": 0}, "an align", 0),
       ("fcm_link_aligns_total", {"link": 0}, "its lock", 0)]
LARGEST = 2**32 - 1
# What else the case does, besides the burst on floor 3.
CAUSED = {("downlink-errors", "link1"), ("link-loss", "link0"), ("link-loss", "link1"), ("link-loss", "link3"),
          ("link-dark", "link3"), ("fcm-booted", "tower1.floor4")}


class Scraped(threading.Thread):
    """/metrics, each second."""

    def __init__(self, page):
        super().__init__(daemon=True)
        self.page, self.all, self.ends = page, [], threading.Event()
        self.start()

    def run(self):
        while not self.ends.wait(1):
            try:
                self.all.append(scrape(self.page))
            except OSError:  # a case that has failed has ended the page
                return

    def counters(self):
        """{(name, labels): its values, one after the other}"""
        series = {}
        for m in self.all:
            for key, value in m.samples.items():
                if m.type[key[0]] == "counter":
                    series.setdefault(key, []).append(value)
        return series


def jumps(series):
    """What increase() of Prometheus would add up to more than there can have been: it takes a fall for a reset to 0."""
    wrong = {}
    for (name, labels), values in series.items():
        grown = sum(b - a if b >= a else b for a, b in zip(values, values[1:]))
        if grown > (1e12 if "bytes" in name else 1e8):
            wrong[name, labels] = values
    return wrong


def counters_wrap(t):
    """each counter of board, floors and modules passes its largest value while data flow, most of them by what is done:
    no frame is lost without a name, nothing else is wrong, commands are done, /metrics counts on"""
    wrap_s = 30
    st = t.station(load="quiet", emulator_args=["--wrap", str(wrap_s)], scenario=scenario(
        t, (0, "link 2 burst 3000000 2"), (1, "link 1 crc 5"), (2, "link 1 down-crc 3"), (5, "link 0 hv-trip 2"),
        (4, "link 1 refuse 1")))
    st.start()
    scraped = Scraped(Server(st))
    st.wait_ready()

    def values(pattern):
        return [p["value"] for p in st.ask("get", pattern)["parameters"]]

    def done(*command):
        code, out, err = st.ctl(*command)
        t.check(f"{' '.join(command)}: done", code == 0, (code, out, err))
    t.check("the counters of frames have not wrapped yet", all(s < 2**32 / 8000 for s in values("*.fcm.uptime")))
    t.equal("fcmctl shows the largest value of a counter", set(values("*.fcm.boot_count")), {LARGEST})
    sees(t, st, "hits-lost", "tower1.floor3", 40)
    text = next(r["text"] for r in st.seen() if r["code"] == "hits-lost")
    told = int(re.search(r": (\d+) hits lost", text)[1])
    t.check("as many hits are lost as a burst can lose", 100 < told < 6 * 2 * 3000000, text)
    sees(t, st, "hv-trip", "tower1.floor1", 40)
    time.sleep(3)  # refuse 1
    code, out, err = st.ctl("set", "floor2.om3.threshold", "40")
    t.check("a refused command is told as that", code == 1 and "refused by the FCM" in out + err, (code, out, err))
    done("action", "floor1.om2.clear_trip")
    done("action", "floor2.om0.reset")
    done("action", "floor2.om1.power_cycle", "--yes")
    done("link", "align", "0")
    st.wait_for("all have wrapped", lambda: all(s > 2**32 / 8000 + 5 for s in values("*.fcm.uptime")), 2 * wrap_s)
    for floor in range(1, 5):
        done("set", f"floor{floor}.om0.threshold", "33")
    for boot in range(2):
        done("action", "floor4.fcm.reset", "--yes")
        st.wait_for("its boot count goes on", lambda boot=boot: values("floor4.fcm.boot_count") == [boot])
        st.wait_for("the link is up", lambda: st.status()["links"][3]["state"] == "up")
        done("set", "floor4.om0.threshold", str(34 + boot))
    t.equal("each boot is told", [re.search(r"boot count.*?\)", e["text"])[0] for e in events(st, "fcm-booted")],
            [f"boot count 0, was {LARGEST})", "boot count 1, was 0)"])

    def read_again():
        return all(n in (now, now + 1) for name, labels, _, now in ONE for n in scraped.all[-1].of(name, **labels))
    st.wait_for("all values are read again", read_again, 80)
    scraped.ends.set()
    series = scraped.counters()
    for name, labels, what, now in ONE:
        wanted = {(k, str(v)) for k, v in labels.items()}
        found = [v for (n, have), v in series.items() if n == name and wanted <= set(have)]
        t.check(f"{name} was at its largest, and counts {what}", len(found) == 1 and found[0][0] == LARGEST and
                found[0][-1] in (now, now + 1), found)
    errors = scraped.all[-1].of("fcm_link_code_errors_total", link=1)[0], values("link1.code_errors")[0]
    t.check("code errors of damaged frames: a few", all(0 < n < 10000 for n in errors), errors)
    t.equal("frames that the floor got damaged: 3", st.status()["links"][1]["downlink_errors"], 3)
    t.check("the number of PPS has begun again", st.ask("clock", "show")["pps"]["number"] < 1000)
    t.equal("no counter of /metrics jumps", jumps(series), {})
    wrong = {(code, of) for code, of in codes(st) if "floor3" not in of} - CAUSED  # its modules may have tripped
    t.equal("nothing is wrong but what was done", wrong, set())
    text = next(r["text"] for r in st.seen(cleared=True) if r["code"] == "hits-lost")
    ledger = t.account(st, named=[(0, "link-down"), (0, "alignment"), (1, "crc"), (3, "link-down"), (3, "alignment")])
    t.check("the board's count as well", max(r["second"] for r in ledger["links"]) > 2**32 / 8000, ledger["links"][-1])
    t.equal("each damaged frame has its name", lost(ledger, 1, "crc"), 5)
    t.equal("each hit that was lost is told", int(re.search(r"(\d+) hits? lost", text)[1]),
            int(re.search(r"hits \d+ \(lost (\d+)\)", st.emu.tail())[1]))


if __name__ == "__main__":
    harness.main([the_year_ends, a_leap_second, an_expired_table, weeks_begin_again, counters_wrap])
