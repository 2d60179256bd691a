#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""code_mode_peer.py PROGRAM [ARGUMENT...]: calls the tool `echo` of an MCP server with the official Python client, as a peer
for the benchmark. Reads lines with a number of calls, and prints the nanoseconds of each call in one line.
"""
import asyncio
import sys
import time

from mcp import ClientSession, StdioServerParameters, stdio_client


async def main():
    loop = asyncio.get_running_loop()
    async with stdio_client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            while line := await loop.run_in_executor(None, sys.stdin.readline):
                times = []
                for _ in range(int(line)):
                    begin = time.perf_counter_ns()
                    await session.call_tool("echo", {"message": "x"})
                    times.append(time.perf_counter_ns() - begin)
                print(*times, flush=True)


asyncio.run(main())
