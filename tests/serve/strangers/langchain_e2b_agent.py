# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Lets an agent of Deep Agents work in a sandbox of the gateway, with the backends of langchain-e2b."""
import asyncio

from deepagents import create_deep_agent
from e2b import AsyncSandbox, Sandbox
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_e2b import AsyncE2BSandbox, E2BSandbox

from support import contains, expect, finish, run

HOME = "/home/user"
PROGRAM = """import csv
with open('/home/user/sums/data.csv') as file:
    rows = list(csv.DictReader(file))
print('total', sum(int(row['amont']) for row in rows))
"""


class Model(FakeMessagesListChatModel):
    """A model with fixed replies. The class of langchain-core cannot be offered tools."""

    def bind_tools(self, tools, **options):
        return self


def call(number, name, **arguments):
    request = {"name": name, "args": arguments, "id": f"call{number}", "type": "tool_call"}
    return AIMessage(content="", tool_calls=[request])


def replies(command):
    """Returns the turns of a model that writes a program, sees it fail, corrects it and hands over the result."""
    calls = [
        ("write_file", {"file_path": HOME + "/sums/total.py", "content": PROGRAM}),
        ("execute", {"command": "python3 sums/total.py"}),
        ("grep", {"pattern": "amont", "path": HOME + "/sums", "output_mode": "content"}),
        ("edit_file", {"file_path": HOME + "/sums/total.py", "old_string": "amont", "new_string": "amount"}),
        ("execute", {"command": command}),
        ("read_file", {"file_path": HOME + "/sums/result.txt"}),
        ("ls", {"path": HOME + "/sums"}),
        ("glob", {"pattern": "**/*.py", "path": HOME}),
    ]
    turns = [call(number, name, **arguments) for number, (name, arguments) in enumerate(calls)]
    return turns + [AIMessage(content="The total is 12.")]


def judge(name, messages):
    results = [message.content for message in messages if isinstance(message, ToolMessage)]
    contains(name + ": writes a file", results[0], HOME + "/sums/total.py")
    contains(name + ": sees the error of a program", results[1], "KeyError: 'amont'", "exit code 1")
    contains(name + ": searches files", results[2], "total.py", "amont")
    contains(name + ": edits a file", results[3], "total.py")
    contains(name + ": runs the corrected program", results[4], "exit code 0")
    contains(name + ": reads a file", results[5], "total 12")
    contains(name + ": lists a directory", results[6], "data.csv", "result.txt", "total.py")
    contains(name + ": finds files by name", results[7], "total.py")
    expect(name + ": finishes", messages[-1].content, "The total is 12.")


DATA = b"name,amount\na,5\nb,7\n"
COMMAND = "python3 sums/total.py | tee sums/result.txt"
TASK = {"messages": [{"role": "user", "content": "Sum the amounts in sums/data.csv."}]}


def agent():
    sandbox = Sandbox.create()
    try:
        backend = E2BSandbox(sandbox=sandbox)
        uploaded = backend.upload_files([(HOME + "/sums/data.csv", DATA)])
        expect("agent: uploads a file", uploaded[0].error, None)
        worker = create_deep_agent(model=Model(responses=replies(COMMAND)), backend=backend)
        judge("agent", worker.invoke(TASK, {"recursion_limit": 100})["messages"])
        files = backend.download_files([HOME + "/sums/result.txt", HOME + "/sums", HOME + "/none"])
        expect("agent: downloads a file", files[0].content, b"total 12\n")
        expect("agent: downloads no directory", files[1].error, "is_directory")
        expect("agent: downloads no absent file", files[2].error, "file_not_found")
    finally:
        sandbox.kill()


def async_agent():
    async def work():
        sandbox = await AsyncSandbox.create()
        try:
            backend = AsyncE2BSandbox(sandbox=sandbox)
            uploaded = await backend.aupload_files([(HOME + "/sums/data.csv", DATA)])
            expect("asynchronous agent: uploads a file", uploaded[0].error, None)
            worker = create_deep_agent(model=Model(responses=replies(COMMAND)), backend=backend)
            judge("asynchronous agent", (await worker.ainvoke(TASK, {"recursion_limit": 100}))["messages"])
            files = await backend.adownload_files([HOME + "/sums/result.txt"])
            expect("asynchronous agent: downloads a file", files[0].content, b"total 12\n")
        finally:
            await sandbox.kill()

    asyncio.run(work())


def in_sandbox(body):
    sandbox = Sandbox.create()
    try:
        body(sandbox, E2BSandbox(sandbox=sandbox))
    finally:
        sandbox.kill()


def commands(sandbox, backend):
    timed_out = backend.execute("echo begun; sleep 60", timeout=1)
    expect("commands: one ends at its time limit", timed_out.exit_code, 124)
    expect("commands: the next one works", backend.execute("echo still here").output, "still here\n")
    expect("commands: both outputs are kept", backend.execute("echo out; echo err >&2; exit 3").output, "out\n\nerr\n")


def large_edit(sandbox, backend):
    """Edits with more than 50,000 bytes, which deepagents sends in files in /tmp."""
    old, new = "a" * 40000, "b" * 40000
    expect("large edit: writes the file", backend.write(HOME + "/large.txt", f"<{old}>").error, None)
    expect("large edit: succeeds", backend.edit(HOME + "/large.txt", old, new).error, None)
    expect("large edit: the file is new", backend.download_files([HOME + "/large.txt"])[0].content, f"<{new}>".encode())
    expect("large edit: /tmp is clean", backend.execute("ls -A /tmp | grep deepagents").output, "")


def outside_the_home(sandbox, backend):
    content = bytes(range(256))
    expect("outside the home: uploads", backend.upload_files([("/tmp/outside.bin", content)])[0].error, None)
    expect("outside the home: downloads", backend.download_files(["/tmp/outside.bin"])[0].content, content)
    contains("outside the home: commands see the file", backend.execute("wc -c /tmp/outside.bin").output, "256 ")
    contains("outside the home: reads a file of the system", backend.read("/etc/passwd").file_data["content"], "user")
    absent = backend.download_files(["/tmp/none"])[0].error
    expect("outside the home: downloads no absent file", absent, "file_not_found")


def root_directory(sandbox, backend):
    expect("root directory: commands work there", E2BSandbox(sandbox=sandbox, workdir="/").execute("pwd").output, "/\n")
    expect("root directory: commands work in /tmp", E2BSandbox(sandbox=sandbox, workdir="/tmp").execute("pwd").output,
           "/tmp\n")


run("agent", agent)
run("asynchronous agent", async_agent)
for part in (commands, large_edit, outside_the_home, root_directory):
    run(part.__name__.replace("_", " "), in_sandbox, part)
finish()
