#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The shore falls silent: a floor whose silence timer is on ramps its high voltage down, another keeps it."""
import os
import re
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import codes, events, sees  # noqa: E402

# Of struct truth_record of driver/emu/common/truth.h: link, hits of six modules. The head says how long a record is.
RECORD, HEAD = struct.Struct("<24xB7x6H"), 128
LIMIT = 20  # s, the shortest that can be set
MODULES = [f"om{m}" for m in range(6)]


def hits_of_late(st, records=4000):
    """Hits in the last frames by floor and module, from the emulator's own record."""
    hits = {floor: [0] * 6 for floor in range(1, 5)}
    with open(st.path("truth.bin"), "rb") as f:
        version, length = struct.unpack("<4xII", f.read(12))
        assert version == 2 and length >= 128, f"a truth file of version {version}, records of {length} bytes"
        whole = (os.fstat(f.fileno()).st_size - HEAD) // length
        f.seek(HEAD + max(0, whole - records) * length)
        for _ in range(min(records, whole)):
            link, *new = RECORD.unpack_from(f.read(length))
            hits[link + 1] = [a + b for a, b in zip(hits[link + 1], new)]
    return hits


def dark(hits):
    return [floor for floor in hits if not any(hits[floor])]


def values(st, pattern):
    """{("floor1", "om0"): parameter} of all that match."""
    return {tuple(p["name"].split(".")[1:3]): p for p in st.ask("get", pattern)["parameters"]}


def is_read(st, pattern):
    """The values with their ages, and the set values, which are read separately."""
    def read(p):
        return p["quality"] == "good" and (p["access"] != "rw" or p["setpoint"] is not None)
    st.wait_for(f"{pattern} read", lambda: all(read(p) for p in values(st, pattern).values()), 40)


def timers(st):
    return {f["floor"]: (f["timer"], f["time_s"], f["fired"]) for f in st.status()["silence"]}


def arm(t, st):
    """On floors 1 and 2; floor 1 ramps twice as fast."""
    is_read(st, "floor*.fcm.silence_time")
    is_read(st, "floor*.fcm.silence_timer")
    t.equal("the timers are off", timers(st), {floor: ("off", 120, 0) for floor in range(1, 5)})
    out = st.ctl("status", "-v")[1]
    t.check("status says that the HV stays as it is then", "timer off: all floors; without it the HV stays" in out, out)
    code, _, err = st.ctl("set", "floor1.fcm.silence_time", str(LIMIT - 1))
    t.check("less than a daemon's restart needs is refused", code == 1 and "20..3600" in err, (code, err))
    t.equal("the time", st.ctl("set", "floor[12].fcm.silence_time", str(LIMIT), "--yes")[0], 0)
    t.equal("a ramp", st.ctl("set", "floor1.om*.ramp", "200", "--yes")[0], 0)
    t.equal("on, in a run too", (st.ctl("run", "start")[0], st.ctl("set", "floor[12].fcm.silence_timer", "on", "--yes")[0],
                                 st.ctl("run", "stop")[0]), (0, 0, 0))
    t.equal("status shows which are on", timers(st), {1: ("on", LIMIT, 0), 2: ("on", LIMIT, 0), 3: ("off", 120, 0),
                                                      4: ("off", 120, 0)})
    out = st.ctl("status", "-v")[1]
    t.check("and says so", f"timer on: tower1.floor1 ({LIMIT} s), tower1.floor2 ({LIMIT} s); off: tower1.floor3" in out,
            out)


def all_is_well(t, st, when):
    is_read(st, "floor*.om*.hv")
    is_read(st, "floor*.fcm.silenced")
    t.equal(f"{when}: no timer has fired", [timer[2] for timer in timers(st).values()], [0] * 4)
    t.check(f"{when}: every HV is up", all(abs(p["value"] - 1400) < 5 and p["setpoint"] == 1400
                                          for p in values(st, "floor*.om*.hv").values()))
    t.equal(f"{when}: no floor is dark", dark(hits_of_late(st)), [])


def a_dead_shore_ramps_down_what_is_armed_and_nothing_else(t):
    """kill -9 of the daemon: floors 1 and 2 ramp down, 3 and 4, whose timer is off, stay up"""
    st = t.station(load="quiet")
    st.start(consumers=False)
    st.wait_ready()
    arm(t, st)
    armed = time.monotonic()
    st.daemon.kill9()
    st.start_daemon()
    st.wait_ready()
    all_is_well(t, st, "after a restart of the daemon")
    st.wait_for("longer than the timer's time", lambda: time.monotonic() > armed + LIMIT + 4, LIMIT + 5)
    all_is_well(t, st, "kept from firing by polling")

    killed = time.time()
    st.daemon.kill9()
    st.wait_for("the floors with a timer dark", lambda: dark(hits_of_late(st)) == [1, 2], LIMIT + 40, 0.5)
    hits = hits_of_late(st)
    t.check("the floors without one see light in every module", all(all(hits[f]) for f in (3, 4)), hits)

    st.start_daemon()
    st.wait_ready()
    sees(t, st, "hv-silenced", "tower1.floor1")
    sees(t, st, "hv-silenced", "tower1.floor2")
    told_and_true(t, st, killed)
    back_up(t, st)
    st.stop()


def told_and_true(t, st, killed):
    """The new daemon reads and reports what the floors did."""
    is_read(st, "floor*.om*.hv")
    is_read(st, "floor*.om*.power")
    is_read(st, "floor*.fcm.silenced_ago")
    hv, power = values(st, "floor*.om*.hv"), values(st, "floor*.om*.power")
    down = {key for key, p in hv.items() if p["value"] < 1000 and p["setpoint"] == 0}
    up = {key for key, p in hv.items() if abs(p["value"] - 1400) < 5 and p["setpoint"] == 1400}
    t.equal("set value 0 and HV down, by their read-back", down, {(f, m) for f in ("floor1", "floor2") for m in MODULES})
    t.equal("the others are up as they were", up, {(f, m) for f in ("floor3", "floor4") for m in MODULES})
    t.check("power stays on", all(p["value"] for p in power.values()), power)
    fired = {f["floor"]: f["fired_at"] for f in st.status()["silence"]}
    t.equal("the timers say that they fired", {f: timer[2] for f, timer in timers(st).items()}, {1: 1, 2: 1, 3: 0, 4: 0})
    st.wait_for("its start is written", lambda: events(st, "daemon-start")[-1]["time"] > killed, 10)
    begun = [e["time"] for e in events(st, "daemon-start")]
    # By the model's time, which may be behind this machine's.
    t.check("when: its time after the daemon's end, before this one began",
            all(killed + LIMIT / 2 < fired[f] < begun[-1] for f in (1, 2)), (killed, fired, begun))
    t.equal("the other floors have no such reason", {o for c, o in codes(st) if c == "hv-silenced"}, {"tower1.floor1",
                                                                                             "tower1.floor2"})
    out = st.ctl("status", "-v")[1]
    t.check("status says what, since when and what to do", "no word from the shore" in re.sub(r"\s+", " ", out) and
            "set 'floor1.om*.hv' VOLTS" in re.sub(r"\s+", " ", out), out)
    t.equal("it is red", st.word(), "RED")
    st.wait_for("the events", lambda: len(events(st, "hv-silenced")) == 2, 10)


def back_up(t, st):
    """An operator sets the HV again, and the timer."""
    t.equal("set again", st.ctl("set", "floor1.om*.hv", "1300", "--yes", timeout=120)[0], 0)
    hv = values(st, "floor1.om*.hv")
    t.check("it is up, and stays", all(abs(p["value"] - 1300) < 5 for p in hv.values()), hv)
    t.check("the reason is active until the timer is set", ("hv-silenced", "tower1.floor1") in codes(st))
    t.equal("the timer on", st.ctl("set", "floor1.fcm.silence_timer", "on")[0], 0)
    t.equal("or off", st.ctl("set", "floor2.fcm.silence_timer", "off")[0], 0)
    st.wait_for("the reasons cleared", lambda: not [c for c, _ in codes(st) if c == "hv-silenced"], 20)
    st.wait_for("their events", lambda: [e["severity"] for e in events(st, "hv-silenced")] == ["red"] * 2 + ["info"] * 2,
                10)
    t.equal("on and off", [timers(st)[f][0] for f in (1, 2)], ["on", "off"])


def an_fcm_without_the_timer(t):
    """older firmware: the parameters are bad, status says so once, and everything else works"""
    st = t.station(load="quiet", truth=False)
    path, name = st.path("before.conf"), ""
    with open(os.path.join(harness.ROOT, "schemas", "parameters.conf")) as f, open(path, "w") as copy:
        for line in f:
            # Registers that the emulated FCM does not have.
            name = line.strip() if line.startswith("[") else name
            copy.write(re.sub("^register = ", "register = 1", line) if name.startswith("[fcm.silence") else line)
    st.start_emulator()
    st.start_gpsd()
    st.write_config()
    st.start_daemon("--set", f"slowctl.dictionary={path}")
    st.wait_ready()
    ready = time.monotonic()
    st.wait_for("they are asked for", lambda: {timer[0] for timer in timers(st).values()} == {"none"}, 30)
    st.wait_for("all else is read", lambda: all(p["setpoint"] is not None for p in st.request("param.list")["result"][
        "parameters"] if p["access"] == "rw" and ".fcm.silence" not in p["name"]), 60)
    silent = st.ask("get", "floor*.fcm.silence*")["parameters"]
    t.check("they are bad", len(silent) == 16 and all(p["quality"] == "bad" for p in silent), silent)
    out = st.ctl("status", "-v")[1]
    t.check("status says so", "timer not in the FCM: all floors; without it the HV stays" in out, out)
    time.sleep(max(0, ready + 22 - time.monotonic()))  # a value that is never read is a reason after 20 s
    t.equal("it is no reason of its own", {c for c, _ in codes(st)} & {"stale", "hv-silenced", "limit"}, set())
    code, _, err = st.ctl("set", "floor1.fcm.silence_timer", "on")
    t.check("setting it is refused by the FCM", code == 1 and "it knows no such register" in err, (code, err))
    t.equal("nothing is missing in a snapshot", st.ask("snapshot", "save", "all")["unknown"], 0)
    st.stop()


if __name__ == "__main__":
    harness.main([a_dead_shore_ramps_down_what_is_armed_and_nothing_else, an_fcm_without_the_timer])
