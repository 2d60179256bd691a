# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""What stands around code in Pyodide, behind the parts of python_driver.py that are about a run and about files.

One interpreter executes one piece of code after another. A context keeps what it knows; between other runs everything is
put back that can be: the names of every module that was there before, the modules that came, `sys`, `os.environ`, the
work directory. What a run has changed inside objects of those modules (attributes of classes, caches) stays.
"""
import base64
import json
import os
import sys
import types

from pyodide.ffi import to_js as TO_JS


class OwnJson:
    """What code does to the module is not our end."""
    dumps = staticmethod(json.dumps)
    loads = staticmethod(json.loads)


json = OwnJson
DRIVER = "cofferdam_driver"  # what this text is called in tracebacks, from which it is left out
MOST_REPORT = 16 * 1024 * 1024  # bytes of one thing that a run says
BASELINE = ("ast asyncio atexit base64 bisect calendar cmath codecs collections.abc contextlib copy csv dataclasses "
            "datetime decimal enum fractions functools gc hashlib heapq inspect io itertools json keyword linecache math "
            "numbers operator pathlib pickle random re reprlib secrets shutil signal statistics string struct tempfile "
            "textwrap threading time traceback typing unicodedata urllib.error urllib.parse urllib.request uuid warnings "
            "zlib").split()


class PyodideChannel(Channel):
    """Speaks to the main thread."""

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
            PAUSE(0)  # which is where an interrupt arrives

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
    for _ in range(200):  # Pyodide looks for interrupts every now and then
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
    raise OSError(38, "there are no processes here")


class Selector:
    """There is nothing to wait for but time."""

    def select(self, timeout=None):
        import time
        time.sleep(1e9 if timeout is None else max(0, timeout))
        return []

    def close(self):
        pass


def make_loops():
    """Event loops that run when they are told to; Pyodide's own runs when nothing else does, which is never here."""
    import asyncio

    class Loop(asyncio.base_events.BaseEventLoop):
        def __init__(self):
            super().__init__()
            self._selector = Selector()

        def _process_events(self, events):
            pass

        def _write_to_self(self):
            pass

    events = asyncio.events
    base = getattr(events, "_BaseDefaultEventLoopPolicy", None) or events.BaseDefaultEventLoopPolicy

    class Policy(base):
        _loop_factory = Loop

    POLICY.append(Policy)


POLICY = []


def use_loops():
    import asyncio
    events = asyncio.events
    events._set_running_loop(None)
    events._event_loop_policy = POLICY[0]()


def make_opener(urllib_request):
    """urlopen by the host's process, which has the permissions."""
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


class Before:
    """How things were."""

    def __init__(self):
        import gc
        import signal
        import warnings
        self.modules = dict(sys.modules)
        self.names = [(module, dict(vars(module))) for module in sys.modules.values() if hasattr(module, "__dict__")]
        self.environment = dict(os.environ)
        self.lists = [(one, list(one)) for one in (sys.path, sys.argv, sys.meta_path, sys.path_hooks, warnings.filters)]
        self.recursion = sys.getrecursionlimit()
        self.interrupt = signal.getsignal(signal.SIGINT)
        import operator
        self.same = operator.is_
        self.runs = 0
        gc.collect()
        gc.freeze()

    def restore(self):
        """False where this interpreter is not to be used again."""
        import gc
        import signal
        import threading
        sys.settrace(None)
        sys.setprofile(None)
        good = True
        for name in [name for name in sys.modules if name not in self.modules]:
            loader = getattr(getattr(sys.modules[name], "__spec__", None), "loader", None)
            if type(loader).__name__ == "ExtensionFileLoader":
                good = False  # most of those cannot be loaded twice
            del sys.modules[name]
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
        for module, names in self.names:
            now = vars(module)
            if len(now) == len(names) and all(map(self.same, now.values(), names.values())):
                continue
            for name in [name for name in now if name not in names]:
                del now[name]
            for name, value in names.items():
                if now.get(name, self) is not value:
                    now[name] = value
        for one, content in self.lists:
            if one != content:
                one[:] = content
        if dict(os.environ) != self.environment:
            for name in [name for name in os.environ if name not in self.environment]:
                del os.environ[name]
            os.environ.update(self.environment)
        sys.setrecursionlimit(self.recursion)
        if signal.getsignal(signal.SIGINT) is not self.interrupt:
            signal.signal(signal.SIGINT, self.interrupt)
        threading.settrace(None)
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
    """What Python does at its end."""
    import atexit
    try:
        atexit._run_exitfuncs()
    except BaseException:
        import traceback
        traceback.print_exc()
    flush()


def begin_main():
    sys.modules["__main__"] = types.ModuleType("__main__")
    if sys.path[:1] != ["/code"]:
        sys.path.insert(0, "/code")
    use_loops()


def serve(host, config):
    import random
    import signal
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
    for finder in sys.meta_path:  # Pyodide's own, by which JavaScript's objects are imported
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
            continue  # the answer to a call that nobody waits for any more
        if one is None or not is_context:
            begin_main()
            one = Interpreter(CHANNEL, is_context)
            random.seed()
        open_streams()
        signal.signal(signal.SIGINT, one.on_interrupt)
        there, whole = scan_files(most) if most else ({}, False)
        one.run(request)
        request = None
        if not is_context:
            end_run()
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
        CHANNEL.send(b"e", files)
        good = True
        if not is_context:
            one = None
            try:
                good = before.restore()
            except BaseException:
                good = False
        host.idle(None, not good or memory() > config["most_memory"])


def prepare():
    """What a snapshot holds."""
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
