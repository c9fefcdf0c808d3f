# SPDX-License-Identifier: BSD-2-Clause
"""What the examples share: copy this file together with one of them."""
import argparse
import contextlib
import itertools
import os
import signal
import sys
import traceback
import warnings

import fcmdata


class Missing:
    """Adds up the frames that blocks lack, without the edges: what is cut off where a recording begins and ends."""

    def __init__(self):
        self.frames = self.missing = 0

    def add(self, block):
        rows = block.missing()
        self.frames += block.frames + block.gap_frames
        self.missing += int(rows["frames"][~rows["edge"]].sum())

    def __str__(self):
        return (f"{self.missing} of {self.frames} frames are missing (lost, or, live, more than this program could take)"
                if self.missing else "no frame is missing")


def until_ctrl_c(blocks):
    """The blocks until Ctrl-C, or until no more come: what has come is drawn. A second Ctrl-C ends the program."""
    stopped, n = [], 0

    def stop(*_):
        stopped.append(True)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGINT, stop)
    try:
        for n, block in enumerate(itertools.takewhile(lambda _: not stopped, blocks), 1):
            yield block
    except TimeoutError as e:
        if not n:
            raise
        print(f"{os.path.basename(sys.argv[0])}: {e}", file=sys.stderr)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def reading(path, what):
    """The file's text; if it is not `what`, the program ends with one line."""
    try:
        with open(path, encoding="utf-8") as f:
            yield f.read()
    except (ValueError, KeyError, TypeError):
        raise SystemExit(f"{os.path.basename(sys.argv[0])}: {path} is not {what}") from None


def arguments(doc, *more, seconds=10.0, whole=True, where="a monitor endpoint, or a recording"):
    """where, png, seconds (None: not this one; of a recording all where `whole`), and options of (name, default, what
    it is). From then on an OSError, a refusal, and a ValueError of the package end with one line; a warning is one."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` has had enough
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("where", help=where)
    p.add_argument("png", help="the picture to write")
    if seconds:
        p.add_argument("--seconds", type=float, help=f"of data ({seconds:g}{'; of a recording: all' * whole})")
    for name, default, what in more:
        p.add_argument(f"--{name}", type=type(default), default=default, help=f"{what} ({default})")

    def say(kind, error, trace):
        package = os.path.dirname(fcmdata.__file__)
        if issubclass(kind, (OSError, ImportError)) or kind.__name__ == "Refused" or (
                issubclass(kind, ValueError) and traceback.extract_tb(trace)[-1].filename.startswith(package)):
            print(f"{p.prog}: {error}", file=sys.stderr)
        elif kind is not KeyboardInterrupt:
            sys.__excepthook__(kind, error, trace)
    sys.excepthook = say
    warnings.filterwarnings("ignore", "loadtxt")  # an empty list is one, too
    warnings.showwarning = lambda message, *_, **__: print(f"{p.prog}: {message}", file=sys.stderr)
    args = p.parse_args()
    if seconds and args.seconds is None and ("://" in args.where or not whole):
        args.seconds = seconds
        if "://" not in args.where:
            recording = fcmdata.Recording(args.where)
            if (length := (recording.last - recording.first) / 1e9) > seconds:
                print(f"{p.prog}: the first {seconds:g} s of {length:.1f} s; --seconds N for more", file=sys.stderr)
    return args
