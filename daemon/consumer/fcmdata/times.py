# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times of the data: TAI since 1970 in ns, and what they are in UTC and in slices.

Functions of numbers take an int, which gives an int, or anything that numpy makes an int64 array of, which gives an
array of the same shape. NO_TAI stays NO_TAI.

UTC in ns since 1970 has no leap seconds, as everywhere in Unix: 23:59:60 has the numbers of the second after it, and
in_leap_second() tells the two apart. Before 1972 TAI - UTC is taken as 10 s.

The leap seconds are those of the system's tzdata, or those built in here (until 2017; 37 s since then), whichever
table is longer. A process reads the file once.
"""
from __future__ import annotations

import datetime
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Union, overload

import numpy as np
from numpy.typing import NDArray

from fcm_data import NO_TAI

SECOND_NS = 1_000_000_000
SLICE_NS = 200_000_000
Y2000_UTC_NS = 946_684_800 * SECOND_NS
NTP_UNIX_S = 2_208_988_800  # from 1900 to 1970
PLACES = ("/usr/share/zoneinfo/leap-seconds.list", "/usr/share/zoneinfo/leapseconds")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Months at whose beginning TAI - UTC became 10, 11, ... 37 s.
BUILT_IN = ("1972-01 1972-07 1973-01 1974-01 1975-01 1976-01 1977-01 1978-01 1979-01 1980-01 1981-07 1982-07 1983-07 "
            "1985-07 1988-01 1990-01 1991-01 1992-07 1993-07 1994-07 1996-01 1997-07 1999-01 2006-01 2009-01 2012-07 "
            "2015-07 2017-01").split()

When = Union[int, datetime.datetime, np.datetime64]


class LeapSeconds(NamedTuple):
    """From UTC second utc_s[i] since 1970 on, TAI - UTC is offset_s[i]. Ascending."""

    utc_s: NDArray[np.int64]
    offset_s: NDArray[np.int64]

    @property
    def utc_ns(self) -> NDArray[np.int64]:
        return self.utc_s * SECOND_NS

    @property
    def tai_ns(self) -> NDArray[np.int64]:
        """The same instants in TAI."""
        return (self.utc_s + self.offset_s) * SECOND_NS


def _table(entries: list[tuple[int, int]]) -> LeapSeconds:
    utc_s, offset_s = zip(*sorted(entries))
    return LeapSeconds(np.array(utc_s, np.int64), np.array(offset_s, np.int64))


def built_in() -> LeapSeconds:
    """The table as it was in 2026."""
    months = np.array(BUILT_IN, "datetime64[M]")
    return LeapSeconds(months.astype("datetime64[s]").astype(np.int64), np.arange(10, 10 + len(months), dtype=np.int64))


def read_leap_seconds(path: str) -> LeapSeconds:
    """A file of tzdata: leap-seconds.list (lines "3692217600 37 # 1 Jan 2017") or leapseconds (lines "Leap 2016 Dec 31
    23:59:60 + S"). ValueError: it is neither; OSError."""
    entries: list[tuple[int, int]] = []
    with open(path, encoding="ascii", errors="replace") as f:
        for line in f:
            words = line.split()
            if len(words) >= 6 and words[0] == "Leap":
                entries = entries or [(63_072_000, 10)]  # 1972
                day = datetime.date(int(words[1]), MONTHS.index(words[2]) + 1, int(words[3])).toordinal() + 1
                step = {"+": 1, "-": -1}[words[5]]
                entries.append(((day - datetime.date(1970, 1, 1).toordinal()) * 86400, entries[-1][1] + step))
            elif len(words) >= 2 and words[0].isdigit():
                entries.append((int(words[0]) - NTP_UNIX_S, int(words[1])))
    if not entries:
        raise ValueError(f"{path}: no leap seconds in it")
    return _table(entries)


@functools.lru_cache(maxsize=1)
def leap_seconds() -> LeapSeconds:
    """The table in use."""
    tables = [built_in()]
    for path in PLACES:
        if os.path.exists(path):
            try:
                tables.append(read_leap_seconds(path))
            except (OSError, ValueError, KeyError):
                continue  # the others are as good until the next leap second
    return max(tables, key=lambda t: int(t.utc_s[-1]))


class OfNumbers(Protocol):
    """A function of an int or of an array of them."""

    @overload
    def __call__(self, numbers: int, /) -> int: ...
    @overload
    def __call__(self, numbers: Sequence[int] | NDArray[Any], /) -> NDArray[Any]: ...


def _of_numbers(f: Callable[[NDArray[np.int64]], NDArray[Any]]) -> OfNumbers:
    @functools.wraps(f)
    def of(numbers: Any) -> Any:
        result = f(np.atleast_1d(np.asarray(numbers, np.int64)))
        return result if np.ndim(numbers) else result[0].item()
    return of


def _shifted(ns: NDArray[np.int64], begins: NDArray[np.int64], sign: int) -> NDArray[np.int64]:
    offset = leap_seconds().offset_s[np.maximum(np.searchsorted(begins, ns, side="right") - 1, 0)]
    return np.where(ns == NO_TAI, ns, ns + sign * SECOND_NS * offset)


@_of_numbers
def tai_to_utc(tai: NDArray[np.int64]) -> NDArray[np.int64]:
    """UTC since 1970 in ns, without leap seconds, of TAI since 1970 in ns."""
    return _shifted(tai, leap_seconds().tai_ns, -1)


@_of_numbers
def utc_to_tai(utc: NDArray[np.int64]) -> NDArray[np.int64]:
    """TAI since 1970 in ns of UTC since 1970 in ns. A number that a leap second shares with the second after it is
    that of the second after."""
    return _shifted(utc, leap_seconds().utc_ns, 1)


@_of_numbers
def in_leap_second(tai: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether TAI times lie in a 23:59:60: a bool, or an array of bool."""
    table = leap_seconds()
    behind = table.tai_ns[1:][np.diff(table.offset_s) > 0]  # the second behind each inserted one begins here
    next_one = np.minimum(np.searchsorted(behind, tai, side="right"), len(behind) - 1)
    inside: NDArray[np.bool_] = (tai < behind[next_one]) & (tai >= behind[next_one] - SECOND_NS)
    return inside


@_of_numbers
def slice_of(tai: NDArray[np.int64]) -> NDArray[np.int64]:
    """The slice of 200 ms that a label's TAI lies in: UTC ms since 2000-01-01 / 200, without leap seconds. Slices are
    of the label, which lags true time by the cable's delay: subtract block["cable_delay_ns"] from a block's or a
    hit's time first. A block's own slice is block["slice_id"]. NO_TAI gives -1."""
    utc = np.where(tai == NO_TAI, Y2000_UTC_NS - SLICE_NS, tai_to_utc(tai))
    return (utc - Y2000_UTC_NS) // SLICE_NS


@_of_numbers
def tai_of_slice(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """TAI since 1970 in ns, of the label, at which slices begin."""
    return utc_to_tai(number * SLICE_NS + Y2000_UTC_NS)


def datetime64_of(tai: Any) -> Any:
    """UTC as numpy.datetime64 in ns, of TAI since 1970 in ns: a scalar or an array. NO_TAI gives NaT."""
    return np.asarray(tai_to_utc(tai), np.int64).view("datetime64[ns]")[()]


def tai_ns(when: When) -> int:
    """TAI since 1970 in ns of a UTC time: a datetime with tzinfo, or a numpy.datetime64; an int is such a number
    already. ValueError: a datetime without tzinfo, NaT; TypeError: anything else."""
    if isinstance(when, (int, np.integer)) and not isinstance(when, bool):
        return int(when)
    if isinstance(when, datetime.datetime):
        if when.tzinfo is None:
            raise ValueError(f"{when!r} has no tzinfo: give datetime.timezone.utc where it is UTC")
        since = when - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return utc_to_tai(since // datetime.timedelta(microseconds=1) * 1000)
    if isinstance(when, np.datetime64):
        if np.isnat(when):
            raise ValueError("NaT is no time")
        return utc_to_tai(int(when.astype("datetime64[ns]").astype(np.int64)))
    raise TypeError(f"{when!r}: an int (TAI ns since 1970), a datetime with tzinfo, or a numpy.datetime64")
