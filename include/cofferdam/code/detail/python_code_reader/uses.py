# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Reports the uses of names, attributes and items."""
import ast

from resolver import LEAKS, Resolver
from scopes import BUILTINS

# Attributes of a module that give access to all its other attributes.
INSIDES = frozenset("__dict__ __getattribute__ __getattr__".split())
# Modules that contain no other modules, so that all their attributes are harmless.
LEAVES = frozenset("math cmath time itertools".split())
# Builtins that the module `site` adds. PRINTERS read files whose names are in their attributes.
PRINTERS = frozenset("license credits copyright".split())
OF_SITE = PRINTERS | frozenset("exit quit help".split())
# Builtins that return a dictionary of names, called a namespace below.
NAMESPACES = frozenset("globals locals vars".split())


class Uses(Resolver):
    """The part of Reader that visits names, attributes, subscripts and comparisons."""

    def visit_Name(self, node, is_value=True):
        if not isinstance(node.ctx, ast.Load):
            return
        if is_value and node.id in ("help", "globals", "locals") and self.is_builtin(node):
            if node.id == "help":
                self.add("dynamic", node, "", "help")
            else:
                self.add("getattr", node, node.id)
        if is_value and node.id in ("getattr", "vars") and self.is_builtin(node):
            self.add("getattr", node, node.id, "value")
        if self.is_builtin(node) or (node.id.startswith("__") and node.id.endswith("__")):
            self.add("name", node, node.id)
        got = self.resolve(node)
        if got:
            self.add("value" if got[0] == "m" else "use", node, got[1])

    def visit_Attribute(self, node):
        self.read_attribute(node, isinstance(node.ctx, ast.Load))

    def read_attribute(self, node, is_value):
        got = self.resolve(node)
        if got is None:
            self.inner_attribute(node, node.value, node.attr)
            if node.attr == "__code__" and not isinstance(node.ctx, ast.Load):
                self.add("getattr", node, "__code__")
            own = (isinstance(node.value, ast.Name) and self.lookup(node.value.id)[0] is not None and
                   node.value.id in self.found.classes)
            self.add("attribute", node, node.attr, "own" if own else "")
            if is_value and node.attr == "__getattribute__":
                self.add("getattr", node, node.attr, "value")
            if node.attr in LEAKS or (node.attr.startswith("_") and not node.attr.endswith("__")):
                self.attribute_of_stranger(node)
            return self.visit(node.value)
        self.add("value" if got[0] == "m" and is_value else "use", node, got[1])
        if node.attr == "__code__" and not isinstance(node.ctx, ast.Load):
            self.add("getattr", node, "__code__")
        below = node
        while isinstance(below, ast.Attribute):
            if below.attr in INSIDES and below not in self.fine:
                base = self.resolve(below.value)
                if base and base[0] == "m" and base[1] not in LEAVES:
                    self.add("getattr", below, base[1])
            below = below.value
        if not isinstance(below, ast.Name):
            self.visit_within(below)
        elif self.is_builtin(below):
            self.add("name", below, below.id)

    def inner_attribute(self, node, holder, name):
        """Reports the attributes in which objects of `site` store names or contents of files."""
        of_site = isinstance(holder, ast.Name) and holder.id in OF_SITE and self.is_builtin(holder)
        if name.startswith("_Printer__") or (of_site and name.startswith("_") and
                                             (holder.id in PRINTERS or not name.endswith("__")) and name != "__doc__"):
            self.add("private", node, (holder.id if isinstance(holder, ast.Name) else "license") + "." + name)

    def attribute_of_stranger(self, node):
        """Reports an attribute of a name that this code does not bind. Earlier code of the same context may have
        imported a module under that name."""
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and self.lookup(root.id)[0] is None and root.id not in BUILTINS:
            self.add("private", node, root.id + "." + node.attr)

    def visit_within(self, node):
        """Visits the first expression of a resolved chain of attributes, unless it is a name."""
        if isinstance(node, ast.Call):
            self.visit_Call(node)
        elif isinstance(node, ast.NamedExpr):
            self.visit_within(node.value)
        elif isinstance(node, ast.Subscript):
            self.visit_Subscript(node, False)

    def visit_Subscript(self, node, is_value=True):
        part = self.index_of(node)
        holder = node.value
        if self.is_namespace(holder) or isinstance(self.fold(part), str):
            self.fine.add(holder)
        if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Name) and isinstance(node.ctx, ast.Load):
            if holder.func.id in ("globals", "locals", "vars") and self.is_builtin(holder.func):
                self.unknown_key(node, holder.func.id, part)
        if self.resolve(holder) == ("o", "sys.modules"):
            key = self.fold(part)
            self.add("dynamic", node, key if isinstance(key, str) else "", "sys.modules")
        if is_value and isinstance(node.ctx, ast.Load):
            got = self.resolve(node)
            if got:
                self.add("value" if got[0] == "m" else "use", node, got[1])
        key = self.fold(part) if isinstance(node.ctx, ast.Store) else None
        if isinstance(key, str) and self.resolve(holder) == ("o", "os.environ"):
            self.add("use", node, "os.environ[" + key + "]")
        else:
            self.visit(holder)
        self.visit(part)

    def is_namespace(self, node):
        """Returns True if a node is the namespace of the module. Its values give access to the builtins."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMESPACES and
                not node.args and self.is_builtin(node.func)):
            return False
        return node.func.id == "globals" or all(each.kind == "module" or each.inline for each in self.scopes)

    def visit_Compare(self, node):
        self.fine.update(each for each, how in zip(node.comparators, node.ops) if isinstance(how, (ast.In, ast.NotIn)))
        self.visit(node.left)
        self.visit_all(node.comparators)

    def unknown_key(self, node, holder, part):
        key = self.fold(part)
        if isinstance(key, str):
            self.add("attribute", node, key)
        else:
            self.add("getattr", node, holder)
