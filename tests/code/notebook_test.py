#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Tests the program of notebooks, python_notebook/*.py, in its driver but without the library: translates cells, and
runs cells in a context. COFFERDAM_TEST_PYTHON may name the interpreter of the driver."""
import importlib.util
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

DETAIL = pathlib.Path(__file__).resolve().parents[2] / "include/cofferdam/code/detail"
PYTHON = os.environ.get("COFFERDAM_TEST_PYTHON", sys.executable)
BOOT = "import os\nleft, text = %d, b''\nwhile left:\n    part = os.read(0, left)\n    left, text = left - len(part), " \
       "text + part\nexec(compile(text, 'cofferdam_driver', 'exec'), {'__name__': '__main__'})\n"
sys.path.insert(0, str(DETAIL / "python_notebook"))
from cells import is_quiet, translate  # noqa: E402
from charts import chart_of  # noqa: E402


def programs():
    """Returns the text of the driver and of the program of notebooks, as the library embeds them."""
    spec = importlib.util.spec_from_file_location("maker", DETAIL / "make_python_driver.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    found = []
    for folder, names in (("python_driver", maker.MODULES), ("python_notebook", maker.IN_NOTEBOOK)):
        found.append("\n\n".join(maker.joined(name, (DETAIL / folder / (name + ".py")).read_text()) for name in names))
    return found


class Outcome:
    def __init__(self):
        self.streams, self.displays, self.report, self.header = [b"", b""], [], {}, {}
        self.turns = []  # for each report about the run's turn: whether the run had begun

    @property
    def out(self):
        return self.streams[0].decode()

    @property
    def err(self):
        return self.streams[1].decode()

    @property
    def forms(self):
        return [display["forms"] for display in self.displays]

    @property
    def text(self):
        return next((one["forms"]["text/plain"] for one in self.displays if one["value"]), None)

    @property
    def error(self):
        return (self.report.get("error") or {}).get("type"), (self.report.get("error") or {}).get("message")


class Host:
    """Runs cells in contexts of a driver."""

    def __init__(self, notebook=True):
        driver, program = programs()
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([PYTHON, "-I", "-X", "utf8", "-c", BOOT % len(driver)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, cwd=self.folder.name)
        config = json.dumps({"preload": [], "helpers": {}, "packages": None, "notebook": program if notebook else None})
        self.process.stdin.write(driver.encode() + struct.pack(">I", len(config)) + config.encode())
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"\n"
        assert self.process.stdout.readline().startswith(b"cofferdam python driver")
        ready = self.read()[0]
        assert ready["t"] == "ready", ready
        self.number = 0

    def read(self):
        size, header = struct.unpack(">II", self.process.stdout.read(8))
        body = self.process.stdout.read(size - 4)
        return json.loads(body[:header]), body[header:]

    def send(self, header, body=b""):
        text = json.dumps(header).encode()
        self.process.stdin.write(struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body)
        self.process.stdin.flush()

    def begin(self, code, context="c", timeout=None):
        """Sends a cell to the driver. Returns the number of its run."""
        self.number += 1
        request = {"code": code, "quiet": True}
        self.send({"op": "run", "id": self.number, "context": context, "keep": 1 << 20, "timeout": timeout,
                   "grace": 1000, "files": 0}, json.dumps(request).encode())
        return self.number

    def run(self, code, context="c", timeout=None, when=None):
        """Runs a cell. Calls `when` once with the output, as soon as there is some."""
        self.begin(code, context, timeout)
        outcome = Outcome()
        while True:
            header, body = self.read()
            if header["t"] == "out":
                outcome.streams[header["stream"]] += body
                if when is not None:
                    when = when(self, body.decode())
            elif header["t"] == "display":
                outcome.displays.append(json.loads(body))
            elif header["t"] == "turn":
                outcome.turns.append(header["began"])
            elif header["t"] == "end":
                for index, size in enumerate(header["pieces"]):
                    outcome.streams[index // 2] += body[:size]
                    body = body[size:]
                outcome.report = json.loads(body) if body else {}
                outcome.header = header
                return outcome

    def cancel(self):
        self.send({"op": "cancel", "id": self.number})

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait()
        self.folder.cleanup()


def shell(command):
    return "get_ipython().system(%r)" % command


def magic(name, line=""):
    return "get_ipython().run_line_magic(%r, %r)" % (name, line)


def cell(name, line, body):
    return "get_ipython().run_cell_magic(%r, %r, %r)" % (name, line, body)


class Cells(unittest.TestCase):
    def test_cells_become_what_ipython_makes_of_them(self):
        for source, wanted in [
            ("  x = 1\n  y = 2", "x = 1\ny = 2"),
            ("\n    if x:\n        y\n  z", "\nif x:\n    y\n  z"),
            ("    x = '''\n  a\n    b\n'''", "x = '''\n  a\nb\n'''"),
            ("\ta\n    b", "a\n    b"),
            ("!ls -l  ", shell("ls -l")),
            ("  !ls\n  x", shell("ls") + "\nx"),
            ("if x:\n    !echo it's\n    %pwd", "if x:\n    " + shell("echo it's") + "\n    " + magic("pwd")),
            ("x = !ls", "x = get_ipython().getoutput('ls')"),
            ("a, b['='] = !echo {x}", "a, b['='] = get_ipython().getoutput('echo {x}')"),
            ("x = %time f()", "x = " + magic("time", "f()")),
            ("!!ls", "get_ipython().getoutput('ls')"),
            ("%pip install 'a b'", magic("pip", "install 'a b'")),
            ("!a \\\n  b\nx", shell("a    b") + "\n\nx"),
            ("%pip install a\\\nb", magic("pip", "install a b") + "\n"),
            ("s = '''\n!no\n%no\n'''\n!yes", "s = '''\n!no\n%no\n'''\n" + shell("yes")),
            ("f(a\n%b)\n!c", "f(a\n%b)\n" + shell("c")),
            ("s = 'it' # it's\n!c", "s = 'it' # it's\n" + shell("c")),
            ("s = \"a = !b\"\n!c", "s = \"a = !b\"\n" + shell("c")),
            ("x = 1 + \\\n%b\n!c", "x = 1 + \\\n%b\n" + shell("c")),
            ("x = 5 # = !a", "x = 5 # = !a"),
            ("x != !a", "x != !a"),
            ("len?", magic("pinfo", "len")),
            ("a.b??", magic("pinfo2", "a.b")),
            ("?len", magic("pinfo", "len")),
            ("%%bash -x\n\necho hi", cell("bash", "-x", "\necho hi\n")),
            ("\n\n  %%time\n  f()\n", "\n\n" + cell("time", "", "f()\n")),
            ("x\n%%time\ny", "x\n" + magic("%time") + "\ny"),
            (">>> x = 1\n... y", "x = 1\ny"),
            ("%", "%"), ("", ""), ("!", shell("")),
        ]:
            self.assertEqual(translate(source), wanted, source)

    def test_a_semicolon_at_the_end_hides_the_value(self):
        for source, wanted in [("x;", True), ("x; # c\n", True), ("x;\n\n# c", True), ("x", False), ("';'", False),
                               ("f(';');", True), ("x # ;", False), ("", False), ("# ;", False)]:
            self.assertEqual(is_quiet(source), wanted, source)


class Fake:
    """Has the given attributes. A method get_x() returns the attribute x."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __getattr__(self, name):
        if name.startswith("get_") and name[4:] in self.__dict__:
            return lambda: self.__dict__[name[4:]]
        raise AttributeError(name)


class Line2D(Fake):
    pass


class PathPatch(Fake):
    pass


class Rectangle(Fake):
    pass


class Wedge(Fake):
    pass


class PathCollection(Fake):
    pass


class Bars(list):
    orientation = "horizontal"

    def get_label(self):
        return "_container0"


class Charts(unittest.TestCase):
    """Without matplotlib: its classes are replaced by classes of the same names with the attributes that are used."""

    def setUp(self):
        self.modules = {"matplotlib.lines": Fake(Line2D=Line2D),
                        "matplotlib.patches": Fake(PathPatch=PathPatch, Rectangle=Rectangle, Wedge=Wedge),
                        "matplotlib.collections": Fake(PathCollection=PathCollection)}
        sys.modules.update(self.modules)

    def tearDown(self):
        for name in self.modules:
            del sys.modules[name]

    def axes(self, **drawn):
        def axis(ticks, labels):
            texts = [Fake(text=label) for label in labels]
            return Fake(ticklocs=ticks, ticklabels=texts, scale="linear", converter=None)

        lines = drawn.setdefault("lines", [])
        return Fake(title="T", xlabel="Time (s)", ylabel="", has_data=lambda: True, xaxis=axis([0, 1], ["a", "b"]),
                    yaxis=axis([0.0, 0.5], ["0.0", "0.5"]), get_lines=lambda: lines, **drawn)

    def chart(self, *axes):
        return chart_of(Fake(axes=list(axes), _suptitle=Fake(text="S")))

    def test_lines(self):
        chart = self.chart(self.axes(lines=[Line2D(label="_child0", xdata=[0, 1, 2], ydata=[3, float("nan"), 5]),
                                            Line2D(label="", xdata=[0, 1], ydata=[2, 2])]))
        self.assertEqual(chart, {
            "type": "line", "title": "T", "elements": [{"label": "Line 0", "points": [[0, 3], [1, None], [2, 5]]}],
            "x_label": "Time (s)", "x_unit": "s", "y_label": None, "y_unit": None, "x_ticks": [0, 1],
            "x_tick_labels": ["a", "b"], "x_scale": "categorical", "y_ticks": [0.0, 0.5],
            "y_tick_labels": ["0.0", "0.5"], "y_scale": "linear"})

    def test_bars(self):
        bars = Bars([Rectangle(height=0.8, width=7), Rectangle(height=0.8, width=8)])
        chart = self.chart(self.axes(patches=list(bars), containers=[bars]))
        self.assertEqual((chart["type"], chart["x_label"], chart["y_label"]), ("bar", None, "Time (s)"))
        self.assertEqual(chart["elements"], [{"label": "0.0", "group": "Group 0", "value": 7},
                                             {"label": "0.5", "group": "Group 0", "value": 8}])

    def test_several_plots(self):
        pie = self.axes(patches=[Wedge(label="p", theta1=0, theta2=90, r=1)])
        self.assertEqual(self.chart(pie, self.axes(images=[Fake()])), {
            "type": "superchart", "title": "S", "elements": [
                {"type": "pie", "title": "T", "elements": [{"label": "p", "angle": 90.0, "radius": 1}]},
                {"type": "unknown", "title": "T", "elements": []}]})
        self.assertIsNone(self.chart(Fake(has_data=lambda: False)))


class Contexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host()

    @classmethod
    def tearDownClass(cls):
        cls.host.close()

    def run_cell(self, code, **options):
        return self.host.run(code, **options)

    def test_indented_code_runs(self):
        self.assertEqual(self.run_cell("    x = 20\n    x + 1").text, "21")

    def test_valid_python_is_not_changed(self):
        self.assertEqual(self.run_cell("x = 7\ny = (x\n%4)\ny").text, "3")
        self.assertEqual(self.run_cell("    # c\ns = '''\n    !a\n'''\ns").text, repr("\n    !a\n"))

    def test_a_warning_of_the_compiler_is_shown_once(self):
        self.assertEqual(self.run_cell("x = 1 is 1").err.count("SyntaxWarning"), 1)

    def test_a_mistake_is_reported_at_its_line(self):
        outcome = self.run_cell("!true\n\nx = = 1")
        self.assertEqual(outcome.error[0], "SyntaxError")
        self.assertEqual(outcome.report["error"]["line"], 3)
        outcome = self.run_cell("%%time\nx = 1\n1 / 0")
        self.assertEqual(outcome.error[0], "ZeroDivisionError")
        self.assertEqual(outcome.report["error"]["line"], 3)
        self.assertIn("1 / 0", outcome.report["error"]["traceback"])
        self.assertNotIn("cofferdam", outcome.report["error"]["traceback"])

    def test_shell_lines_write_to_the_output(self):
        outcome = self.run_cell("print('a')\nname = 'x y'\n!echo {name!r} $name '$name' $$HOME; echo e >&2; cat\n"
                                "print('z')")
        out = outcome.out.splitlines()
        self.assertEqual((out[0], out[1].rpartition(" ")[0], out[2:]), ("a", "x y x y $name", ["e", "z"]))
        self.assertEqual(outcome.err, "")
        self.assertEqual(self.run_cell("!exit 3\n_exit_code").text, "3")
        self.assertEqual(self.run_cell("!printf '%s\\n' a | awk '{print $1}'").out, "a\n")
        self.assertEqual(self.run_cell("def f(y):\n    !echo {y} $y\nf(5)").out, "5 5\n")

    def test_the_output_of_a_command_is_a_list_of_lines(self):
        self.assertEqual(self.run_cell("x = !printf 'a\\nb c\\n'\n[x, x.n, x.s, x.fields(0), x.grep('b')]").text,
                         "[['a', 'b c'], 'a\\nb c', 'a b c', ['a', 'b'], ['b c']]")

    def test_cells_of_programs(self):
        outcome = self.run_cell("%%bash\nx=$(echo hi)\necho $x\necho bad >&2")
        self.assertEqual((outcome.out, outcome.err, outcome.error[0]), ("hi\n", "bad\n", None))
        outcome = self.run_cell("%%sh\nexit 4")
        self.assertEqual(outcome.error[0], "CalledProcessError")
        self.assertIn("exit status 4", outcome.error[1])
        self.assertIsNone(self.run_cell("%%sh --no-raise-error\nexit 4").error[0])
        self.assertEqual(self.run_cell("%%bash --out o --err=e\necho 1\necho 2 >&2").out, "")
        self.assertEqual(self.run_cell("o + e").text, repr("1\n2\n"))
        self.assertEqual(self.run_cell("%%script cat\nas it is {x}").out, "as it is {x}\n")
        self.assertEqual(self.run_cell("%%script no_such_program\n1").error[0], "FileNotFoundError")

    def test_an_unknown_magic_is_a_usage_error(self):
        self.assertEqual(self.run_cell("%nonsense 1").error,
                         ("UsageError", "Line magic function `%nonsense` not found."))
        self.assertEqual(self.run_cell("%%nonsense\n1").error, ("UsageError", "Cell magic `%%nonsense` not found."))
        self.assertEqual(self.run_cell("%bash").error[0], "UsageError")
        self.assertEqual(self.run_cell("1\n%%time\n2").error[1], "Line magic function `%%time` not found.")

    def test_directory_and_environment(self):
        self.assertEqual(self.run_cell("%cd /\n%pwd").text, "'/'")
        self.assertEqual(self.run_cell("!pwd").out, "/\n")
        self.assertEqual(self.run_cell("import sys\nsys.path[-1]").text, "'/'")
        self.run_cell("%cd -q -")
        self.assertNotEqual(self.run_cell("import os\nos.getcwd()").text, "'/'")
        self.assertEqual(self.run_cell("%cd /no/such").error[0], "FileNotFoundError")
        self.assertEqual(self.run_cell("%env NB_A=b c\n!echo $NB_A").out, "env: NB_A=b c\nb c\n")
        self.assertEqual(self.run_cell("%env NB_A").text, "'b c'")
        self.assertEqual(self.run_cell("%env NB_NONE").error[0], "UsageError")

    def test_time(self):
        outcome = self.run_cell("%time 6 * 7")
        self.assertEqual(outcome.text, "42")
        self.assertRegex(outcome.out, r"CPU times: user .*, sys: .*, total: .*\nWall time: .*s\n$")
        self.assertEqual(self.run_cell("%%time\nz = 5\nz + 1").text, "6")
        self.assertRegex(self.run_cell("%timeit -n 3 -r 2 z + 1").out,
                         "^.*s \xb1 .*s per loop \\(mean \xb1 std. dev. of 2 runs, 3 loops each\\)\n$")
        self.assertIn("1 run, 2 loops each", self.run_cell("%%timeit -n2 -r1 w = z\nw + 1\nw").out)

    def test_names(self):
        host = Host()
        self.assertEqual(host.run("%who").out, "Interactive namespace is empty.\n")
        self.assertEqual(host.run("a = 1\nb = 'x'\n%who").out, "a\t b\t\n")
        self.assertEqual(host.run("%who_ls str").text, "['b']")
        self.assertIn("a          int    1", host.run("%whos").out)
        host.run("%reset -f")
        self.assertEqual(host.run("a").error[0], "NameError")
        host.close()

    def test_help(self):
        self.run_cell("def f(a, b=2):\n    'Does it.'\n    return a")
        out = self.run_cell("f?").out
        self.assertIn("f(a, b=2)", out)
        self.assertIn("Does it.", out)
        self.assertIn("return a", self.run_cell("f??").out)
        self.assertEqual(self.run_cell("no_such?").out, "Object `no_such` not found.\n")

    def test_magics_without_percent(self):
        self.assertEqual(self.run_cell("pwd").error[0], None)
        self.assertEqual(self.run_cell("ls = 5\nls").text, "5")
        self.run_cell("del ls")
        self.assertEqual(self.run_cell("ls -d /").out, "//\n")
        self.assertEqual(self.run_cell("pwd = 1").error[0], None)
        self.run_cell("del pwd")

    def test_written_and_run_files(self):
        self.assertEqual(self.run_cell("%%writefile made.py\nq = 3\nprint('ran')").out, "Writing made.py\n")
        self.assertEqual(self.run_cell("%run made.py").out, "ran\n")
        self.assertEqual(self.run_cell("import made\nmade.q + q").text, "6")

    def test_capture(self):
        outcome = self.run_cell("%%capture got\nprint(1)\n!echo 2\ndisplay(3)\n4")
        self.assertEqual((outcome.out, outcome.displays), ("", []))
        outcome = self.run_cell("got.show()\ngot.stdout")
        self.assertEqual((outcome.text, outcome.out), (repr("1\n2\n"), "1\n2\n"))
        self.assertEqual([forms["text/plain"] for forms in outcome.forms], ["3", "4", repr("1\n2\n")])
        self.assertEqual(self.run_cell("5").text, "5")

    def test_semicolon(self):
        self.assertIsNone(self.run_cell("5;").text)

    def test_display_objects(self):
        outcome = self.run_cell(
            "from IPython.display import *\nfrom IPython import get_ipython as g, display as d\n"
            "for one in [HTML('<b>'), Markdown('*m*'), Latex('$x$'), Math('x'), SVG('<svg/>'), JSON({'a': [1]}),\n"
            "            Javascript('f()'), Image(b'\\x89PNG\\r\\n\\x1a\\n'), Image(b'\\xff\\xd8'),\n"
            "            Image(url='http://x/y')]:\n"
            "    display(one)\nd.display(HTML('again'))\ng() is get_ipython()")
        self.assertEqual(outcome.text, "True", outcome.error)
        kinds = [(sorted(set(forms) - {"text/plain"}) or [None])[0] for forms in outcome.forms]
        self.assertEqual(kinds, ["text/html", "text/markdown", "text/latex", "text/latex", "image/svg+xml",
                                 "application/json", "application/javascript", "image/png", "image/jpeg", "text/html",
                                 "text/html", None])
        self.assertEqual(outcome.forms[0]["text/plain"], "<IPython.core.display.HTML object>")
        self.assertEqual(outcome.forms[5]["application/json"], '{"a": [1]}')
        self.assertEqual(outcome.forms[7]["image/png"], "iVBORw0KGgo=")

    def test_objects_that_show_themselves(self):
        outcome = self.run_cell("class A:\n    def _ipython_display_(self): print('mine')\nA()")
        self.assertEqual((outcome.out, outcome.displays), ("mine\n", []))
        outcome = self.run_cell("class B:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                                "        return {'text/html': 'h', 'x/y': 'z'}\n"
                                "    def _repr_e2b_chart_(self): return {'type': 'line'}\nB()")
        self.assertEqual((outcome.forms[0]["text/html"], outcome.forms[0]["x/y"], outcome.forms[0]["e2b/chart"]),
                         ("h", "z", '{"type": "line"}'))
        self.assertEqual(self.run_cell("display({'text/html': 'raw'}, raw=True)").forms, [{"text/html": "raw"}])
        self.assertEqual(self.run_cell("%%html\n<i>").forms[0]["text/html"], "<i>\n")

    def test_lists_and_dicts_have_a_json_form(self):
        self.assertEqual(self.run_cell("{'a': [1, float('nan')], 2: None}").forms[0]["application/json"],
                         '{"a": [1, null], "2": null}')
        self.assertTrue(self.run_cell("list(range(100000))").forms[0]["application/json"].endswith(", 99999]"))
        for code in ["(1, 2)", "[object()]", "list(range(1000000))", "a = []; a.append(a); a"]:
            self.assertNotIn("application/json", self.run_cell(code).forms[0], code)

    def test_tables_have_their_data(self):
        outcome = self.run_cell(
            "import sys, types, datetime\nclass DataFrame:\n    shape = (2, 2)\n"
            "    def to_dict(self, orient): return {'a': [1, float('inf')], 3: [datetime.date(2026, 1, 2), 'x']}\n"
            "    def _repr_html_(self): return '<table/>'\n"
            "before = sys.modules.get('pandas')\nsys.modules['pandas'] = types.SimpleNamespace(DataFrame=DataFrame)\n"
            "display(DataFrame())\nsys.modules.pop('pandas')\nNone")
        self.assertEqual(json.loads(outcome.forms[0]["e2b/data"]), {"a": [1, None], "3": ["2026-01-02", "x"]})
        self.assertEqual(outcome.forms[0]["text/html"], "<table/>")

    def test_own_magics(self):
        self.run_cell("from IPython.core.magic import register_line_magic, register_cell_magic\n"
                      "@register_line_magic\ndef twice(line): return line * 2\n"
                      "@register_cell_magic('up')\ndef upper(line, cell): return cell.upper()")
        self.assertEqual(self.run_cell("%twice ab").text, "'abab'")
        self.assertEqual(self.run_cell("%%up\nab").text, repr("AB\n"))

    def test_an_interrupt_ends_a_command_and_all_of_its_processes(self):
        for code in ["!{0}", "x = !{0}", "%%bash\n{0}", "%%capture\n!{0}"]:
            with self.subTest(code), tempfile.TemporaryDirectory() as folder:
                started = pathlib.Path(folder) / "pids"
                work = ("trap '' INT; (setsid sh -c 'echo $$ >> %s; exec sleep 1000' &); sh -c 'echo $$ >> %s; "
                        "exec sleep 1000' & echo $$ >> %s; wait; sleep 1000" % ((started,) * 3))
                self.run_cell("kept = 5")

                def stop():
                    limit = time.monotonic() + 30
                    while time.monotonic() < limit:
                        if started.exists() and len(started.read_text().split()) == 3:
                            return self.host.cancel()
                        time.sleep(0.01)

                thread = threading.Thread(target=stop)
                thread.start()
                number = self.host.number
                outcome = self.run_cell(code.replace("{0}", work))
                thread.join()
                self.assertEqual(self.host.number, number + 1)
                self.assertEqual(outcome.error[0], "KeyboardInterrupt")
                self.assertTrue(outcome.header["alive"])
                self.assertEqual(self.run_cell("kept").text, "5")
                for pid in started.read_text().split():
                    self.assertFalse(alive(int(pid)), pid)

    def test_the_end_of_a_context_ends_its_background_commands(self):
        pid = int(self.run_cell("!setsid sleep 1000 > /dev/null 2>&1 & echo $!", context="other").out)
        self.assertTrue(alive(pid))
        self.host.send({"op": "drop", "context": "other", "id": 0})
        while self.host.read()[0]["t"] != "answer":
            pass
        limit = time.monotonic() + 30
        while alive(pid) and time.monotonic() < limit:
            time.sleep(0.01)
        self.assertFalse(alive(pid))

    def bash(self, code, **options):
        return self.run_cell("%%cofferdam_bash\n" + code, context="bash", **options)

    def test_bash_keeps_its_state(self):
        self.assertEqual(self.bash("x=5; f() { echo f$1; }; cd /").error[0], None)
        self.assertEqual(self.bash("f $x; pwd; read y; echo !x >&2").out, "f5\n/\n")
        outcome = self.bash("echo out; echo err >&2; (exit 3)")
        self.assertEqual((outcome.out, outcome.err, outcome.error), ("out\n", "err\n", ("", "3")))
        self.assertEqual(self.bash("if").error[0], "")
        self.assertEqual(self.bash("echo " + "y" * 200000).out, "y" * 200000 + "\n")
        self.assertEqual(self.bash("echo $x; exit 4").error, ("", "4"))
        self.assertEqual(self.bash("echo [$x]").out, "[]\n")

    def test_an_interrupt_ends_a_cell_of_bash_but_not_the_shell(self):
        mark = "sleep 1000.%d" % self.host.process.pid  # no other process has these arguments
        for index, code in enumerate(["echo up; MARK; echo not", "while :; do echo up; sleep 0.1; done",
                                      "sh -c \"trap '' INT; echo up; MARK\"; MARK; MARK",
                                      "(setsid MARK &); echo up; wait; MARK",
                                      "sh -c \"trap '' INT; echo up; sleep 0.1\"; while :; do sleep 0.1; echo again; done"]):
            with self.subTest(code):
                self.bash("kept=%d" % index)

                def cancel(host, text):
                    # Bash goes on after an interrupt that arrives while it starts a program.
                    commands = 2 if "setsid" in code else min(1, code.count("MARK"))
                    while count_running(mark) < commands:
                        time.sleep(0.005)
                    host.cancel()

                outcome = self.bash(code.replace("MARK", mark), when=cancel)
                self.assertEqual(outcome.error[0], "KeyboardInterrupt")
                self.assertNotIn("not", outcome.out)
                self.assertLess(outcome.out.count("again"), 20)  # each program is interrupted, not only the first one
                self.assertEqual(self.bash("echo $kept").out, "%d\n" % index)
        self.assertEqual(self.run_cell("x = !ps -eo args=\n[line for line in x if %r in line]" % mark).text, "[]")

    def test_the_host_learns_of_runs_that_wait_or_are_not_short(self):
        self.assertEqual(self.run_cell("import time; time.sleep(0.2)").turns, [True])
        first, second = self.host.begin("time.sleep(0.2)"), self.host.begin("time.sleep(0.2)")
        turns, ended = {first: [], second: []}, 0
        while ended < 2:
            header = self.host.read()[0]
            if header["t"] == "turn":
                turns[header["id"]].append(header["began"])
            ended += header["t"] == "end"
        self.assertEqual(turns, {first: [True], second: [False, True]})

    def test_plain_python_stays_plain(self):
        host = Host(notebook=False)
        for code in ["!ls", "%pwd", "  x = 1", "get_ipython()"]:
            self.assertIn(host.run(code).error[0], ("SyntaxError", "IndentationError", "NameError"), code)
        host.close()
        self.assertEqual(self.host.run("!ls", context=None).error[0], "SyntaxError")


def count_running(arguments):
    """Returns the number of processes with these arguments."""
    count = 0
    for each in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if each.read_bytes().decode(errors="replace").replace("\0", " ").strip() == arguments:
                count += 1
        except OSError:
            pass
    return count


def alive(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    signal.alarm(300)
    unittest.main(verbosity=1)
