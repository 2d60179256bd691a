# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""client.py DIALECT TRANSPORT PROGRAM [ARGUMENT...]: tests the server PROGRAM with MCP's official Python client, in
the version that this interpreter has installed.

DIALECT: v1 (`mcp` before 2), legacy (protocol versions up to 2025-11-25), modern (2026-07-28 only), or auto (the
client negotiates the version). TRANSPORT: stdio or http. For http the program is started with `--http 127.0.0.1:0
--no-token`, and prints its URL on stderr. Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
"""
import asyncio
import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings

from mcp import ClientSession, StdioServerParameters, stdio_client

dialect, transport, *program = sys.argv[1:]
V1 = dialect == "v1"
MODERN = dialect in ("auto", "modern")
PATIENCE = 30
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
if V1:
    from mcp import McpError as McpFailure, types
    from mcp.client.streamable_http import streamable_http_client
    from pydantic import AnyUrl
else:
    from mcp import Client, MCPError as McpFailure
    from mcp.shared.exceptions import MCPDeprecationWarning
    warnings.simplefilter("ignore", MCPDeprecationWarning)

CHECKS = []
numbers = itertools.count()


def check(body):
    CHECKS.append(body)
    return body


def plain(answer):
    """Returns the message with the member names of the wire, which differ from the names in the package."""
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


def text_of(result):
    return "\n".join(one["text"] for one in result["content"] if one["type"] == "text")


def long_sleep():
    """Returns a duration for `sleep` that no other process of this machine uses, so that tests can find the process."""
    return str(1_000_000 + os.getpid() % 100_000 * 100 + next(numbers))


def is_running(word):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", encoding="latin-1") as line:
                if word in line.read().split("\0"):
                    return True
    return False


async def comes_about(what, question):
    end = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < end, f"{what}: not within {PATIENCE} s"
        await asyncio.sleep(0.02)


async def fails(code, work):
    try:
        result = await work
    except McpFailure as why:
        assert why.error.code == code, f"the error is {why.error.code} {why.error.message}"
        return
    raise AssertionError(f"no error {code}, but {result!r}")


class Peer:
    """A client with the same interface for both major versions of the package."""

    def __init__(self, client, hello):
        self.client = client
        self.hello = hello

    async def call(self, name, arguments, heard=None):
        async def progress(progress, total, message):
            heard.append((progress, message))

        result = await self.client.call_tool(name, arguments, progress_callback=None if heard is None else progress)
        return plain(result)

    async def shell(self, cmd, heard=None):
        return await self.call("code_exec", {"cmd": cmd}, heard)

    async def resources(self, cursor=None):
        if not V1:
            return plain(await self.client.list_resources(cursor=cursor, cache_mode="bypass"))
        return plain(await self.client.list_resources(params=types.PaginatedRequestParams(cursor=cursor)))

    async def all_resources(self):
        found, cursor = [], None
        for _ in range(100):
            page = await self.resources(cursor)
            found += page["resources"]
            cursor = page.get("nextCursor")
            if cursor is None:
                return found
        raise AssertionError("the list does not end")

    async def read(self, uri):
        return plain(await self.client.read_resource(AnyUrl(uri) if V1 else uri))


@contextlib.asynccontextmanager
async def connect(url, errors):
    async with contextlib.AsyncExitStack() as stack:
        parameters = StdioServerParameters(command=program[0], args=program[1:])
        if V1:
            where = streamable_http_client(url) if url else stdio_client(parameters, errlog=errors)
            streams = await stack.enter_async_context(where)
            session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
            hello = plain(await session.initialize())
            yield Peer(session, hello)
            return
        client = await stack.enter_async_context(
            Client(url or stdio_client(parameters, errlog=errors), mode="2026-07-28" if dialect == "modern" else dialect))
        known = client.server_info is not None  # with a given version the client requests nothing
        yield Peer(client, {"protocolVersion": client.protocol_version, "instructions": client.instructions,
                            "capabilities": plain(client.server_capabilities),
                            "serverInfo": plain(client.server_info) if known else None})


@check
async def handshake(peer):
    assert peer.hello["protocolVersion"] == ("2026-07-28" if MODERN else "2025-11-25"), peer.hello
    if dialect != "modern":
        assert peer.hello["serverInfo"]["name"] == "cofferdam", peer.hello
        assert "tools" in peer.hello["capabilities"] and len(peer.hello["instructions"]) > 20, peer.hello


@check
async def list_tools(peer):
    tools = {one["name"]: one for one in plain(await peer.client.list_tools())["tools"]}
    assert {"code_exec", "run_python", "read_file", "write_file", "list_files", "view_image"} <= tools.keys(), tools.keys()
    assert all(one["inputSchema"]["type"] == "object" for one in tools.values())


@check
async def ping(peer):
    if not MODERN:
        await peer.client.send_ping()
        await peer.client.set_logging_level("info")


@check
async def call(peer):
    result = await peer.shell("echo hello; echo wrong >&2; exit 3")
    said = result["structuredContent"]
    assert (said["status"], said["exit_code"], said["stdout"], said["stderr"]) == ("exited", 3, "hello\n", "wrong\n"), said
    assert not result.get("isError") and "hello" in text_of(result) and "wrong" in text_of(result), result


@check
async def run_python(peer):
    first = await peer.call("run_python", {"code": "x = 20\nx + 1"})
    assert first["structuredContent"]["result"] == "21", first
    second = await peer.call("run_python", {"code": "x * y", "variables": {"y": 2}})
    assert second["structuredContent"]["result"] == "40", second
    third = await peer.call("run_python", {"code": "1 / 0"})
    assert "ZeroDivisionError" in text_of(third) and not third.get("isError"), third


@check
async def errors(peer):
    await fails(-32602, peer.call("nope", {}))
    for arguments, word in ({}, "cmd"), ({"cmd": 5}, "cmd"), ({"cmd": "true", "comand": 1}, "comand"):
        result = await peer.call("code_exec", arguments)
        assert result["isError"] and word in text_of(result), result
    outside = await peer.call("read_file", {"path": "../../../../etc/passwd"})
    assert outside["isError"] and "root:" not in text_of(outside), outside


@check
async def image(peer):
    await peer.shell(f"printf %s {DOT} | base64 -d >dot.png")
    images = [one for one in (await peer.call("view_image", {"path": "dot.png"}))["content"] if one["type"] == "image"]
    assert [(one["mimeType"], one["data"]) for one in images] == [("image/png", DOT)], images


@check
async def progress(peer):
    heard, flag = [], "go-" + uuid.uuid4().hex
    running = asyncio.create_task(peer.shell(f"until [ -e {flag} ]; do echo tick; sleep 0.1; done; echo over", heard))
    await comes_about("progress", lambda: len(heard) >= 2)
    await peer.call("write_file", {"path": flag, "content": "go"})
    assert "over" in (await running)["structuredContent"]["stdout"]
    steps = [step for step, _ in heard]
    assert steps == sorted(set(steps)), heard
    assert any("tick" in (message or "") for _, message in heard), heard


@check
async def cancel_kills_the_command(peer):
    word = long_sleep()
    number = peer.client._request_id if V1 else None
    running = asyncio.create_task(peer.shell(f"sleep {word} & sleep {word}; wait"))
    await comes_about("the command runs", lambda: is_running(word))
    if V1:  # cancelling the task of this client sends nothing to the server
        await peer.client.send_notification(types.ClientNotification(
            types.CancelledNotification(params=types.CancelledNotificationParams(requestId=number, reason="enough"))))
    else:
        running.cancel()
    await comes_about("the command and its child are dead", lambda: not is_running(word))
    running.cancel()
    await asyncio.wait([running])
    assert (await peer.shell("echo alive"))["structuredContent"]["stdout"] == "alive\n"


@check
async def resources(peer):
    await peer.call("write_file", {"path": "note.txt", "content": "read me\n"})
    uri = next(one["uri"] for one in await peer.all_resources() if one["uri"].endswith("note.txt"))
    contents = (await peer.read(uri))["contents"]
    assert [one["text"] for one in contents] == ["read me\n"], contents
    picture = (await peer.read(uri.replace("note.txt", "dot.png")))["contents"][0]
    assert (picture["mimeType"], picture["blob"]) == ("image/png", DOT), picture
    await fails(-32602 if MODERN else -32002, peer.read(uri.replace("note.txt", "none.txt")))
    assert plain(await peer.client.list_resource_templates())["resourceTemplates"]


@check
async def pages(peer):
    await peer.shell("mkdir -p many; for i in $(seq 130); do echo $i >many/f$i.txt; done")
    first = await peer.resources()
    assert first.get("nextCursor"), "one page only"
    uris = [one["uri"] for one in await peer.all_resources()]
    assert len(uris) == len(set(uris)), "something is listed twice"
    assert sum("many/f" in uri for uri in uris) == 130, uris
    await fails(-32602, peer.resources("nonsense"))


async def main():
    failed = False
    server, url = None, None
    faults = tempfile.TemporaryFile("w+")
    if transport == "http":
        server = subprocess.Popen([*program, "--http", "127.0.0.1:0", "--no-token"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        said = []

        def listen():
            for line in server.stderr:
                said.append(line)

        threading.Thread(target=listen, daemon=True).start()

        def where():
            found = re.search(r"listening on (http://\S+)", "".join(said))
            return found and found[1]

        await comes_about("the server says where it listens", lambda: where() or server.poll() is not None)
        url = where()
        assert url, "".join(said)

    async def run(body, *arguments):
        nonlocal failed
        try:
            await asyncio.wait_for(body(*arguments), 3 * PATIENCE)
            print("ok " + body.__name__, flush=True)
        except Exception as why:  # the other checks still run
            failed = True
            print(f"not ok {body.__name__}: {type(why).__name__} {why}".replace("\n", " | "), flush=True)

    word = long_sleep()
    async with connect(url, faults) as peer:
        for body in CHECKS:
            await run(body, peer)
        left = asyncio.create_task(peer.shell(f"sleep {word} & sleep {word}; wait"))
        await comes_about("the command runs", lambda: is_running(word))
        if MODERN and url:
            left.cancel()
        else:
            left.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def who_leaves_leaves_nothing_running():
        await comes_about("the command is dead", lambda: not is_running(word))

    await run(who_leaves_leaves_nothing_running)
    if server:
        async def sigterm_ends_the_server():
            server.send_signal(signal.SIGTERM)
            await comes_about("the server ends", lambda: server.poll() is not None)
            assert server.returncode == 0, server.returncode

        await run(sigterm_ends_the_server)
    faults.seek(0)
    if failed:
        heard = "".join(said) if server else faults.read()
        print("not ok stderr of the server: " + heard[-2000:].replace("\n", " | "))
    else:
        print("all passed")
    return failed


sys.exit(asyncio.run(main()))
