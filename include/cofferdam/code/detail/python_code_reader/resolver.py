# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The modules, and the objects in modules, for which expressions stand."""
import ast

from constants import UNKNOWN, Constants
from facts import TooMuch
from library import module, submodule
from nodes import RESOLVABLE

MOST_STEPS = 100000    # maximum steps while names that refer to each other are resolved
# Modules use these names for nothing but the modules themselves. So `x.os` is taken for the module os, even if the
# module x is unknown.
LEAKS = frozenset("os sys subprocess builtins importlib ctypes posix pty shutil socket threading multiprocessing "
                  "_os _sys _thread runpy pickle marshal".split())


class Resolver(Constants):
    """Resolves expressions. Reports what it finds on the way."""

    def resolve(self, node):
        """Returns ("m", module) if an expression stands for a module, ("o", dotted name) if it stands for an object in
        a module, else None."""
        return self.remember(node, self.resolve_inner, node) if type(node) in RESOLVABLE else None

    def remember(self, key, method, *arguments):
        """Returns the result of the method for a key. Calls the method once, and stores the result.

        Names may be bound in a circle. For a key that is being resolved already, the result is None. Other results in a
        circle may be incomplete, so they are stored only until the whole circle is resolved.
        """
        known = self.resolved.get(key, UNKNOWN)
        if known is not UNKNOWN:
            return known
        if key in self.partial or len(self.opened) > 120:
            got, first = self.partial.get(key, (None, -1))
            self.back = min(self.back, first)
            return got
        if key in self.opened:
            self.back = min(self.back, self.opened[key])
            return None
        place = self.opened[key] = len(self.opened)
        back, self.back = self.back, place
        try:
            got = method(*arguments)
        finally:
            del self.opened[key]
        if self.back >= place or place == 0:
            self.resolved[key] = got
            while self.circle and self.circle[-1][1] > place:
                self.partial.pop(self.circle.pop()[0], None)
            self.back = back
        else:
            self.partial[key] = (got, self.back)
            self.circle.append((key, place))
            self.back = min(self.back, back)
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise TooMuch()
        return got

    def resolve_inner(self, node):
        if isinstance(node, ast.Name):
            scope, bound = self.lookup(node.id)
            if scope is None:
                return None
            return self.remember((self.found, node.id), self.resolve_name, bound)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            if node.attr == "__self__" and (base or (isinstance(node.value, ast.Name) and self.is_builtin(node.value))):
                self.add("reexport", node, "builtins", "__self__")
                return ("m", "builtins")
            return self.attribute(node, base, node.attr)
        if isinstance(node, ast.NamedExpr):
            return self.resolve(node.value)
        if isinstance(node, ast.Subscript):
            key = self.fold(self.index_of(node))
            if isinstance(key, str):
                holder = node.value
                if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Name) and self.is_builtin(holder.func):
                    if holder.func.id == "vars" and len(holder.args) == 1:
                        return self.attribute(node, self.resolve(holder.args[0]), key)
                    if holder.func.id in ("globals", "locals", "vars"):
                        return self.resolve(ast.Name(id=key, ctx=ast.Load(), lineno=node.lineno))
                if isinstance(holder, ast.Attribute) and holder.attr == "__dict__":
                    return self.attribute(node, self.resolve(holder.value), key)
                if self.resolve(holder) == ("o", "sys.modules"):
                    return ("m", key)
            return None
        if isinstance(node, ast.Call):
            return self.resolve_call(node)
        return None

    def resolve_name(self, bound):
        """Resolves the bindings of a name, in the scopes where it is bound, not where it is used. Prefers a module."""
        best, here = None, self.scopes
        self.scopes = here[:here.index(self.found) + 1]
        try:
            for what in bound:
                got = self.resolve_bound(what)
                if got and got[0] == "m":
                    return got
                best = best or got
            return best
        finally:
            self.scopes = here

    def resolve_bound(self, what):
        if what[0] in ("m", "o"):
            return what
        if what[0] == "e":
            return self.resolve(what[1])
        if what[0] == "f":
            return self.attribute(what[1], ("m", what[1].module), what[2])
        if what[0] == "r":
            self.add("reexport", what[1], what[2], what[3])
            return ("m", what[2])
        return None

    def resolve_call(self, node):
        if isinstance(node.func, ast.Name) and self.is_builtin(node.func):
            if node.func.id == "getattr" and len(node.args) >= 2:
                key = self.fold(node.args[1])
                if isinstance(key, str):
                    return self.resolve(ast.Attribute(value=node.args[0], attr=key, ctx=ast.Load(), lineno=node.lineno))
            if node.func.id == "__import__" and node.args:
                key = self.fold(node.args[0])
                if isinstance(key, str):
                    return ("m", key.partition(".")[0])
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("__getattribute__", "__getattr__") and node.args:
            key = self.fold(node.args[0])
            if isinstance(key, str) and self.resolve(node.func.value):
                return self.resolve(ast.Attribute(value=node.func.value, attr=key, ctx=ast.Load(), lineno=node.lineno))
        called = self.resolve(node.func)
        if called and called[1] in ("importlib.import_module", "importlib.__import__") and node.args:
            key = self.fold(node.args[0])
            if isinstance(key, str):
                return ("m", key)
        return None

    def attribute(self, node, base, name):
        """Resolves the attribute `name` of a resolved expression. Reports private names, and modules that another
        module has imported."""
        if base is None:
            return None
        kind, dotted = base
        whole = dotted + "." + name
        top = dotted.partition(".")[0]
        if kind == "m":
            if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
                self.add("private", node, whole)
            about = module(dotted)
            target = about.imports.get(name)
            if target and name not in (about.public or ()):
                if target.partition(".")[0] != top:
                    self.add("reexport", node, target, whole)
                return ("m", target)
            if whole in self.imported or (about.folders and submodule(dotted, name)):
                return ("m", whole)
            if about.known:
                return ("o", whole)
        if name in LEAKS and not module(top).known:
            self.add("reexport", node, name.lstrip("_") if name != "_thread" else name, whole)
            return ("m", name)
        return ("o", whole)
