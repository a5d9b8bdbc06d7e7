#!/usr/bin/env python3
"""A peer in under 100 lines: the server of ping-pong over tcp (docs/worker-protocol.md and docs/wire.md say why)."""
import json, os, socket, struct, sys, threading

REQUEST, REPLY, MARK, FINISH = 1, 2, 3, 4
ENVELOPE = struct.Struct("<QQIIQ")  # sequence number, stamp, kind, payload length, zero


def say(word, value=None):
    print(word if value is None else word + " " + json.dumps(value, separators=(",", ":")), flush=True)


def read(conn, n):
    data = b""
    while len(data) < n:
        more = conn.recv(n - len(data))
        if not more:
            raise EOFError("the other side has gone")
        data += more
    return data


def receive(conn):
    return bytearray(read(conn, struct.unpack("<I", read(conn, 4))[0]))


def send(conn, message):
    conn.sendall(struct.pack("<I", len(message)) + message)


def plus_one(payload):
    """The counter at the beginning comes back plus one; a payload without room for it comes back as it is."""
    return struct.pack("<Q", struct.unpack_from("<Q", payload)[0] + 1) + payload[8:] if len(payload) >= 8 else payload


def server(args):
    token = os.urandom(16)
    listener = socket.create_server(("127.0.0.1", 0))
    say("ready", {"endpoints": ["127.0.0.1:%d/%s" % (listener.getsockname()[1], token.hex())]})
    conn = listener.accept()[0]  # one stranger would end this sample; a real peer goes on waiting
    assert read(conn, 16) == b"msgbtcp1" + token[:8], "not the one meant"
    conn.sendall(b"msgbtcp1" + token[8:])
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    received = kind = 0
    while kind != FINISH:
        message = receive(conn)
        kind = ENVELOPE.unpack_from(message)[2]
        if kind == REQUEST:
            received += 1
            message[16] = REPLY
            message[32:] = plus_one(message[32:])
        elif kind == MARK:
            received = 0
        send(conn, message)
    return conn, {"received": received, "facts": {"library": "Python's socket"}}


def listen():
    for line in sys.stdin:
        if line == "stop\n":
            stop.set()
            return
        # `start` tells the processes of all roles, for those who measure their CPU time: that is the client.
    os._exit(3)  # the runner is gone


if sys.argv[2:] == ["--describe"]:
    say("hello 1", {"peer": "py", "transports": ["tcp"], "scenarios": ["ping-pong"], "versions": {"python": sys.version.split()[0]}, "port0": True})
    sys.exit()
stop = threading.Event()
threading.Thread(target=listen, daemon=True).start()
args = dict(word.split("=", 1) for word in sys.argv[2:])
try:
    conn, result = {"server": server}[args["role"]](args)
except Exception as e:
    say("error", {"reason": "%s: %s" % (args["role"], e)})
    os._exit(1)
say("result", result)
stop.wait()  # the connection stays open until then
