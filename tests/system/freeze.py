#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""freeze.py PID NAME: stops the thread of this name of a process, and nothing else of it, until this program ends."""
import ctypes
import glob
import sys

SEIZE, INTERRUPT = 0x4206, 0x4207
ALL = 0x40000000  # __WALL: also of threads

libc = ctypes.CDLL(None, use_errno=True)
pid, name = sys.argv[1:]
tid = next(int(p.split("/")[4]) for p in glob.glob(f"/proc/{pid}/task/*/comm") if open(p).read().strip() == name)
if libc.ptrace(SEIZE, tid, 0, 0) or libc.ptrace(INTERRUPT, tid, 0, 0):
    sys.exit(f"freeze.py: ptrace: errno {ctypes.get_errno()}")
libc.waitpid(tid, None, ALL)  # it has stopped
print("frozen", tid, flush=True)
libc.waitpid(tid, None, ALL)  # it has been killed: it can leave
