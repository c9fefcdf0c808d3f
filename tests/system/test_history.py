#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Looking back, on a real station: what was at a time and who had set it, what differs, with the daemon and
without."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from test_schema import Schema  # noqa: E402

HV, THRESHOLD = "tower1.floor3.om2.hv", "tower1.floor3.om2.threshold"


def alike(a, b):
    """The daemon's messages have 15 digits: UTC to 10 us."""
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) < 1e-4
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    return a == b


def what_was_at_a_time(t):
    """set points, read-backs and authors of three times, told alike by the daemon and by its file"""
    st = t.station()
    st.start(consumers=False)
    st.wait_ready()
    schema = Schema()
    before = time.time()
    st.wait_for("first samples", lambda: st.ask("history", HV)["rows"] and st.ask("history", THRESHOLD)["rows"])
    first = time.time()
    t.equal("set to 1440", st.ctl("set", "floor3.om2.hv", "1440", "--reason", "the first")[0], 0)
    st.wait_for("its sample", lambda: st.ask("history", HV)["rows"][-1]["setpoint"] == 1440)
    second = time.time()
    t.equal("set to 1430", st.ctl("set", "floor3.om2.hv", "1430", "--reason", "the second")[0], 0)
    t.equal("refused", st.ctl("set", "floor3.om2.hv", "9999")[0], 1)
    st.wait_for("its sample", lambda: st.ask("history", HV)["rows"][-1]["setpoint"] == 1430)
    third = time.time()
    t.equal("a module switched off", st.ctl("set", "floor4.om2.hv", "1390")[0] + st.ctl("set", "floor4.om2.power", "off",
                                                                                       "--yes")[0], 0)
    st.wait_for("its HV is set to 0 by the FCM",
                lambda: st.ask("history", "floor4.om2.hv")["rows"][-1]["setpoint"] == 0, 20)
    fourth = time.time()

    def at(seconds, *words):
        return st.ask("get", *words, "--at", f"@{seconds:.3f}")

    def seen():
        one = {n: at(s, HV)["parameters"][0] for n, s in (("first", first), ("second", second), ("third", third))}
        t.equal("before the first command: no author", one["first"]["author"], None)
        for n, value, reason in (("second", 1440, "the first"), ("third", 1430, "the second")):
            p = one[n]
            t.equal(f"{n}: what it was set to, by whom, why", (p["setpoint"], p["author"]["reason"], p["author"]["new"],
                                                              p["author"]["state"]), (value, reason, value, "DONE"))
            t.check(f"{n}: read back, and how old it was", abs(p["value"] - value) <= 3 and 0 <= p["age_s"] < 600 and
                    p["quality"] == "good", p)
        early = at(before - 86400, HV)["parameters"][0]
        t.equal("a day before nothing is known", (early["value"], early["quality"], early["setpoint"], early["author"]),
                (None, "never", None, None))
        dark = at(fourth, "floor4.om2.hv")["parameters"][0]
        t.equal("what no command has set is not said of one", (dark["setpoint"], dark["set_by"], dark["author"]),
                (0, "fcm", None))
        both = at(third, "floor3.om2.hv", "floor3.om2.threshold")["parameters"]
        t.equal("several at once", [p["name"] for p in both], [HV, THRESHOLD])
        found = st.ask("diff", "--at", f"@{first:.3f}", "--at", f"@{third:.3f}", "floor3.om2")
        t.equal("its shape", schema.result("param.diff", found), [])
        hv = {p["name"]: p for p in found["differences"]}.get(HV)
        t.check("diff: it differs, and by whom", hv and hv["to"]["author"]["reason"] == "the second" and
                hv["to"]["setpoint"] == 1430, found)
        t.check("and not what nobody touched", THRESHOLD not in [p["name"] for p in found["differences"]], found)
        t.equal("a time and itself", st.ask("diff", "floor3", "--at", f"@{third:.3f}", "--at", f"@{third:.3f}")
                ["differences"], [])
        whole = at(third)
        t.check("all parameters at once, in their shape", len(whole["parameters"]) > 100 and
                schema.result("param.at", whole) == [], (len(whole["parameters"]), schema.result("param.at", whole)[:3]))
        return [one, early, hv]
    there = seen()
    t.equal("what is only done was nothing at any time", st.ctl("get", "floor3.fcm.reset", "--at", "1s")[0], 2)
    code, out, err = st.ctl("get", "floor3.om2.hv", "--at", f"@{third:.3f}")
    found = st.ctl("diff", "floor4.om2.hv", "--at", f"@{third:.3f}", "--at", f"@{fourth:.3f}")[1]
    t.check("nor in words", "the FCM, not by a command" in found, found)
    t.check("for people", code == 0 and "1430" in out and "the second" in out, out + err)
    code, out, err = st.ctl("history", HV, "--csv", "--since", "1h")
    rows = [x.split(",") for x in out.splitlines()]
    t.check("as CSV", code == 0 and rows[0][:3] == ["time", "name", "value"] and len({len(r) for r in rows}) == 1 and
            rows[-1][3] == "V" and float(rows[-1][5]) == 1430, out + err)
    t.equal("with the rows of JSON", [float(r[2]) for r in rows[1:]][:3],
            [round(r["value"], 6) for r in st.ask("history", HV)["rows"]][:3])
    code, out, err = st.ctl("history", HV, "--plot", "--since", "10m")
    quiet = st.ask("history", "floor3.om4.threshold", "--since", "1s")
    t.check("what stood when it begins", quiet["rows"] != [] or quiet["before"]["time"] < time.time() - 1, quiet)
    t.check("as a plot, with the limits of the dictionary", code == 0 and "limits            0 to 1800 V" in out and
            "greatest" in out, out + err)
    st.daemon.kill9()
    again = seen()
    t.check("the file says the same as the daemon", alike(again, there), (again, there))
    st.start_daemon()
    st.wait_ready()
    t.equal("so does a daemon behind it", seen(), there)
    t.equal("the daemon ends with 0", st.stop(), 0)


if __name__ == "__main__":
    harness.main([what_was_at_a_time])
