# SPDX-License-Identifier: GPL-2.0-or-later
"""What may happen in a drill: the words of the answers, the lines of the scenario that make it happen, and the codes of
incidents by which the station tells it."""
import collections

# A fault that happens `at` s after the begin of the data: `lines` are (seconds after `at`, what), `ends` s after `at`.
Fault = collections.namedtuple("Fault", "cause object at lines ends")


class Cause:
    def __init__(self, name, of, about, codes, make, also=()):
        self.name, self.of, self.about, self.codes, self.make = name, of, about, codes, make
        self.also = also  # what truly happens with it, and is no cause of its own


def lasting(begin, end, low, high):
    """A state for some time."""
    def make(r, link):
        seconds = r.randint(low, high)
        return [(0, begin.format(link=link)), (seconds, end.format(link=link))], seconds
    return make


def numbered(line, low, high, ends=1):
    def make(r, link):
        return [(0, line.format(link=link, n=r.randint(low, high)))], ends
    return make


def fibre_dark(r, link):
    seconds = r.randint(4, 12)
    return [(0, f"link {link} unplug {seconds}")], seconds


def bit_slip(r, link):
    return [(0, f"link {link} slip-on-align {r.randint(1, 9)}"), (0.5, f"link {link} unplug 1")], 3


def phase_step(r, link):
    return [(0, f"link {link} phase-step {r.choice([-1, 1]) * r.randint(250, 500)}")], 1


def phase_drift(r, link):
    return [(0, f"link {link} phase-drift {r.randint(8, 12)}"), (60, f"link {link} phase-drift 0")], 60


def swapped(r, link):
    other = (link + r.randint(1, 3)) % 4
    a, b = sorted((link, other))
    return [(0, f"swap {a} {b}"), (25, f"swap {a} {b}")], 26


def burst(r, link):
    return [(0, f"link {link} burst 2000000 {r.randint(8, 15)}")], 15


def board_stall(r, _):
    return [(0, f"stall {r.randint(300, 900) / 1000}")], 2


CAUSES = [
    Cause("fibre-dark", "link", "the fibre gave no light", {"link-dark"}, fibre_dark),
    Cause("frames-damaged", "link", "frames were damaged on the fibre", {"link-loss"}, numbered("link {link} crc {n}", 300, 3000)),
    Cause("board-overflow", "link", "the board dropped cells of the link", {"link-loss"},
          numbered("link {link} drop {n}", 200, 900)),
    Cause("bit-slip", "link", "the link locked with bits off", {"phase-slip"}, bit_slip, ("fibre-dark",)),
    Cause("phase-step", "link", "the phase jumped", {"phase-jump"}, phase_step),
    Cause("phase-drift", "link", "the phase drifted", {"phase-drift"}, phase_drift),
    Cause("phase-silent", "link", "the board did not measure the phase", {"phase-silent"},
          lasting("link {link} phase-stop", "link {link} phase-go", 20, 30)),
    Cause("fibres-swapped", "link", "two fibres were swapped; name one of the links", {"floor-identity"}, swapped, ("fibre-dark",)),
    Cause("hv-trip", "floor", "a module's high voltage tripped", {"hv-trip"}, numbered("link {link} hv-trip {n}", 0, 5)),
    Cause("floor-mute", "floor", "the FCM did not answer commands", {"floor-mute"},
          lasting("link {link} mute", "link {link} unmute", 25, 40)),
    Cause("fcm-boot", "floor", "the FCM booted", {"fcm-booted"}, numbered("link {link} fcm-boot", 0, 0, ends=5),
          ("fibre-dark",)),
    Cause("burst", "floor", "much light: hits were lost in the modules' FIFOs", {"hits-lost"}, burst, ("hv-trip",)),
    Cause("gps-lost", "clock", "the GPS receiver was silent", {"clock-holdover"}, lasting("gps silent", "gps ok", 30, 60)),
    Cause("board-stall", "board", "the board's DMA hung", {"board-stalled"}, board_stall),
]
OF = {c.name: c for c in CAUSES}
LINKS = range(4)
TRIPS = {"hv-trip", "burst"}  # a module that has tripped, and is not cleared, cannot trip
MOVES_PHASE = {"bit-slip", "phase-step", "phase-drift"}  # and leave it displaced


def objects():
    """All that an answer may name."""
    return [*(f"link{n}" for n in LINKS), *(f"floor{n + 1}" for n in LINKS), "clock", "board"]


def object_of(cause, link):
    return {"link": f"link{link}", "floor": f"floor{link + 1}"}.get(cause.of, cause.of)


def same_object(fault, name):
    """A link and its floor are one; of swapped fibres either."""
    def place(text):
        return int(text[4:]) if text.startswith("link") else int(text[5:]) - 1 if text.startswith("floor") else text
    named = [place(fault.object)]
    if fault.cause == "fibres-swapped":
        named = [int(n) for n in fault.lines[0][1].split()[1:]]
    return place(name) in named


def plan(r, count, apart):
    """`count` faults, one every `apart` s or so, each cause once before one comes again. No link has two at a time, what
    drifts or is swapped has no company. No phase moves twice in one way, and none steps from where it was displaced to: it
    might step back. No floor's modules trip twice."""
    faults, at, left, moved, tripped = [], 20, [], {link: set() for link in LINKS}, set()
    while len(faults) < count:
        left = left or list(CAUSES)
        cause, link = r.choice(left), r.choice(LINKS)
        if cause.name in MOVES_PHASE:
            free = [n for n in LINKS if not moved[n] or cause.name != "phase-step" and cause.name not in moved[n]]
            if not free:
                left.remove(cause)
                continue
            link = r.choice(free)
            moved[link].add(cause.name)
        if cause.name in TRIPS:
            free = [n for n in LINKS if n not in tripped]
            if not free:
                left.remove(cause)
                continue
            link = r.choice(free)
            tripped.add(link)
        left.remove(cause)
        lines, ends = cause.make(r, link)
        faults.append(Fault(cause.name, object_of(cause, link), at, lines, ends))
        at += max(r.uniform(apart * 0.7, apart * 1.3), 0 if ends < 20 else ends + 12)
    return faults


def scenario(faults):
    events = sorted((f.at + after, what) for f in faults for after, what in f.lines)
    return "from data\n" + "".join(f"at {at:.1f} {what}\n" for at, what in events)


def judge(faults, answers, begin):
    """[(fault, the answer that is right|None)], [wrong answers]. `begin`: UTC of the data's begin; answers: {time, cause,
    object}. An answer counts from the fault's begin on. What comes with a fault is no wrong answer."""
    left = sorted(answers, key=lambda a: a["time"])
    told = []
    for f in faults:
        right = next((a for a in left if a["cause"] == f.cause and same_object(f, a["object"]) and
                      a["time"] >= begin + f.at - 1), None)
        if right:
            left.remove(right)
        told.append((f, right))
    wrong = [a for a in left if not any(a["cause"] in OF[f.cause].also and same_object(f, a["object"]) and
                                        a["time"] >= begin + f.at - 1 for f in faults)]
    return told, wrong
