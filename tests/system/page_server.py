# SPDX-License-Identifier: GPL-2.0-or-later
"""fcm-page beside a station, and how tests ask it."""
import http.client
import json
import os
import re
import socket
import subprocess

from station import Process

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WWW = os.path.join(ROOT, "slowctl", "page", "www")
DICTIONARY = os.path.join(ROOT, "schemas", "parameters.conf")
RULES = os.path.join(ROOT, "slowctl", "metrics", "fcm.rules.yml")
DASHBOARD = os.path.join(ROOT, "slowctl", "metrics", "fcm.grafana.json")


class Server:
    """fcm-page beside a station."""

    def __init__(self, st, *args, directory=None):
        self.st = st
        self.process = Process("fcm-page", [st.program("fcm-page"), "--dir", directory or st.dir, "--port", "0",
                                            "--files", WWW, "--dictionary", DICTIONARY, *args], st.path("page.log"))
        st.extras.append(self.process)
        st.wait_for("the page's address", lambda: "http://" in self.process.tail())
        self.url = re.search(r"http://\S+", self.process.tail())[0]
        self.port = int(self.url.rsplit(":", 1)[1].rstrip("/"))

    def get(self, path, method="GET", **headers):
        """(status, headers, body)"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        answer = r.status, dict(r.getheaders()), r.read()
        c.close()
        return answer

    def past(self, path):
        code, _, body = self.get("/past/" + path)
        return code, json.loads(body)

    def raw(self, text, timeout=10):
        """What comes back until the other side closes, or time is over."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as s:
            s.sendall(text)
            got = b""
            try:
                while part := s.recv(65536):
                    got += part
            except (TimeoutError, ConnectionError):
                pass
            return got

    def events(self, count, timeout=20):
        """[(event, data)], the next `count` of /live."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        c.request("GET", "/live")
        r = c.getresponse()
        found, event = [], None
        while len(found) < count:
            line = r.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: "):
                found.append((event, json.loads(line[6:])))
        c.close()
        return found

    def status(self):
        """The next "station" of /live; samples come between them."""
        return next(d for e, d in self.events(4) if e == "station")

    def end(self):
        return self.process.end()


class Metrics:
    """The text of /metrics, read."""

    def __init__(self, text):
        self.help, self.type, self.samples = {}, {}, {}
        for line in text.splitlines():
            if line.startswith("# "):
                _, what, name, rest = line.split(" ", 3)
                (self.help if what == "HELP" else self.type)[name] = rest
                continue
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
            self.samples[name, tuple(sorted(pairs))] = float(value)

    def get(self, name, /, **labels):
        """The one sample with exactly these labels; None: there is none."""
        return self.samples.get((name, tuple(sorted((k, str(v)) for k, v in labels.items()))))

    def of(self, name, /, **labels):
        """All samples of a name that have these labels."""
        wanted = {(k, str(v)) for k, v in labels.items()}
        return [v for (n, pairs), v in self.samples.items() if n == name and wanted <= set(pairs)]

    def labels(self):
        """{name: the labels that its samples have}"""
        found = {}
        for name, pairs in self.samples:
            found.setdefault(name, set()).update(k for k, _ in pairs)
        return found


def scrape(page):
    code, headers, body = page.get("/metrics")
    assert code == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), (code, headers, body[:200])
    return Metrics(body.decode())


def look(page, path):
    code, headers, body = page.get(path)
    assert headers["Content-Type"].startswith("text/plain"), headers
    return code, body.decode()


def promtool(*args, **kwargs):
    r = subprocess.run(["promtool", *args], capture_output=True, text=True, check=False, **kwargs)
    return r.returncode == 0, r.stdout + r.stderr


def queries(dashboard):
    return [x["expr"] for p in dashboard["panels"] for x in p.get("targets", ())]
