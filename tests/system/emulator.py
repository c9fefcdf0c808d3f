# SPDX-License-Identifier: GPL-2.0-or-later
"""A bare nanet3-emu on a socket, without the rest of a station."""
import os
import time

from station import Process


class Emulator:
    """Serves while the `with` block runs; `where` is what libnanet3 opens. Its sea is nearly dark: a machine that
    is busy with other things keeps real time, too."""

    def __init__(self, bin_dir, directory, *args):
        self.socket = os.path.join(directory, "board.sock")
        self.where = f"unix:{self.socket}"
        self.argv = [os.path.join(bin_dir, "nanet3-emu"), "--socket", self.socket, "--rate", "100", *args]
        self.log, self.process = os.path.join(directory, "emulator.log"), None

    def __enter__(self):
        if os.path.exists(self.log):
            os.unlink(self.log)  # of one before in the same place
        self.process = Process("emulator", self.argv, self.log)
        until = time.monotonic() + 15
        while "ready" not in self.process.tail():
            if not self.process.alive() or time.monotonic() > until:
                text = self.process.tail()
                self.process.kill9()
                raise RuntimeError(f"the emulator is not ready: {text}")
            time.sleep(0.02)
        return self

    def __exit__(self, *what):
        self.process.end()
