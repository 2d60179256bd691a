# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""code_mode.py FOLDER PROGRAM [ARGUMENT...]: tests code that calls tools of official MCP servers in FOLDER. It acts as an
MCP host that has PROGRAM as its only server, and sends code as a model would write it.

Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
"""
import json
import os
import subprocess
import sys
import tempfile

folder, *program = sys.argv[1:]
everything = os.path.join(folder, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
servers = {"mcpServers": {
    "time": {"command": os.path.join(folder, "servers/bin/mcp-server-time"), "tools": ["convert_time"]},
    "every": {"command": os.path.join(folder, "node"), "args": ["${EVERYTHING}"],
              "tools": ["get-sum", "get-structured-content", "get-env", "gzip-file-as-resource"]}}}
CODE = """
from cofferdam_tools import every, time, search_tools
import re
noon = time.convert_time(source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")
weather = every.get_structured_content(location="Chicago")
total = every.get_sum(a=int(re.findall("T(..):", str(noon))[-1]), b=weather["temperature"])
print(total, sorted(each["name"] for each in search_tools()))
print("KEY_OF_THE_HOST" in str(every.get_env()))
try:
    every.gzip_file_as_resource(name="x")
except RuntimeError as failure:
    print(failure)
"""


class Host:
    def __init__(self, path, errors):
        self.server = subprocess.Popen([*program, "--tools", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=errors, text=True,
                                       env=dict(os.environ, EVERYTHING=everything, KEY_OF_THE_HOST="secret"))
        self.last = 0

    def ask(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            reply = json.loads(self.server.stdout.readline())
            if reply.get("id") == self.last:
                return reply["result"]

    def send(self, message):
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()


failed = False


def check(name, is_good, why):
    global failed
    failed = failed or not is_good
    print("ok " + name if is_good else "not ok %s: %s" % (name, str(why).replace("\n", " | ")[:1500]))


def processes():
    """Returns the command lines of the servers that run."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read()
            with open("/proc/%s/environ" % pid, "rb") as file:
                is_ours = mark.encode() in file.read()
        except OSError:
            continue
        if is_ours and (b"server-everything" in words or b"mcp-server-time" in words):
            found.append(words)
    return found


mark = "COFFERDAM_CODE_MODE=%d" % os.getpid()
for each in servers["mcpServers"].values():
    each["env"] = {"COFFERDAM_CODE_MODE": str(os.getpid())}
with tempfile.TemporaryDirectory() as home:
    path = os.path.join(home, "servers.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(servers, file)
    errors = tempfile.TemporaryFile("w+", encoding="utf-8")
    host = Host(path, errors)
    host.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    host.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    tools = {each["name"]: each for each in host.ask("tools/list", {})["tools"]}
    words = tools["run_python"]["description"]
    check("the_description_lists_the_tools", "time.convert_time(" in words and "every.get_sum(" in words, words)
    check("the_servers_run", len(processes()) >= 2, processes())
    answer = host.ask("tools/call", {"name": "run_python", "arguments": {"code": CODE}})
    out = answer["structuredContent"]["stdout"].split("\n")
    check("code_calls_three_tools_of_two_servers", out[0] ==
          "The sum of 21 and 36 is 57. ['every.get_env', 'every.get_structured_content', 'every.get_sum', 'every.gzip_file_as_resource', "
          "'time.convert_time']", answer)
    check("a_server_gets_no_variable_that_the_file_does_not_name", out[1:2] == ["False"], answer)
    check("a_tool_that_may_change_something_is_refused", "does not permit" in (out + ["", "", ""])[2], answer)
    host.server.stdin.close()
    check("the_program_ends", host.server.wait(20) == 0, host.server.returncode)
    check("no_server_is_left", not processes(), processes())
    errors.seek(0)
    # On a busy machine, the servers need longer than the three seconds after which the program says so.
    others = [line for line in errors if "still waiting for the MCP servers of --tools" not in line]
    check("nothing_is_reported", not others, others)
if not failed:
    print("all passed")
