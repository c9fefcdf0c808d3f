# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of a station, made by fcmctl: the daemon's own, those of its clients and consumers, the allow list."""
import json
import signal
import subprocess


def secret_of(path):
    """As bytes, for pyzmq."""
    with open(path) as f:
        return next(line.split()[1] for line in f if line.startswith("secret ")).encode()


class Keys:
    def __init__(self, st):
        self.st, self.lines = st, {}
        self.server = self.key("server", st.path("server.key"))["public_key"]
        st.config += ["[network]", f"key_file = {st.path('server.key')}", f"allow_list = {st.path('allow')}"]

    def key(self, *words):
        r = subprocess.run([self.st.program("fcmctl"), "--json", "key", *words], capture_output=True, text=True,
                           check=True, stdin=subprocess.DEVNULL)
        return json.loads(r.stdout)

    def file(self, name):
        return self.st.path(name + ".key")

    def add(self, name, role, listed=True, file=None):
        """A new key, in `file`, if it is not in NAME.key; its line is listed under that."""
        made = self.key("make", name, role, self.file(file or name))
        if listed:
            self.lines[file or name] = made["line"]
        return made

    def write_list(self, extra=""):
        with open(self.st.path("allow"), "w") as f:
            f.write("# who may\n" + "\n".join(self.lines.values()) + "\n" + extra)

    def reload(self):
        self.st.daemon.signal(signal.SIGHUP)
