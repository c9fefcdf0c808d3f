# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel says about a process: CPU time of all its threads, memory, descriptors. And a station
whose consumers take data without recording it."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
from keys import Keys  # noqa: E402
from station import Process, Station  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def _times(path):
    with open(path) as f:
        # The name is in brackets and may hold anything; utime and stime are fields 14 and 15.
        name, rest = f.read().rpartition(")")[::2]
    fields = rest.split()
    return name.partition("(")[2], (int(fields[11]) + int(fields[12])) / TICK


def cpu_s(pid):
    """CPU time of a process so far, user and system, of all its threads, ended ones too."""
    return _times(f"/proc/{pid}/stat")[1]


def thread_cpu_s(pid):
    """{thread's name and id: CPU seconds} of the threads that live now."""
    result = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            name, seconds = _times(f"/proc/{pid}/task/{tid}/stat")
        except OSError:  # ended meanwhile
            continue
        result[f"{name}/{tid}"] = seconds
    return result


def run_time_s(pid):
    """CPU time of the threads that live now, to the microsecond: for short windows in which none ends."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
            total += int(f.read().split()[0])
    return total * 1e-9


def memory_kb(pid):
    """VmRSS and its parts: anonymous, file, shared (the rings are shared)."""
    result = {}
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            key, _, value = line.partition(":")
            if key in ("VmRSS", "RssAnon", "RssFile", "RssShmem"):
                result[key] = int(value.split()[0])
    return result


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class QuietStation(Station):
    """Consumers check and acknowledge, but record nothing; the emulator writes no truth."""

    def __init__(self, bin_dir, directory, **kwargs):
        super().__init__(bin_dir, directory, truth=False, **kwargs)

    def start_consumer(self, name, group, *args):
        self.consumers[name] = Process(
            name, [self.program("fcm-consumer"), "--endpoint", self.reserved, "--name", name, "--group",
                   group, *args], self.path(f"{name}.log"))
        return self.consumers[name]

    def links(self):
        return self.status()["links"]

    def dropped(self, name=None):
        """Frames that a group, or all of them, has lost so far, for whatever reason."""
        return sum(d["frames"] for g in self.ask("consumer", "list")["groups"] if name in (None, g["group"])
                   for d in g["dropped"].values())


class LockedStation(QuietStation):
    """The same, its data encrypted."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.keys = Keys(self)
        self.config += ["[data]", "curve = yes"]

    def start_consumer(self, name, group, *args):
        self.keys.add(name, f"consumer:{group}")
        self.keys.write_list()
        return super().start_consumer(name, group, "--server-key", self.keys.server, "--key-file", self.keys.file(name), *args)


def gone_wrong(before, after):
    """What a station lost between two lists of links, as text; empty: nothing."""
    text = []
    for b, a in zip(before, after):
        lost = {k: a["cells"][k] - b["cells"][k] for k in a["cells"] if k != "good"}
        text += [f"link {a['link']} lost {n} frames: {k}" for k, n in lost.items() if n]
    return text


def frames_between(before, after):
    return sum(a["cells"]["good"] - b["cells"]["good"] for b, a in zip(before, after))
