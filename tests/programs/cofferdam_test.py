#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs the program cofferdam as its users do: with pipes, in a pseudo-terminal, with signals.

cofferdam_test.py FOLDER [NAME...]   FOLDER contains the programs; NAME: only the tests whose names contain it

The places are local, jail (if bubblewrap works) and docker (if COFFERDAM_TEST_DOCKER is the address of a daemon with the
images of tests/docker/images.sh). COFFERDAM_REQUIRE=all makes a missing place a failure. The last line printed is
`N passed, N failed, N skipped`.
"""
import base64
import io
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.dont_write_bytecode = True
import sessions
from model import Model
from terminal import LIMIT, Failure, Terminal

FOLDER = Path(sys.argv[1]).resolve()
PROGRAM = str(FOLDER / "cofferdam")
DOCKER = os.environ.get("COFFERDAM_TEST_DOCKER", "")
REQUIRED = os.environ.get("COFFERDAM_REQUIRE", "").split(",")
serial = 0


def check(condition, *what):
    if not condition:
        raise Failure(" ".join(repr(each) for each in what))


def equal(found, expected, *what):
    check(found == expected, "found", found, "expected", expected, *what)


class Place:
    """A provider: its options, and the environment variables of the program."""

    def __init__(self, name, options, variables=None):
        self.name, self.options = name, options
        usual = {name: value for name, value in os.environ.items() if name not in ("PORT", "NO_COLOR", "E2B_API_KEY")}
        self.variables = dict(usual, **(variables or {}))

    def words(self, subcommand, *words):
        return [PROGRAM, subcommand, *self.options, *words]

    def run(self, *words, subcommand="run", data=b"", cwd=None, variables=None):
        """Returns the exit status and both outputs."""
        ended = subprocess.run(self.words(subcommand, *words), input=data, capture_output=True, timeout=LIMIT, cwd=cwd,
                               env=dict(self.variables, **(variables or {})))
        return ended.returncode, ended.stdout, ended.stderr

    def start(self, *words, subcommand="run"):
        return subprocess.Popen(self.words(subcommand, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.variables)


def mark():
    """Returns a number of seconds for sleep that no other process uses, by which its processes are found."""
    global serial
    serial += 1
    return f"{70000 + serial}.{os.getpid()}"


def processes_with(text):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if text.encode() in line and state not in "ZX" and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def nothing_is_left(text):
    check(until(lambda: not processes_with(text), 10), "still runs:", text, processes_with(text))


def line_of(stream, expected):
    ready, _, _ = select.select([stream], [], [], LIMIT)
    check(ready, "no output; expected", expected)
    equal(stream.readline(), expected)


# ---- run ----

def test_run_passes_both_outputs_on_byte_for_byte(place):
    status, out, err = place.run("--", "sh", "-c", r"printf 'a\000b\377\n\r'; printf 'wrong\n' >&2")
    equal((status, out, err), (0, b"a\0b\xff\n\r", b"wrong\n"))


def test_run_passes_a_large_output_on(place):
    status, out, _ = place.run("-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo end")
    equal((status, len(out), out[-4:]), (0, 3000004, b"end\n"))


def test_run_returns_the_status_of_the_command(place):
    for line, expected in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)):
        equal(place.run("--", "sh", "-c", line)[0], expected, line)


def test_run_takes_the_command_with_or_without_dashes(place):
    equal(place.run("echo", "-n", "--", "x")[1], b"-- x")
    equal(place.run("--timeout", "50", "--", "printf", "%s", "--help")[1], b"--help")
    equal(place.run("--timeout=50", "-c", "echo a | tr a b")[1], b"b\n")


def test_run_reports_a_missing_command_and_one_that_is_no_program(place):
    status, _, err = place.run("--", "no-such-command-at-all")
    equal(status, 127)
    check(b"no-such-command-at-all" in err, err)
    equal(place.run("--", "/etc/passwd")[0], 126)


def test_run_ends_everything_at_the_time_limit(place):
    seconds = mark()
    begin = time.monotonic()
    status, out, err = place.run("--timeout", "700ms", "-c", f"echo begun; setsid sleep {seconds} & sleep {seconds}")
    equal((status, out), (124, b"begun\n"))
    check(b"limit" in err or b"time" in err, err)
    check(time.monotonic() - begin < 20, "took", time.monotonic() - begin)
    nothing_is_left(seconds)


def test_run_passes_input_on_and_its_end(place):
    data = os.urandom(400_000)
    status, out, _ = place.run("cat", data=data)
    check(status == 0 and out == data, status, len(out))
    equal(place.run("-c", "head -c 3; exit 4", data=data)[:2], (4, data[:3]))


def test_run_streams_in_both_directions(place):
    running = place.start("-c", "echo ready; read word; echo got $word; cat >/dev/null; echo end >&2")
    line_of(running.stdout, b"ready\n")
    running.stdin.write(b"one\n")
    running.stdin.flush()
    line_of(running.stdout, b"got one\n")
    _, err = running.communicate(timeout=LIMIT)
    equal((running.returncode, err), (0, b"end\n"))


def test_run_sets_variables_and_the_directory(place):
    status, out, _ = place.run("--env", "A=1 2", "--env", "FROM_HERE", "--env", "A=3", "-c", "echo $A $FROM_HERE $SECRET_HERE",
                               variables={"FROM_HERE": "here", "SECRET_HERE": "secret"})
    equal((status, out), (0, b"3 here\n"))
    equal(place.run("--env", "NOT_SET_ANYWHERE", "true")[0], 125)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        Path(folder, "sub").mkdir()
        status, out, err = place.run("--input", f"{folder}/sub", "--workdir", "sub", "-c", "basename $PWD")
        equal((status, out), (0, b"sub\n"), err)


def test_run_copies_files_in_and_out(place):
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "a.txt").write_text("1\n2\n")
        (here / "tree" / "deep").mkdir(parents=True)
        (here / "tree" / "deep" / "b.sh").write_text("#!/bin/sh\necho from b\n")
        (here / "tree" / "deep" / "b.sh").chmod(0o755)
        status, out, err = place.run(
            "--input", "a.txt", "--input", "a.txt:in/other.txt", "--input", "a.txt:in/", "--input", "tree",
            "--input", "tree/**/*.sh:flat", "--output", "sum:made/total.txt", "--output", "plots", "--output", "plots/*.csv:csv",
            "-c", "cat a.txt in/other.txt in/a.txt; tree/deep/b.sh; ls flat; wc -l <a.txt >sum; mkdir plots; echo 1,2 >plots/x.csv; "
                  "echo y >plots/y.txt", cwd=folder)
        equal((status, out), (0, b"1\n2\n" * 3 + b"from b\ndeep\n"), err)
        equal((here / "made/total.txt").read_text().strip(), "2")
        equal((here / "plots/y.txt").read_text(), "y\n")
        equal((here / "csv/plots/x.csv").read_text(), "1,2\n")
        equal(sorted(each.name for each in here.iterdir()), ["a.txt", "csv", "made", "plots", "tree"])
        equal(sorted(each.name for each in (here / "made").iterdir()), ["total.txt"])


def test_run_reports_files_that_are_missing(place):
    status, _, err = place.run("--input", "/nowhere/at/all", "true")
    equal(status, 125)
    check(b"/nowhere/at/all" in err, err)
    with tempfile.TemporaryDirectory() as folder:
        status, _, err = place.run("--output", "absent.txt", "true", cwd=folder)
        equal(status, 125)
        check(b"absent.txt" in err, err)
        status, _, err = place.run("--output", "absent.txt", "--output", "made.txt", "-c", "echo 1 >made.txt; exit 5", cwd=folder)
        equal(status, 5)
        check(b"absent.txt" in err, err)
        equal(Path(folder, "made.txt").read_text(), "1\n")


def test_run_prints_one_json_object(place):
    status, out, err = place.run("--json", "-c", r"cat; printf '\377'; echo e >&2; exit 3", data=b"in")
    equal((status, err, out.count(b"\n")), (3, b"", 1))
    result = json.loads(out)
    equal((result["status"], result["exit_code"], result["signal"], result["error"]), (3, 3, None, None))
    equal((result["stdout"], result["stderr"], result["stdout_bytes"]), ("in\ufffd", "e\n", 3))
    check(result["duration_ms"] >= 0 and len(result["isolation"]) == 12, result)
    check(result["isolation"]["process_tree"] != "none", result)
    result = json.loads(place.run("--json", "--timeout", "300ms", "sleep", mark())[1])
    equal((result["status"], result["error"], result["exit_code"]), (124, "timeout", None))
    status, out, _ = place.run("--json", "--input", "/nowhere/at/all", "true")
    result = json.loads(out)
    equal((status, result["status"], result["error"]), (125, 125, "cofferdam"))
    check("/nowhere/at/all" in result["reason"], result)


def test_json_reports_the_isolation_only_of_commands_that_have_run(place):
    status, out, _ = place.run("--json", "--allow", "echo .*", "--", "id")
    result = json.loads(out)
    equal((status, result["error"], result["isolation"]), (126, "command_not_allowed", None))
    result = json.loads(place.run("--json", "--allow", "echo .*", "--", "echo", "a")[1])
    equal((result["stdout"], result["isolation"]["network"] == "none"), ("a\n", place.name == "local"))
    result = json.loads(place.run("--json", "--guards", "imports:json", "-c", "import os", subcommand="python")[1])
    equal((result["status"], result["isolation"]), (126, None))


def test_json_reports_that_output_is_truncated(place):
    result = json.loads(place.run("--json", "-c", "head -c 3000000 /dev/zero | tr '\\0' x")[1])
    check(result["stdout_truncated"] is True and result["stderr_truncated"] is False and result["stdout_bytes"] == 3000000 and len(result["stdout"]) < 3000000, len(result["stdout"]))
    check(json.loads(place.run("--json", "-c", "echo a")[1])["stdout_truncated"] is False)


# The doctor tries each provider. Pyodide would take five seconds of the processor, so only one test lets it start.
WITHOUT_PYODIDE = {"COFFERDAM_DENO": "/nowhere/deno"}


def into_full_device(*words, program=None):
    """Runs the program with a standard output that has no space. Returns the exit status and standard error."""
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([program or PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                               timeout=LIMIT, env=dict(os.environ, DOCKER_HOST="unix:///no/docker.sock", **WITHOUT_PYODIDE))
    return ended.returncode, ended.stderr


NO_SPACE = b"cofferdam: standard output cannot be written: No space left on device\n"


def test_output_that_cannot_be_written_is_a_failure_of_the_program(place):
    for words in (["run", "-c", "echo a"], ["run", "--json", "-c", "echo a"], ["python", "-c", "print(1)"],
                  ["python", "--json", "-c", "print(1)"]):
        equal(into_full_device(words[0], *place.options, *words[1:]), (125, NO_SPACE), words)


def once_texts_that_cannot_be_written_are_failures_of_the_program():
    for words in ([], ["--help"], ["--version"], ["run", "--help"], ["man"], ["completion", "bash"], ["doctor", "--provider", "local"],
                  ["serve", "--port", "0"]):
        status, err = into_full_device(*words)
        equal((status, err), (125, NO_SPACE), words)
    status, err = into_full_device("--help", program=str(FOLDER / "cofferdam-mcp"))
    equal((status, err), (125, NO_SPACE.replace(b"cofferdam:", b"cofferdam-mcp:")))


def test_code_ends_if_its_output_cannot_be_written(place):
    endless = "while True: print('x' * 1000)"
    equal(into_full_device("python", *place.options, "-c", endless), (125, NO_SPACE))
    running = place.start("-c", endless, subcommand="python")
    equal(running.stdout.read(2), b"xx")
    running.stdout.close()
    equal(running.wait(LIMIT), 128 + signal.SIGPIPE)
    running.stdin.close()
    running.stderr.close()


def once_a_reader_of_texts_that_has_gone_is_reported_by_the_status():
    reader, writer = os.pipe()
    os.close(reader)
    words = [PROGRAM, "run", "--provider", "local", "--json", "true"]
    ended = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, timeout=LIMIT)
    os.close(writer)
    equal((ended.returncode, ended.stderr), (128 + signal.SIGPIPE, b""))


def test_run_keeps_a_workspace_of_yours(place):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        status, out, err = place.run("--workspace", ".", "-c", "echo kept >file; ls", cwd=folder)
        equal((status, out), (0, b"file\n"), err)
        equal(Path(folder, "file").read_text(), "kept\n")


def on_jail_memory_is_limited(place):
    code = "x = b'x' * (256 << 20); print(len(x) >> 20)"
    equal(place.run("--", "python3", "-c", code)[:2], (0, b"256\n"))
    status, out, _ = place.run("--memory", "96m", "--", "python3", "-c", code)
    check(status in (1, 137) and out == b"", "MemoryError, or the end by the kernel", status, out)


def on_jail_processors_are_limited(place):
    code = "import time; a = time.monotonic()\nwhile time.monotonic() < a + 1: pass\nprint(time.process_time() < 0.6)"
    status, out, err = place.run("--cpus", "0.3", "--", "python3", "-c", code)
    check((status, out) == (0, b"True\n") or (status == 125 and b"control group" in err), status, out, err)
    equal(place.run("--", "python3", "-c", "print(1)")[:2], (0, b"1\n"))


def on_jail_commands_reach_the_hosts_that_are_allowed_and_no_others(place):
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"answer " + self.path.encode())

        def log_message(self, *_):
            pass

    if shutil.which("curl") is None:
        return
    # In a sandbox, 127.0.0.1 is the sandbox itself; 127.0.0.2 stands for another machine.
    with ThreadingHTTPServer(("127.0.0.2", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"127.0.0.2:{server.server_port}"
        curl = ["curl", "-sS", "--noproxy", ""]
        equal(place.run("--allow-host", host, "--", *curl, f"http://{host}/x")[:2], (0, b"answer /x"))
        _, out, _ = place.run("--allow-host", "example.org", "--", *curl, f"http://{host}/x")
        check(b"Allowed: example.org" in out and b"answer" not in out, out)
        server.shutdown()


def once_allow_host_contradicts_another_network():
    for words, expected in ((["--allow-host", "*", "--", "true"], b"--allow-host"),
                            (["--allow-host", "a.example.org", "--network", "host", "--", "true"], b"--network none"),
                            (["--provider", "local", "--allow-host", "a.example.org", "--", "true"], b"local")):
        ended = subprocess.run([PROGRAM, "run", *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
        equal((ended.returncode, ended.stdout), (125, b""), words, ended.stderr)
        check(expected in ended.stderr, words, ended.stderr)


def test_run_refuses_what_is_not_allowed(place):
    equal(place.run("--allow", "echo [a-z]+", "--allow", "true", "--", "echo", "abc")[:2], (0, b"abc\n"))
    status, out, err = place.run("--allow", "echo [a-z]+", "--", "echo", "abc", "1")
    equal((status, out), (126, b""), err)
    status, out, err = place.run("--allow", "echo .*", "-c", "echo a; id")
    equal((status, out), (126, b""), err)


# ---- signals ----

def interruptible(place, handler):
    seconds = mark()
    running = place.start("-c", f"trap '{handler}' INT; echo ready; sleep {seconds} & while :; do wait; done")
    line_of(running.stdout, b"ready\n")
    return running, seconds


def test_one_interrupt_asks_the_command_to_end(place):
    running, seconds = interruptible(place, "echo ended; exit 3")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=LIMIT)
    equal((running.returncode, out), (3, b"ended\n"), err)
    nothing_is_left(seconds)


def test_an_interrupt_ends_a_command_without_a_handler(place):
    seconds = mark()
    running = place.start("--", "sh", "-c", f"echo ready; exec sleep {seconds}")
    line_of(running.stdout, b"ready\n")
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=LIMIT)
    equal(running.returncode, 128 + signal.SIGINT)
    nothing_is_left(seconds)


def test_two_interrupts_end_everything(place):
    running, seconds = interruptible(place, "echo ignored")
    running.send_signal(signal.SIGINT)
    line_of(running.stdout, b"ignored\n")
    time.sleep(0.3)  # within 200 ms, it would be a copy of the first
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=LIMIT)
    equal(running.returncode, 128 + signal.SIGINT)
    nothing_is_left(seconds)


def send_twice(running, number, pause):
    running.send_signal(number)
    time.sleep(pause)
    running.send_signal(number)


def test_copies_of_a_signal_count_as_one(place):
    running, seconds = interruptible(place, "sleep 1; echo ended; exit 3")
    send_twice(running, signal.SIGINT, 0.02)  # as timeout(1) does
    out, err = running.communicate(timeout=LIMIT)
    equal((running.returncode, out), (3, b"ended\n"), err)
    nothing_is_left(seconds)


def test_other_signals_end_everything(place):
    for number in (signal.SIGTERM, signal.SIGHUP):
        running, seconds = interruptible(place, "echo ignored")
        running.send_signal(number)
        running.communicate(timeout=LIMIT)
        equal(running.returncode, 128 + number)
        nothing_is_left(seconds)


def test_the_death_of_the_program_ends_everything(place):
    running, seconds = interruptible(place, "echo ignored")
    check(until(lambda: processes_with(seconds)), "the command runs")
    running.kill()
    running.communicate(timeout=LIMIT)
    nothing_is_left(seconds)


def test_the_end_of_the_reader_ends_everything(place):
    seconds = mark()
    running = place.start("-c", f"sleep {seconds} & yes")
    equal(running.stdout.readline(), b"y\n")
    running.stdout.close()
    equal(running.wait(LIMIT), 128 + signal.SIGPIPE)
    running.stdin.close()
    running.stderr.close()
    nothing_is_left(seconds)


# ---- terminals ----

def shell_in(place, *words):
    return Terminal(place.words("shell", *words), place.variables)


def test_shell_is_a_terminal(place):
    terminal = shell_in(place)
    terminal.type(b"PS1='> '; tty >/dev/null && echo is_a_$((6*7))_terminal; echo term $TERM\n")
    terminal.expect(rb"is_a_42_terminal")
    terminal.expect(rb"term xterm")
    check(terminal.is_raw(), "the terminal is raw while the shell runs")
    terminal.type(b"stty size\n")
    terminal.expect(rb"30 100")
    terminal.resize(41, 123)
    # The new size arrives a moment later.
    for _ in range(50):
        terminal.type(b"echo size $(stty size) .\n")
        if terminal.expect(rb"size (\d+ \d+) \.")[1] == b"41 123":
            break
        time.sleep(0.05)
    else:
        raise Failure("the size does not follow")
    terminal.type(b"exit 5\n")
    equal(terminal.status(), 5)
    check(not terminal.is_raw(), "the terminal is restored")
    terminal.close()


def test_shell_passes_interrupts_to_the_program_inside(place):
    seconds = mark()
    terminal = shell_in(place)
    terminal.type(f"PS1='ready> '; echo go_$((1+1)); sleep {seconds}; echo slept_$?\n".encode())
    terminal.expect(rb"go_2")
    check(until(lambda: b"sleep" in map(program_name, processes_with(seconds))), "sleep runs")
    terminal.type(b"\x03")
    check(until(lambda: b"sleep" not in map(program_name, processes_with(seconds)), 10), "sleep has ended")
    terminal.type(b"\necho alive_$((2+3))\n")
    terminal.expect(rb"alive_5")
    terminal.expect(rb"ready> ")  # a shell that edits lines takes Ctrl-D for an end only from then on
    terminal.type(b"\x04")
    terminal.status()
    check(not terminal.is_raw(), "the terminal is restored")
    terminal.close()
    nothing_is_left(seconds)


def program_name(pid):
    try:
        return os.path.basename(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0])
    except OSError:
        return b""


def test_shell_restores_the_terminal_however_it_ends(place):
    for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        seconds = mark()
        terminal = shell_in(place, "--", "sh", "-c", f"echo go; sleep {seconds}")
        terminal.expect(rb"go")
        check(until(terminal.is_raw), "the terminal is raw")
        os.kill(terminal.child, number)
        equal(terminal.status(), status)
        check(not terminal.is_raw(), "the terminal is restored")
        terminal.close()
        nothing_is_left(seconds)
    terminal = shell_in(place, "--timeout", "1", "--", "sleep", mark())
    equal(terminal.status(), 124)
    check(not terminal.is_raw(), "the terminal is restored")
    terminal.close()
    terminal = shell_in(place, "--", "no-such-command-at-all")
    equal(terminal.status(), 127)
    check(not terminal.is_raw(), "the terminal is restored")
    terminal.close()


def test_keys_of_a_terminal_interrupt_a_command(place):
    seconds = mark()
    terminal = Terminal(place.words("run", "--", "sh", "-c", f"echo go; exec sleep {seconds}"), place.variables)
    terminal.expect(rb"go")
    terminal.type(b"\x03")
    equal(terminal.status(), 130)
    terminal.close()
    nothing_is_left(seconds)


# ---- python ----

def test_python_prints_output_and_the_value(place):
    status, out, err = place.run("-", subcommand="python", data=b"import sys\nprint('hello')\nprint('e', file=sys.stderr)\n6 * 7\n")
    equal((status, out, err), (0, b"hello\n42\n", b"e\n"))
    equal(place.run("-", subcommand="python", data=b"x = 1\n")[:2], (0, b""))


def test_python_returns_the_status_of_the_code(place):
    status, _, err = place.run("-", subcommand="python", data=b"1 / 0")
    equal(status, 1)
    check(b"ZeroDivisionError" in err and b"Traceback" in err, err)
    for code, expected in ((b"import sys; sys.exit(3)", 3), (b"raise SystemExit", 0), (b"def", 1),
                           (b"import os; os.kill(os.getpid(), 9)", 137)):
        equal(place.run("-", subcommand="python", data=code)[0], expected, code)
    equal(place.run("--timeout", "1", "-", subcommand="python", data=b"while True: pass")[0], 124)


def test_python_takes_a_file_its_arguments_and_files(place):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "code.py").write_text("import sys, os\nprint(sys.argv, os.environ['WORD'])\nopen('made.txt', 'w').write(open('in.txt').read() * 2)\n")
        Path(folder, "in.txt").write_text("ab")
        status, out, err = place.run("--input", "in.txt", "--output", "made.txt:here.txt", "--env", "WORD=w", "code.py", "one", "--two",
                                     subcommand="python", cwd=folder)
        equal((status, out), (0, b"['code.py', 'one', '--two'] w\n4\n"), err)
        equal(Path(folder, "here.txt").read_text(), "abab")


def test_python_takes_code_from_an_option(place):
    status, out, err = place.run("-c", "import sys\nprint(sys.argv)\n6 * 7", "one", "--two", subcommand="python")
    equal((status, out), (0, b"['-c', 'one', '--two']\n42\n"), err)
    equal(place.run("-c", "", subcommand="python")[:2], (0, b""))
    equal(place.run("-c", "1 / 0", subcommand="python")[0], 1)


def test_python_passes_a_large_output_on_while_the_code_runs(place):
    running = place.start("-", subcommand="python")
    running.stdin.write(b"import sys, time\nprint('first', flush=True)\ntime.sleep(0.3)\nprint('x' * 3_000_000)\n")
    running.stdin.close()
    line_of(running.stdout, b"first\n")
    check(running.poll() is None, "still runs")
    out = running.stdout.read()
    equal((running.wait(LIMIT), len(out)), (0, 3_000_001))
    running.stdout.close()
    running.stderr.close()


def test_python_prints_one_json_object(place):
    status, out, err = place.run("--json", "-", subcommand="python", data=b"print('p')\n[1, 2.5, 'x']")
    result = json.loads(out)
    equal((status, err, result["status"], result["value"], result["value_text"], result["stdout"]),
          (0, b"", 0, [1, 2.5, "x"], "[1, 2.5, 'x']", "p\n"))
    result = json.loads(place.run("--json", "-", subcommand="python", data=b"\n1 / 0")[1])
    equal((result["status"], result["exception"]["type"], result["exception"]["line"]), (1, "ZeroDivisionError", 2))


def test_python_has_guards(place):
    status, out, err = place.run("--guards", "syntax,imports:json", "-", subcommand="python", data=b"import os\nprint(os)")
    equal((status, out), (126, b""))
    check(b"os" in err, err)
    equal(place.run("--guards", "syntax,imports:json", "-", subcommand="python", data=b"import json\njson.dumps([1])")[:2],
          (0, b"'[1]'\n"))
    equal(place.run("--guards", "nonsense", "-", subcommand="python")[0], 125)


def test_an_interrupt_ends_python(place):
    seconds = mark()
    running = place.start("-", subcommand="python")
    running.stdin.write(f"import subprocess\nprint('ready', flush=True)\nsubprocess.run(['sleep', '{seconds}'])".encode())
    running.stdin.close()
    line_of(running.stdout, b"ready\n")
    running.send_signal(signal.SIGINT)
    equal(running.wait(LIMIT), 130)
    running.stdout.close()
    running.stderr.close()
    nothing_is_left(seconds)


def test_a_signal_ends_the_copying_of_a_file_that_python_made(place):
    with tempfile.TemporaryDirectory() as folder:
        running = subprocess.Popen(place.words("python", "--output", "large", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=folder, env=place.variables)
        running.stdin.write(b"file = open('large', 'wb')\nfile.truncate(6 << 30)\nfile.close()\n")
        running.stdin.close()
        io = Path(f"/proc/{running.pid}/io")
        check(until(lambda: int(re.search(r"^wchar: (\d+)$", io.read_text(), re.M)[1]) > 1 << 23), "nothing is copied")
        running.send_signal(signal.SIGTERM)
        equal(running.wait(LIMIT), 143)
        equal(running.stderr.read(), b"")  # 9 s after the signal, the program would give up with a message
        running.stderr.close()
        running.stdout.close()
        equal(list(Path(folder).iterdir()), [])


# ---- servers ----

class McpClient:
    """A client of `cofferdam mcp` over stdio."""

    def __init__(self, place, *words):
        self.server = place.start(*words, subcommand="mcp")
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        equal(self.ask(1, "initialize", client)["serverInfo"]["name"], "cofferdam")
        self.server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    def ask(self, number, method, parameters):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        self.server.stdin.write(json.dumps(message).encode() + b"\n")
        self.server.stdin.flush()
        while True:
            answer = json.loads(self.server.stdout.readline())
            if answer.get("id") == number:
                return answer["result"]

    def command(self, line):
        return self.ask(2, "tools/call", {"name": "code_exec", "arguments": {"cmd": line}})

    def end(self):
        self.server.stdin.close()
        status = self.server.wait(LIMIT)
        self.server.stdout.close()
        self.server.stderr.close()
        return status


class ServeClient:
    """A client of `cofferdam serve`."""

    def __init__(self, place, *words, key=None):
        words = [*words, "--port", "0"] + (["--allow-host-paths"] if place.name == "local" else [])
        self.server = place.start(*words, subcommand="serve")
        self.line = self.server.stdout.readline().decode()
        self.variables = dict(re.findall(r"(E2B_\w+)=(\S+)", self.line))
        if key:
            self.variables["E2B_API_KEY"] = key

    def post(self, path, body, fields):
        request = urllib.request.Request(self.variables["E2B_API_URL"] + path, data=body, headers=fields)
        return urllib.request.urlopen(request, timeout=LIMIT)

    def sandbox(self, **fields):
        return json.load(self.post("/v2/sandboxes", json.dumps({"templateID": "base", **fields}).encode(),
                                   {"X-API-KEY": self.variables["E2B_API_KEY"], "Content-Type": "application/json"}))

    def described(self, sandbox):
        request = urllib.request.Request(self.variables["E2B_API_URL"] + "/sandboxes/" + sandbox["sandboxID"],
                                         headers={"X-API-KEY": self.variables["E2B_API_KEY"]})
        return json.load(urllib.request.urlopen(request, timeout=LIMIT))

    def command(self, sandbox, line):
        start = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", line]}}).encode()
        stream = self.post("/process.Process/Start", b"\0" + len(start).to_bytes(4, "big") + start, {
            "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1",
            "E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": "49983",
            "X-Access-Token": sandbox["envdAccessToken"]})
        return b"".join(map(base64.b64decode, re.findall(rb'"stdout":\s*"([^"]+)"', stream.read())))

    def end(self):
        self.server.send_signal(signal.SIGINT)
        status = self.server.wait(LIMIT)
        self.server.communicate()
        return status


def containers():
    """Returns the ids of all containers, if there is a daemon for the tests."""
    if not DOCKER:
        return ""
    return subprocess.run(["docker", "-H", DOCKER, "ps", "-aq"], capture_output=True, timeout=LIMIT).stdout


def children(pid):
    """Returns the processes that a process has started, with all that they have started."""
    found = []
    for child in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = Path(f"/proc/{child}/stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state not in "ZX":
            found += [int(child), *children(int(child))]
    return found


def test_mcp_runs_a_command(place):
    client = McpClient(place)
    answer = client.command("echo $((6 * 7))")
    check("42" in answer["content"][0]["text"], answer)
    equal(client.end(), 0)


def test_mcp_takes_its_environment_from_a_pool_and_leaves_none(place):
    before = containers()
    client = McpClient(place, "--pool", "2")
    answer = client.command("echo $((6 * 7))")
    check("42" in answer["content"][0]["text"], answer)
    processes = children(client.server.pid)
    equal(client.end(), 0)
    check(until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes)), "processes are left", processes)
    check(until(lambda: containers() == before), "containers are left")


# Feature: J3
def test_mcp_offers_an_agent_and_skills(place):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "count").mkdir()
            Path(folder, "count/SKILL.md").write_text("---\nname: count\ndescription: Counts lines.\n---\nUse wc.\n")
            keyed = Place(place.name, place.options, dict(place.variables, COUNT_KEY="none"))
            client = McpClient(keyed, "--agent-model", "m", "--agent-url", f"http://127.0.0.1:{server.server_port}/v1",
                               "--agent-key-variable", "COUNT_KEY", "--agent-tokens", "1000", "--skills", folder)
            tools = {tool["name"]: tool for tool in client.ask(3, "tools/list", {})["tools"]}
            check("another model (m)" in tools["run_agent"]["description"], tools["run_agent"])
            check(tools["open_skill"]["description"].endswith("- count: Counts lines."), tools["open_skill"])
            skill = client.ask(4, "tools/call", {"name": "open_skill", "arguments": {"name": "count"}})
            check("Use wc." in skill["content"][0]["text"], skill)
            client.command("printf 'a\\nb\\nc\\n' > data.csv")
            answer = client.ask(5, "tools/call", {"name": "run_agent", "arguments": {"task": "Count the lines."}})
            facts = answer["structuredContent"]
            equal((facts["finished"], facts["files"], facts["turns"]), (True, ["count.txt"], 2), answer)
            check("The file has 3 lines." in answer["content"][0]["text"], answer)
            check("3" in client.command("cat count.txt skills/count/SKILL.md")["content"][0]["text"])
            equal(client.end(), 0)
    finally:
        server.shutdown()
        server.server_close()


def test_serve_prints_its_variables_and_runs_a_command(place):
    client = ServeClient(place)
    names = sorted(client.variables)
    equal((client.line.startswith("export "), names), (True, ["E2B_API_KEY", "E2B_API_URL", "E2B_SANDBOX_URL"]), client.line)
    check(re.fullmatch(r"e2b_[0-9a-f]{40}", client.variables["E2B_API_KEY"]), client.line)
    equal(client.command(client.sandbox(), "echo $((6 * 7))"), b"42\n")
    equal(client.end(), 0)


def once_copies_of_a_signal_end_a_server_in_order():
    for pause, expected in ((0.02, 0), (0.4, 125)):
        client = ServeClient(Place("local", ["--provider", "local"]))
        client.sandbox()
        # A request that does not end delays the end of the server by a second.
        host, port = client.variables["E2B_API_URL"].removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            key = client.variables["E2B_API_KEY"]
            slow.sendall(f"POST /sandboxes HTTP/1.1\r\nHost: {host}\r\nX-API-KEY: {key}\r\nContent-Length: 50\r\n\r\n{{".encode())
            time.sleep(0.2)
            send_twice(client.server, signal.SIGINT, pause)
            equal(client.server.wait(LIMIT), expected, pause)
        _, err = client.server.communicate(timeout=LIMIT)
        equal(b"a second signal" in err, expected == 125, err)


def test_serve_refuses_a_sandbox_without_internet_only_on_local(place):
    client = ServeClient(place)
    try:
        client.sandbox(allow_internet_access=False)
        refused = False
    except urllib.error.HTTPError:
        refused = True
    equal(refused, place.name == "local")
    equal(client.end(), 0)


def status_of(call, *arguments, **fields):
    """Returns the HTTP status of a refused call; 0 if it was not refused."""
    try:
        call(*arguments, **fields)
    except urllib.error.HTTPError as refused:
        return refused.code
    return 0


def test_serve_takes_keys_of_a_file_templates_a_home_and_a_limit(place):
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder, "keys")
        keys.write_text("\ufeff" + "".join(f" e2b_{digit * 40} \r\n" for digit in "121"))
        options = ["--key-file", str(keys), "--template", "Mine", "--home", "/srv/else", "--limit", "4"]
        client = ServeClient(place, *options, key="e2b_" + "1" * 40)
        equal(("E2B_API_KEY=" in client.line, "E2B_API_URL=" in client.line), (False, True), client.line)
        mine = client.sandbox(templateID="mine")
        expected = b"" if place.name == "local" else b"/srv/else\n"
        equal(client.command(mine, "pwd")[-len(expected):] if expected else b"", expected)
        equal(status_of(client.sandbox, templateID="other"), 404)
        client.sandbox()
        equal(client.described(mine)["cpuCount"], 2 if place.name == "docker" else os.cpu_count())
        equal(status_of(client.sandbox), 429, "the share of a key is half of the limit")
        client.variables["E2B_API_KEY"] = "e2b_" + "2" * 40
        equal(status_of(client.sandbox), 0)
        client.variables["E2B_API_KEY"] = "e2b_" + "3" * 40
        equal(status_of(client.sandbox), 401)
        equal(client.end(), 0)


def once_a_template_of_serve_can_have_an_image_of_its_own():
    if not DOCKER:
        return
    place = Place("docker", ["--provider", "docker:cofferdam-test/debian"], {"DOCKER_HOST": DOCKER})
    client = ServeClient(place, "--template", "small=cofferdam-test/busybox")
    line = "ls /etc/debian_version 2>/dev/null; echo end"
    equal(client.command(client.sandbox(), line), b"/etc/debian_version\nend\n")
    equal(client.command(client.sandbox(templateID="small"), line), b"end\n")
    equal(client.end(), 0)


def once_options_of_serve_that_cannot_work_are_refused():
    place = Place("none", [])
    for words, reason in [
            (["--template", "a b"], b"--template needs NAME or NAME=IMAGE"),
            (["--template", "a=image"], b"--template a=IMAGE needs --provider docker or kubernetes, not jail"),
            (["--template", "*=image", "--provider", "docker"], b"cannot have an image"),
            (["--template", "a=", "--provider", "docker"], b"lacks an image"),
            (["--limit", "0"], b"--limit needs a number from 1 to 10000"),
            (["--home", "here"], b"absolute paths in their shortest form"),
            (["--key-file", "/no/such/file"], b"the key file \"/no/such/file\" cannot be read"),
            (["--key-file", "/dev/null"], b"contains no key"),
            (["--network", "cluster"], b"jail: --network is none or host"),
            (["--address", "example.org"], b"is not an IPv4 or IPv6 address")]:
        status, out, err = place.run(*words, "--port", "0", subcommand="serve")
        equal((status, out), (125, b""), err)
        check(reason in err, words, err)
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder, "keys")
        keys.write_text("e2b_1\n\ntwo words\n")
        status, out, err = place.run("--key-file", str(keys), "--port", "0", subcommand="serve")
        equal((status, out), (125, b""), err)
        check(f"the key file \"{keys}\", line 3: ".encode() in err and b"two words" not in err, err)


def once_serve_names_the_option_for_another_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, _, err = Place("none", []).run("--port", str(taken.getsockname()[1]), subcommand="serve")
    equal((status, b"--port 0" in err), (125, True), err)


def once_serve_warns_if_other_machines_can_connect():
    client = ServeClient(Place("local", ["--provider", "local"]), "--address", "0.0.0.0")
    equal(client.variables["E2B_API_URL"].startswith("http://127.0.0.1:"), True, client.line)
    equal(status_of(client.sandbox), 0)
    client.server.send_signal(signal.SIGINT)
    _, err = client.server.communicate(timeout=LIMIT)
    equal(err.count(b"other machines can connect"), 1, err)


def test_serve_hands_out_sandboxes_of_a_pool_and_leaves_none(place):
    before = containers()
    client = ServeClient(place, "--pool", "2")
    for number in range(3):
        equal(client.command(client.sandbox(), "ls -A; echo used > used; echo $((6 * 7))"), b"42\n", number)
    processes = children(client.server.pid)
    check(place.name == "docker" or len(processes) >= 3, processes)
    equal(client.end(), 0)
    check(until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes)), "processes are left", processes)
    check(until(lambda: containers() == before), "containers are left")


def test_agent_works_on_a_file(place):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "data.csv").write_text("a\nb\nc\n")
            status, out, err = place.run("--input", "data.csv", "--output", "made", "--base-url",
                                         f"http://127.0.0.1:{server.server_port}/v1", "Count", "the", "lines.",
                                         subcommand="agent", cwd=folder, variables={"OPENAI_API_KEY": "none"})
            equal(status, 0, out, err)
            equal(Path(folder, "made/count.txt").read_text().strip(), "3", out)
            check(b"finished: The file has 3 lines." in out and b"2 turns" in out and b"\x1b" not in out, out)
    finally:
        server.shutdown()
        server.server_close()


class ListeningModel(Model):
    """A model that keeps the requests it gets."""
    requests = []

    def do_POST(self):
        length = self.headers["Content-Length"]
        body = self.rfile.read(int(length))
        self.requests.append(json.loads(body))
        self.rfile = io.BytesIO(body)
        super().do_POST()


def on_jail_an_agent_is_told_which_hosts_it_reaches(place):
    server = ThreadingHTTPServer(("127.0.0.1", 0), ListeningModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for words, expected in (([], "There is no internet access."), (["--network", "host"], None),
                                (["--allow-host", "example.org"], "Only these hosts can be reached: example.org. HTTP")):
            ListeningModel.requests.clear()
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "data.csv").write_text("a\nb\nc\n")
                status, _, err = place.run("--base-url", f"http://127.0.0.1:{server.server_port}/v1", "--model", "m", "--input", "data.csv",
                                           "--output", "made", *words, "Count.", subcommand="agent", cwd=folder)
            equal(status, 0, err)
            prompt = json.dumps(ListeningModel.requests[0]["messages"][0])
            equal(expected in prompt if expected else "internet" not in prompt and "hosts" not in prompt, True, words, prompt)
    finally:
        server.shutdown()
        server.server_close()


# ---- what needs no place, or one ----

def once_bad_options_are_failures_of_the_program():
    place = Place("local", ["--provider", "local"])
    for words in ([], ["--timeout", "soon", "true"], ["--memory", "much", "true"], ["--cpus", "0", "true"], ["--cpus", "1x", "true"], ["--provider", "nowhere", "true"],
                  ["--input", "a:", "true"], ["-c", "true", "true"], ["--network", "host", "true"]):
        status, out, err = place.run(*words)
        equal((status, out), (125, b""), words)
        check(err.startswith(b"cofferdam: ") and err.count(b"\n") == 1, words, err)
    ended = subprocess.run([PROGRAM, "nonsense"], capture_output=True, timeout=LIMIT)
    equal(ended.returncode, 125)
    check(b'"nonsense" is no subcommand' in ended.stderr, ended.stderr)
    equal(place.run(subcommand="shell")[0], 125)
    for words in (("--token-file", "tokens"), ("--host", "box.example"), ("--origin", "https://app.example")):
        ended = subprocess.run([PROGRAM, "mcp", *words], capture_output=True, timeout=LIMIT)
        equal((ended.returncode, words[0].encode() + b" needs --http" in ended.stderr), (125, True), ended.stderr)
    status, _, err = place.run("--timeout", "0", "true")
    equal(status, 125)
    check(b'from 1ms to a week' in err and b'not "0"' in err and b"without --timeout, there is no limit" in err, err)


def once_every_subcommand_returns_125_for_a_wrong_option():
    for subcommand in SUBCOMMANDS:
        for words in (["--nonsense"], ["--provider", "nowhere"], ["--provider"]):
            if len(words) > 1 and subcommand in ("completion", "man"):
                continue
            ended = subprocess.run([PROGRAM, subcommand, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
            equal((ended.returncode, ended.stdout), (125, b""), subcommand, words, ended.stderr)
    ended = subprocess.run([str(FOLDER / "cofferdam-mcp"), "--nonsense"], capture_output=True, timeout=LIMIT)
    equal((ended.returncode, ended.stdout), (125, b""))


def once_an_agent_without_a_task_shows_the_usage():
    for words in ([], ["--provider", "local"]):
        ended = subprocess.run([PROGRAM, "agent", *words], capture_output=True, timeout=LIMIT)
        equal((ended.returncode, ended.stdout), (125, b""))
        equal(ended.stderr, b"cofferdam: agent needs a TASK; usage: cofferdam agent [OPTION...] TASK; see --help\n")


def once_a_missing_key_is_named_by_its_variable():
    keys = ("E2B_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_CUSTOM_HEADERS", "OPENROUTER_API_KEY")
    variables = {name: value for name, value in os.environ.items() if name not in keys}
    for words, name in ((["run", "--provider", "e2b", "true"], b"E2B_API_KEY"), (["agent", "--provider", "local", "Work."], b"OPENAI_API_KEY")):
        ended = subprocess.run([PROGRAM, *words], capture_output=True, timeout=LIMIT, env=variables)
        equal(ended.returncode, 125)
        check(b"environment variable " + name in ended.stderr and b"()" not in ended.stderr, ended.stderr)


def once_the_default_is_the_jail():
    place = Place("none", [], {"PATH": "/nowhere"})
    status, _, err = place.run("true")
    equal(status, 125)
    check(b"bubblewrap" in err and b"--provider docker:IMAGE" in err, err)
    check(b"docker::" not in err and b"local()" not in err, "the program's users write no C++", err)


def once_a_provider_that_does_not_work_is_a_failure_of_the_program():
    status, _, err = Place("none", ["--provider", "docker:x"], {"DOCKER_HOST": "unix:///no/docker.sock"}).run("true")
    equal(status, 125)
    check(b"/no/docker.sock" in err, err)


def once_a_pool_that_cannot_be_opened_ends_serve_with_the_reason():
    place = Place("none", ["--provider", "docker:x", "--pool", "2"], {"DOCKER_HOST": "unix:///no/docker.sock"})
    status, out, err = place.run("--port", "0", subcommand="serve")
    equal((status, out), (125, b""))
    check(b"/no/docker.sock" in err, err)


def once_an_agent_of_mcp_needs_a_model_and_a_key():
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OPENROUTER_"))}
    for words, expected in ((["--agent-url", "http://127.0.0.1:1/v1"], b"--agent-model NAME"),
                            (["--agent-model", "m"], b"OPENAI_API_KEY"),
                            (["--agent-model", "m", "--agent-key-variable", "NO_SUCH_KEY"], b"NO_SUCH_KEY"),
                            (["--agent-model", "m", "--agent-turns", "0"], b"--agent-turns"),
                            (["--skills", "/nowhere"], b"/nowhere")):
        ended = subprocess.run([PROGRAM, "mcp", "--provider", "local", *words], stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=LIMIT, env=variables)
        equal((ended.returncode, ended.stdout), (125, b""), words, ended.stderr)
        check(expected in ended.stderr, words, ended.stderr)


def once_serve_prints_why_a_sandbox_could_not_be_opened_and_tells_its_client_the_class():
    client = ServeClient(Place("none", ["--provider", "docker:x"], {"DOCKER_HOST": "unix:///no/docker.sock"}))
    try:
        client.sandbox()
        answer = ""
    except urllib.error.HTTPError as refused:
        equal(refused.code, 500)
        answer = refused.read().decode()
    check("The sandbox could not be opened: the backend of this gateway" in answer, answer)
    check("docker.sock" not in answer, answer)
    client.server.send_signal(signal.SIGINT)
    _, err = client.server.communicate(timeout=LIMIT)
    equal((err.count(b"\n"), b"/no/docker.sock" in err), (1, True), err)


def once_a_pool_that_cannot_be_opened_is_an_answer_of_mcp():
    place = Place("none", ["--provider", "docker:x", "--pool", "2"], {"DOCKER_HOST": "unix:///no/docker.sock"})
    client = McpClient(place)
    for _ in range(3):
        begin = time.monotonic()
        answer = client.command("true")
        check(answer["isError"] and "/no/docker.sock" in answer["content"][0]["text"], answer)
        check(time.monotonic() - begin < 5, "the answer took", time.monotonic() - begin)
    equal(client.end(), 0)


def once_a_signal_ends_serve_while_its_pool_opens():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as silent:
        silent.bind(folder + "/docker.sock")
        silent.listen()
        place = Place("none", ["--provider", "docker:x", "--pool", "1"], {"DOCKER_HOST": f"unix://{folder}/docker.sock"})
        server = place.start("--port", "0", subcommand="serve")
        silent.settimeout(LIMIT)
        accepted, _ = silent.accept()
        with accepted:
            server.send_signal(signal.SIGTERM)
            equal(server.wait(LIMIT), 0)
        equal(server.communicate(), (b"", b""))


def once_the_size_of_a_pool_is_a_number():
    for subcommand in ("serve", "mcp"):
        for size in ("-1", "many", "1001", "2x"):
            status, _, err = Place("local", ["--provider", "local"]).run("--pool", size, subcommand=subcommand)
            equal(status, 125)
            check(b"--pool needs a number from 0 to 1000" in err, err)


def texts(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, timeout=LIMIT, check=True, text=True).stdout


SUBCOMMANDS = ["run", "shell", "python", "mcp", "serve", "agent", "doctor", "completion", "man"]


def options_of(subcommand):
    return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", texts(subcommand, "--help"), re.M))


def once_the_help_lists_all_and_fits_the_screen():
    top = texts("--help")
    equal(re.findall(r"^  (\w+)  +\w", top, re.M), SUBCOMMANDS)
    equal(texts(), top)
    for subcommand in SUBCOMMANDS:
        text = texts(subcommand, "--help")
        for line in text.splitlines():
            check(len(line) <= 110, subcommand, line)
        check("--help" in text and text.startswith(f"cofferdam {subcommand}: "), text)
    check(re.fullmatch(r"cofferdam \d+\.\d+\.\d+\S*\n", texts("--version")), texts("--version"))


def once_an_option_has_one_spelling():
    work = {"--provider", "--memory", "--cpus", "--network", "--workspace", "--input", "--output", "--timeout", "--env", "--workdir", "--quiet"}
    for subcommand in ("run", "shell", "python"):
        check(work <= options_of(subcommand), subcommand, work - options_of(subcommand))
    for subcommand in ("mcp", "doctor", "agent"):
        check({"--provider", "--memory", "--cpus", "--network", "--workspace"} <= options_of(subcommand), subcommand)
    for subcommand in ("mcp", "serve"):
        check({"--provider", "--memory", "--cpus", "--pool"} <= options_of(subcommand), subcommand)


def once_the_manual_has_every_option():
    manual = texts("man")
    for subcommand in SUBCOMMANDS:
        check(f".SH cofferdam {subcommand}" in manual, subcommand)
        for option in options_of(subcommand):
            check(option.replace("-", "\\-") in manual, option)
    if shutil.which("groff"):
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou"], input=manual.encode(), capture_output=True, timeout=LIMIT)
        equal((shown.returncode, shown.stderr), (0, b""))
        check(b"SYNOPSIS" in shown.stdout and b"--provider SPEC" in shown.stdout, shown.stdout[:600])


def completions_of(line):
    """Returns the completions that bash offers at the end of a line."""
    script = texts("completion", "bash") + """
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { :; }
_cofferdam
printf '%s\\n' "${COMPREPLY[@]}"
"""
    ended = subprocess.run(["bash", "-c", script, "bash", *line], capture_output=True, timeout=LIMIT, text=True)
    equal(ended.stderr, "")
    return ended.stdout.split()


def once_bash_completes_subcommands_options_and_values():
    equal(completions_of(["cofferdam", ""])[:-2], SUBCOMMANDS)
    equal(completions_of(["cofferdam", "do"]), ["doctor"])
    for subcommand in SUBCOMMANDS:
        equal(set(filter(lambda word: word.startswith("--"), completions_of(["cofferdam", subcommand, "--"]))), options_of(subcommand))
    equal(completions_of(["cofferdam", "run", "--provider", "do"]), ["docker:", "dockerfile:"])
    check({"bash", "zsh", "fish"} <= set(completions_of(["cofferdam", "completion", ""])))


def once_other_shells_accept_their_completions():
    for shell in ("zsh", "fish"):
        script = texts("completion", shell)
        for subcommand in SUBCOMMANDS:
            for option in options_of(subcommand):
                check((option if shell == "zsh" else "-l " + option[2:]) in script, shell, option)
        if shutil.which(shell):
            ended = subprocess.run([shell, "-n", "/dev/stdin"], input=script.encode(), capture_output=True, timeout=LIMIT)
            equal((ended.returncode, ended.stderr), (0, b""), shell)


def transfer_in_terminal(*options, **variables):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/large.bin", "wb") as file:
            file.truncate(600 << 20)
        place = Place("local", ["--provider", "local", *options], variables)
        terminal = Terminal(place.words("run", "--input", f"{folder}/large.bin", "-c", "wc -c < large.bin"), place.variables)
        equal(terminal.status(), 0)
        terminal.close()
        check(b"629145600" in terminal.seen, terminal.seen)
        return terminal.seen


def once_a_terminal_shows_the_progress_of_a_copy():
    seen = transfer_in_terminal()
    check(re.search(rb"\r\x1b\[K\x1b\[36muploading .*large\.bin.*\x1b\[0m.*\[#*\.*\] \d+\.\d MB of 629\.1 MB, \S+ MB/s", seen) or
          re.search(rb"\r\x1b\[K\x1b\[36muploading .*\x1b\[0m.* \d+\.\d MB of 629\.1 MB, \S+ [MG]B/s", seen), seen)
    check(seen.rpartition(b"\r\x1b[K")[2].strip() == b"629145600", "the bar is removed", seen)


def once_progress_honours_no_color_and_quiet():
    seen = transfer_in_terminal(NO_COLOR="1")
    check(b"uploading" in seen and b"\x1b[3" not in seen, seen)
    check(b"uploading" not in transfer_in_terminal("--quiet"))


def once_errors_are_coloured_on_a_terminal_only():
    place = Place("local", ["--provider", "local"])
    for variables, expected in (({}, b"\x1b[31mcofferdam:\x1b[0m "), ({"NO_COLOR": "1"}, b"cofferdam: ")):
        terminal = Terminal(place.words("run", "--", "no-such-command"), dict(place.variables, **variables))
        equal(terminal.status(), 127)
        terminal.close()
        check(terminal.seen.startswith(expected), terminal.seen)
    check(b"\x1b" not in place.run("no-such-command")[2])


def tools_of_mcp(*words):
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [{"id": 1, "method": "initialize", "params": client}, {"method": "notifications/initialized"}, {"id": 2, "method": "tools/list"}]
    with subprocess.Popen([str(FOLDER / "cofferdam-mcp"), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        answer = json.loads(server.stdout.readline())
        server.stdin.close()
    return {tool["name"]: tool for tool in answer["result"]["tools"]}


def once_mcp_tells_models_which_hosts_can_be_reached():
    two = "Only these hosts can be reached: example.org, *.example.net:8443. HTTP_PROXY and HTTPS_PROXY are set."
    for words, expected, is_open in (([], "There is no internet access.", False),
                                     (["--allow-host", "example.org", "--allow-host", "*.example.net:8443"], two, True),
                                     (["--network", "host"], None, True),
                                     (["--provider", "pyodide"], "There is no internet access.", False),
                                     (["--provider", "pyodide", "--network", "example.org"], "Only these hosts can be reached: example.org.", True)):
        tools = tools_of_mcp(*words)
        for name in ("code_exec", "run_python"):
            if name in tools:
                lines = tools[name]["description"].splitlines()
                found = [line for line in lines if "internet access" in line or "can be reached" in line]
                equal([line.removeprefix("- ").rpartition("own. ")[2] for line in found], [expected] if expected else [], words, name)
                equal(tools[name]["annotations"]["openWorldHint"], is_open, words, name)
        check("run_python" in tools, words)


def refused_by_mcp(servers):
    """Returns the error output of `cofferdam-mcp --tools` for servers that are refused."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tools.json")
        file.write_text(json.dumps({"mcpServers": servers}))
        ended = subprocess.run([str(FOLDER / "cofferdam-mcp"), "--provider", "local", "--tools", str(file)], stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=LIMIT, text=True)
        equal((ended.returncode, ended.stdout), (125, ""), ended.stderr)
        return ended.stderr


def once_a_server_without_tools_is_reported_before_any_server_starts():
    with tempfile.TemporaryDirectory() as folder:
        started = Path(folder, "started")
        servers = {"a": {"command": "sh", "args": ["-c", f"touch {started}; sleep 50"], "tools": "*"}, "b": {"command": "node"}}
        err = refused_by_mcp(servers)
        check('"b" lacks "tools"' in err and not started.exists(), err)
    err = refused_by_mcp({"a": {"command": "sh", "args": ["-c", "exit 4"], "tools": "*"}, "b": {"command": "sleep", "args": ["50"], "tools": "*"}})
    check('"a"' in err and "exit status 4" in err, err)


def once_mcp_prints_for_which_servers_it_waits():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tools.json")
        file.write_text(json.dumps({"mcpServers": {"silent one": {"command": "sleep", "args": ["100"], "tools": "*"}}}))
        words = [str(FOLDER / "cofferdam-mcp"), "--provider", "local", "--tools", str(file)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
            line_of(server.stderr, b"cofferdam-mcp: still waiting for the MCP servers of --tools (silent one), for a minute at most\n")
            server.send_signal(signal.SIGTERM)
            equal(server.wait(LIMIT), 0)


def once_the_command_line_of_mcp_overrides_its_configuration():
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.json")
        config.write_text(json.dumps({"provider": "local", "timeout": 60, "allow": ["git .*"], "input": folder}))
        tools = tools_of_mcp("--config", str(config))
        check("upload_file" in tools and "run_python" not in tools, tools)
        check("run_python" in tools_of_mcp(f"--config={config}", "--python"))
        config.write_text('{"python": false}')
        check("run_python" not in tools_of_mcp("--config", str(config)))
        check("run_python" in tools_of_mcp("--config", str(config), "--python=python3"))
        config.write_text('{"bogus": 1}')
        ended = subprocess.run([str(FOLDER / "cofferdam-mcp"), "--config", str(config)], capture_output=True, timeout=LIMIT)
        equal((ended.returncode, ended.stdout), (125, b""))
        check(b'unknown option "bogus" in the configuration; see --help' in ended.stderr, ended.stderr)
        config.write_text('{"allow_host": ["example.org"]}')
        ended = subprocess.run([str(FOLDER / "cofferdam-mcp"), "--config", str(config)], capture_output=True, timeout=LIMIT)
        check(b'unknown option "allow_host" in the configuration; the nearest option is allow-host; see' in ended.stderr, ended.stderr)


def once_an_unknown_option_is_answered_by_the_nearest_one():
    for subcommand, word, nearest in (("agent", "--url", "--base-url"), ("mcp", "--max-turns=3", None), ("run", "--time-out", "--timeout"),
                                      ("run", "--alow", "--allow"), ("mcp", "--zzzzzz", None), ("run", "-x", None)):
        ended = subprocess.run([PROGRAM, subcommand, word], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, text=True)
        suggestion = f"; the nearest option is {nearest}" if nearest else ""
        equal(ended.stderr, f'cofferdam: unknown option "{word.partition("=")[0]}"{suggestion}; see --help\n')


def once_doctor_reports_each_provider():
    ended = subprocess.run([PROGRAM, "doctor", "--provider", "local"], capture_output=True, timeout=LIMIT, text=True,
                           env=dict(os.environ, DOCKER_HOST="unix:///no/docker.sock"))
    equal(ended.returncode, 0)
    equal(re.findall(r"^(\w+)$", ended.stdout, re.M), ["jail", "local", "docker", "pyodide", "e2b"])


def on_jail_the_sessions_of_the_guide_are_real(place):
    problems = sessions.differences(FOLDER)
    check(not problems, "\n".join(problems))


def test_doctor_prints_the_walls_of_a_place_that_works(place):
    status, out, err = place.run(subcommand="doctor", variables=WITHOUT_PYODIDE)
    equal(status, 0, err)
    sections = re.split(rb"^(\w+)$", out, flags=re.M)  # a name alone on its line, and the indented lines below it
    walls = dict(zip(sections[1::2], sections[2::2]))[place.name.encode()].decode()
    check("does not work here" not in walls, walls)
    wall_of = dict(re.findall(r"^    (\w+): (.+)$", walls, re.M))
    equal(set(wall_of) >= {"process_tree", "files", "network", "memory"}, True, walls)
    equal(wall_of["network"] == "none", place.name == "local", walls)


# ---- the runner ----

def jail_works():
    words = ["bwrap", "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"]
    try:
        return subprocess.run(words, capture_output=True, timeout=LIMIT).returncode == 0
    except OSError:
        return False


# Docker is slower, and its commands end as those of the other places: these show that its terminals, signals, files and
# runners are connected.
ON_DOCKER = ["byte_for_byte", "status_of_the_command", "time_limit", "files_in_and_out", "one_interrupt_asks", "two_interrupts",
             "shell_is_a_terminal", "python_prints_output", "mcp_runs", "mcp_offers", "serve_prints", "without_internet", "serve_takes_keys",
             "agent_works", "doctor_prints_the_walls", "of_a_pool_and", "from_a_pool_and"]


def main():
    os.umask(0o022)
    wanted = sys.argv[2:]
    functions = {name: each for name, each in globals().items() if name.startswith(("test_", "once_", "on_jail_"))}
    places = [Place("local", ["--provider", "local"])]
    skipped = []
    if jail_works():
        places.append(Place("jail", []))
    else:
        skipped.append(("jail", "bubblewrap"))
    if DOCKER:
        places.append(Place("docker", ["--provider", "docker:cofferdam-test/debian"], {"DOCKER_HOST": DOCKER}))
    else:
        skipped.append(("docker", "docker"))
    passed = failed = 0
    for name, function in functions.items():
        runs = [("", [])] if name.startswith("once_") else [(" on " + place.name, [place]) for place in places]
        for where, arguments in runs:
            if name.startswith("on_jail_") and arguments[0].name != "jail":
                continue
            if arguments and arguments[0].name == "docker" and not any(word in name for word in ON_DOCKER):
                continue
            if wanted and not any(word in name + where for word in wanted):
                continue
            begin = time.monotonic()
            try:
                function(*arguments)
            except Exception as failure:  # a failed test, whatever the reason
                failed += 1
                print(f"[  FAILED  ] {name}{where}", flush=True)
                if isinstance(failure, Failure):
                    print(f"  {failure}", flush=True)
                else:
                    traceback.print_exc()
                continue
            passed += 1
            print(f"[       OK ] {name}{where} ({(time.monotonic() - begin) * 1000:.0f} ms)", flush=True)
    if skipped:
        print(f"\nskipped: {len(skipped)}")
        for place, need in skipped:
            print(f"  the tests on {place}: {need} is not here")
            if need in REQUIRED or "all" in REQUIRED:
                print(f"COFFERDAM_REQUIRE names {need}")
                failed += 1
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    sys.exit(1 if failed else 0)


main()
