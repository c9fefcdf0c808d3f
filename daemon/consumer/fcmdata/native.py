# SPDX-License-Identifier: LGPL-2.1-or-later
"""libfcmdata.so.0 by ctypes: checks, hits as rows, their order and samples, recordings. The one module that calls it.

The library is looked for in this package's folder, in the build of the source tree that the package is in, and where
the system has its libraries. The environment's FCMDATA_LIBRARY names another one; empty, none is used. Before a call
everything that the C code relies on has been checked here or by the caller, as each function says: no argument from
Python leads outside of an array.
"""
from __future__ import annotations

import ctypes
import errno
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcm_data import HEADER_BYTES, hit_row_dtype

NAME = "libfcmdata.so.0"
HEADER_WORD = {1: "malformed", 2: "header CRC", 3: "payload CRC", 4: "version"}  # enum fcmdata_damage
GOOD, VERSION = 0, 4


class BlockStruct(ctypes.Structure):
    """struct fcmdata_block."""

    _fields_ = [("header", ctypes.c_uint8 * HEADER_BYTES), ("payload", ctypes.c_void_p), ("key", ctypes.c_uint8 * 16),
                ("repeat", ctypes.c_bool), ("again", ctypes.c_bool), ("gap_first", ctypes.c_uint64),
                ("gap_frames", ctypes.c_uint64), ("gap_lost", ctypes.c_uint64)]


class RecordingConfig(ctypes.Structure):
    """struct fcmdata_recording_config."""

    _fields_ = [("links", ctypes.c_uint), ("streams", ctypes.c_uint), ("run", ctypes.c_uint32),
                ("from_tai_ns", ctypes.c_int64), ("until_tai_ns", ctypes.c_int64), ("block_frames", ctypes.c_uint32),
                ("follow", ctypes.c_bool), ("reserved", ctypes.c_uint64 * 6)]


def _places() -> list[str]:
    named = os.environ.get("FCMDATA_LIBRARY")
    if named is not None:
        return [named] if named else []
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.normpath(os.path.join(here, "..", "..", ".."))
    in_tree = os.path.exists(os.path.join(root, "schemas", "fcm_hits.h"))
    # The tree's before the system's: whoever works in a tree means its own, of whatever version another is installed.
    files = [os.path.join(here, NAME), *([os.path.join(root, "build", "lib", NAME)] if in_tree else [])]
    return [f for f in files if os.path.exists(f)] + [NAME]


def _declared(lib: ctypes.CDLL) -> ctypes.CDLL:
    """With the types of what is used; AttributeError: an older one, which lacks some."""
    size, pointer, block = ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(BlockStruct)
    declarations: tuple[tuple[Any, ...], ...] = (
            ("fcmdata_check", ctypes.c_int, ctypes.c_char_p, size, ctypes.c_char_p, size, pointer, size, block),
            ("fcmdata_hits", ctypes.c_int64, block, ctypes.c_int, ctypes.c_uint32, pointer, size),
            ("fcmdata_hits_order", None, pointer, pointer, size),
            ("fcmdata_hits_waveforms", None, pointer, size, pointer, pointer, pointer),
            ("fcmdata_recording_open", ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(RecordingConfig),
             ctypes.POINTER(pointer)),
            ("fcmdata_recording_next", ctypes.c_int, pointer, ctypes.POINTER(block)),
            ("fcmdata_recording_edges", None, pointer, ctypes.POINTER(ctypes.c_uint32),
             ctypes.POINTER(ctypes.c_uint32)),
            ("fcmdata_recording_range", ctypes.c_int, pointer, ctypes.POINTER(ctypes.c_int64),
             ctypes.POINTER(ctypes.c_int64)),
            ("fcmdata_recording_troubles", ctypes.c_uint, pointer, ctypes.POINTER(ctypes.c_char_p)),
            ("fcmdata_recording_close", None, pointer))
    for name, result, *arguments in declarations:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def _load() -> tuple[Any, str | None, str]:
    """(the library, its path, why there is none)."""
    said = []
    for place in _places():
        try:
            return _declared(ctypes.CDLL(place)), place, ""
        except OSError as e:
            said.append(str(e))
        except AttributeError as e:
            said.append(f"{place} is older than this module: {e}")
    return None, None, "; ".join(said) or "FCMDATA_LIBRARY is empty"


LIB, LIBRARY, ABSENT = _load()
"""LIBRARY: the path of the libfcmdata in use; None: there is none, and ABSENT says why."""


def address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def check(topic: bytes, header: bytes, payload: NDArray[np.uint8]) -> int:
    """enum fcmdata_damage of a message."""
    return int(LIB.fcmdata_check(topic, len(topic), header, len(header), address(payload), len(payload),
                                 ctypes.byref(BlockStruct())))


def block_struct(header: bytes, payload: NDArray[np.uint8]) -> BlockStruct:
    """For hits_into(). It is valid as long as `payload` lives."""
    struct = BlockStruct(payload=address(payload))
    ctypes.memmove(struct.header, header, HEADER_BYTES)
    return struct


def hits_into(struct: BlockStruct, module: int, number: int, rows: NDArray[np.void]) -> int:
    """Rows of a block whose index and channels have been checked: how many, or -ENOSPC. ValueError: a hit that is none.
    `module`: below the block's channels, or -1."""
    n = int(LIB.fcmdata_hits(ctypes.byref(struct), module, number, address(rows), len(rows)))
    if n == -errno.EBADMSG:
        raise ValueError("bytes that are no hit")
    if n < 0 and n != -errno.ENOSPC:
        raise ValueError(os.strerror(-n))
    return n


def order(rows: NDArray[np.void]) -> None:
    """Sort contiguous rows by time, in place."""
    scratch = np.empty(len(rows), hit_row_dtype)
    LIB.fcmdata_hits_order(address(rows), address(scratch), len(rows))


def waveforms_into(rows: NDArray[np.void], payloads: list[NDArray[np.uint8]], values: NDArray[np.uint16],
                   offsets: NDArray[np.uint64]) -> None:
    """`rows` are contiguous, their `block` below len(payloads), their samples inside; `values` has room for all."""
    pointers = np.array([address(p) for p in payloads], np.uintp)
    LIB.fcmdata_hits_waveforms(address(rows), len(rows), address(pointers), address(values), address(offsets))
