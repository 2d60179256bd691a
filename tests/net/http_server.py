#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""An HTTP/1.1 server with Python's own implementation, for tests of our client: on TCP, TLS or a Unix socket.

Prints "ready PORT" when it listens. Ends when its standard input ends.
"""
import argparse
import base64
import http.server
import os
import select
import socket
import socketserver
import ssl
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        pass

    def address_string(self):
        return "client"

    def answer(self, status, body, *fields):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        """Yields the pieces of the request's body."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                piece = self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    return
                yield piece
        left = int(self.headers.get("Content-Length", "0"))
        while left:
            piece = self.rfile.read(min(left, 65536))
            left -= len(piece)
            yield piece

    def do_HEAD(self):
        self.answer(200, b"x" * 99)

    def do_GET(self):
        self.count = getattr(self, "count", 0) + 1
        if self.path == "/hello":
            self.answer(200, b"hello")
        elif self.path == "/count":
            self.answer(200, str(self.count).encode())
        elif self.path == "/host":
            self.answer(200, self.headers["Host"].encode())
        elif self.path == "/drop":
            self.close_connection = True
        elif self.path.startswith("/chunked/"):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(int(self.path[9:])):
                piece = b"%d," % i * 100
                self.wfile.write(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\nTrailer-Field: yes\r\n\r\n")
        elif self.path == "/until-close":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"y" * 100000)
            self.close_connection = True
        else:
            self.answer(404, b'{"message":"no such page"}')

    def do_CONNECT(self):
        """Acts as a proxy for one host, service.test:443, and connects to the port --tunnel-to of this machine."""
        chosen = self.server.options
        if chosen.proxy_user and self.headers.get("Proxy-Authorization") != "Basic " + base64.b64encode(
                chosen.proxy_user.encode()).decode():
            self.answer(407, b"who are you?", ("Proxy-Authenticate", 'Basic realm="test"'), ("Connection", "close"))
            return
        if self.path != "service.test:443" or self.headers["Host"] != self.path or not chosen.tunnel_to:
            self.answer(403, b"not there", ("Connection", "close"))
            return
        with socket.create_connection(("127.0.0.1", chosen.tunnel_to)) as there:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
            while True:
                ready, _, _ = select.select([self.connection, there], [], [], 60)
                if not ready:
                    break
                content = ready[0].recv(65536)
                if not content:
                    break
                (there if ready[0] is self.connection else self.connection).sendall(content)
        self.close_connection = True

    def do_POST(self):
        if self.path == "/size":
            self.answer(200, str(sum(len(piece) for piece in self.body())).encode())
        elif self.path == "/refuse":
            self.answer(413, b"too much", ("Connection", "close"))
            self.close_connection = True
        elif self.path == "/hijack":
            for _ in self.body():
                pass
            self.wfile.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
            heard = self.rfile.read()  # reads until the client ends its sending direction
            self.wfile.write(heard.upper())
            self.wfile.flush()
            self.close_connection = True
        else:
            self.answer(404, b"")


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    context = None
    request_queue_size = 64

    def handle_error(self, *_):
        pass

    def process_request_thread(self, request, client_address):
        try:
            if self.context:
                request.settimeout(60)
                request = self.context.wrap_socket(request, server_side=True)
            self.finish_request(request, client_address)
            if self.context:
                request.unwrap()
        except OSError:
            pass
        finally:
            self.shutdown_request(request)


class UnixServer(Server):
    address_family = socket.AF_UNIX


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--unix")
    options.add_argument("--certificate")
    options.add_argument("--client-authority")
    options.add_argument("--newest", choices=["1.2", "1.3"], default="1.3")
    options.add_argument("--tunnel-to", type=int, help="the port behind CONNECT service.test:443")
    options.add_argument("--proxy-user", help="NAME:PASSWORD that CONNECT wants")
    chosen = options.parse_args()
    server = UnixServer(chosen.unix, Handler) if chosen.unix else Server(("127.0.0.1", 0), Handler)
    server.options = chosen
    if chosen.certificate:
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(chosen.certificate)
        if chosen.newest == "1.2":
            server.context.maximum_version = ssl.TLSVersion.TLSv1_2
        if chosen.client_authority:
            server.context.verify_mode = ssl.CERT_REQUIRED
            server.context.load_verify_locations(chosen.client_authority)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", 0 if chosen.unix else server.server_address[1], flush=True)
    sys.stdin.read()
    os._exit(0)


main()
