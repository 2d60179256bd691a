# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Executes runs in Pyodide. It is one program with the modules of python_driver that are in IN_PYODIDE of
make_python_driver.py: they precede this text.

One interpreter executes one piece of code after another. A context keeps its variables. After a run without a context,
the interpreter restores everything that costs little time to restore: see `Before`. Changes deeper inside objects stay,
for example in caches and in the registries of abstract classes and codecs.
"""
import base64
import json
import os
import sys
import types

from pyodide.ffi import to_js as TO_JS


class OwnJson:
    """The functions of the module json. Code that replaces them in the module does not affect this program."""
    dumps = staticmethod(json.dumps)
    loads = staticmethod(json.loads)


json = OwnJson
DRIVER = "cofferdam_driver"  # the file name of this program in tracebacks; its frames are removed from them
MOST_REPORT = 16 * 1024 * 1024  # maximum bytes of one message from a run
BASELINE = ("ast asyncio atexit base64 bisect calendar cmath codecs collections.abc contextlib copy csv dataclasses "
            "datetime decimal enum fractions functools gc hashlib heapq inspect io itertools json keyword linecache math "
            "numbers operator pathlib pickle random re reprlib secrets shutil signal statistics string struct tempfile "
            "textwrap threading time traceback typing unicodedata urllib.error urllib.parse urllib.request uuid warnings "
            "zlib").split()


class PyodideChannel(Channel):
    """The run's end of its connection to the main thread of the process."""

    def __init__(self):
        import threading
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.calling = threading.Lock()
        self.calls = 0
        self.fetches = 0
        self.host = None

    def send(self, letter, what, waits=False):
        body = json.dumps(what, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        self.host.send(letter.decode(), TO_JS(body))

    def receive(self):
        while True:
            body = self.host.receive()
            if body is not None and type(body).__name__ != "JsUndefined" and hasattr(body, "to_bytes"):
                return json.loads(body.to_bytes())
            PAUSE(0)  # an interrupt raises its exception here

    def fetch(self, request):
        self.fetches += 1
        self.send(b"n", dict(request, number=self.fetches))
        while True:
            reply = self.receive()
            if reply.get("fetched") == self.fetches:
                return reply


CHANNEL = PyodideChannel()


def PAUSE(seconds):
    CHANNEL.host.pause(seconds)
    for _ in range(200):  # Pyodide checks for interrupts only once in many instructions
        pass


def make_sleep(time):
    def sleep(seconds, /):
        if not isinstance(seconds, (int, float)) and not hasattr(seconds, "__index__"):
            seconds = float(seconds)
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            PAUSE(max(0, min(left, 3600)))
            if left <= 0:
                return
    return sleep


def no_processes(*args, **kwargs):
    raise OSError(38, "WebAssembly has no processes")


def no_sockets(*args, **kwargs):
    import errno
    address = next((" for %s:%s" % each[:2] for each in args if type(each) is tuple and len(each) > 1), "")
    raise OSError(errno.ENOTSUP, "WebAssembly has no sockets%s; use urllib.request for the hosts that pyodide's "
                                 "allow_network allows" % address)


class Selector:
    """A selector for an event loop. There are no sockets here, so it only waits until the timeout."""

    def select(self, timeout=None):
        import time
        time.sleep(1e9 if timeout is None else max(0, timeout))
        return []

    def close(self):
        pass


def make_loops():
    """Makes asyncio use an event loop that works without JavaScript. Pyodide's own loop needs the event loop of
    JavaScript, which never continues here, because the interpreter never returns to it."""
    import asyncio

    class Loop(asyncio.base_events.BaseEventLoop):
        def __init__(self):
            super().__init__()
            self._selector = Selector()

        def _process_events(self, events):
            pass

        def _write_to_self(self):
            pass

        def run_in_executor(self, executor, function, *args):
            """Calls the function at once if the default executor is wanted, because there are no threads."""
            if executor is not None:
                return super().run_in_executor(executor, function, *args)
            self._check_closed()
            made = self.create_future()
            try:
                made.set_result(function(*args))
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as failure:
                made.set_exception(failure)
            return made

    events = asyncio.events
    base = getattr(events, "_BaseDefaultEventLoopPolicy", None) or events.BaseDefaultEventLoopPolicy

    class Policy(base):
        _loop_factory = Loop

        def get_event_loop(self):
            """Creates a loop if there is none, as Python did in the main thread before version 3.14."""
            if self._local._loop is None:
                self.set_event_loop(self.new_event_loop())
            return self._local._loop

    POLICY.append(Policy)
    asyncio.EventLoop = asyncio.SelectorEventLoop = Loop  # asyncio's own loop would end the interpreter
    asyncio._DefaultEventLoopPolicy = Policy
    asyncio.run = asyncio.runners.run  # replaces the function that Pyodide has put there


POLICY = []


def use_loops():
    import asyncio
    events = asyncio.events
    events._set_running_loop(None)
    events._event_loop_policy = POLICY[0]()


def make_opener(urllib_request):
    """Makes urlopen send its requests through the broker process, which has the network permissions."""
    import email.message
    import io
    import urllib.error
    import urllib.response

    class Handler(urllib_request.BaseHandler):
        handler_order = 100

        def http_open(self, request):
            data = request.data
            if data is not None and not isinstance(data, (bytes, bytearray)):
                data = b"".join(data)
            timeout = request.timeout if isinstance(request.timeout, (int, float)) else None
            answer = CHANNEL.fetch({
                "url": request.full_url, "method": request.get_method(), "headers": dict(request.header_items()),
                "timeout": timeout and int(timeout * 1000),
                "body64": None if data is None else base64.b64encode(data).decode()})
            if "error" in answer:
                raise urllib.error.URLError(answer["error"])
            headers = email.message.Message()
            for name, value in answer["headers"]:
                if name not in ("content-encoding", "transfer-encoding"):
                    headers[name] = value
            body = io.BytesIO(base64.b64decode(answer["body64"]))
            response = urllib.response.addinfourl(body, headers, answer["url"], answer["status"])
            response.msg = answer["reason"]
            return response

        https_open = http_open

    urllib_request.install_opener(urllib_request.build_opener(Handler()))


def contexts_of_decimal():
    """Returns the three template contexts of decimal, as texts with all settings."""
    import decimal
    return [repr(one) for one in (decimal.DefaultContext, decimal.BasicContext, decimal.ExtendedContext)]


def set_contexts_of_decimal(texts):
    """Restores the settings that contexts_of_decimal() has returned."""
    import decimal
    names = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
    for one, text in zip((decimal.DefaultContext, decimal.BasicContext, decimal.ExtendedContext), texts):
        was = eval(text, vars(decimal))
        for name in names:
            setattr(one, name, getattr(was, name))
        one.traps = was.traps
        one.flags = was.flags


def settings():
    """Returns a getter and a setter for each setting of the interpreter that is not stored under a name in a module."""
    import csv
    import gc
    import locale
    import signal
    import socket
    return [(sys.getrecursionlimit, sys.setrecursionlimit),
            (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
            (sys.get_asyncgen_hooks, lambda hooks: sys.set_asyncgen_hooks(*hooks)),
            (sys.get_coroutine_origin_tracking_depth, sys.set_coroutine_origin_tracking_depth),
            (sys.getswitchinterval, sys.setswitchinterval),
            (gc.get_threshold, lambda threshold: gc.set_threshold(*threshold)), (gc.get_debug, gc.set_debug),
            (lambda: signal.getsignal(signal.SIGINT), lambda handler: signal.signal(signal.SIGINT, handler)),
            (socket.getdefaulttimeout, socket.setdefaulttimeout), (csv.field_size_limit, csv.field_size_limit),
            (lambda: locale.setlocale(locale.LC_ALL), lambda name: locale.setlocale(locale.LC_ALL, name)),
            (contexts_of_decimal, set_contexts_of_decimal)]


def is_still(now, was):
    """Returns True if a setting has not changed. Compares plain values by ==, and other objects by identity, because
    their __eq__ may belong to the run."""
    if type(now) is not type(was):
        return False
    if type(was) in (tuple, list):
        return len(now) == len(was) and all(map(is_still, now, was))
    return now == was if type(was) in (int, float, str) else now is was


class Before:
    """The state of the interpreter before the first run, to which restore() returns it.

    It consists of the names in modules, in their classes that are written in Python, and in those of their objects that
    contain settings. It also includes lists and tables that programs add to, and the values of settings().
    """

    def __init__(self):
        import calendar
        import copy
        import copyreg
        import gc
        import itertools
        import locale
        import logging
        import operator
        import reprlib
        import urllib.request
        import warnings
        self.modules = dict(sys.modules)
        modules = [module for module in sys.modules.values() if hasattr(module, "__dict__")]
        known = {name.partition(".")[0] for name in BASELINE} - {"ast"} | {"logging", "weakref"}
        classes = {id(one): one for module in modules for one in vars(module).values()
                   if isinstance(one, type) and one.__flags__ & 0x300 == 0x200  # a heap type that is not immutable
                   and one.__module__.partition(".")[0] in known}
        loggers = [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
        real_json = sys.modules["json"]
        objects = [os.environ, logging.root, logging.root.manager, *loggers, reprlib.aRepr, calendar.c,
                   real_json._default_encoder, real_json._default_decoder, urllib.request._opener]
        self.owners = modules + list(classes.values()) + objects
        self.names = [dict(vars(owner)) for owner in self.owners]
        # Live views of all current names. They are compared in one go, because this is done after every run.
        self.now = [vars(owner).values() for owner in self.owners]
        self.sizes = [len(names) for names in self.names]
        self.values = [value for names in self.names for value in names.values()]
        # Every run changes names in these modules.
        self.restless = [self.owners.index(sys), self.owners.index(sys.modules["asyncio.events"])]
        self.chain = itertools.chain.from_iterable
        self.same = operator.is_
        self.lists = [(one, list(one)) for one in (sys.path, sys.argv, sys.meta_path, sys.path_hooks, warnings.filters,
                                                   logging.root.handlers, gc.callbacks)]
        self.tables = [(one, dict(one)) for one in (copyreg.dispatch_table, copy._deepcopy_dispatch,
                                                    logging.root.manager.loggerDict, logging._levelToName,
                                                    logging._nameToLevel, locale._override_localeconv)]
        self.environment = dict(os.environ)
        self.settings = [(get, change, get()) for get, change in settings()]
        self.mask = os.umask(0)
        os.umask(self.mask)
        self.runs = 0
        gc.collect()
        gc.freeze()

    def restore_names(self):
        for index in self.restless:
            self.restore_owner(index)
        if self.as_before():
            return
        for index in range(len(self.owners)):
            self.restore_owner(index)
        self.values = [value for names in self.names for value in names.values()]
        import logging
        logging.root.manager._clear_cache()  # the cache of enabled levels

    def as_before(self):
        """Returns True if all names still have their objects. Compares identities, because an object of a run may claim
        to be equal to another."""
        return list(map(len, self.now)) == self.sizes and all(map(self.same, self.chain(self.now), self.values))

    def restore_owner(self, index):
        """Restores the names of a module, class or object. Does not call methods of the object, its class or metaclass,
        because they may belong to the run."""
        owner, names = self.owners[index], self.names[index]
        now = vars(owner)
        if len(now) == len(names) and all(map(self.same, now.values(), names.values())):
            return
        is_class = isinstance(owner, type)
        for name in [name for name in now if name not in names]:
            type.__delattr__(owner, name) if is_class else now.pop(name)
        for name, value in names.items():
            if now.get(name, self) is not value:
                type.__setattr__(owner, name, value) if is_class else now.update({name: value})
        self.names[index] = dict(now)  # the names may now have another order

    def restore(self):
        """Restores the state. Returns False if this interpreter must not be used again."""
        import gc
        import threading
        sys.settrace(None)
        sys.setprofile(None)
        good = True
        for name in [name for name in sys.modules if name not in self.modules]:
            loader = getattr(getattr(sys.modules[name], "__spec__", None), "loader", None)
            if type(loader).__name__ == "ExtensionFileLoader":
                good = False  # most extension modules cannot be loaded twice
            del sys.modules[name]
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
        self.restore_names()
        for one, content in self.lists:
            if len(one) != len(content) or not all(map(self.same, one, content)):
                one[:] = content
        for one, content in self.tables:
            if (len(one) != len(content) or not all(map(self.same, one, content)) or
                    not all(map(self.same, one.values(), content.values()))):
                one.clear()
                one.update(content)
        if not is_still(list(os.environ.items()), list(self.environment.items())):
            for name in [name for name in os.environ if name not in self.environment]:
                del os.environ[name]
            os.environ.update(self.environment)
        for get, change, was in self.settings:
            if not is_still(get(), was):
                change(was)
        threading.settrace(None)
        os.umask(self.mask)
        os.chdir("/code")
        gc.enable()
        self.runs += 1
        gc.collect(2 if self.runs % 16 == 0 else 1)
        for descriptor in (0, 1, 2):
            try:
                os.fstat(descriptor)
            except OSError:
                good = False
        return good


def open_streams():
    import io
    sys.stdin = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), "utf-8", "surrogateescape", line_buffering=True)
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    STREAMS[:] = [sys.stdout, sys.stderr]


def end_run():
    """Calls the atexit functions and flushes the streams, as Python does before it exits."""
    import atexit
    try:
        atexit._run_exitfuncs()
    except BaseException:
        import traceback
        traceback.print_exc()
    flush()


def begin_main():
    """Creates an empty __main__ for the next run."""
    sys.modules["__main__"] = types.ModuleType("__main__")
    if sys.path[:1] != ["/code"]:
        sys.path.insert(0, "/code")
    use_loops()


def serve(host, config):
    """Prepares the interpreter, and executes the host's requests until the process ends."""
    import contextvars
    import random
    import signal
    import socket
    import time
    import urllib.request
    config = json.loads(config)
    CHANNEL.host = host
    is_context = config["context"]
    os.chdir("/code")
    os.environ.clear()
    os.environ.update({"HOME": "/code", "LANG": "C.UTF-8", "PATH": "/"}, **config["environment"])
    time.sleep = make_sleep(time)
    for module in (os, sys.modules["posix"]):
        for name in ("system", "fork", "forkpty", "popen", "posix_spawn", "execv", "execve", "kill", "killpg"):
            if hasattr(module, name):
                setattr(module, name, no_processes)
    for name in ("connect", "connect_ex", "bind", "listen"):
        setattr(socket.socket, name, no_sockets)
    socket.create_connection = no_sockets
    make_loops()
    make_opener(urllib.request)
    open_streams()
    problem = None
    for name in config["preload"]:
        try:
            __import__(name)
        except BaseException as failure:
            problem = "the module %r cannot be preloaded: %s: %s" % (name, type(failure).__name__, clean(str(failure)))
    begin_main()
    for finder in sys.meta_path:  # removes JavaScript's objects from Pyodide's importer for them
        if hasattr(finder, "jsproxies"):
            finder.jsproxies.clear()
    for name in ("js", "pyodide_js", "pyodide_js._api", "pyodide.http"):
        sys.modules.pop(name, None)
    memory = host.memory
    before = Before()
    one = None
    most = 0
    host.idle(problem, False)
    while True:
        request = CHANNEL.receive()
        if "begin" in request:
            most = request["begin"]
            continue
        if "code" not in request:
            continue  # the answer to a call whose caller has stopped waiting
        if one is None or not is_context:
            begin_main()
            one = Interpreter(CHANNEL, is_context)
            around = contextvars.Context()  # stores context variables, such as decimal's precision
            random.seed()
        open_streams()
        signal.signal(signal.SIGINT, one.on_interrupt)
        there, whole = scan_files(most) if most else ({}, False)
        request_keeps = request.get("keep_files", 0)
        around.run(one.run, request)
        request = None
        if not is_context:
            around.run(end_run)
            if one.loop is not None:
                try:
                    one.loop.close()
                except BaseException:
                    pass
        flush()
        files = {"files": [], "whole": False}
        if most:
            after, still_whole = scan_files(most)
            changed, are_all = changed_files(there, after)
            files = {"files": changed, "whole": whole and still_whole and are_all}
            send_contents(changed, request_keeps)
        CHANNEL.send(b"e", files)
        good = True
        if not is_context:
            one = around = None
            try:
                good = before.restore()
            except BaseException:
                good = False
        host.idle(None, not good or memory() > config["max_memory"])


def send_contents(rows, room):
    """Sends the contents of the listed files that fit into `room` bytes. A message has the length of the path (32 bits,
    big-endian), the path, and the content."""
    for row in rows:
        if row["size"] > min(room, MOST_REPORT - 8192):
            continue
        path = row["path"].encode("utf-8") if "path" in row else base64.b64decode(row["path64"])
        try:
            with open(path, "rb") as file:
                content = file.read(row["size"])
        except OSError:
            continue
        room -= len(content)
        CHANNEL.host.send("f", TO_JS(len(path).to_bytes(4, "big") + path + content))


def prepare():
    """Imports the modules that the memory snapshot contains."""
    for name in BASELINE:
        __import__(name)
    for name in sys.builtin_module_names:
        if not name.startswith("_") and name not in ("js", "pyodide_js"):
            try:
                __import__(name)
            except BaseException:
                pass
    sys.dont_write_bytecode = True
    sys.argv[:] = [""]


prepare()
