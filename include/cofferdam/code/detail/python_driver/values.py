# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Encodes Python values as JSON without loss, and decodes them."""
import base64
import sys
import time


def remember_source(filename, text):
    """Stores source code in linecache, so that tracebacks can show its lines."""
    import linecache
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)




class TooLarge(Exception):
    pass


MOST_VALUE = 4 * 1024 * 1024  # maximum bytes of an encoded value
CLASSES = {}  # name of a class that the host has described -> its OwnClass
COLUMN_KINDS = {"i": "integer", "u": "integer", "f": "number", "b": "boolean", "M": "datetime"}


class OwnClass:
    """A class that the host has described by a source with the functions to_json and from_json."""

    def __init__(self, about):
        self.name = about["name"]
        self.source = about["source"]
        self.names = None  # the globals of the source, once it has been executed

    def call(self, function, value):
        try:
            if self.names is None:
                names = {"__name__": self.name.rpartition(".")[0]}
                exec(compile(self.source, "<%s>" % self.name, "exec"), names)
                self.names = names
            return self.names[function](value)
        except Exception as failure:
            raise ValueError("%s of the class %s fails: %s: %s" % (
                function, self.name, type(failure).__name__, failure)) from None


def set_classes(listed):
    CLASSES.clear()
    for about in listed:
        CLASSES[about["name"]] = OwnClass(about)


class Encoder:
    """Encodes Python values as JSON, with at most `max_bytes` bytes in total.

    A value that JSON has is encoded as itself, except for a float: it becomes {"$f": text}, which every parser reads
    exactly. Other known types become {"$python": type, ...}. For a value that is too large or of an unknown type, only
    its text is encoded, and `exact` becomes False.
    """

    def __init__(self, max_bytes):
        self.left = max_bytes
        self.exact = True
        self.first = None  # the first value without a JSON form: its type, and the reason or None
        self.open = set()

    def encode(self, value):
        try:
            return self.one(value, 0)
        except (TooLarge, RecursionError):
            self.left = 1 << 17
            return self.text(value, "too large or too deep")

    def spend(self, count):
        self.left -= count
        if self.left < 0:
            raise TooLarge()

    def one(self, value, depth):
        kind = type(value)
        self.spend(8)
        if depth > 100:
            raise TooLarge()
        if value is None or kind is bool:
            return value
        if kind is int:
            self.spend(value.bit_length() // 3)
            if -(1 << 63) <= value < 1 << 64:
                return value
            return {"$python": "int", "text": digits_of(value)}
        if kind is float:
            return {"$f": repr(value)}
        if kind is str:
            self.spend(len(value))
            try:
                value.encode("utf-8")
                return value
            except UnicodeEncodeError:
                return self.binary("str", value.encode("utf-8", "surrogatepass"))
        if kind is bytes or kind is bytearray:
            self.spend(len(value) + len(value) // 3)
            return self.binary(kind.__name__, value)
        if kind in (list, tuple, set, frozenset, dict):
            if id(value) in self.open:
                return self.text(value, "it contains itself")
            self.open.add(id(value))
            try:
                return self.collection(kind, value, depth + 1)
            finally:
                self.open.discard(id(value))
        return self.scalar(kind, value, depth)

    @staticmethod
    def binary(name, data):
        return {"$python": name, "base64": base64.b64encode(data).decode()}

    def collection(self, kind, value, depth):
        if kind is list:
            return [self.one(item, depth) for item in value]
        if kind is not dict:
            return {"$python": kind.__name__, "items": [self.one(item, depth) for item in value]}
        if all(type(key) is str and not key.startswith("$") and is_plain(key) for key in value):
            self.spend(sum(map(len, value)))
            return {key: self.one(item, depth) for key, item in value.items()}
        return {"$python": "dict",
                "items": [[self.one(key, depth), self.one(item, depth)] for key, item in value.items()]}

    def scalar(self, kind, value, depth):
        name = kind.__module__ + "." + kind.__qualname__
        if name == "builtins.complex" and kind is complex:
            return {"$python": "complex", "real": repr(value.real), "imag": repr(value.imag)}
        datetime = sys.modules.get("datetime")
        if datetime:
            if kind is datetime.date:
                return {"$python": "date", "text": value.isoformat()}
            if kind is datetime.timedelta:
                return {"$python": "timedelta", "days": value.days, "seconds": value.seconds,
                        "microseconds": value.microseconds}
            if kind in (datetime.datetime, datetime.time) and not value.fold:
                zone = value.tzinfo
                if zone is None:
                    return {"$python": kind.__name__, "text": value.isoformat()}
                if type(zone) is datetime.timezone and type(zone.tzname(None)) is str:
                    made = {"$python": kind.__name__, "text": value.isoformat()}
                    if zone.tzname(None) != datetime.timezone(zone.utcoffset(None)).tzname(None):
                        made["zone"] = self.one(zone.tzname(None), 0)
                    return made
        decimal = sys.modules.get("decimal")
        if decimal and kind is decimal.Decimal:
            text = str(value)
            self.spend(len(text))
            return {"$python": "decimal", "text": text}
        for base in kind.__mro__:
            made_by = CLASSES.get("%s.%s" % (base.__module__, base.__qualname__))
            if made_by is not None:
                return self.own(made_by, value, depth)
        pandas = sys.modules.get("pandas")
        if pandas and kind is getattr(pandas, "DataFrame", None):
            return self.table(pandas, value, depth)
        return self.text(value, None)

    def own(self, made_by, value, depth):
        """Encodes a value of a class that the host has described."""
        if id(value) in self.open:
            return self.text(value, "it contains itself")
        try:
            made = made_by.call("to_json", value)
        except Exception as failure:
            return self.text(value, clean(str(failure))[:1000])
        self.open.add(id(value))
        try:
            self.spend(len(made_by.name))
            return {"$python": "object", "class": made_by.name, "json": self.one(made, depth + 1)}
        finally:
            self.open.discard(id(value))

    def table(self, pandas, value, depth):
        """Encodes a DataFrame by its columns. The columns of an index other than 0, 1, ... come first."""
        index = value.index
        names = []
        if not (type(index) is pandas.RangeIndex and index.start == 0 and index.step == 1 and index.name is None):
            names = list(index.names)
            value = value.reset_index()
        columns = list(value.columns)
        if not all(type(name) is str for name in columns) or len(set(columns)) < len(columns):
            return self.text(value, "the names of its columns are not different texts")
        made = []
        for at, name in enumerate(columns):
            column = value.iloc[:, at]
            cells = [self.cell(pandas, one) for one in column.tolist()]
            kind = COLUMN_KINDS.get(getattr(column.dtype, "kind", ""), "any")
            if kind == "any" and all(type(one) is str or one is None or one != one for one in cells):
                kind, cells = "text", [one if type(one) is str else None for one in cells]
            self.spend(len(name))
            made.append({"name": name, "type": kind, "dtype": str(column.dtype),
                         "values": [self.one(one, depth + 3) for one in cells]})
        return {"$python": "table", "index": names, "columns": made}

    def cell(self, pandas, one):
        """Returns a value of Python's own types for a cell, and None for a missing one."""
        if one is pandas.NaT or one is pandas.NA:
            return None
        if isinstance(one, (pandas.Timestamp, pandas.Timedelta)):
            if one.nanosecond if isinstance(one, pandas.Timestamp) else one.nanoseconds:
                self.exact = False
                self.first = self.first or (type(one), "it has nanoseconds")
            return one.to_pydatetime(warn=False) if isinstance(one, pandas.Timestamp) else one.to_pytimedelta()
        return one

    def text(self, value, why):
        self.exact = False
        name = clean("%s.%s" % (type(value).__module__, type(value).__qualname__))
        self.first = self.first or (type(value), why)
        made = {"$python": "text", "type": name, "text": text_of(value, 4096)}
        self.spend(len(made["text"]))
        if why:
            made["why"] = why
        return made


def is_plain(text):
    try:
        text.encode("utf-8")
        return True
    except UnicodeEncodeError:
        return False


def clean(text):
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def is_large(value, budget):
    """Returns True if writing a collection as text would take more than `budget` steps.

    A list can contain another list many times, which again contains a list many times. Writing it could take forever.
    """
    todo = [value]
    while todo:
        one = todo.pop()
        budget -= 1
        if type(one) in (list, tuple, set, frozenset, dict):
            budget -= len(one)
            if budget >= 0:
                todo.extend(one)
                if type(one) is dict:
                    todo.extend(one.values())
        if budget < 0:
            return True
    return False


def short_writer(most):
    """Returns a reprlib.Repr that writes at most `most` items of each collection (or its default if that is larger)."""
    import reprlib

    class Short(reprlib.Repr):
        def repr_int(self, number, level):
            try:
                if number.bit_length() <= 12000:
                    return repr(number)
            except ValueError:
                pass
            return "<an int of %d bits>" % number.bit_length()

    short = Short()
    for name in ("maxlist", "maxtuple", "maxset", "maxfrozenset", "maxdict"):
        setattr(short, name, max(most, getattr(short, name)))
    return short


def start_of_repr(value, most):
    """Returns the repr of a large collection, cut to `most` characters. Collections in it are shortened.

    If the text does not contain all items, it ends with their number.
    """
    short = short_writer(6)
    is_dict = type(value) is dict
    text, end = {list: "[]", tuple: ("(", ")"), frozenset: ("frozenset({", "})")}.get(type(value), "{}")
    written = 0
    until = time.monotonic() + 1  # the repr of an item can take long
    for one in value.items() if is_dict else value:
        if len(text) > most or time.monotonic() > until:
            break
        text += ", " if written else ""
        text += "%s: %s" % (short.repr(one[0]), short.repr(one[1])) if is_dict else short.repr(one)
        written += 1
    if written == 1 and type(value) is tuple:
        text += ","
    if written == len(value) and len(text + end) <= most:
        return text + end
    return text[:most] + "... (of %d items)" % len(value)


def digits_of(number):
    """Returns an int in decimal, or in hexadecimal if decimal would take long or Python refuses it."""
    try:
        return hex(number) if number.bit_length() > 12000 else str(number)
    except ValueError:
        return hex(number)


def number_of(text):
    """Returns int(text, 0), also for more decimal digits than Python accepts.

    Converts pieces of 500 digits and combines them, which takes far less than quadratic time.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if len(digits) <= 500 or not digits.isascii() or not digits.isdigit():
        return int(text, 0)
    parts = [int(digits[max(0, end - 500):end]) for end in range(len(digits), 0, -500)]
    power = 10 ** 500
    while True:
        if len(parts) % 2:
            parts.append(0)
        parts = [low + high * power for low, high in zip(parts[::2], parts[1::2])]
        if len(parts) == 1:
            return -parts[0] if text[:1] == "-" else parts[0]
        power *= power


def text_of(value, most):
    """Returns repr(value) in valid UTF-8, cut to `most` characters. If __repr__ fails, the text says why."""
    try:
        if type(value) is int and value.bit_length() > 12000:
            text = "an int of %d bits" % value.bit_length()
        elif type(value) in (str, bytes, bytearray) and len(value) > most:
            unit = "characters" if type(value) is str else "bytes"
            return clean(repr(value[:most])[:most] + "... (of %d %s)" % (len(value), unit))
        elif is_large(value, 100000):
            return clean(start_of_repr(value, most))
        else:
            try:
                text = repr(value)
            except ValueError:  # probably an int with more digits than Python converts
                if type(value) not in (list, tuple, set, frozenset, dict):
                    raise
                text = short_writer(1000).repr(value)
    except Exception as failure:
        try:
            reason = str(failure)[:200]
        except Exception:
            reason = ""
        text = "<%s whose repr fails: %s>" % (
            type(value).__qualname__, type(failure).__qualname__ + (": " + reason if reason else ""))
    if len(text) > most:
        text = text[:most] + "... (%d characters)" % len(text)
    return clean(text)


def set_variables(names, variables):
    """Sets the variables of a request in the globals `names`."""
    import keyword
    for given, value in variables.items():
        name = given if given.isascii() else normal_form(given)
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError("invalid name of a variable: %r" % given)
        if name != given and name in variables:
            raise ValueError("the variables %r and %r have the same name in Python: %r" % (given, name, name))
        try:
            names[name] = decode(value)
        except ValueError as failure:
            raise ValueError("the variable %r: %s" % (given, failure)) from None


def normal_form(name):
    """Returns a name in the normal form (NFKC) in which Python reads names in source code."""
    try:
        import unicodedata
    except ImportError:
        return name
    return unicodedata.normalize("NFKC", name)


def decode(value):
    """Returns the Python value for JSON from the host, in which {"$python": type, ...} stands for a value that JSON
    lacks. Raises ValueError if such an object is not valid."""
    try:
        return decoded(value)
    except (ArithmeticError, LookupError, TypeError, ValueError) as failure:
        reason = "%s is missing" % failure if type(failure) is KeyError else str(failure)
        raise ValueError('an object with the key "$python" stands for a value that JSON has not, and this one cannot '
                         'be made: %s; a dict with such a key of its own is passed by python_json' % reason[:1000]
                         ) from None


def decoded(value):
    if type(value) is list:
        return [decoded(item) for item in value]
    if type(value) is not dict:
        return value
    if "$python" not in value:
        return {key: decoded(item) for key, item in value.items()}
    kind = value["$python"]
    if kind == "int":
        return number_of(value["text"])
    if kind == "float":
        return float(value["text"])
    if kind == "str":
        return base64.b64decode(value["base64"], validate=True).decode("utf-8", "surrogatepass")
    if kind == "bytes":
        return base64.b64decode(value["base64"], validate=True)
    if kind == "bytearray":
        return bytearray(base64.b64decode(value["base64"], validate=True))
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](decoded(item) for item in value["items"])
    if kind == "dict":
        return {decoded(key): decoded(item) for key, item in value["items"]}
    if kind == "complex":
        return complex(float(value["real"]), float(value["imag"]))
    if kind in ("date", "datetime", "time"):
        import datetime
        made = getattr(datetime, kind).fromisoformat(value["text"])
        if "zone" in value:
            made = made.replace(tzinfo=datetime.timezone(made.utcoffset(), decoded(value["zone"])))
        return made
    if kind == "timedelta":
        import datetime
        return datetime.timedelta(value["days"], value["seconds"], value["microseconds"])
    if kind == "decimal":
        import decimal
        return decimal.Decimal(value["text"])
    if kind == "object":
        if value["class"] not in CLASSES:
            raise ValueError("the request does not describe the class %r" % (value["class"],))
        return CLASSES[value["class"]].call("from_json", decoded(value["json"]))
    if kind == "table":
        return table_of(value)
    raise ValueError("unknown type %r" % (kind,))


def table_of(value):
    """Returns a DataFrame, or a dict of lists if this Python has no pandas."""
    columns = {}
    for column in value["columns"]:
        cells = [decoded(cell) for cell in column["values"]]
        if column["type"] == "datetime":
            import datetime
            cells = [datetime.datetime.fromisoformat(cell) if type(cell) is str else cell for cell in cells]
        columns[column["name"]] = cells
    if len(set(map(len, columns.values()))) > 1 or len(columns) < len(value["columns"]):
        raise ValueError("the columns of a table need different names and one length")
    try:
        import pandas
    except ImportError:
        return columns
    made = pandas.DataFrame({
        column["name"]: pandas.Series(columns[column["name"]], dtype=dtype_of(column, columns[column["name"]]))
        for column in value["columns"]})
    index = value.get("index")
    if index:
        made = made.set_index(list(columns)[:len(index)])
        made.index.names = index
    return made


def dtype_of(column, cells):
    """Returns the dtype of a column for pandas, or None if pandas has to find it."""
    if "dtype" in column:
        return column["dtype"]
    lacks = None in cells
    return {"integer": "Int64" if lacks else "int64", "number": "float64", "boolean": "boolean" if lacks else "bool",
            "text": None if cells else "object", "datetime": None if cells else "datetime64[us]"}.get(
                column["type"], "object")
