# SPDX-License-Identifier: GPL-2.0-or-later
"""demux_over_libavformat: bench-libav before and after bench-demux, in one run."""
import os
import re
import statistics

from lean import Unmeasured, program

NAME, GOAL = "demux_over_libavformat", "8/12"
OURS = "demux_over_memcpy_memory"  # from memory at design fill, all checks


class Libav:
    def __init__(self, figures, bin_dir):
        self.figures, self.bin = figures, bin_dir
        self.there = os.path.exists(os.path.join(bin_dir, "bench-libav"))
        self.laps, self.ours, self.version = [], None, None

    def lap(self):
        if not self.there:
            return
        try:
            result = program(self.bin, "bench-libav")
        except Unmeasured as e:
            self.figures.failure(NAME, str(e))
            self.there = False
            return
        self.laps.append(result["bytes_per_s"] / 1e9)
        self.version = result["version"]

    def look(self, line):
        """Our rate is in a # line of bench-demux."""
        if found := re.match(rf"# {OURS}: demux ([\d.]+) GB/s", line):
            self.ours = float(found[1])

    def figure(self):
        if not self.there:
            if not os.path.exists(os.path.join(self.bin, "bench-libav")):
                self.figures.line(f"bench {NAME} skipped (no libavformat: tests/setup/setup.sh bench installs it)")
            return
        if self.ours is None:
            self.figures.failure(NAME, f"no rate of {OURS}")
            return
        self.figures.figure(NAME, self.ours / statistics.fmean(self.laps), "ratio", GOAL)
        print(f"# {NAME}: {self.ours:.2f} GB/s of frames over {' and '.join(f'{x:.2f}' for x in self.laps)} GB/s of a "
              f"transport stream with nine PIDs (libavformat {self.version}), one core each, from memory")
