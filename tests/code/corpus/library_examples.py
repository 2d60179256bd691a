#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Prints the examples in this interpreter's standard library, as JSON.

The output is {"version", "left_out": number, "examples": [{"name", "code", "imports"}, ...]}. The examples are read
from the installed library; this file contains none of them. An example is the code of a docstring with `>>>`, joined as
doctest would run it, or a program of turtledemo if that is installed. "imports" lists the modules in the example's
import statements. "left_out" counts the examples in LEFT_OUT.
"""
import ast
import doctest
import json
import os
import sys

# Examples that guards must refuse, and the reason.
LEFT_OUT = {
    "subprocess.py:getoutput": "runs commands",
    "subprocess.py:getstatusoutput": "runs commands",
    "doctest.py:DebugRunner": "takes __builtins__ out of a namespace",
    "turtledemo/__main__.py": "starts an editor, and imports what it is told to",
    "turtledemo/clock.py": "says that it is written in cp1252",
}
# These examples use private names of their modules, which other programs need not use.
LEFT_OUT.update(dict.fromkeys((
    "doctest.py:set_unittest_reportflags", "pydoc.py:_start_server", "enum.py:_simple_enum",
    "enum.py:_test_simple_enum", "distutils/command/sdist.py:_cs_path_exists",
    "importlib/metadata/__init__.py:Sectioned", "importlib/metadata/__init__.py:_name_from_stem",
    "zipfile/_path/__init__.py:CompleteDirs"), "a private name of a module"))
# Folders that do not belong to the library, or that contain tests.
NOT_OURS = ("site-packages", "dist-packages", "test", "tests", "__pycache__", "idle_test")


def imports_of(tree):
    """Returns the modules in the import statements of an example."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module)
    return sorted(names)


def examples_of(name, text):
    """Yields the name and the code of each example in the source of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            said = ast.get_docstring(node)
            if said and ">>>" in said:
                try:
                    code = "".join(each.source for each in doctest.DocTestParser().get_examples(said))
                except ValueError:
                    continue
                yield name + ":" + getattr(node, "name", "module"), code
    if name.startswith("turtledemo/"):
        yield name, text


def main():
    library = os.path.dirname(os.__file__)
    found, seen, left_out = [], set(), 0
    for folder, folders, files in os.walk(library):
        folders[:] = sorted(each for each in folders if each not in NOT_OURS)
        for file in sorted(files):
            path = os.path.join(folder, file)
            if not file.endswith(".py"):
                continue
            try:
                with open(path, encoding="utf-8") as source:
                    all_of_it = list(examples_of(os.path.relpath(path, library), source.read()))
            except (OSError, SyntaxError, ValueError):
                continue
            for name, code in all_of_it:
                try:
                    tree = ast.parse(code)
                except SyntaxError:  # the example shows code with a mistake
                    continue
                if len(code) <= 40 or code in seen:
                    continue
                seen.add(code)
                if name in LEFT_OUT:
                    left_out += 1
                else:
                    found.append({"name": name, "code": code, "imports": imports_of(tree)})
    print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "left_out": left_out, "examples": found}))


if __name__ == "__main__":
    main()
