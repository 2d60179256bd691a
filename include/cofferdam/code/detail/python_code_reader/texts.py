# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Reports texts, texts that are code, and values that are very large."""
import ast

from constants import MOST_FOLDED, MOST_WEIGHT, UNKNOWN
from facts import TooMuch
from nodes import children_and_constants
from resolver import Resolver
from scopes import Scope


class Texts(Resolver):
    """The part of Reader that visits constants, operators and `+=`."""

    def text_is_code(self, text, node, mode):
        if self.nested > 3 or len(text) > 100000:
            return self.add("dynamic", node, "", "exec")
        self.weight += 256 * len(text)  # reading a character as code costs that much more than folding it
        if self.weight > MOST_WEIGHT:
            raise TooMuch()
        try:
            tree = ast.parse(text.strip() if mode == "eval" else text, mode=mode)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None
        shift, self.shift = self.shift, self.shift or node.lineno
        self.nested += 1
        body = tree.body if isinstance(tree.body, list) else [tree.body]
        scope = Scope("module")
        self.collect(scope, body)
        self.scopes.append(scope)
        self.visit_all(body)
        self.scopes.pop()
        self.nested -= 1
        self.shift = shift
        return None

    def visit_Constant(self, node):
        if isinstance(node.value, bytes):
            self.string(node, node.value.decode("latin-1"))
        elif isinstance(node.value, str):
            self.string(node, node.value)

    def string(self, node, text):
        if len(text) > 2:
            self.add("string", node, text)

    def visit_JoinedStr(self, node):
        whole = self.fold(node)
        if isinstance(whole, str):
            self.string(node, whole)
        self.visit_all(node.values)

    def visit_BinOp(self, node):
        whole = self.fold(node)
        if isinstance(whole, str):
            self.string(node, whole)
        elif isinstance(whole, bytes):
            self.string(node, whole.decode("latin-1"))
        elif whole is UNKNOWN and isinstance(node.op, ast.Mult):
            self.repeat(node)
        elif whole is UNKNOWN and isinstance(node.op, (ast.Pow, ast.LShift)):
            left, right = self.fold(node.left), self.fold(node.right)
            if isinstance(left, int) and isinstance(right, int):
                bits = left.bit_length() * right if isinstance(node.op, ast.Pow) else right
                if bits > 10 ** 7 and (abs(left) > 1 or (left and isinstance(node.op, ast.LShift))):
                    self.add("power", node, number=min(bits, 2 ** 53))
            elif isinstance(left, int) and abs(left) > 1 and self.is_tower(node.right):
                self.add("power", node, number=2 ** 53)
        below = [node.left, node.right]
        while below:  # a long sum nests deeply on its left side
            each = below.pop()
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add):
                part = self.fold(each)
                if isinstance(part, (str, bytes)):
                    self.string(each, part if isinstance(part, str) else part.decode("latin-1"))
                below += [each.left, each.right]
            else:
                self.visit(each)

    def is_tower(self, node):
        return (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and
                isinstance(self.fold(node.left), int) and
                (isinstance(self.fold(node.right), int) or self.is_tower(node.right)))

    def repeat(self, node):
        for what, count in ((node.left, node.right), (node.right, node.left)):
            times = self.fold(count)
            if not isinstance(times, int) or isinstance(times, bool):
                continue
            value = self.fold(what)
            if isinstance(what, (ast.List, ast.Tuple)):
                size = 8 * len(what.elts)
            elif isinstance(value, (str, bytes, list)):
                size = len(value)
            else:
                continue
            if size * times > 10 ** 8:
                self.add("repeat", node, number=min(size * times, 2 ** 53))

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            scope, bound = self.lookup(node.target.id)
            if scope is not None and (self.found, node.target.id) not in self.grown:
                self.grown.add((self.found, node.target.id))
                self.grow(bound)
        for child in children_and_constants(node):
            self.visit(child)

    def grow(self, bound):
        """Reports the texts that the `+=` statements of a name build, as if each were executed once, in the order of
        the lines. The name itself stays unknown, because a loop may execute them more than once."""
        more = sorted((what[1] for what in bound if what[0] == "a"), key=lambda each: (each.lineno, each.col_offset))
        for start in [self.fold(what[1]) for what in bound if what[0] == "e"][:8]:
            text = start
            for each in more:
                part = self.fold(each.value)
                if not isinstance(text, (str, bytes)) or type(part) is not type(text):
                    break
                if len(text) + len(part) > MOST_FOLDED:
                    break
                text += part
                self.string(each, text if isinstance(text, str) else text.decode("latin-1"))
