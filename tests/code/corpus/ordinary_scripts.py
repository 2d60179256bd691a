#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Prints 500 ordinary scripts, as a JSON array of {"name", "code", "runs"}. The scripts are the same each time.

They were written for these tests, after the kinds of tasks that people give to models: tables, text, dates, files,
plots, small programs. Each script consists of one to three of the pieces below, with different names and numbers.
"runs" is true if a script needs only the standard library.
"""
import json
import random
import re
import string

THINGS = ["apples", "orders", "planets", "cities", "scores", "prices", "readings", "visits", "songs", "parcels",
          "tickets", "batches", "players", "rivers", "trains", "samples", "invoices", "recipes", "sensors", "votes"]
WORDS = ["alpha", "bravo", "copper", "delta", "ember", "fjord", "grove", "harbor", "island", "juniper", "kettle",
         "lantern", "meadow", "nectar", "orchid", "pepper", "quartz", "ribbon", "saddle", "timber"]
THIRD_PARTY = re.compile(r"^\s*(import|from) (numpy|pandas|matplotlib|scipy|sklearn|seaborn)", re.M)

PIECES = r'''
import csv, io
text = "name,$things\n$word,$a\n$word2,$b\n"
rows = list(csv.DictReader(io.StringIO(text)))
total = sum(int(row["$things"]) for row in rows)
print("total", total, "mean", total / len(rows))
----
import csv
with open("$things.csv", "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["id", "value"])
    for i in range($small):
        writer.writerow([i, i * $a])
with open("$things.csv", newline="") as source:
    best = max(csv.reader(source), key=lambda row: int(row[1]) if row[1].isdigit() else -1)
print(best)
----
import json
data = {"$things": [{"name": "$word", "n": $a}, {"name": "$word2", "n": $b}], "ok": True}
text = json.dumps(data, indent=2, sort_keys=True)
again = json.loads(text)
assert again == data
print(max(again["$things"], key=lambda item: item["n"])["name"])
----
import json
from pathlib import Path
path = Path("$word.json")
path.write_text(json.dumps({"count": $a, "tags": ["$word", "$word2"]}), encoding="utf-8")
loaded = json.loads(path.read_text(encoding="utf-8"))
loaded["count"] += $small
path.write_text(json.dumps(loaded))
print(path.stat().st_size > 0, loaded)
----
from collections import Counter
text = "$word $word2 $word the $things and the $word2 of $word"
counts = Counter(text.split())
for token, n in counts.most_common(3):
    print(f"{token:>12} {n}")
----
from collections import defaultdict, namedtuple, deque, OrderedDict
Item = namedtuple("Item", "kind weight")
groups = defaultdict(list)
for item in [Item("$word", $a), Item("$word2", $b), Item("$word", $small)]:
    groups[item.kind].append(item.weight)
print({kind: sum(weights) for kind, weights in groups.items()})
recent = deque(maxlen=3)
recent.extend(range($small))
print(list(recent), OrderedDict(a=1))
----
from dataclasses import dataclass, field, asdict
@dataclass
class $Word:
    name: str
    amount: float = $a.0
    tags: list = field(default_factory=list)
    @property
    def doubled(self):
        return self.amount * 2
    def __post_init__(self):
        self.tags.append(self.name.lower())
one = $Word("$Word2")
print(one.doubled, asdict(one), one.__class__.__name__)
----
class $Word:
    """A stack that compiles nothing and evals nothing."""
    def __init__(self):
        self._items = []
    def push(self, item):
        self._items.append(item)
        return self
    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty $word")
        return self._items.pop()
    def __len__(self):
        return len(self._items)
stack = $Word().push($a).push("$word")
print(stack.pop(), len(stack), type(stack).__name__)
----
from abc import ABC, abstractmethod
import math
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    def __repr__(self):
        return f"<{self.__class__.__name__} {self.area():.2f}>"
class Circle(Shape):
    def __init__(self, r): self.r = r
    def area(self): return math.pi * self.r ** 2
class Square(Shape):
    def __init__(self, side): self.side = side
    def area(self): return self.side ** 2
for shape in sorted([Circle($small), Square($a)], key=lambda s: s.area()):
    print(shape)
print([kind.__name__ for kind in Shape.__subclasses__()])
----
import re
log = """2024-0$digit-11 ERROR $word failed
2024-0$digit-12 INFO $word2 done
2024-0$digit-13 ERROR $word2 failed"""
pattern = re.compile(r"^(?P<day>\d{4}-\d\d-\d\d) (?P<level>[A-Z]+) (?P<text>.*)$", re.M)
errors = [m.group("text") for m in pattern.finditer(log) if m.group("level") == "ERROR"]
print(errors, re.sub(r"\d+", "#", log)[:20])
----
import re
emails = "$word@example.org, bad@, $word2.x@mail.example.com"
found = re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", emails)
print(found, bool(re.fullmatch(r"[a-z]+", "$word")), re.split(r"[,\s]+", emails))
----
from datetime import datetime, timedelta, date
start = date(202$digit, 1, 15)
days = [start + timedelta(days=$small * i) for i in range(5)]
for day in days:
    print(day.isoformat(), day.strftime("%A"), day.isocalendar()[1])
print((datetime(2024, 5, 17, 12, 30) - datetime(2024, 5, 1)).total_seconds() / 3600)
----
import datetime as dt
when = dt.datetime.strptime("2023-0$digit-2$digit 10:45", "%Y-%m-%d %H:%M")
utc = when.replace(tzinfo=dt.timezone.utc)
print(utc.isoformat(), utc.timestamp() > 0, (utc + dt.timedelta(weeks=$small)).date())
----
import calendar
month = calendar.monthcalendar(2024, $digit)
fridays = [week[calendar.FRIDAY] for week in month if week[calendar.FRIDAY]]
print(fridays, calendar.isleap(2000 + $a))
----
def fib(n, memo={}):
    if n < 2:
        return n
    if n not in memo:
        memo[n] = fib(n - 1) + fib(n - 2)
    return memo[n]
print([fib(i) for i in range($small)], fib(9$digit))
----
def hanoi(n, a="A", b="B", c="C"):
    if n == 0:
        return 0
    return hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)
print(hanoi($digit))
----
def primes(limit):
    sieve = bytearray([1]) * (limit + 1)
    sieve[0:2] = b"\0\0"
    for i in range(2, int(limit ** 0.5) + 1):
        if sieve[i]:
            sieve[i * i::i] = bytearray(len(sieve[i * i::i]))
    return [i for i, flag in enumerate(sieve) if flag]
print(primes($big)[-5:])
----
from functools import lru_cache, reduce, partial
import operator
@lru_cache(maxsize=None)
def ways(total, coins=(1, 5, 10, 25)):
    if total == 0: return 1
    if total < 0 or not coins: return 0
    return ways(total - coins[-1], coins) + ways(total, coins[:-1])
double = partial(operator.mul, 2)
print(ways($a), reduce(operator.add, range($small)), double($b))
----
import itertools
teams = ["$word", "$word2", "north", "south"]
for home, away in itertools.islice(itertools.permutations(teams, 2), $small):
    print(home, "-", away)
runs = [(key, len(list(group))) for key, group in itertools.groupby("aaabbc")]
print(runs, list(itertools.accumulate([$a, $b, $small])))
----
import heapq
graph = {"a": {"b": $a, "c": $small}, "b": {"d": 1}, "c": {"b": 2, "d": $b}, "d": {}}
def shortest(start):
    best, queue = {}, [(0, start)]
    while queue:
        cost, node = heapq.heappop(queue)
        if node in best:
            continue
        best[node] = cost
        for other, weight in graph[node].items():
            heapq.heappush(queue, (cost + weight, other))
    return best
print(shortest("a"))
----
import bisect
marks = sorted([$a, $b, 61, 72, 88, 95])
def grade(score, breakpoints=(60, 70, 80, 90), grades="FDCBA"):
    return grades[bisect.bisect(breakpoints, score)]
print([grade(m) for m in marks])
bisect.insort(marks, 77)
print(marks)
----
import statistics as st
values = [$a, $b, $small, 17, 23, 42]
print(st.mean(values), st.median(values), round(st.stdev(values), 3), st.quantiles(values, n=4))
----
import math
a, b = $a.5, $b.25
print(math.hypot(a, b), math.gcd($a, $b), math.isclose(0.1 + 0.2, 0.3), math.factorial($small))
for name in ("sin", "cos", "tan"):
    print(name, round(getattr(math, name)(a), 4))
----
import random
random.seed($a)
walk = [0]
for _ in range($big):
    walk.append(walk[-1] + random.choice((-1, 1)))
print(min(walk), max(walk), random.sample(range(100), 5), random.gauss(0, 1))
----
import random
hits = sum(1 for _ in range(20000) if random.random() ** 2 + random.random() ** 2 <= 1)
print("pi is about", 4 * hits / 20000)
deck = [f"{rank}{suit}" for suit in "SHDC" for rank in "A23456789TJQK"]
random.shuffle(deck)
print(deck[:5])
----
import string, textwrap
text = "The $things of $word were counted by $word2 every morning before the market opened. " * 2
print(textwrap.fill(text, width=3$digit))
print(text.translate(str.maketrans("", "", string.punctuation)).title()[:40])
----
def caesar(text, shift):
    result = []
    for ch in text:
        if ch.isalpha():
            base = ord("a") if ch.islower() else ord("A")
            result.append(chr((ord(ch) - base + shift) % 26 + base))
        else:
            result.append(ch)
    return "".join(result)
secret = caesar("Meet at $word", $digit)
print(secret, caesar(secret, -$digit))
----
from decimal import Decimal, ROUND_HALF_UP, getcontext
from fractions import Fraction
getcontext().prec = 2$digit
price = Decimal("$a.$b")
print((price * Decimal("1.19")).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP), Fraction($a, $b) + Fraction(1, 3))
----
from enum import Enum, auto
class State(Enum):
    OPEN = auto()
    CLOSED = auto()
    $WORD = auto()
    def next(self):
        members = list(State)
        return members[(members.index(self) + 1) % len(members)]
state = State.OPEN
for _ in range($digit):
    state = state.next()
print(state, State["CLOSED"].value)
----
from contextlib import contextmanager, suppress
import time
@contextmanager
def timed(label):
    start = time.perf_counter()
    try:
        yield
    finally:
        print(label, time.perf_counter() - start < 60)
with timed("$word"):
    with suppress(ZeroDivisionError):
        1 / 0
----
def read_numbers(lines):
    for number, line in enumerate(lines, 1):
        try:
            yield float(line)
        except ValueError as problem:
            print(f"line {number}: {problem}")
        else:
            pass
print(sum(read_numbers(["$a", "x$word", "$b.5", ""])))
----
import sqlite3
db = sqlite3.connect(":memory:")
db.execute("create table $things (name text, n integer)")
db.executemany("insert into $things values (?, ?)", [("$word", $a), ("$word2", $b), ("$word", $small)])
for name, total in db.execute("select name, sum(n) from $things group by name order by 2 desc"):
    print(name, total)
db.close()
----
from pathlib import Path
folder = Path("$things")
folder.mkdir(exist_ok=True)
for i in range($digit):
    (folder / f"part{i}.txt").write_text("$word\n" * i)
sizes = {p.name: p.stat().st_size for p in sorted(folder.glob("*.txt"))}
print(sizes, (folder / ".." / "$things").resolve().name)
----
import os
os.makedirs("out/$word", exist_ok=True)
path = os.path.join("out", "$word", "notes.txt")
with open(path, "w") as f:
    f.write("import the data, then evaluate\n")
for root, folders, files in os.walk("out"):
    print(root, len(files))
print(os.path.getsize(path), os.getcwd() != "", os.listdir("out"))
----
import zipfile, tempfile, shutil
from pathlib import Path
Path("$word.txt").write_text("$things " * $small)
with zipfile.ZipFile("$word.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.write("$word.txt")
with zipfile.ZipFile("$word.zip") as archive:
    print(archive.namelist(), archive.testzip())
with tempfile.TemporaryDirectory() as folder:
    shutil.copy("$word.txt", folder)
----
import gzip, hashlib
data = ("$word " * $big).encode()
packed = gzip.compress(data)
print(len(packed) < len(data), hashlib.sha256(gzip.decompress(packed)).hexdigest()[:8], hashlib.md5(b"$word2").hexdigest())
----
import struct, binascii, base64
packed = struct.pack("<IhB", $a, $b, $digit)
print(binascii.hexlify(packed), struct.unpack("<IhB", packed), base64.b64encode(packed).decode())
----
import base64
encoded = base64.b64encode("$word $word2".encode("utf-8"))
print(encoded.decode("ascii"), base64.b64decode(encoded).decode("utf-8").upper())
----
import xml.etree.ElementTree as ET
root = ET.fromstring("<$things><item n='$a'>$word</item><item n='$b'>$word2</item></$things>")
for item in root.iter("item"):
    print(item.text, int(item.get("n")) + 1)
ET.SubElement(root, "item", n="0").text = "new"
print(ET.tostring(root)[:30])
----
from html import escape, unescape
from html.parser import HTMLParser
class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []
    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href"]
parser = Links()
parser.feed("<p><a href='/$word'>x</a> <a href='/$word2?q=$a'>y</a></p>")
print(parser.found, escape("<$word>"), unescape("&lt;b&gt;"))
----
import configparser, io
config = configparser.ConfigParser()
config.read_string("[$word]\nsize = $a\nname = $things\n[other]\nflag = yes\n")
print(config["$word"].getint("size"), config.getboolean("other", "flag"), config.sections())
----
import argparse
parser = argparse.ArgumentParser(prog="$word", description="Counts $things.")
parser.add_argument("--limit", type=int, default=$a)
parser.add_argument("names", nargs="*")
args = parser.parse_args(["--limit", "$b", "$word", "$word2"])
print(args.limit, args.names, vars(args))
----
import logging
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("$word")
log.info("counted %d $things", $a)
log.warning("only %s left", $small)
----
import unittest
def slug(text):
    return "-".join(text.lower().split())
class SlugTest(unittest.TestCase):
    def test_blanks(self):
        self.assertEqual(slug("$Word  $Word2"), "$word-$word2")
    def test_empty(self):
        self.assertEqual(slug(""), "")
result = unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(SlugTest))
print(result.testsRun, result.wasSuccessful())
----
import asyncio
async def fetch(name, delay):
    await asyncio.sleep(delay / 1000)
    return f"{name} after {delay}"
async def main():
    results = await asyncio.gather(fetch("$word", $digit), fetch("$word2", $small))
    print(results)
asyncio.run(main())
----
import queue
todo = queue.PriorityQueue()
for priority, name in [($a, "$word"), ($b, "$word2"), (1, "first")]:
    todo.put((priority, name))
while not todo.empty():
    print(todo.get())
----
from typing import Dict, Iterable, List, Optional, Tuple, TypeVar, Generic
T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, item: Optional[T] = None) -> None:
        self.item = item
    def get(self, default: T) -> T:
        return default if self.item is None else self.item
def pairs(names: Iterable[str]) -> List[Tuple[str, int]]:
    lengths: Dict[str, int] = {name: len(name) for name in names}
    return sorted(lengths.items())
print(pairs(["$word", "$word2"]), Box[int]($a).get(0))
----
import copy, pprint
nested = {"$word": [1, [2, {"x": $a}]], "$word2": ($b,)}
deep = copy.deepcopy(nested)
deep["$word"][1][1]["x"] = 0
pprint.pprint(nested, width=40)
print(nested == deep)
----
matrix = [[$a, 2, 3], [4, $b, 6], [7, 8, $small]]
transposed = [list(row) for row in zip(*matrix)]
def determinant(m):
    if len(m) == 1:
        return m[0][0]
    return sum((-1) ** i * m[0][i] * determinant([row[:i] + row[i + 1:] for row in m[1:]]) for i in range(len(m)))
print(transposed, determinant(matrix))
----
def quicksort(items):
    if len(items) <= 1:
        return items
    pivot, *rest = items
    return quicksort([x for x in rest if x < pivot]) + [pivot] + quicksort([x for x in rest if x >= pivot])
print(quicksort([$a, $b, 3, $small, 9, 1, 1]))
----
def binary_search(items, wanted):
    low, high = 0, len(items) - 1
    while True:
        if low > high:
            return -1
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
print(binary_search(list(range(0, $big, 3)), $small * 3))
----
def guess(target, low=0, high=$big):
    tries = 0
    while True:
        tries += 1
        middle = (low + high) // 2
        if middle == target:
            break
        low, high = (middle + 1, high) if middle < target else (low, middle - 1)
    return tries
print(guess($a))
----
import time
from time import sleep
start = time.time()
for attempt in range(3):
    try:
        if attempt < 2:
            raise TimeoutError("$word is not ready")
        print("ready after", attempt)
    except TimeoutError as error:
        print(error)
        sleep(0.001 * 2 ** attempt)
print(time.strftime("%Y", time.localtime(start)) > "2000")
----
class Account:
    interest = 0.0$digit
    def __init__(self, owner, balance=0):
        self.owner, self.__balance = owner, balance
    @property
    def balance(self):
        return self.__balance
    @classmethod
    def empty(cls, owner):
        return cls(owner)
    @staticmethod
    def is_valid(amount):
        return amount > 0
    def deposit(self, amount):
        if not self.is_valid(amount):
            raise ValueError(f"cannot deposit {amount}")
        self.__balance += amount
    def __eq__(self, other):
        return isinstance(other, Account) and vars(self) == vars(other)
mine = Account.empty("$Word")
mine.deposit($a)
print(mine.balance, hasattr(mine, "owner"), getattr(mine, "limit", None))
----
class Visitor:
    def visit(self, node):
        method = getattr(self, "visit_" + type(node).__name__, self.generic)
        return method(node)
    def visit_int(self, node):
        return node + $a
    def visit_list(self, node):
        return [self.visit(item) for item in node]
    def generic(self, node):
        return node
print(Visitor().visit([1, "$word", [$b]]))
----
import ast
tree = ast.parse("total = price * $a + fee")
names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
print(names, ast.literal_eval("[1, {'$word': ($b, None)}]"))
----
import operator
table = [{"name": "$word", "n": $a}, {"name": "$word2", "n": $b}]
for row in sorted(table, key=operator.itemgetter("n"), reverse=True):
    print(row["name"].ljust(12, "."), str(row["n"]).rjust(6))
calculate = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
print(calculate["*"]($a, $small))
----
board = [[0] * 8 for _ in range(8)]
def safe(queens, row, col):
    return all(c != col and abs(c - col) != row - r for r, c in enumerate(queens))
def solve(n, queens=()):
    if len(queens) == n:
        return queens
    for col in range(n):
        if safe(queens, len(queens), col):
            found = solve(n, queens + (col,))
            if found:
                return found
    return None
print(solve(6), len(board))
----
def life(cells):
    from collections import Counter
    near = Counter((x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
    return {cell for cell, n in near.items() if n == 3 or (n == 2 and cell in cells)}
glider = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
for _ in range($small):
    glider = life(glider)
print(sorted(glider))
----
import uuid, secrets
print(uuid.uuid5(uuid.NAMESPACE_DNS, "$word.example.org"), len(secrets.token_hex($small)), uuid.uuid4().version)
----
from io import StringIO, BytesIO
buffer = StringIO()
print("$word", $a, sep=";", file=buffer)
for i in range(3):
    buffer.write(f"{i:0{$digit}d}|")
print(buffer.getvalue().splitlines(), BytesIO(b"$word2").read(3))
----
import sys
def main(argv):
    limit = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else $a
    print("limit", limit, file=sys.stderr)
    return 0
if __name__ == "__main__":
    code = main(["$word"])
    if code:
        sys.exit(code)
----
import timeit
loop = timeit.timeit(lambda: [i * i for i in range(100)], number=10)
text = timeit.timeit("sum(range(100))", number=10)
print(loop > 0, text > 0)
----
import unicodedata
name = "Zo\u00eb \u00c5ngstr\u00f6m $Word"
plain = "".join(c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c))
print(plain, name.casefold(), len(name.encode("utf-8")))
----
temperatures = {"mon": $a, "tue": $b, "wed": $small}
warmest = max(temperatures, key=temperatures.get)
above = {day: t for day, t in temperatures.items() if t > sum(temperatures.values()) / 3}
print(warmest, above, [f"{t * 9 / 5 + 32:.1f}" for t in temperatures.values()])
first, *others = temperatures
print(first, others, *(x for x in range($digit)), sep=", ")
----
def tokens(text):
    number = ""
    for ch in text + " ":
        if ch.isdigit() or ch == ".":
            number += ch
            continue
        if number:
            yield float(number)
            number = ""
        if not ch.isspace():
            yield ch
def evaluate(text):
    """Evaluates a sum; no eval() and no exec() needed."""
    total, sign = 0, 1
    for token in tokens(text):
        if token in ("+", "-"):
            sign = 1 if token == "+" else -1
        else:
            total += sign * token
    return total
print(evaluate("$a + $b - $small"))
----
import numpy as np
rng = np.random.default_rng($a)
x = rng.normal(size=($small, 3))
print(x.mean(axis=0), np.linalg.norm(x), np.array([1, 2, $b]).dtype, np.select([x > 0], [x], 0).shape)
print(np.trace(np.eye($digit)), np.copy(x).T.shape, np.fft.fft(np.ones(4)))
----
import pandas as pd
df = pd.DataFrame({"$things": ["$word", "$word2", "$word"], "n": [$a, $b, $small]})
print(df.groupby("$things")["n"].agg(["sum", "mean"]))
df["share"] = df["n"] / df["n"].sum()
print(df.query("n > 10").sort_values("n").head(), df.eval("n * 2"), df.describe())
----
import pandas as pd, numpy as np
dates = pd.date_range("2024-01-0$digit", periods=$small, freq="D")
series = pd.Series(np.arange($small) * $a, index=dates).rolling(2).mean().dropna()
series.to_csv("$things.csv")
print(series.resample("W").sum(), pd.read_csv("$things.csv").shape, pd.to_datetime("2024-02-01").day_name())
----
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
fig, ax = plt.subplots(figsize=(6, 4))
ax.plot(range($small), [i ** 2 for i in range($small)], "o-", label="$word")
ax.set_xlabel("$things")
ax.legend()
plt.tight_layout()
plt.savefig("$word.png", dpi=1${digit}0)
plt.close(fig)
----
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, $digit * np.pi, 200)
plt.hist(np.sin(x), bins=$small, alpha=0.7)
plt.title("$Word of $things")
plt.show()
----
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
import numpy as np
X = np.arange($big).reshape(-1, 1)
y = $a * X.ravel() + $b
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=$digit)
model = LinearRegression().fit(X_train, y_train)
print(model.score(X_test, y_test), model.coef_)
----
from scipy import stats, optimize, signal
import scipy.io
result = optimize.minimize(lambda v: (v[0] - $a) ** 2, [0.0])
print(result.x, stats.ttest_ind([1, 2, $b], [2, 3, $small]), signal.find_peaks([0, 1, 0]))
'''


def main():
    pieces = [piece.strip("\n") + "\n" for piece in PIECES.split("----\n")]
    choose = random.Random(20240229)
    scripts, seen = [], set()
    order = [(piece,) for piece in range(len(pieces))]
    while len(order) < 500:
        several = tuple(choose.sample(range(len(pieces)), choose.choice((2, 2, 3))))
        if several not in seen:
            seen.add(several)
            order.append(several)
    for number, parts in enumerate(order):
        code = ""
        for part in parts:
            word, word2 = choose.sample(WORDS, 2)
            names = {"things": choose.choice(THINGS), "word": word, "word2": word2, "Word": word.title(),
                     "Word2": word2.title(), "WORD": word.upper(), "a": choose.randint(11, 59),
                     "b": choose.randint(11, 59), "small": choose.randint(4, 12), "digit": choose.randint(1, 8),
                     "big": choose.randint(100, 900)}
            code += string.Template(pieces[part]).safe_substitute(names) + "\n"
        if number % 7 == 3:  # models often write a function main
            body = "".join("    " + line if line.strip() else line for line in code.splitlines(True))
            if '"""' not in body:
                code = "def main():\n" + body + "\nif __name__ == '__main__':\n    main()\n"
        scripts.append({"name": f"script {number}", "code": code, "runs": not THIRD_PARTY.search(code)})
    print(json.dumps(scripts))


if __name__ == "__main__":
    main()
