# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The process that preloads modules and forks a monitor for each run."""
import array
import json
import os
import selectors
import signal
import socket
import sys
import time

from base import DRIVER, LEFT, PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, give_back, prctl
from interpreter import NOTEBOOK
from run import begin_run
from values import remember_source


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
        """Runs a monitor from its fork on. Returns its exit code: 0 or LEFT if it has reported the end of its run."""
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
        # Executes once in advance the calls that are needed at the end. Interpreter.rehearse gives the reason.
        json.dumps({"ended": number, "status": 0, "left": False}).encode()
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        signal.pthread_sigmask(signal.SIG_BLOCK, [])
        time.monotonic()
        while True:  # reaps orphaned processes of the run until the run itself ends
            about = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            if about.si_pid == run:
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
                self.kill(run)  # kills the remaining processes of its group
                _, status = os.waitpid(run, 0)
                break
            os.waitpid(about.si_pid, 0)
        left = self.end_strays()
        self.say(ended=number, status=status, left=left)
        return LEFT if left else 0

    @staticmethod
    def kill(pid):
        """Kills a process and its process group. The process must be a child that leads its group and is not reaped.

        Until it is reaped, no other process can have its id.
        """
        for send in (os.kill, os.killpg):
            try:
                send(pid, signal.SIGKILL)
            except OSError:
                pass

    def reap(self):
        """Reaps ended children, and reports the ends of monitors.

        Reaps at most 256 at once, because children that end without pause would otherwise delay the driver's orders.
        """
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
                    self.say(ended=number, status=None, problem="its process could not be created")
        self.patience = 0 if more else 0.05 if left else None

    def end_strays(self, longest=5):
        """Kills what ended runs have left behind. Returns True if processes still exist after `longest` seconds."""
        limit = time.monotonic() + longest
        pause = 0.0
        while True:
            if not self.runs and not self.own:
                try:
                    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                except ChildProcessError:
                    return False  # the fast path: there are no children
            strays = [pid for pid in self.children() if pid not in self.runs and pid not in self.own]
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
        """Returns the process group of a process, or 0 if the process does not exist any more."""
        try:
            return os.getpgid(pid)
        except OSError:
            return 0

    @staticmethod
    def children():
        """Returns the ids of this process's children."""
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
    """An import hook for the helper modules, whose sources the host has sent."""

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
    """Returns the index in sys.path behind the standard library. Modules in a folder that is inserted there cannot
    replace the standard library's modules, even if code may write to that folder."""
    for index, path in enumerate(sys.path):
        if os.path.basename(path) in ("site-packages", "dist-packages"):
            return index
    return len(sys.path)


class ForkByDefault:
    """An import hook that makes "fork" the default start method of multiprocessing, as before Python 3.14.

    The newer default starts another interpreter, which must import __main__. This fails in a run, because __main__ is
    not a file there, and a pool would wait forever.
    """

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
    """Imports the modules to preload, and creates an empty __main__. Returns a problem as text, or None."""
    import traceback
    import types
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.dont_write_bytecode = True
    sys.argv = [""]
    if config.get("notebook"):
        names = dict(globals())  # the program of notebooks uses the names of this program, and changes none
        exec(compile(config["notebook"], DRIVER, "exec"), names)
        NOTEBOOK.append(names["Notebook"])
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
