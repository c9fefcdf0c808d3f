# SPDX-License-Identifier: BSD-2-Clause
"""The command line that the examples share."""
import argparse
import sys


def arguments(doc, *more, seconds=10.0, where="a monitor endpoint, or a recording"):
    """where, png, seconds (None: not this one), and options of (name, default, what it is). From then on an OSError
    ends with one line."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("where", help=where)
    p.add_argument("png", help="the picture to write")
    if seconds:
        p.add_argument("--seconds", type=float, default=seconds, help=f"of data ({seconds:g})")
    for name, default, what in more:
        p.add_argument(f"--{name}", type=type(default), default=default, help=f"{what} ({default})")

    def say(kind, error, trace):
        if issubclass(kind, (OSError, ImportError)):
            print(f"{p.prog}: {error}", file=sys.stderr)
        elif kind is not KeyboardInterrupt:
            sys.__excepthook__(kind, error, trace)
    sys.excepthook = say
    return p.parse_args()
