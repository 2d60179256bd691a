#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Tests how a server ends on SIGTERM while a client runs a command.

program_end.py mcp PROGRAM ARGUMENTS... tests an MCP server, and program_end.py gateway PROGRAM ARGUMENTS... an E2B
gateway. Each test runs three times: the warden (the server's helper program, which runs the command) works well, is
stopped by SIGSTOP, or is held by a debugger.
"""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

bad = 0


def check(good, what):
    global bad
    bad += not good
    print(("ok " if good else "FAILED ") + what, flush=True)


def stat_of(pid):
    """Returns the parent of a process, or None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    state, parent = text[text.rindex(")") + 2:].split()[:2]
    return None if state in "ZX" else int(parent)


def below(pid):
    """Returns the descendants of a process: each child, followed by its own descendants."""
    pids = [int(one) for one in os.listdir("/proc") if one.isdigit()]
    found = []
    for one in pids:
        if stat_of(one) == pid:
            found += [one, *below(one)]
    return found


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def runs(pid, word):
    """Returns how many descendants of a process have a command line that begins with `word`."""
    def has(one):
        try:
            with open(f"/proc/{one}/cmdline", encoding="utf-8", errors="replace") as file:
                return file.read().startswith(word)
        except OSError:
            return False
    return sum(has(one) for one in below(pid))


def hold(pid):
    """Stops a process as a debugger does. No signal continues it, and it cannot be reaped until this script ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    for request in (0x4206, 0x4207):  # PTRACE_SEIZE, PTRACE_INTERRUPT
        if libc.ptrace(request, pid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")


def end(server, warden):
    """Ends a server that runs a command, and checks its exit status, its messages and the processes that are left."""
    check(until(lambda: runs(server.pid, "sleep") == 2), f"the command runs; its warden is {warden}")
    processes = below(server.pid)
    with open(f"/proc/{processes[0]}/comm", encoding="utf-8") as file:
        in_jail = file.read() == "bwrap\n"
    its_warden = processes[1 if in_jail else 0]
    if warden == "stopped":
        os.kill(its_warden, signal.SIGSTOP)
    if warden == "held":
        hold(its_warden)
    begun = time.monotonic()
    server.send_signal(signal.SIGTERM)
    try:
        status = server.wait(20)
    except subprocess.TimeoutExpired:
        status = "none: it hangs"
        server.kill()
    took = time.monotonic() - begun
    check(took < 10, f"it ends within 10 s ({took:.1f} s)")
    # "stopped" means that the warden is suspended. The exit status is then 0 if the server resumes the warden to end the
    # command, and 125 if the server closes everything at once and has to kill the warden.
    right = {"well": (0,), "stopped": (0, 125), "held": (125,)}[warden]
    check(status in right, f"its status tells how it went ({status})")
    # bubblewrap waits for the end of its warden. While this script holds the warden, the kernel reports that end only
    # to this script. So bubblewrap does not end.
    must_end = processes[1:] if in_jail and warden == "held" else processes
    gone = until(lambda: not any(stat_of(one) is not None for one in must_end), 2)
    check(gone, "nothing of it is left")
    for one in processes:
        if stat_of(one) is not None:
            os.kill(one, signal.SIGKILL)
    words = server.stderr.read()
    check((status == 0) == ("close: the warden" not in words), "it says what has not ended: " + " ".join(words.split())[-300:])


def mcp(program, warden):
    server = subprocess.Popen([program, *sys.argv[3:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def say(message):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    say({"id": 1, "method": "initialize", "params": client})
    server.stdout.readline()
    say({"method": "notifications/initialized"})
    say({"id": 2, "method": "tools/call", "params": {"name": "code_exec", "arguments": {"cmd": "sleep 1000 & sleep 1000"}}})
    end(server, warden)


def gateway(program, warden):
    environment = dict(os.environ, PORT="0")
    server = subprocess.Popen([program, *sys.argv[3:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    line = server.stdout.readline()
    url = re.search(r"E2B_API_URL=(\S+)", line)[1]
    key = re.search(r"E2B_API_KEY=(\S+)", line)[1]

    def post(path, body, fields):
        return urllib.request.urlopen(urllib.request.Request(url + path, data=body, headers=fields), timeout=20)

    made = json.load(post("/v2/sandboxes", b'{"templateID":"base"}', {"X-API-KEY": key, "Content-Type": "application/json"}))
    start = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "sleep 1000 & sleep 1000"]}}).encode()
    stream = post("/process.Process/Start", b"\0" + len(start).to_bytes(4, "big") + start, {
        "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1", "E2b-Sandbox-Id": made["sandboxID"],
        "E2b-Sandbox-Port": "49983", "X-Access-Token": made["envdAccessToken"]})
    stream.read(5)
    end(server, warden)


def undumpable(name, program):
    """Checks that the server is undumpable: its files in /proc belong to root although an ordinary user runs it."""
    uid = os.geteuid() or 65534
    user = {"user": uid, "group": uid, "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(program, folder)
        os.chmod(copy, 0o755)
        environment = dict(os.environ, PORT="0", TMPDIR="/tmp", HOME=folder)
        server = subprocess.Popen([copy, *sys.argv[3:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
                                  **user)
        if name == "mcp":
            server.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            server.stdin.flush()
        server.stdout.readline()
        plain = subprocess.Popen(["sleep", "1000"], **user)
        owner = {one.pid: os.stat(f"/proc/{one.pid}/environ").st_uid for one in (server, plain)}
        check(owner[server.pid] == 0, f"other programs of its user cannot read its environment (owner {owner[server.pid]})")
        check(owner[plain.pid] == uid, f"control: they can read that of a plain one (owner {owner[plain.pid]})")
        for one in (server, plain):
            one.kill()
            one.wait()


kind = {"mcp": mcp, "gateway": gateway}[sys.argv[1]]
for state in ("well", "stopped", "held"):
    kind(sys.argv[2], state)
undumpable(sys.argv[1], sys.argv[2])
print("all passed" if bad == 0 else f"{bad} failed")
