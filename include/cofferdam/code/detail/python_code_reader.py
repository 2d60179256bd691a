# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Lists facts about Python code, for the host (a C++ program), which judges the code. Neither executes nor imports it.
Needs Python 3.8 or newer.

Standard input has a sequence of pieces of code. Each begins with its length (32 bits, big-endian) and the minor version
of the Python 3 that would execute it (8 bits; 0 means unknown); the code in UTF-8 follows. Standard output begins with
a greeting, which contains the version of this Python. Then a length (32 bits, big-endian) and a JSON object follow for
each piece: {"facts": [[kind, line, name, detail, number], ...]}, or {"error": {...}} if the piece is not Python. Equal
facts are listed once, with their first line. code_analysis.hpp describes the kinds of facts.

Names are resolved as the interpreter would resolve them, as far as possible without execution. That includes imports
and their aliases, scopes, `x = module`, getattr with a known name, modules that a module of the standard library has
imported (`random._os` is os), and texts that are composed of constants.

To *fold* an expression means to compute its value from constants. To *resolve* an expression means to find the module,
or the dotted name in a module, for which it stands.
"""
import ast
import builtins
import copy
import json
import keyword
import os
import re
import signal
import struct
import sys
from importlib.machinery import PathFinder

GREETING = b"\ncofferdam python reader 2 %d.%d\n" % sys.version_info[:2]
MOST_FACTS = 20000   # maximum number of facts
MOST_FOLDED = 4096  # maximum length of a folded text
MOST_TAKEN = 65536  # maximum length of a text from which others are folded
MOST_BITS = 65536    # maximum bits of a folded number
MOST_WEIGHT = 1 << 25  # maximum length of all folded texts and bytes of all folded numbers together
MOST_STEPS = 100000    # maximum steps while names that refer to each other are resolved

# Modules use these names for nothing but the modules themselves. So `x.os` is taken for the module os, even if the
# module x is unknown.
LEAKS = frozenset("os sys subprocess builtins importlib ctypes posix pty shutil socket threading multiprocessing "
                  "_os _sys _thread runpy pickle marshal".split())
# Attributes of a module that give access to all its other attributes.
INSIDES = frozenset("__dict__ __getattribute__ __getattr__".split())
# Modules that contain no other modules, so that all their attributes are harmless.
LEAVES = frozenset("math cmath time itertools".split())
# Builtins to which a module may be passed. That is harmless, so it is not reported as a fact.
TAKE_MODULES = frozenset("dir help hasattr isinstance print repr str id type getattr callable format".split())
# Builtins that the module `site` adds. PRINTERS read files whose names are in their attributes.
PRINTERS = frozenset("license credits copyright".split())
OF_SITE = PRINTERS | frozenset("exit quit help".split())
# Builtins that return a dictionary of names, called a namespace below.
NAMESPACES = frozenset("globals locals vars".split())
# Builtins to which a whole namespace may be passed. They use only its names and not its values, or are checked
# elsewhere.
TAKE_NAMESPACES = frozenset("len list tuple set frozenset sorted iter enumerate any all max min bool print repr str "
                            "type id isinstance exec eval".split())
# Methods of a namespace that are harmless, or are checked elsewhere.
OF_NAMESPACES = frozenset("get keys update clear __contains__ __setitem__ __len__".split())
# Functions that execute a text as code.
RUN_TEXT = {"timeit.timeit", "timeit.repeat", "timeit.Timer", "cProfile.run", "cProfile.runctx", "profile.run",
            "profile.runctx", "pdb.run", "pdb.runeval", "trace.Trace.run", "bdb.Bdb.run",
            "doctest.run_docstring_examples"}
# A field of a format text that reads attributes or items of an argument, such as {0.x[1]}.
FIELD = re.compile(r"\{([^{}\[.!:]*)((?:\.[^{}\[.!:]+|\[[^{}\]]*\])+)")
FIELD_PART = re.compile(r"\.([^{}\[.!:]+)|\[([^{}\]]*)\]")
# Functions and methods that are assumed not to raise, so that they do not end a loop.
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
UNKNOWN = object()  # the result of folding an expression that is not constant
# Methods of texts that can be folded.
TEXT_METHODS = frozenset("join decode format lower upper strip swapcase title replace removeprefix "
                         "removesuffix".split())


class TooMuch(Exception):  # the code is too complex to check
    pass


# ---- imports in modules of the library ----------------------------------------------------------------------------


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


# ---- scopes ------------------------------------------------------------------------------------------------------


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


class Reader:
    """Collects the facts about one piece of code."""

    def __init__(self, has_outer=True):
        self.has_outer = has_outer  # true if the code contains `global` or `nonlocal`
        self.facts = {}
        self.scopes = []
        self.shift = 0        # the line of the text that is read as code, or 0
        self.nested = 0       # the depth of texts inside texts that are read as code
        self.tries = 0        # the depth of `try` and `with` blocks
        self.found = None     # the scope of the last name that was looked up
        self.resolved = {}    # node, or (scope, name) -> the result of resolving it
        self.opened = {}      # key that is being resolved -> its depth
        self.partial = {}     # key in an unfinished circle -> (result, depth at which the circle begins)
        self.circle = []      # the keys of `partial`, with their depths
        self.back = 0         # the lowest depth to which a circle has led
        self.steps = 0
        self.folded = {}      # node -> (value,)
        self.weight = 0       # the size of these values together
        self.imported = set()  # the imported modules and their parents
        self.straight = {}    # name that the module certainly binds -> the first line where it is bound
        self.deleted = set()  # names in `del` statements
        self.fine = set()     # nodes of namespaces whose use is harmless
        self.place = []       # the names of the functions and classes around the current node
        self.grown = set()    # (scope, name) whose `+=` statements have been read
        self.late = {}        # name of the module that functions bind by `global` -> its bindings
        self.shared = set()   # names that more than one body binds, by `global` or `nonlocal`

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

    # ---- resolving ----

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

    # ---- constants ----

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

    def visit_Call(self, node):
        name = self.called_name(node)
        first = self.fold(node.args[0]) if node.args else UNKNOWN
        self.add("call", node, name, first[:200] if isinstance(first, str) else "")
        builtin = isinstance(node.func, ast.Name) and self.is_builtin(node.func)
        skip = ()
        self.visit_whole(node, name, builtin)
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
        elif builtin and name == "help":
            if isinstance(first, str) and not keyword.iskeyword(first):
                self.add("dynamic", node, first, name)
            elif not node.args or (first is UNKNOWN and self.may_be_text(node.args[0])):
                self.add("dynamic", node, "", name)
        elif builtin and name == "vars" and len(node.args) == 1:
            if node not in self.fine:
                self.whole_module(node, node.args[0])
        elif name in ("inspect.getmembers", "inspect.getmembers_static") and node.args:
            self.whole_module(node, node.args[0])
        elif name in (".__getattribute__", ".__getattr__") and len(node.args) > 1:
            self.visit_getattribute(node)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "format_map", "vformat"):
            self.visit_format(node)
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

    def visit_whole(self, node, name, builtin):
        """Reports a call that uses or passes on a whole namespace, a code object, or one of PRINTERS."""
        func = node.func
        if (builtin and name in TAKE_NAMESPACES) or name in RUN_TEXT:
            self.fine.update(node.args)
        if isinstance(func, ast.Attribute) and func.attr in OF_NAMESPACES:
            self.fine.add(func.value)
        for each in node.keywords:
            if each.arg in ("globals", "globs", "locals") or (each.arg is None and name == ".format"):
                self.fine.add(each.value)
        if node not in self.fine and self.is_namespace(node):
            self.add("getattr", node, func.id)
        of_code = any(each.arg and each.arg.startswith("co_") for each in node.keywords)
        if isinstance(func, ast.Attribute):
            of_code = of_code or (func.attr == "replace" and isinstance(func.value, ast.Attribute) and
                                  func.value.attr == "__code__")
            if func.attr == "__setattr__":
                of_code = of_code or any(self.fold(each) == "__code__" for each in node.args)
            if func.attr in ("__getattribute__", "__getattr__"):
                got = self.resolve(node)
                if got:
                    self.fine.add(func)
                    self.add("value" if got[0] == "m" else "use", node, got[1])
        if of_code:
            self.add("getattr", node, "__code__")
        asked = func if isinstance(func, ast.Call) else node if builtin and name == "vars" else None
        if asked and isinstance(asked.func, ast.Name) and asked.func.id in ("type", "vars") and len(asked.args) == 1:
            who = asked.args[0]
            if isinstance(who, ast.Name) and who.id in PRINTERS and self.is_builtin(who):
                self.add("private", node, asked.func.id + "(" + who.id + ")")

    def may_be_text(self, node, names=True):
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return any(self.may_be_text(each, False) for each in node.elts)
        if isinstance(node, ast.Name):
            return names and any(what[0] == "a" or (what[0] in "eit" and self.may_be_text(what[1], False))
                                 for what in self.lookup(node.id)[1] or ())
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                return node.func.attr in TEXT_METHODS
            return isinstance(node.func, ast.Name) and node.func.id in ("str", "chr", "input", "repr", "format")
        return isinstance(node, (ast.BinOp, ast.JoinedStr)) or isinstance(getattr(node, "value", None), str)

    def visit_callee(self, node):
        if isinstance(node, ast.Name):
            self.visit_Name(node, False)
        elif isinstance(node, ast.Attribute):
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
        """Reports a call of getattr, setattr, delattr or hasattr. Returns the indices of the arguments that need no
        visit."""
        base, key = self.resolve(node.args[0]), self.fold(node.args[1])
        is_module = base is not None and base[0] == "m"
        if isinstance(key, str):
            if key in INSIDES and is_module and base[1] not in LEAVES:
                self.add("getattr", node, base[1])
            self.inner_attribute(node, node.args[0], key)
            if key == "__code__" and name in ("setattr", "delattr"):
                self.add("getattr", node, key)
            for part in key.split("."):
                self.add("attribute", node, part)
            got = self.resolve(node) if name == "getattr" else None
            if got:
                self.add("value" if got[0] == "m" else "use", node, got[1])
        elif is_module and base[1] not in LEAVES:
            names = self.names_of_loop(node.args[1]) if name == "getattr" else None
            if names is None:
                self.add("getattr", node, base[1])
            for each in names or ():
                self.add("attribute", node, each)
                got = self.attribute(node, base, each)
                self.add("value" if got[0] == "m" else "use", node, got[1])
        elif not isinstance(node.args[1], (ast.Name, ast.Attribute, ast.Subscript)) and self.may_hide(node.args[1]):
            self.add("getattr", node, "")
        elif base is None and name == "getattr":
            self.add("getattr", node, "", "plain")
        return (0,) if is_module else ()

    def whole_module(self, node, holder):
        """Reports an expression with all names of a module and their values, such as vars(module)."""
        base = self.resolve(holder)
        if base and base[0] == "m" and base[1] not in LEAVES:
            self.add("value", node, base[1], "names")

    def visit_getattribute(self, node):
        """Reports a call of `object.__getattribute__(module, name)`."""
        base, key = self.resolve(node.args[0]), self.fold(node.args[1])
        if base is None or base[0] != "m" or base[1] in LEAVES:
            return
        if not isinstance(key, str):
            self.add("value", node, base[1], "names")
            return
        got = self.attribute(node, base, key)
        self.add("value" if got[0] == "m" else "use", node, got[1])

    def visit_format(self, node):
        """Reports the attributes that the fields of a format text read from the arguments."""
        texts = [node.func.value] + node.args[:1]  # '...'.format(x), and str.format('...', x)
        for place, each in enumerate(texts):
            text = self.fold(each)
            if isinstance(text, str) and len(text) <= MOST_FOLDED:
                self.format_fields(node, text, node.args[place:])

    def format_fields(self, node, text, given):
        position = 0
        for start, parts in FIELD.findall(text):
            start = start.strip()
            if not start:
                start, position = str(position), position + 1
            subject = None
            if start.isdigit():
                subject = given[int(start)] if len(start) < 4 and int(start) < len(given) else None
            else:
                subject = next((each.value for each in node.keywords if each.arg == start), None)
            got = self.resolve(subject) if subject is not None else None
            for attribute, _ in FIELD_PART.findall(parts):
                if not attribute:
                    got = None
                    continue
                got = self.attribute(node, got, attribute)
                if got:
                    self.add("value" if got[0] == "m" else "use", node, got[1])
                else:
                    self.add("attribute", node, attribute)

    def names_of_loop(self, node):
        """Returns the values of a name that is bound only by one loop over constant names, or None for other names."""
        scope, bound = self.lookup(node.id) if isinstance(node, ast.Name) else (None, ())
        if scope is None or len(bound) != 1 or bound[0][0] != "i" or node.id in self.shared:
            return None
        here = self.scopes
        self.scopes = here[:here.index(self.found) + 1]
        values = self.fold(bound[0][1])
        self.scopes = here
        if not isinstance(values, list) or len(values) >= 1000:
            return None
        known = all(isinstance(each, str) and each.isidentifier() and each not in INSIDES for each in values)
        return values if known else None

    def may_hide(self, node):
        """Returns True if the name of an attribute is computed and does not begin with a harmless constant."""
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
        reader = Reader("global" in text or "nonlocal" in text)
        for number, line in enumerate(text.split("\n", 2)[:2], 1):
            cookie = COOKIE.match(line)
            if cookie and cookie.group(1).lower().replace("_", "-") not in ("utf-8", "utf8", "ascii", "us-ascii"):
                reader.facts[("coding", cookie.group(1), "", 0)] = number
        reader.visit(tree)
        compile(tree, "<code>", "exec", getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0), True)
    except SyntaxError as failure:
        return problem(type(failure).__name__, str(failure.msg), failure.lineno, failure.offset)
    except (RecursionError, MemoryError):
        return problem("TooDeep", "it is nested too deeply or is too large")
    except TooMuch:
        return problem("TooDeep", "it is too complex to check")
    except (ValueError, OverflowError) as failure:
        return problem("SyntaxError", str(failure))
    return {"facts": [[kind, line, name, detail, number]
                      for (kind, name, detail, number), line in reader.facts.items()]}


def limit():
    """Limits the memory of this process, because the code may be hostile, and disables core dumps. The host has other
    limits too, for systems where this fails."""
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
    read(b"import json\nfor x in [1]:\n  print(json.dumps({'a': f'{x}'}))\n")  # executes what is slow the first time
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
        signal.setitimer(signal.ITIMER_REAL, seconds)  # the signal has no handler, so it ends this process
        answer = answer_to(source, minor)
        signal.setitimer(signal.ITIMER_REAL, 0)
        put(answer)


if __name__ == "__main__":
    main()
