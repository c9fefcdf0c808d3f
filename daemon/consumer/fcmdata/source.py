# SPDX-License-Identifier: LGPL-2.1-or-later
"""The one way to iterate, for everything that gives blocks or hits."""
from __future__ import annotations

from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S", bound="Source")  # type: ignore[type-arg]


class Source(Generic[T]):
    """Iterate it, in a with statement. The iteration ends when there is no more, or when nothing has come for `timeout`
    seconds (None: waits for ever); after a timeout it may be iterated again, and goes on. One object, one thread."""

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        """Longest wait of the iteration, in seconds; may be changed at any time."""

    def receive(self, timeout: float | None = None) -> T | None:
        """The next one; None: nothing within `timeout` seconds (None: waits for ever), or there is no more."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends the connection, or closes the files. More than once does no harm."""
        raise NotImplementedError

    def __iter__(self: S) -> S:
        return self

    def __next__(self) -> T:
        item = self.receive(self.timeout)
        if item is None:
            raise StopIteration
        return item

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
