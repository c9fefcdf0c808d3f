# SPDX-License-Identifier: GPL-2.0-or-later
"""A service manager for one daemon: keeps the descriptors that it stores for the next one, and hears its watchdog."""
import array
import fcntl
import os
import socket
import threading
import time

import station


class Manager:
    """What systemd does for a unit with Type=notify and FileDescriptorStoreMax="""

    def __init__(self, st):
        self.st, self.kept, self.said, self.feeds = st, {}, [], []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(st.path("notify.sock"))
        self.socket.settimeout(0.2)
        self.stopping = False
        self.thread = threading.Thread(target=self.hear, daemon=True)
        self.thread.start()

    def hear(self):
        while not self.stopping:
            try:
                text, extra, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(64))
            except TimeoutError:
                continue
            fds = array.array("i")
            for level, kind, data in extra:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds.frombytes(data)
            fields = dict(line.split("=", 1) for line in text.decode().splitlines())
            if "WATCHDOG" in fields:
                self.feeds.append(time.monotonic())
            if "FDSTOREREMOVE" in fields:
                os.close(self.kept.pop(fields["FDNAME"]))
            if "FDSTORE" in fields:
                self.kept[fields["FDNAME"]] = fcntl.fcntl(fds[0], fcntl.F_DUPFD_CLOEXEC, 100)  # not where it is given
                os.close(fds[0])
            self.said.append(fields)

    def start(self, **env):
        """The next daemon, with what was kept, from descriptor 3 on."""
        st, names = self.st, sorted(self.kept)
        given = " ".join(f"{3 + n}<&{self.kept[name]} {self.kept[name]}<&-" for n, name in enumerate(names))
        env = {**os.environ, "NOTIFY_SOCKET": st.path("notify.sock"), **env}
        if names:
            env |= {"LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)}
        st.daemon = station.Process(
            "fcm-server", ["/bin/bash", "-c", f'LISTEN_PID=$$ exec "$@" {given}', "bash", st.program("fcm-server"), "--board",
                           "0", "--config", st.path("board.conf")], st.path("daemon.log"), env, list(self.kept.values()))
        st.wait_for("the daemon", lambda: st.daemon.alive() and st.answers(), 20)

    def said_of(self, name):
        return [next(k for k in s if k.startswith("FDSTORE")) for s in self.said if s.get("FDNAME") == name]

    def close(self):
        self.stopping = True
        self.thread.join()
        self.socket.close()
        for fd in self.kept.values():
            os.close(fd)
