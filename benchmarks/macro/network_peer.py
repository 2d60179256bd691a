#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""network_peer.py PORT: the server of network_bench. A connection sends a line: `send N` asks for N bytes, `take N`
announces N bytes, which are answered with one byte, and `echo` has each following byte sent back."""
import socketserver
import sys


class Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    rbufsize = 0  # the rest of what arrives with the line must stay in the socket

    def handle(self):
        words = self.rfile.readline().split()
        if words[0] == b"send":
            block = b"x" * (1 << 20)
            for _ in range(int(words[1]) >> 20):
                self.request.sendall(block)
        elif words[0] == b"take":
            left = int(words[1])
            while left > 0:
                left -= len(self.request.recv(1 << 20))
            self.request.sendall(b"k")
        else:
            while data := self.request.recv(1 << 16):
                self.request.sendall(data)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256


Server(("127.0.0.1", int(sys.argv[1])), Connection).serve_forever()
