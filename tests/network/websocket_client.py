# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""websocket_client.py PROXY_PORT HOST CA_FILE: sends one WebSocket frame through the proxy, and prints the echo."""
import http.client
import ssl
import sys

connection = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=ssl.create_default_context(cafile=sys.argv[3]))
connection.set_tunnel(sys.argv[2], 443)
connection.connect()
connection.sock.sendall(
    f"GET /ws HTTP/1.1\r\nHost: {sys.argv[2]}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
received = b""
while b"\r\n\r\n" not in received:
    received += connection.sock.recv(4096)
head, _, rest = received.partition(b"\r\n\r\n")
print(head.decode())
payload = b"tide"
connection.sock.sendall(bytes([0x81, 0x80 | len(payload), 1, 2, 3, 4]) + bytes(c ^ (i % 4 + 1) for i, c in enumerate(payload)))
while len(rest) < 2 + len(payload):
    rest += connection.sock.recv(4096)
print("echo:", rest[2:].decode())
