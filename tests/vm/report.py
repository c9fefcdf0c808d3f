# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest said, judged: TAP of several programs on one serial port, and the kernel's log.

The init script puts each program between `# begin NAME` and `# end NAME STATUS`. A result that a program's
plan promised and that never came is a failure, as is a status that is not 0, as is a guest that never said
`# all done`: silence never counts as success.
"""
import re

RESULT = re.compile(r"^(ok|not ok)\b\s*(\d+)?\s*-?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)")

# What the kernel says when its net has caught something. `console` is the whole log.
REPORTS = re.compile(
    r"(BUG: |WARNING: |KASAN: |UBSAN: |kmemleak: [1-9]\d* new|DMA-API: .*(error|warning|driver|leak|device)|"
    r"INFO: task .* blocked|INFO: possible |INFO: rcu_|possible circular locking|inconsistent lock state|"
    r"suspicious RCU usage|sleeping function called|Kernel panic|Oops|general protection fault|"
    r"unregister_netdevice|ODEBUG: |refcount_t: |list_(add|del) corruption|stack-protector|"
    r"Bad page state|nobody cared|soft lockup|hard LOCKUP|invoked oom-killer)")


class Guest:
    """Fed with lines of the TAP port; `passed`, `failed`, `skipped` at any time."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.done = False
        self.too_slow = False
        self.program = None
        self._plan = self._seen = 0

    def _fail(self, what):
        self.failed += 1
        self.failures.append(what)

    def line(self, text):
        text = text.rstrip("\r\n")
        if text.startswith("# begin "):
            self._close(None)
            self.program, self._plan, self._seen = text[8:].strip(), None, 0
            self._failed_before = self.failed
        elif text.startswith("# end "):
            self._close(text.split()[-1])
        elif text.startswith("# too slow"):
            self.too_slow = True
        elif text == "# all done":
            self._close(None)
            self.done = True
        elif m := PLAN.match(text):
            self._plan = int(m.group(1))
        elif m := RESULT.match(text):
            self._result(m)

    def _result(self, m):
        self._seen += 1
        name = f"{self.program or 'init'}: {m.group(3)}"
        if "# SKIP" in m.group(0).upper():
            self.skipped += 1
        elif m.group(1) == "ok":
            self.passed += 1
        else:
            self._fail(name)

    def _close(self, status):
        """The end of a program: by its own status, or (None) it was left without one."""
        if self.program is None:
            return
        name, self.program = self.program, None
        missing = (self._plan or 0) - self._seen
        if status is None:
            self._fail(f"{name}: never ended")
        elif self._plan is None:
            self._fail(f"{name}: no plan, status {status}")
        elif missing > 0:
            self._fail(f"{name}: {missing} results missing, status {status}")
        elif status != "0" and self.failed == self._failed_before:
            self._fail(f"{name}: status {status} though all was ok")

    def end(self):
        """The port is closed."""
        self._close(None)
        if not self.done:
            self._fail("the guest ended before its init script did")


def kernel_reports(log, allowed=()):
    """Lines of the kernel's log that are reports; `allowed`: regular expressions of those that are meant."""
    found = []
    for line in log.splitlines():
        if REPORTS.search(line) and not any(re.search(a, line) for a in allowed):
            found.append(line.strip())
    return found
