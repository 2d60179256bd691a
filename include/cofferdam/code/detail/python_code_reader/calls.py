# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Reports calls, and the names that calls reach by texts, such as getattr(x, 'y')."""
import ast
import keyword
import re

from constants import MOST_FOLDED, TEXT_METHODS, UNKNOWN
from resolver import LEAKS, Resolver
from uses import INSIDES, LEAVES, PRINTERS

# Builtins to which a module may be passed. That is harmless, so it is not reported as a fact.
TAKE_MODULES = frozenset("dir help hasattr isinstance print repr str id type getattr callable format".split())
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


class Calls(Resolver):
    """The part of Reader that visits calls."""

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
