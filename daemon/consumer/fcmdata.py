# SPDX-License-Identifier: LGPL-2.1-or-later
"""Blocks of FCM-Server's data for one consumer: connect, receive, check, acknowledge, in the words of libfcmdata
(fcmdata(3)) on pyzmq and numpy.

    with Member("tcp://127.0.0.1:5710", name="mine", group="trigger") as data:
        while True:
            block = data.receive(timeout=1)
            if block and not block.repeat:
                process(block)           # a fcm_data.Block, with what is said below
            if block:
                data.ack(block.key)

What `receive` returns is a Block that is checked and has, beside what fcm_data.py says:

    key           for ack(): 16 bytes
    repeat        handed out and acknowledged before: its data have been processed; acknowledge it again
    again         handed out before, not acknowledged since
    gap_first, gap_frames, gap_lost
                  frames [gap_first, gap_first + gap_frames) of this link and stream, right before this block, have
                  not come. The first gap_lost of them were this member's for certain and are lost; the rest may
                  have gone to other members of the group

`server_key` (the daemon's, in `fcmctl status`) and `key_file` (of `fcmctl key make`): both, where the daemon asks for
keys.

Duty: call receive() or alive() at least once a second, or the daemon takes the member for dead and gives its blocks to
others. One object, one thread.
"""
import json
import os
import time
import warnings

import zmq
from zmq.utils.monitor import recv_monitor_message

from fcm_data import SEQUENCE_BITS, VERSION, Block, OtherVersion

__version__ = "0.2.0"  # of FCM-Server; VERSION is that of the data message

CONNECTING, ASKED, MEMBER, REFUSED = "connecting", "asked", "member", "refused"
ALIVE_S, ANSWER_S, AGAIN_S, TAKEN_S, WAIT_S = 0.25, 3, 1, 0.5, 0.1
NOBODY_S = 3        # without a connection, from the beginning: then a warning says so
ACKS = 32           # that make a message
WINDOW = 65536      # sequences of a stream that are remembered
TRACKS = 128        # streams of floors, DMA epochs and block lengths
SLICE_FRAMES = 1600
MESSAGE_BYTES = 64 << 20
HEARTBEAT = (zmq.HEARTBEAT_IVL, 1000), (zmq.HEARTBEAT_TIMEOUT, 3000)
# Of a monitor: the daemon counts what it sends, and cuts off who sends too much.
KEEPALIVE = (zmq.TCP_KEEPALIVE, 1), (zmq.TCP_KEEPALIVE_IDLE, 3), (zmq.TCP_KEEPALIVE_INTVL, 1), (zmq.TCP_KEEPALIVE_CNT, 3)
FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
MISMATCH = zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
LETTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-")


class Refused(Exception):
    """The daemon does not want this member: `error` and `hint` in its words. It stays so."""

    def __init__(self, error, hint):
        super().__init__(f"{error}: {hint}" if hint else error)
        self.error, self.hint = error, hint


# ---- repeats and gaps: daemon/consumer/track.c explains the rules

SEEN, ACKED, OWED = 1, 2, 4


class _Track:
    """What this handle has had of a stream of a floor in a DMA epoch, in blocks of one length."""

    def __init__(self):
        self.forget()

    def forget(self):
        self.bits, self.top = {}, 0

    def inside(self, n):
        return n < self.top <= n + WINDOW

    def raise_top(self, n):
        self.top = max(self.top, n + 1)
        if len(self.bits) > 2 * WINDOW:
            self.bits = {k: v for k, v in self.bits.items() if self.inside(k)}


class _Line:
    """Up to which frame blocks of a link and stream have come."""

    def __init__(self, block, membership):
        self.dma_epoch, self.label = block["dma_epoch"], _label(block)
        self.resent, self.membership = "resent" in block.flags(), membership
        self.last_first, self.end = block["first_frame"], block["first_frame"] + block.frames


def _label(block):
    return block["time_epoch"], "no-time" in block.flags()


def _split_key(key):
    """(stream of a floor and epoch, number, block length; 0: not said) of an acknowledgement's bytes."""
    sequence, length = int.from_bytes(key[:8], "little"), int.from_bytes(key[12:16], "little")
    return (sequence >> SEQUENCE_BITS, key[8:12]), sequence & (1 << SEQUENCE_BITS) - 1, length


class _Tracks:
    def __init__(self, sole=False, monitor=False):
        self.sole, self.monitor, self.membership = sole, monitor, 0
        self.tracks, self.lines = {}, {}

    def restart(self):
        """A membership begins: of what was handed out before, the daemon expects no acknowledgement."""
        self.membership += 1
        for t in self.tracks.values():
            t.bits = {n: bits & ~OWED for n, bits in t.bits.items()}

    def _find(self, name, length):
        """The track's own key. Where one of the two does not say its length, the one used last that may be meant."""
        if (name, length) in self.tracks:
            return name, length
        return next((k for k in reversed(self.tracks) if k[0] == name and not (k[1] and length)), None)

    def _of(self, name, length):
        found = self._find(name, length)
        t = self.tracks.pop(found, None) or _Track()
        self.tracks[name, length or (found[1] if found else 0)] = t  # the last used is the last
        if len(self.tracks) > TRACKS:
            del self.tracks[next(iter(self.tracks))]
        return t

    def take(self, block, owed):
        """A block comes: its facts. Returns whether it lies before a gap's end."""
        name, n, length = _split_key(block.key)
        t, resent = self._of(name, length), "resent" in block.flags()
        block.repeat = block.again = False
        block.gap_first = block.gap_frames = block.gap_lost = 0
        other_life = not resent and n < t.top and (self.monitor or not t.inside(n) or t.bits.get(n, 0) & SEEN)
        if other_life:
            self.lines.pop((block["link"], block["stream"]), None)
            for key, track in self.tracks.items():
                if key[0] == name:
                    track.forget()
        t.raise_top(n)
        if t.inside(n):
            bits = t.bits.get(n, 0)
            block.repeat = bool(bits & ACKED)
            block.again = bool(bits & SEEN) and not block.repeat
            t.bits[n] = bits & ACKED | SEEN | (OWED if owed else 0)
        return not (block.repeat or block.again) and self._measure(block, resent)

    def _measure(self, block, resent):
        at = block["link"], block["stream"]
        line, first = self.lines.get(at), block["first_frame"]
        if line and line.dma_epoch == block["dma_epoch"]:
            if first < line.end and first + block.frames <= line.end:
                return first < line.last_first
            if first > line.end:
                until = self._ours_until(line, block)
                block.gap_first, block.gap_frames = line.end, first - line.end
                block.gap_lost = min(until, first) - line.end
        elif line and resent:
            return False  # a straggler of a former epoch
        self.lines[at] = _Line(block, self.membership)
        return False

    def _ours_until(self, line, block):
        if "step" in block.flags():
            return line.end
        if self.monitor or self.sole and not line.resent:
            return block["first_frame"]
        if line.membership != self.membership or line.resent or line.label != _label(block):
            return line.end
        return -(-line.end // SLICE_FRAMES) * SLICE_FRAMES

    def ack(self, key):
        """It is processed: whether the daemon expects an acknowledgement."""
        name, n, length = _split_key(key)
        t = self.tracks.get(self._find(name, length))
        if not t or (n < t.top and not t.inside(n)):
            return True
        if n >= t.top:
            return False
        bits = t.bits.get(n, 0)
        t.bits[n] = bits & ~OWED | ACKED
        return bool(bits & OWED)

    def remember(self, key):
        name, n, length = _split_key(key)
        t = self._of(name, length)
        t.raise_top(n)
        if t.inside(n):
            t.bits[n] = t.bits.get(n, 0) | SEEN | ACKED


# ---- handles

def _keys(server_key, key_file):
    """(the daemon's public key, our secret), or None twice. ValueError, OSError (PermissionError: others may read it)."""
    if not server_key and not key_file:
        return None, None
    if not server_key or not key_file:
        raise ValueError("server_key and key_file: both, or neither")
    with open(os.open(key_file, os.O_RDONLY | os.O_NONBLOCK)) as f:
        st = os.fstat(f.fileno())
        if st.st_mode & (0o037 if st.st_uid == 0 else 0o077) or st.st_uid not in (os.geteuid(), 0):
            raise PermissionError(f"{key_file}: must be its user's own, and nobody else may read it (chmod 600)")
        secrets = [line.split()[1] for line in f.read(4096).splitlines() if line.startswith("secret ")]
    if len(server_key) != 40 or not secrets or len(secrets[0]) != 40:
        raise ValueError(f"server_key and {key_file}: no keys (fcmctl key make, fcmctl status)")
    return server_key.encode(), secrets[0].encode()


class _Handle:
    """What a member and a monitor share: the connection, checked blocks, statistics."""

    def __init__(self, kind, endpoint, queue, tracks, verify, keys):
        self.state, self.verify, self.endpoint = CONNECTING, verify, endpoint
        self._refusal = None
        server_key, secret = _keys(*keys)
        self._patience = time.monotonic() + NOBODY_S
        self.stats = dict.fromkeys(
            ("connections", "hellos", "welcomes", "too_slow", "blocks", "bytes", "frames", "repeats", "agains", "gaps",
             "gap_frames", "gap_lost", "late", "acknowledged", "damaged", "strangers", "failed_handshakes"), 0)
        self.damage = None  # the last damaged block, in words
        self._tracks, self._hello_again = tracks, False
        self._context = zmq.Context()
        self.socket = self._context.socket(kind)
        for option, value in ((zmq.LINGER, 500), (zmq.RECONNECT_IVL, 20), (zmq.RECONNECT_IVL_MAX, 200),
                              (zmq.SNDHWM, 1000), (zmq.RCVHWM, queue), (zmq.MAXMSGSIZE, MESSAGE_BYTES),
                              *(KEEPALIVE if kind == zmq.SUB else HEARTBEAT)):
            self.socket.setsockopt(option, value)
        if secret:
            self.socket.curve_serverkey, self.socket.curve_secretkey = server_key, secret
            self.socket.curve_publickey = zmq.curve_public(secret)
        self._encrypts = bool(secret)
        self._events = self.socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL |
            zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _connect(self):
        try:
            self.socket.connect(self.endpoint)
        except zmq.ZMQError as e:
            self.close()
            raise ValueError(f"endpoint {self.endpoint}: {e}") from e

    def close(self):
        if self.socket.closed:
            return
        self._bye()
        self.socket.disable_monitor()
        self._events.close(0)
        self.socket.close()
        self._context.term()

    def receive(self, timeout=None):
        """The next block, or None when `timeout` (s; None: for ever) is over. Raises Refused."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            self.alive()
            block = self._drain()
            if block:
                return block
            self.flush()
            left = WAIT_S if end is None else min(end - time.monotonic(), WAIT_S)
            if left <= 0:
                return None
            self.socket.poll(left * 1000)

    def _drain(self):
        while True:
            try:
                parts = self.socket.recv_multipart(zmq.DONTWAIT, copy=False)
            except zmq.Again:
                return None
            block = self._take(parts)
            if block:
                return block

    def _serve_events(self):
        while self._events.poll(0):
            said = recv_monitor_message(self._events)
            event = said["event"]
            if self.state == REFUSED:
                continue
            self.stats["failed_handshakes"] += event in FAILED
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.stats["connections"] += 1
                self._connected()
            elif event == zmq.EVENT_DISCONNECTED:
                self.state = CONNECTING
            elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                self._refuse("key-refused", "the daemon's allow list does not have this key for this door")
            elif event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and said["value"] == MISMATCH:
                self._refuse("keys", "this daemon does not encrypt: leave server_key and key_file out"
                             if self._encrypts else "this daemon encrypts: give server_key and key_file")
        if self.state == REFUSED:
            raise self._refusal
        if self._patience and (self.stats["connections"] or time.monotonic() > self._patience):
            self._patience = None
            if not self.stats["connections"]:
                warnings.warn(f"nobody answers at {self.endpoint}: is the daemon there? Still trying"
                              if not self.stats["failed_handshakes"] else
                              f"{self.endpoint} ends each connection: does it want keys, or have another key than "
                              "server_key? Still trying", stacklevel=4)

    def _refuse(self, error, hint):
        self.state, self._refusal = REFUSED, Refused(error, hint)

    def _block(self, topic, header, payload, owed):
        """A checked block with its facts; None for a damaged one, which is counted."""
        try:
            block = Block(header.bytes, payload.buffer)
            if self.verify:
                block.verify(topic.bytes)
            if block["stream"] > 2 or block["link"] > 3:
                raise ValueError("no such stream or link")
        except ValueError as e:
            self.stats["damaged"] += 1
            self.damage, self._hello_again = f"{topic.bytes!r}: {e}", True
            if isinstance(e, OtherVersion):
                self._refuse("version", f"the daemon sends {e}: install the daemon's fcmdata.py and fcm_data.py")
                raise self._refusal from e
            return None
        late = self._tracks.take(block, owed)
        for name, n in (("blocks", 1), ("bytes", len(header) + len(payload)), ("frames", block.frames),
                        ("repeats", block.repeat), ("agains", block.again), ("gaps", block.gap_frames > 0),
                        ("gap_frames", block.gap_frames), ("gap_lost", block.gap_lost), ("late", late)):
            self.stats[name] += int(n)
        return block

    def _bye(self):
        pass

    def flush(self):
        pass


class Monitor(_Handle):
    """Best effort: blocks of the topics' prefixes, none acknowledged. `queue`: blocks that may wait here."""

    def __init__(self, endpoint, topics=("",), queue=64, verify=True, server_key=None, key_file=None):
        super().__init__(zmq.SUB, endpoint, queue, _Tracks(monitor=True), verify, (server_key, key_file))
        for topic in topics:
            self.socket.subscribe(topic)
        self._connect()

    def alive(self):
        self._serve_events()

    def _connected(self):
        self.state = MEMBER

    def _take(self, parts):
        if len(parts) == 3:
            return self._block(*parts, False)
        self.stats["strangers"] += 1
        return None


class Member(_Handle):
    """A reserved consumer. `credit`: blocks in flight, 1..1024; `sole`: the group has no other member, so that
    gaps are losses. ValueError: a name, group, credit or endpoint that makes no sense."""

    def __init__(self, endpoint, name, group, credit=64, sole=False, verify=True, server_key=None, key_file=None):
        for what, text, most in (("name", name, 47), ("group", group, 31)):
            if not 1 <= len(text) <= most or set(text) - LETTERS:
                raise ValueError(f"{what} {text!r}: 1 to {most} letters, digits or ._:-")
        if not 1 <= credit <= 1024:
            raise ValueError(f"credit {credit}: 1 to 1024 blocks")
        super().__init__(zmq.DEALER, endpoint, 4096, _Tracks(sole), verify, (server_key, key_file))
        self._hello = json.dumps({"protocol": VERSION, "name": name, "group": group, "credit": credit}).encode()
        self._batch, self._acks = min(ACKS, (credit + 3) // 4), []
        self._sent = self._asked = time.monotonic()
        self._hello_said, self._taken = False, None
        self._connect()

    def ack(self, key):
        """What `key` names is processed. Sent when enough of them wait, else by the next receive, alive or flush."""
        if self._tracks.ack(key):
            self._acks.append(key)
        if len(self._acks) >= self._batch:
            self.flush()

    def remember(self, key):
        """From the caller's own books: an earlier life of this consumer had processed it. A repeat when it comes."""
        self._tracks.remember(key)

    def flush(self):
        """Send what is acknowledged now, when a member. Whether something was sent."""
        acks = self._acks[:4096]
        if not acks or self.state != MEMBER or not self._say(b"ACK", b"".join(acks)):
            return False
        self.stats["acknowledged"] += len(acks)
        del self._acks[:4096]
        return True

    def alive(self):
        """What is due is said; for long computations, at least once a second. Raises Refused."""
        self._serve_events()
        now = time.monotonic()
        if len(self._acks) >= self._batch:
            self.flush()
        if self._hello_due(now):
            self._say_hello()
        elif (self.state == MEMBER or self.state == ASKED and self._hello_said) and now - self._sent >= ALIVE_S:
            if not (self._acks and self.flush()):
                self._say(b"ALIVE")

    def _hello_due(self, now):
        """Again, only when no answer came: where something waits it may be the answer. Or when the name was taken."""
        if self.state == ASKED and self._taken:
            return now - self._asked >= TAKEN_S
        if self.state == ASKED:
            return not self._hello_said or now - self._asked >= ANSWER_S and not self.socket.poll(0)
        return self.state == MEMBER and self._hello_again and now - self._asked >= AGAIN_S

    def _say(self, *words):
        try:
            self.socket.send_multipart(words, zmq.DONTWAIT)
        except zmq.Again:
            return False
        self._sent = time.monotonic()
        return True

    def _say_hello(self):
        self.state, self._asked = ASKED, time.monotonic()
        self._hello_said = self._say(b"HELLO", self._hello)
        self.stats["hellos"] += self._hello_said

    _connected = _say_hello

    def _bye(self):
        if self.state == MEMBER:
            self.flush()
            self._say(b"BYE")

    def _take(self, parts):
        verb, body = parts[0].bytes, parts[1:]
        if verb == b"BLOCK" and len(body) == 3:
            return self._block(*body, self.state == MEMBER)
        if verb == b"BLOCK":
            self._hello_again = True  # whatever it was, it takes a credit
        if verb == b"WELCOME" and len(body) == 1:
            # Acknowledgements that wait are of the membership that has ended: what they name comes again. Of two
            # HELLOs each begins one.
            self.stats["welcomes"] += 1
            self._check_protocol(body[0].bytes)
            self._acks, self._taken = [], None
            self._tracks.restart()
            if self.state == ASKED:
                self.state, self._hello_again = MEMBER, False
        elif verb == b"ERROR" and len(body) == 1:
            self._on_error(body[0].bytes)
        elif verb != b"ALIVE" or body:
            self.stats["strangers"] += 1
        return None

    def _check_protocol(self, text):
        """Members of the object that this version does not know are passed over."""
        try:
            said = json.loads(text).get("protocol", VERSION)
        except (ValueError, AttributeError, RecursionError):
            return
        if said != VERSION:
            self._refuse("version", f"the daemon speaks protocol {said!r:.20}, this module {VERSION}: install the daemon's "
                         "fcmdata.py and fcm_data.py")
            raise self._refusal

    def _on_error(self, text):
        """While asked, unknown-member is about what was said before HELLO."""
        try:
            said = json.loads(text)
            error, hint, retry_ms = said.get("error"), said.get("hint"), said.get("retry_ms", 0)
        except (ValueError, AttributeError, RecursionError):
            error, hint, retry_ms = None, None, 0
        if error in ("unknown-member", "too-slow"):
            self.stats["too_slow"] += error == "too-slow"
            if self.state == MEMBER:
                self._say_hello()
            return
        if error == "name-taken":  # perhaps by ourselves, until our old connection has been silent for so long
            self._taken = self._taken or time.monotonic()
            if isinstance(retry_ms, int) and time.monotonic() - self._taken < retry_ms / 1000 + 2 * TAKEN_S:
                return
        self._refuse(str(error or "no reason given"), str(hint or ""))
        raise self._refusal
