# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Reports imports and definitions, and enters the scopes of a module, functions, classes and comprehensions."""
import ast

from nodes import FUNCTIONS, children_and_constants, targets_in
from resolver import Resolver
from scopes import Scope


class Statements(Resolver):
    """The part of Reader that visits scopes and statements."""

    def visit_body(self, body):
        """Visits a body without its docstring."""
        first = body[0] if body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            body = body[1:]
        self.visit_all(body)

    def visit_Module(self, node):
        scope = Scope("module")
        self.scopes.append(scope)
        self.collect(scope, node.body)
        self.collect_global(scope, node)
        for each in node.body:
            if isinstance(each, (ast.Assign, ast.AnnAssign)):
                targets = each.targets if isinstance(each, ast.Assign) else [each.target] if each.value else []
                names = [t.id for t in targets if isinstance(t, ast.Name)]
            elif isinstance(each, FUNCTIONS[:2] + (ast.ClassDef,)):
                names = [each.name]
            elif isinstance(each, (ast.Import, ast.ImportFrom)):
                names = [a.asname or a.name for a in each.names]
            else:
                names = []
            for name in names:
                assigns = isinstance(each, (ast.Assign, ast.AnnAssign))
                self.straight.setdefault(name, each.lineno + 1 if assigns else each.lineno)
        self.visit_body(node.body)
        self.scopes.pop()

    def visit_function(self, node):
        arguments = node.args
        is_lambda = isinstance(node, ast.Lambda)
        every = (getattr(arguments, "posonlyargs", []) + arguments.args + arguments.kwonlyargs +
                 [a for a in (arguments.vararg, arguments.kwarg) if a])
        self.visit_all(arguments.defaults)
        self.visit_all(arguments.kw_defaults)
        if not is_lambda:
            self.visit_all(node.decorator_list)
            for each in every:
                self.annotation(each.annotation)
            self.annotation(node.returns)
        scope = Scope("function")
        for each in every:
            scope.bind(each.arg, ("?", None))
        body = [node.body] if is_lambda else node.body
        self.collect(scope, body)
        self.scopes.append(scope)
        tries, self.tries = self.tries, 0
        if is_lambda:
            self.visit(node.body)
        else:
            self.define(node, "coroutine" if isinstance(node, ast.AsyncFunctionDef) else "function")
        self.tries = tries
        self.scopes.pop()

    def define(self, node, what):
        """Reports a function or class under its name, with those around it, and visits its body."""
        self.place.append(node.name)
        self.add("define", node, ".".join(self.place), what)
        self.visit_body(node.body)
        self.place.pop()

    def visit_ClassDef(self, node):
        self.visit_all(node.decorator_list)
        self.visit_all(node.bases)
        self.visit_all(node.keywords)
        scope = Scope("class")
        self.collect(scope, node.body)
        self.scopes.append(scope)
        self.define(node, "class")
        self.scopes.pop()

    def annotation(self, node):
        if node is None:
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.text_is_code(node.value, node, "eval")
        self.visit(node)

    def visit_AnnAssign(self, node):
        self.annotation(node.annotation)
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_comprehension(self, node):
        scope = Scope("function")
        scope.inline = True
        for each in node.generators:
            self.fine.add(each.iter)
            for target in targets_in(each.target):
                scope.bind(target.id, ("i" if target is each.target else "t", each.iter))
        self.visit(node.generators[0].iter)
        self.scopes.append(scope)
        for number, each in enumerate(node.generators):
            self.count(each.iter, ())
            if number:
                self.visit(each.iter)
            self.visit(each.target)
            self.visit_all(each.ifs)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self.scopes.pop()

    def visit_Import(self, node):
        for each in node.names:
            self.add("import", node, each.name, each.asname or "")

    def visit_ImportFrom(self, node):
        if node.level:
            return self.add("relative", node, "." * node.level + (node.module or ""), node.names[0].name)
        for each in node.names:
            self.add("from", node, node.module, each.name)
            if each.name != "*":
                got = self.attribute(node, ("m", node.module), each.name)
                if got:
                    self.add("use", node, got[1])

    def visit_Try(self, node):
        self.tries += 1
        self.visit_all(node.body)
        self.tries -= 1
        for part in (node.handlers, node.orelse, node.finalbody):
            self.visit_all(part)

    def visit_With(self, node):
        self.tries += 1
        for child in children_and_constants(node):
            self.visit(child)
        self.tries -= 1

    def visit_Assign(self, node):
        got = self.resolve(node.value) if isinstance(node.value, (ast.Name, ast.Attribute)) else None
        plain = all(isinstance(target, ast.Name) for target in node.targets)
        if not (plain and got and got[0] == "m"):
            self.visit(node.value)
        elif isinstance(node.value, ast.Attribute):
            self.read_attribute(node.value, False)
        self.visit_all(node.targets)

    def visit_Match(self, node):
        base = self.resolve(node.subject)
        for each in node.cases:
            self.match_pattern(each.pattern, base)
        for child in children_and_constants(node):
            self.visit(child)

    def match_pattern(self, node, base):
        """Reports the attributes that the keywords of class patterns read from a resolved subject."""
        kind = type(node).__name__
        if kind == "MatchClass":
            for name, inner in zip(node.kwd_attrs, node.kwd_patterns):
                got = self.attribute(inner, base, name)
                if got:
                    self.add("value" if got[0] == "m" else "use", inner, got[1])
                self.match_pattern(inner, got)
        elif kind == "MatchOr":
            for each in node.patterns:
                self.match_pattern(each, base)
        elif kind == "MatchAs" and node.pattern is not None:
            self.match_pattern(node.pattern, base)
        elif kind in ("MatchSequence", "MatchMapping"):
            for each in node.patterns:
                self.match_pattern(each, None)

    def visit_MatchClass(self, node):
        for each in node.kwd_attrs:
            self.add("attribute", node, each)
        for child in children_and_constants(node):
            self.visit(child)
