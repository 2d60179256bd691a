# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Lists the facts about a piece of code."""
import ast
import re
import sys

from calls import Calls
from facts import TooMuch
from loops import Loops
from nodes import COMPREHENSIONS, FUNCTIONS, children_and_constants
from statements import Statements
from texts import Texts
from uses import Uses


class Reader(Statements, Loops, Calls, Uses, Texts):
    """Collects the facts about one piece of code."""

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


VISITS = {getattr(ast, name[6:]): getattr(Reader, name) for name in dir(Reader)
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
