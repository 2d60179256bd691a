# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The driver process: exchanges frames with the host, and collects the output of runs."""
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

from base import GREETING, LINGER, MOST_BETWEEN, MOST_DISPLAYED, MOST_REPORT, MOST_UNREAD, PR_SET_CHILD_SUBREAPER
from base import PR_SET_DUMPABLE, SHORT, MemoryKills, give_back, prctl, read_exactly, write_all
from files import changed_files, scan_files
from nursery import Nursery


class Output:
    """One output stream of a run.

    The first keep/2 bytes are sent to the host while the run executes. The last keep/2 bytes are sent when it ends. The
    bytes between them are dropped.
    """

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
    """One request of the host to execute code."""

    def __init__(self, number, header, body):
        self.number = number
        self.header = header
        self.body = body
        self.outputs = [Output(header["keep"]), Output(header["keep"])]
        self.deadline = None
        self.reason = None
        self.report = b""
        self.started = None
        self.has_waited = False  # the host was told that the run waits in the queue of its context
        self.tell_at = None  # the time at which the host is told that the run has begun, unless it has ended before
        self.before = {}
        self.displayed = 0
        self.said_last = b""  # the frame of a display that is sent together with the report


class Child:
    """A run process: its output streams, its channel, and the requests that it executes."""

    def __init__(self, number, name, outputs, link):
        self.number = number
        self.name = name
        self.outputs = outputs  # descriptors of standard output and standard error; None after the stream has ended
        self.link = link
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.run = None
        self.between = [bytearray(), bytearray()]  # output of each stream after the last run
        self.queue = collections.deque()
        self.ended = None
        self.problem = None
        self.linger = None  # after the end of the process: the time until which its output may stay open
        self.killed = False
        self.interrupting = False
        self.deaf = None  # the time at which the process is killed unless it reacts before
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
        self.wake_at = None  # the earliest time at which something must be done
        self.spare = None
        self.memory_kills = None
        self.kills_before = 0  # the count of out-of-memory kills before the runs that execute now

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
            self.say({"t": "failed", "text": "the process that preloads modules died"})
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
        give_back()  # frees the memory that was needed to compile this program
        if not self.start():
            return 1
        self.memory_kills = MemoryKills()  # after the start, so that no run inherits the descriptor
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
        times = [self.flush_at]
        for run in self.runs.values():
            times += run.deadline, run.tell_at
        for child in self.children.values():
            times += child.linger, child.deaf
        self.wake_at = min((each for each in times if each is not None), default=None)
        return None if self.wake_at is None else max(0, self.wake_at - time.monotonic())

    def look_at_clock(self):
        now = time.monotonic()
        if self.wake_at is None or now < self.wake_at:
            return
        if self.flush_at is not None and self.flush_at <= now:
            self.flush_at = None
            for run in self.runs.values():
                self.send_heads(run)
        for run in self.runs.values():
            if run.tell_at is not None and run.tell_at <= now:
                run.tell_at = None
                self.say({"t": "turn", "id": run.number, "began": True})
        for run in [run for run in self.runs.values() if run.deadline is not None and run.deadline <= now]:
            self.stop(run, "timeout")
        for child in [child for child in self.children.values() if child.deaf is not None and child.deaf <= now]:
            self.kill(child)
        for child in [child for child in self.children.values() if child.linger is not None and child.linger <= now]:
            self.finish_child(child)

    def get_ready(self):
        """Prepares for the next run: forks its process in advance, and reads the count of out-of-memory kills."""
        self.kills_before = self.memory_kills.count()
        if self.spare is None:
            self.spare = self.make_child(None)

    def send_heads(self, run):
        for index in (0, 1):
            head = run.outputs[index].head
            if head:
                self.say({"t": "out", "id": run.number, "stream": index}, bytes(head))
                run.outputs[index].head = bytearray()

    def stop(self, run, reason):
        """Ends a run. Kills its process, except that the process of a context is only interrupted at first.

        An interrupted run may end by itself within `grace` milliseconds. The context then keeps its variables.
        """
        child = run.child
        polite = child.name is not None and run.reason is None and run.header["grace"] > 0
        run.reason = run.reason or reason
        if polite:
            run.deadline = time.monotonic() + run.header["grace"] / 1000
            child.interrupting = True
            child.deaf = run.deadline + LINGER  # kills it if the monitor does not forward the interrupt
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
            header = json.loads(bytes(self.arrived[8:8 + header_size]))
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
                return self.report_end(run, None, "the driver has no file descriptors left for another run")
        self.runs[run.number] = run
        run.child = child
        child.queue.append(run)
        self.next_run(child)
        if child.run is not run:
            run.has_waited = True
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
            # The host is not woken for a run that ends soon.
            run.tell_at = run.started + (0 if run.has_waited else SHORT)
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
        """Reads once from an output stream, at most 256 KiB. Returns True if more may be available at once."""
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
        """Reads what the outputs contain now. Reads each at most 16 times, as the process may write without end."""
        for index in (0, 1):
            for _ in range(16):
                if not self.from_output((child, index)):
                    break

    def from_link(self, child, events):
        """Sends and receives on a channel. Returns True if data has arrived, so that more may follow at once."""
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
                child.killed = True  # it cannot receive messages any more; it has LINGER seconds to end by itself
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
                if child.ended is None:
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
        if "interrupted" in news:  # the next run starts only now, because the signal would interrupt it
            child.interrupting = False
            if not child.killed:
                child.deaf = None
            self.next_run(child)
            return
        child.ended = news["status"] if news["status"] is not None else -1
        child.problem = news.get("problem") or ("its processes cannot be ended" if news.get("left") else None)
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
                self.report_end(waiting, None, "the driver has no file descriptors left for another run")
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
                    header["memory"] = self.memory_kills.count() > self.kills_before
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
    """Moves the two streams of the host to other descriptors, which no run inherits. Then serves the host."""
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
