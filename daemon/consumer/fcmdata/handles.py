# SPDX-License-Identifier: LGPL-2.1-or-later
"""Blocks of a running station for one consumer: connect, receive, check, acknowledge, by the rules of libfcmdata
(fcmdata(3), daemon/consumer/RULES.md) on pyzmq.

Duty of a Member: iterate, or call receive() or alive(), at least once a second, or the daemon takes it for dead and
gives its blocks to others.

`server_key` (the daemon's, in `fcmctl status`) and `key_file` (of `fcmctl key make`): both, where the daemon asks for
keys, or neither.
"""
from __future__ import annotations

import json
import os
import time
import warnings
import weakref
from collections.abc import Iterable
from typing import Any

import zmq
from zmq.utils.monitor import recv_monitor_message

from fcm_data import LINKS, STREAMS, VERSION, OtherVersion

from .blocks import Block
from .source import Source
from .tracks import Tracks

CONNECTING, ASKED, MEMBER, REFUSED = "connecting", "asked", "member", "refused"
ALIVE_S, ANSWER_S, AGAIN_S, TAKEN_S, WAIT_S = 0.25, 3, 1, 0.5, 0.1
NOBODY_S = 3        # without a connection, from the beginning: then a warning says so
ACKS = 32           # that make a message
MESSAGE_BYTES = 64 << 20
HEARTBEAT = (zmq.HEARTBEAT_IVL, 1000), (zmq.HEARTBEAT_TIMEOUT, 3000)
# Of a monitor: the daemon counts what it sends, and cuts off who sends too much.
KEEPALIVE = ((zmq.TCP_KEEPALIVE, 1), (zmq.TCP_KEEPALIVE_IDLE, 3), (zmq.TCP_KEEPALIVE_INTVL, 1),
             (zmq.TCP_KEEPALIVE_CNT, 3))
FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
MISMATCH = zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
LETTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-")


class Refused(Exception):
    """The daemon does not want this consumer: `error` and `hint` in its words. The object stays refused; to try again,
    make another one."""

    def __init__(self, error: str, hint: str) -> None:
        super().__init__(f"{error}: {hint}" if hint else error)
        self.error, self.hint = error, hint


def _keys(server_key: str | None, key_file: str | os.PathLike[str] | None) -> tuple[bytes | None, bytes | None]:
    """(the daemon's public key, our secret), or None twice. ValueError, OSError (PermissionError: others may read
    it)."""
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


def _let_go(socket: Any, events: Any, context: Any) -> None:
    """term() waits for sockets that are open, so they go first, also of a handle that nothing has closed."""
    socket.disable_monitor()
    events.close(0)
    socket.close()
    context.term()


class Handle(Source[Block]):
    """What a member and a monitor share: the connection, checked blocks, statistics.

    state       "connecting", "asked", "member" (of a monitor: connected) or "refused"
    stats       counts since the beginning: connections, blocks, bytes, frames, repeats, agains, gaps, gap_frames,
                gap_lost, damaged, ...
    damage      the last damaged block in words; None: there was none
    socket      ZeroMQ's, for a poll loop: whenever it is readable, and at least once a second, call receive(0)"""

    def __init__(self, kind: int, endpoint: str, queue: int, tracks: Tracks, verify: bool,
                 keys: tuple[str | None, str | os.PathLike[str] | None], timeout: float | None) -> None:
        super().__init__(timeout)
        self.state, self.verify, self.endpoint = CONNECTING, verify, endpoint
        self._refusal: Refused | None = None
        server_key, secret = _keys(*keys)
        self._patience: float | None = time.monotonic() + NOBODY_S
        self._ended = False  # a connection ended before data came
        self._right_door = ("monitor data", "monitors", 5730) if kind == zmq.SUB else ("blocks", "consumers", 5710)
        self.stats = dict.fromkeys(
            ("connections", "hellos", "welcomes", "too_slow", "blocks", "bytes", "frames", "repeats", "agains", "gaps",
             "gap_frames", "gap_lost", "late", "acknowledged", "damaged", "strangers", "failed_handshakes"), 0)
        self.damage: str | None = None
        self._tracks, self._hello_again = tracks, False
        self._context: Any = zmq.Context()
        self.socket: Any = self._context.socket(kind)
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
        self._let_go = weakref.finalize(self, _let_go, self.socket, self._events, self._context)

    def _connect(self) -> None:
        try:
            self.socket.connect(self.endpoint)
        except zmq.ZMQError as e:
            self.close()
            raise ValueError(f"endpoint {self.endpoint}: {e}") from e

    def alive(self) -> None:
        """Serves the connection. Raises Refused."""
        raise NotImplementedError

    def _connected(self) -> None:
        raise NotImplementedError

    def _take(self, parts: list[Any]) -> Block | None:
        raise NotImplementedError

    def close(self) -> None:
        """Ends the connection: half a second at most. More than once does no harm."""
        if self.socket.closed:
            return
        self._bye()
        self._let_go()

    def receive(self, timeout: float | None = None) -> Block | None:
        """The next block, or None when `timeout` (s; None: for ever; 0: not at all) is over. A block's payload is in
        ZeroMQ's memory, as long as the block or an array of it lives. Raises Refused."""
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

    def _drain(self) -> Block | None:
        while True:
            try:
                parts = self.socket.recv_multipart(zmq.DONTWAIT, copy=False)
            except zmq.Again:
                return None
            block = self._take(parts)
            if block:
                return block

    def _serve_events(self) -> None:
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
                self.state, self._ended = CONNECTING, True
            elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                self._refuse("key-refused", "the daemon's allow list does not have this key for this door")
            elif event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and said["value"] == MISMATCH:
                self._refuse("keys", "this daemon does not encrypt: leave server_key and key_file out"
                             if self._encrypts else "this daemon encrypts: give server_key and key_file")
        if self._refusal:
            raise self._refusal
        if self._patience and (self.stats["connections"] or time.monotonic() > self._patience):
            self._patience = None
            if not self.stats["connections"]:
                what, who, port = self._right_door
                warnings.warn(f"no {what} from {self.endpoint}: {who} have port {port} + board number. It ends each "
                              "connection: does it want keys, or have another key than server_key? Still trying"
                              if self.stats["failed_handshakes"] or self._ended else
                              f"nobody answers at {self.endpoint}: is the daemon there? Still trying", stacklevel=5)

    def _refuse(self, error: str, hint: str) -> Refused:
        self.state, self._refusal = REFUSED, Refused(error, hint)
        return self._refusal

    def _block(self, parts: list[Any], owed: bool) -> Block | None:
        """A checked block with its facts; None for a damaged one, which is counted."""
        topic, header, payload = parts
        try:
            block = Block(header.bytes, payload.buffer)
            if self.verify:
                block.verify(topic.bytes)
            if block["stream"] >= len(STREAMS) or block["link"] >= LINKS:
                raise ValueError("no such stream or link")
        except ValueError as e:
            self.stats["damaged"] += 1
            self.damage, self._hello_again = f"{topic.bytes!r}: {e}", True
            if isinstance(e, OtherVersion):
                raise self._refuse("version", f"the daemon sends {e}: install the daemon's fcmdata") from e
            return None
        late = self._tracks.take(block, owed)
        for name, n in (("blocks", 1), ("bytes", len(header) + len(payload)), ("frames", block.frames),
                        ("repeats", block.repeat), ("agains", block.again), ("gaps", block.gap_frames > 0),
                        ("gap_frames", block.gap_frames), ("gap_lost", block.gap_lost), ("late", late)):
            self.stats[name] += int(n)
        return block

    def _bye(self) -> None:
        pass

    def flush(self) -> bool:
        """Sends what is acknowledged now. Whether something was sent."""
        return False


class Monitor(Handle):
    """A copy of a running station's blocks, best effort: one that is too slow misses some, which shows as gaps.

        for block in Monitor("tcp://127.0.0.1:5730", topics=["pmt.T01"], timeout=10): ...

    topics      prefixes of "pmt.T01.F07", "hydrophone.T01.F07", "instrument.T01.F07"
    queue       blocks that may wait here before more are lost
    verify      check each block; a damaged one is counted, not handed out
    timeout     s; the iteration ends when nothing has come for so long. None: never

    Nothing need be listening yet: after 3 s without a connection a warning says so, and it goes on trying. ValueError:
    an endpoint or a key that makes no sense; OSError: of the key file."""

    def __init__(self, endpoint: str, topics: Iterable[str] = ("",), queue: int = 64, verify: bool = True,
                 server_key: str | None = None, key_file: str | os.PathLike[str] | None = None, *,
                 timeout: float | None = None) -> None:
        super().__init__(zmq.SUB, endpoint, queue, Tracks(monitor=True), verify, (server_key, key_file), timeout)
        for topic in (topics,) if isinstance(topics, str) else topics:
            self.socket.subscribe(topic)
        self._connect()

    def alive(self) -> None:
        """Nothing is due of a monitor. Raises Refused."""
        self._serve_events()

    def _connected(self) -> None:
        self.state = MEMBER

    def _take(self, parts: list[Any]) -> Block | None:
        if len(parts) == 3:
            return self._block(parts, False)
        self.stats["strangers"] += 1
        return None


class Member(Handle):
    """A reserved consumer: every block of its group that is its own, each kept by the daemon until it is acknowledged.

        with Member("tcp://127.0.0.1:5710", name="mine", group="trigger") as data:
            for block in data:
                if not block.repeat:
                    process(block)

    The iteration acknowledges a block when the next one is asked for: of a program that ends in the middle, the daemon
    gives the block to another member, or to this one when it is back. With auto_ack=False, and of what receive() gives,
    only ack() acknowledges. A loop that is left by `break` has not acknowledged its last block: ack() it where it has
    been processed.

    name        letters, digits and "._:-"; no two living members have the same
    group       of the daemon's configuration; its members share the slices of 200 ms
    credit      blocks in flight, 1..1024; a slice goes to the member with the most credit left
    sole        the group has no other member, so that gaps are losses
    verify, timeout, server_key, key_file   as of Monitor

    ValueError: a name, group, credit, endpoint or key that makes no sense; OSError: of the key file."""

    def __init__(self, endpoint: str, name: str, group: str, credit: int = 64, sole: bool = False,
                 verify: bool = True, server_key: str | None = None,
                 key_file: str | os.PathLike[str] | None = None, *, timeout: float | None = None,
                 auto_ack: bool = True) -> None:
        for what, text, most in (("name", name, 47), ("group", group, 31)):
            if not 1 <= len(text) <= most or set(text) - LETTERS:
                raise ValueError(f"{what} {text!r}: 1 to {most} letters, digits or ._:-")
        if not 1 <= credit <= 1024:
            raise ValueError(f"credit {credit}: 1 to 1024 blocks")
        super().__init__(zmq.DEALER, endpoint, 4096, Tracks(sole), verify, (server_key, key_file), timeout)
        self._hello = json.dumps({"protocol": VERSION, "name": name, "group": group, "credit": credit}).encode()
        self.auto_ack = auto_ack
        self._batch, self._acks = min(ACKS, (credit + 3) // 4), list[bytes]()
        self._sent = self._asked = time.monotonic()
        self._hello_said, self._taken = False, None  # type: bool, float | None
        self._handed: bytes | None = None  # key of the block that the iteration has given
        self._connect()

    def __next__(self) -> Block:
        if self._handed and self.auto_ack:
            self.ack(self._handed)
        self._handed = None
        block = super().__next__()
        self._handed = block.key
        return block

    def ack(self, key: bytes) -> None:
        """The block of `key` is processed. Sent when enough of them wait, else by the next receive(), alive() or
        flush(). To acknowledge twice does no harm."""
        if self._tracks.ack(key):
            self._acks.append(key)
        if len(self._acks) >= self._batch:
            self.flush()

    def remember(self, key: bytes) -> None:
        """From the caller's own books: an earlier life of this consumer had processed the block of `key`. When it
        comes, it is a repeat."""
        self._tracks.remember(key)

    def flush(self) -> bool:
        """Sends what is acknowledged now, when a member. Whether something was sent."""
        acks = self._acks[:4096]
        if not acks or self.state != MEMBER or not self._say(b"ACK", b"".join(acks)):
            return False
        self.stats["acknowledged"] += len(acks)
        del self._acks[:4096]
        return True

    def alive(self) -> None:
        """Says what is due; in long computations call it at least once a second. Raises Refused."""
        self._serve_events()
        now = time.monotonic()
        if len(self._acks) >= self._batch:
            self.flush()
        if self._hello_due(now):
            self._say_hello()
        elif (self.state == MEMBER or self.state == ASKED and self._hello_said) and now - self._sent >= ALIVE_S:
            if not (self._acks and self.flush()):
                self._say(b"ALIVE")

    def _hello_due(self, now: float) -> bool:
        """Again, only when no answer came: where something waits it may be the answer. Or when the name was taken."""
        if self.state == ASKED and self._taken:
            return now - self._asked >= TAKEN_S
        if self.state == ASKED:
            return not self._hello_said or now - self._asked >= ANSWER_S and not self.socket.poll(0)
        return self.state == MEMBER and self._hello_again and now - self._asked >= AGAIN_S

    def _say(self, *words: bytes) -> bool:
        try:
            self.socket.send_multipart(words, zmq.DONTWAIT)
        except zmq.Again:
            return False
        self._sent = time.monotonic()
        return True

    def _say_hello(self) -> None:
        self.state, self._asked = ASKED, time.monotonic()
        self._hello_said = self._say(b"HELLO", self._hello)
        self.stats["hellos"] += self._hello_said

    _connected = _say_hello

    def _bye(self) -> None:
        if self.state == MEMBER:
            self.flush()
            self._say(b"BYE")

    def _take(self, parts: list[Any]) -> Block | None:
        verb, body = parts[0].bytes, parts[1:]
        if verb == b"BLOCK" and len(body) == 3:
            return self._block(body, self.state == MEMBER)
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

    def _check_protocol(self, text: bytes) -> None:
        """Members of the object that this version does not know are passed over."""
        try:
            said = json.loads(text).get("protocol", VERSION)
        except (ValueError, AttributeError, RecursionError):
            return
        if said != VERSION:
            raise self._refuse("version", f"the daemon speaks protocol {said!r:.20}, this module {VERSION}: install "
                               "the daemon's fcmdata")

    def _on_error(self, text: bytes) -> None:
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
        raise self._refuse(str(error or "no reason given"), str(hint or ""))
