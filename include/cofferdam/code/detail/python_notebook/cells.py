# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Translates the syntax of notebook cells to Python, as IPython does: shell lines, magics, help, and indented code.

Python itself decides what needs a translation: the caller translates a cell only after Python has refused it. So valid
Python always runs exactly as it is written. The number of lines before each statement stays the same.
"""
import re

INDENT = re.compile(r"[ \t]+")
PROMPT = re.compile(r"(>>>|\.\.\.|In \[\d+\]:|   \.+:)( |$)")
HELP = re.compile(r"(\s*)(%{0,2}[^\W\d][\w.]*)(\?\??)\s*$")
HELP_BEFORE = re.compile(r"(\s*)(\?\??)\s*(%{0,2}[^\W\d][\w.]*)\s*$")
MAGIC = re.compile(r"%(\S+)(?:\s+(.*))?$", re.S)
CELL_MAGIC = re.compile(r"%%(\S+)(?:[ \t]+(.*))?$")
STRING = re.compile(r"(?i)(?:[rbuft]{0,2})('''|\"\"\"|'|\")")


def translate(source):
    """Returns the Python for a cell. Text that is no notebook syntax stays as it is."""
    lines = without_indent(source.split("\n"))
    if any(PROMPT.match(line) for line in lines[:1]):
        lines = [PROMPT.sub("", line, 1) for line in lines]
    first = 0
    while first < len(lines) and not lines[first].strip():
        first += 1
    if first < len(lines):
        magic = CELL_MAGIC.match(lines[first])
        if magic:
            body = "\n".join(lines[first + 1:])
            body += "\n" if body and not body.endswith("\n") else ""
            call = "get_ipython().run_cell_magic(%r, %r, %r)" % (magic.group(1), (magic.group(2) or "").strip(), body)
            return "\n" * first + call
    return "\n".join(translated_lines(lines))


def without_indent(lines):
    """Removes the indentation of the first line that is not empty from each line that begins with it. Does so within
    strings of several lines too, like IPython."""
    for line in lines:
        if line.strip():
            found = INDENT.match(line)
            if not found:
                return lines
            space = found.group()
            return [line[len(space):] if line.startswith(space) else line for line in lines]
    return lines


def translated_lines(lines):
    result, at = [], 0
    while at < len(lines):
        count, text = special_line(lines, at) or assigned(lines, at) or (0, None)
        if count:
            result += [text] + [""] * (count - 1)
            at += count
            continue
        end = end_of_statement(lines, at)
        result += lines[at:end]
        at = end
    return result


def joined(lines, at, start):
    """Returns the text from column `start` of a line on, with its continuations after backslashes, and the count of
    lines."""
    text, count = lines[at][start:], 1
    while text.endswith("\\") and at + count < len(lines):
        text = text[:-1] + " " + lines[at + count]
        count += 1
    return count, text


def special_line(lines, at):
    """Translates a line that begins with `!`, `%` or `?`, or that ends with `?`. Returns the count of its lines and its
    Python, or None."""
    line = lines[at]
    start = len(line) - len(line.lstrip())
    space, mark = line[:start], line[start:start + 1]
    found = HELP_BEFORE.match(line) or HELP.match(line)
    if found:
        parts = found.groups()[1:]
        name, marks = parts if parts[1].startswith("?") else parts[::-1]
        return 1, space + "get_ipython().run_line_magic(%r, %r)" % ("pinfo2" if len(marks) > 1 else "pinfo", name)
    if mark not in ("!", "%"):
        return None
    count, text = joined(lines, at, start)
    text = text.rstrip()
    if text.startswith("!!"):
        return count, space + "get_ipython().getoutput(%r)" % text[2:].strip()
    if mark == "!":
        return count, space + "get_ipython().system(%r)" % text[1:].strip()
    magic = MAGIC.match(text)
    if not magic:
        return None
    return count, space + "get_ipython().run_line_magic(%r, %r)" % (magic.group(1), (magic.group(2) or "").strip())


def assigned(lines, at):
    """Translates `name = !command` and `name = %magic`. Returns the count of lines and the Python, or None."""
    line = lines[at]
    for index, character in code_of_line(line):
        if character == "=":
            rest = line[index + 1:].lstrip()
            if line[index - 1:index] in ("=", "!", "<", ">", ":") or rest[:1] not in ("!", "%") or rest[:2] == "!=":
                return None
            count, text = joined(lines, at, len(line) - len(rest))
            text = text.rstrip()
            if text[0] == "!":
                return count, line[:index + 1] + " get_ipython().getoutput(%r)" % text[1:].strip()
            magic = MAGIC.match(text)
            if not magic:
                return None
            return count, line[:index + 1] + " get_ipython().run_line_magic(%r, %r)" % (
                magic.group(1), (magic.group(2) or "").strip())
    return None


def code_of_line(line):
    """Yields (index, character) of the code outside strings, comments and brackets in a line that begins a
    statement."""
    depth, at = 0, 0
    while at < len(line):
        string = STRING.match(line, at)
        if string and (at == 0 or not (line[at - 1].isalnum() or line[at - 1] == "_")):
            at = end_of_string(line, string.end(), string.group(1))
            if at is None:
                return
            continue
        character = line[at]
        if character == "#":
            return
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            yield at, character
        at += 1


def end_of_string(line, at, quote):
    """Returns the index behind the end of a string whose content begins at `at`, or None if it does not end here."""
    while at < len(line):
        if line[at] == "\\":
            at += 2
        elif line.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return None


def end_of_statement(lines, at):
    """Returns the index of the line behind the statement that begins in the line `at`."""
    depth, quote = 0, None
    while at < len(lines):
        line, column = lines[at], 0
        continued = False
        while column < len(line) or quote:
            if quote:
                end = end_of_string(line, column, quote)
                if end is None:
                    continued = len(quote) == 3 or line.endswith("\\")
                    quote = quote if continued else None
                    break
                column, quote = end, None
                continue
            string = STRING.match(line, column)
            if string and (column == 0 or not (line[column - 1].isalnum() or line[column - 1] == "_")):
                quote, column = string.group(1), string.end()
                continue
            character = line[column]
            if character == "#":
                break
            depth = max(0, depth + (character in "([{") - (character in ")]}"))
            continued = character == "\\" and column == len(line) - 1
            column += 1
        at += 1
        if depth == 0 and not continued and not quote:
            break
    return at


def is_quiet(source):
    """Returns True if a cell ends with a semicolon. A notebook then shows no value."""
    lines = [line for line in source.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    last = None
    for _, character in code_of_line(lines[-1]) if lines else ():
        last = character if not character.isspace() else last
    return last == ";"
