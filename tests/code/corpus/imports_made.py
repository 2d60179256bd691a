#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs scripts, and reports the modules that they import although these were not predicted.

Standard input is a JSON array of {"name", "code", "predicted": [module, ...]}. Each script runs in a child process and
in a new folder. Two kinds of imports are recorded. The first are the imports of the script itself: each call of
__import__ with its globals, even for a module that is loaded already. Each must be in "predicted" under the same name.
The second are all imports of the interpreter, from its audit events. Each must be a predicted module, or a module that
the import statements in the sources of predicted modules reach.

Standard output is a JSON array of {"name", "unpredicted": [...], "failed": text, "imported": number}. "failed" is the
exception that ended the script, and "imported" counts the imports of the script itself.
"""
import ast
import builtins
import json
import os
import sys
import tempfile
from importlib.machinery import PathFinder

scanned = {}


def source_imports(name):
    """Returns a module, its parents, and the names in all import statements of its source."""
    if name in scanned:
        return scanned[name]
    found = scanned[name] = set()
    folders, spec, done = None, None, ""
    for part in name.split("."):
        done = done + "." + part if done else part
        spec = PathFinder.find_spec(done, folders)
        if spec is None:
            return found
        found.add(done)
        folders = list(spec.submodule_search_locations or []) or None
    if spec.origin and spec.origin.endswith(".py"):
        package = name if folders else name.rpartition(".")[0]
        with open(spec.origin, "rb") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found.update(each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    parts = package.split(".")
                    base = ".".join(parts[:len(parts) - node.level + 1] + ([node.module] if node.module else []))
                found.add(base)
                found.update(base + "." + each.name for each in node.names)
    return found


def closure(names):
    """Returns the modules and all that their sources may import, directly or through other modules."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            if "." in name:
                todo.append(name.rpartition(".")[0])
            todo.extend(source_imports(name))
    return seen


def run(one, out):
    """Runs one script, and writes its result as JSON to the descriptor `out`."""
    direct, all_names, recording = [], [], [False]

    def heard(event, arguments):
        if event == "import" and recording[0]:
            all_names.append(arguments[0])

    sys.addaudithook(heard)
    real = builtins.__import__

    def spied(name, globals=None, locals=None, fromlist=(), level=0):
        if recording[0] and globals is space:  # imports by C code have the same globals, but a list
            (all_names if isinstance(fromlist, list) else direct).append(name)
        return real(name, globals, locals, fromlist, level)

    builtins.__import__ = spied
    failed = ""
    space = {"__name__": "__main__", "__builtins__": builtins}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.stdout = sys.stderr = open(os.devnull, "w")
        sys.argv = ["script"]
        recording[0] = True
        try:
            exec(compile(one["code"], "script", "exec"), space)
        except BaseException as problem:
            failed = repr(problem)
        recording[0] = False
        os.chdir("/")
    known = closure(one["predicted"])
    wrong = [name for name in direct if name not in one["predicted"]]
    wrong += [name for name in all_names if name not in known and not name.startswith("encodings")]
    os.write(out, json.dumps({"name": one["name"], "unpredicted": sorted(set(wrong)), "failed": failed,
                              "imported": len(direct)}).encode())


def main():
    results = []
    for one in json.load(sys.stdin):
        for name in one["predicted"]:
            closure([name])  # reads the sources before the fork, once for all children
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                run(one, write_end)
            finally:
                os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        results.append(json.loads(said) if said else {"name": one["name"], "unpredicted": [], "failed": "died",
                                                      "imported": 0})
    print(json.dumps(results))


if __name__ == "__main__":
    main()
