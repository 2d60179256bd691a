# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Lets a SandboxAgent of openai-agents work in a sandbox of the gateway, with its extension for E2B."""
import asyncio
import io
import pathlib
import re
import tempfile

from agents import OpenAIResponsesModel, RunConfig, Runner, set_tracing_disabled
from agents.extensions.sandbox import E2BSandboxClient, E2BSandboxClientOptions
from agents.sandbox import (LocalSnapshotSpec, Manifest, SandboxAgent, SandboxRunConfig, WorkspaceArchiveReadError,
                            WorkspaceReadNotFoundError)
from agents.sandbox.entries import Dir, File
from openai import AsyncOpenAI

from support import ScriptedModel, contains, expect, finish, run_async, same

ROOT = "/home/user/workspace"
DATA = b"name,amount\na,5\nb,7\n"
PROGRAM = b"import csv\nprint('total', sum(int(row['amont']) for row in csv.DictReader(open('data/table.csv'))))\n"
PATCH = """*** Begin Patch
*** Update File: total.py
@@
-print('total', sum(int(row['amont']) for row in csv.DictReader(open('data/table.csv'))))
+print('total', sum(int(row['amount']) for row in csv.DictReader(open('data/table.csv'))))
*** Add File: notes.txt
+corrected
*** End Patch"""


def manifest(root):
    entries = {"data": Dir(children={"table.csv": File(content=DATA)}), "total.py": File(content=PROGRAM)}
    return Manifest(root=root, entries=entries, environment={"value": {"PURPOSE": "a test"}})


def options(kind="e2b", **more):
    return E2BSandboxClientOptions(sandbox_type=kind, timeout=600, **more)


async def agent(name, root, kind="e2b"):
    """Runs an agent that sees a program fail, corrects it with a patch, and uses a terminal."""
    model = ScriptedModel([
        [("exec_command", {"cmd": "python3 total.py"})],
        [("apply_patch", PATCH)],
        [("exec_command", {"cmd": "python3 total.py | tee result.txt; pwd; echo $PURPOSE"}),
         ("exec_command", {"cmd": "ls", "workdir": "data"})],
        [("exec_command", {"cmd": "read line; echo \"got <$line>\"; exit 3", "tty": True, "yield_time_ms": 500})],
        # The framework chooses the number of the terminal at random. It waits until `exit` has ended the terminal.
        lambda results: [("write_stdin", {"session_id": int(re.search(r"session ID (\d+)", results[-1])[1]),
                                          "chars": "hello\nexit\n", "yield_time_ms": 30000})],
        [("exec_command", {"cmd": "cat notes.txt result.txt"})],
        "The total is 12.",
    ])
    worker = SandboxAgent(name="worker", instructions="Sum the amounts.", default_manifest=manifest(root),
                          model=OpenAIResponsesModel("scripted", AsyncOpenAI(base_url=model.url, api_key="none")))

    settings = RunConfig(sandbox=SandboxRunConfig(client=E2BSandboxClient(), options=options(kind)))
    result = await Runner.run(worker, "Sum the amounts in data/table.csv.", run_config=settings, max_turns=20)
    results = model.results()
    contains(name + ": sees the error of a program", results[0], "exited with code 1", "KeyError: 'amont'")
    contains(name + ": applies a patch", results[1], "total.py")
    contains(name + ": runs the corrected program", results[2], "exited with code 0", "total 12", root, "a test")
    contains(name + ": works in another directory", results[3], "table.csv")
    contains(name + ": opens a terminal", results[4], "running with session ID")
    contains(name + ": types into the terminal", results[5], "got <hello>")
    contains(name + ": sees its files", results[6], "corrected", "total 12")
    expect(name + ": finishes", result.final_output, "The total is 12.")


async def in_session(body, **more):
    """Awaits body(session) with a session of its own."""
    client = E2BSandboxClient()
    session = await client.create(manifest=manifest(ROOT), options=options(**more))
    try:
        async with session:
            await body(session)
    finally:
        await client.delete(session)


async def files(session):
    content = bytes(range(256)) * 300
    await session.mkdir("made/deep", parents=True)
    await session.write(pathlib.Path("made/deep/data.bin"), io.BytesIO(content))
    expect("files: reads what it wrote", (await session.read(pathlib.Path("made/deep/data.bin"))).read(), content)
    names = sorted(pathlib.PurePath(entry.path).name for entry in await session.ls("."))
    names = [name for name in names if name not in (".", "..")]
    expect("files: lists a directory", names, ["data", "made", "total.py"])
    await session.mv("made/deep/data.bin", "moved.bin")
    result = await session.exec("wc -c < moved.bin; test ! -e made/deep/data.bin")
    expect("files: moves a file", (result.stdout.decode().strip(), result.exit_code), ("76800", 0))
    await session.rm("made", recursive=True)
    expect("files: removes a directory", (await session.exec("test -e made")).exit_code, 1)
    try:
        await session.read(pathlib.Path("made/deep/data.bin"))
        same("files: an absent file is reported", False, "read returned")
    except WorkspaceReadNotFoundError:
        same("files: an absent file is reported", True, "")


async def commands(session):
    result = await session.exec("echo out; echo err >&2; exit 3")
    expect("commands: outputs and exit code", (result.stdout, result.stderr, result.exit_code), (b"out\n", b"err\n", 3))
    expect("commands: run as the user of the sandbox", (await session.exec("id -un")).stdout, b"user\n")
    expect("commands: one without a shell", (await session.exec("echo", "$HOME", shell=False)).stdout, b"$HOME\n")
    expect("commands: the session runs", await session.running(), True)


async def archive(session):
    """Copies the workspace to another session, in an archive that the framework unpacks from /tmp."""
    await session.write(pathlib.Path("kept.txt"), io.BytesIO(b"kept"))
    copy = (await session.persist_workspace()).read()
    same("archive: is written", len(copy) > 1000, f"{len(copy)} bytes")
    await session.rm("kept.txt")
    await session.hydrate_workspace(io.BytesIO(copy))
    expect("archive: is read", (await session.read(pathlib.Path("kept.txt"))).read(), b"kept")


async def resumed(name, **more):
    """Closes a session, and continues it from its state and from the snapshot that the framework made of it."""
    client = E2BSandboxClient()
    with tempfile.TemporaryDirectory() as folder:
        snapshot = LocalSnapshotSpec(base_path=pathlib.Path(folder))
        session = await client.create(manifest=manifest(ROOT), snapshot=snapshot, options=options(**more))
        async with session:
            await session.write(pathlib.Path("kept.txt"), io.BytesIO(b"kept"))
        state = client.deserialize_session_state(client.serialize_session_state(session.state))
        session = await client.resume(state)
        async with session:
            expect(name + ": has its files", (await session.read(pathlib.Path("kept.txt"))).read(), b"kept")
            expect(name + ": runs commands", (await session.exec("cat kept.txt")).stdout, b"kept")


async def native_snapshot():
    """Asks for a snapshot of the whole sandbox, which only some backends can make. The others say so."""
    try:
        await resumed("native snapshot", workspace_persistence="snapshot")
    except WorkspaceArchiveReadError as why:
        contains("native snapshot: a refusal has a reason", str(why.__cause__), "501", "snapshot")


async def port(session):
    endpoint = await session.resolve_exposed_port(8000)
    names_this_machine = endpoint.host in ("127.0.0.1", "localhost") or endpoint.host.endswith(".localhost")
    same("port: leads to this machine", names_this_machine and not endpoint.tls, f"{endpoint!r}")


async def main():
    await run_async("agent", agent, "agent", ROOT)
    name = "agent with a code interpreter"
    await run_async(name, agent, name, ROOT, "e2b_code_interpreter")
    for part in (files, commands, archive):
        await run_async(part.__name__, in_session, part)
    await run_async("resumed session", resumed, "resumed session")
    await run_async("paused session", resumed, "paused session", pause_on_exit=True)
    await run_async("session that a timeout ends", in_session, commands, on_timeout="kill")
    await run_async("native snapshot", native_snapshot)
    await run_async("port", in_session, port, exposed_ports=(8000,))
    await run_async("default workspace", agent, "default workspace", Manifest().root)


set_tracing_disabled(True)
asyncio.run(main())
finish()
