#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Positions of the acoustic beacons, from the times at which their pings arrive at the hydrophones.

    build/bin/nanet3-emu --geometry > geometry.json
    positions.py build/run/recordings/NAME positions.png --geometry geometry.json
"""
import collections
import json

import numpy as np
from common import arguments, reading, until_ctrl_c
from fcmdata import blocks_of, datetime64_of
from matplotlib import pyplot as plt


def arrival_s(times, samples, g):
    """When the ping that begins at a second of TAI arrives: s after it."""
    n = np.arange(g["ping_ms"] * g["sample_hz"] / 1e3)
    wave = np.minimum(4 - np.abs(8 * n / len(n) - 4), 1) * np.exp(2j * np.pi * g["ping_hz"] / g["sample_hz"] * n)
    at = np.abs(match := np.fft.ifft(np.fft.fft(samples) * np.conj(np.fft.fft(wave, len(samples))))).argmax()
    turns = np.angle(1j * match[at]) / 2 / np.pi  # the carrier's phase there says more than the envelope's top
    return (times[at] - times[0] // 10**9 * 10**9) / 1e9 - turns / g["ping_hz"]


def position(places, ranges):
    """Least squares from a ring of first guesses (Gauss-Newton)."""
    best = (np.inf, None)
    for x in (np.array([300 * np.cos(turn), 300 * np.sin(turn), 0]) for turn in np.arange(8) * np.pi / 4):
        for _ in range(30):
            far = np.linalg.norm(x - places, axis=1)
            x = x + np.linalg.lstsq((x - places) / far[:, None], ranges - far, rcond=None)[0]
        best = min(best, (np.abs(np.linalg.norm(x - places, axis=1) - ranges).max(), tuple(x)))
    return np.array(best[1])


args = arguments(__doc__, ("geometry", "geometry.json", "positions of the hydrophones"), seconds=9, whole=False)
with reading(args.geometry, "what nanet3-emu --geometry writes") as text:
    g = json.loads(text)
    beacons = np.array([[b["x_m"], b["y_m"], b["z_m"]] for b in g["acoustic_beacons"]])
    places = {(h["floor"], h["hydrophone"]): [h["x_m"], h["y_m"], h["z_m"]] for h in g["hydrophones"]}
sound = collections.defaultdict(list)  # by second and hydrophone: times and samples
for block in until_ctrl_c(blocks_of(args.where, streams="hydrophone", seconds=args.seconds)):
    for h in range(2) if block.has_time else ():
        sound[block["tai_ns"] // 10**9, block["floor"], h].append((block.sample_times(h), block.samples(h)))
for second in sorted({key[0] for key in sound}):
    heard = {key[1:]: tuple(map(np.concatenate, zip(*sound[key]))) for key in sound if key[0] == second}
    heard = {h: s for h, s in heard.items() if len(s[0]) > 0.99 * g["sample_hz"]}  # the first and the last are cut
    if len(heard) < 4:
        continue
    far = np.array([arrival_s(*s, g) for s in heard.values()]) * g["sound_m_per_s"]
    x = position(np.array([places[h] for h in heard]), far)
    pinger = second % len(beacons)  # they take turns
    print(datetime64_of(second * 10**9).astype("datetime64[s]"), f"pinger {pinger}:", *(f"{c:8.2f}" for c in x),
          f"m, {np.linalg.norm(x - beacons[pinger]):.2f} m from where it is")
    plt.plot(*x[:2], "xk")
plt.plot(*beacons.T[:2], "og", fillstyle="none", markersize=12)
plt.gca().set(xlabel="east (m)", ylabel="north (m)", aspect="equal", title="o known, x measured")
plt.savefig(args.png, bbox_inches="tight")
