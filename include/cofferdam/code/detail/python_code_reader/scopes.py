# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The names that modules, classes and functions bind."""
import ast
import builtins
import copy

from facts import Facts
from library import module
from nodes import FUNCTIONS, RESOLVABLE, own_nodes, targets_in

BUILTINS = frozenset(dir(builtins)) | frozenset("__builtins__ help exit quit copyright credits license".split())


class Scope:
    """The names that a module, class or function binds.

    `names` maps each name to its bindings. A binding is a tuple that begins with its kind: "m" is a module, "o" a
    dotted name, "e" an expression, "i" the variable of a loop over an expression, "t" one of several variables of a
    loop, "a" an augmented assignment, "f" an import from a module, "r" a module from `import *`, "d" a function, "c" a
    class, "?" an unknown object.
    """

    def __init__(self, kind):
        self.kind = kind      # "module", "class" or "function"
        self.names = {}       # name -> its bindings
        self.outer = set()    # the names that are declared `global` or `nonlocal` in it
        self.inline = False   # true for a comprehension
        self.classes = set()  # the names that have a binding to a class

    def bind(self, name, what):
        self.names.setdefault(name, []).append(what)
        if what[0] == "c":
            self.classes.add(name)


class Bindings(Facts):
    """Collects the names that scopes bind, and looks names up in them."""

    def collect(self, scope, body):
        for node in own_nodes(body):
            if isinstance(node, ast.Name):
                if not isinstance(node.ctx, ast.Load):
                    scope.names.setdefault(node.id, [])
                    if isinstance(node.ctx, ast.Del):
                        self.deleted.add(node.id)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        scope.bind(target.id, ("e", node.value))
                    else:
                        for each in targets_in(target):
                            scope.bind(each.id, ("?", None))
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                if isinstance(node.target, ast.Name) and node.value is not None:
                    scope.bind(node.target.id, ("e", node.value))
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                for each in targets_in(node.target):
                    scope.bind(each.id, ("i" if each is node.target else "t", node.iter))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                scope.bind(node.target.id, ("a", node))
            elif isinstance(node, ast.Import):
                for each in node.names:
                    parts = each.name.split(".")
                    self.imported.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                    if each.asname:
                        scope.bind(each.asname, ("m", each.name))
                    else:
                        scope.bind(parts[0], ("m", parts[0]))
            elif isinstance(node, ast.ImportFrom):
                self.collect_from(scope, node)
            elif isinstance(node, FUNCTIONS[:2]):
                scope.bind(node.name, ("d", node))
            elif isinstance(node, ast.ClassDef):
                scope.bind(node.name, ("c", node))
            elif isinstance(node, ast.ExceptHandler):
                if node.name:
                    scope.bind(node.name, ("?", None))
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                scope.outer.update(node.names)
            elif isinstance(getattr(node, "name", None), str):  # `as` and `*` in patterns
                scope.bind(node.name, ("?", None))
            elif isinstance(getattr(node, "rest", None), str):
                scope.bind(node.rest, ("?", None))

    def collect_global(self, scope, tree):
        """Fills `late` with the names that functions and classes bind by `global`, and `shared` with the names that
        more than one body binds."""
        nodes = list(ast.walk(tree)) if self.has_outer else []
        for each in nodes:
            if isinstance(each, ast.Nonlocal):
                self.shared.update(each.names)
        if not any(isinstance(each, ast.Global) for each in nodes):
            return
        for each in nodes:
            if isinstance(each, FUNCTIONS[:2] + (ast.ClassDef,)):
                names = [name for n in own_nodes(each.body) if isinstance(n, ast.Global) for name in n.names]
                if names:
                    inner = Scope("function")
                    self.collect(inner, each.body)
                    for name in names:
                        bound = inner.names.get(name, ())
                        if bound and (name in scope.names or name in self.late):
                            self.shared.add(name)
                        # copies, because the originals are resolved with the names of the function
                        self.late.setdefault(name, []).extend(
                            ("e", copy.deepcopy(what[1])) if what[0] == "e" and type(what[1]) in RESOLVABLE else
                            what if what[0] in "mf" else ("?", None) for what in bound)

    def collect_from(self, scope, node):
        if node.level or not node.module:
            for each in node.names:
                scope.bind(each.asname or each.name, ("?", None))
            return
        self.imported.add(node.module)
        for each in node.names:
            if each.name != "*":
                scope.bind(each.asname or each.name, ("f", node, each.name))
            else:
                about = module(node.module)
                if about.public is None:
                    for name, target in about.imports.items():
                        if name[0] != "_":
                            scope.bind(name, ("r", node, target, node.module + "." + name))

    def lookup(self, name):
        """Returns the scope of a name and its bindings, or (None, None) for a builtin or unknown name. Sets `found` to
        the scope whose body binds the name."""
        inner = True
        for scope in reversed(self.scopes):
            if scope.kind == "class" and not inner:
                continue
            if name in scope.names and name not in scope.outer:
                self.found = scope
                return scope, scope.names[name]
            inner = False
        for scope in self.scopes:  # the name is declared `global` or `nonlocal`
            if name in scope.names:
                self.found = scope
                return self.scopes[0], scope.names[name]
        if self.late.get(name):
            self.found = self.scopes[0]
            return self.scopes[0], self.late[name]
        return None, None

    def is_builtin(self, node):
        """Returns True if a name may stand for the builtin of that name."""
        if node.id not in BUILTINS:
            return False
        scope, _ = self.lookup(node.id)
        if scope is None or node.id in self.deleted:
            return True
        if scope.kind == "function":
            return False
        if scope.kind == "module":
            return not 0 < self.straight.get(node.id, 0) <= node.lineno
        return True
