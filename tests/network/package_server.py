# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""A TLS server with a Python index, an npm registry, a Go module proxy, a Git repository and a WebSocket echo.

package_server.py CERTIFICATE KEY FOLDER. The folder has repo.git, a bare repository for the dumb protocol. Requests for
hosts that begin with "private." need the secret in their Authorization field. Each request is a line in FOLDER/log:
method, host, path, and "secret", "other" or "none" for its Authorization field. Prints "ready PORT", and ends when its
input ends.
"""
import base64
import hashlib
import io
import json
import os
import ssl
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "Basic dG9rZW46czNjcmV0LXRva2Vu"
FOLDER = sys.argv[3]
LOCK = threading.Lock()


def zipped(files):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return memory.getvalue()


WHEEL_NAME = "tidepool-1.0-py3-none-any.whl"
WHEEL = zipped({
    "tidepool.py": "LEVEL = 42\n",
    "tidepool-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tidepool\nVersion: 1.0\n",
    "tidepool-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tidepool-1.0.dist-info/RECORD": "tidepool.py,,\ntidepool-1.0.dist-info/METADATA,,\n"
                                     "tidepool-1.0.dist-info/WHEEL,,\ntidepool-1.0.dist-info/RECORD,,\n",
})
MODULE = "go.example.org/tide"
MODULE_ZIP = zipped({f"{MODULE}@v1.0.0/go.mod": f"module {MODULE}\n", f"{MODULE}@v1.0.0/tide.go": "package tide\n"})


def npm_tarball():
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz") as archive:
        for name, text in {"package/package.json": '{"name": "tidepool", "version": "1.0.0"}',
                           "package/index.js": "module.exports = 42\n"}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return memory.getvalue()


TARBALL = npm_tarball()


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
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        if host.startswith("private.") and kind != "secret":
            self.answer(401, "text/plain", b"no secret\n")
        elif self.headers.get("Upgrade", "").lower() == "websocket":
            self.echo_frames()
        else:
            self.serve(self.path.split("?")[0], host)

    do_HEAD = do_POST = do_GET

    def serve(self, path, host):
        if path == "/simple/tidepool/":
            digest = hashlib.sha256(WHEEL).hexdigest()
            page = f'<a href="/files/{WHEEL_NAME}#sha256={digest}">{WHEEL_NAME}</a>'
            self.answer(200, "text/html", page.encode())
        elif path == f"/files/{WHEEL_NAME}":
            self.answer(200, "application/zip", WHEEL)
        elif path == "/tidepool":
            digest = base64.b64encode(hashlib.sha512(TARBALL).digest()).decode()
            version = {"name": "tidepool", "version": "1.0.0",
                       "dist": {"tarball": f"https://{host}/tidepool.tgz", "integrity": f"sha512-{digest}"}}
            page = {"name": "tidepool", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
            self.answer(200, "application/json", json.dumps(page).encode())
        elif path == "/tidepool.tgz":
            self.answer(200, "application/octet-stream", TARBALL)
        elif path == f"/{MODULE}/@v/v1.0.0.info":
            self.answer(200, "application/json", b'{"Version": "v1.0.0"}')
        elif path == f"/{MODULE}/@v/v1.0.0.mod":
            self.answer(200, "text/plain", f"module {MODULE}\n".encode())
        elif path == f"/{MODULE}/@v/v1.0.0.zip":
            self.answer(200, "application/zip", MODULE_ZIP)
        elif path.startswith("/repo.git/") and ".." not in path and os.path.isfile(FOLDER + path):
            with open(FOLDER + path, "rb") as file:
                self.answer(200, "application/octet-stream", file.read())
        elif path == "/hello":
            self.answer(200, "text/plain", b"hello from the host\n")
        else:
            self.answer(404, "text/plain", b"nothing here\n")

    def echo_frames(self):
        """Switches to WebSocket, and sends back the payload of one short frame (RFC 6455)."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        head = self.rfile.read(2)
        mask = self.rfile.read(4)
        payload = bytes(c ^ mask[i % 4] for i, c in enumerate(self.rfile.read(head[1] & 0x7F)))
        self.wfile.write(bytes([0x81, len(payload)]) + payload)
        self.close_connection = True


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", server.server_port, flush=True)
    sys.stdin.read()


main()
