#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Prints notebooks, as a JSON array of {"name", "variables", "cells"}. Their cells use names that they do not bind
themselves.

The variables are passed to the first cell. The cells run one after the other in one context. All notebooks were written
for these tests.
"""
import json

NOTEBOOKS = [
    ("a list is normalised", {"x": [4, 8, 6]}, [
        "x = [(v - min(x)) / (max(x) - min(x)) for v in x]\nprint(x)",
        "x = x + [sum(x) / len(x)]\nx = sorted(x)[::-1]\nprint(x[0], x[-1])"]),
    ("a number grows by itself", {"total": 100}, [
        "total = total + total * 0.1\nprint(f'{total:.2f}')",
        "total = total - total % 7\nprint(f'{total}')"]),
    ("a polynomial", {"x": 3}, [
        "x = x*x + x*2 + 1\nprint(x)",
        "y = [0] * x\nprint(len(y), '{}'.format(x))",
        "x = (x + x) * (x - x + 1)\nfor i in range(x): pass\nprint(i)"]),
    ("a text is doubled", {"s": "ab"}, [
        "s = s + ', ' + s\nprint(s[0])",
        "s = f'{s}-{s}'\nprint(s.upper())",
        "s = ' '.join([s, s])\nprint(s.replace('a', s[:1]))"]),
    ("a list is turned round", {"data": [1, 2, 3]}, [
        "data = data[1:] + data[:1]\nprint(data[0])",
        "for value in data: print(value)\ndata = [data[-1]] + data[:-1]"]),
    ("counters that functions keep", {}, [
        "count = 0\ndef step():\n    global count\n    count = count + count % 7 + 1\n    return count\nprint(step())",
        "for _ in range(5): step()\nprint(count)",
        "def outer():\n    n = 1\n    def inner():\n        nonlocal n\n        n = n + n\n        return n\n    inner()\n"
        "    return inner()\nprint(outer())"]),
    ("two numbers that need each other", {"a": 0, "b": 1}, [
        "for _ in range(10):\n    a, b = b, a + b\nprint(a)",
        "a = a + b\nb = a + b\na = a + b\nb = b - a\nprint(a, b)"]),
    ("one name for many steps", {"table": {"rows": [3, 1, 2]}}, [
        "rows = table['rows']\nrows = list(map(str, rows))\nrows = sorted(rows)\nrows = [r.strip() for r in rows]\n"
        "text = ','.join(rows)\ntext = text.strip()\ntext = text.replace(',', ';')\ntext = text.upper()\n"
        "text = text.lower()\ntext = text.title()\ntext = text.strip(';')\nprint(text)",
        "table = {**table, 'sum': sum(table['rows'])}\ntable = dict(sorted(table.items()))\nprint(table)"]),
    ("imports of an earlier cell", {}, [
        "import json, math, statistics as st\nfrom collections import Counter",
        "print(json.dumps({'pi': round(math.pi, 2)}), st.mean([1, 2, 3]))\nwords = Counter('abca')",
        "words = words + words\nprint(words.most_common(1), math.sqrt(16))"]),
    ("a class of an earlier cell", {"rate": 0.2}, [
        "class Account:\n    def __init__(self, owner):\n        self.owner, self._money = owner, 0\n"
        "    def add(self, money):\n        self._money = self._money + money * (1 - rate)\n        return self",
        "account = Account('x')\naccount = account.add(10).add(5)\naccount = account.add(1)\nprint(account.owner)",
        "print(vars(account), account.__class__.__name__, isinstance(account, Account))"]),
    ("matrix and vector", {"m": [[1, 2], [3, 4]], "v": [1, 1]}, [
        "v = [sum(a * b for a, b in zip(row, v)) for row in m]\nprint(v)",
        "m = [list(row) for row in zip(*m)]\nm = [[x + x for x in row] for row in m]\nprint(m, v)"]),
    ("dates and texts", {"day": "2024-02-29", "names": ["Ada", "Bob"]}, [
        "import datetime as dt\nday = dt.date.fromisoformat(day)\nday = day + dt.timedelta(days=1)\nprint(day)",
        "names = [n.lower() for n in names] + [n.upper() for n in names]\nprint(f'{names[0]} {names[-1]} {day}')",
        "greeting = 'Dear '\nfor n in names:\n    greeting += n + ' '\nprint(greeting.strip())"]),
    ("a search that narrows", {"low": 0, "high": 1000}, [
        "while low < high:\n    middle = (low + high) // 2\n    low, high = (middle + 1, high) if middle < 700 else "
        "(low, middle)\nprint(low)",
        "low = low - low % 100\nhigh = high + low\nwhile True:\n    high = high - low // 2\n    if high < low: break\n"
        "print(low, high)"]),
    ("settings, and functions by name", {"numbers": [1, 2, 3, 4]}, [
        "import os, statistics\nos.environ['OMP_NUM_THREADS'] = '1'",
        "import statistics\nfor name in ('mean', 'median'):\n    print(name, getattr(statistics, name)(numbers))",
        "if 'numbers' in globals():\n    numbers = numbers + numbers\nprint(len(numbers), sorted(vars())[0][:0])"]),
]


def main():
    print(json.dumps([{"name": name, "variables": variables, "cells": cells} for name, variables, cells in NOTEBOOKS]))


if __name__ == "__main__":
    main()
