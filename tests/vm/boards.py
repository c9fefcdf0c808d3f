#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Several emulated boards in one guest.

    boards.py BOARDS MIB EMULATOR [OPTION ...] -- QEMU [ARGUMENT ...]

Starts QEMU with MIB of memory, and an emulator for each board; {n} in an option is the board's number. Ends with QEMU,
and with its status.

 emulator 0 ---- x-pci-proxy-dev --- QEMU        QEMU has one qtest socket. Its lines are requests that are answered
     '------\\                         |         one by one, so they are passed on one by one, and each answer to the
             relay ----- qtest -------'          emulator that asked.
     .------/
 emulator 1 ---- x-pci-proxy-dev --- QEMU
"""
import os
import select
import socket
import subprocess
import sys


def qemu_arguments(mib, qtest, proxies):
    """As nanet3-emu makes them for one board."""
    arguments = ["-m", f"{mib}M", "-object", f"memory-backend-memfd,id=nanet3-ram,size={mib}M,share=on",
                 "-machine", "memory-backend=nanet3-ram", "-chardev", f"socket,id=nanet3-qtest,fd={qtest.fileno()}",
                 "-object", "qtest,id=nanet3-msi,chardev=nanet3-qtest,log=none"]
    for n, proxy in enumerate(proxies):
        arguments += ["-device", f"x-pci-proxy-dev,id=nanet3-{n},fd={proxy.fileno()}"]
    return arguments


def start(command, sockets):
    child = subprocess.Popen(command, pass_fds=[s.fileno() for s in sockets])
    for s in sockets:
        s.close()
    return child


def relay(qtest, boards, qemu):
    """Until QEMU ends."""
    answers = qtest.makefile("rb")
    rest = dict.fromkeys(boards, b"")
    ended = os.pidfd_open(qemu.pid)
    while rest:
        readable = select.select([ended, *rest], [], [])[0]
        if ended in readable:
            return
        for board in readable:
            data = board.recv(4096)
            *lines, rest[board] = (rest[board] + data).split(b"\n")
            for line in lines:
                qtest.sendall(line + b"\n")
                board.sendall(answers.readline())
            if not data:
                del rest[board]


def main():
    count, mib, emulator = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    split = sys.argv.index("--")
    options, command = sys.argv[4:split], sys.argv[split + 1:]
    proxies = [socket.socketpair() for _ in range(count)]
    doors = [socket.socketpair() for _ in range(count)]
    ours, qtest = socket.socketpair()
    qemu = start(command + qemu_arguments(mib, qtest, [p[0] for p in proxies]), [qtest, *(p[0] for p in proxies)])
    emulators = [start([emulator, "--attach", f"{proxies[n][1].fileno()},{doors[n][1].fileno()}", "--board", str(n),
                        *(o.replace("{n}", str(n)) for o in options)], [proxies[n][1], doors[n][1]])
                 for n in range(count)]
    try:
        relay(ours, [d[0] for d in doors], qemu)
    except OSError:  # an emulator ended in the middle
        qemu.kill()
    status = qemu.wait()
    for e in emulators:  # they end with QEMU
        status = e.wait(10) or status
    sys.exit(status)


if __name__ == "__main__":
    main()
