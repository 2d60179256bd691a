# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The values of constant expressions, within limits of time and memory."""
import ast
import re

from facts import TooMuch
from nodes import of_types
from scopes import Bindings

MOST_FOLDED = 4096  # maximum length of a folded text
MOST_TAKEN = 65536  # maximum length of a text from which others are folded
MOST_BITS = 65536    # maximum bits of a folded number
MOST_WEIGHT = 1 << 25  # maximum length of all folded texts and bytes of all folded numbers together
UNKNOWN = object()  # the result of folding an expression that is not constant
# Methods of texts that can be folded.
TEXT_METHODS = frozenset("join decode format lower upper strip swapcase title replace removeprefix "
                         "removesuffix".split())


class Constants(Bindings):
    """Folds constant expressions."""

    def fold(self, node):
        """Returns the value of a constant expression, else UNKNOWN. Folds each expression once, without recursion. A
        name that is bound to an expression with the same name is UNKNOWN."""
        if isinstance(node, ast.Constant):
            return node.value
        known = self.folded.get(node)
        if known is not None:
            return known[0]
        here, opened, todo = self.scopes, {}, [(node, self.scopes)]
        while todo:
            each, self.scopes = todo[-1]
            if each in self.folded:
                todo.pop()
                continue
            parts = opened.get(each, UNKNOWN)
            if parts is UNKNOWN:
                parts = opened[each] = self.parts_of(each)
                missing = [part for part in parts or () if not self.is_folded(part[0])]
                if missing and not any(part[0] in opened for part in missing):
                    todo += missing
                    continue
            self.keep_folded(each, self.put_together(each, parts))
            todo.pop()
        self.scopes = here
        return self.folded[node][0]

    def is_folded(self, node):
        return isinstance(node, ast.Constant) or node in self.folded

    def keep_folded(self, node, value):
        if isinstance(value, int):
            self.weight += value.bit_length() >> 3
        elif isinstance(value, (str, bytes, list)) and not isinstance(node, ast.Name):
            self.weight += len(value)
        if self.weight > MOST_WEIGHT:
            raise TooMuch()
        self.folded[node] = (value,)

    def parts_of(self, node):
        """Returns the parts that are needed to fold an expression, each with its scopes, or None if it cannot be
        folded."""
        kind, parts = type(node), None
        if kind is ast.BinOp:
            parts = [node.left, node.right]
        elif kind is ast.UnaryOp:
            parts = [node.operand]
        elif kind is ast.Name:
            scope, bound = self.lookup(node.id)
            if scope is None or len(bound) != 1 or bound[0][0] != "e" or node.id in self.shared:
                return None
            return [(bound[0][1], self.scopes[:self.scopes.index(self.found) + 1])]
        elif kind is ast.JoinedStr:
            parts = []
            for each in node.values:
                if isinstance(each, ast.FormattedValue):
                    if each.format_spec or each.conversion not in (-1, 115):
                        return None
                    each = each.value
                parts.append(each)
        elif kind is ast.List or kind is ast.Tuple:
            parts = node.elts[:1000]
        elif kind is ast.Subscript:
            index = self.index_of(node)
            parts = [node.value]
            parts += [e for e in (index.lower, index.upper, index.step) if e] if type(index) is ast.Slice else [index]
        elif kind is ast.Call and not node.keywords:
            if isinstance(node.func, ast.Attribute):
                if node.func.attr in TEXT_METHODS:
                    parts = [node.func.value] + node.args
            elif isinstance(node.func, ast.Name) and node.func.id in ("chr", "str", "ascii") and len(node.args) == 1:
                parts = node.args if self.is_builtin(node.func) else None
        return None if parts is None else [(part, self.scopes) for part in parts]

    def index_of(self, node):
        return node.slice.value if type(node.slice).__name__ == "Index" else node.slice

    def put_together(self, node, parts):
        """Folds an expression, whose parts are folded already."""
        if parts is None:
            return UNKNOWN
        values = []
        for part, _ in parts:
            value = part.value if isinstance(part, ast.Constant) else self.folded.get(part, (UNKNOWN,))[0]
            if value is UNKNOWN:
                return UNKNOWN
            values.append(value)
        try:
            return self.fold_values(node, values)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
            return UNKNOWN

    def fold_values(self, node, values):
        kind = type(node)
        if kind is ast.BinOp:
            return self.fold_operation(node.op, *values)
        if kind is ast.UnaryOp:
            if isinstance(node.op, ast.Not):
                return not values[0]
            if isinstance(node.op, ast.USub):
                return -values[0]
            return +values[0] if isinstance(node.op, ast.UAdd) else UNKNOWN
        if kind is ast.Name:
            return values[0]
        if kind is ast.JoinedStr:
            return "".join([str(each) for each in values])[:MOST_FOLDED] if of_types(values, (str, int)) else UNKNOWN
        if kind is ast.Subscript:
            return self.fold_slice(node, *values)
        if kind is ast.Call:
            return self.fold_call(node, values)
        return values

    def fold_operation(self, operator, left, right):
        numbers = isinstance(left, int) and isinstance(right, int)
        if isinstance(operator, ast.Add) and type(left) is type(right) and isinstance(left, (str, bytes, int, list)):
            return left + right if numbers or len(left) + len(right) <= MOST_FOLDED else UNKNOWN
        if isinstance(operator, ast.Mult):
            if numbers:
                return left * right if left.bit_length() + right.bit_length() < MOST_BITS else UNKNOWN
            text, count = (right, left) if isinstance(left, int) else (left, right)
            if isinstance(text, (str, bytes)) and isinstance(count, int) and len(text) * count <= MOST_FOLDED:
                return text * count
        if not numbers:
            return UNKNOWN
        if isinstance(operator, ast.Pow) and right >= 0:
            return left ** right if left.bit_length() * right < MOST_BITS else UNKNOWN
        if isinstance(operator, ast.LShift) and 0 <= right < MOST_BITS:
            return left << right
        if isinstance(operator, ast.Sub):
            return left - right
        if isinstance(operator, ast.FloorDiv):
            return left // right
        return UNKNOWN

    def fold_slice(self, node, value, *ends):
        index = self.index_of(node)
        if not isinstance(value, (str, bytes, list)):
            return UNKNOWN
        if type(index) is ast.Slice:
            ends = list(ends)
            part = slice(*[ends.pop(0) if e else None for e in (index.lower, index.upper, index.step)])
            return value[part] if len(range(*part.indices(len(value)))) <= MOST_TAKEN else UNKNOWN
        return value[ends[0]] if isinstance(ends[0], int) else UNKNOWN

    def fold_call(self, node, values):
        if isinstance(node.func, ast.Name):
            if node.func.id == "chr":
                return chr(values[0])
            return str(values[0]) if isinstance(values[0], (str, int)) else UNKNOWN
        text, values, name = values[0], values[1:], node.func.attr
        if not isinstance(text, (str, bytes)) or len(text) > MOST_TAKEN:
            return UNKNOWN
        self.weight += len(text)
        if name == "join" and len(values) == 1:
            pieces = values[0][:MOST_FOLDED]
            return text.join(pieces)[:MOST_FOLDED] if len(text) * len(pieces) <= MOST_TAKEN else UNKNOWN
        if name == "decode":
            return text.decode() if isinstance(text, bytes) and not values else UNKNOWN
        if name == "format":
            if not isinstance(text, str) or len(text) >= 200 or re.search(r"[\[.:!]", text):
                return UNKNOWN
            return text.format(*[v if isinstance(v, (str, int)) else "" for v in values])[:MOST_FOLDED]
        if name == "replace" and len(text) + text.count(values[0]) * len(values[1]) > 2 * MOST_FOLDED:
            return UNKNOWN
        done = getattr(text, name)(*values)
        return done if len(done) <= MOST_FOLDED else UNKNOWN
