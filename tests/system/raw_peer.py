# SPDX-License-Identifier: GPL-2.0-or-later
"""A ZeroMQ peer by hand (ZMTP 3.0, RFC 23; CURVE, RFC 26), for what libzmq does not send: messages without an end."""
import os
import socket
import struct
import time

from nacl.bindings import crypto_box, crypto_box_keypair, crypto_box_open, crypto_scalarmult_base
from zmq.utils import z85

SIGNATURE = b"\xff" + bytes(7) + b"\1\x7f"


def knock(endpoint, source=""):
    host, port = endpoint[6:].rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=5, source_address=(source, 0))


def read(s, count):
    data = b""
    while len(data) < count:
        more = s.recv(count - len(data))
        if not more:
            raise ConnectionError("ended")
        data += more
    return data


def greet(s, mechanism):
    s.sendall(SIGNATURE + b"\3\0" + mechanism.ljust(20, b"\0") + bytes(32))
    read(s, 64)  # what comes with the greeting libzmq 4.3.4 does not understand


def frame(body, command=False, more=False):
    flags = 4 * command + more + 2 * (len(body) > 255)
    return bytes([flags]) + (struct.pack(">Q", len(body)) if flags & 2 else bytes([len(body)])) + body


def read_frame(s):
    flags, size = read(s, 2)
    if flags & 2:
        size = struct.unpack(">Q", bytes([size]) + read(s, 7))[0]
    return read(s, size)


def property_of(name, value):
    return bytes([len(name)]) + name + struct.pack(">I", len(value)) + value


def plain(endpoint, kind, identity=b""):
    """Through the handshake, as a DEALER or SUB."""
    s = knock(endpoint)
    greet(s, b"NULL")
    s.sendall(frame(b"\5READY" + property_of(b"Socket-Type", kind) + property_of(b"Identity", identity), command=True))
    return s


# What ZeroMQ's ROUTER calls the first that names itself not, where nobody has given rand() a seed; then it counts.
FIRST_NUMBER = 0x6b8b4567


def number(n):
    return b"\0" + struct.pack(">I", FIRST_NUMBER + n)


class Curve:
    """The same with keys: z85 of the server's public one and of our secret."""

    def __init__(self, endpoint, kind, server_key, secret, identity=b"", source=""):
        server, secret = z85.decode(server_key), z85.decode(secret)
        self.socket, self.sent = knock(endpoint, source), 0
        public, self.secret = crypto_box_keypair()  # for this connection
        s = self.socket
        greet(s, b"CURVE")
        nonce = self.nonce()
        s.sendall(frame(b"\5HELLO\1\0" + bytes(72) + public + nonce +
                        crypto_box(bytes(64), b"CurveZMQHELLO---" + nonce, server, self.secret), command=True))
        welcome = read_frame(s)
        opened = crypto_box_open(welcome[24:], b"WELCOME-" + welcome[8:24], server, self.secret)
        self.server, cookie = opened[:32], opened[32:]
        vouch = os.urandom(16)
        vouched = crypto_box(public + server, b"VOUCH---" + vouch, self.server, secret)
        nonce = self.nonce()
        metadata = property_of(b"Socket-Type", kind) + (property_of(b"Identity", identity) if kind == b"DEALER" else b"")
        s.sendall(frame(b"\x08INITIATE" + cookie + nonce + crypto_box(
            crypto_scalarmult_base(secret) + vouch + vouched + metadata, b"CurveZMQINITIATE" + nonce, self.server,
            self.secret), command=True))
        if read_frame(s)[:6] != b"\5READY":
            raise ConnectionError("refused")

    def nonce(self):
        self.sent += 1
        return struct.pack(">Q", self.sent)

    def part(self, body, more):
        """As it goes over the wire."""
        nonce = self.nonce()
        return frame(b"\7MESSAGE" + nonce + crypto_box(bytes([more]) + body, b"CurveZMQMESSAGEC" + nonce, self.server,
                                                       self.secret))


def resident_mb(pid):
    """Its own memory: the rings that it maps are all there only when they have gone round once."""
    with open(f"/proc/{pid}/status") as f:
        return int(f.read().split("RssAnon:")[1].split()[0]) / 1024


def pour(pid, s, what, seconds=15):
    """Send what `what()` gives until it is cut off: how long that took, and the most memory that process `pid` had
    meanwhile. Without a cut: None."""
    begin, most = time.monotonic(), 0
    s.settimeout(0.2)
    while time.monotonic() < begin + seconds:
        most = max(most, resident_mb(pid))
        try:
            s.sendall(what())
        except TimeoutError:
            if not s.recv(1):  # it is not written to any more; the end is there
                break
        except OSError:
            break
    else:
        return None, most
    return time.monotonic() - begin, most
