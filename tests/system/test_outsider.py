#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""libnanet3 as others meet it: installed below a prefix of its own, found by pkg-config."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from emulator import Emulator  # noqa: E402

SOURCE = os.path.join(harness.ROOT, "tests", "system", "outsider.c")
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"]


def run(*argv, **kwargs):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **kwargs)


def install(t):
    prefix = os.path.join(t.base, "installed")
    made = run("make", "-s", "--no-print-directory", "-C", harness.ROOT, "install-lib", f"prefix={prefix}",
               f"B={os.path.relpath(os.path.dirname(os.path.abspath(t.bin)), harness.ROOT)}")
    t.check("make install-lib", made.returncode == 0, made.stdout)
    return prefix


def pkg_config(prefix, *args):
    env = {**os.environ, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    return subprocess.run(["pkg-config", *args, "nanet3"], env=env, capture_output=True, text=True,
                          check=True).stdout.split()


def names(*argv):
    """Global symbols that a library defines."""
    return {line.split()[-1].split("@")[0] for line in run("nm", *argv).stdout.splitlines() if len(line.split()) == 3}


def built_linked_and_run(t):
    """with the shared and the static library, by pkg-config, outside of the tree"""
    if t.sanitized:
        t.check("an instrumented library is not for others", True)
        return
    prefix = install(t)
    shared, static = os.path.join(t.base, "shared"), os.path.join(t.base, "static")
    flags, libs = pkg_config(prefix, "--cflags"), pkg_config(prefix, "--libs")
    for program, what in ((shared, libs), (static, ["-Wl,-Bstatic", *libs, "-Wl,-Bdynamic"])):
        made = run("cc", *FLAGS, *flags, "-o", program, SOURCE, *what, cwd=t.base)
        t.check(f"{os.path.basename(program)} is built", made.returncode == 0, made.stdout)
    needed = {p: "libnanet3.so.0" in run("readelf", "-d", p).stdout for p in (shared, static)}
    t.equal("who needs libnanet3.so.0", needed, {shared: True, static: False})
    with Emulator(t.bin, t.base) as emulator:
        for program in (shared, static):
            done = run(program, emulator.where, env={"LD_LIBRARY_PATH": f"{prefix}/lib"}, timeout=60)
            t.equal(f"{os.path.basename(program)} runs", (done.returncode, done.stdout),
                    (0, "nanet3-0: some frames waiting, some polling, a buffer copied\n"))
        done = run(shared, "unix:/nonexistent", env={"LD_LIBRARY_PATH": f"{prefix}/lib"}, timeout=60)
        t.equal("without a board", (done.returncode, done.stdout), (1, "nanet3_open: No such file or directory\n"))


def only_its_own_names(t):
    """the shared library exports what its header declares, the static one takes no other names"""
    with open(os.path.join(harness.ROOT, "driver", "lib", "libnanet3.h")) as f:
        declared = set(re.findall(r"\b(nanet3_\w+)\(struct nanet3 \*|\b(nanet3_\w+)\(const ", f.read()))
    declared = {a or b for a, b in declared}
    lib = os.path.join(os.path.dirname(os.path.abspath(t.bin)), "lib")
    exported = names("-D", "--defined-only", f"{lib}/libnanet3.so.0") - {"NANET3_0"}
    t.equal("exported", exported, declared)
    t.equal("other names in the static library",
            {n for n in names("-g", "--defined-only", f"{lib}/libnanet3.a") if not re.match("(lib)?nanet3_", n)}, set())


def the_header_suits_cxx(t):
    """a C++ compiler takes the installed header, where there is one"""
    if t.sanitized or run("sh", "-c", "command -v g++").returncode != 0:
        t.check("no C++ compiler here", True)
        return
    prefix = install(t)
    source = os.path.join(t.base, "header.cc")
    with open(source, "w") as f:
        f.write("#include <nanet3/libnanet3.h>\nint main() { nanet3_close(nullptr); }\n")
    made = run("g++", "-Wall", "-Wextra", "-Werror", *pkg_config(prefix, "--cflags"), "-o",
               os.path.join(t.base, "header"), source, *pkg_config(prefix, "--libs"))
    t.check("compiled and linked", made.returncode == 0, made.stdout)


if __name__ == "__main__":
    harness.main([built_linked_and_run, only_its_own_names, the_header_suits_cxx])
