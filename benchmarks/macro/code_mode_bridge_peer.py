#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""code_mode_bridge_peer.py process|IMAGE PROGRAM [ARGUMENT...]: calls the tool `echo` of an MCP server from code that
mcp-code-mode runs, as a peer for the benchmark. Reads lines with a number of calls, and prints the nanoseconds of each
call in one line.

mcp-code-mode writes functions before the code, which send each call as an HTTP request to its bridge at this machine's
loopback address. process: the code runs in a thread of the bridge's process, which is mcp-code-mode's default. IMAGE: the
code runs in a container of this image, which shares this machine's network so that it can reach the bridge.
"""
import asyncio
import json
import os
import subprocess
import sys
import tempfile

for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]  # the functions would send the calls to a proxy

from mcp_code_mode.agent import CodeExecutionAgent  # noqa: E402
from mcp_code_mode.executor import LocalPythonExecutor  # noqa: E402
from mcp_code_mode.mcp_integration import setup_mcp_tools  # noqa: E402
from mcp_code_mode.mcp_manager import MCPServerManager  # noqa: E402
from mcp_code_mode.tool_bridge import MCPToolBridge  # noqa: E402

CODE = """
import time
times = []
for _ in range(%d):
    begin = time.perf_counter_ns()
    echo(message="x")
    times.append(time.perf_counter_ns() - begin)
print(*times)
"""
# Does in the container what LocalPythonExecutor does in the process.
EXECUTOR = """
import contextlib, io, json, sys
for line in sys.stdin:
    request, out = json.loads(line), io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(request["code"], request["variables"], request["variables"])
    print(json.dumps(out.getvalue()), flush=True)
"""


class Container:
    """Runs code in a container of an image, as an executor of mcp-code-mode."""

    def __init__(self, image):
        self.client = subprocess.Popen(
            ["docker", "run", "--rm", "-i", "--pull", "never", "--network", "host", image, "python3", "-c", EXECUTOR],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    async def run(self, code, timeout, variables):
        return await asyncio.to_thread(self.ask, {"code": code, "variables": variables})

    def ask(self, request):
        self.client.stdin.write(json.dumps(request) + "\n")
        self.client.stdin.flush()
        return {"success": True, "stdout": json.loads(self.client.stdout.readline())}

    def close(self):
        self.client.stdin.close()
        self.client.wait(60)


async def main(way, program, *arguments):
    loop = asyncio.get_running_loop()
    executor = LocalPythonExecutor() if way == "process" else Container(way)

    async def run_code(code, timeout, ctx, variables):
        return await executor.run(code, timeout=timeout, variables=variables)

    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"servers": {"every": {"command": program, "args": arguments}}}, file)
        file.flush()
        manager = MCPServerManager(file.name)
        found = await setup_mcp_tools(manager)
    bridge = MCPToolBridge(found["tools"])
    await bridge.start()
    agent = CodeExecutionAgent(found["tools"], found["llm_context"], run_code, bridge)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        # The part of agent.run() that follows the model's answer.
        result = await agent._run_sandbox_execution(code=CODE % int(line), timeout=120, ctx=None)
        if not result["success"]:
            sys.exit(result["stderr"])
        print(result["stdout"].strip(), flush=True)
    if way != "process":
        executor.close()
    await bridge.stop()
    await manager.shutdown()


asyncio.run(main(*sys.argv[1:]))
