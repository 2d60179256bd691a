#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks the Markdown files, the guide's pages too: their C++ compiles or comes from a source file, and their commands are
run by a test.

- A ```cpp block with a main function is a program. All programs are compiled together, in one file.
- Any other ```cpp block must appear, line by line, in a file of examples/, include/ or tests/.
- Each line of a ```sh block is a command of ./dev with existing options, or one of RUN_HERE, or one of RUN_BY, or one
  that tests/packaging/guide.py reads from INSTALL, the page about installing, and runs. The changelog is left out: its
  commands belong to older states of the tree.
- A ```text block that begins with `$ ` is a session of tests/programs/sessions.
- A ./dev command in a text must be one that ./dev has. A relative link must name a file.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from _compiler import check, compilers
from _harness import ROOT, main

sys.path.insert(0, str(ROOT / "tests" / "packaging"))
import guide  # noqa: E402

BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")

# Commands that this check runs. They take less than a second.
RUN_HERE = {"python3 packaging/cofferdam_lint.py examples"}
# Other commands: the file that runs the same program, and a text in it that shows the place.
RUN_BY = {
    'build/default/examples/cofferdam agent --input data.csv --output out "Summarise the data."':
        ("tests/programs/cofferdam_test.py", "def test_agent_works_on_a_file"),
    'build/default/examples/cofferdam serve':
        ("tests/programs/cofferdam_test.py", "def test_serve_prints_its_variables_and_runs_a_command"),
    'cofferdam run -- uname -a':
        ("tests/programs/cofferdam_test.py", "def test_run_takes_the_command_with_or_without_dashes"),
    "cofferdam run --input data.csv --output 'plots/*.png' -c 'python3 plot.py'":
        ("tests/programs/cofferdam_test.py", "def test_run_copies_files_in_and_out"),
    'cofferdam shell --provider docker:debian:stable-slim':
        ("tests/programs/cofferdam_test.py", "def test_shell_is_a_terminal"),
    "echo '6 * 7' | cofferdam python -":
        ("tests/programs/cofferdam_test.py", "def test_python_prints_output_and_the_value"),
    'cofferdam doctor':
        ("tests/programs/cofferdam_test.py", "def once_doctor_reports_each_provider"),
    "python3 -c 'from e2b import Sandbox; print(Sandbox.create().commands.run(\"uname\").stdout)'":
        ("tests/serve/sdk/sdk_test.py", "Sandbox.create("),
    ".ci/run": (".ci/run", "summary, after"),
    "cmake -G Ninja -S cofferdam -B made -DCOFFERDAM_BUILD_TESTS=OFF -DCOFFERDAM_BUILD_BENCHMARKS=OFF -DCOFFERDAM_INSTALL_COMPILED=ON":
        ("tests/packaging/deb.sh", "-DCOFFERDAM_INSTALL_COMPILED=ON || return 1"),
    "cmake --build made --target cofferdam_compiled cofferdam":
        ("tests/packaging/deb.sh", "--target cofferdam_compiled cofferdam --"),
    "cmake -G Ninja -S cofferdam -B made -DCOFFERDAM_BUILD_TESTS=OFF -DCOFFERDAM_BUILD_BENCHMARKS=OFF":
        ("tests/packaging/deb.sh", "-DCOFFERDAM_INSTALL_COMPILED=ON || return 1"),
    "cmake --build made --target cofferdam":
        ("tests/packaging/deb.sh", "--target cofferdam_compiled cofferdam --"),
    'cmake --install made --prefix "$PWD/prefix"':
        ("tests/packaging/deb.sh", 'cmake --install "$folder/build" --prefix "$prefix"'),
    "prefix/bin/cofferdam run -- echo hello from inside":
        ("tests/packaging/deb.sh", "-- echo hello from inside"),
    "cofferdam/dev build --preset quickstart cofferdam":
        ("dev", "run ./dev build --preset quickstart cofferdam"),
    "cofferdam/build/quickstart/examples/cofferdam run -- echo hello from inside":
        ("tests/packaging/deb.sh", "-- echo hello from inside"),
    "(cd made && cpack)": ("tests/packaging/deb.sh", "&& cpack "),
    "apt-get install ./made/cofferdam_*.deb": ("tests/packaging/deb.sh", "inside apt-get install"),
}
# The page whose sections tests/packaging/guide.py runs, and the script that runs guide.py.
INSTALL = "packaging/docs/install.md"
RUNS_GUIDE = ("tests/packaging/packages.sh", '"$here/guide.py"')


def pages(root):
    return sorted([*root.glob("*.md"), *(root / "packaging" / "docs").glob("*.md")])


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def sources(root):
    """Returns the lines of each source file as one text, without indentation and empty lines."""
    return ["\n" + "\n".join(lines_of(path.read_text(encoding="utf-8"))) + "\n"
            for folder in ("examples", "include", "tests") for path in sorted((root / folder).rglob("*.[ch]pp"))]


def joined(programs):
    """Returns one file with all programs, each in a namespace. Messages of compilers name the place in the page."""
    includes = dict.fromkeys(line for _, _, block in programs for line in block.splitlines() if line.startswith("#include"))
    text = "\n".join(includes) + "\n"
    for number, (name, line, block) in enumerate(programs):
        block = re.sub(r"^#include.*$", "", block, flags=re.M)
        block = re.sub(r"\bint\s+main\s*\(", "int program(", block)
        text += f'namespace program_{number} {{\n#line {line + 1} "{name}"\n{block}}}\n'
    return text


def compile_errors(programs):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blocks.cpp"
        path.write_text(joined(programs), encoding="utf-8")
        for compiler in compilers():
            code, output = check(compiler, path, "-Wno-unused-function")
            if code:
                errors = [line for line in output.splitlines() if "error" in line] or output.splitlines()
                return f"{compiler}: " + "\n".join(errors[:5])
    return None


def command_problem(root, line, dev, verbs):
    """Returns what is wrong with a command of a ```sh block, or None."""
    command = re.sub(r"\s+#.*$", "", line).strip()
    match = re.match(r"\./dev ([a-z]+)(.*)", command)
    if match:
        if match[1] not in verbs:
            return f"./dev has no verb {match[1]}"
        unknown = [option for option in re.findall(r"(?<!\S)--[a-z-]+", match[2]) if option not in dev]
        return f"./dev has no option {unknown[0]}" if unknown else None
    if command in RUN_HERE:
        done = subprocess.run(["bash", "-c", command], cwd=root, capture_output=True, text=True, check=False, timeout=60)
        return f"exit code {done.returncode}: {(done.stdout + done.stderr)[:300]}" if done.returncode else None
    if command in RUN_BY:
        file, place = RUN_BY[command]
        if not (root / file).is_file() or place not in (root / file).read_text(encoding="utf-8"):
            return f"{file} does not run it any more: there is no {place!r}"
        return None
    return "no test runs this command; add it to RUN_HERE or RUN_BY in tests/checks/readme.py"


def run_by_guide(root, text):
    """Returns the commands of the page INSTALL that tests/packaging/guide.py runs."""
    file, place = RUNS_GUIDE
    if not (root / file).is_file() or place not in (root / file).read_text(encoding="utf-8"):
        return set()
    return {line for section in guide.read_page(text)[1] for block in section.commands for line in block.splitlines()}


def problems(root):
    found = []
    if not (root / "README.md").is_file():
        return ["README.md: not there"]
    dev = (root / "dev").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^  ([a-z]+)\)", dev, re.M)) | {"help"}
    known, programs = sources(root), []
    recorded = [path.read_text(encoding="utf-8") for path in (root / "tests" / "programs" / "sessions").glob("*.txt")]
    for path in pages(root):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            language, block = match[1], match[2]
            if language == "cpp" and re.search(r"\bmain\s*\(", block):
                programs.append((name, line, block))
            elif language == "cpp" and not any("\n" + "\n".join(lines_of(block)) + "\n" in each for each in known):
                found.append(f"{name}:{line}: stands in no source file, and has no main")
            elif language == "text" and block.startswith("$ ") and not any(block == each for each in recorded):
                found.append(f"{name}:{line}: is no session of tests/programs/sessions, which a test runs")
            elif language in ("sh", "bash", "console") and path.name != "CHANGELOG.md":
                for number, command in enumerate(block.splitlines(), line + 1):
                    if name == INSTALL and command in run_by_guide(root, text):
                        continue
                    problem = command_problem(root, command, dev, verbs) if command.strip() else None
                    if problem:
                        found.append(f"{name}:{number}: {command.strip()}: {problem}")
        for match in re.finditer(r"(?:^|[\s`])\./dev ([a-z]+)", text):
            if match[1] not in verbs:
                found.append(f"{name}: ./dev has no verb {match[1]}")
        for match in LINK.finditer(re.sub(r"`[^`\n]*`", "", BLOCK.sub("", text))):
            if not (path.parent / match[1]).exists():
                found.append(f"{name}: links to {match[1]}, which is not there")
    errors = compile_errors(programs) if programs else None
    if errors:
        found.append(f"a program does not compile: {errors}")
    return found


DEV = "case $verb in\n  quickstart) x ;;\n  test) x --filter ;;\nesac\n"
SHOWN = "# x\n\n```cpp\nint f() {\n\n  return 1;\n}\n```\n```cpp\n#include <vector>\nint main() { [](auto x) { return x; }(0); }\n```\n" \
        "`./dev test` [a](dev)\n```sh\n./dev test --filter a   # why\n```\n"
WAYS = "# Installing\n```cpp\nint main() {}\n```\n## One way\n```sh\nmake hello\n```\n## Debian package\n" \
       "```sh\n(cd made && cpack)\n```\n"
PAGE = "```cpp\n#include <vector>\nstd::vector<int> none;\nint main() { return none.empty(); }\n```\n[up](../../dev)\n"
GOOD = {"README.md": SHOWN, "dev": DEV, "examples/a.cpp": "int b;\n  int f() {\n    return 1;\n  }\n",
        "packaging/docs/page.md": PAGE, "packaging/docs/install.md": WAYS, "tests/packaging/packages.sh": 'run "$here/guide.py"\n',
        "tests/packaging/deb.sh": "x && cpack -B y\n"}
BAD = [
    ("another line", {"examples/a.cpp": "int f() {\n  return 2;\n}\n"}, "README.md:3: stands in no source file"),
    ("a program that does not compile", {"README.md": "```cpp\nint main() { return x; }\n```\n"},
     r"does not compile: .*README.md:2:"),
    ("the same in a page", {"packaging/docs/page.md": PAGE.replace("none.empty", "none.gone")},
     r"does not compile: .*packaging/docs/page.md:4:"),
    ("a block of a page that stands nowhere", {"packaging/docs/page.md": "```cpp\nint g();\n```\n"},
     "packaging/docs/page.md:1: stands in no source"),
    ("an unknown verb", {"README.md": "run `./dev fly`\n"}, "no verb fly"),
    ("an unknown verb in a block", {"README.md": "```sh\n./dev fly\n```\n"}, "README.md:2: ./dev fly: ./dev has no verb"),
    ("an unknown option", {"README.md": "```sh\n./dev test --fly\n```\n"}, "no option --fly"),
    ("a command that no test runs", {"README.md": "```sh\nrm -rf x\n```\n"}, "README.md:2: rm -rf x: no test runs"),
    ("a command whose test is gone", {"README.md": "```sh\ncofferdam run -- uname -a\n```\n"},
     "does not run it any more"),
    ("a command that fails", {"README.md": f"```sh\n{sorted(RUN_HERE)[0]}\n```\n"}, "exit code 2"),
    ("a session that no test runs", {"packaging/docs/page.md": "```text\n$ cofferdam run -- true\n```\n"},
     "is no session of tests/programs/sessions"),
    ("a page about installing that nothing runs", {"tests/packaging/packages.sh": "run nothing\n"},
     "install.md:7: make hello: no test runs"),
    ("a command of a section that guide.py leaves out", {"packaging/docs/install.md": WAYS.replace("cpack", "cpack -G TGZ")},
     "install.md:11: .*no test runs"),
    ("a dead link", {"CONTRIBUTING.md": "[a](gone.md)\n"}, "gone.md"),
    ("a dead link of a page", {"packaging/docs/page.md": "[a](../gone.md)\n"}, "packaging/docs/page.md: links to ../gone.md"),
    ("no README", {"README.md": None}, "not there"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
