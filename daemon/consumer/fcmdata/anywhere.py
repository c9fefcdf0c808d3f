# SPDX-License-Identifier: LGPL-2.1-or-later
"""Blocks of a station or of a recording, for programs that take either."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fcm_data import STREAMS

from .blocks import Block
from .recording import Recording

if TYPE_CHECKING:
    from .source import Source


def blocks_of(where: str | os.PathLike[str], streams: Iterable[str] | str | None = None, seconds: float | None = None,
              timeout: float = 10) -> Iterator[Block]:
    """The blocks of a running station, as a monitor (`where` is an endpoint, tcp://...), or of a recording (a path).

    streams     only these: "pmt", "hydrophone", "instrument"; None: all
    seconds     of data, from the first block that has a time; None: to the end of a recording, of a station for ever
    timeout     s: TimeoutError when a station sends nothing for so long

    Other errors are those of Monitor and of Recording."""
    wanted = (streams,) if isinstance(streams, str) else tuple(streams or STREAMS)
    if unknown := [s for s in wanted if s not in STREAMS]:
        raise ValueError(f"stream {unknown[0]!r}: one of {', '.join(STREAMS)}")
    with _source(os.fspath(where), wanted, timeout) as source:
        first = None
        for block in source:
            if block.has_time:
                first = block["tai_ns"] if first is None else first
                if seconds is not None and block["tai_ns"] - first >= seconds * 1e9:
                    return
            yield block
        if not isinstance(source, Recording):
            connected = getattr(source, "stats", {}).get("connections")
            raise TimeoutError(f"{where}: no block for {timeout:g} s; " + (
                "does fcmctl link list show links that are up?" if connected else
                "a station's monitors have port 5730 + board number"))


def _source(where: str, streams: tuple[str, ...], timeout: float) -> Source[Block]:
    if re.fullmatch(r"[^/]+:\d+", where) and not os.path.exists(where):
        raise ValueError(f"{where}: there is no such recording; an endpoint is tcp://{where}")
    if "://" not in where:
        return Recording(where, streams=streams)
    from .handles import Monitor  # needs pyzmq
    return Monitor(where, topics=[f"{stream}." for stream in streams], timeout=timeout)
