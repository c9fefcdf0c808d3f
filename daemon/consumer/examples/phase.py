#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The phase of a link, second by second, with the verdicts on its locks.

    phase.py build/run phase.png --link 2 --since 1h
"""
import json
import shutil
import subprocess

import numpy as np
from common import arguments
from matplotlib import pyplot as plt

args = arguments(__doc__, ("link", 0, "which"), ("since", "1h", "as fcmctl takes it"),
                 ("limit", 10000, "seconds at most, the newest"),
                 ("fcmctl", shutil.which("build/bin/fcmctl") or "fcmctl", "the program"), seconds=None, where="the station's directory")
command = [args.fcmctl, "--dir", args.where, "--json", "phase", "history", str(args.link), "--since", args.since]
asked = subprocess.run([*command, "--limit", str(args.limit)], check=False, stdout=subprocess.PIPE)
if asked.returncode:
    raise SystemExit(asked.returncode)  # fcmctl has said why
answer = json.loads(asked.stdout)
rows = sorted(answer["rows"], key=lambda row: row["time"])
times = np.array([row["time"] for row in rows])
mean, sigma = (np.array([row[name] for row in rows], float) for name in ("mean_ps", "sigma_ps"))
newest = f"the newest {args.limit} seconds, --limit N for more: " if len(rows) == args.limit else ""
print(f"{newest}{len(rows)} seconds of link {args.link}; {len(answer['events'])} verdicts")
when = (times * 1e6).astype("datetime64[us]")
plt.figure(figsize=(10, 4))
plt.plot(when, mean, ".", markersize=3)
plt.fill_between(when, mean - sigma, mean + sigma, alpha=0.3)
for event in answer["events"]:
    if len(times) and (event["time"] >= times[0] or not newest):  # a lock is before its first second
        plt.axvline(np.datetime64(int(event["time"] * 1e6), "us"), color="red", linewidth=0.7)
        plt.text(np.datetime64(int(event["time"] * 1e6), "us"), mean.max(), event["verdict"], rotation=90, va="top")
plt.gca().set(xlabel="UTC", ylabel="phase (ps)", title=f"link {args.link}: mean and sigma of each second")
plt.savefig(args.png, bbox_inches="tight")
