# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""An OpenAI-compatible server for tests."""
import http.server
import json


class Model(http.server.BaseHTTPRequestHandler):
    """A model that counts the lines of a file, and hands the number over."""

    CALLS = [("code_exec", {"cmd": "wc -l < data.csv > count.txt; cat count.txt"}),
             ("finish", {"reason": "The file has 3 lines.", "paths": ["count.txt"]})]

    def log_message(self, *words):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        name, arguments = self.CALLS[min(turn, 1)]
        call = {"index": 0, "id": f"call_{turn}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        common = {"id": "c", "created": 1, "model": "m", "object": "chat.completion"}
        usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        if body.get("stream"):
            chunks = [{"index": 0, "delta": message, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
            text = "".join("data: " + json.dumps(dict(common, object="chat.completion.chunk", choices=[chunk])) + "\n\n" for chunk in chunks)
            text += "data: " + json.dumps(dict(common, object="chat.completion.chunk", choices=[], usage=usage)) + "\n\ndata: [DONE]\n\n"
        else:
            text = json.dumps(dict(common, choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}], usage=usage))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
