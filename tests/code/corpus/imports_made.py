#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs scripts and says which modules each imports that nobody has predicted.

Standard input: a JSON array of {"name", "code", "predicted": [module, ...]}. Each runs in a child of its own, in a folder of
its own. Two things are seen there: what the script itself imports (every __import__ from its own globals, cached or not),
which must be among the predicted ones word for word; and what the interpreter imports at all (its audit events), which
must be in the closure of the predicted ones, as far as import statements anywhere in their sources tell. Standard output:
a JSON array of {"name", "unpredicted": [...], "failed": text, "imported": number}.
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
    """What the import statements in a module's source name, and all its parents."""
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
    direct, all_names, recording = [], [], [False]

    def heard(event, arguments):
        if event == "import" and recording[0]:
            all_names.append(arguments[0])

    sys.addaudithook(heard)
    real = builtins.__import__

    def spied(name, globals=None, locals=None, fromlist=(), level=0):
        if recording[0] and globals is space:  # C code imports in its caller's name, and gives a list
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
            closure([name])  # once, for all children
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
