# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks, and a language model with fixed replies, for the scripts that run frameworks against the gateway."""
import http.server
import json
import os
import sys
import threading
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
failed = False

# The three variables that `cofferdam serve` prints are the only ones that lead a framework to the gateway.
for name in ("E2B_API_URL", "E2B_SANDBOX_URL", "E2B_API_KEY"):
    if not os.environ.get(name):
        sys.exit(f"not ok setup: {name} is not set; start `cofferdam serve`, and paste the line that it prints")


def expect(name, actual, expected):
    """Prints "ok NAME" if the two values are equal, and "not ok NAME: WHY" otherwise."""
    same(name, actual == expected, f"got {actual!r}, expected {expected!r}")


def contains(name, text, *parts):
    """Prints "ok NAME" if the text contains all parts."""
    missing = [part for part in parts if part not in text]
    same(name, not missing, f"{text!r} does not contain {missing!r}")


def same(name, holds, why):
    global failed
    if holds:
        print("ok " + name, flush=True)
    else:
        failed = True
        print(f"not ok {name}: {' | '.join(str(why).splitlines())[:1500]}", flush=True)


def run(name, body, *args, **options):
    """Calls a part of a script. An exception fails the part, and the next parts still run."""
    try:
        body(*args, **options)
    except Exception as why:
        report(name, why)


async def run_async(name, body, *args, **options):
    """Awaits a part of a script, as `run` calls one."""
    try:
        await body(*args, **options)
    except Exception as why:
        report(name, why)


def report(name, why):
    frames = traceback.extract_tb(why.__traceback__)
    own = [frame for frame in frames[:-3] if os.path.dirname(os.path.abspath(frame.filename)) == HERE]
    places = [f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in own[1:] + frames[-3:]]
    text = ""
    while why is not None and len(text) < 1000:
        text += f"{type(why).__name__}: {why}; because of "
        why = why.__cause__
    same(name + " ends without an exception", False, f"{text.removesuffix('; because of ')} | at {' > '.join(places)}")


def finish():
    """Prints the last line of the script, and ends it."""
    if not failed:
        print("all passed", flush=True)
    sys.exit(1 if failed else 0)


class ScriptedModel:
    """A server on loopback that speaks OpenAI's chat completions and responses, and gives fixed replies in turn.

    A reply is a text, or a list of calls of tools: (NAME, ARGUMENTS). Arguments that are a text belong to a tool with
    free text as its input, which only responses have. A function is called with the results of the tools, and returns
    the reply. After the last reply, requests fail with 400. `requests` has the body of each request.

    `other_replies` has texts for requests that demand a document of a certain name, and that may come at any time.
    These requests are not in `requests`.
    """

    def __init__(self, replies, other_replies=None):
        self.requests = []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                demanded = (body.get("response_format") or {}).get("json_schema", {}).get("name")
                if demanded in (other_replies or {}):
                    return self.answer(200, completion(body, 0, other_replies[demanded]))
                turn = len(model.requests)
                model.requests.append(body)
                if turn >= len(replies):
                    return self.answer(400, {"error": {"message": "the scripted model has no reply left"}})
                if body.get("stream"):
                    return self.answer(400, {"error": {"message": "the scripted model does not stream"}})
                make = response if self.path.endswith("/responses") else completion
                reply = replies[turn](model.results()) if callable(replies[turn]) else replies[turn]
                self.answer(200, make(body, turn, reply))

            def answer(self, status, document):
                content = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def results(self):
        """Returns what the tools answered, as the texts that the last request contains."""
        body = self.requests[-1]
        if "input" in body:
            return [text_of(item["output"]) for item in body["input"] if item.get("type", "").endswith("call_output")]
        return [text_of(message["content"]) for message in body["messages"] if message["role"] == "tool"]


def completion(body, turn, reply):
    """Returns the document of a chat completion."""
    message = {"role": "assistant", "content": reply if isinstance(reply, str) else None}
    if not isinstance(reply, str):
        message["tool_calls"] = [
            {"id": f"call_{turn}_{number}", "type": "function",
             "function": {"name": name, "arguments": json.dumps(arguments)}}
            for number, (name, arguments) in enumerate(reply)]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(reply, str) else "tool_calls"}
    return {"id": f"completion_{turn}", "object": "chat.completion", "created": 1, "model": body.get("model"),
            "choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}


def response(body, turn, reply):
    """Returns the document of a response."""
    if isinstance(reply, str):
        part = {"type": "output_text", "text": reply, "annotations": []}
        output = [{"type": "message", "id": f"message_{turn}", "role": "assistant", "status": "completed",
                   "content": [part]}]
    else:
        output = []
        for number, (name, arguments) in enumerate(reply):
            item = {"id": f"item_{turn}_{number}", "call_id": f"call_{turn}_{number}", "name": name,
                    "status": "completed"}
            if isinstance(arguments, str):
                output.append({**item, "type": "custom_tool_call", "input": arguments})
            else:
                output.append({**item, "type": "function_call", "arguments": json.dumps(arguments)})
    return {"id": f"response_{turn}", "object": "response", "created_at": 1, "model": body.get("model"),
            "output": output, "status": "completed", "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12,
                      "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}


def text_of(content):
    """Returns the text of a message or output, which is a text or a list of parts."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
