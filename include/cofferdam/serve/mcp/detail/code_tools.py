# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Makes the module by which code in a runner calls the tools of a toolbox. Its globals are not those of the code, which
may redefine the built-in functions."""


def offer(space, version, module_name, send, fetch):
    """Makes the module, or renews an existing one, and sets the global variable `tools` of the code.

    `space` has the globals of the code. `send` takes the calls as a JSON text, and returns the answers as another.
    `fetch` returns the list of all tools.
    """
    import sys
    module = sys.modules.get(module_name)
    if module is not None and not hasattr(module, "_offer"):
        raise ImportError("the name of the module for tools, %s, is that of another module" % module_name)
    if module is None or module._version != version:
        for name in [name for name in sys.modules if name == module_name or name.startswith(module_name + ".")]:
            del sys.modules[name]
        module = build(version, module_name, fetch)
    module._send = send
    if space.get("tools", module) is module or getattr(space["tools"], "_version", None):
        space["tools"] = module


def build(version, module_name, fetch):
    import base64
    import inspect
    import json
    import keyword
    import sys
    import types

    MOST = 3000000  # the most bytes of a call: the runner limits its messages
    kinds = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}
    empty = inspect.Parameter.empty

    class ToolError(RuntimeError):
        """The error that is raised if a tool fails, or if the host does not permit the call."""

    ToolError.__module__, ToolError.__qualname__ = module_name, "ToolError"
    of_modules = {"_send", "_version", "_offer", "ToolError", "search_tools", "describe_tool", "__path__", "__getattr__"}
    of_modules.update(dir(types.ModuleType), vars(types.ModuleType("any")))

    class Names:
        """Makes names for Python, each only once."""

        def __init__(self, reserved=()):
            self.reserved, self.taken, self.last = reserved, set(), {}

        def make(self, text):
            made = "".join(c if c.isalnum() and ord(c) < 128 else "_" for c in text) or "_"
            if made[0].isdigit():
                made = "_" + made
            if keyword.iskeyword(made) or made in self.reserved:
                made += "_"
            unique, number = made, self.last.get(made, 1)
            while unique in self.taken:
                number += 1
                unique = "%s_%d" % (made, number)
            self.last[made] = number
            self.taken.add(unique)
            return unique

    def plain(value):
        """Converts a value that JSON does not know."""
        for name in ("isoformat", "tolist", "item"):
            if hasattr(value, name):
                return getattr(value, name)()
        if isinstance(value, (set, frozenset)):
            return sorted(value, key=repr)
        if isinstance(value, (bytes, bytearray)):
            return base64.b64encode(value).decode()
        raise TypeError("a value of the type %s cannot be sent to a tool" % type(value).__qualname__)

    def opened(block):
        """Returns a block of an answer as a Python value."""
        if block.get("type") == "text":
            return str(block.get("text", ""))
        if isinstance(block.get("data"), str):
            try:
                return dict(block, data=base64.b64decode(block["data"]))
            except ValueError:
                pass  # the server has sent something else, which stays as it is
        return block

    def result_of(answer):
        if not answer["ok"]:
            raise ToolError(answer["error"])
        if "value" in answer:
            return answer["value"]
        blocks = [opened(block) for block in answer["blocks"] if isinstance(block, dict)]
        if all(isinstance(block, str) for block in blocks):
            return "\n".join(blocks)
        return blocks[0] if len(blocks) == 1 else blocks

    def send(calls):
        text = json.dumps(calls, default=plain, allow_nan=False)
        if len(text) > MOST:
            raise ValueError("the arguments of a call have more than %d bytes" % MOST)
        return json.loads(module._send(text))

    loops = []  # of each event loop: the loop, and the calls that wait there

    def waiting_in(loop):
        loops[:] = [entry for entry in loops if not entry[0].is_closed()]
        for known, calls in loops:
            if known is loop:
                return calls
        loops.append((loop, []))
        return loops[-1][1]

    def send_waiting(waiting):
        """Sends the calls of all coroutines that wait at this moment, so that the host serves them at the same time."""
        batch = waiting[:]
        del waiting[:]
        try:
            answers = send([call for call, _ in batch])
        except BaseException as failure:
            for _, future in batch:
                if not future.done():
                    future.set_exception(failure)
            return
        for (_, future), answer in zip(batch, answers):
            if not future.done():
                future.set_result(answer)

    def rules_of(value):
        return value if isinstance(value, dict) else {}

    def allows_none(rules):
        """Returns True if a schema allows null."""
        kind = rules.get("type")
        if kind is None and not any(word in rules for word in ("anyOf", "oneOf", "enum", "$ref")):
            return True
        choices = [each for word in ("anyOf", "oneOf") for each in rules.get(word) or [] if isinstance(each, dict)]
        return (kind == "null" or isinstance(kind, list) and "null" in kind or
                isinstance(rules.get("enum"), list) and None in rules["enum"] or
                any(each is not rules and allows_none(each) for each in choices))

    def make(about, path, name):
        schema = about["schema"]
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        required = [key for key in required if isinstance(key, str)] if isinstance(required, list) else []
        required = [key for key in dict.fromkeys(required) if key in properties]
        originals, parameters, names_of_parameters = {}, [], Names()
        for key in required + [key for key in properties if key not in required]:
            own = names_of_parameters.make(key)
            originals[own] = key
            rules = rules_of(properties[key])
            kind = rules.get("type")
            parameters.append(inspect.Parameter(
                own, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=empty if key in required else rules.get("default"),
                annotation=kinds.get(kind, empty) if isinstance(kind, str) else empty))
        if not properties and schema.get("additionalProperties", True) is not False:
            parameters.append(inspect.Parameter("arguments", inspect.Parameter.VAR_KEYWORD))
        signature = inspect.Signature(parameters)
        names = {key: own for own, key in originals.items()}

        def call_of(args, kwargs):
            try:
                bound = signature.bind(*args, **{names.get(key, key): value for key, value in kwargs.items()})
            except TypeError as failure:
                raise TypeError("%s%s: %s" % (path, signature, failure)) from None
            given = dict(bound.arguments)
            given.update(given.pop("arguments", {}) if "arguments" not in originals else {})
            arguments = {originals.get(own, own): value for own, value in given.items()}
            return [about["id"], {key: value for key, value in arguments.items() if value is not None or
                                  key in required or allows_none(rules_of(properties.get(key)))}]

        def tool(*args, **kwargs):
            return result_of(send([call_of(args, kwargs)])[0])

        async def later(*args, **kwargs):
            import asyncio
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            waiting = waiting_in(loop)
            waiting.append((call_of(args, kwargs), future))
            if len(waiting) == 1:
                loop.call_soon(send_waiting, waiting)
            return result_of(await future)

        lines = [about["description"].strip()]
        for own, key in originals.items():
            text = rules_of(properties[key]).get("description")
            if text:
                lines.append("%s: %s" % (own, text))
        if about.get("output"):
            lines.append("Returns: %s" % json.dumps(about["output"]))
        for function in (tool, later):
            function.__name__ = name
            function.__qualname__ = path
            function.__module__ = module_name
            function.__signature__ = signature
            function.__doc__ = "\n".join(lines)
        tool.later = later
        return tool

    everything = {}

    def search_tools(query="", limit=20):
        """Returns the tools whose names and descriptions have words of the query, the best ones first."""
        words = query.lower().split()
        found = []
        for path, function in everything.items():
            name, text = path.lower(), (function.__doc__ or "").lower()
            points = sum((2 if word in name else 0) + (1 if word in text else 0) for word in words)
            if points or not words:
                found.append((-points, len(found), path, function))
        return [{"name": path, "description": (function.__doc__ or "").split("\n")[0]}
                for _, _, path, function in sorted(found)[:limit]]

    def describe_tool(name):
        """Returns the signature and the description of a tool, such as "weather.get_forecast"."""
        if name not in everything:
            raise LookupError("there is no tool %r; search_tools() lists the tools" % name)
        return "%s%s\n%s" % (name, inspect.signature(everything[name]), everything[name].__doc__)

    def missing(where):
        def look_up(name):
            if name.startswith("__"):
                raise AttributeError(name)
            raise AttributeError("%s has no tool %r; %s.search_tools(%r) finds tools" % (where, name, module_name, name))
        return look_up

    module = types.ModuleType(module_name, "The tools that the host offers. search_tools() lists them.")
    module._version, module._offer = version, offer
    module.__path__ = []
    module.ToolError, module.search_tools, module.describe_tool = ToolError, search_tools, describe_tool
    module.__getattr__ = missing(module_name)
    sys.modules[module_name] = module
    servers, names_of_servers = {}, Names(of_modules)
    for about in json.loads(fetch()):
        if about["server"] not in servers:
            own = names_of_servers.make(about["server"])
            part = types.ModuleType("%s.%s" % (module_name, own), about["instructions"] or None)
            part.__getattr__ = missing(own)
            sys.modules[part.__name__] = part
            setattr(module, own, part)
            servers[about["server"]] = (own, part, Names(of_modules))
        own, part, names = servers[about["server"]]
        name = names.make(about["tool"])
        path = "%s.%s" % (own, name)
        everything[path] = make(about, path, name)
        setattr(part, name, everything[path])
    return module
