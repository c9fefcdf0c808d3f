#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What only comes with the years: the year's end with and without a leap second, a table of leap seconds that has
expired, a receiver whose week number has restarted at 0, counters that wrap."""
import datetime
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import codes, scenario, sees  # noqa: E402

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


def counters_wrap(t):
    """frame numbers in both directions, sample numbers and the board's count pass 2^32 while data flow, the count of lost
    hits 2^31 in a burst: no frame is lost, nothing is wrong, and commands are done"""
    wrap_s = 30
    st = t.station(emulator_args=["--wrap", str(wrap_s)], scenario=scenario(t, (0, "link 2 burst 3000000 2")))
    st.start()
    st.wait_ready()

    def uptime():
        return [p["value"] for p in st.ask("get", "*.fcm.uptime")["parameters"]]
    sees(t, st, "hits-lost", "tower1.floor3", 40)
    text = next(r["text"] for r in st.seen() if r["code"] == "hits-lost")
    told = int(re.search(r": (\d+) hits lost", text)[1])
    t.check("as many hits are lost as a burst can lose", 100 < told < 6 * 2 * 3000000, text)
    t.check("the counters have not wrapped yet", all(s < 2**32 / 8000 for s in uptime()), uptime())
    st.wait_for("all have wrapped", lambda: all(s > 2**32 / 8000 + 5 for s in uptime()), 2 * wrap_s)
    wrong = [(code, of) for code, of in codes(st) if "floor3" not in of]  # whose modules may have tripped
    t.equal("nothing is wrong but what the burst has done", wrong, [])
    for floor in range(1, 5):
        code, out, err = st.ctl("set", f"floor{floor}.om0.threshold", "33")
        t.check(f"floor {floor}: a command is done", code == 0, (code, out, err))
    ledger = t.account(st)
    t.check("the board's count as well", max(r["second"] for r in ledger["links"]) > 2**32 / 8000, ledger["links"][-1])


if __name__ == "__main__":
    harness.main([the_year_ends, a_leap_second, an_expired_table, weeks_begin_again, counters_wrap])
