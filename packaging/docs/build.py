#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Builds the reference and the guide into build/docs/html, and reports every mistake in them.

A mistake is a warning of Doxygen, a public name without a comment, a public name that is missing in the reference, a
link or a picture that leads nowhere, and a question of the first page that is not answered within two clicks.
--self-test proves that each of them is found.
"""
import html
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

import headers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*\n", re.M | re.S)
HEADING = re.compile(r"^(#{1,4}) +(.+?)[ \t]*$", re.M)
HREF = re.compile(r'\s(?:href|src|data)="([^"]*)"')
ID = re.compile(r'\s(?:id|name)="([^"]*)"')
# Questions that readers have, as the first page words them. Each must be answered within two clicks.
QUESTIONS = ("How do I limit memory?", "How do I stop a command?", "How do I add my own tool?")


def slug(heading):
    """Returns the anchor that a Markdown viewer makes of a heading."""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
    return words.replace(" ", "-")


def outside_code(text):
    """Yields (position, part) of the text between fenced blocks and code spans."""
    at = 0
    for match in re.finditer(FENCE.pattern + r"|`[^`\n]+`", text, re.M | re.S):
        yield at, text[at:match.start()]
        at = match.end()
    yield at, text[at:]


def headings(text):
    bare = FENCE.sub(lambda m: "\n" * m[0].count("\n"), text)
    return [(match[1], match[2], match.start()) for match in HEADING.finditer(bare)], bare


# ---- the sources of Doxygen -------------------------------------------------------------------------------------------

def copy_headers(root, target):
    """Copies the public headers. Returns the original lines of each copy, and all declarations by header."""
    lines, found = {}, {}
    base = root / "include" / "cofferdam"
    for path in sorted(base.rglob("*.hpp")):
        inside = path.relative_to(base)
        if not headers.is_public(inside):
            continue
        text = path.read_text(encoding="utf-8")
        copy, numbers = headers.reference_text(text)
        name = f"cofferdam/{inside.as_posix()}"
        copy = f"/// \\file\n/// `#include <{name}>`\n\n" + copy
        to = target / "include" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(copy, encoding="utf-8")
        lines[f"include/{name}"] = [1, 1, 1, *numbers]
        found[f"include/{name}"] = (text, list(headers.declarations(text)))
    return lines, found


def page_of(name):
    return "page_" + re.sub(r"\W", "_", name.removesuffix(".md"))


def page_text(root, path, extra):
    """Returns a page for Doxygen: each heading has a name, and each link leads to a place in the HTML.

    extra: a set, to which the files outside of the guide are added that the page links to.
    """
    text = path.read_text(encoding="utf-8")
    page = page_of(path.name)

    def link(match):
        is_picture, words, target = match[1] == "!", match[2], match[3]
        if re.match(r"[a-z]+:", target):
            return match[0]
        file, _, anchor = target.partition("#")
        place = (path.parent / unquote(file)).resolve() if file else path
        if is_picture:
            return match[0]
        if place.suffix == ".md" and place.parent == path.parent:
            return f"[{words}](@ref {page_of(place.name)}{'__' + anchor.replace('-', '_') if anchor else ''})"
        inside = place.relative_to(root.resolve()).as_posix() if place.is_relative_to(root.resolve()) else target
        if inside.startswith("include/cofferdam/") and headers.is_public(Path(inside[len("include/cofferdam/"):])):
            return f"[{words}](@ref {inside[len('include/'):]})"
        extra.add(inside)
        return f'<a href="files/{html.escape(inside)}">{words}</a>'

    parts, at = [], 0
    for position, part in outside_code(text):
        parts.append(text[at:position])
        parts.append(LINK.sub(link, part))
        at = position + len(part)
    text = "".join(parts)
    fenced = [(match.start(), match.end()) for match in FENCE.finditer(text)]
    is_first = True

    def heading(match):
        nonlocal is_first
        if any(begin <= match.start() < end for begin, end in fenced):
            return match[0]
        if is_first:
            is_first = False
            return match[0] if path.name == "index.md" else f"{match[0]} {{#{page}}}"
        return f"{match[0]} {{#{page}__{slug(match[2]).replace('-', '_')}}}"
    return HEADING.sub(heading, text)


def copy_pages(root, target):
    """Copies the pages of the guide, and the files that they link to. Returns the names of the pages."""
    guide = root / "packaging" / "docs"
    (target / "guide").mkdir(parents=True)
    extra, names = set(), []
    for path in sorted(guide.glob("*.md")):
        (target / "guide" / path.name).write_text(page_text(root, path, extra), encoding="utf-8")
        names.append(path.name)
    for name in ("Doxyfile", "style.css"):
        shutil.copy(HERE / name, target / name)
    html_folder = target.parent / "html"
    for path in guide.glob("*.svg"):
        html_folder.mkdir(exist_ok=True)
        shutil.copy(path, html_folder / path.name)
    for name in extra:
        if (root / name).is_file():
            to = html_folder / "files" / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, to)
        elif (root / name).is_dir():
            to = html_folder / "files" / name
            to.mkdir(parents=True, exist_ok=True)
    return names


# ---- what is wrong ----------------------------------------------------------------------------------------------------

def warnings(target, lines):
    """Returns the warnings of Doxygen, with the places in the original files."""
    found = []
    source = f"{target}/"
    for line in (target.parent / "warnings.txt").read_text(encoding="utf-8").splitlines():
        match = re.match(r"(.*?):(\d+): (.*)", line.replace(source, ""))
        if not match and found:  # the second line of a warning
            found[-1] += " " + line.strip()
        elif "Internal inconsistency: scope for class std::" in line:
            continue
        elif match[1] in lines:
            numbers = lines[match[1]]
            found.append(f"{match[1]}:{numbers[min(int(match[2]), len(numbers)) - 1]}: {match[3]}")
        else:
            found.append(f"{match[1].replace('guide/', 'packaging/docs/', 1)}:{match[2]}: {match[3]}")
    return list(dict.fromkeys(found))


def undocumented(found):
    """Returns the number of public names, and a problem for each name without a comment, by our own reading."""
    total, problems = 0, []
    for name, (text, declarations) in found.items():
        generated = dict((id(each), comment) for each, comment in headers.generated_comments(declarations))
        for each in declarations:
            if not each.public or each.kind == "namespace" or headers.is_no_entity(each, text) or \
                    generated.get(id(each), "") is None:
                continue
            total += 1
            if not each.comment and not each.trailing and id(each) not in generated:
                line = text.count("\n", 0, each.begin) + 1
                words = " ".join(text[each.begin:each.end].split())[:100]
                problems.append(f"{name}:{line}: no comment: {words}")
    return total, problems


def missing_in_reference(target, found):
    """Returns a problem for each public function or class that Doxygen has not written."""
    tags = (target.parent / "cofferdam.tag").read_text(encoding="utf-8")
    names = {html.unescape(name).replace(" ", "").split("<")[0].split("::")[-1]
             for name in re.findall(r"<name>([^\n]*?)</name>", tags)}
    problems = []
    for name, (text, declarations) in found.items():
        generated = dict((id(each), comment) for each, comment in headers.generated_comments(declarations))
        for each in declarations:
            if not each.public or generated.get(id(each), "") is None or headers.is_no_entity(each, text):
                continue
            if each.kind == "function":
                parts = headers.function_of(each.head)
                own = parts[0] if parts else None
            elif each.kind in ("class", "struct", "enum", "concept"):
                match = re.search(r"(?:enum\s+class|class|struct|enum|concept)\s+(\w+)",
                                  headers.ATTRIBUTE.sub(" ", headers.without_template(each.head)))
                own = match[1] if match else None
            else:
                continue
            if own and not own.startswith("operator") and own not in names:
                problems.append(f"{name}:{text.count(chr(10), 0, each.begin) + 1}: {own} is missing in the reference")
    return problems


def links_of(page):
    """Returns the links and the anchors of an HTML page. Scripts are left out."""
    text = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8", errors="replace"), flags=re.S)
    return [html.unescape(link) for link in HREF.findall(text)], {html.unescape(name) for name in ID.findall(text)}


def dead_links(folder):
    """Returns a problem for each link of the HTML pages in a folder that leads nowhere on this machine."""
    problems, pages = [], {}
    for path in sorted(folder.glob("*.html")):
        pages[path.name] = links_of(path)
    for name, (links, _) in pages.items():
        for link in dict.fromkeys(links):
            if re.match(r"(https?|mailto|javascript|data):", link) or not link:
                continue
            file, _, anchor = link.partition("#")
            file = unquote(file.partition("?")[0]) or name
            if not (folder / file).exists():
                problems.append(f"{name}: links to {file}, which does not exist")
            elif anchor and file in pages and unquote(anchor) not in pages[file][1]:
                problems.append(f"{name}: links to {file}#{anchor}, but that page has no such anchor")
    return problems


def dead_markdown_links(root):
    """Returns a problem for each link of the Markdown pages, as a viewer of the repository follows them."""
    problems = []
    for path in sorted([*root.glob("*.md"), *(root / "packaging" / "docs").glob("*.md")]):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        for position, part in outside_code(text):
            for match in LINK.finditer(part):
                target = match[3]
                if re.match(r"[a-z]+:", target):
                    continue
                file, _, anchor = target.partition("#")
                place = path.parent / unquote(file) if file else path
                line = text.count("\n", 0, position + match.start()) + 1
                if not place.exists():
                    problems.append(f"{name}:{line}: links to {file}, which does not exist")
                elif anchor and place.suffix == ".md" and anchor not in {
                        slug(words) for _, words, _ in headings(place.read_text(encoding="utf-8"))[0]}:
                    problems.append(f"{name}:{line}: links to {target}, but that page has no such heading")
    return problems


def unanswered(root, folder):
    """Returns a problem for each question that the first page does not answer within two clicks."""
    first = (root / "packaging" / "docs" / "index.md")
    if not first.is_file():
        return ["packaging/docs/index.md: does not exist"]
    asked = {words: target for _, _, words, target in
             ((m.start(), m[1], m[2], m[3]) for m in LINK.finditer(first.read_text(encoding="utf-8")))}
    problems = [f"packaging/docs/index.md: has no link for the question '{question}'"
                for question in QUESTIONS if question not in asked]
    # Every page of the guide is at most two clicks away from the first, in the HTML.
    near = {"index.html"}
    for _ in range(2):
        near |= {link.partition("#")[0] for page in list(near) if (folder / page).is_file() and page.endswith(".html")
                 for link in links_of(folder / page)[0]}
    for path in sorted((root / "packaging" / "docs").glob("*.md")):
        if path.name != "index.md" and page_of(path.name) + ".html" not in near:
            problems.append(f"packaging/docs/{path.name}: is more than two clicks from the first page")
    return problems


def build(root, output):
    """Builds everything. Returns the number of public names and the problems."""
    target = output / "source"
    for folder in (target, output / "html"):
        shutil.rmtree(folder, ignore_errors=True)
    target.mkdir(parents=True)
    lines, found = copy_headers(root, target)
    copy_pages(root, target)
    done = subprocess.run(["doxygen", "Doxyfile"], cwd=target, capture_output=True, text=True, check=False)
    problems = warnings(target, lines)
    if done.returncode or done.stderr.strip():
        problems.append(f"doxygen: exit code {done.returncode}: {done.stderr.strip()}")
    total, without = undocumented(found)
    problems += without
    problems += missing_in_reference(target, found)
    problems += dead_links(output / "html")
    problems += dead_markdown_links(root)
    problems += unanswered(root, output / "html")
    return total, problems


# ---- the proof that mistakes are found --------------------------------------------------------------------------------

GOOD = {
    "include/cofferdam/a.hpp": """#pragma once

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class secret;
}

/// A number of things.
class a_count {
 public:
  a_count() = default;
  explicit a_count(detail::secret* inside);
  /// Adds things.
  /// \\param more  the number of the added things.
  a_count& add(int more) &;
  [[nodiscard]] a_count add(int more) &&;
  /// Returns the number.
  int number() const noexcept { return number_; }
  a_count& number(int value);

 private:
  int hidden();
  int number_ = 0;
};

/// Returns the sum of two counts.
a_count sum(a_count x, a_count y);

}  // namespace cofferdam::inline COFFERDAM_ABI
""",
    "packaging/docs/index.md": "# First\n\n" + "".join(f"- [{question}](b.md#part-two)\n" for question in QUESTIONS) +
                               "\n![picture](p.svg)\n",
    "packaging/docs/b.md": "# Second\n\n## Part two\n\nSee [a](../../include/cofferdam/a.hpp), [x](../../x.cpp).\n"
                           "```cpp\n# [no](link)\n```\n",
    "packaging/docs/p.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "x.cpp": "int x;\n",
    "README.md": "# Top\n\n[guide](packaging/docs/index.md#first)\n",
}
A = GOOD["include/cofferdam/a.hpp"]
BAD = [
    ("a class without a comment", {"include/cofferdam/a.hpp": A.replace("/// A number of things.\n", "")},
     r"a\.hpp:9: no comment: class a_count"),
    ("a function without a comment", {"include/cofferdam/a.hpp": A.replace("/// Returns the sum of two counts.", "")},
     r"a\.hpp:28: no comment: a_count sum"),
    ("the same, by Doxygen", {"include/cofferdam/a.hpp": A.replace("/// Returns the number.", "").replace(
        "a_count& number(int value);", "")}, r"a\.hpp:19: warning: Member number\(\)"),
    ("a setter without a comment", {"include/cofferdam/a.hpp": A.replace("a_count& number(int value)", "a_count& other(int x)")},
     r"a\.hpp:20: no comment: a_count& other"),
    ("a constructor without a comment", {"include/cofferdam/a.hpp": A.replace(
        "a_count() = default;", "/// Makes none.\n  a_count();\n  explicit a_count(int number);")},
     r"no comment: explicit a_count\(int number\)"),
    ("an unknown parameter", {"include/cofferdam/a.hpp": A.replace("param more", "param less")}, r"a\.hpp:\d+: warning: .*less"),
    ("a parameter that is left out", {"include/cofferdam/a.hpp": A.replace(
        "/// Returns the sum of two counts.", "/// Returns the sum of two counts.\n/// \\param x  the first.")}, "parameter 'y'"),
    ("a class that the reference lacks", {"include/cofferdam/a.hpp": "#ifdef NEVER\n" + A + "#endif\n"}, "a_count is missing"),
    ("a dead link", {"packaging/docs/b.md": GOOD["packaging/docs/b.md"].replace("x.cpp", "y.cpp")},
     r"packaging/docs/b.md:5: links to ../../y.cpp"),
    ("a dead link in the HTML", {"packaging/docs/b.md": GOOD["packaging/docs/b.md"] + '\n<a href="gone.html">x</a>\n'},
     r"page_b\.html: links to gone\.html"),
    ("a heading that does not exist", {"packaging/docs/index.md": GOOD["packaging/docs/index.md"].replace("#part-two", "#part")},
     r"index.md:3: links to b.md#part, but"),
    ("a picture that does not exist", {"packaging/docs/p.svg": None}, r"links to p\.svg"),
    ("a question without an answer", {"packaging/docs/index.md": GOOD["packaging/docs/index.md"].replace("memory", "discs")},
     "no link for the question 'How do I limit memory"),
    ("a page that is far away", {"packaging/docs/c.md": "# Third\n\ntext\n"}, "docs/c.md: is more than two clicks"),
]


def self_test():
    sys.path.insert(0, str(ROOT / "tests" / "checks"))
    from _harness import self_test as judge

    def problems(root):
        return build(root, root / "build" / "docs")[1]
    return judge(problems, GOOD, BAD)


if __name__ == "__main__":
    if not shutil.which("doxygen"):
        sys.exit("docs: doxygen is not installed; ./dev install docs")
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    count, mistakes = build(ROOT, ROOT / "build" / "docs")
    for mistake in mistakes:
        print(mistake)
    pages = len(list((ROOT / "packaging" / "docs").glob("*.md")))
    print(f"docs: {count} public names, {pages} pages, {len(mistakes)} problems; open build/docs/html/index.html")
    sys.exit(1 if mistakes else 0)
