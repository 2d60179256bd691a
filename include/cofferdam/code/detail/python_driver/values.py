# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Encodes Python values as JSON without loss, and decodes them."""
import base64
import sys


def remember_source(filename, text):
    """Stores source code in linecache, so that tracebacks can show its lines."""
    import linecache
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)




class TooLarge(Exception):
    pass


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
        return self.scalar(kind, value)

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

    def scalar(self, kind, value):
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
        return self.text(value, None)

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


def short_repr(value, most):
    """Returns a short repr: with at most `most` items of each collection (or reprlib's default if that is larger)."""
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
    return short.repr(value)


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
            text = repr(value[:most]) + "..."
        elif is_large(value, 100000):
            text = short_repr(value, 6)
        else:
            try:
                text = repr(value)
            except ValueError:  # probably an int with more digits than Python converts
                if type(value) not in (list, tuple, set, frozenset, dict):
                    raise
                text = short_repr(value, 1000)
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
    raise ValueError("unknown type %r" % (kind,))
