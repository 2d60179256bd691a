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

MOST_FACTS = 20000   # maximum number of facts


class TooMuch(Exception):  # the code is too complex to check
    pass


class Facts:
    """The facts about one piece of code, and the state of the Reader that collects them."""

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
