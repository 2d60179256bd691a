# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Finds the modules that modules of this interpreter's library import, without importing them."""
import ast
import sys
from importlib.machinery import PathFinder

from nodes import FUNCTIONS


class Module:
    """The imports of a module of this interpreter's library, according to its source."""

    def __init__(self, name):
        self.imports = {}     # name in it -> the module for which the name stands
        self.public = None    # the names in its __all__, or None if it has no __all__
        self.known = False    # true if the module exists
        self.folders = None   # the folders of its submodules if it is a package, else None


def find(name):
    """Finds a module without importing its parents. Returns its spec and, for a package, the folders of its submodules.
    Returns ("builtin", None) for a builtin module, and (None, None) if there is none."""
    folders, spec, done = None, None, ""
    for part in name.split("."):
        done = done + "." + part if done else part
        if folders is None and done in sys.builtin_module_names:
            return "builtin", None
        try:
            spec = PathFinder.find_spec(done, folders)
        except Exception:
            return None, None
        if spec is None:
            return None, None
        folders = list(spec.submodule_search_locations or [])
    return spec, (folders or None)


modules = {}


def module(name):
    """Returns the imports of a module. Reads its source at the first call."""
    found = modules.get(name)
    if found is None:
        found = modules[name] = Module(name)
        if len(modules) > 2000:
            modules.clear()
        spec, found.folders = find(name)
        found.known = spec is not None
        origin = getattr(spec, "origin", None)
        if origin and origin.endswith(".py"):
            try:
                tree = ast.parse(spec.loader.get_data(origin))  # not open(): Pyodide's library is in an archive
            except (OSError, SyntaxError, ValueError):
                return found
            read_module(found, name, tree)
    return found


def read_module(found, name, tree):
    """Stores the imports at the top level of a module in `found`. Assumes that all branches are executed."""
    package = name if found.folders else name.rpartition(".")[0]
    todo = list(reversed(tree.body))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.asname:
                    found.imports[each.asname] = each.name
                else:
                    top = each.name.partition(".")[0]
                    found.imports[top] = top
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[:len(parts) - node.level + 1]
                base = ".".join(parts + ([node.module] if node.module else []))
            for each in node.names:
                if each.name == "*":
                    other = module(base)
                    if other.public is None:
                        found.imports.update((k, v) for k, v in other.imports.items() if k[0] != "_")
                    continue
                inside = submodule(base, each.name)
                if inside:
                    found.imports[each.asname or each.name] = inside
                else:
                    found.imports.pop(each.asname or each.name, None)
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    if target.id == "__all__":
                        texts = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
                        found.public = (found.public or frozenset()) | frozenset(t for t in texts if isinstance(t, str))
                    elif isinstance(node.value, ast.Name) and node.value.id in found.imports:
                        found.imports[target.id] = found.imports[node.value.id]
                    else:
                        found.imports.pop(target.id, None)
        elif isinstance(node, FUNCTIONS[:2] + (ast.ClassDef,)):
            found.imports.pop(node.name, None)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.imports.pop(target.id, None)
        else:
            for field in ("finalbody", "orelse", "handlers", "body"):
                part = getattr(node, field, None)
                if isinstance(part, list):
                    todo.extend(reversed(part))


def submodule(base, name):
    """Returns the module for which `base.name` stands, or None if it stands for no module."""
    about = module(base)
    if name in about.imports and name not in (about.public or ()):
        return about.imports[name]
    if about.folders and PathFinder.find_spec(base + "." + name, about.folders):
        return base + "." + name
    return about.imports.get(name)
