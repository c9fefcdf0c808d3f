# SPDX-License-Identifier: GPL-2.0-or-later
"""What processes used, over their lives: CPU time, memory, descriptors. Programs die and come back in a soak, so all is
kept by part (fcm-server, nanet3-emu, consumers) and life."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))
from proc import cpu_s, descriptors, memory_kb  # noqa: E402


class Life:
    """One process, from its start to its end."""

    def __init__(self, part, process):
        self.part, self.process, self.cpu, self.samples = part, process, 0.0, []

    def look(self):
        """A sample, if it lives."""
        if not self.process.alive():
            return
        try:
            self.cpu = cpu_s(self.process.pid)
            memory = memory_kb(self.process.pid)
            self.samples.append((memory["VmRSS"], memory["RssAnon"], descriptors(self.process.pid)))
        except (OSError, KeyError):  # ended meanwhile
            pass


class Usage:
    def __init__(self):
        self.lives = []

    def born(self, part, process):
        self.lives.append(Life(part, process))

    def look(self):
        for life in self.lives:
            life.look()

    def cpu(self, part):
        return sum(x.cpu for x in self.lives if x.part == part)

    def of(self, part):
        return [x for x in self.lives if x.part == part and x.samples]

    def table(self, part):
        """A line a life: resident memory and its anonymous part in MB, descriptors: first, most, last."""
        lines = []
        for n, life in enumerate(self.of(part)):
            rss, anon, fds = zip(*life.samples)
            lines.append(f"  life {n + 1:<3} {len(rss):>5} s  RSS {_mb(rss)}  anonymous {_mb(anon)}  descriptors "
                         f"{fds[0]} {max(fds)} {fds[-1]}")
        return lines


def _mb(kb):
    return f"{kb[0] / 1024:.0f} {max(kb) / 1024:.0f} {kb[-1] / 1024:.0f} MB"
