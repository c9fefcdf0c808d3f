#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The spectrogram of a hydrophone. Missing samples are white.

    spectrogram.py build/run/recordings/NAME spectrogram.png --floor 3 --hydrophone 1
"""
import numpy as np
from common import arguments, until_ctrl_c
from fcmdata import blocks_of, datetime64_of
from matplotlib import pyplot as plt

SAMPLE_HZ, FULL_SCALE, FFT = 192000, 2**23, 2048

args = arguments(__doc__, ("floor", 1, "its floor"), ("hydrophone", 0, "0 or 1"), seconds=5, whole=False)
parts = [(block.sample_times(args.hydrophone), block.samples(args.hydrophone))
         for block in until_ctrl_c(blocks_of(args.where, streams="hydrophone", seconds=args.seconds))
         if block["floor"] == args.floor and block.has_time]
if not parts:
    raise SystemExit(f"spectrogram.py: no samples of floor {args.floor} with a time")
times, samples = (np.concatenate(x) for x in zip(*parts))
at = np.rint((times - times[0]) * (SAMPLE_HZ / 1e9)).astype(int)
sound = np.full(at[-1] + 1, np.nan)  # what did not come stays so
sound[at] = samples / FULL_SCALE
print(f"{len(samples)} samples in {len(sound) / SAMPLE_HZ:.3f} s, {len(sound) - len(samples)} are missing")

spans = sound[:len(sound) // FFT * FFT].reshape(-1, FFT)
power = 20 * np.log10(np.abs(np.fft.rfft(spans * np.hanning(FFT))) / (FFT / 4) + 1e-9)
plt.figure(figsize=(10, 5))
plt.imshow(power.T, origin="lower", aspect="auto", extent=(0, len(spans) * FFT / SAMPLE_HZ, 0, SAMPLE_HZ / 2e3),
           vmin=np.nanpercentile(power, 5), vmax=np.nanmax(power))
plt.colorbar(label="dB of full scale")
plt.gca().set(xlabel=f"s since {datetime64_of(times[0])} UTC", ylabel="kHz",
              title=f"floor {args.floor}, hydrophone {args.hydrophone}")
plt.savefig(args.png, bbox_inches="tight")
