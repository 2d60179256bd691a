# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Lets an agent of Stirrup work in a sandbox of the gateway, with its code backend for E2B."""
import asyncio
import base64
import logging
import pathlib
import tempfile

from stirrup import Agent
from stirrup.clients.chat_completions_client import ChatCompletionsClient
from stirrup.tools.code_backends.e2b import E2BCodeExecToolProvider
from stirrup.tools.view_image import ViewImageToolProvider

from support import ScriptedModel, contains, expect, finish, run_async, same

HOME = "/home/user"
DATA = b"name,amount\na,5\nb,7\n"
PIXEL = base64.b64encode(bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8ffff3f0005fe02fe"
    "0def46b80000000049454e44ae426082")).decode()
PROGRAM = "import csv; print('total', sum(int(row['{}']) for row in csv.DictReader(open('in/data.csv'))))"


def client_of(model):
    return ChatCompletionsClient(model="scripted", base_url=model.url, api_key="none", max_tokens=1000,
                                 context_window_tokens=100_000)


async def agent(folder):
    """Runs an agent that gets files, sees a program fail, corrects it, looks at an image and hands over files."""
    correct = "sed -i s/amont/amount/ total.py && mkdir -p out && python3 total.py | tee out/result.txt"
    model = ScriptedModel([
        [("code_exec", {"cmd": f"cat > total.py <<'END'\n{PROGRAM.format('amont')}\nEND\npython3 total.py"})],
        [("code_exec", {"cmd": correct})],
        [("code_exec", {"cmd": f"echo {PIXEL} | base64 -d > out/pixel.png"})],
        [("view_image", {"path": "out/pixel.png"})],
        [("finish", {"reason": "Too early.", "paths": ["out/none.txt"]})],
        [("finish", {"reason": "The total is 12.", "paths": ["out/result.txt", "out/pixel.png"]})],
    ])
    worker = Agent(client=client_of(model), name="worker", tools=[E2BCodeExecToolProvider(), ViewImageToolProvider()],
                   max_turns=20)
    given, output = folder / "in", folder / "output"
    given.mkdir()
    (given / "data.csv").write_bytes(DATA)
    async with worker.session(output_dir=output, input_files=given, cache_on_interrupt=False) as session:
        ending, _, _ = await session.run("Sum the amounts in in/data.csv.")
    results = model.results()
    contains("agent: sees the error of a program", results[0], "KeyError: 'amont'", "<exit_code>1</exit_code>")
    contains("agent: runs the corrected program", results[1], "total 12", "<exit_code>0</exit_code>")
    contains("agent: looks at an image", str(model.requests[4]["messages"]), "data:image/png;base64,")
    contains("agent: hands over no absent file", results[4], "out/none.txt")
    expect("agent: finishes", ending.reason if ending else None, "The total is 12.")
    made = {path.name: path.read_bytes() for path in sorted(output.rglob("*")) if path.is_file()}
    expect("agent: its files arrive", {name: len(content) for name, content in made.items()},
           {"pixel.png": len(base64.b64decode(PIXEL)), "result.txt": 9})


async def subagent(folder):
    """Copies files between the sandboxes of an agent and of an agent that it calls."""
    inner = ScriptedModel([
        [("code_exec", {"cmd": "tr a-z A-Z < words.txt > loud.txt; cat loud.txt"})],
        [("finish", {"reason": "Done.", "paths": ["loud.txt"]})],
    ])
    outer = ScriptedModel([
        [("code_exec", {"cmd": "echo quiet > words.txt"})],
        [("helper", {"task": "Write words.txt in capitals.", "input_files": ["words.txt"]})],
        [("code_exec", {"cmd": "find . -name loud.txt -exec cat {} +"})],
        [("finish", {"reason": "Done.", "paths": []})],
    ])
    helper = Agent(client=client_of(inner), name="helper", tools=[E2BCodeExecToolProvider()], max_turns=10)
    worker = Agent(client=client_of(outer), name="worker", tools=[E2BCodeExecToolProvider(), helper.to_tool()],
                   max_turns=10)
    async with worker.session(cache_on_interrupt=False) as session:
        await session.run("Call the helper.")
    contains("agent that calls an agent: gives it a file", inner.results()[0], "QUIET")
    contains("agent that calls an agent: gets a file from it", outer.results()[2], "QUIET")


async def provider(folder):
    """Uses the provider without an agent."""
    tree = folder / "tree"
    (tree / "deep").mkdir(parents=True)
    (tree / "deep" / "data.bin").write_bytes(bytes(range(256)))
    box = E2BCodeExecToolProvider(sandbox_kwargs={"envs": {"PURPOSE": "a test"}, "metadata": {"a": "b"}})
    async with box:
        uploaded = await box.upload_files(tree)
        expect("provider: uploads a directory", (len(uploaded.uploaded), uploaded.failed), (1, {}))
        expect("provider: lists files", await box.list_files(HOME + "/tree"), ["deep/data.bin"])
        expect("provider: reads bytes", await box.read_file_bytes("tree/deep/data.bin"), bytes(range(256)))
        expect("provider: tells files from directories",
               (await box.is_directory("tree"), await box.is_directory("tree/deep/data.bin")), (True, False))
        expect("provider: an absent file is absent", await box.file_exists("no"), False)
        expect("provider: sets variables", (await box.run_command("echo $PURPOSE")).stdout, "a test\n")
        ended = await box.run_command("sleep 60", timeout=1)
        expect("provider: ends a long command", ended.error_kind, "timeout")
        refused = await box.run_command("echo a\0b")
        same("provider: a command with a NUL is refused", refused.exit_code != 0, f"{refused!r}")
        downloaded = await box.save_output_files(["tree/deep/data.bin"], folder / "saved")
        contents = [file.output_path.read_bytes() for file in downloaded.saved]
        expect("provider: saves a file", contents, [bytes(range(256))])
        await box.run_command("ln -s /etc/passwd link.txt")
        downloaded = await box.save_output_files(["link.txt"], folder / "saved")
        counts = (len(downloaded.saved), len(downloaded.failed))
        expect("provider: saves no link that leaves the home", counts, (0, 1))


async def outside_the_home(folder):
    box = E2BCodeExecToolProvider()
    async with box:
        expect("outside the home: an absent file is absent", await box.file_exists("/tmp/outside.txt"), False)
        await box.write_file_bytes("/tmp/outside.txt", b"outside")
        expect("outside the home: reads what it wrote", await box.read_file_bytes("/tmp/outside.txt"), b"outside")
        output = (await box.run_command("cat /tmp/outside.txt")).stdout
        expect("outside the home: commands see the file", output, "outside")


async def allowed_commands(folder):
    box = E2BCodeExecToolProvider(allowed_commands=[r"echo .*"])
    async with box:
        output = (await box.run_command("echo '$HOME' '*'")).stdout
        expect("allowed commands: run as they are written", output, "$HOME *\n")
        same("allowed commands: others are refused", (await box.run_command("id")).exit_code != 0, "id ran")


async def main():
    for part in (agent, subagent, provider, outside_the_home, allowed_commands):
        with tempfile.TemporaryDirectory() as folder:
            await run_async(part.__name__.replace("_", " "), part, pathlib.Path(folder))


logging.disable(logging.CRITICAL)
asyncio.run(main())
finish()
