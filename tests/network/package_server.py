# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""A TLS server in front of real servers: pypiserver, Verdaccio, Git's own http-backend and a WebSocket server of the
package websockets. It also answers as a Go module proxy, whose protocol consists of files.

package_server.py CERTIFICATE KEY FOLDER [PEERS]. PEERS is the folder that peers.sh has made, whose Python must run this
program; without it there is no index, no npm registry and no WebSocket server. FOLDER has repo.git, a bare repository,
and gets the data of the servers. Requests for hosts that begin with "private." need the secret in their Authorization
field. Each request is a line in FOLDER/log: method, host, path, and "secret", "other" or "none" for its Authorization
field. Prints "ready PORT", and ends when its input ends.
"""
import atexit
import base64
import hashlib
import io
import json
import os
import select
import socket
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

USER, PASSWORD = "token", "s3cret-token"
SECRET = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
FOLDER = sys.argv[3]
PEERS = sys.argv[4] if len(sys.argv) > 4 else None
LOCK = threading.Lock()


def zipped(files):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return memory.getvalue()


WHEEL = zipped({
    "tidepool.py": "LEVEL = 42\n",
    "tidepool-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tidepool\nVersion: 1.0\n",
    "tidepool-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tidepool-1.0.dist-info/RECORD": "tidepool.py,,\ntidepool-1.0.dist-info/METADATA,,\n"
                                     "tidepool-1.0.dist-info/WHEEL,,\ntidepool-1.0.dist-info/RECORD,,\n",
})
MODULE = "go.example.org/tide"
MODULE_FILES = {
    f"/{MODULE}/@v/v1.0.0.info": b'{"Version": "v1.0.0"}',
    f"/{MODULE}/@v/v1.0.0.mod": f"module {MODULE}\n".encode(),
    f"/{MODULE}/@v/v1.0.0.zip": zipped({f"{MODULE}@v1.0.0/go.mod": f"module {MODULE}\n",
                                        f"{MODULE}@v1.0.0/tide.go": "package tide\n"}),
}
NPM_FILES = {"package/package.json": '{"name": "tidepool", "version": "1.0.0"}',
             "package/index.js": "module.exports = 42\n"}
VERDACCIO = """
storage: {folder}/npm
auth:
  htpasswd:
    file: {folder}/htpasswd
    max_users: -1
packages:
  '**':
    access: $all
log: {{type: file, path: {folder}/verdaccio.log, level: warn}}
web: {{enable: false}}
"""


def in_thread(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()


def python_index():
    """Starts pypiserver with the wheels of this test and of the peers, and no other index behind it. Returns its address."""
    import pypiserver

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    class Quiet(WSGIRequestHandler):
        def log_message(self, *arguments):
            pass

    os.makedirs(f"{FOLDER}/wheels")
    with open(f"{FOLDER}/wheels/tidepool-1.0-py3-none-any.whl", "wb") as file:
        file.write(WHEEL)
    index = pypiserver.app(roots=[f"{FOLDER}/wheels", f"{PEERS}/wheels"], disable_fallback=True)
    server = make_server("127.0.0.1", 0, index, Server, Quiet)
    in_thread(server)
    return server.server_address


def npm_registry():
    """Starts Verdaccio, which has one package and no other registry behind it. Returns its address."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz") as archive:
        for name, text in NPM_FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    tarball = memory.getvalue()
    digest = base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    place = {"tarball": "http://localhost/tidepool/-/tidepool-1.0.0.tgz", "integrity": f"sha512-{digest}",
             "shasum": hashlib.sha1(tarball).hexdigest()}
    page = {"name": "tidepool", "dist-tags": {"latest": "1.0.0"},
            "versions": {"1.0.0": {"name": "tidepool", "version": "1.0.0", "dist": place}},
            "time": {"1.0.0": "2026-01-01T00:00:00.000Z"}, "_attachments": {"tidepool-1.0.0.tgz": {}},
            "_distfiles": {}, "_uplinks": {}}
    os.makedirs(f"{FOLDER}/npm/tidepool")
    with open(f"{FOLDER}/npm/tidepool/tidepool-1.0.0.tgz", "wb") as file:
        file.write(tarball)
    with open(f"{FOLDER}/npm/tidepool/package.json", "w", encoding="utf-8") as file:
        json.dump(page, file)
    with open(f"{FOLDER}/htpasswd", "w", encoding="utf-8") as file:
        digest = base64.b64encode(hashlib.sha1(PASSWORD.encode()).digest()).decode()
        file.write(f"{USER}:{{SHA}}{digest}\n")
    with open(f"{FOLDER}/verdaccio.yaml", "w", encoding="utf-8") as file:
        file.write(VERDACCIO.format(folder=FOLDER))
    address = f"{FOLDER}/verdaccio.sock"
    with open(f"{FOLDER}/verdaccio.out", "wb") as output:
        program = subprocess.Popen(
            [f"{PEERS}/node", f"{PEERS}/npm/node_modules/verdaccio/bin/verdaccio", "--config", f"{FOLDER}/verdaccio.yaml",
             "--listen", f"unix:{address}"], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    atexit.register(program.kill)
    while program.poll() is None:
        try:
            connected(address).close()
            return address
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("Verdaccio has ended")


def web_socket_server():
    """Starts a server that sends every message back. Returns its address."""
    from websockets.sync.server import serve

    def echo(connection):
        for message in connection:
            connection.send(f"echo: {message}")

    server = serve(echo, "127.0.0.1", 0)
    in_thread(server)
    return server.socket.getsockname()


def connected(address):
    """Returns a connection to a server of this machine: a pair for TCP, or a path."""
    if not isinstance(address, str):
        return socket.create_connection(address)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    return connection


class Once:
    """The address of a server, which starts at the first request for it."""

    def __init__(self, start):
        self.start, self.address = start, None

    def connect(self):
        with LOCK:
            self.address = self.address or self.start()
        return connected(self.address)


INDEX, REGISTRY, WEB_SOCKETS = Once(python_index), Once(npm_registry), Once(web_socket_server)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        host = self.headers.get("Host", "")
        given = self.headers.get("Authorization")
        kind = "none" if given is None else "secret" if given == SECRET else "other"
        with LOCK, open(f"{FOLDER}/log", "a", encoding="utf-8") as log:
            log.write(f"{self.command} {host} {self.path} {kind}\n")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if host.startswith("private.") and kind != "secret":
            self.answer(401, "text/plain", b"no secret\n")
        else:
            self.serve(*self.path.partition("?")[::2], body)

    do_HEAD = do_POST = do_PUT = do_GET

    def serve(self, path, query, body):
        if path in MODULE_FILES:
            self.answer(200, "application/octet-stream", MODULE_FILES[path])
        elif path.startswith("/repo.git/"):
            self.serve_git(path, query, body)
        elif path == "/hello":
            self.answer(200, "text/plain", b"hello from the host\n")
        elif not PEERS:
            self.answer(404, "text/plain", b"nothing here\n")
        elif self.headers.get("Upgrade", "").lower() == "websocket":
            self.pass_on(WEB_SOCKETS, body, "Upgrade")
        elif path.startswith(("/simple/", "/packages/")):
            self.pass_on(INDEX, body, "close")
        else:
            self.pass_on(REGISTRY, body, "close")

    def pass_on(self, server, body, connection):
        """Sends the request to a server of this machine, and then carries bytes until one side closes."""
        head = f"{self.command} {self.path} HTTP/1.1\r\nConnection: {connection}\r\nX-Forwarded-Proto: https\r\n"
        for name, value in self.headers.items():
            if name.lower() != "connection":
                head += f"{name}: {value}\r\n"
        self.close_connection = True
        with server.connect() as there:
            there.sendall(f"{head}\r\n".encode("latin-1") + body)
            other = {self.connection: there, there: self.connection}
            while True:
                for ready in select.select(other, [], [])[0]:
                    piece = ready.recv(65536)
                    if not piece:
                        return
                    other[ready].sendall(piece)

    def serve_git(self, path, query, body):
        """Runs Git's server, which reads the request from variables and answers as a CGI program does."""
        variables = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": FOLDER, "GIT_HTTP_EXPORT_ALL": "1",
                     "REQUEST_METHOD": self.command, "PATH_INFO": path, "QUERY_STRING": query,
                     "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                     "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                     "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], env=variables, input=body, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(fields.get("Status", "200").split()[0])
        self.answer(status, fields.get("Content-Type", "text/plain"), content or done.stderr)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.num_tickets = 0  # a client with two threads, as that of websockets, can stall if its write meets a ticket
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    in_thread(server)
    print("ready", server.server_port, flush=True)
    sys.stdin.read()


main()
