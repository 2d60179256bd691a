// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Written by ./dev driver from python_driver/*.py.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <string_view>

// clang-format off
namespace cofferdam::inline COFFERDAM_ABI::detail {

inline constexpr std::string_view python_driver_base_1 = R"driver_ends(# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs Python code for a host that stands at the other end of standard input and output. Python 3.8 or newer, Linux.

Four kinds of processes:

* The *driver* talks to the host and holds what runs print. It executes nobody's code and loads nobody's modules.
* The *nursery*, its one child, has loaded what is to be preloaded, holds no data, and forks.
* A *monitor*, a child of the nursery for each run, forks that, waits for its end and ends what it leaves behind.
* A *run*, for one piece of code, or for all that are said to one context. It has three descriptors from the driver:
  its standard output, its standard error, and a channel that speaks of this run only.

Run, monitor and nursery adopt what their descendants leave behind. A monitor has one child of its own: any other is a
stray, and killed. Where somebody kills a monitor, its run dies with it and the rest falls to the nursery, which knows
its monitors. One run is forked before it is asked for.

Frames, both ways between host and driver: length of the rest, length of the header (32 bits, big end first), header
(a JSON object), body (bytes). On a channel: length, one letter that says what it is, bytes.
"""
import os

DRIVER = "cofferdam_driver"  # the file name of this program in tracebacks; its frames are removed from them
GREETING = b"\ncofferdam python driver 1\n"
MOST_REPORT = 16 * 1024 * 1024  # maximum bytes of one message from a run: its report, a display or a call
MOST_DISPLAYED = 64 * 1024 * 1024  # maximum bytes of all displays of a run
MOST_BETWEEN = 64 * 1024  # maximum bytes that are kept of each output of a context between two runs
MOST_UNREAD = 256 * 1024 * 1024  # maximum bytes that wait until a run reads them
LEFT = 71  # the exit code of a monitor that could not end all processes of its run
LINGER = 0.5  # seconds for which the output of an ended run may stay open


def prctl(option, value):
    """Linux only, and only where there is ctypes; the runner works without, and keeps less in order."""
    global libc
    try:
        if libc is None:
            import ctypes
            libc = ctypes.CDLL(None)
        return libc.prctl(option, value, 0, 0, 0) == 0
    except Exception:
        return False


libc = None
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36


def give_back():
    """Memory that was freed goes back to the kernel: a fork copies what it says of it, an end takes that down."""
    try:
        libc.malloc_trim(0)
    except Exception:  # there is no libc, or it is not the GNU libc
        pass


def memory_events():
    """The file that says how often the kernel has ended something in this container for want of memory; or None."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        if os.access(path, os.R_OK):
            return path
    return None


def memory_kills(path):
    try:
        with open(path) as stream:
            for line in stream:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except (OSError, TypeError, ValueError):
        pass
    return 0


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def read_exactly(fd, count):
    """The next bytes; None where they end before."""
    parts = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
)driver_ends";
inline constexpr std::string_view python_driver_files_1 = R"driver_ends(

import base64
import os


MOST_PATHS = 2 * 1024 * 1024  # maximum bytes of the paths of all files of a run together
LONGEST_SCAN = 0.5  # maximum duration of a scan of the work directory, in seconds


def scan_files(most):
    """Path -> what changes with a file, for the regular files beneath the work directory; and whether that is all. It
    looks at so many things for so long and no more: whatever code has made there, the next run begins."""
    import time
    found, folders, seen = {}, [b""], 0
    limit = time.monotonic() + LONGEST_SCAN
    whole = True
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder or b".") as entries:
                for entry in entries:
                    seen += 1
                    if len(found) >= most or seen > 4 * most or seen % 64 == 0 and time.monotonic() > limit:
                        return found, False
                    path = os.path.join(folder, entry.name)
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            if entry.name != b".cofferdam" and entry.name != b"__pycache__":
                                folders.append(path)
                        elif entry.is_file(follow_symlinks=False):
                            about = entry.stat(follow_symlinks=False)
                            found[path] = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
                    except FileNotFoundError:
                        pass
        except FileNotFoundError:
            pass
        except OSError:  # no permission to read, or a path that is too long
            whole = False
    return found, whole


def changed_files(before, after):
    """New and changed files, in byte order, as the host reads them; and whether those are all."""
    rows, room = [], MOST_PATHS
    for path in sorted(after):
        if before.get(path) != after[path]:
            room -= len(path)
            if room < 0:
                return rows, False
            row = {"size": after[path][0], "new": path not in before}
            try:
                row["path"] = path.decode("utf-8")
            except UnicodeDecodeError:
                row["path64"] = base64.b64encode(path).decode()
            rows.append(row)
    return rows, True
)driver_ends";
inline constexpr std::string_view python_driver_values_1 = R"driver_ends(

import base64
import sys


def remember_source(filename, text):
    import linecache
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)




class TooLarge(Exception):
    pass


class Encoder:
    """A Python value as JSON: what JSON has, as it is (floats as {"$f": text}, which every parser reads exactly); the
    rest as {"$python": type, ...}. What is neither is its text, and `exact` is false then."""

    def __init__(self, max_bytes):
        self.left = max_bytes
        self.exact = True
        self.first = None  # the first value without a JSON form: its type, and the reason if it is not the type
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
    """Whether writing a collection down would take more steps than that. One that holds another many times, and that
    again, may never end."""
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
    """Of so many items of each collection; of any int."""
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
    """In decimal, or in hexadecimal where that takes long or Python refuses it."""
    try:
        return hex(number) if number.bit_length() > 12000 else str(number)
    except ValueError:
        return hex(number)


def number_of(text):
    """int(text, 0), with more decimal digits than Python reads: by pieces, in far less than quadratic time."""
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
    """repr, in valid UTF-8 and not at any length."""
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
)driver_ends";
inline constexpr std::string_view python_driver_values_2 = R"driver_ends(            reason = ""
        text = "<%s whose repr fails: %s>" % (
            type(value).__qualname__, type(failure).__qualname__ + (": " + reason if reason else ""))
    if len(text) > most:
        text = text[:most] + "... (%d characters)" % len(text)
    return clean(text)


def decode(value):
    """The opposite of Encoder. A ValueError where something is no tagged value and says that it is one."""
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
    raise ValueError("there is no kind %r" % (kind,))
)driver_ends";
inline constexpr std::string_view python_driver_interpreter_1 = R"driver_ends(

import base64
import json
import os
import struct
import sys



class HostFunctionError(RuntimeError):
    """A function of the host has failed, or refused."""


class Final(BaseException):
    """Ends the run with a final value. No Exception, so that `except Exception` does not swallow it."""


class Channel:
    def __init__(self, descriptor):
        import threading
        self.descriptor = descriptor
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.calling = threading.Lock()
        self.calls = 0
        self.waiting = b""

    def send(self, letter, what, waits=False):
        """`waits`: it goes with the next message, which comes soon."""
        if os.getpid() != self.owner:
            return  # a process that the run has forked must not use the channel
        body = json.dumps(what, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        with self.lock:
            text = self.waiting + struct.pack(">I", len(body) + 1) + letter + body
            self.waiting = text if waits else b""
            if not waits:
                self.write(text)

    def write(self, text):
        write_all(self.descriptor, text)

    def receive(self):
        """The next message of the driver; None at the end."""
        size = read_exactly(self.descriptor, 4)
        body = size and read_exactly(self.descriptor, struct.unpack(">I", size)[0])
        return json.loads(body) if body else None

    def call(self, name, arguments):
        if os.getpid() != self.owner:
            raise HostFunctionError("%s: only the run itself can call the host, not a process it has forked" % name)
        encoder = Encoder(MOST_REPORT // 4)
        encoded = {}
        for key, value in arguments.items():
            encoded[key] = encoder.encode(value)
            if not encoder.exact:
                raise TypeError("%s: the argument %r cannot be passed to the host: %s" % (
                    name, key, why_inexact(key, value, *encoder.first)))
        with self.calling:
            self.calls += 1
            mine = self.calls
            self.send(b"c", {"call": mine, "name": name, "arguments": encoded})
            while True:
                reply = self.receive()
                if reply is None:
                    raise HostFunctionError("%s: the host is gone" % name)
                if reply.get("call") == mine:
                    break
        if reply.get("ok"):
            return decode(reply.get("value"))
        kind = {"TypeError": TypeError, "NameError": NameError}.get(reply.get("type"), HostFunctionError)
        raise kind(reply.get("message", "the host's function failed"))


def why_inexact(name, value, kind, why):
    """What is wrong with an argument, and what to pass instead. `kind`: of the first thing in it that has no form."""
    called = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        called = "%s.%s" % (kind.__module__, called)
    text = "it %s of the type %s" % ("is" if type(value) is kind else "holds a value", called)
    if why:
        return clean("%s; %s (4 MiB and 100 levels are the most)" % (text, why))
    if type(value) is not kind:
        name = "value"
    instead = "numbers, text, bytes, lists, dicts and the like"
    enum = sys.modules.get("enum")
    if enum and issubclass(kind, enum.Enum):
        instead = name + ".value"
    elif issubclass(kind, (int, float, str, bytes, list, tuple, dict, set, frozenset)):
        plain = [one for one in kind.__mro__ if one.__module__ == "builtins"]
        instead = "%s(%s)" % (plain[0].__name__, name)
    elif hasattr(kind, "tolist") and hasattr(kind, "__len__"):
        instead = name + ".tolist()"
    elif hasattr(kind, "tolist") and hasattr(kind, "item"):  # a scalar of numpy
        instead = name + ".item()"
    elif hasattr(kind, "__index__") or hasattr(kind, "__float__"):
        instead = "%s(%s)" % ("int" if hasattr(kind, "__index__") else "float", name)
    return clean("%s, which the host does not know; pass %s" % (text, instead))


class Silence(Channel):
    def write(self, text):
        pass


TYPES = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "bytes": bytes}


def make_function(channel, about):
    """A function of the host, with the very signature: Python itself checks and names the arguments."""
    names, only_by_name, defaults, kinds = [], [], [], {}
    for one in about["parameters"]:
        if "default" in one:
            defaults.append(decode(one["default"]))
        (only_by_name if defaults and "default" not in one else names).append(one["name"])
        if one.get("type") in TYPES:
            kinds[one["name"]] = TYPES[one["type"]]
    given = names + only_by_name
    call = "call"
    while call in given or call == about["name"]:
        call += "_"
    source = "def %s(%s):\n    return %s(%r, {%s})\n" % (
        about["name"], ", ".join(names + (["*"] if only_by_name else []) + only_by_name), call, about["name"],
        ", ".join("%r: %s" % (name, name) for name in given))
    made = {"__name__": "__main__", call: channel.call}
    exec(compile(source, DRIVER, "exec"), made)
    function = made[about["name"]]
    function.__defaults__ = tuple(defaults)
    function.__annotations__ = kinds
    function.__doc__ = about.get("doc") or None
    return function


FORMATS = [("_repr_html_", "text/html"), ("_repr_markdown_", "text/markdown"), ("_repr_svg_", "image/svg+xml"),
           ("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"), ("_repr_latex_", "text/latex"),
           ("_repr_json_", "application/json"), ("_repr_javascript_", "application/javascript"),
           ("_repr_pdf_", "application/pdf")]


# Values of exactly these types, not of subclasses, have only a text form.
WITHOUT_FORMS = {int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset}


def rich_forms(value, most):
    """Mime type -> text, or base64 where the type is binary."""
    forms = {"text/plain": text_of(value, 65536)}
    if isinstance(value, type) or type(value) in WITHOUT_FORMS:
        return forms
    raw = {}
    try:
        bundle = value._repr_mimebundle_(include=None, exclude=None)
        raw.update(bundle[0] if type(bundle) is tuple else bundle)
    except Exception:
        pass
    for method, mime in FORMATS:
        if mime in raw:
            continue
        try:
            made = getattr(value, method)()
        except Exception:  # the method does not exist or fails; the other forms are kept
            continue
        raw[mime] = made[0] if type(made) is tuple else made
    for mime, made in raw.items():
        try:
            if made is None or type(mime) is not str or not is_plain(mime):
                continue
            if isinstance(made, (bytes, bytearray)):
                made = base64.b64encode(made).decode()
            elif not isinstance(made, str):
                made = json.dumps(made, allow_nan=False)
            made = clean(made)
        except Exception:
            continue
        most -= len(made)
        if most < 0:
            break
        forms[mime] = made
    return forms


REHEARSAL = """{"code": "1 + 1", "prelude": "", "variables": {"_": 1}, "functions": [], "final": null,
                "environment": {}, "limits": {}, "max_value": 1000, "quiet": false}"""


class Interpreter:
    """Executes the pieces of code of one process."""

    def __init__(self, channel, is_context):
        self.channel = channel
        self.is_context = is_context
        self.pid = os.getpid()
        self.count = 0
        self.running = False
        self.loop = None
        self.main = sys.modules["__main__"]
        self.extras = {}  # functions that the request has added: name -> function
        self.environment = {}  # environment variables that the request has changed: name -> old value

    def on_interrupt(self, number, frame):
        if self.running:
)driver_ends";
inline constexpr std::string_view python_driver_interpreter_2 = R"driver_ends(            raise KeyboardInterrupt

    def limit(self, limits):
        for name, value in limits.items():
            import resource
            number = getattr(resource, "RLIMIT_" + name)
            _, hard = resource.getrlimit(number)
            if hard != resource.RLIM_INFINITY:
                value = min(value, hard)
            resource.setrlimit(number, (value, value))

    def prepare(self, request):
        names = self.main.__dict__
        for name, value in request["environment"].items():
            before = os.environ.get(name)
            os.environ[name] = value
            self.environment[name] = before
        for name, given in self.extras.items():
            if names.get(name) is given:
                del names[name]
        self.extras = {}
        self.final = None
        self.has_final = False
        if request["functions"] and HostFunctionError.__name__ not in names:
            self.extras[HostFunctionError.__name__] = HostFunctionError
        for about in request["functions"]:
            self.extras[about["name"]] = make_function(self.channel, about)
        if request.get("final"):
            self.extras[request["final"]["name"]] = self.make_final(**request["final"])
        names.update(self.extras)
        names["display"] = self.display
        names["__builtins__"] = __builtins__ if type(__builtins__) is not dict else sys.modules["builtins"]
        import keyword
        for given, value in request["variables"].items():
            name = given if given.isascii() else normal_form(given)
            if not name.isidentifier() or keyword.iskeyword(name):
                raise ValueError("a variable cannot be called %r" % given)
            if name != given and name in request["variables"]:
                raise ValueError("the variables %r and %r have one name in Python: %r" % (given, name, name))
            try:
                names[name] = decode(value)
            except ValueError as failure:
                raise ValueError("the variable %r: %s" % (given, failure)) from None

    def restore_environment(self):
        for name, value in self.environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self.environment = {}

    def make_final(self, name, fields):
        def final(*args, **kwargs):
            if fields:
                if len(args) > len(fields):
                    raise TypeError("%s takes the values %s" % (name, ", ".join(fields)))
                values = dict(zip(fields, args))
                for key, value in kwargs.items():
                    if key in values or key not in fields:
                        raise TypeError("%s: %r is unknown or given twice" % (name, key))
                    values[key] = value
                missing = [field for field in fields if field not in values]
                if missing:
                    raise TypeError("%s: %s missing" % (name, ", ".join(missing)))
            elif len(args) == 1 and not kwargs:
                values = {"output": args[0]}
            elif kwargs and not args:
                values = kwargs
            else:
                raise TypeError("%s takes one value, or named ones" % name)
            self.final = values
            self.has_final = True
            raise Final()

        final.__name__ = final.__qualname__ = name
        return final

    def display(self, *values, **ignored):
        """Shows values in the richest form they have."""
        for value in values:
            self.show(value, False)

    def show(self, value, is_value):
        flush()
        # The value of the last expression is sent together with the report, unless figures are displayed after it.
        waits = is_value and "matplotlib.pyplot" not in sys.modules
        self.channel.send(b"d", {"forms": rich_forms(value, MOST_REPORT // 4), "value": is_value}, waits)

    def show_figures(self):
        """What matplotlib has drawn and nobody has shown, as a notebook does."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        import io
        for number in list(pyplot.get_fignums()):
            picture = io.BytesIO()
            figure = pyplot.figure(number)
            figure.savefig(picture, format="png", bbox_inches="tight")
            self.channel.send(b"d", {"forms": {"text/plain": text_of(figure, 4096),
                                               "image/png": base64.b64encode(picture.getvalue()).decode()},
                                     "value": False})
        pyplot.close("all")

    def evaluate(self, code):
        """Runs a code object of the user; awaits what is to be awaited at its top level."""
        result = eval(code, self.main.__dict__)
        if code.co_flags & 0x80:  # CO_COROUTINE
            import asyncio
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self.loop)
            result = self.loop.run_until_complete(result)
        return result

    def execute(self, source, filename):
        """The value of the last statement where it is an expression."""
        import _ast as ast  # the names below come from this module; importing `ast` would cost each fork time
        remember_source(filename, source)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(source, filename, "exec", ast.PyCF_ONLY_AST | flags, True)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        if last is not None:
            last = compile(last, filename, "eval", flags, True)
        if tree.body:
            self.evaluate(compile(tree, filename, "exec", flags, True))
        return None if last is None else self.evaluate(last)

    def run(self, request):
        """Executes one request and reports; the exit code."""
        self.count += 1
        filename = "<code %d>" % self.count if self.is_context else "<code>"
        report = {"ok": False, "exit": 1}
        failure = None
        try:
            try:
                self.limit(request["limits"])
                self.prepare(request)
                self.running = True
                if request.get("prelude"):
                    self.execute(request["prelude"], "<prelude>")
                value = self.execute(request["code"], filename)
                if self.has_final:  # the code has caught the exception that ends the run
                    value = None
                if value is not None:
                    self.report_value(report, value, request)
                    self.main.__dict__["_"] = value
                self.show_figures()
            finally:
                self.running = False
            report.update(ok=True, exit=0)
        except Final:
            report.update(ok=True, exit=0)
        except SystemExit as ended:
            report["exit"] = exit_code(ended.code)
            report["ok"] = report["exit"] == 0
            if report["exit"]:
                report["error"] = {"type": "SystemExit", "message": text_of(ended.code, 4096)}
        except BaseException as raised:
            failure = raised
            report["exit"] = 130 if isinstance(raised, KeyboardInterrupt) else 1
        if os.getpid() != self.pid:  # a process that the code has forked ends here too
            if failure is not None:
                describe(failure, filename)
            flush()
            os._exit(report["exit"])
        try:
            self.restore_environment()
            if failure is not None:
                report["error"] = describe(failure, filename, request["quiet"])
            if self.has_final:
                encoder = Encoder(request["max_value"])
                report["final"] = {key: encoder.encode(value) for key, value in self.final.items()}
)driver_ends";
inline constexpr std::string_view python_driver_interpreter_3 = R"driver_ends(                report["final_exact"] = encoder.exact
        except BaseException as worse:  # probably out of memory
            report["error"] = {"type": type(failure or worse).__name__, "message": "(it cannot be described)"}
        failure = None
        flush()
        try:
            try:
                self.channel.send(b"r", report)
            except (MemoryError, RecursionError, ValueError) as worse:
                error = {"type": type(worse).__name__, "message": "the value of the last expression cannot be sent"}
                self.channel.send(b"r", {"ok": False, "exit": 1, "error": error})
        except OSError:  # the code has closed the channel
            pass
        return report["exit"]

    def rehearse(self):
        """Does what each run does, before there is one. A fork shares its parent's memory until it first writes to it,
        and Python writes wherever it looks: that takes most of the time of a short run."""
        import linecache
        names = self.main.__dict__
        before = dict(names)
        real, self.channel = self.channel, Silence(self.channel.descriptor)
        try:
            request = json.loads(REHEARSAL)
            struct.unpack(">I", struct.pack(">I", 7))
            self.run(request)
        finally:
            self.channel = real
            self.count = 0
            names.clear()
            names.update(before)
            for name in ("<code>", "<code 1>"):
                linecache.cache.pop(name, None)

    def report_value(self, report, value, request):
        encoder = Encoder(request["max_value"])
        report["value"] = encoder.encode(value)
        report["value_exact"] = encoder.exact
        report["text"] = text_of(value, 65536)
        self.show(value, True)


def normal_form(name):
    """As Python reads names in source."""
    try:
        import unicodedata
    except ImportError:
        return name
    return unicodedata.normalize("NFKC", name)


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 255
    try:
        print(code, file=sys.stderr)
    except Exception:
        pass
    return 1


STREAMS = []  # the streams of the run, even if its code replaces sys.stdout and sys.stderr


def flush():
    for stream in [sys.stdout, sys.stderr, *STREAMS]:
        try:
            stream.flush()
        except Exception:
            pass


def describe(failure, filename, quiet=False):
    """Prints an exception as Python does, unless that is not wanted, and says what it is."""
    import traceback
    line, step = 0, failure.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == filename:
            line = step.tb_lineno
        step = step.tb_next
    if isinstance(failure, SyntaxError) and failure.filename == filename and line == 0:
        line = failure.lineno or 0
    whole = traceback.TracebackException(type(failure), failure, failure.__traceback__)
    todo, seen = [whole], set()
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.stack = traceback.StackSummary.from_list([at for at in one.stack if at.filename != DRIVER])
            todo += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or [])]
    text = clean("".join(whole.format()))
    if len(text) > 65536:
        text = text[:32768] + "\n... (left out) ...\n" + text[-32768:]
    try:
        message = clean(str(failure))
    except Exception:
        message = "(its text fails)"
    try:
        if not quiet:
            sys.stderr.write(text)
    except Exception:
        try:
            write_all(2, text.encode("utf-8"))
        except OSError:
            pass
    return {"type": type(failure).__name__, "message": message[:65536], "line": line, "traceback": text}
)driver_ends";
inline constexpr std::string_view python_driver_run_1 = R"driver_ends(

import fcntl
import os
import signal
import sys



def begin_run(nursery, descriptors, is_context):
    """The life of a run, from its fork; its exit code."""
    parent = os.getppid()
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_DUMPABLE, 1)
    if os.getppid() != parent:
        return 70
    out, err, link = descriptors
    for fd in nursery.descriptors:
        os.close(fd)
    nursery.link.detach()
    try:  # a high number, so that code that closes low descriptors does not close the channel
        channel_fd = fcntl.fcntl(link, fcntl.F_DUPFD_CLOEXEC, 900)
        os.close(link)
    except (OSError, ValueError):
        channel_fd = link
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    import io
    sys.stdin = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), "utf-8", "surrogateescape", line_buffering=True)
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    STREAMS.extend([sys.stdout, sys.stderr])
    sys.path.append(os.getcwd())  # last, so that files there do not replace other modules
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()  # otherwise all runs would draw the same numbers
    channel = Channel(channel_fd)
    one = Interpreter(channel, is_context)
    signal.signal(signal.SIGINT, one.on_interrupt if is_context else signal.default_int_handler)
    one.rehearse()
    code = 0
    while True:
        try:
            request = channel.receive()
        except OSError:
            request = None
        except ValueError:
            return 70
        if request is None:
            break
        if "code" not in request:
            continue  # the answer to a call whose caller has stopped waiting
        code = one.run(request)
        request = None
        if not is_context:
            break
    leave()
    return code


def leave():
    """What Python does at its end."""
    import atexit
    import threading
    for step in (getattr(threading, "_shutdown", None), getattr(atexit, "_run_exitfuncs", None)):
        try:
            if step is not None:
                step()
        except SystemExit:
            pass
        except BaseException:
            import traceback
            traceback.print_exc()
    flush()
)driver_ends";
inline constexpr std::string_view python_driver_nursery_1 = R"driver_ends(

import array
import json
import os
import selectors
import signal
import socket
import sys
import time



class Nursery:
    def __init__(self, link, config):
        self.link = link
        self.config = config
        self.runs = {}  # process id of a monitor -> number of its child
        self.pids = {}  # number of a child -> process id of its monitor
        self.own = set()  # processes that preloaded modules have started
        self.patience = None  # seconds until the next attempt to end remaining processes

    def say(self, **what):
        try:
            self.link.send(json.dumps(what).encode())
        except OSError:  # the driver has ended, which the next read of the link detects
            pass

    def main(self):
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_DUMPABLE, 0)
        problem = preload(self.config)
        self.own = set(self.children())
        import gc
        import warnings
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        gc.collect()
        gc.freeze()
        give_back()
        wake, woken = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(woken, False)
        signal.signal(signal.SIGCHLD, lambda *ignored: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        self.descriptors = [wake, woken, self.link.fileno()]
        self.say(ready=True, problem=problem)
        selector = selectors.DefaultSelector()
        selector.register(wake, selectors.EVENT_READ)
        selector.register(self.link, selectors.EVENT_READ)
        if hasattr(selector, "fileno"):
            self.descriptors.append(selector.fileno())
        while True:
            ready = [key.fd for key, _ in selector.select(self.patience)]
            if wake in ready:
                try:
                    os.read(wake, 4096)
                except BlockingIOError:
                    pass
            self.reap()
            if self.link.fileno() in ready and not self.hear():
                limit = time.monotonic() + 5
                while self.runs and time.monotonic() < limit:
                    for pid in self.runs:
                        self.kill(pid)
                    self.reap()
                    time.sleep(0.001)
                self.end_strays()
                os._exit(0)

    def hear(self):
        room = array.array("i", [0, 0, 0])
        text, extra, _, _ = self.link.recvmsg(65536, socket.CMSG_SPACE(3 * room.itemsize))
        if not text:
            return False
        order = json.loads(text)
        if "fork" in order:
            for level, kind, data in extra:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    room = array.array("i", data[:3 * room.itemsize])
            self.fork(order["fork"], list(room), order["context"])
        else:
            pid = self.pids.get(order.get("kill", order.get("interrupt")))
            if "kill" in order:
                if pid is not None:
                    self.kill(pid)
            elif pid is not None:
                os.kill(pid, signal.SIGINT)  # the monitor forwards the signal and reports this
            else:
                self.say(interrupted=order["interrupt"])
        return True

    def fork(self, number, descriptors, is_context):
        try:
            pid = os.fork()
        except OSError as failure:
            for fd in descriptors:
                os.close(fd)
            self.say(ended=number, status=None, problem="fork: " + os.strerror(failure.errno))
            return
        if pid == 0:
            code = 70
            try:
                code = self.keep(number, descriptors, is_context)
            finally:
                os._exit(code)
        for fd in descriptors:
            os.close(fd)
        self.runs[pid] = number
        self.pids[number] = pid

    def keep(self, number, descriptors, is_context):
        """The life of a monitor. It ends well only where it has told how its run has ended."""
        os.setsid()
        signal.set_wakeup_fd(-1)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.runs, self.pids, self.own = {}, {}, set()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        run = os.fork()
        if run == 0:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            code = 70
            try:
                code = begin_run(self, descriptors, is_context)
            finally:
                os._exit(code)

        def interrupt(*ignored):
            os.kill(run, signal.SIGINT)
            self.say(interrupted=number)

        signal.signal(signal.SIGINT, interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        for fd in descriptors:
            os.close(fd)
        # Executes now, once, what is needed at the end: see Interpreter.rehearse.
        json.dumps({"ended": number, "status": 0, "left": False}).encode()
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        signal.pthread_sigmask(signal.SIG_BLOCK, [])
        time.monotonic()
        while True:  # reaps orphaned processes of the run until the run itself ends
            about = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            if about.si_pid == run:
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
                self.kill(run)  # the remaining processes of its group
                _, status = os.waitpid(run, 0)
                break
            os.waitpid(about.si_pid, 0)
        left = self.end_strays()
        self.say(ended=number, status=status, left=left)
        return LEFT if left else 0

    @staticmethod
    def kill(pid):
        """A pid of ours is not given to another process before we have reaped it; its group is its own."""
        for send in (os.kill, os.killpg):
            try:
                send(pid, signal.SIGKILL)
            except OSError:
                pass

    def reap(self):
        """Not all of those that die all the time: others wait meanwhile."""
        ended, left, more = [], self.patience is not None, True
        for _ in range(256):
            try:
                about = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                about = None
            if about is None:
                more = False
                break
            _, status = os.waitpid(about.si_pid, 0)
            self.own.discard(about.si_pid)
            number = self.runs.pop(about.si_pid, None)
            if number is not None:
                del self.pids[number]
                if status == LEFT << 8:
                    left = True
                elif status != 0:  # with status 0, the monitor has reported the end itself
                    ended.append((number, status))
        if ended or left:
            left = self.end_strays(1 if ended else 0.1)
            for number, status in ended:
                if os.WIFSIGNALED(status):  # the monitor was killed, and so was its run
                    self.say(ended=number, status=signal.SIGKILL, left=left)
                else:
                    self.say(ended=number, status=None, problem="its process could not be made or kept")
        self.patience = 0 if more else 0.05 if left else None

    def end_strays(self, longest=5):
        """Kills what dead runs have left. True where something could not be ended."""
        limit = time.monotonic() + longest
        pause = 0.0
        while True:
            if not self.runs and not self.own:
                try:
                    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                except ChildProcessError:
                    return False  # the fast path: there are no children
)driver_ends";
inline constexpr std::string_view python_driver_nursery_2 = R"driver_ends(            strays = [pid for pid in self.children() if pid not in self.runs and pid not in self.own]
            if not strays:
                return False
            spared = {self.group_of(pid) for pid in [os.getpid(), *self.runs, *self.own]}
            for group in {self.group_of(pid) for pid in strays} - spared:
                try:  # kills the group at once: single processes could fork and escape
                    if group > 1:
                        os.killpg(group, signal.SIGKILL)
                except OSError:
                    pass
            for pid in strays:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, os.WNOHANG)
                except OSError:
                    pass
            if time.monotonic() > limit:
                return True
            time.sleep(pause)
            pause = 0.002

    @staticmethod
    def group_of(pid):
        """0 where there is no such process any more."""
        try:
            return os.getpgid(pid)
        except OSError:
            return 0

    @staticmethod
    def children():
        me = os.getpid()
        try:
            with open("/proc/self/task/%d/children" % me) as stream:
                return [int(word) for word in stream.read().split()]
        except OSError:
            pass
        found = []
        try:
            names = os.listdir("/proc")
        except OSError:
            return found
        for name in names:
            if name.isdigit():
                try:
                    with open("/proc/%s/stat" % name, "rb") as stream:
                        text = stream.read()
                    if int(text[text.rindex(b")") + 2:].split()[1]) == me:
                        found.append(int(name))
                except (OSError, ValueError):
                    pass
        return found


class HelperFinder:
    """Imports the modules that the host gave, from memory."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        import importlib.machinery
        return importlib.machinery.ModuleSpec(name, self, origin="<%s>" % name)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        remember_source("<%s>" % name, self.sources[name])
        exec(compile(self.sources[name], "<%s>" % name, "exec"), module.__dict__)


def end_of_library():
    """Where in sys.path the standard library is over: what guests can write stands behind it, so that it stays what it
    is."""
    for index, path in enumerate(sys.path):
        if os.path.basename(path) in ("site-packages", "dist-packages"):
            return index
    return len(sys.path)


class ForkByDefault:
    """Since Python 3.14 multiprocessing has its processes forked by an interpreter of its own, which cannot import a
    __main__ that is no file: a pool waits for it without end. In runs the default stays what it was."""

    def find_spec(self, name, path=None, target=None):
        if name != "multiprocessing.context":
            return None
        import importlib.machinery
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                fork_by_default(module)

            spec.loader.exec_module = exec_module
        return spec


def fork_by_default(context):
    try:
        context._default_context._default_context = context._concrete_contexts["fork"]
    except (AttributeError, KeyError):  # another version of Python; code can still choose "fork" itself
        pass


def preload(config):
    """What went wrong, or None."""
    import traceback
    import types
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.dont_write_bytecode = True
    sys.argv = [""]
    if config["packages"]:
        sys.path.insert(end_of_library(), os.path.abspath(config["packages"]))
    if config["helpers"]:
        sys.meta_path.insert(0, HelperFinder(config["helpers"]))
    own = ["_ast", "atexit", "io", "keyword", "linecache", "reprlib", "resource", "threading", "traceback"]
    for name in own + config["preload"]:
        try:
            __import__(name)
        except BaseException as failure:
            text = "".join(traceback.format_exception_only(type(failure), failure)).strip()
            return "the module %r cannot be preloaded: %s" % (name, text[-2000:])
    if "multiprocessing.context" in sys.modules:
        fork_by_default(sys.modules["multiprocessing.context"])
    else:
        sys.meta_path.insert(0, ForkByDefault())
    return None
)driver_ends";
inline constexpr std::string_view python_driver_driver_1 = R"driver_ends(

import array
import collections
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time



class Output:
    """One stream of a run: its start goes to the host at once, its end is kept until the run is over."""

    def __init__(self, keep):
        self.head_left = keep // 2
        self.tail_room = keep - keep // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def take(self, data):
        self.total += len(data)
        first = min(self.head_left, len(data))
        if first:
            self.head += data[:first]
            self.head_left -= first
        if first < len(data):
            self.tail += data[first:] if first else data
            if len(self.tail) > 2 * self.tail_room + 65536:
                self.trim()

    def trim(self):
        if len(self.tail) > self.tail_room:
            del self.tail[:len(self.tail) - self.tail_room]


class Run:
    def __init__(self, number, header, body):
        self.number = number
        self.header = header
        self.body = body
        self.outputs = [Output(header["keep"]), Output(header["keep"])]
        self.deadline = None
        self.reason = None
        self.report = b""
        self.started = None
        self.before = {}
        self.displayed = 0
        self.said_last = b""  # the frame of a display that is sent together with the report


class Child:
    """A process of the nursery's, and what connects us with it."""

    def __init__(self, number, name, outputs, link):
        self.number = number
        self.name = name
        self.outputs = outputs  # descriptors; None after the end of the process
        self.link = link
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.run = None
        self.between = [bytearray(), bytearray()]  # the output since its last run, of each stream
        self.queue = collections.deque()
        self.ended = None
        self.problem = None
        self.linger = None
        self.killed = False
        self.interrupting = False
        self.deaf = None
        self.writing = False


class Driver:
    def __init__(self, host_in, host_out, config):
        self.host_in = host_in
        self.host_out = host_out
        self.config = config
        self.selector = selectors.DefaultSelector()
        self.children = {}
        self.contexts = {}
        self.runs = {}
        self.next_child = 1
        self.arrived = bytearray()
        self.flush_at = None
        self.spare = None
        self.memory_events = memory_events()
        self.memory_kills = 0

    @staticmethod
    def frame(header, *body):
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
        size = 4 + len(text) + sum(map(len, body))
        return b"".join([struct.pack(">II", size, len(text)), text, *body])

    def say(self, header, *body):
        write_all(self.host_out, self.frame(header, *body))

    def start(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            try:
                ours.close()
                os.close(self.host_in)
                os.close(self.host_out)
                Nursery(theirs, self.config).main()
            finally:
                os._exit(71)
        theirs.close()
        self.nursery = ours
        text = ours.recv(65536)
        if not text:
            self.say({"t": "failed", "text": "the process that loads the modules to be preloaded has died"})
            return False
        answer = json.loads(text)
        if answer["problem"]:
            self.say({"t": "failed", "text": answer["problem"]})
            return False
        self.say({"t": "ready", "version": "%d.%d.%d" % sys.version_info[:3],
                  "implementation": sys.implementation.name, "adopts": self.adopts})
        return True

    def main(self):
        self.adopts = prctl(PR_SET_CHILD_SUBREAPER, 1)  # if this succeeds, it succeeds in the nursery too
        prctl(PR_SET_DUMPABLE, 0)
        give_back()  # the memory in which this program was compiled
        if not self.start():
            return 1
        self.selector.register(self.host_in, selectors.EVENT_READ, (self.from_host, None))
        self.selector.register(self.nursery, selectors.EVENT_READ, (self.from_nursery, None))
        self.over = False
        self.get_ready()
        while not self.over:
            for key, events in self.selector.select(self.patience()):
                handler, about = key.data
                handler(about, events)
            self.look_at_clock()
        self.nursery.close()  # the nursery then ends all runs
        try:
            os.wait()
        except OSError:
            pass
        return 0

    # -- time

    def patience(self):
        times = [run.deadline for run in self.runs.values() if run.deadline is not None]
        times += [child.linger for child in self.children.values() if child.linger is not None]
        times += [child.deaf for child in self.children.values() if child.deaf is not None]
        if self.flush_at is not None:
            times.append(self.flush_at)
        return max(0, min(times) - time.monotonic()) if times else None

    def look_at_clock(self):
        now = time.monotonic()
        if self.flush_at is not None and self.flush_at <= now:
            self.flush_at = None
            for run in self.runs.values():
                self.send_heads(run)
        for run in [run for run in self.runs.values() if run.deadline is not None and run.deadline <= now]:
            self.stop(run, "timeout")
        for child in [child for child in self.children.values() if child.deaf is not None and child.deaf <= now]:
            self.kill(child)
        for child in [child for child in self.children.values() if child.linger is not None and child.linger <= now]:
            self.finish_child(child)

    def get_ready(self):
        """For the next run."""
        self.memory_kills = memory_kills(self.memory_events)
        if self.spare is None:
            self.spare = self.make_child(None)

    def send_heads(self, run):
        for index in (0, 1):
            head = run.outputs[index].head
            if head:
                self.say({"t": "out", "id": run.number, "stream": index}, bytes(head))
                run.outputs[index].head = bytearray()

    def stop(self, run, reason):
        """A context may stop by itself first, and keep what it knows."""
        child = run.child
        polite = child.name is not None and run.reason is None and run.header["grace"] > 0
        run.reason = run.reason or reason
        if polite:
            run.deadline = time.monotonic() + run.header["grace"] / 1000
            child.interrupting = True
            child.deaf = run.deadline + LINGER  # for a monitor that does not forward the interrupt
            self.order({"interrupt": child.number})
        else:
            run.deadline = None
            self.kill(child)

    def kill(self, child):
        child.killed = True
        child.deaf = None
        self.order({"kill": child.number})

    def order(self, what, descriptors=()):
        extra = []
        if descriptors:
            extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            self.nursery.sendmsg([json.dumps(what).encode()], extra)
        except OSError:
            self.over = True  # nothing can run without a nursery; the host starts another driver

    # -- the host

    def from_host(self, about, events):
        data = os.read(self.host_in, 1 << 20)
        if not data:
            self.over = True
            return
        self.arrived += data
        while len(self.arrived) >= 8:
            size, header_size = struct.unpack_from(">II", self.arrived)
            if len(self.arrived) < 4 + size:
                break
)driver_ends";
inline constexpr std::string_view python_driver_driver_2 = R"driver_ends(            header = json.loads(bytes(self.arrived[8:8 + header_size]))
            body = bytes(self.arrived[8 + header_size:4 + size])
            del self.arrived[:4 + size]
            getattr(self, "do_" + header["op"])(header, body)

    def do_run(self, header, body):
        run = Run(header["id"], header, body)
        name = header.get("context")
        child = self.contexts.get(name) if name is not None else None
        if child is None or child.killed:
            child = None
            if name is None:
                child, self.spare = self.spare, None
            child = child or self.make_child(name)
            if child is None:
                return self.report_end(run, None, "no descriptors are left for another run")
        self.runs[run.number] = run
        run.child = child
        child.queue.append(run)
        self.next_run(child)
        if child.run is not run:
            self.say({"t": "turn", "id": run.number, "began": False})

    def do_reply(self, header, body):
        run = self.runs.get(header["id"])
        if run is not None and run.child.run is run:
            self.send_child(run.child, body)

    def do_cancel(self, header, body):
        run = self.runs.get(header["id"])
        if run is None:
            return
        if run.child.run is run:
            self.stop(run, "cancelled")
        else:
            run.child.queue.remove(run)
            run.reason = "cancelled"
            self.report_end(run, None, None)

    def do_contexts(self, header, body):
        names = [name for name, child in self.contexts.items() if not child.killed and child.ended is None]
        self.say({"t": "answer", "id": header["id"], "names": names})

    def do_drop(self, header, body):
        child = self.contexts.pop(header["context"], None)
        if child is not None:
            if child.run is not None:
                child.run.reason = child.run.reason or "dropped"
            self.kill(child)
        self.say({"t": "answer", "id": header["id"], "found": child is not None})

    # -- children

    def make_child(self, name):
        held = []
        try:
            held += os.pipe()
            held += os.pipe()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError:
            for fd in held:
                os.close(fd)
            return None
        child = Child(self.next_child, name, [held[0], held[2]], ours)
        self.next_child += 1
        self.order({"fork": child.number, "context": name is not None}, [held[1], held[3], theirs.fileno()])
        os.close(held[1])
        os.close(held[3])
        theirs.close()
        ours.setblocking(False)
        for index in (0, 1):
            os.set_blocking(child.outputs[index], False)
            self.selector.register(child.outputs[index], selectors.EVENT_READ, (self.from_output, (child, index)))
        self.selector.register(ours, selectors.EVENT_READ, (self.from_link, child))
        self.children[child.number] = child
        if name is not None:
            self.contexts[name] = child
        return child

    def next_run(self, child):
        if child.run is not None or child.ended is not None or child.interrupting or child.killed or not child.queue:
            return
        run = child.run = child.queue.popleft()
        run.started = time.monotonic()
        if child.name is not None:
            self.say({"t": "turn", "id": run.number, "began": True})
        if run.header["timeout"] is not None:
            run.deadline = run.started + run.header["timeout"] / 1000
        if run.header["files"]:
            run.before, run.whole = scan_files(run.header["files"])
        for index in (0, 1):
            if child.between[index]:
                self.take_output(run, index, bytes(child.between[index]))
                child.between[index] = bytearray()
        self.send_child(child, run.body)
        run.body = b""

    def send_child(self, child, body):
        if len(child.outgoing) > MOST_UNREAD:
            return self.close_link(child)
        child.outgoing += struct.pack(">I", len(body))
        child.outgoing += body
        self.to_link(child)

    def to_link(self, child):
        if child.link is None:
            return
        try:
            while child.outgoing:
                del child.outgoing[:child.link.send(memoryview(child.outgoing)[:1 << 20].tobytes())]
        except BlockingIOError:
            pass
        except OSError:
            child.outgoing.clear()
        if bool(child.outgoing) != child.writing:
            child.writing = bool(child.outgoing)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if child.writing else 0)
            self.selector.modify(child.link, events, (self.from_link, child))

    def from_output(self, about, events=None):
        """Takes what one output has, at most so much at a time; True where more may follow at once."""
        child, index = about
        if child.outputs[index] is None:
            return False
        try:
            data = os.read(child.outputs[index], 1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(child.outputs[index])
            os.close(child.outputs[index])
            child.outputs[index] = None
            self.maybe_finish(child)
            return False
        if child.run is not None:
            self.take_output(child.run, index, data)
        else:
            child.between[index] += data
            del child.between[index][:-MOST_BETWEEN]
        return True

    def take_output(self, run, index, data):
        run.outputs[index].take(data)
        if run.outputs[index].head and self.flush_at is None:
            self.flush_at = time.monotonic() + 0.1

    def drain(self, child):
        """What its outputs hold now, and no more: whoever writes on is not waited for."""
        for index in (0, 1):
            for _ in range(16):
                if not self.from_output((child, index)):
                    break

    def from_link(self, child, events):
        """True where it has said something, and may have said more."""
        if events & selectors.EVENT_WRITE:
            self.to_link(child)
        if not events & selectors.EVENT_READ or child.link is None:
            return False
        try:
            data = child.link.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.close_link(child)
            return False
        child.incoming += data
        while child.link is not None and len(child.incoming) >= 4:
            size = struct.unpack_from(">I", child.incoming)[0]
            if not 1 <= size <= MOST_REPORT:
                self.close_link(child)  # the messages that follow could not be parsed
                return False
            if len(child.incoming) < 4 + size:
                break
            letter, body = child.incoming[4:5], bytes(child.incoming[5:4 + size])
            del child.incoming[:4 + size]
            self.hear(child, bytes(letter), body)
        return True

    def close_link(self, child):
        if child.link is not None:
            self.selector.unregister(child.link)
            child.link.close()
            child.link = None
            if child.name is not None and child.ended is None and not child.killed:
                child.killed = True  # it cannot receive messages any more; it may end by itself soon
                child.deaf = time.monotonic() + LINGER

    def hear(self, child, letter, body):
        run = child.run
        if run is None or run.report:
            return
        if letter == b"c":
            self.say({"t": "call", "id": run.number}, body)
        elif letter == b"d":
            run.displayed += len(body)
            if run.displayed <= MOST_DISPLAYED:
)driver_ends";
inline constexpr std::string_view python_driver_driver_3 = R"driver_ends(                if child.ended is None:
                    self.drain(child)
                self.send_heads(run)  # output from before the display must be sent before it
                if child.incoming[4:5] == b"r":  # the report has arrived too: sent together, they wake the host once
                    run.said_last += self.frame({"t": "display", "id": run.number}, body)
                else:
                    self.say({"t": "display", "id": run.number}, body)
        elif letter == b"r":
            run.report = body
            if child.name is not None:
                self.drain(child)
                child.run = None
                self.report_end(run, 0, None)
                self.next_run(child)

    # -- the ends

    def from_nursery(self, about, events):
        text = self.nursery.recv(65536)
        if not text:
            self.over = True
            return
        news = json.loads(text)
        child = self.children.get(news.get("ended", news.get("interrupted")))
        if child is None:
            return
        if "interrupted" in news:  # the next run waits for this, or the signal would interrupt it
            child.interrupting = False
            if not child.killed:
                child.deaf = None
            self.next_run(child)
            return
        child.ended = news["status"] if news["status"] is not None else -1
        child.problem = news.get("problem") or ("what it started cannot be ended" if news.get("left") else None)
        child.deaf = None
        child.linger = time.monotonic() + LINGER
        for _ in range(256):  # its last messages; bounded, as another process may keep writing
            if not self.from_link(child, selectors.EVENT_READ):
                break
        self.close_link(child)
        if child.run is not None:
            child.run.deadline = None
        self.drain(child)
        self.maybe_finish(child)

    def maybe_finish(self, child):
        if child.ended is not None and child.outputs == [None, None] and child.number in self.children:
            self.finish_child(child)

    def finish_child(self, child):
        del self.children[child.number]
        child.linger = None
        if self.spare is child:
            self.spare = None
        for index in (0, 1):
            if child.outputs[index] is not None:
                self.selector.unregister(child.outputs[index])
                os.close(child.outputs[index])
                child.outputs[index] = None
        if self.contexts.get(child.name) is child:
            del self.contexts[child.name]
        run, child.run = child.run, None
        if run is not None:
            self.report_end(run, child.ended, child.problem)
        for waiting in list(child.queue):  # the context of these runs has ended; they get a new one
            child.queue.clear()
            heir = self.contexts.get(child.name) or self.make_child(child.name)
            if heir is None:
                self.report_end(waiting, None, "no descriptors are left for another run")
                continue
            waiting.child = heir
            heir.queue.append(waiting)
            self.next_run(heir)

    def report_end(self, run, status, problem):
        self.runs.pop(run.number, None)
        header = {"t": "end", "id": run.number, "reason": run.reason, "problem": problem, "exit": None, "signal": None}
        if status is not None and status >= 0:
            if os.WIFSIGNALED(status):
                header["signal"] = os.WTERMSIG(status)
                if header["signal"] == signal.SIGKILL and run.reason is None:
                    header["memory"] = memory_kills(self.memory_events) > self.memory_kills
            else:
                header["exit"] = os.WEXITSTATUS(status)
        if run.started is not None:
            header["us"] = int((time.monotonic() - run.started) * 1e6)
            if run.header["files"]:
                after, whole = scan_files(run.header["files"])
                header["files"], all_of_them = changed_files(run.before, after)
                header["files_whole"] = whole and run.whole and all_of_them
        name = run.header.get("context")
        if name is not None:
            child = self.contexts.get(name)
            header["alive"] = child is not None and child.ended is None and not child.killed
        pieces = []
        for output in run.outputs:
            output.trim()
            pieces += [bytes(output.head), bytes(output.tail)]
        header["totals"] = [output.total for output in run.outputs]
        header["pieces"] = [len(piece) for piece in pieces]
        write_all(self.host_out, run.said_last + self.frame(header, *pieces, run.report))
        if hasattr(os, "sched_yield"):  # lets the reader of the result run before the next fork
            os.sched_yield()
        self.get_ready()


def start():
    """Standard input and output become the host's alone; nothing that runs ever sees them."""
    host_in = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 10)
    host_out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 10)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    os.set_blocking(host_in, True)
    os.set_blocking(host_out, True)
    write_all(host_out, GREETING)
    size = read_exactly(host_in, 4)
    config = size and read_exactly(host_in, struct.unpack(">I", size)[0])
    if not config:
        return 1
    return Driver(host_in, host_out, json.loads(config)).main()


if __name__ == "__main__":
    sys.exit(start())
)driver_ends";

/// The program of the Python driver, in pieces that follow one another.
inline constexpr std::array<std::string_view, 13> python_driver = {
    python_driver_base_1, python_driver_files_1, python_driver_values_1, python_driver_values_2, python_driver_interpreter_1, python_driver_interpreter_2, python_driver_interpreter_3, python_driver_run_1, python_driver_nursery_1, python_driver_nursery_2, python_driver_driver_1, python_driver_driver_2, python_driver_driver_3};

/// The part of it that runs in Pyodide, too, in pieces that follow one another.
inline constexpr std::array<std::string_view, 6> python_driver_in_pyodide = {
    python_driver_files_1, python_driver_values_1, python_driver_values_2, python_driver_interpreter_1, python_driver_interpreter_2, python_driver_interpreter_3};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
