#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""An MCP server over stdio that is written with the official Python package, as a peer for the benchmarks.

It has a tool that runs a command line, a tool that runs Python in the server itself, and a tool that does nothing. The
package's server class is called FastMCP before version 2.
"""
import ast
import contextlib
import io
import logging
import subprocess

try:
    from mcp.server.fastmcp import FastMCP as Server
except ModuleNotFoundError:
    from mcp.server.mcpserver import MCPServer as Server

logging.disable(logging.CRITICAL)
server = Server("peer")


@server.tool()
def code_exec(cmd: str) -> dict[str, object]:
    """Run one command line with bash and return its exit code, stdout and stderr."""
    done = subprocess.run(["bash", "-c", cmd], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


@server.tool()
def run_python(code: str) -> dict[str, object]:
    """Run Python and return what it printed, and the value of its last expression."""
    tree, last = ast.parse(code), None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    said, names = io.StringIO(), {}
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "<code>", "exec"), names)  # as such servers do: the code has full access to the server
        value = None if last is None else eval(compile(last, "<code>", "eval"), names)
    return {"stdout": said.getvalue(), "result": repr(value)}


@server.tool()
def nothing() -> str:
    """Do nothing."""
    return "done"


server.run()
