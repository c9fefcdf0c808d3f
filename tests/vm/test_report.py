#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""report.py cannot be fooled: each way in which a guest may fail without saying so is a failure."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report  # noqa: E402


def judged(text):
    guest = report.Guest()
    for line in text.strip().split("\n"):
        guest.line(line.strip())
    guest.end()
    return guest.passed, guest.failed, guest.skipped


class Tap(unittest.TestCase):
    def test_all_well(self):
        self.assertEqual(judged("""# begin a
            1..2
            ok 1 - x
            ok 2 - y
            # end a 0
            # all done"""), (2, 0, 0))

    def test_skip_in_both_spellings(self):
        self.assertEqual(judged("""# begin a
            1..2
            not ok 1 # SKIP x
            ok 2 - y # skip no need
            # end a 0
            # all done"""), (0, 0, 2))

    def test_a_failure(self):
        self.assertEqual(judged("""# begin a
            1..1
            not ok 1 - x
            # end a 1
            # all done"""), (0, 1, 0))

    def test_results_missing(self):
        self.assertEqual(judged("""# begin a
            1..3
            ok 1 - x
            # end a 0
            # all done"""), (1, 1, 0))

    def test_status_alone(self):
        self.assertEqual(judged("""# begin a
            1..1
            ok 1 - x
            # end a 137
            # all done"""), (1, 1, 0))

    def test_no_plan(self):
        self.assertEqual(judged("""# begin a
            # end a 127
            # all done"""), (0, 1, 0))

    def test_the_guest_dies(self):
        self.assertEqual(judged("""# begin a
            1..2
            ok 1 - x"""), (1, 2, 0))

    def test_a_program_that_never_ends(self):
        self.assertEqual(judged("""# begin a
            1..1
            ok 1 - x
            # begin b
            1..1
            ok 1 - x
            # end b 0
            # all done"""), (2, 1, 0))

    def test_a_slow_host_is_no_excuse(self):
        guest = report.Guest()
        for line in ("# begin a", "1..1", "not ok 1 - x", "# too slow: a ring ran full", "# end a 1", "# all done"):
            guest.line(line)
        guest.end()
        self.assertTrue(guest.too_slow)
        self.assertEqual((guest.passed, guest.failed), (0, 1))

    def test_nothing_at_all(self):
        self.assertEqual(judged(""), (0, 1, 0))


class Log(unittest.TestCase):
    def test_reports(self):
        for line in ("BUG: KASAN: use-after-free in nanet3_yield+0x1/0x2 [nanet3]",
                     "WARNING: CPU: 0 PID: 1 at kernel/x.c:1 y+0x1/0x2",
                     "WARNING: possible circular locking dependency detected",
                     "UBSAN: array-index-out-of-bounds in nanet3_irq.c:1:2",
                     "DMA-API: nanet3 0000:00:02.0: device driver frees DMA memory with different size",
                     "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
                     "INFO: task rmmod:12 blocked for more than 120 seconds.",
                     "WARNING: suspicious RCU usage", "general protection fault, probably for x",
                     "Kernel panic - not syncing: x", "ODEBUG: free active (active state 0) object type: x"):
            self.assertEqual(report.kernel_reports(f"[    1.0] {line}\n"), [f"[    1.0] {line}"])

    def test_what_is_none(self):
        log = """Linux version 6.1.0
            kmemleak: Kernel memory leak detector initialized (mem pool available: 14904)
            DMA-API: preallocated 65536 debug entries
            DMA-API: debugging enabled by kernel config
            nanet3: loading out-of-tree module taints kernel.
            Warning: unable to open an initial console.
            guest_owner[129]: segfault at 7fd70697b000"""
        self.assertEqual(report.kernel_reports(log), [])

    def test_what_is_meant(self):
        self.assertEqual(report.kernel_reports("WARNING: CPU: 0\nBUG: y", ("WARNING: ",)), ["BUG: y"])


if __name__ == "__main__":
    unittest.main()
