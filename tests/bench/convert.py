# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast fcm-convert makes HDF5 of a recording at full load on two processors, beside cp of the same recording and
beside h5py, which writes the same arrays with HDF5's own gzip. In memory, so that it is not the disk that is
measured."""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from lean import Unmeasured
from proc import QuietStation

NAME, CELLS, CP, H5PY = "convert_h5", "convert_h5_cells", "convert_h5_over_cp", "convert_h5_over_h5py"
GOALS = {NAME: "200/400", CELLS: "200/300"}
FIGURES = (NAME, CELLS, CP, H5PY)
SECONDS, ROUNDS, PROCESSORS = 4, 5, 2
ENDS = (0, 1)  # done, or done and frames are missing: a busy machine's emulator


def record(bin_dir, directory):
    """(the recording's directory, its bytes)"""
    with QuietStation(bin_dir, os.path.join(directory, "st"), load="full", depth_ms=4000) as st:
        st.patience = 3
        st.start()
        st.wait_ready(60)
        st.ask("record", "start", "--name", "bench", "--for", f"{SECONDS}s")
        end = time.monotonic() + 20 * SECONDS
        while st.status()["recording"]["active"]:
            if time.monotonic() > end:
                raise Unmeasured("the recording does not end")
            time.sleep(0.2)
        st.stop()
    path = os.path.join(directory, "st", "recordings", "bench")
    return path, sum(e.stat().st_size for e in os.scandir(path))


def two_processors():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])


def timed(argv, ends=(0,)):
    """(seconds, CPU seconds)"""
    begin, before = time.monotonic(), os.times()
    code = subprocess.run(argv, preexec_fn=two_processors, stderr=subprocess.DEVNULL, check=False).returncode
    if code not in ends:
        raise Unmeasured(f"{argv[0]}: exit {code}")
    after = os.times()
    return (time.monotonic() - begin,
            after.children_user + after.children_system - before.children_user - before.children_system)


def by_h5py(source, target):
    """Seconds to write the arrays of `source` with h5py's gzip and shuffle."""
    import h5py  # only this figure needs it

    with h5py.File(source) as f:
        arrays = {}
        f.visititems(lambda name, d: arrays.update({name: d[:]}) if isinstance(d, h5py.Dataset) else None)
    begin = time.monotonic()
    with h5py.File(target, "w") as f:
        for name, values in arrays.items():
            f.create_dataset(name, data=values, chunks=(min(65536, max(1, len(values))),), compression="gzip",
                             compression_opts=1, shuffle=True)
    return time.monotonic() - begin


def rounds(program, recording, directory):
    """Seconds and CPU seconds of each, in turn."""
    output, copy = os.path.join(directory, "a.h5"), os.path.join(directory, "copy")
    took = {NAME: [], CELLS: [], CP: []}
    for _ in range(ROUNDS):
        took[NAME].append(timed([program, "--quiet", "--force", recording, output], ENDS))
        took[CELLS].append(timed([program, "--quiet", "--force", "--cells", recording, output], ENDS))
        took[CP].append(timed(["cp", "-r", recording, copy]))
        shutil.rmtree(copy)
    return took


def compare(figures, program, directory, recording, size):
    took = rounds(program, recording, directory)
    seconds = {name: statistics.median(s for s, _ in pairs) for name, pairs in took.items()}
    cpu = {name: statistics.median(c for _, c in pairs) for name, pairs in took.items()}
    for name in (NAME, CELLS):
        figures.figure(name, size / seconds[name] / 1e6, "MB/s", GOALS[name])
        figures.figure(f"{name}_cpu", cpu[name] / size * 1e9, "s/GB")
        print(f"# {name}: {size / 1e6:.0f} MB of {SECONDS} s at full load, {seconds[name]:.2f} s, {cpu[name]:.2f} s of "
              f"CPU on {PROCESSORS} processors")
    figures.figure(CP, seconds[CP] / seconds[NAME], "ratio")
    print(f"# {CP}: cp {size / seconds[CP] / 1e6:.0f} MB/s")
    output = os.path.join(directory, "a.h5")
    timed([program, "--quiet", "--force", recording, output], ENDS)
    other = by_h5py(output, os.path.join(directory, "b.h5"))
    figures.figure(H5PY, other / seconds[NAME], "ratio")
    print(f"# {H5PY}: h5py {size / other / 1e6:.0f} MB/s of recording, reading and ordering hits not counted; "
          f"{os.path.getsize(os.path.join(directory, 'b.h5')) / os.path.getsize(output):.2f} of the size")


def measure(figures, bin_dir, wanted):
    if not any(map(wanted, FIGURES)):
        return
    room = shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 0
    directory = tempfile.mkdtemp(prefix="fcm-bench-", dir="/dev/shm" if room > 8 << 30 else None)
    try:
        recording, size = record(bin_dir, directory)
        compare(figures, os.path.join(bin_dir, "fcm-convert"), directory, recording, size)
    except Exception as e:  # the other figures are wanted all the same
        figures.failure(NAME, f"{type(e).__name__}: {e}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
