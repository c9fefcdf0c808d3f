#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""libnanet3 and libfcmdata as others meet them: installed elsewhere, found by pkg-config."""
import os
import re
import subprocess
import sys

import zmq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import test_pyconsumer  # noqa: E402
from emulator import Emulator  # noqa: E402
from py_consumer import fcmdata  # noqa: E402

SOURCE = os.path.join(harness.ROOT, "tests", "system", "outsider.c")
DATA_SOURCE = os.path.join(harness.ROOT, "tests", "system", "outsider_fcmdata.c")
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"]


def run(*argv, **kwargs):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **kwargs)


def make_install(t, target, where):
    made = run("make", "-s", "--no-print-directory", "-C", harness.ROOT, target, where,
               f"B={os.path.relpath(os.path.dirname(os.path.abspath(t.bin)), harness.ROOT)}")
    t.check(f"make {target}", made.returncode == 0, made.stdout)


def install(t):
    prefix = os.path.join(t.base, "installed")
    make_install(t, "install-lib", f"prefix={prefix}")
    return prefix


def install_data(t):
    """libfcmdata in a system's root of its own, as a package would be made."""
    root = os.path.join(t.base, "root")
    make_install(t, "install-fcmdata", f"DESTDIR={root}")
    return root


def data_pkg_config(root, *args):
    env = {**os.environ, "PKG_CONFIG_PATH": f"{root}/usr/lib/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": root}
    return subprocess.run(["pkg-config", *args, "fcmdata"], env=env, capture_output=True, text=True,
                          check=True).stdout.split()


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


def a_block_for_a_stranger(t):
    """libfcmdata, shared and static, by pkg-config, outside of the tree: a block comes and is acknowledged"""
    if t.sanitized:
        t.check("an instrumented library is not for others", True)
        return
    root = install_data(t)
    env = {"LD_LIBRARY_PATH": f"{root}/usr/lib", "PYTHONPATH": f"{root}/usr/lib/python3/dist-packages"}
    flags, libs = data_pkg_config(root, "--cflags"), data_pkg_config(root, "--libs")
    context = zmq.Context()
    for name, what in (("shared", libs), ("static", ["-Wl,-Bstatic", *libs, "-Wl,-Bdynamic", "-lzmq", "-ljansson", "-lisal"])):
        program = os.path.join(t.base, f"data-{name}")
        made = run("cc", *FLAGS, *flags, "-o", program, DATA_SOURCE, *what, cwd=t.base)
        if not t.check(f"{name}: built", made.returncode == 0, made.stdout):
            continue
        t.equal(f"{name}: needs libfcmdata.so.0", "libfcmdata.so.0" in run("readelf", "-d", program).stdout, name == "shared")
        daemon = test_pyconsumer.FakeDaemon(context)
        with subprocess.Popen([program, f"tcp://127.0.0.1:{daemon.port}"], env=env, cwd=t.base, text=True,
                              stdout=subprocess.PIPE) as process:
            t.equal(f"{name}: HELLO", daemon.hears(None)[0], b"HELLO")
            daemon.say(b"WELCOME", b"{}")
            daemon.block(7)
            heard = daemon.hears(None)
            t.equal(f"{name}: ACK", (heard[0], heard[1][:1]), (b"ACK", b"\x07"))
            t.equal(f"{name}: says", process.communicate(timeout=30)[0], "pmt of floor 2, 80 frames, 0 hits, 0 bad\n")
        daemon.router.close()
    context.term()
    done = run(sys.executable, "-c", "import fcmdata, fcm_data, importlib.metadata as m; "
               "print(fcmdata.__file__, fcm_data.__file__, fcmdata.LIBRARY, m.version('fcmdata') == fcmdata.__version__)",
               env=env, cwd=t.base)
    t.check("the Python package is found, and finds the library", done.returncode == 0 and
            done.stdout.count(root) == 2 and done.stdout.endswith(" libfcmdata.so.0 True\n"), done.stdout)


def in_cxx(t):
    """fcmdata.hpp, installed: a block comes and is acknowledged; a recording has what Python finds in it"""
    if t.sanitized:
        t.check("an instrumented library is not for others", True)
        return
    root = install_data(t)
    env = {"LD_LIBRARY_PATH": f"{root}/usr/lib"}
    program = os.path.join(t.base, "data-cxx")
    made = run("g++", "-std=c++20", *FLAGS[1:], "-Wno-missing-field-initializers", *data_pkg_config(root, "--cflags"), "-o", program,
               DATA_SOURCE.replace(".c", ".cpp"), *data_pkg_config(root, "--libs"), cwd=t.base)
    if not t.check("built", made.returncode == 0, made.stdout):
        return
    context = zmq.Context()
    daemon = test_pyconsumer.FakeDaemon(context)
    with subprocess.Popen([program, f"tcp://127.0.0.1:{daemon.port}"], env=env, cwd=t.base, text=True,
                          stdout=subprocess.PIPE) as process:
        t.equal("HELLO", daemon.hears(None)[0], b"HELLO")
        daemon.say(b"WELCOME", b"{}")
        daemon.block(7)
        heard = daemon.hears(None)
        t.equal("ACK", (heard[0], heard[1][:1]), (b"ACK", b"\x07"))
        t.equal("says", process.communicate(timeout=30)[0], "pmt of floor 2, 80 frames, 0 hits\n")
    daemon.router.close()
    context.term()
    t.equal("nothing there", run(program, "/nowhere", env=env).stdout, "/nowhere: No such file or directory\n")
    recorded(t, program, env)


def recorded(t, program, env):
    st = t.station(load="quiet", truth=False, emulator_args=["--rate", "3000"])
    st.start()
    st.wait_ready()
    st.ask("record", "start", "--name", "night")
    path = st.path("recordings/night")
    st.wait_for("enough of it", lambda: st.status()["recording"]["frames"] > 4 * 8000, 60)
    st.ask("record", "stop")
    t.equal("the daemon ends with 0", st.stop(), 0)
    blocks, hits, values, samples, edge = {"pmt": 0, "hydrophone": 0, "instrument": 0}, 0, 0, 0, 0
    recording = fcmdata.Recording(path)
    for b in recording:
        blocks[b.stream] += 1
        edge += b.edge_begin + b.edge_end
        if b.stream == "pmt":
            rows = b.hits()
            hits, values = hits + len(rows), values + int(rows["samples"].sum())
        elif b.stream == "hydrophone" and b.channels:
            samples += len(b.samples(0)) + len(b.samples(1))
    said = run(program, path, env=env, timeout=60).stdout.split()
    t.equal("blocks by stream, hits, their samples, samples of hydrophones, frames of the edges, and the range",
            [int(x) for x in said], [*blocks.values(), hits, values, samples, edge, recording.first, recording.last])
    t.check("which are many", hits > 10000 and samples > 100000 and edge > 0, (hits, samples, edge))


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
    with open(os.path.join(harness.ROOT, "daemon", "consumer", "fcmdata.h")) as f:
        declared = set(re.findall(r"^(?:int|int64_t|size_t|unsigned|void|const char \*|enum fcmdata_damage) ?"
                                  r"(fcmdata_\w+)\(", f.read(), re.M))
    t.equal("exported by libfcmdata", names("-D", "--defined-only", f"{lib}/libfcmdata.so.0") -
            {"FCMDATA_0", "FCMDATA_1", "FCMDATA_2"}, declared)
    t.equal("names in the static libfcmdata", names("-g", "--defined-only", f"{lib}/libfcmdata.a"), declared)


def the_header_suits_cxx(t):
    """a C++ compiler takes the installed headers, where there is one"""
    if t.sanitized or run("sh", "-c", "command -v g++").returncode != 0:
        t.check("no C++ compiler here", True)
        return
    prefix = install(t)
    source = os.path.join(t.base, "header.cc")
    with open(source, "w") as f:
        f.write("#include <nanet3/libnanet3.h>\n#include <fcmdata/fcmdata.h>\n"
                "int main() { nanet3_close(nullptr); fcmdata_close(nullptr); }\n")
    root = install_data(t)
    made = run("g++", "-Wall", "-Wextra", "-Werror", *pkg_config(prefix, "--cflags"),
               *data_pkg_config(root, "--cflags"), "-o", os.path.join(t.base, "header"), source,
               *pkg_config(prefix, "--libs"), *data_pkg_config(root, "--libs"))
    t.check("compiled and linked", made.returncode == 0, made.stdout)


if __name__ == "__main__":
    harness.main([built_linked_and_run, a_block_for_a_stranger, in_cxx, only_its_own_names, the_header_suits_cxx])
