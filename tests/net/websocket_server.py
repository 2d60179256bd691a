#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""A WebSocket server with the Python package websockets, for tests of our client: on TCP or TLS.

Prints "ready PORT" when it listens. Ends when its standard input ends.
"""
import argparse
import asyncio
import http
import os
import ssl
import sys
import threading

try:
    from websockets.legacy.server import serve
except ImportError:
    from websockets import serve


async def talk(socket, path):
    if path == "/echo":
        async for message in socket:
            await socket.send(message)
    elif path == "/fragments":
        async for message in socket:
            pieces = [message[i:i + 1000] for i in range(0, len(message), 1000)]
            await socket.send(pieces)
    elif path == "/ping":
        for i in range(20):
            answered = await socket.ping(b"ping %d" % i)
            await answered
        await socket.send(b"all pings were answered")
        await socket.wait_closed()
    elif path.startswith("/flood/"):
        for _ in range(int(path[7:])):
            await socket.send(b"\1" + b"x" * 65535)
        await socket.close(4001, "flooded")
    elif path.startswith("/close/"):
        await socket.close(int(path[7:]), "as asked")
    elif path == "/count":
        total = 0
        async for message in socket:
            total += len(message)
            if message == b"end":
                await socket.send(str(total))


async def refuse(path, fields):
    if path == "/refuse":
        return http.HTTPStatus.FORBIDDEN, [("Content-Type", "text/plain")], b"pods \"p\" is forbidden\nfor you"
    if path == "/secret" and fields.get("Authorization") != "Bearer token":
        return http.HTTPStatus.UNAUTHORIZED, [], b"who are you?"
    return None


async def main():
    options = argparse.ArgumentParser()
    options.add_argument("--certificate")
    options.add_argument("--protocols", default="")
    chosen = options.parse_args()
    context = None
    if chosen.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chosen.certificate)
    protocols = chosen.protocols.split(",") if chosen.protocols else None
    server = await serve(talk, "127.0.0.1", 0, ssl=context, subprotocols=protocols, process_request=refuse,
                         compression="deflate", ping_interval=None, max_size=None)
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    await asyncio.Future()


asyncio.run(main())
