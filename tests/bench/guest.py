# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of loopback.py on the real driver: nanet3-perf runs in a guest (tests/vm/plans/bench.sh) on
/dev/nanet3-0, the board emulated behind it. Their names begin with vm_."""
import json
import os
import re
import subprocess
import sys
import tarfile

import loopback

RUNNER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "vm", "run_vm.py")
FIGURES = {"vm_" + name: function for name, function in loopback.FIGURES.items()}


def boot(build, cache):
    """What the guest handed out: {command: runs}."""
    done = subprocess.run([sys.executable, RUNNER, "--build", build, "--cache", cache, "bench"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the guest: {(done.stdout + done.stderr).strip()}")
    results = {}
    with tarfile.open(os.path.join(build, "vm", "bench", "out.tar"), ignore_zeros=True) as t:
        for member in t.getmembers():
            if found := re.fullmatch(r"\./(\w+)-\d+\.json", member.name):
                results.setdefault(found[1], []).append(json.load(t.extractfile(member))[found[1]])
    return results


def measure(figures, build, cache, wanted):
    results = boot(build, cache)
    for name, function in FIGURES.items():
        if wanted(name):
            function(figures, lambda command, *args: results[command], "vm_")
