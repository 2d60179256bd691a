#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that no two files of the library define a class or an enumeration of the same name in the same namespace.

If no translation unit includes both files, no compiler and no linker reports it, and a program that uses both has
undefined behaviour: the functions of one class may replace those of the other one.
"""
import re
import sys

from _harness import ROOT, main

sys.path.insert(0, str(ROOT / "packaging"))
from cofferdam_lint import Group, parse, word  # noqa: E402

ABI = "COFFERDAM_ABI"  # the inline namespace of all public names


def without_template(items):
    """Returns the items of a declaration without `template <...>` at its front."""
    while items and word(items[0]) == "template":
        depth, index = 0, 1
        while index < len(items):
            depth += {"<": 1, ">": -1}.get(word(items[index]), 0)
            index += 1
            if depth == 0:
                break
        items = items[index:]
    return items


def namespace_of(items):
    """Returns the names of `namespace a::inline b`, or None for another declaration."""
    texts = [word(item) for item in items]
    if "namespace" not in texts:
        return None
    return [text for text in texts[texts.index("namespace") + 1:] if text not in ("::", "inline", ABI)]


def type_of(items):
    """Returns the name of the class or enumeration that a declaration before a block defines, with the arguments of a
    specialisation; or None."""
    items = without_template(items)
    texts = [word(item) for item in items]
    key = next((i for i, text in enumerate(texts) if text in ("class", "struct", "union", "enum")), None)
    if key is None or "=" in texts[:key]:
        return None
    name, depth = "", 0
    for item in items[key + 1:]:
        text = word(item)
        if text in ("alignas", "class", "struct") and not name:
            continue
        if isinstance(item, Group):
            if name and not depth:
                return None  # a function
            continue  # an attribute
        if not depth and (text == ":" or text == "final"):
            break
        if not depth and re.match(r"\w", text) and re.search(r"\w$|>$", name):
            return None  # a variable or a function
        depth += {"<": 1, ">": -1}.get(text, 0)
        name += text
    return name or None


def types(block, path=()):
    """Yields the full name and the line of each type that is defined in a namespace."""
    before = []
    for item in block.items:
        if isinstance(item, Group) and item.opener == "{":
            inner = namespace_of(before)
            if inner is not None:
                yield from types(item, (*path, *inner))
            else:
                name = type_of(before)
                if name is not None:
                    yield "::".join((*path, name)), item.line
            before = []
        elif word(item) == ";":
            before = []
        else:
            before.append(item)


def problems(root):
    found, places = [], {}
    for path in sorted((root / "include").rglob("*.[hi]pp")):
        file = path.relative_to(root).as_posix()
        for name, line in types(parse(path.read_text(encoding="utf-8"))):
            place = places.setdefault(name, (file, line))
            if place[0] != file:
                found.append(f"{file}:{line}: defines {name}, which {place[0]}:{place[1]} also defines; rename one of them")
    return found


A, B = "include/cofferdam/a.hpp", "include/cofferdam/detail/b.ipp"
GOOD = {
    A: """
namespace cofferdam::inline COFFERDAM_ABI::one {
class declared;
template <class T, class = std::vector<std::vector<T>>> requires good<T>
class plain final : public base<T> { class inner {}; enum { x }; };
template <> struct plain<int> {};
inline struct declared make(int x) { return {}; }
enum class color : int { red };
}
""",
    B: """
namespace cofferdam::inline COFFERDAM_ABI::two {
// class plain {};
const char* text = "class plain {};";
class plain { class inner {}; };
class declared { };
}
namespace cofferdam::one {
template <> struct plain<std::vector<long>> {};
class declared;
inline void f() { class color { }; }
inline auto value = sizeof(struct local*);
inline struct color variable{1};
}
"""}


def second(text, namespace="cofferdam::one"):
    return {B: f"namespace {namespace} {{\n{text}\n}}\n"}


BAD = [
    ("a class", second("class plain {};"), r"b.ipp:2: defines cofferdam::one::plain, which include/cofferdam/a.hpp:5"),
    ("a struct that is a template", second("template <class U>\nstruct plain {};"), "b.ipp:3: .*::plain"),
    ("the inline namespace", second("class plain { };", "cofferdam::inline COFFERDAM_ABI::one"), "::one::plain"),
    ("a namespace in another", second("namespace one { class plain : a<b<c>> { }; }", "cofferdam"), "::one::plain"),
    ("after another class", second("class x { void f() {} };\nclass alignas(8) [[nodiscard]] plain {};"), "b.ipp:3: "),
    ("an enumeration", second("enum color { red };"), "::color"),
    ("a class with two bases", second("class plain : x<a, b>, c { };"), "::plain"),
    ("after a variable", second("inline struct y plain{1};\nclass plain { };"), "b.ipp:3: .*::plain"),
    ("a specialisation", second("template <> class plain<int> {};"), "plain<int>"),
    ("a third file", {"include/cofferdam/c.hpp": "namespace cofferdam::two { class declared {}; }"}, "c.hpp:1: .*declared|b.ipp:.*declared"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
