# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Reports loops that do not end, or that are very long."""
import ast

from constants import UNKNOWN
from nodes import FUNCTIONS, children, children_and_constants
from resolver import Resolver

# Functions and methods that are assumed not to raise, so that they do not end a loop.
GO_ON = frozenset("print len range str int abs min max sum .append .add .sleep .write time.sleep".split())


class Loops(Resolver):
    """The part of Reader that visits loops."""

    def visit_While(self, node):
        test = self.fold(node.test)
        if test is not UNKNOWN and test:
            ends, may_raise = self.loop_ends(node.body)
            if not ends:
                self.add("endless", node, number=1 if may_raise or self.tries else 2)
        self.visit(node.test)
        self.visit_all(node.body)
        self.visit_all(node.orelse)

    def visit_For(self, node):
        self.fine.add(node.iter)
        self.count(node.iter, node.body)
        for child in children_and_constants(node):
            self.visit(child)

    def count(self, node, body):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and
                self.is_builtin(node.func) and 1 <= len(node.args) <= 3):
            return
        values = [self.fold(each) for each in node.args]
        if all(isinstance(each, int) for each in values) and (len(values) < 3 or values[2]):
            span = range(*values)
            size = max(0, (span.stop - span.start + span.step - (1 if span.step > 0 else -1)) // span.step)
            if size > 10 ** 6:
                self.add("range", node, "", "ends" if self.loop_ends(body)[0] else "", min(size, 2 ** 53))

    def loop_ends(self, body):
        """Returns two flags: a statement in the body of a loop leaves the loop, and a statement in it may raise."""
        ends = may_raise = False
        todo = [(each, False) for each in body]
        while todo:
            node, inner = todo.pop()
            if isinstance(node, (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)):
                ends = True
            elif isinstance(node, ast.Break):
                ends = ends or not inner
            elif isinstance(node, ast.Call):
                name = self.called_name(node)
                if name in ("sys.exit", "exit", "quit", "os._exit"):
                    ends = True
                may_raise = may_raise or name not in GO_ON
            elif isinstance(node, (ast.Subscript, ast.Assert, ast.Import, ast.ImportFrom, ast.Try)):
                may_raise = True
            elif isinstance(node, (ast.BinOp, ast.AugAssign)):
                may_raise = may_raise or isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod))
            if isinstance(node, FUNCTIONS + (ast.ClassDef,)):
                continue
            inner = inner or isinstance(node, (ast.For, ast.While, ast.AsyncFor))
            todo.extend((child, inner) for child in children(node))
        return ends, may_raise
