# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""A small MCP server over standard input and output, with one tool."""
import json
import sys

HEIGHTS = {"Brest": 6.5, "Oslo": 0.2}
TOOL = {"name": "tide-height", "description": "Returns the height of the tide at a harbour, in metres.",
        "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
        "annotations": {"readOnlyHint": True}}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {})
    result = {}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "tide", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        height = HEIGHTS.get(params["arguments"].get("place"))
        text = "no such harbour" if height is None else str(height)
        result = {"content": [{"type": "text", "text": text}], "isError": height is None}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
