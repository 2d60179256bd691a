#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Finds what g++ 12 miscompiles around co_await, and work that nobody waits for.

The rule that avoids all of it: one co_await a statement; its operands are names, literals, results of functions, or
temporaries of types with a constructor; its result goes into one named variable, or nowhere.
Looks at include/, examples/, benchmarks/ and the C++ of the Markdown files. Reads tokens, not types: a form that happens
to be harmless is refused as well.
"""
import re

from _harness import main

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|(?m:^[ \t]*\#(?:\\\n|[^\n])*))
  | (?P<raw>(?:u8|u|U|L)?R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)")
  | (?P<text>(?:u8|u|U|L)?"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+')
  | (?P<word>[A-Za-z_]\w*) | (?P<number>\d(?:[\w.]|'\w)*)
  | (?P<sign>->|::|&&|\|\||.)
""", re.X | re.S)
CLOSERS = {"(": ")", "[": "]", "{": "}"}
# Tokens that may precede the brace of a block, besides the end of a parameter list.
BEFORE_BLOCK = {")", "else", "try", "do", "const", "noexcept", "override", "mutable", "final", ";", "{", "}", ":", "]",
                "requires"}
DEFINITIONS = {"namespace", "class", "struct", "union", "enum", "extern"}
HEADS = {"while", "for", "if", "switch"}


class Group:
    """A bracket and what is in it."""

    def __init__(self, opener, line):
        self.opener, self.line, self.items, self.is_block = opener, line, [], False


def parse(text):
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
    """The token's text, or the closing bracket of a group: what one sees when looking back at it."""
    return CLOSERS[item.opener] if isinstance(item, Group) else item[0]


def is_block(group):
    """Whether a brace that opens here starts statements, rather than a value."""
    if not group.items:
        return group.opener == "{" and group.is_block
    before = word(group.items[-1])
    if before == "}" and not group.is_block:
        return False
    if before in BEFORE_BLOCK:
        return True
    # `-> awaitable<T> {` of a function or lambda; `class x : y {`
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
    """Tokens of a statement, brackets and all, with the insides of blocks (lambda bodies) left out."""
    for item in items:
        if isinstance(item, Group):
            yield ("block", item.line) if item.is_block else ("{init" if item.opener == "{" else item.opener, item.line)
            if not item.is_block:
                yield from flatten(item.items)
                yield (CLOSERS[item.opener], item.line)
        else:
            yield item


def statements(block):
    """The statements of a block, each a list of items; a block ends the statement it stands in."""
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
    """Whether items[index] is a lambda's [...] that takes something by value."""
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
    for index, item in enumerate(items):
        if captures_by_value(items, index):
            yield item.line
        if isinstance(item, Group) and not item.is_block:
            yield from lambdas_by_value(item.items)


def judge(statement, found):
    tokens = list(flatten(statement))
    texts = [token[0] for token in tokens]
    if texts and texts[0] == "template":
        return
    awaits = [i for i, text in enumerate(texts) if text == "co_await"]
    if not awaits:
        return
    line = tokens[awaits[0]][1]
    if len(awaits) > 1:
        found.append((tokens[awaits[1]][1], "more than one co_await in a statement"))
    if "?" in texts:
        found.append((line, "co_await in a statement with ?:"))
    head = next((text for text in texts if text not in ("else", "block")), "")
    if head in HEADS and len(statement) > 1:
        position = next(i for i, item in enumerate(statement) if word(item) == head)
        inside = statement[position + 1:]
        group = next((item for item in inside if isinstance(item, Group) and item.opener == "("), None)
        if group is not None and any(token[0] == "co_await" for token in flatten([group])) and not (
                head == "while" and declares_what_it_awaits([word(item) for item in group.items])):
            found.append((line, f"co_await in the head of {head}: first into a named variable"))
    for i in awaits:
        if i > 0 and texts[i - 1] in ("&&", "||"):
            found.append((line, "co_await after && or ||"))
    if "{init" in texts:
        found.append((line, "braces around a value in a statement with co_await"))
    if texts[0] == "auto" and "[" in texts[:4] and "=" in texts:
        found.append((line, "structured binding of a co_await: name the result first"))
    for where in lambdas_by_value(statement):
        found.append((where, "a lambda that captures by value in a co_await operand"))


def declares_what_it_awaits(texts):
    """True for `while (chunk piece = co_await process.read())`, which g++ 12 compiles as it should."""
    if "=" not in texts or any(text in ("&&", "||", "?", ";") for text in texts):
        return False
    at = texts.index("=")
    return at >= 2 and texts[at + 1:at + 2] == ["co_await"] and all(re.fullmatch(r"\w+|::|&", text) for text in texts[:at])


def walk(group, found):
    if group.is_block:
        for statement in statements(group):
            judge(statement, found)
    for index, item in enumerate(group.items):
        if isinstance(item, Group):
            walk(item, found)
            before = word(group.items[index - 1]) if index else ""
            if item.opener == "(" and item.items:
                if before == "upload_files" and word(item.items[0]) == "}":
                    found.append((item.line, "upload_files({: it takes its words one by one"))
                if before in ("co_spawn", "with"):
                    for where in lambdas_by_value(item.items):
                        found.append((where, f"a lambda that captures by value, as a temporary in {before}"))
        elif item[0] == "detached":
            found.append((item[1], "detached work: nobody sees its exception"))


def judge_text(text):
    found = []
    walk(parse(text), found)
    return sorted(set(found))


def markdown_blocks(text):
    """The C++ of a Markdown file, with the line it starts at."""
    for match in re.finditer(r"^```cpp[^\n]*\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def problems(root):
    found = []
    for folder in ("include", "examples", "benchmarks"):
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            name = path.relative_to(root).as_posix()
            found += [f"{name}:{line}: {what}" for line, what in judge_text(path.read_text(encoding="utf-8"))]
    for path in sorted(root.glob("*.md")):
        for start, block in markdown_blocks(path.read_text(encoding="utf-8")):
            found += [f"{path.name}:{start + line}: {what}" for line, what in judge_text(block)]
    return found


GOOD_TEXT = r'''
#include <x>
#define AWAIT_TWICE(a, b) co_await a ? co_await b : 0
namespace a::inline v0 {
// co_await a ? b : c;
template <class T = int> requires std::same_as<T, int>
class c : public d<c> {
 public:
  c(int x) : x_(x), y_{1} {}
  awaitable<int> f(opts o) {
    auto r = co_await g(shell("a ? b : { co_await"), 'x', R"(while (co_await))");
    if (r > 1'000) co_return co_await h(std::move(r)); else co_await h(2);
    for (int i{0}; i < 3; ++i) { co_await h(i); }
    auto body = [&, this](auto& e) -> awaitable<void> { auto q = co_await e.f(); auto t = q ? 1 : 2; opts{1}; };
    auto w = co_await with(p, [&](auto& e) -> awaitable<int> { opts o{1, 2}; co_return co_await e.f(); });
    auto copied = [x]() { return x; };
    auto named = co_await with(p, copied);
    co_await h(list[i]);
    auto& [x, y] = w;
    int z = w ? x : y;
    while (z) { auto again = co_await h(z); z = again; }
    while (auto piece = co_await h(z)) { z = 0; }
    while (const ns::chunk piece = co_await r.read()) z = 0;
    switch (z) { case 1: co_await h(1); break; default: break; }
    co_spawn(ex, f(), [&](std::exception_ptr e) { failure = e; });
    try { co_await h(1); } catch (...) { failure = {}; }
    co_return agg{x, y};
  }
};
}
'''


def bad(statement):
    return {"include/cofferdam/core/a.hpp": "awaitable<void> f() {\n  int local = 0;\n  " + statement + "\n}\n"}


GOOD = {"include/cofferdam/core/a.hpp": GOOD_TEXT, "README.md": "# x\n```cpp\nco_await f();\n```\n",
        "examples/a.cpp": "int main() {}\n"}
BAD = [
    ("?: around", bad("co_return c ? co_await a() : b;"), "a.hpp:3: .*[?]:"),
    ("?: in an argument", bad("co_await f(c ? x : T(y));"), "[?]:"),
    ("?: over two lines", bad("auto x = c\n ? co_await a() : b;"), "a.hpp:4: .*[?]:"),
    ("while", bad("while (c && co_await a()) { }"), "head of while"),
    ("while, a declaration and more", bad("while (auto x = c && co_await a()) { }"), "head of while"),
    ("while, an assignment", bad("while (x = co_await a()) { }"), "head of while"),
    ("do while", bad("do { x(); } while (co_await a());"), "head of while"),
    ("if", bad("if (co_await a()) b();"), "head of if"),
    ("else if", bad("if (x) { b(); } else if (co_await a()) b();"), "head of if"),
    ("switch", bad("switch (co_await a()) { default: break; }"), "head of switch"),
    ("for", bad("for (auto x : co_await a()) b();"), "head of for"),
    ("two at once", bad("auto x = co_await a(co_await b());"), "more than one"),
    ("after &&", bad("bool x = c && co_await a();"), "after &&"),
    ("aggregate by name", bad("co_await f(opts{1});"), "braces"),
    ("designated", bad("co_await f({.tag = s});"), "braces"),
    ("empty braces", bad("auto r = co_await f(a, {});"), "braces"),
    ("braces in a template argument list", bad("co_await f(std::array<int, 2>{1, 2});"), "braces"),
    ("aggregate from it", bad("agg r{x, co_await a()};"), "braces"),
    ("in a lambda's body", bad("auto f = [&]() -> awaitable<void> { co_await g(opts{1}); };"), "braces"),
    ("in a body passed on", bad("co_await w(p, [&](auto& e) -> awaitable<void> { co_await e.g({}); });"), "braces"),
    ("structured binding", bad("auto [x, y] = co_await a();"), "structured"),
    ("upload_files with braces", bad('auto c = upload_files({"a", "b"});'), r"upload_files\(\{"),
    ("value capture awaited", bad("co_await f([s](auto& e) { });"), "captures by value in"),
    ("capture of all", bad("co_await f([=] { });"), "captures by value in"),
    ("init capture", bad("co_await f([&a, s = std::move(t)] { });"), "captures by value in"),
    ("value capture spawned", bad("co_spawn(ex, [s]() -> awaitable<void> { co_return; }, handler);"), "in co_spawn"),
    ("value capture in with", bad("auto a = with(p, [s](auto&) { });"), "in with"),
    ("detached", bad("co_spawn(ex, f(), asio::detached);"), "detached"),
    ("in an example", {"examples/a.cpp": "int main() { co_await f({}); }\n"}, "examples/a.cpp:1"),
    ("in the README", {"README.md": "# x\n\n```cpp\nint a;\nco_await f({});\n```\n"}, "README.md:5"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
