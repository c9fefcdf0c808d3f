# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP on its way, written down: a proxy before a server's port keeps what passes, and a capture file is made of it,
as tcpdump would have seen it. Nothing is captured, so nothing needs rights.

    with Proxy(port) as proxy:          # clients connect to proxy.port
        ...
    write_pcap(path, ETHERNET, segments(proxy.flows, mss=1448))
"""
import select
import socket
import struct
import threading
import time

ETHERNET, USER0 = 1, 147  # link types of capture files
CLIENT, SERVER = 0, 1  # who sent it


class Flow:
    """One connection: [(time, CLIENT or SERVER, bytes)], and its ports as the capture shall have them."""

    def __init__(self, client_port, server_port, chunks=()):
        self.ports, self.chunks = (client_port, server_port), list(chunks)

    def sent(self, who):
        return b"".join(data for _, sender, data in self.chunks if sender == who)


class Proxy:
    """Listens on a port of its own and passes all bytes on to `port`; keeps the first `limit` of the server's of each
    connection. The capture shows `port` as the server's."""

    def __init__(self, port, limit):
        self.upstream, self.limit = port, limit
        self.flows, self.stopping = [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self):
        self.threads[0].start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for t in self.threads:
            t.join(5)
        self.listener.close()

    def full(self):
        """Flows of which all that was wanted is kept."""
        return [f for f in self.flows if len(f.sent(SERVER)) >= self.limit]

    def _accept(self):
        while not self.stopping:
            if select.select([self.listener], [], [], 0.1)[0]:
                client, address = self.listener.accept()
                flow = Flow(address[1], self.upstream)
                self.flows.append(flow)
                self.threads.append(threading.Thread(target=self._pass, args=(client, flow), daemon=True))
                self.threads[-1].start()

    def _pass(self, client, flow):
        kept = 0
        try:
            server = socket.create_connection(("127.0.0.1", self.upstream))
        except OSError:  # the client sees it as a closed connection
            client.close()
            return
        with client, server:
            ends = [client, server]
            while not self.stopping:
                for end in select.select(ends, [], [], 0.1)[0]:
                    who = ends.index(end)
                    try:
                        data = end.recv(1 << 16)
                        if not data:
                            return
                        if kept < self.limit:
                            flow.chunks.append((time.time(), who, data))
                            kept += len(data) * who
                        ends[1 - who].sendall(data)
                    except OSError:
                        return


def _checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def _packet(ports, sequence, acknowledged, flags, data):
    """Ethernet, IPv4 and TCP around some bytes, on loopback."""
    address = socket.inet_aton("127.0.0.1")
    tcp = struct.pack("!HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF, 5 << 4, flags, 65535, 0, 0)
    check = _checksum(address + address + struct.pack("!HH", 6, len(tcp) + len(data)) + tcp + data)
    tcp = tcp[:16] + struct.pack("!H", check) + tcp[18:]
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + len(data), 0, 0x4000, 64, 6, 0, address, address)
    ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
    return bytes(12) + b"\x08\x00" + ip + tcp + data


def segments(flows, mss, handshake=True):
    """[(time, packet)] of the flows, in order of time; data in segments of at most `mss` bytes."""
    syn, ack, push = 0x02, 0x10, 0x18
    packets = []
    for flow in flows:
        ports = (flow.ports, flow.ports[::-1])
        at = [1000, 2000]  # sequence of CLIENT, SERVER
        begin = flow.chunks[0][0] if flow.chunks else 0.0
        if handshake:
            packets += [(begin, _packet(ports[0], at[0] - 1, 0, syn, b"")),
                        (begin, _packet(ports[1], at[1] - 1, at[0], syn | ack, b"")),
                        (begin, _packet(ports[0], at[0], at[1], ack, b""))]
        for when, who, data in flow.chunks:
            for i in range(0, len(data), mss):
                part = data[i:i + mss]
                packets.append((when, _packet(ports[who], at[who], at[1 - who], push, part)))
                at[who] += len(part)
    return sorted(packets, key=lambda p: p[0])


def write_pcap(path, link_type, packets, snaplen=262144):
    """[(time, bytes)] as a capture file."""
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link_type))
        for when, data in packets:
            kept = data[:snaplen]
            f.write(struct.pack("<IIII", int(when), int(when % 1 * 1e6), len(kept), len(data)) + kept)
