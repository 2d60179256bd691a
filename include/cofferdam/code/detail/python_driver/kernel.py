# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs in a kernel of E2B's code interpreter, after values.py. Sets variables before a cell, and encodes its value
after it. The host calls these functions in cells of their own."""
import base64
import json
from values import MOST_VALUE, Encoder, remember_source, set_classes, set_variables, text_of

PARTS = []  # the text of a request, which comes in parts, because the service bounds the size of a cell


def add(names, part):
    PARTS.append(base64.b64decode(part))


def prepare(names):
    """Sets the variables of the request in the globals `names`, and executes its prelude."""
    request = json.loads(b"".join(PARTS))
    PARTS.clear()
    set_classes(request.get("classes", ()))
    set_variables(names, request.get("variables", {}))
    if "prelude" in request:
        remember_source("<prelude>", request["prelude"])
        exec(compile(request["prelude"], "<prelude>", "exec"), names)


def last_value(names):
    """Returns the value of the last cell as JSON. IPython keeps it in `Out`, also if the code has bound `_`."""
    outputs = names.get("Out")
    value = outputs[max(outputs)] if type(outputs) is dict and outputs else names.get("_")
    encoder = Encoder(MOST_VALUE)
    return json.dumps({"value": encoder.encode(value), "value_exact": encoder.exact, "text": text_of(value, 65536)})
