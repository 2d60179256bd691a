#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Finds uses of co_await that g++ 12 miscompiles, and coroutines that are never awaited.

One rule avoids all miscompiled uses. A statement has at most one co_await. Its operands are names, literals, results of
functions, or temporaries of types with a constructor. Its result is stored in one named variable, or is not used.
Reads include/, examples/, benchmarks/ and the C++ of the Markdown files. The rules are in packaging/cofferdam_lint.py,
which is installed as cofferdam-lint. In tests/, only one rule holds: no lambda that captures by value is a temporary in a
co_await operand, because g++ 12 destroys its captures twice if the awaited work throws.
"""
import sys

from _harness import ROOT, main

sys.path.insert(0, str(ROOT / "packaging"))
from cofferdam_lint import judge_text, markdown_blocks  # noqa: E402

IN_TESTS = "captures by value in a co_await operand"
# These files contain the mistake, to prove that it does not compile.
WRONG_TESTS = "tests/compile_fail/"


def problems(root):
    found = []
    for folder in ("include", "examples", "benchmarks"):
        for path in sorted((root / folder).rglob("*.[chi]pp")):
            name = path.relative_to(root).as_posix()
            found += [f"{name}:{line}: {what}" for line, what in judge_text(path.read_text(encoding="utf-8"))]
    for path in sorted((root / "tests").rglob("*.[ch]pp")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(WRONG_TESTS):
            found += [f"{name}:{line}: {what}" for line, what in judge_text(path.read_text(encoding="utf-8"))
                      if IN_TESTS in what]
    for path in sorted([*root.glob("*.md"), *(root / "packaging" / "docs").glob("*.md")]):
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
    auto waiting = env.run_command("x");
    auto& place = outer.files();
    if (z) { co_await std::move(waiting); }
    auto both = co_await (env.run_command("a") && env.run_command("b"));
    (void)env.run_command("x");
    t.upload(x);
    other::with(x, y);
    use(env.run_command("x"));
    co_return agg{x, y};
  }
  void g() { box.write_file("x"); }
};
template <class T> concept runs = requires(T& t) { t.run_command(shell("x")); };
}
'''


def bad(statement):
    return {"include/cofferdam/core/a.hpp": "awaitable<void> f() {\n  int local = 0;\n  " + statement + "\n}\n"}


def forgotten(statement):
    """Returns a tree in which a coroutine, which has another co_await, contains the statement on line 3."""
    return bad(statement + "\n  co_await g();")


GOOD = {"include/cofferdam/core/a.hpp": GOOD_TEXT, "README.md": "# x\n```cpp\nco_await f();\n```\n",
        "examples/a.cpp": "int main() {}\n",
        "tests/core/a_test.cpp": "awaitable<void> f() {\n  co_await f(opts{1});\n  co_await g([&] { });\n}\n",
        "tests/compile_fail/a.cpp": "awaitable<void> f() {\n  co_await f([s] { });\n}\n"}
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
    ("dropped", forgotten('env.run_command("x");'), r"a.hpp:3: run_command\(...\) without co_await"),
    ("dropped through a chain", forgotten('sessions[0].env->get().run_command("x");'), "run_command.* without co_await"),
    ("dropped after a head", forgotten('if (a) env.run_command("x"); else b();'), "run_command.* without co_await"),
    ("dropped in else", forgotten('if (a) b(); else env.run_code(x);'), "run_code.* without co_await"),
    ("dropped in a case", forgotten('switch (a) { case 1: env.run_command("x"); break; }'), "without co_await"),
    ("dropped in a lambda", forgotten('auto f = [&](auto& e) -> awaitable<void> { e.run_command("x"); co_return; };'),
     "without co_await"),
    ("a free function dropped", forgotten('upload(env, files("a"));'), "upload.* without co_await"),
    ("a qualified function dropped", forgotten('cofferdam::with(p, body);'), "with.* without co_await"),
    ("stored and forgotten", forgotten('auto r = env.run_command("x");\n  b();'), "a.hpp:3: .*never awaited"),
    ("stored as const and forgotten", forgotten('const auto r = env.run_command("x");'), "never awaited"),
    ("a capture in the argument of an argument", bad("co_await f(g(1, [s](int) { return h(s); }));"), "a.hpp:3: .*captures by value"),
    ("a copy of *this", bad("co_await f([*this] { });"), "captures by value in"),
    ("in the bodies of a header", {"include/cofferdam/core/impl/a.ipp": "awaitable<void> f() {\n  co_await f([s] { });\n}\n"},
     "a.ipp:2: .*captures by value in"),
    ("in a test", {"tests/core/a_test.cpp": "awaitable<void> f() {\n  co_await f(1,\n    [s] { });\n}\n"},
     "a_test.cpp:3: .*captures by value in"),
    ("in an example", {"examples/a.cpp": "int main() { co_await f({}); }\n"}, "examples/a.cpp:1"),
    ("in the README", {"README.md": "# x\n\n```cpp\nint a;\nco_await f({});\n```\n"}, "README.md:5"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
