# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Says what stands in Python code, for a host that judges it. Python 3.8 or newer. Executes and imports nothing of it.

Standard input: length (32 bits, big end first), the minor version of the Python 3 that would run the code (8 bits; 0:
not known), and a piece of code, UTF-8; again and again. Standard output: a greeting with the version of this Python,
then a length and a JSON object for each piece: {"facts": [[kind, line, name, detail, number], ...]}, or {"error":
{...}} where it is not Python. Of equal facts the first line is told. What the kinds mean stands in python_facts.hpp.

Names are resolved as the interpreter would, as far as that is seen without running: imports and their aliases, scopes,
`x = module`, getattr with a known name, what a module of the standard library has imported itself (`random._os` is os),
texts that are put together from constants.
"""
import ast
import builtins
import json
import os
import re
import signal
import struct
import sys
from importlib.machinery import PathFinder

GREETING = b"\ncofferdam python reader 2 %d.%d\n" % sys.version_info[:2]
MOST_FACTS = 20000
MOST_FOLDED = 4096  # letters of a text that is put together here
MOST_BITS = 65536   # and of a number

# What no module of others offers under such a name but the module itself.
LEAKS = frozenset("os sys subprocess builtins importlib ctypes posix pty shutil socket threading multiprocessing "
                  "_os _sys _thread runpy pickle marshal".split())
# Modules that hold no others, so that an attribute of any name is harmless.
LEAVES = frozenset("math cmath time itertools".split())
# Builtins that may be given a module.
TAKE_MODULES = frozenset("dir help hasattr isinstance print repr str id type getattr callable format".split())
# Functions that run a text.
RUN_TEXT = {"timeit.timeit", "timeit.repeat", "timeit.Timer", "cProfile.run", "cProfile.runctx", "profile.run",
            "profile.runctx", "pdb.run", "pdb.runeval", "trace.Trace.run", "bdb.Bdb.run",
            "doctest.run_docstring_examples"}
# Calls after which a loop goes on.
GO_ON = frozenset("print len range str int abs min max sum .append .add .sleep .write time.sleep".split())
BUILTINS = frozenset(dir(builtins)) | frozenset("__builtins__ help exit quit copyright credits license".split())
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BINDERS = frozenset(getattr(ast, name) for name in (
    "Name Assign AnnAssign NamedExpr For AsyncFor comprehension AugAssign Import ImportFrom FunctionDef "
    "AsyncFunctionDef ClassDef ExceptHandler Global Nonlocal MatchAs MatchStar MatchMapping").split()
    if hasattr(ast, name))
LEAF_TYPES = frozenset([str, int, type(None), ast.Load, ast.Store, ast.Del, ast.Constant] +
                       list(ast.operator.__subclasses__()) + list(ast.cmpop.__subclasses__()))
RESOLVABLE = frozenset([ast.Name, ast.Attribute, ast.NamedExpr, ast.Subscript, ast.Call])
UNKNOWN = object()


class TooMuch(Exception):
    pass


# ---- what modules have imported themselves -----------------------------------------------------------------------


class Module:
    """A module of the interpreter's own library, as far as its source tells."""

    def __init__(self, name):
        self.imports = {}     # name in it -> the module that this is
        self.public = None    # its __all__, where it has one
        self.known = False
        self.folders = None   # where its submodules are, if it is a package


def find(name):
    """Finds a module without importing its parents."""
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
                tree = ast.parse(spec.loader.get_data(origin))  # Pyodide's library is in an archive
            except (OSError, SyntaxError, ValueError):
                return found
            read_module(found, name, tree)
    return found


def read_module(found, name, tree):
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
    """The module that `base.name` is; None where it is none."""
    about = module(base)
    if name in about.imports and name not in (about.public or ()):
        return about.imports[name]
    if about.folders and PathFinder.find_spec(base + "." + name, about.folders):
        return base + "." + name
    return about.imports.get(name)


# ---- scopes ------------------------------------------------------------------------------------------------------


class Scope:
    def __init__(self, kind):
        self.kind = kind      # module, class, function
        self.names = {}       # name -> what it is bound to: ("m", module), ("o", dotted), ("e", expression), ...
        self.outer = set()    # global, nonlocal

    def bind(self, name, what):
        self.names.setdefault(name, []).append(what)


def children(node):
    found = []
    for field in node._fields:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif type(value) not in LEAF_TYPES and isinstance(value, ast.AST):
            found.append(value)
    return found


def children_and_constants(node):
    found = []
    for field in node._fields:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif type(value) is ast.Constant or (type(value) not in LEAF_TYPES and isinstance(value, ast.AST)):
            found.append(value)
    return found


def own_nodes(body):
    """The nodes of a scope that bind names, without those of the scopes in it, but `:=` in comprehensions."""
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


def targets_in(node):
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))]


class Reader:
    def __init__(self):
        self.facts = {}
        self.scopes = []
        self.shift = 0        # the line of a text that is code itself
        self.nested = 0
        self.tries = 0
        self.resolving = 0
        self.resolved = {}
        self.imported = set()
        self.straight = {}    # names that the module binds for sure, and from which line on
        self.deleted = set()

    def add(self, kind, node, name="", detail="", number=0):
        key = (kind, name, detail, number)
        line = self.shift or getattr(node, "lineno", 0)
        if self.facts.setdefault(key, line) > line > 0:
            self.facts[key] = line
        if len(self.facts) > MOST_FACTS:
            raise TooMuch()

    # ---- reading a scope ----

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
                    scope.bind(each.id, ("?", None))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                scope.bind(node.target.id, ("?", None))
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
            elif isinstance(getattr(node, "name", None), str):  # match: as and *
                scope.bind(node.name, ("?", None))
            elif isinstance(getattr(node, "rest", None), str):
                scope.bind(node.rest, ("?", None))

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
        """What the name may be bound to, and in which scope; (None, None) for builtins and unknown names."""
        inner = True
        for scope in reversed(self.scopes):
            if scope.kind == "class" and not inner:
                continue
            if name in scope.names and name not in scope.outer:
                return scope, scope.names[name]
            inner = False
        for scope in self.scopes:  # bound by a function that says `global`
            if name in scope.names:
                return self.scopes[0], scope.names[name]
        return None, None

    def is_builtin(self, node):
        """The name may be the builtin."""
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

    # ---- resolving ----

    def resolve(self, node):
        """("m", module) or ("o", dotted name), else None."""
        known = self.resolved.get(node, UNKNOWN)
        if known is not UNKNOWN:
            return known
        if self.resolving > 40 or type(node) not in RESOLVABLE:
            return None
        self.resolving += 1
        try:
            got = self.resolve_inner(node)
        finally:
            self.resolving -= 1
        if self.resolving == 0:
            self.resolved[node] = got
        return got

    def resolve_inner(self, node):
        if isinstance(node, ast.Name):
            scope, bound = self.lookup(node.id)
            if scope is None:
                return None
            best = None
            for what in bound:
                got = self.resolve_bound(what)
                if got and got[0] == "m":
                    return got
                best = best or got
            return best
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            if node.attr == "__self__" and (base or (isinstance(node.value, ast.Name) and self.is_builtin(node.value))):
                self.add("reexport", node, "builtins", "__self__")
                return ("m", "builtins")
            return self.attribute(node, base, node.attr)
        if isinstance(node, ast.NamedExpr):
            return self.resolve(node.value)
        if isinstance(node, ast.Subscript):
            key = self.fold(node.slice.value if type(node.slice).__name__ == "Index" else node.slice)
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
        called = self.resolve(node.func)
        if called and called[1] in ("importlib.import_module", "importlib.__import__") and node.args:
            key = self.fold(node.args[0])
            if isinstance(key, str):
                return ("m", key)
        return None

    def attribute(self, node, base, name):
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

    # ---- constants ----

    def fold(self, node, depth=0):
        """The value of a constant expression; UNKNOWN where it is none."""
        if isinstance(node, ast.Constant):
            return node.value
        if depth > 60:
            return UNKNOWN
        try:
            return self.fold_inner(node, depth + 1)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
            return UNKNOWN

    def fold_inner(self, node, depth):
        if isinstance(node, ast.BinOp):
            left, right = self.fold(node.left, depth), self.fold(node.right, depth)
            if left is UNKNOWN or right is UNKNOWN:
                return UNKNOWN
            return self.fold_operation(node.op, left, right)
        if isinstance(node, ast.UnaryOp):
            value = self.fold(node.operand, depth)
            if value is UNKNOWN:
                return UNKNOWN
            if isinstance(node.op, ast.Not):
                return not value
            return -value if isinstance(node.op, ast.USub) else +value if isinstance(node.op, ast.UAdd) else UNKNOWN
        if isinstance(node, ast.Name):
            scope, bound = self.lookup(node.id)
            if scope is None or len(bound) != 1 or bound[0][0] != "e" or self.resolving > 20:
                return UNKNOWN
            self.resolving += 1
            try:
                return self.fold(bound[0][1], depth)
            finally:
                self.resolving -= 1
        if isinstance(node, ast.JoinedStr):
            parts = []
            for each in node.values:
                if isinstance(each, ast.FormattedValue):
                    if each.format_spec or each.conversion not in (-1, 115):
                        return UNKNOWN
                    each = each.value
                value = self.fold(each, depth)
                if not isinstance(value, (str, int)):
                    return UNKNOWN
                parts.append(str(value))
            return "".join(parts)[:MOST_FOLDED]
        if isinstance(node, (ast.List, ast.Tuple)):
            values = [self.fold(each, depth) for each in node.elts[:1000]]
            return UNKNOWN if UNKNOWN in values else values
        if isinstance(node, ast.Subscript):
            return self.fold_slice(node, depth)
        if isinstance(node, ast.Call):
            return self.fold_call(node, depth)
        return UNKNOWN

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

    def fold_slice(self, node, depth):
        part = node.slice.value if type(node.slice).__name__ == "Index" else node.slice
        value = self.fold(node.value, depth)
        if not isinstance(value, (str, bytes, list)):
            return UNKNOWN
        if isinstance(part, ast.Slice):
            ends = [None if e is None else self.fold(e, depth) for e in (part.lower, part.upper, part.step)]
            return UNKNOWN if UNKNOWN in ends else value[slice(*ends)]
        index = self.fold(part, depth)
        return value[index] if isinstance(index, int) else UNKNOWN

    def fold_call(self, node, depth):
        values = [self.fold(each, depth) for each in node.args]
        if node.keywords or UNKNOWN in values:
            return UNKNOWN
        if isinstance(node.func, ast.Name) and self.is_builtin(node.func):
            if node.func.id == "chr" and len(values) == 1:
                return chr(values[0])
            if node.func.id in ("str", "ascii") and len(values) == 1 and isinstance(values[0], (str, int)):
                return str(values[0])
            return UNKNOWN
        if not isinstance(node.func, ast.Attribute):
            return UNKNOWN
        text, name = self.fold(node.func.value, depth), node.func.attr
        if not isinstance(text, (str, bytes)):
            return UNKNOWN
        if name == "join" and len(values) == 1:
            return text.join(values[0])[:MOST_FOLDED]
        if name in ("lower", "upper", "strip", "swapcase", "title", "replace", "removeprefix", "removesuffix"):
            done = getattr(text, name)(*values)
            return done if len(done) <= MOST_FOLDED else UNKNOWN
        if name == "decode" and isinstance(text, bytes) and not values:
            return text.decode()
        if name == "format" and isinstance(text, str) and len(text) < 200 and not re.search(r"[\[.:!]", text):
            return text.format(*[v if isinstance(v, (str, int)) else "" for v in values])[:MOST_FOLDED]
        return UNKNOWN

    # ---- visiting ----

    def visit(self, node):
        method = VISITS.get(type(node))
        if method is not None:
            return method(self, node)
        for child in children_and_constants(node):
            self.visit(child)

    def visit_all(self, nodes):
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_body(self, body):
        """A body that may begin with a docstring."""
        first = body[0] if body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            body = body[1:]
        self.visit_all(body)

    def visit_Module(self, node):
        scope = Scope("module")
        self.scopes.append(scope)
        self.collect(scope, node.body)
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
            self.visit_body(body)
        self.tries = tries
        self.scopes.pop()

    def visit_ClassDef(self, node):
        self.visit_all(node.decorator_list)
        self.visit_all(node.bases)
        self.visit_all(node.keywords)
        scope = Scope("class")
        self.collect(scope, node.body)
        self.scopes.append(scope)
        self.visit_body(node.body)
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
        for each in node.generators:
            for target in targets_in(each.target):
                scope.bind(target.id, ("?", None))
        self.visit(node.generators[0].iter)
        self.scopes.append(scope)
        for number, each in enumerate(node.generators):
            self.count(each.iter, False)
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

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            return
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
            own = isinstance(node.value, ast.Name) and any(w[0] == "c" for w in self.lookup(node.value.id)[1] or ())
            self.add("attribute", node, node.attr, "own" if own else "")
            if node.attr in LEAKS or (node.attr.startswith("_") and not node.attr.endswith("__")):
                self.attribute_of_stranger(node)
            return self.visit(node.value)
        self.add("value" if got[0] == "m" and is_value else "use", node, got[1])
        below = node.value
        while isinstance(below, ast.Attribute):
            below = below.value
        if not isinstance(below, ast.Name):
            self.visit_within(below)
        elif self.is_builtin(below):
            self.add("name", below, below.id)

    def attribute_of_stranger(self, node):
        """A name that this code does not bind may be a module: one that earlier code of a context has imported."""
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and self.lookup(root.id)[0] is None and root.id not in BUILTINS:
            self.add("private", node, root.id + "." + node.attr)

    def visit_within(self, node):
        """What a resolved chain begins with, if that is not a name."""
        if isinstance(node, ast.Call):
            self.visit_Call(node)
        elif isinstance(node, ast.NamedExpr):
            self.visit_within(node.value)
        elif isinstance(node, ast.Subscript):
            self.visit_Subscript(node, False)

    def visit_Subscript(self, node, is_value=True):
        part = node.slice.value if type(node.slice).__name__ == "Index" else node.slice
        holder = node.value
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
        self.visit(holder)
        self.visit(part)

    def unknown_key(self, node, holder, part):
        key = self.fold(part)
        if isinstance(key, str):
            self.add("attribute", node, key)
        else:
            self.add("getattr", node, holder)

    def visit_Call(self, node):
        name = self.called_name(node)
        first = self.fold(node.args[0]) if node.args else UNKNOWN
        self.add("call", node, name, first[:200] if isinstance(first, str) else "")
        builtin = isinstance(node.func, ast.Name) and self.is_builtin(node.func)
        skip = ()
        if builtin and name in ("getattr", "setattr", "delattr", "hasattr") and len(node.args) >= 2:
            skip = self.visit_getattr(node, name)
        elif builtin and name == "__import__" or name in ("importlib.import_module", "importlib.__import__"):
            if not isinstance(first, str):
                first = ""
            self.add("dynamic", node, first, name)
            if first.startswith("."):
                self.add("relative", node, first, name)
        elif builtin and name in ("exec", "eval", "compile"):
            self.add("dynamic", node, "", name)
            if isinstance(first, str):
                self.text_is_code(first, node, "exec")
        elif name in RUN_TEXT:
            self.visit_runner(node, name)
        elif name in ("operator.attrgetter", "operator.methodcaller"):
            for each in node.args:
                text = self.fold(each)
                for part in text.split(".") if isinstance(text, str) else ():
                    self.add("attribute", node, part)
                    if part in LEAKS or (part.startswith("_") and not part.endswith("__")):
                        self.add("private", node, name + " " + part)
        elif name == ".get" and node.args and isinstance(node.func.value, ast.Call):
            holder = node.func.value.func
            if isinstance(holder, ast.Name) and holder.id in ("globals", "locals", "vars") and self.is_builtin(holder):
                self.unknown_key(node, holder.id, node.args[0])
        if isinstance(node.func, ast.Attribute) or name == "chr":
            whole = self.fold(node)
            if isinstance(whole, str):
                self.string(node, whole)
        self.visit_callee(node.func)
        for index, each in enumerate(node.args):
            if index in skip:
                continue
            got = self.resolve(each) if builtin and name in TAKE_MODULES else None
            if got and got[0] == "m" and isinstance(each, (ast.Name, ast.Attribute)):
                continue
            self.visit(each)
        self.visit_all(node.keywords)

    def visit_callee(self, node):
        if isinstance(node, ast.Attribute):
            self.read_attribute(node, False)
        else:
            self.visit(node)

    def called_name(self, node):
        got = self.resolve(node.func)
        if got:
            return got[1]
        if isinstance(node.func, ast.Name):
            return node.func.id if self.is_builtin(node.func) else "own " + node.func.id
        return "." + node.func.attr if isinstance(node.func, ast.Attribute) else ""

    def visit_getattr(self, node, name):
        """\\return  the arguments that need no visit."""
        base, key = self.resolve(node.args[0]), self.fold(node.args[1])
        is_module = base is not None and base[0] == "m"
        if isinstance(key, str):
            for part in key.split("."):
                self.add("attribute", node, part)
            got = self.resolve(node) if name == "getattr" else None
            if got:
                self.add("value" if got[0] == "m" else "use", node, got[1])
        elif is_module and base[1] not in LEAVES:
            self.add("getattr", node, base[1])
        elif not isinstance(node.args[1], (ast.Name, ast.Attribute, ast.Subscript)) and self.may_hide(node.args[1]):
            self.add("getattr", node, "")
        return (0,) if is_module else ()

    def may_hide(self, node):
        """A name that is computed, and does not begin with a harmless constant."""
        while isinstance(node, ast.BinOp):
            node = node.left
        if isinstance(node, ast.JoinedStr) and node.values:
            node = node.values[0]
        if isinstance(node, ast.Constant):
            return not isinstance(node.value, str) or node.value.startswith("_") or not node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr in ("join", "decode", "format", "translate")
        return not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.FormattedValue, ast.IfExp))

    def visit_runner(self, node, name):
        given = list(node.args) + [k.value for k in node.keywords if k.arg in ("stmt", "setup", "statement", "cmd")]
        for each in given:
            text = self.fold(each)
            if isinstance(text, str):
                self.text_is_code(text, each, "exec")
            elif text is UNKNOWN and not isinstance(each, (ast.Lambda, ast.Dict)):
                bound = self.lookup(each.id)[1] if isinstance(each, ast.Name) else None
                called = self.called_name(each) if isinstance(each, ast.Call) else ""
                if not (bound and all(w[0] == "d" for w in bound)) and not called.endswith(("globals", "partial")):
                    self.add("dynamic", each, "", name)

    def text_is_code(self, text, node, mode):
        if self.nested > 3 or len(text) > 100000:
            return self.add("dynamic", node, "", "exec")
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
        while below:  # long sums are deep to the left
            each = below.pop()
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add) and not isinstance(whole, (str, bytes)):
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
        ends, _ = self.loop_ends(node.body)
        self.count(node.iter, ends)
        for child in children_and_constants(node):
            self.visit(child)

    def count(self, node, ends):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and
                self.is_builtin(node.func) and 1 <= len(node.args) <= 3):
            return
        values = [self.fold(each) for each in node.args]
        if all(isinstance(each, int) for each in values) and (len(values) < 3 or values[2]):
            span = range(*values)
            size = max(0, (span.stop - span.start + span.step - (1 if span.step > 0 else -1)) // span.step)
            if size > 10 ** 6:
                self.add("range", node, "", "ends" if ends else "", min(size, 2 ** 53))

    def loop_ends(self, body):
        """Whether something in a loop's body leaves it, and whether something may raise."""
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

    def visit_MatchClass(self, node):
        for each in node.kwd_attrs:
            self.add("attribute", node, each)
        for child in children_and_constants(node):
            self.visit(child)


VISITS = {getattr(ast, name[6:]): method for name, method in vars(Reader).items()
          if name.startswith("visit_") and hasattr(ast, name[6:])}
VISITS.update(dict.fromkeys(FUNCTIONS, Reader.visit_function))
VISITS.update(dict.fromkeys(COMPREHENSIONS, Reader.visit_comprehension))
VISITS[ast.AsyncFor] = Reader.visit_For
VISITS[ast.AsyncWith] = Reader.visit_With
VISITS.pop(ast.comprehension, None)
if hasattr(ast, "TryStar"):
    VISITS[ast.TryStar] = Reader.visit_Try

COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def problem(kind, text, line=0, column=0):
    return {"error": {"type": kind, "text": text, "line": line or 0, "column": column or 0}}


def read(source, minor=0):
    try:
        text = source.decode("utf-8")
        tree = ast.parse(text, feature_version=(3, minor) if 0 < minor < sys.version_info[1] else None)
        reader = Reader()
        for number, line in enumerate(text.split("\n", 2)[:2], 1):
            cookie = COOKIE.match(line)
            if cookie and cookie.group(1).lower().replace("_", "-") not in ("utf-8", "utf8", "ascii", "us-ascii"):
                reader.facts[("coding", cookie.group(1), "", 0)] = number
        reader.visit(tree)
        compile(tree, "<code>", "exec", getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0), True)
    except SyntaxError as failure:
        return problem(type(failure).__name__, str(failure.msg), failure.lineno, failure.offset)
    except (RecursionError, MemoryError):
        return problem("TooDeep", "it is nested too deeply, or too large, to be read")
    except TooMuch:
        return problem("TooDeep", "there is too much in it to be judged")
    except (ValueError, OverflowError) as failure:
        return problem("SyntaxError", str(failure))
    return {"facts": [[kind, line, name, detail, number]
                      for (kind, name, detail, number), line in reader.facts.items()]}


def limit():
    """What a hostile text may cost. The host has limits of its own, for where these are not to be had."""
    try:
        import resource
        for what, size in ((resource.RLIMIT_AS, int(sys.argv[2])), (resource.RLIMIT_CORE, 0)):
            hard = resource.getrlimit(what)[1]
            if hard != resource.RLIM_INFINITY:
                size = min(size, hard)
            resource.setrlimit(what, (size, size))
    except (ImportError, OSError, ValueError):
        pass


def take(count):
    parts = []
    while count:
        part = os.read(0, min(count, 1 << 20))
        if not part:
            sys.exit(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def put(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]


def prepare():
    sys.setrecursionlimit(3000)
    read(b"import json\nfor x in [1]:\n  print(json.dumps({'a': f'{x}'}))\n")  # what is slow the first time
    return GREETING


def answer_to(source, minor):
    answer = json.dumps(read(bytes(source), minor)).encode("ascii", "replace")
    answer = re.sub(rb"\\ud[89a-f][0-9a-f]{2}", rb"\\ufffd", answer) if b"\\ud" in answer else answer
    return struct.pack(">I", len(answer)) + answer


def main():
    limit()
    seconds = int(sys.argv[1]) / 1000
    put(prepare())
    while True:
        size, minor = struct.unpack(">IB", take(5))
        source = take(size)
        signal.setitimer(signal.ITIMER_REAL, seconds)  # nobody handles it: it ends this process
        answer = answer_to(source, minor)
        signal.setitimer(signal.ITIMER_REAL, 0)
        put(answer)


if __name__ == "__main__":
    main()
