#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Forwards the bytes of a Unix socket to a TLS server, so that a test can see and change the plain text.

tls_client.py SOCKET PORT AUTHORITY: SOCKET is the path of the Unix socket; the server listens on this port of 127.0.0.1,
and has a certificate of the file AUTHORITY for the name `kubernetes`. Prints a line when it is ready. Ends when its
standard input ends.
"""
import asyncio
import ssl
import sys

path, port, authority = sys.argv[1:4]
context = ssl.create_default_context(cafile=authority)
conversations = set()  # asyncio itself keeps no reference to a running task


async def pump(source, sink):
    try:
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()
    except (OSError, ssl.SSLError):
        pass
    sink.close()


async def serve(client_in, client_out):
    task = asyncio.current_task()
    conversations.add(task)
    task.add_done_callback(conversations.discard)
    try:
        server_in, server_out = await asyncio.open_connection("127.0.0.1", int(port), ssl=context,
                                                              server_hostname="kubernetes")
    except (OSError, ssl.SSLError):
        client_out.close()
        return
    await asyncio.gather(pump(client_in, server_out), pump(server_in, client_out))


async def main():
    await asyncio.start_unix_server(serve, path)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
