# SPDX-License-Identifier: LGPL-2.1-or-later
"""FCM-Server's data in Python: blocks of a running station, of a recording, hits of the TriDAS feed, as numpy arrays.

    from fcmdata import Recording

    with Recording("recordings/night", streams=["pmt"]) as data:
        for block in data:
            hits = block.hits()            # one structured array: tai_ns, module, charge, ...
            print(block["floor"], len(hits), hits["charge"].mean())

There is one way to read, whatever the source:

    Monitor(endpoint)                  a copy of a running station's blocks, best effort
    Member(endpoint, name, group)      a reserved consumer: every block, acknowledged when the next one is asked for
    Recording(path)                    the blocks that a recording's cells make
    Feed(host, port)                   hits of the TriDAS feed of one floor

Each is iterated and used in a with statement; receive() is one step of it with a timeout of its own.

Times are TAI since 1970 in ns, int64; times.py converts. NO_TAI, the smallest int64, is "no time"; as a datetime64 it
is NaT. Where libfcmdata.so.0 is found (LIBRARY), checks and hits are its work; without it numpy does both, slower, and
a Recording cannot be opened. Monitor and Member need pyzmq. daemon/consumer/PYTHON.md is the manual.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fcm_data import CLOCK_STATES, FLAGS, LABEL_SOURCES, LOSSES, NO_TAI, STREAMS, OtherVersion, hit_row_dtype

from .anywhere import blocks_of
from .arrays import Waveforms, columns, in_time_order, merge, to_pandas, waveforms
from .blocks import Block, missing_dtype
from .feed import Feed, Piece
from .native import LIBRARY
from .recording import Recording
from .times import (datetime64_of, in_leap_second, slice_of, tai_ns, tai_of_slice, tai_to_utc, utc_to_tai)

if TYPE_CHECKING:
    from .handles import Member, Monitor, Refused

__version__ = "0.3.0"  # of FCM-Server

__all__ = ["Block", "CLOCK_STATES", "FLAGS", "Feed", "LABEL_SOURCES", "LIBRARY", "LOSSES", "Member", "Monitor",
           "NO_TAI", "OtherVersion", "Piece", "Recording", "Refused", "STREAMS", "Waveforms", "blocks_of", "columns",
           "datetime64_of", "hit_row_dtype", "in_leap_second", "in_time_order", "merge", "missing_dtype", "slice_of",
           "tai_ns", "tai_of_slice", "tai_to_utc", "to_pandas", "utc_to_tai", "waveforms"]


def __getattr__(name: str) -> object:
    """Monitor, Member and Refused when they are first used: reading recordings needs no pyzmq."""
    if name not in ("Member", "Monitor", "Refused"):
        raise AttributeError(f"module 'fcmdata' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(".handles", __name__), name)
    except ModuleNotFoundError as e:
        if e.name != "zmq":
            raise
        raise ImportError(f"fcmdata.{name} needs pyzmq: apt install python3-zmq") from e
