#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""code_mode_fastmcp_peer.py stdio|http IMAGE PACKAGES PEERS: calls the tool `echo` of an MCP server with FastMCP's
client, which runs in a container of IMAGE, as a peer for the benchmark. Reads lines with a number of calls, and prints
the nanoseconds of each call in one line. The line `url` prints the address of the server.

A client in a container can reach a server in two ways. stdio: the server is another program in the same container, which
has no network. http: the server runs on this machine, and the container shares its network. PACKAGES is the folder of the
container's Python packages, and PEERS that of Node.js and the server.
"""
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

CLIENT = r"""
import asyncio, sys, time
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def main(place, *words):
    loop = asyncio.get_running_loop()
    async with Client(place if place.startswith("http:") else StdioTransport(command=place, args=list(words))) as client:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            times = []
            for _ in range(int(line)):
                begin = time.perf_counter_ns()
                await client.call_tool("echo", {"message": "x"})
                times.append(time.perf_counter_ns() - begin)
            print(*times, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""
SERVER = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


def bind(source, target):
    return ["--mount", "type=bind,source=%s,target=%s,readonly" % (source, target)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_it_listens(server, url):
    """Waits for any reply of the server, such as that a GET has no session."""
    deadline = time.monotonic() + 30
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            direct.open(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit("the server does not listen")
            time.sleep(0.05)


def main(way, image, packages, peers):
    server, url = None, ""
    packages, peers = os.path.abspath(packages), os.path.abspath(peers)
    docker = ["docker", "run", "--rm", "-i", "--pull", "never", *bind(packages, "/packages"), "-e", "PYTHONPATH=/packages"]
    python = [image, "python3", "-c", CLIENT]
    node = os.path.realpath(os.path.join(peers, "node"))
    if way == "stdio":
        modules = os.path.join(peers, "node_modules")
        words = [*docker, "--network", "none", *bind(node, "/node"), *bind(modules, "/node_modules"), *python, "/node",
                 "/" + SERVER]
    else:
        port = free_port()
        url = "http://127.0.0.1:%d/mcp" % port
        words = [*docker, "--network", "host", *python, url]
        server = subprocess.Popen([node, os.path.join(peers, SERVER), "streamableHttp"], env=dict(os.environ, PORT=str(port)),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if server is not None:
            wait_until_it_listens(server, url)
        client = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in sys.stdin:
            if line == "url\n":
                print(url, flush=True)
                continue
            client.stdin.write(line)
            client.stdin.flush()
            answer = client.stdout.readline()
            if not answer:
                break
            print(answer, end="", flush=True)
        client.stdin.close()
        client.wait(60)
    finally:
        if server is not None:
            server.kill()
            server.wait()


main(*sys.argv[1:])
