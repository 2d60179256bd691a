# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""inspector.py FOLDER TOOLS ERAS PROGRAM [ARGUMENT...]: tests a stdio server with the command line of MCP's Inspector.

TOOLS: the tools to call, code_exec or run_python or both. ERAS: the protocol eras to use, legacy or modern or both. Both
are separated by commas. Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
"""
import json
import os
import subprocess
import sys
import tempfile

folder, tools, eras, *program = sys.argv[1:]
failed = False
CALLS = {
    "code_exec": ({"cmd": "echo $((6 * 7)); exit 3"}, lambda said: (said["exit_code"], said["stdout"]) == (3, "42\n")),
    "run_python": ({"code": "print('so')\n6 * 7"}, lambda said: (said["result"], said["stdout"]) == ("42", "so\n")),
}


def inspect(*words):
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, HOME=home, MCP_CATALOG_PATH=os.path.join(home, "catalog.json"))
        inspector = os.path.join(folder, "node_modules/.bin/mcp-inspector")
        line = [os.path.join(folder, "node"), inspector, "--cli", *program]
        # The server needs these environment variables to find its daemon or its interpreter. By itself, the Inspector
        # passes on only a few others.
        for name in sorted(os.environ):
            if name.startswith(("COFFERDAM_", "DOCKER_")):
                line += ["-e", f"{name}={os.environ[name]}"]
        done = subprocess.run([*line, *words], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=250)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stdout[-800:]} {done.stderr[-800:]}"
    return done


def check(name, body, *arguments):
    global failed
    try:
        body(*arguments)
        print("ok " + name, flush=True)
    except Exception as why:  # the other checks still run
        failed = True
        print(f"not ok {name}: {type(why).__name__} {why}".replace("\n", " | "), flush=True)


def schemas_are_portable(era):
    done = inspect("--protocol-era", era, "--method", "tools/list", "--strict")
    names = [one["name"] for one in json.loads(done.stdout)["tools"]]
    assert set(tools.split(",")) <= set(names), names
    assert "warning" not in done.stderr.lower(), done.stderr


def call(tool, era):
    arguments, holds = CALLS[tool]
    done = inspect("--protocol-era", era, "--method", "tools/call", "--tool-name", tool,
                   "--tool-args-json", json.dumps(arguments))
    result = json.loads(done.stdout)
    assert not result.get("isError") and holds(result["structuredContent"]), result


for era in eras.split(","):
    check(f"schemas_are_portable_{era}", schemas_are_portable, era)
    for tool in tools.split(","):
        check(f"{tool}_{era}", call, tool, era)
if not failed:
    print("all passed")
sys.exit(failed)
