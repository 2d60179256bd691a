// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/reject_patterns.hpp>

#include "code/guard_support.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

// Tables of all known ways to evade the checks of kodeagent and of the MCP executor (two Python projects), with the
// guard that must refuse each.

namespace {

using cofferdam::allow_imports;
using cofferdam::code_analysis;
using cofferdam::guard_refusal;
using cofferdam::import_policy;
using cofferdam::pattern_finding;
using cofferdam::pattern_policy;
using cofferdam::syntax_policy;
using cofferdam_test::read_all;

enum class by { imports, patterns, either };

struct vector {
  const char* code;
  by refuses;
};

/// The default policy of an agent: five modules from kodeagent, and three from its agent.
import_policy agents_policy() { return allow_imports("datetime", "typing", "mimetypes").policy(); }

std::string shown(const std::optional<guard_refusal>& refusal) {
  return refusal ? "line " + std::to_string(refusal->line()) + ": " + refusal->what() : "accepted";
}

std::string shown(const code_analysis& facts) {
  std::string text;
  if (facts.problem()) return facts.problem()->type() + ": " + facts.problem()->message();
  for (const auto& each : facts.all())
    text += std::to_string(static_cast<int>(each.kind())) + " " + each.name() + " / " + each.detail() + "\n";
  return text;
}

void expect_refused(const std::vector<vector>& table, const import_policy& imports, const pattern_policy& patterns) {
  std::vector<std::string> codes;
  for (const vector& each : table) codes.emplace_back(each.code);
  const auto facts = read_all(codes);
  for (std::size_t i = 0; i < table.size(); ++i) {
    // The code is no valid Python, so every guard refuses it.
    if (facts[i]->problem()) continue;
    const auto import_refusal = imports.judge(*facts[i]);
    const auto pattern_refusal = patterns.judge(*facts[i]);
    if (table[i].refuses == by::imports) {
      EXPECT_TRUE(import_refusal) << table[i].code << "\n" << shown(*facts[i]);
    }
    if (table[i].refuses == by::patterns) {
      EXPECT_TRUE(pattern_refusal) << table[i].code << "\n" << shown(*facts[i]);
    }
    EXPECT_TRUE(import_refusal || pattern_refusal) << table[i].code << "\n" << shown(*facts[i]);
  }
}

void expect_accepted(const std::vector<std::string>& codes, const import_policy& imports,
                     const pattern_policy& patterns) {
  const auto facts = read_all(codes);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_FALSE(facts[i]->problem()) << codes[i] << "\n" << shown(*facts[i]);
    const auto import_refusal = imports.judge(*facts[i]);
    const auto pattern_refusal = patterns.judge(*facts[i]);
    EXPECT_FALSE(import_refusal) << codes[i] << "\n" << shown(import_refusal);
    EXPECT_FALSE(pattern_refusal) << codes[i] << "\n" << shown(pattern_refusal);
  }
}

}  // namespace

// Feature: D10, D11, D12, D13
TEST(RejectPatterns, every_way_round_kodeagents_checks_is_refused) {
  const std::vector<vector> table = {
      {"import random; getattr(random._os,'sys'+'tem')('id')", by::imports},
      {"import random; getattr(random._os,'sys'+'tem')('id')", by::patterns},
      {"from random import _os\n_os.execvp('id', ['id'])", by::imports},
      {"from random import _os\n_os.execvp('id', ['id'])", by::patterns},
      {"from random import _os\n_os.remove('x')", by::patterns},
      {"import random; print(random._os.environ)", by::imports},
      {"import random; print(random._os.environ)", by::patterns},
      {"import mimetypes; mimetypes.os.environ", by::imports},
      {"import mimetypes; print(mimetypes.os.environ)", by::patterns},
      {"from mimetypes import os as o\no.system('id')", by::imports},
      {"from mimetypes import os as o\no.system('id')", by::patterns},
      {"from typing import sys\nsys.modules['os'].system('id')", by::imports},
      {"from typing import sys\nsys.modules['os'].system('id')", by::patterns},
      {"import typing\ntyping.sys.modules['o'+'s'].system('id')", by::imports},
      {"import typing\ntyping.sys.modules['o'+'s'].system('id')", by::patterns},
      {"import operator, random; operator.attrgetter('_os.system')(random)('id')", by::imports},
      {"getattr(__builtins__,'ex'+'ec')('print(1)')", by::imports},
      {"getattr(__builtins__,'ex'+'ec')('print(1)')", by::patterns},
      {"g = globals()['__buil'+'tins__']\ngetattr(g,'__imp'+'ort__')('os')", by::patterns},
      {"from . import os", by::imports},
      {"[c for c in ().__class__.__base__.__subclasses__() if c.__name__=='Popen']", by::patterns},
      {"getattr(getattr(().__class__,'__ba'+'se__'),'__subcl'+'asses__')()", by::patterns},
      {"print(open('/etc/passwd').read())", by::patterns},
      {"print(open('/proc/self/environ').read())", by::patterns},
      {"open('/root/.bashrc','a').write('x')", by::patterns},
      {"import os as o\nprint(o.environ)", by::patterns},
      {"import os as o\no.execvp('id', ['id'])", by::patterns},
      {"import os as o\no.kill(1, 9)", by::patterns},
      {"import os as o\no.fork()", by::patterns},
      {"while 1:\n    pass", by::patterns},
      {"while not False:\n    x = 1", by::patterns},
      {"while True:\n    for i in (1, 2):\n        break", by::patterns},
      {"for i in range(0, 10**12): pass", by::patterns},
      {"for i in range(10**12):\n    pass", by::patterns},
      {"x = [0]*(10**12)", by::patterns},
      {"x = b'A'*10**10", by::patterns},
      {"n = 10**12\nx = 'A'*n", by::patterns},
      {"cmd = 'rm  -rf /'", by::patterns},
      {"cmd = 'rm -fr /'", by::patterns},
      {"cmd = 'rm -r --force ~'", by::patterns},
      {"open('../../etc/passwd')", by::patterns},
      {"import urllib.request", by::imports},
  };
  // Each entry is judged by both policies, and must be refused by the policy that the table names.
  expect_refused(table, agents_policy(), pattern_policy());
}

TEST(RejectPatterns, every_way_round_the_mcp_executors_checks_is_refused) {
  expect_refused(
      {
          {"__import__('os').system('id')", by::imports},
          {"__import__('os').system('id')", by::patterns},
          {"import math, os", by::imports},
          {"x=1; import os", by::imports},
          {"if 1: import os", by::imports},
          {"import json as j, subprocess", by::imports},
          {"import\\\n os", by::imports},
          {"print(open ('/etc/passwd').read())", by::patterns},
          {"import urllib.request\nurllib.request.urlopen('file:///etc/passwd')", by::imports},
          {"import urllib.request\nurllib.request.urlopen('file:///etc/passwd')", by::patterns},
          {"import urllib.request\nurllib.request.os.system('id')", by::patterns},
          {"import typing\nprint(typing.sys.modules['os'])", by::imports},
          {"exec('import os')", by::imports},
          {"exec('import os')", by::patterns},
          {"eval('1')", by::imports},
          {"eval('1')", by::patterns},
          {"getattr(__builtins__,'op'+'en')('/etc/passwd')", by::imports},
          {"getattr(__builtins__,'op'+'en')('/etc/passwd')", by::patterns},
      },
      allow_imports("math", "json", "typing").policy(), pattern_policy());
}

TEST(RejectPatterns, urllib_allowed_does_not_allow_what_it_has_imported) {
  const auto facts = cofferdam_test::read_one("import urllib.request\nurllib.request.os.system('id')");
  const auto refusal = allow_imports("urllib").policy().judge(*facts);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->line(), 2);
  EXPECT_NE(refusal->what().find("'os'"), std::string::npos) << refusal->what();
}

TEST(RejectPatterns, every_false_alarm_of_the_seeds_is_accepted) {
  expect_accepted(
      {
          "import re\np = re.compile('a')\nprint(p.match('abc'))",
          "class model:\n    def eval(self): return 1\nm = model()\nm.eval()",
          "import platform\nprint(platform.system())",
          "a = b'a'\nprint(a.decode(), a.decode(), a.decode('utf-8'), a.decode())",
          "x = 1\nprint(x.__class__, x.__class__, x.__class__, x.__class__, x.__class__, x.__class__)",
          "print('To clean up, run rm -rf /tmp/x')",
          "eval = 3\nprint(eval + 1)",
          "def f(eval):\n    return eval * 2\nprint(f(2))",
          "import random\nprint(random.random())",
          "def f():\n    \"\"\"\n    import the data\n    \"\"\"\n    return 1\nf()",
          "class x:\n    def open(self, n): return n\nx().open('y')",
      },
      allow_imports("platform").policy(), pattern_policy());
}

TEST(RejectPatterns, more_ways_to_the_same_ends_are_refused) {
  expect_refused(
      {
          {"e = eval\ne('1')", by::patterns},
          // The variable r may be a module that an earlier run of the context has imported.
          {"r._os.system('id')", by::imports},
          {"r.module.os.getpid()", by::imports},
          {"if 0: exec = 1\nexec('import os')", by::patterns},
          {"exec = 1\ndel exec\nexec('import os')", by::patterns},
          {"class A:\n    exec = 1\n    def f(self):\n        exec('import os')", by::patterns},
          {"import random as r\nm = r\nm._os.system('id')", by::imports},
          {"import random\ndef f(m): return m._os\nf(random)", by::imports},
          {"import random\nfor m in [random]: m._os", by::imports},
          {"import random\nvars(random)['_os']", by::imports},
          {"import random\nrandom.__dict__['_os'].system('x')", by::imports},
          {"import typing\nclass A:\n    x: \"__import__('os').system('id')\"\ntyping.get_type_hints(A)", by::patterns},
          {"import timeit\ntimeit.timeit(\"import os; os.system('id')\")", by::imports},
          {"import timeit\ns = input()\ntimeit.timeit(s)", by::imports},
          {"from importlib import import_module as i\ni('o' + 's')", by::imports},
          {"import importlib\nimportlib.import_module(input())", by::imports},
          {"''.join(['r', 'm'])\nx = ''.join(['/etc', '/pass', 'wd'])\nopen(x)", by::patterns},
          {"open(chr(47) + 'etc/passwd')", by::patterns},
          {"f'{chr(95)}{chr(95)}globals__'", by::patterns},
          {"getattr(print, '__' + 'self__').exec('1')", by::imports},
          {"getattr(print, '__' + 'self__').exec('1')", by::patterns},
          {"print.__self__.eval('1')", by::either},
          {"def f(): pass\nf.__globals__['__builtins__']", by::patterns},
          {"import json\njson.loads.__globals__", by::patterns},
          {"import json\njson.codecs.sys.modules", by::imports},
          {"from json import codecs", by::imports},
          {"2 ** 2 ** 2 ** 2 ** 2 ** 2", by::patterns},
          {"1 << 10**12", by::patterns},
          {"sum(i for i in range(10**15))", by::patterns},
      },
      allow_imports("typing", "timeit", "importlib", "json").policy(), pattern_policy());
}

TEST(RejectPatterns, ordinary_neighbours_of_attacks_are_accepted) {
  expect_accepted(
      {
          "import os.path\nprint(os.path.join('a', 'b'))",
          "from os import path, getcwd\nprint(path.exists('x'), getcwd())",
          "class Shape: pass\nclass Square(Shape): pass\nprint([c.__name__ for c in Shape.__subclasses__()])",
          "class A:\n    def __repr__(self): return '{0.__class__.__name__}()'.format(self)\nprint(A())",
          "while True:\n    line = next(iter('x'))\n    if line: break",
          "def numbers():\n    n = 0\n    while True:\n        yield n\n        n += 1",
          "import collections.abc\nprint(isinstance([], collections.abc.Sized))",
          "import math\nfor name in ('sin', 'cos'):\n    print(getattr(math, name)(1.0))",
          "class A:\n    def visit(self, kind): return getattr(self, f'visit_{kind}')()\n    def visit_x(self): return "
          "1",
          "import time as t\nstart = t.perf_counter()\nfor i in range(2_000_000): pass\nprint(t.perf_counter() - "
          "start)",
          "import timeit\nprint(timeit.timeit(lambda: sum(range(10)), number=10))",
          "import timeit\nprint(timeit.timeit('sum(range(10))', number=10))",
          "import numpy as np\na = np.array([1, 2])\nprint(np.random.rand(2), np.trace(a), np.linalg.norm(a))",
          "import pandas as pd\nimport matplotlib.pyplot as plt\ndf = pd.DataFrame()\ndf.eval('a + "
          "b')\nplt.savefig('x.png')",
          "x = '../data/in.csv'\ny = '../../shared/x'",
          "import re\nprint(re.sub(r'(\\w+)\\.(\\w+)', r'\\2', 'a.b'), '{name}'.format(name=1))",
          "import sys\nprint('x', file=sys.stderr)\nif len(sys.argv) > 9: sys.exit(2)",
          "from __future__ import annotations\nimport typing\ndef f(x: 'int') -> 'list[int]': return [x]",
          "import base64\nprint(base64.b64decode('aGk='))",
          "import json\nhelp(json)\nprint(json.__doc__)",
      },
      allow_imports("os", "collections", "math", "timeit", "numpy", "pandas", "matplotlib", "sys", "base64", "json",
                    "typing")
          .policy(),
      pattern_policy());
}

TEST(RejectPatterns, ways_to_modules_that_no_import_names_are_refused) {
  expect_refused(
      {
          {"for k, v in list(globals().items()):\n    if k.startswith('__bu'): b = v", by::imports},
          {"for v in globals().values(): print(v)", by::imports},
          {"g = globals()\nfor k in g: print(g[k])", by::imports},
          {"dict(globals())", by::imports},
          {"names = globals\nnames().values()", by::imports},
          {"[v for k, v in locals().items()]", by::imports},
          {"v = vars()", by::imports},
          {"import ast\nast.__getattribute__('sys')", by::imports},
          {"import ast\nast.__getattribute__('s' + 'ys')", by::imports},
          {"import ast\nast.__getattribute__(input())", by::imports},
          {"import ast\nlook = ast.__getattribute__\nlook('sys')", by::imports},
          {"import os\nos.__getattribute__('system')('id')", by::patterns},
          {"import ast\nd = ast.__dict__\nd['sys']", by::imports},
          {"import ast\nfor v in ast.__dict__.values(): print(v)", by::imports},
          {"import ast\ngetattr(ast, '__dict__')", by::imports},
          {"import random\nrandom.__builtins__['x']", by::imports},
          {"import random\nrandom.__loader__.load_module('os')", by::imports},
          {"def f(): pass\nf.__globals__", by::imports},
          {"help('evil')", by::imports},
          {"name = 'evil'\nhelp(name)", by::imports},
          {"help('ev' + input())", by::imports},
          {"for name in ['evil']: help(name)", by::imports},
          {"h = help\nh('evil')", by::imports},
          {"list(map(help, ['evil']))", by::imports},
          {"help.__call__('evil')", by::imports},
          {"help()", by::imports},
          {"breakpoint()", by::imports},
          {"b = breakpoint\nb()", by::imports},
          {"import sys\nsys.breakpointhook()", by::imports},
          {"def f(): pass\nf.__code__ = f.__code__.replace(co_names=('__import' + chr(95) * 2,))", by::imports},
          {"c = (lambda: 0).__code__\nc.replace(co_names=('x',))", by::imports},
          {"f.__code__ = g.__code__", by::imports},
          {"def f(): pass\nf.__code__.replace(**{'co_names': ()})", by::imports},
          {"def f(): pass\nsetattr(f, '__code__', 1)", by::imports},
          {"def f(): pass\nobject.__setattr__(f, '__code__', 1)", by::imports},
          {"import types\ntypes.FunctionType(c, {})", by::imports},
          // Another function changes the value of the name before the import.
          {"b = 'os'\na = b\ndef f():\n    b = 'json'\n    __import__(a)\nf()", by::imports},
          {"x = 'json'\ndef f():\n    global x\n    x = 'os'\nf()\n__import__(x)", by::imports},
          {"def f():\n    x = 'json'\n    def g():\n        nonlocal x\n        x = 'os'\n    g()\n    __import__(x)",
           by::imports},
      },
      allow_imports("os", "sys", "json", "types").policy(), pattern_policy());
}

TEST(RejectPatterns, files_that_no_open_names_are_refused) {
  expect_refused(
      {
          {"license._Printer__filenames = ['/etc/hos' + 'tname']\nlicense()", by::imports},
          {"l = license\nl._Printer__filenames = ['x']", by::imports},
          {"setattr(license, '_Printer__filenames', ['x'])", by::imports},
          {"license.__dict__['_Printer__filenames'] = ['x']", by::imports},
          {"vars(license)['_Printer__filenames'] = ['x']", by::imports},
          {"credits.__init__('x', '', ['passwd'], ['/etc'])", by::imports},
          {"type(copyright)('x', '', ['passwd'], ['/etc'])", by::imports},
          {"p = '/etc/pas'\np += 'swd'\nopen(p)", by::patterns},
          {"def f():\n    p = b'/etc'\n    p += b'/pas'\n    p += b'swd'\n    open(p)", by::patterns},
          {"open('/etc/' + 'passwd' + input())", by::patterns},
      },
      allow_imports("os").policy(), pattern_policy());
}

TEST(RejectPatterns, ordinary_neighbours_of_these_are_accepted) {
  expect_accepted(
      {
          "print(license)\nlicense()\ncredits = 3\ncredits += 1\ndef f(copyright): return copyright.upper()",
          "import json\nhelp(json)\nhelp(json.dumps)\nhelp(print)\nhelp('if')\nhelp('json')\ndf = 1\nhelp(df)",
          "import argparse\np = argparse.ArgumentParser()\np.add_argument('x', help='text')\nclass A:\n    help = 'x'",
          "if 'x' in globals(): print(globals()['x'])\nglobals()['y'] = 1\nglobals().get('z')",
          "print(sorted(globals()))\nfor name in list(globals()): print(name)\nprint(vars(), len(locals()))",
          "def f(a, b):\n    for k, v in locals().items(): print(k, v)\n    return locals()",
          "class A:\n    def __init__(self, x): self.__dict__.update(locals())\nprint(vars(A(1)), A(1).__dict__)",
          "a = 1\nprint('{a}'.format(**locals()), '{a}'.format(**globals()))",
          "import timeit\ndef f(): pass\nprint(timeit.timeit('f()', globals=globals(), number=1))",
          "def f(): pass\nprint(f.__code__.co_varnames, f.__code__.co_argcount)",
          "import datetime\nnow = datetime.datetime.now()\nprint(now.replace(**{'hour': 1}), 'a'.replace('a', 'b'))",
          "class A:\n    def __getattr__(self, n): return super().__getattribute__(n)\n"
          "    def __setattr__(self, n, v): object.__setattr__(self, n, v)",
          "s = 'a'\nfor i in range(3): s += 'b'\nprint(s)",
          // Names of module attributes are accepted if they are constants of one loop.
          "import statistics\nfor name in ('mean', 'median'): print(name, getattr(statistics, name)([1, 2]))",
          "import numpy as np\nnames = ['sin', 'cos']\nprint([getattr(np, name)(0) for name in names])",
          "import numpy as np\nlib = np\nprint(lib.sqrt(4))",
          "import os\nos.environ['MPLBACKEND'] = 'Agg'",
      },
      allow_imports("os", "json", "argparse", "timeit", "datetime", "statistics", "numpy").policy(), pattern_policy());
  // These texts are refused, because the name of the attribute is not a known constant.
  expect_refused(
      {
          {"import statistics\nfor name in ('sys',): getattr(statistics, name)", by::imports},
          {"import statistics\nfor name in input().split(): getattr(statistics, name)", by::imports},
          {"import statistics\nname = 'x'\nfor name in ('mean',): getattr(statistics, name)", by::imports},
          {"import numpy, pandas\nfor m in (numpy, pandas): print(m.__version__)", by::imports},
          {"import os\nos.environ['LD_PRELOAD'] = 'x'", by::patterns},
          {"import os\nprint(os.environ['MPLBACKEND'])", by::patterns},
      },
      allow_imports("os", "statistics", "numpy", "pandas").policy(), pattern_policy());
}

TEST(RejectPatterns, class_patterns_take_nothing_from_modules) {
  expect_refused(
      {
          {"import os\nmatch os:\n    case object(system=s): s('id')", by::patterns},
          {"import os\nmatch os:\n    case object(\xef\xbd\x93ystem=s): s('id')", by::patterns},
          {"import random\nmatch random:\n    case object(_os=o): o.system('id')", by::patterns},
          {"import json\nmatch json:\n    case object(codecs=object(sys=s)): s.exit()", by::patterns},
          {"import json\nmatch json:\n    case object(codecs=c) | object(decoder=c): c.sys", by::patterns},
          {"import json\nmatch [json]:\n    case [object(codecs=c)]: print(c.sys)", by::patterns},
          {"import json\nmatch vars(json):\n    case {'codecs': c}: print(c)", by::patterns},
      },
      agents_policy(), pattern_policy());
}

TEST(RejectPatterns, format_texts_take_nothing_from_modules) {
  expect_refused(
      {
          {"import json\n'{0.codecs.sys.modules}'.format(json)", by::patterns},
          {"import json\n'{.codecs.sys}'.format(json)", by::patterns},
          {"import json\n'{m.codecs.sys}'.format(m=json)", by::patterns},
          {"import os\n'{0.environ}'.format(os)", by::patterns},
          {"import os\n'{x.environ[HOME]}'.format(x=os)", by::patterns},
          {"import json\nstr.format('{0.codecs.sys}', json)", by::patterns},
          {"import random\nf = str.format\nf('{0._os}', random)", by::patterns},
          {"f = '{0.os.env' + 'iron}'\nprint(f.format(thing))", by::patterns},
          {"import string, json\nstring.Formatter().vformat('{0.codecs.sys.modules}', (json,), {})", by::patterns},
      },
      agents_policy(), pattern_policy());
}

TEST(RejectPatterns, the_names_of_a_module_are_not_taken_as_a_whole) {
  expect_refused(
      {
          {"import json\nvars(json)['codecs'].sys.modules['os'].system('id')", by::patterns},
          {"import json\nx = vars(json)\nx['co' + 'decs']", by::patterns},
          {"import json\nvars(json).get('codecs').sys", by::patterns},
          {"import json\nfor k, v in vars(json).items(): print(v)", by::patterns},
          {"import json\nd = dict(vars(json))", by::patterns},
          {"import json\nv = vars\nv(json)", by::patterns},
          {"import inspect, json\ndict(inspect.getmembers(json))['codecs']", by::patterns},
          {"import json\nobject.__getattribute__(json, 'codecs').sys.modules", by::patterns},
          {"import json\ntype(json).__getattribute__(json, 'co' + input())", by::patterns},
          {"import json\ng = type(json).__getattribute__\ng(json, 'codecs')", by::patterns},
      },
      agents_policy(), pattern_policy());
}

TEST(RejectPatterns, functions_that_look_names_up_are_not_passed_on) {
  expect_refused(
      {
          {"import json\nprint(list(map(getattr, [json], ['codecs'])))", by::patterns},
          {"import os\nf = getattr\nf(os, 'system')('id')", by::patterns},
          {"import json\nfrom functools import partial\npartial(getattr, json)('codecs')", by::patterns},
          {"import json\nfrom functools import reduce\nreduce(getattr, ['codecs', 'sys', 'modules'], json)",
           by::patterns},
          {"class M(type):\n    __or__ = getattr", by::patterns},
          {"import operator, json\noperator.attrgetter('codecs.sys.modules')(json)", by::patterns},
          {"import json\ndef g(m, n): return getattr(m, n)\ng(g(json, 'codecs'), 'sy' + 's')", by::patterns},
      },
      agents_policy(), pattern_policy());
}

TEST(RejectPatterns, classes_and_functions_take_nothing_from_a_module_they_are_given) {
  expect_refused(
      {
          {"import json\nclass A:\n    __class_getitem__ = lambda k: k.codecs.sys.modules\nA[json]", by::patterns},
          {"import os\nclass A:\n    __class_getitem__ = os.system\nA['id']", by::patterns},
          {"class A:\n    __class_getitem__ = eval\nA['1']", by::patterns},
          {"import json\nclass M(type):\n    def __getitem__(c, k): return k.codecs.sys\n"
           "class A(metaclass=M): pass\nA[json]",
           by::patterns},
          {"import json\ndef f(m): return m.codecs.sys.modules['os']\nf(json)", by::patterns},
          {"import json\n[m.codecs.sys for m in [json]]", by::patterns},
          {"import random\nx = (random,)\nx[0]._os.system('id')", by::patterns},
          {"import json\nf = lambda m=json: m.codecs.sys", by::patterns},
      },
      agents_policy(), pattern_policy());
}

TEST(RejectPatterns, names_in_other_letters_are_what_python_reads) {
  expect_refused(
      {
          {"import os\nos.\xef\xbd\x93ystem('id')", by::patterns},
          {"\xef\xbd\x85val('1')", by::patterns},
          {"import \xef\xbd\x8fs as p\np.system('id')", by::patterns},
          {"from \xef\xbd\x8fs import \xef\xbd\x93ystem as s\ns('id')", by::patterns},
          {"().__\xef\xbd\x83lass__.__base__.__\xef\xbd\x93ubclasses__()", by::patterns},
      },
      agents_policy(), pattern_policy());
}

TEST(RejectPatterns, ordinary_neighbours_of_tricks_are_accepted) {
  const auto patterns_only = [](const std::vector<std::string>& codes) {
    const auto facts = read_all(codes);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      EXPECT_FALSE(facts[i]->problem()) << codes[i];
      const auto refusal = pattern_policy().judge(*facts[i]);
      EXPECT_FALSE(refusal) << codes[i] << "\n" << shown(refusal);
    }
  };
  patterns_only({
      "class Point:\n    def __init__(self, x, y): self.x, self.y = x, y\n"
      "match Point(1, 2):\n    case Point(x=0, y=y): print(y)\n    case Point(x=x): print(x)",
      "match {'os': 'linux'}:\n    case {'os': name}: print(name)",
      "class P: name = 'a'\nprint('{0.name} {p.name:>4} {}'.format(P(), 1, p=P()), '{a[0]} {a[1]}'.format(a=[1, 2]))",
      "class C:\n    def __class_getitem__(cls, item): return cls\nprint(C[int])",
      "class M(type):\n    def __call__(cls, *a): return super().__call__(*a)\nclass A(metaclass=M): pass\nprint(A())",
      "class A: x = 1\nprint(vars(A()), vars(A)['x'], getattr(A(), 'x'), [getattr(A(), n) for n in ('x',)])",
      "import operator\nprint(sorted([{'a': 2}], key=operator.itemgetter('a')), operator.attrgetter('real')(1))",
      "import json, inspect\nprint(inspect.signature(json.dumps), 'codecs' in vars(json), len(vars(json)))",
      "import numpy, pandas\nfor m in (numpy, pandas): print(m.__name__, m.__version__)",
  });
}

TEST(RejectPatterns, what_is_permitted_is_not_counted) {
  const auto facts = cofferdam_test::read_one("import os\nos.remove('a.txt')\n");
  EXPECT_TRUE(pattern_policy().judge(*facts));
  EXPECT_FALSE(cofferdam::reject_patterns().permit("os.remove").policy().judge(*facts));
}

// Feature: D8, D9
TEST(RejectPatterns, scores_add_up_and_what_stands_there_often_counts_once) {
  const auto facts = cofferdam_test::read_one(
      "import threading, subprocess, multiprocessing\nimport socket\nfor i in range(3): print(b'x'.fromhex('00'))\n");
  int sum = 0;
  for (const pattern_finding& each : pattern_policy().findings(*facts)) sum += each.score();
  EXPECT_EQ(sum, 5 + 5 + 5 + 2 + 5);
  const auto refusal = pattern_policy().judge(*facts);
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->what().find("high risk score (22)"), std::string::npos) << refusal->what();
}

TEST(CheckSyntax, another_encoding_is_refused) {
  const auto facts = cofferdam_test::read_one("# coding: utf-7\nx = 1\n");
  const auto refusal = syntax_policy().judge(*facts);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->line(), 1);
  EXPECT_FALSE(syntax_policy().judge(*cofferdam_test::read_one("# -*- coding: utf-8 -*-\nx = 1\n")));
}
