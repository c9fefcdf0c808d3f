# SPDX-License-Identifier: GPL-2.0-or-later
"""Random faults by a seed, as a scenario of nanet3-emu (driver/emu/scenario.md).

Only what the truth file can follow: no board that goes away (its counts begin anew), no swapped fibres, no false time
of day. And only what passes: a tripped module would leave the links less than full.
"""
import random

MEAN_S = 5.0  # from fault to fault


def _number(rng, low, high):
    """Small ones more often."""
    return int(low * (high / low) ** rng.random())


def _span(rng, low, high):
    return f"{low * (high / low) ** rng.random():.3f}"


# Of a link: weight, then what to do, and after so many seconds what ends it.
LINK_FAULTS = [
    (3, lambda r: [(0, f"crc {_number(r, 1, 200)}")]),
    (3, lambda r: [(0, f"drop {_number(r, 1, 200)}")]),
    (2, lambda r: [(0, f"unalign {_number(r, 1, 9999)}")]),
    (2, lambda r: [(0, f"time-fault {_number(r, 1, 8)}")]),
    (2, lambda r: [(0, f"unplug {_span(r, 0.05, 4)}")]),
    (1, lambda r: [(0, "fcm-boot")]),
    (2, lambda r: [(0, f"burst {_number(r, 200_000, 2_000_000)} {_span(r, 0.1, 2)}")]),
    (1, lambda r: [(0, f"lose-irqs {_number(r, 1, 5)}")]),
    (1, lambda r: [(0, f"down-crc {_number(r, 1, 50)}")]),
    (1, lambda r: [(0, f"lose-replies {_number(r, 1, 5)}")]),
    (1, lambda r: [(0, f"duplicate-replies {_number(r, 1, 20)}")]),
    (1, lambda r: [(0, f"reorder-replies {_number(r, 1, 20)}")]),
    (1, lambda r: [(0, "mute"), (float(_span(r, 0.5, 6)), "unmute")]),
    (1, lambda r: [(0, f"temperature {_number(r, 15, 60)}")]),
    (1, lambda r: [(0, f"phase-drift {_number(r, 1, 50)}"), (float(_span(r, 1, 6)), "phase-drift 0")]),
]
# Of the shore.
SHORE_FAULTS = [
    (1, lambda r: [(0, f"stall {_span(r, 0.01, 0.2)}")]),
    (1, lambda r: [(0, "gps void"), (float(_span(r, 1, 6)), "gps ok")]),
    (1, lambda r: [(0, "gps silent"), (float(_span(r, 1, 6)), "gps ok")]),
]


def scenario(seed, links, begin_s, end_s):
    """Text: faults from begin_s to end_s (the last ones end a few seconds later), counted from the first data."""
    rng = random.Random(seed)
    kinds = [(w, True, f) for w, f in LINK_FAULTS] + [(w, False, f) for w, f in SHORE_FAULTS]
    lines, at = [], begin_s
    while (at := at + rng.expovariate(1 / MEAN_S)) < end_s:
        _, of_link, fault = rng.choices(kinds, [k[0] for k in kinds])[0]
        where = f"link {rng.randrange(links)} " if of_link else ""
        lines += [(at + later, where + what) for later, what in fault(rng)]
    lines.sort()
    return "from data\n" + "".join(f"at {when:.3f} {what}\n" for when, what in lines)
