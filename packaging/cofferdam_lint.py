#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Finds C++ coroutine code that g++ 12 miscompiles, and coroutines that are never awaited.

One rule avoids all miscompiled code. A statement has at most one co_await. Its operands are names, literals, results of
functions, or temporaries of types with a constructor. Its result is stored in one named variable, or is not used.

FILE is a C++ file, a Markdown file (its ```cpp blocks are checked) or a folder, which is searched for both. The program
reads tokens and knows no types, so it also reports some harmless code.
"""
import argparse
import re
import sys
from pathlib import Path

VERSION = "@PROJECT_VERSION@"  # replaced when CMake installs the program

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|(?m:^[ \t]*\#(?:\\\n|[^\n])*))
  | (?P<raw>(?:u8|u|U|L)?R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)")
  | (?P<text>(?:u8|u|U|L)?"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+')
  | (?P<word>[A-Za-z_]\w*) | (?P<number>\d(?:[\w.]|'\w)*)
  | (?P<sign>->|::|&&|\|\||.)
""", re.X | re.S)
CLOSERS = {"(": ")", "[": "]", "{": "}"}
# Tokens after which a brace begins a block. `)` ends a parameter list or the head of a statement.
BEFORE_BLOCK = {")", "else", "try", "do", "const", "noexcept", "override", "mutable", "final", ";", "{", "}", ":", "]",
                "requires"}
DEFINITIONS = {"namespace", "class", "struct", "union", "enum", "extern"}
HEADS = {"while", "for", "if", "switch"}
# Functions of cofferdam that return an awaitable. The first ones are members; the others are called by their plain name.
AWAITABLE_MEMBERS = {"run_command", "run_code", "read_file", "write_file", "write_input"}
AWAITABLE_FUNCTIONS = {"read_file", "write_file", "read_text", "write_text", "list_directory", "upload", "download",
                       "copy_files", "stream_output", "with"}


class Group:
    """A pair of brackets, and the tokens and groups between them."""

    def __init__(self, opener, line):
        self.opener, self.line, self.items, self.is_block = opener, line, [], False


def parse(text):
    """Returns the tokens of a text as a tree of groups. A token is a pair of its text and its line."""
    root = Group("{", 1)
    root.is_block = True
    stack, line = [root], 1
    for token in TOKEN.finditer(text):
        kind, value = token.lastgroup, token.group()
        if kind != "skip":
            group = stack[-1]
            if value in CLOSERS:
                inner = Group(value, line)
                inner.is_block = value == "{" and is_block(group)
                group.items.append(inner)
                stack.append(inner)
            elif value in CLOSERS.values():
                if len(stack) > 1:
                    stack.pop()
            else:
                group.items.append(("text" if kind in ("raw", "text") or token["mark"] is not None else value, line))
        line += value.count("\n")
    return root


def word(item):
    """Returns the text of a token, or the closing bracket of a group."""
    return CLOSERS[item.opener] if isinstance(item, Group) else item[0]


def is_block(group):
    """Returns True if a brace that follows the items of `group` begins a block, and False if it begins a value."""
    if not group.items:
        return group.opener == "{" and group.is_block
    before = word(group.items[-1])
    if before == "}" and not group.is_block:
        return False
    if before in BEFORE_BLOCK:
        return True
    # Recognises `-> awaitable<T> {` of a function or lambda, and `class x : y {`.
    back = []
    for item in reversed(group.items):
        if word(item) in (";", "}", ",") and not isinstance(item, Group):
            break
        if isinstance(item, Group) and item.is_block:
            break
        back.append(word(item))
    if "->" in back and ")" in back[back.index("->"):]:
        return not any(token in ("=", "return", "co_return", "co_await") for token in back[:back.index("->")])
    return group.is_block and any(token in DEFINITIONS for token in back)


def line_of(item):
    return item.line if isinstance(item, Group) else item[1]


def flatten(items):
    """Yields the tokens of a statement, including brackets. A block, such as the body of a lambda, becomes one
    token."""
    for item in items:
        if isinstance(item, Group):
            yield ("block", item.line) if item.is_block else ("{init" if item.opener == "{" else item.opener, item.line)
            if not item.is_block:
                yield from flatten(item.items)
                yield (CLOSERS[item.opener], item.line)
        else:
            yield item


def statements(block):
    """Yields the statements of a block, each as a list of items. An inner block ends the statement that contains it."""
    current = []
    for item in block.items:
        if isinstance(item, tuple) and item[0] == ";":
            yield current
            current = []
        else:
            current.append(item)
            if isinstance(item, Group) and item.is_block:
                yield current
                current = []
    if current:
        yield current


def captures_by_value(items, index):
    """Returns True if items[index] is the [...] of a lambda that captures something by value."""
    group = items[index]
    if not isinstance(group, Group) or group.opener != "[" or not group.items:
        return False
    if index > 0 and (isinstance(items[index - 1], Group) or re.match(r"[\w\"]", items[index - 1][0])):
        if isinstance(items[index - 1], Group) or items[index - 1][0] not in ("return", "co_return", "co_await"):
            return False  # a subscript
    if len(group.items) == 1 and isinstance(group.items[0], Group):
        return False  # an attribute
    first = True
    for item in group.items:
        text = word(item)
        if first and text not in ("&", "this"):
            return True
        first = text == ","
    return False


def lambdas_by_value(items):
    """Yields the lines of lambdas that capture something by value."""
    for index, item in enumerate(items):
        if captures_by_value(items, index):
            yield item.line
        if isinstance(item, Group) and not item.is_block:
            yield from lambdas_by_value(item.items)


def judge(statement, found):
    """Adds a pair (line, message) to `found` for each wrong use of co_await in a statement."""
    tokens = list(flatten(statement))
    texts = [token[0] for token in tokens]
    if texts and texts[0] == "template":
        return
    awaits = [i for i, text in enumerate(texts) if text == "co_await"]
    if not awaits:
        return
    line = tokens[awaits[0]][1]
    if len(awaits) > 1:
        found.append((tokens[awaits[1]][1], "more than one co_await in a statement; write each in a statement of its own"))
    if "?" in texts:
        found.append((line, "co_await in a statement with ?:; write if and else, or name the value in a statement before"))
    head = next((text for text in texts if text not in ("else", "block")), "")
    if head in HEADS and len(statement) > 1:
        position = next(i for i, item in enumerate(statement) if word(item) == head)
        inside = statement[position + 1:]
        group = next((item for item in inside if isinstance(item, Group) and item.opener == "("), None)
        if group is not None and any(token[0] == "co_await" for token in flatten([group])) and not (
                head == "while" and declares_what_it_awaits([word(item) for item in group.items])):
            found.append((line, f"co_await in the head of {head}; await into a named variable first"))
    for i in awaits:
        if i > 0 and texts[i - 1] in ("&&", "||"):
            found.append((line, "co_await after && or ||; await into a named variable first, inside an if"))
    if "{init" in texts:
        found.append((line, "braces around a value in a statement with co_await; name the value in a statement before"))
    if texts[0] == "auto" and "[" in texts[:4] and "=" in texts:
        found.append((line, "structured binding of a co_await; name the result first, then bind it"))
    for where in lambdas_by_value(statement):
        found.append((where, "a lambda that captures by value in a co_await operand; name the lambda in a statement before"))


def without_head(items):
    """Returns the items of a statement without what stands before it: labels, `else`, and heads such as `if (...)`."""
    while items:
        text = word(items[0])
        if text in ("else", "do"):
            items = items[1:]
        elif text in HEADS:
            group = next((i for i, item in enumerate(items) if isinstance(item, Group) and item.opener == "("), None)
            if group is None:
                return items
            items = items[group + 1:]
        elif text in ("case", "default") and any(word(item) == ":" for item in items):
            items = items[next(i for i, item in enumerate(items) if word(item) == ":") + 1:]
        else:
            return items
    return items


def awaitable_call(items):
    """Returns the name of the function if the items are one call of a function of cofferdam that returns an awaitable,
    such as `env.run_command(...)` or `cofferdam::upload(...)`. Otherwise returns None."""
    if len(items) < 2 or not isinstance(items[-1], Group) or items[-1].opener != "(" or isinstance(items[-2], Group):
        return None
    name, before = word(items[-2]), items[:-2]
    if not before:
        return name if name in AWAITABLE_FUNCTIONS else None
    joint = word(before[-1])
    if joint == "::":
        plain = [word(item) for item in before if word(item) != "::"]
        return name if name in AWAITABLE_FUNCTIONS and plain == ["cofferdam"] else None
    if joint not in (".", "->") or name not in AWAITABLE_MEMBERS:
        return None
    # The object is a chain of names, calls and subscripts. Anything else, such as `x = env` or `return env`, is none.
    is_name = True
    for item in reversed(before[:-1]):
        if isinstance(item, Group):
            if item.is_block or item.opener == "{" or not is_name:  # `(void)env` is a cast
                return None
        elif item[0] in (".", "->", "::"):
            is_name = True
        elif re.fullmatch(r"\w+", item[0]) and is_name and item[0] not in ("return", "co_return", "co_await", "throw"):
            is_name = False
        else:
            return None
    return name


def all_words(items):
    """Yields the text of all tokens, including those in blocks."""
    for item in items:
        if isinstance(item, Group):
            yield from all_words(item.items)
        else:
            yield item[0]


def judge_forgotten(block, found):
    """Adds a pair (line, message) for each awaitable in a block that is dropped, or stored and not used."""
    all_statements = list(statements(block))
    for index, statement in enumerate(all_statements):
        items = without_head(statement)
        name = awaitable_call(items)
        if name is not None:
            found.append((line_of(items[0]), f"{name}(...) without co_await does nothing; write co_await before it"))
        texts = [word(item) for item in items]
        if "=" not in texts or "auto" not in texts[:2]:
            continue
        at = texts.index("=")
        name = awaitable_call(items[at + 1:])
        if name is None or not re.fullmatch(r"\w+", texts[at - 1]):
            continue
        rest = [item for later in all_statements[index + 1:] for item in later]
        if texts[at - 1] not in all_words(rest):
            found.append((line_of(items[0]), f"the result of {name}(...) is never awaited, so it does nothing; write "
                                             "co_await after the ="))


def declares_what_it_awaits(texts):
    """Returns True for `while (chunk piece = co_await process.read())`, which g++ 12 compiles correctly."""
    if "=" not in texts or any(text in ("&&", "||", "?", ";") for text in texts):
        return False
    at = texts.index("=")
    return at >= 2 and texts[at + 1:at + 2] == ["co_await"] and all(re.fullmatch(r"\w+|::|&", text) for text in texts[:at])


def is_coroutine(block):
    """Returns True if the statements of a block, without the blocks inside it, contain a keyword of coroutines."""
    return any(text in ("co_await", "co_return", "co_yield") for text, _ in flatten(block.items))


def walk(group, found, in_coroutine=False):
    if group.is_block:
        for statement in statements(group):
            judge(statement, found)
        in_coroutine = in_coroutine or is_coroutine(group)
        if in_coroutine:
            judge_forgotten(group, found)
    for index, item in enumerate(group.items):
        if isinstance(item, Group):
            walk(item, found, in_coroutine)
            before = word(group.items[index - 1]) if index else ""
            if item.opener == "(" and item.items:
                if before == "upload_files" and word(item.items[0]) == "}":
                    found.append((item.line, "upload_files({; write upload_files(\"a\", \"b\"), without braces"))
                if before in ("co_spawn", "with"):
                    for where in lambdas_by_value(item.items):
                        found.append((where, f"a lambda that captures by value, as a temporary in {before}; name the lambda in a statement before"))
        elif item[0] == "detached":
            found.append((item[1], "detached work loses its exception; pass a completion handler, or await the work"))


def judge_text(text):
    found = []
    walk(parse(text), found)
    return sorted(set(found))


def markdown_blocks(text):
    """Yields each C++ block of a Markdown file: the line of its opening ```cpp, and its text."""
    for match in re.finditer(r"^```cpp[^\n]*\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 1, match[1]


CPP = {".h", ".hh", ".hpp", ".hxx", ".ipp", ".c++", ".cc", ".cpp", ".cxx", ".cppm", ".ixx"}


def judge_file(path):
    """Returns a pair (line, message) for each mistake in a C++ or Markdown file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".md":
        return judge_text(text)
    return [(start + line, what) for start, block in markdown_blocks(text) for line, what in judge_text(block)]


def files_of(path):
    """Returns the file itself, or the C++ and Markdown files of a folder. Leaves out hidden files and folders."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in CPP | {".md"} and file.is_file()
                  and not any(part.startswith(".") for part in file.relative_to(path).parts))


def main():
    version = "not installed" if VERSION.startswith("@") else VERSION
    parser = argparse.ArgumentParser(prog="cofferdam-lint", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Exit status: 0 without findings, 1 with findings, 2 for wrong arguments.")
    parser.add_argument("--version", action="version", version=f"cofferdam-lint {version}")
    parser.add_argument("paths", metavar="FILE", nargs="+", type=Path)
    paths = parser.parse_args().paths
    for path in paths:
        if not path.exists():
            parser.error(f"{path}: does not exist; name a file or a folder")
    count = 0
    try:
        for path in [file for path in paths for file in files_of(path)]:
            for line, what in judge_file(path):
                print(f"{path}:{line}: {what}")
                count += 1
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
