# SPDX-License-Identifier: GPL-2.0-or-later
"""What the way to the consumer costs, and how much goes through: against bare ZeroMQ with messages of the same sizes."""
import json
import shutil
import statistics
import subprocess
import tempfile

from lean import LeanStation, Unmeasured, message_sizes, spread, zmq

ROUNDS = 2  # of daemons; each measured in so many
WINDOWS = 3
WINDOW_S = 2.5
ZMQ_S = 2
FORWARD_ROUNDS = 5
FORWARD_S = 1.5
CREDIT = 64  # of bench-consumer: blocks in flight; bare ZeroMQ gets as many, half at either end
BLOCK_MS = 10
GOALS = {"chain_cpu_over_zmq": "1.6/1.2", "cost_4_links_over_1": "4.0/3.0", "forward_over_zmq": "0.45/0.7"}


def chain_windows(st, links):
    st.run_daemon(BLOCK_MS, links)
    windows = [st.window(WINDOW_S, links) for _ in range(WINDOWS)]
    st.end_daemon()
    return windows


def per_gb(windows, *which):
    return [sum(w[k] for k in which) / w["total_bytes"] * 1e9 for w in windows]


def cores(windows):
    return [w["daemon_cpu_s"] / w["seconds"] for w in windows]


def chain(figures, bin_dir, wanted):
    """Four links, bare ZeroMQ, one link, in turn beside one emulator that sends every slot full."""
    four, one, bare = [], [], []
    directory = tempfile.mkdtemp(prefix="fcm-bench-")
    try:
        with LeanStation(bin_dir, directory, "full") as st:
            st.start_board()
            for _ in range(ROUNDS):
                four += chain_windows(st, 4)
                sizes = message_sizes(four[-1])
                if wanted("chain_cpu_over_zmq"):
                    bare.append(zmq(bin_dir, sizes, ZMQ_S, BLOCK_MS))
                if wanted("cost_4_links_over_1"):
                    one += chain_windows(st, 1)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if bare:
        chain_figure(figures, four, bare, sizes)
    if one:
        cost_figure(figures, four, one)


def chain_figure(figures, four, bare, sizes):
    name = "chain_cpu_over_zmq"
    whole = per_gb(four, "daemon_cpu_s", "cpu_s")
    under = [b["cpu_s_per_GB"] for b in bare]
    figures.figure(name, statistics.median(whole) / statistics.median(under), "ratio", GOALS[name])
    print(f"# {name}: CPU seconds a GB: daemon {statistics.median(per_gb(four, 'daemon_cpu_s')):.3f} + consumer "
          f"{statistics.median(per_gb(four, 'cpu_s')):.3f} = {statistics.median(whole):.3f} ({spread(whole)}); bare ZeroMQ "
          f"{statistics.median(under):.3f} ({spread(under)}), both ends; messages of {', '.join(map(str, sizes))} bytes a "
          f"link each {BLOCK_MS} ms, {statistics.median(w['total_bytes'] / w['seconds'] for w in four) / 1e6:.0f} MB/s")


def cost_figure(figures, four, one):
    name = "cost_4_links_over_1"
    figures.figure(name, statistics.median(cores(four)) / statistics.median(cores(one)), "ratio", GOALS[name])
    print(f"# {name}: the daemon alone: four full links {statistics.median(cores(four)):.3f} cores "
          f"({spread(cores(four))}), one {statistics.median(cores(one)):.3f} ({spread(cores(one))})")


def forward_once(bin_dir):
    """bench-forward feeds the publisher, bench-consumer acknowledges."""
    argv = [f"{bin_dir}/bench-forward", "--seconds", str(FORWARD_S)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as feed:
        try:
            endpoint = feed.stdout.readline().split()[1]
            with subprocess.Popen([f"{bin_dir}/bench-consumer", "--endpoint", endpoint]) as consumer:
                try:
                    text = feed.communicate(timeout=60)[0]
                finally:
                    consumer.terminate()
        finally:
            if feed.poll() is None:
                feed.kill()
    if feed.returncode != 0:
        raise Unmeasured(f"bench-forward: exit {feed.returncode}")
    return json.loads(text)


def forward(figures, bin_dir):
    name = "forward_over_zmq"
    sizes = forward_once(bin_dir)["sizes"]
    rounds = []
    for i in range(FORWARD_ROUNDS):
        sides = {}
        for side in ("forward", "bare") if i % 2 else ("bare", "forward"):
            sides[side] = zmq(bin_dir, sizes, FORWARD_S, hwm=CREDIT // 2) if side == "bare" else forward_once(bin_dir)
        rounds.append((sides["forward"], sides["bare"]))
    dropped, unsettled = (sum(f[k] for f, _ in rounds) for k in ("dropped", "unsettled"))
    if dropped or unsettled:
        raise Unmeasured(f"{dropped} blocks were dropped, {unsettled} never came back: not lossless")
    ratios = [f["bytes_per_s"] / b["bytes_per_s"] for f, b in rounds]
    figures.figure(name, statistics.median(ratios), "ratio", GOALS[name])
    print(f"# {name}: {statistics.median(f['bytes_per_s'] for f, _ in rounds) / 1e9:.2f} GB/s acknowledged, none "
          f"dropped; bare ZeroMQ {statistics.median(b['bytes_per_s'] for _, b in rounds) / 1e9:.2f} GB/s; ratio "
          f"{spread(ratios)} in {FORWARD_ROUNDS} rounds; messages of {', '.join(map(str, sizes))} bytes in turn")


def measure(figures, bin_dir, wanted):
    for names, function in ((("chain_cpu_over_zmq", "cost_4_links_over_1"),
                             lambda: chain(figures, bin_dir, wanted)),
                            (("forward_over_zmq",), lambda: forward(figures, bin_dir))):
        if any(map(wanted, names)):
            try:
                function()
            except Exception as e:  # the other figures are wanted all the same
                figures.failure(", ".join(filter(wanted, names)), f"{type(e).__name__}: {e}")
