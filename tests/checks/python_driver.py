#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that the headers with embedded programs are current, and that the Python programs are valid Python 3.8."""
import ast
import importlib.util

from _harness import ROOT, main

DETAIL = "include/cofferdam/code/detail/"
MOST_LETTERS = 120


def maker():
    """Returns the module make_python_driver."""
    spec = importlib.util.spec_from_file_location("make_python_driver", ROOT / DETAIL / "make_python_driver.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems(root):
    found = []
    detail = root / DETAIL
    modules = {name: detail / "python_driver" / f"{name}.py" for name in maker().MODULES}
    judge(modules, detail / "python_driver.hpp", lambda *sources: maker().driver_header(dict(zip(modules, sources))), found)
    kernel = {name: detail / "python_driver" / f"{name}.py" for name in maker().IN_KERNEL}
    judge(kernel, detail / "python_kernel.hpp", lambda *sources: maker().kernel_header(dict(zip(kernel, sources))), found)
    cells = {name: detail / "python_notebook" / f"{name}.py" for name in maker().IN_NOTEBOOK}
    judge(cells, detail / "python_notebook.hpp", lambda *sources: maker().notebook_header(dict(zip(cells, sources))),
          found)
    parts = {name: detail / "python_code_reader" / f"{name}.py" for name in maker().IN_READER}
    judge(parts, detail / "python_code_reader.hpp", lambda *sources: maker().reader_header(dict(zip(parts, sources))), found)
    names = maker().IN_SCRIPT
    scripts = {"pyodide_driver": ([f"pyodide_driver/{name}.js" for name in names] + ["pyodide_run.py"],
                                  lambda *sources: maker().pyodide_header(dict(zip(names, sources)), sources[-1])),
               "pyodide_reader": (["pyodide_reader.js"], maker().pyodide_reader_header)}
    for name, (sources, header) in scripts.items():
        paths = [detail / source for source in sources]
        if all(path.is_file() for path in paths):
            compare(paths, detail / f"{name}.hpp", header, found)
    return found


def judge(programs, written, header, found):
    """Checks Python programs ({name: path}) and the header that `header` generates from them."""
    for program in programs.values():
        source = program.read_text(encoding="utf-8")
        try:
            ast.parse(source, feature_version=(3, 8))
        except SyntaxError as failure:
            found.append(f"{program.name}:{failure.lineno}: not Python 3.8: {failure.msg}")
            return
        for number, line in enumerate(source.splitlines(), 1):
            if len(line) > MOST_LETTERS:
                found.append(f"{program.name}:{number}: longer than {MOST_LETTERS} letters")
    compare(list(programs.values()), written, header, found)


def compare(sources, written, header, found):
    """Checks that the file `written` is the header that `header` generates from the sources."""
    wanted = header(*[source.read_text(encoding="utf-8") for source in sources])
    if not written.is_file() or written.read_text(encoding="utf-8") != wanted:
        found.append(f"{written.name}: is not what its sources give; run make_python_driver.py")


DRIVER = DETAIL + "python_driver/driver.py"
SOURCES = {name: f'"""A module."""\nimport os\nx_{name} = os.getpid()\n' for name in maker().MODULES}
KERNEL = {**SOURCES, "kernel": '"""A module."""\nimport os\nos.getpid()\n'}
KERNEL = {name: KERNEL[name] for name in maker().IN_KERNEL}
CELLS = {name: f'"""A module."""\nimport os\ny_{name} = os.getpid()\n' for name in maker().IN_NOTEBOOK}
PARTS = {name: f'"""A module."""\nimport os\nz_{name} = os.getpid()\n' for name in maker().IN_READER}
GOOD = {**{f"{DETAIL}python_driver/{name}.py": source for name, source in SOURCES.items()},
        DETAIL + "python_driver.hpp": maker().driver_header(SOURCES),
        DETAIL + "python_driver/kernel.py": KERNEL["kernel"], DETAIL + "python_kernel.hpp": maker().kernel_header(KERNEL),
        **{f"{DETAIL}python_notebook/{name}.py": source for name, source in CELLS.items()},
        DETAIL + "python_notebook.hpp": maker().notebook_header(CELLS),
        **{f"{DETAIL}python_code_reader/{name}.py": source for name, source in PARTS.items()},
        DETAIL + "python_code_reader.hpp": maker().reader_header(PARTS)}
BAD = [
    ("a module that was changed", {DRIVER: SOURCES["driver"] + "os.getppid()\n"}, "is not what"),
    ("a header that was changed", {DETAIL + "python_driver.hpp": maker().driver_header(SOURCES) + "\n"}, "is not what"),
    ("another header that was changed", {DETAIL + "python_code_reader.hpp": maker().reader_header(PARTS) + "\n"},
     "is not what"),
    ("a module of the reader that was changed", {DETAIL + "python_code_reader/calls.py": "import os\n"},
     "python_code_reader.hpp: is not what"),
    ("a module of notebooks that was changed", {DETAIL + "python_notebook/shows.py": "import os\n"}, "is not what"),
    ("a module for kernels that was changed", {DETAIL + "python_driver/kernel.py": KERNEL["kernel"] + "1\n"},
     "python_kernel.hpp: is not what"),
    ("no header", {DETAIL + "python_driver.hpp": None}, "is not what"),
    ("newer Python", {DRIVER: "match x:\n  case 1: pass\n"}, "not Python 3.8"),
    ("a changed program for Pyodide", {**{f"{DETAIL}pyodide_driver/{name}.js": "1;\n" for name in maker().IN_SCRIPT},
                                       DETAIL + "pyodide_run.py": "1\n", DETAIL + "pyodide_driver.hpp": "no"},
     "pyodide_driver.hpp: is not what its sources give"),
    ("a changed reader for Pyodide", {DETAIL + "pyodide_reader.js": "1;\n", DETAIL + "pyodide_reader.hpp": "no"},
     "is not what its sources give"),
    ("a long line", {DRIVER: '"""A module."""\nx = \'' + "y" * 120 + "'\n"}, "longer than"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
