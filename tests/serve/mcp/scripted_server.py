# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""scripted_server.py BEHAVIOUR...: an MCP server over standard input and output that misbehaves as a test wants it.

It keeps all messages that it has received, and its tool `received` returns them.
"""
import json
import os
import signal
import sys
import time

behaviours = set(sys.argv[1:])
received = []


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(number, result):
    send({"jsonrpc": "2.0", "id": number, "result": result})


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def ask(number, method, params):
    """Sends a request to the client, and returns the response."""
    send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    while True:
        message = read()
        if message.get("id") == number and "method" not in message:
            return message


def read():
    line = sys.stdin.readline()
    if not line:
        while "stubborn" in behaviours:
            time.sleep(1)
        sys.exit(0)
    message = json.loads(line)
    received.append(message)
    return message


def call(number, name, arguments, meta):
    if name == "echo":
        answer(number, dict(text(arguments["words"]), structuredContent={"words": arguments["words"]}))
    elif name == "fail":
        answer(number, dict(text("it did not work"), isError=True))
    elif name == "received":
        answer(number, dict(text(""), structuredContent={"messages": received}))
    elif name == "steps":
        for step in (1, 2, 3):
            send({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": meta["progressToken"], "progress": step, "total": 3, "message": "step"}})
        answer(number, text("done"))
    elif name == "log":
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "a word"}})
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        answer(number, text("logged"))
    elif name == "ask":
        reply = ask("question", arguments["method"], arguments.get("params", {}))
        answer(number, dict(text(""), structuredContent={"reply": reply}))
    elif name == "leak":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -1, "message": "bad " + os.environ.get("KEY", ""),
                                                        "data": {"key": os.environ.get("KEY", "")}}})
    elif name == "leak_at":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -1, "message": "x" * arguments["at"] + os.environ.get("KEY", "")}})
    elif name == "leak_input":
        answer(number, {"resultType": "input_required", "inputRequests": {"a": {"method": os.environ.get("KEY", "")}}})
    elif name == "deaf":
        time.sleep(3600)
    elif name == "many":
        answer(number, dict(text(""), structuredContent={str(each): 0 for each in range(1001)}))
    elif name == "die":
        sys.stderr.write("the disk is full%s\n" % (os.environ.get("KEY", "") + "Z" * arguments.get("after", 0)))
        os._exit(7)
    elif name == "never":
        pass
    elif name == "silent":
        os.close(1)
        os.close(2)
    elif name == "garbage":
        sys.stdout.write("Loading...\n\n{]\n[1]\n")
        answer(number, text("after it"))
    elif name == "long":
        answer(number, text("x" * arguments["size"]))
    elif name == "no_object":
        answer(number, 5)
    elif name == "other_id":
        answer("other", text("wrong"))
        answer(number, text("right"))
    else:
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": "Unknown tool: " + name, "data": [1]}})


if "stubborn" in behaviours:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    message = read()
    method, number, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        if "modern" in behaviours:
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32022, "message": "Unsupported protocol version"}})
            continue
        if "mute" in behaviours:
            continue
        version = "1999-01-01" if "old" in behaviours else "2025-11-25"
        answer(number, {"protocolVersion": os.environ["KEY"] if "leak_version" in behaviours else version,
                        "capabilities": {} if "bare" in behaviours else {"tools": {}, "resources": {}, "prompts": {}},
                        "serverInfo": {"name": os.environ["KEY"] if "leak_name" in behaviours else "scripted",
                                       "version": "1"}, "instructions": "Be brief."})
    elif method == "server/discover":
        answer(number, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"})
    elif method == "tools/list":
        at = int(params.get("cursor", "0"))
        tools = [{"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
                 {"name": "never", "inputSchema": {"type": "object"}}, {"no": "name"},
                 {"name": "fail", "inputSchema": {"type": "object"}}]
        if "mortal" in behaviours:
            tools.append({"name": "die", "inputSchema": {"type": "object"}})
        if "endless" in behaviours:
            answer(number, {"tools": [tools[0]], "nextCursor": "0"})
        elif "empty" in behaviours:
            answer(number, {"tools": [], "nextCursor": str(at + 1)})
        elif "odd" in behaviours:
            odd = [("__class__", {}), ("_send", {}), ("", {}), ("properties", {"properties": ["a"]}), ("required", {"required": 5}),
                   ("objects", {"required": [{}]}), ("twice", {"required": ["a", "a"], "properties": {"a": {}, "b": 1}}),
                   ("schema", None), ("echo", {})]
            answer(number, {"tools": [{"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}}
                                      for name, schema in odd]})
        elif at + 1 < len(tools):
            answer(number, {"tools": [tools[at]], "nextCursor": str(at + 1)})
        else:
            answer(number, {"tools": [tools[at]]})
    elif method == "resources/list":
        answer(number, {"resources": [{"uri": "test://a", "name": "a", "mimeType": "text/plain"}]})
    elif method == "resources/read":
        answer(number, {"contents": [{"uri": params["uri"], "text": "content"}]})
    elif method == "prompts/list":
        answer(number, {"prompts": [{"name": "p", "arguments": [{"name": "x"}]}]})
    elif method == "prompts/get":
        answer(number, {"messages": [{"role": "user", "content": {"type": "text", "text": params["arguments"]["x"]}}]})
    elif method == "tools/call":
        call(number, params["name"], params.get("arguments", {}), params.get("_meta", {}))
    elif number is not None and method is not None:
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "Method not found"}})
