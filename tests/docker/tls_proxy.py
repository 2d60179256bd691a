#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""A TLS server that forwards all bytes to a Unix socket, so that a Docker daemon can be reached over TLS.

tls_proxy.py FOLDER SOCKET: FOLDER contains ca.pem, server-cert.pem and server-key.pem. Clients need a certificate that
ca.pem has signed. Prints the port. Ends when its standard input ends.
"""
import asyncio
import ssl
import sys

folder, target = sys.argv[1:3]


async def pump(source, sink):
    try:
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()
    except (OSError, ssl.SSLError):
        pass
    sink.close()


async def serve(client_in, client_out):
    daemon_in, daemon_out = await asyncio.open_unix_connection(target)
    await asyncio.gather(pump(client_in, daemon_out), pump(daemon_in, client_out))


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/server-cert.pem", f"{folder}/server-key.pem")
    context.load_verify_locations(f"{folder}/ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
