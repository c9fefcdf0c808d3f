# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hits of several blocks: in time order, their samples, as columns, for pandas and awkward."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcm_data import HIT_ZIP, hit_row_dtype, hit_waveforms

from . import native
from .times import datetime64_of

if TYPE_CHECKING:
    from .blocks import Block
    from .feed import Piece


class Waveforms(NamedTuple):
    """Samples of hits: those of hit i are values[offsets[i]:offsets[i + 1]], of 5 ns each."""

    values: NDArray[np.uint16]
    offsets: NDArray[np.uint64]

    def of(self, i: int) -> NDArray[np.uint16]:
        """The samples of hit i. IndexError."""
        i = range(len(self.offsets) - 1)[i]
        return self.values[int(self.offsets[i]):int(self.offsets[i + 1])]

    def to_awkward(self) -> Any:
        """An awkward array of n lists, without copying. ImportError: awkward is not installed."""
        try:
            import awkward
        except ImportError as e:
            raise ImportError("to_awkward() needs the package awkward, 2 or later") from e
        return awkward.Array(awkward.contents.ListOffsetArray(awkward.index.Index64(self.offsets.view(np.int64)),
                                                              awkward.contents.NumpyArray(self.values)))


def _rows(hits: NDArray[np.void]) -> NDArray[np.void]:
    """Contiguous. TypeError: not the array of hits()."""
    if getattr(hits, "dtype", None) != hit_row_dtype or hits.ndim != 1:
        raise TypeError(f"an array of hits(), dtype hit_row_dtype, not {getattr(hits, 'dtype', type(hits))}")
    return np.ascontiguousarray(hits)


def merge(blocks: Iterable[Block]) -> NDArray[np.void]:
    """The hits of several blocks, of any floors, in time order: hit_row_dtype[n]. A row's `block` is the index of its
    block in `blocks`, as waveforms() wants it: keep a list for that, as an iterator is read to its end. Hits of the
    same ns keep the order of the blocks; those without time come first. ValueError, IndexError as Block.hits()."""
    blocks = list(blocks)
    rows = np.empty(sum(block.most_hits() for block in blocks), hit_row_dtype)
    n = 0
    for i, block in enumerate(blocks):
        n += len(block.hits(number=i, out=rows[n:]))
    return in_time_order(rows[:n], copy=False)


def in_time_order(hits: NDArray[np.void], copy: bool = True) -> NDArray[np.void]:
    """Rows sorted by tai_ns; those of the same ns keep their order. Without `copy` the given array may be sorted in
    place. TypeError: not rows."""
    rows = _rows(hits)
    if not native.LIB:
        return rows[np.argsort(rows["tai_ns"], kind="stable")]
    if rows is hits and copy or not rows.flags.writeable:
        rows = rows.copy()
    native.order(rows)
    return rows


def waveforms(hits: NDArray[np.void], blocks: Iterable[Block | Piece]) -> Waveforms:
    """The samples of hits, 16 bits each, also where the floor sent bytes. `blocks`: a hit is of blocks[hit["block"]],
    as merge() numbers them. ValueError: hits of other blocks; TypeError: not rows."""
    rows, payloads = _rows(hits), [block.data for block in blocks]
    if not len(rows):
        return Waveforms(np.zeros(0, np.uint16), np.zeros(1, np.uint64))
    if rows["block"].max() >= len(payloads):
        raise ValueError(f"hits of block {rows['block'].max()}, and only {len(payloads)} blocks")
    if not native.LIB:
        return Waveforms(*hit_waveforms(rows, payloads))
    sizes = np.array([len(p) for p in payloads])
    zipped = rows["flags"] & HIT_ZIP
    ends = rows["samples_at"] + (rows["samples"].astype(np.int64) << (1 - zipped))
    if (ends > sizes[rows["block"]]).any():
        raise ValueError("hits of another block: their samples are outside of it")
    values = np.empty(int(rows["samples"].sum(dtype=np.int64)), np.uint16)
    offsets = np.empty(len(rows) + 1, np.uint64)
    native.waveforms_into(rows, payloads, values, offsets)
    return Waveforms(values, offsets)


def columns(hits: NDArray[np.void]) -> dict[str, NDArray[Any]]:
    """Each field of the rows as an array of its own, contiguous."""
    return {name: np.ascontiguousarray(hits[name]) for name in hit_row_dtype.names or () if name != "reserved"}


def to_pandas(hits: NDArray[np.void], utc: bool = False) -> Any:
    """A pandas.DataFrame with a row a hit and the fields as columns. `utc`: also a column `utc`, datetime64[ns], NaT
    where there is no time. ImportError: pandas is not installed."""
    try:
        import pandas
    except ImportError as e:
        raise ImportError("to_pandas() needs pandas: apt install python3-pandas") from e
    frame = pandas.DataFrame(columns(hits))
    if utc:
        frame["utc"] = datetime64_of(frame["tai_ns"].to_numpy())
    return frame
