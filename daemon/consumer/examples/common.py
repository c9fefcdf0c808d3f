# SPDX-License-Identifier: BSD-2-Clause
"""The command line that the examples share."""
import argparse
import os
import sys
import traceback
import warnings

import fcmdata


def arguments(doc, *more, seconds=10.0, where="a monitor endpoint, or a recording"):
    """where, png, seconds (None: not this one), and options of (name, default, what it is). From then on an OSError,
    and a ValueError of the package, ends with one line; a warning is one."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("where", help=where)
    p.add_argument("png", help="the picture to write")
    if seconds:
        p.add_argument("--seconds", type=float, default=seconds, help=f"of data ({seconds:g})")
    for name, default, what in more:
        p.add_argument(f"--{name}", type=type(default), default=default, help=f"{what} ({default})")

    def say(kind, error, trace):
        package = os.path.dirname(fcmdata.__file__)
        if issubclass(kind, (OSError, ImportError)) or (
                issubclass(kind, ValueError) and traceback.extract_tb(trace)[-1].filename.startswith(package)):
            print(f"{p.prog}: {error}", file=sys.stderr)
        elif kind is not KeyboardInterrupt:
            sys.__excepthook__(kind, error, trace)
    sys.excepthook = say
    warnings.filterwarnings("ignore", "loadtxt")  # an empty list is one, too
    warnings.showwarning = lambda message, *_, **__: print(f"{p.prog}: {message}", file=sys.stderr)
    return p.parse_args()
