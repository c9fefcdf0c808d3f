#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The same output under any locale and time zone: a daemon in Italy writes what a fcmctl in Tokyo reads."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from faults import scenario  # noqa: E402


def italy(t):
    """An environment whose numbers have a decimal comma."""
    subprocess.run(["localedef", "-i", "it_IT", "-f", "UTF-8", "--no-archive", os.path.join(t.base, "it_IT.UTF-8")],
                   capture_output=True, check=False)  # it warns
    env = {**os.environ, "LOCPATH": t.base, "LC_ALL": "it_IT.UTF-8", "TZ": "Asia/Tokyo"}
    if t.sanitized:  # glibc keeps what it made of LOCPATH
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    point = subprocess.run(["locale", "decimal_point"], env=env, capture_output=True, text=True, check=False).stdout
    t.equal("the locale has a decimal comma", point.strip(), ",")
    return env


def everywhere(t):
    """what a running station shows, but for its numbers; commands that look back, and status of a daemon that is not
    running: byte for byte"""
    env = italy(t)
    begun = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    st = t.station(load="quiet", scenario=scenario(t, (1, "link 2 crc 300"), (2, "link 1 phase-step 250")))
    st.start_emulator()
    st.start_gpsd()
    st.write_config()
    st.start_consumer("trigger-1", "trigger")
    st.start_consumer("acoustic-1", "acoustic")
    st.launch_daemon(env=env)
    st.wait_for("the daemon answers", st.answers)
    st.wait_ready()
    st.ask("set", "floor1.om0.hv", "1390.5", "--reason", "perché sì")
    st.wait_rest("floor1.om0.hv")
    t.equal("1390.5 V are set", st.ask("get", "floor1.om0.hv")["parameters"][0]["setpoint"], 1390.5)
    st.wait_for("the step is told", lambda: any(i["code"] == "phase-jump" for i in st.status()["incidents"]["list"]), 60)
    step = next(i["number"] for i in st.status()["incidents"]["list"] if i["code"] == "phase-jump")

    def both(argv):
        """What is shown here and there, without the age of a daemon that has stopped."""
        shown = []
        for environment in ({**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}, env):
            r = subprocess.run([st.program("fcmctl"), "--dir", st.dir, *argv], env={**environment, "COLUMNS": "200"},
                               capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
            shown.append((r.returncode, re.sub(r"\([\d.]+ m?s\)", "", r.stdout)))
        return shown

    def numberless(argv):
        """The same without digits: a decimal comma stays one. Rates and ages differ from moment to moment."""
        return [(code, re.sub(r" +", " ", re.sub(r"\d+", "N", text))) for code, text in both(argv)]
    for argv in (["status"], ["status", "-v"], ["top", "--once"], ["link", "list"], ["link", "show", "1"], ["incident", "list"],
                 ["incident", "show", str(step)], ["phase", "show", "1"], ["clock", "show"], ["consumer", "list"],
                 ["get", "floor1.om0.*"], ["--csv", "link", "list"], ["report", "--since", begun]):
        here = there = None
        for _ in range(30):
            here, there = numberless(argv)
            if here == there:
                break
            time.sleep(0.3)
        t.check(f"fcmctl {' '.join(argv)} of a running daemon", here == there and here[1], (here, there))
    ended = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    st.stop()
    since = ["--since", "2020-01-01"]
    for argv in (["command", "list"], ["incident", "list", *since], ["event", "list"], ["ledger", "show", *since],
                 ["history", "floor1.om0.hv", *since], ["phase", "history", "1", *since], ["run", "show"], ["ledger", "dark", *since],
                 ["--csv", "command", "list"], ["--json", "incident", "list", *since], ["status"], ["top", "--once"],
                 ["incident", "show", str(step)], ["report", "--since", begun, "--to", ended],
                 ["report", "--since", begun, "--to", ended, "--html"]):
        here, there = both(argv)
        t.check(f"fcmctl {' '.join(argv)}", here == there and here[1], (here, there))


if __name__ == "__main__":
    harness.main([everywhere])
