# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The kinds of the nodes of a syntax tree, and the children of a node."""
import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BINDERS = frozenset(getattr(ast, name) for name in (
    "Name Assign AnnAssign NamedExpr For AsyncFor comprehension AugAssign Import ImportFrom FunctionDef "
    "AsyncFunctionDef ClassDef ExceptHandler Global Nonlocal MatchAs MatchStar MatchMapping").split()
    if hasattr(ast, name))
LEAF_TYPES = frozenset([str, int, type(None), ast.Load, ast.Store, ast.Del, ast.Constant] +
                       list(ast.operator.__subclasses__()) + list(ast.cmpop.__subclasses__()))
RESOLVABLE = frozenset([ast.Name, ast.Attribute, ast.NamedExpr, ast.Subscript, ast.Call])


def children(node):
    """Returns the child nodes of a node. Leaves out constants and operators, unless they are in a list."""
    found = []
    for field in node._fields:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif type(value) not in LEAF_TYPES and isinstance(value, ast.AST):
            found.append(value)
    return found


def children_and_constants(node):
    """Returns the child nodes of a node. Leaves out operators, unless they are in a list."""
    found = []
    for field in node._fields:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif type(value) is ast.Constant or (type(value) not in LEAF_TYPES and isinstance(value, ast.AST)):
            found.append(value)
    return found


def own_nodes(body):
    """Yields the nodes of a body that bind names. Leaves out nested functions and classes, but not comprehensions,
    because `:=` in them binds a name of the body."""
    todo = list(body)
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind in BINDERS:
            if kind is not ast.Name or type(node.ctx) is not ast.Load:
                yield node
        if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            todo += node.decorator_list
        elif kind is ast.ClassDef:
            todo += node.decorator_list + node.bases
        elif kind is not ast.Lambda and kind is not ast.Name and kind is not ast.Constant:
            todo += children(node)


def of_types(values, types):
    return all(isinstance(each, types) for each in values)


def targets_in(node):
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))]
