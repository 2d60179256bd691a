#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs the sessions in the folder sessions/, which the guide shows, and writes or compares their output.

sessions.py FOLDER           compares; FOLDER contains the programs
sessions.py FOLDER --write   writes the real output into the files

A session is a text file. A line that begins with `$ ` is a line for bash; the lines below it are what it prints. The
lines run one after the other, in a new folder with the files of FILES. After a line that opens a shell, lines that begin
with `> ` are typed into it. A real key, port or time may differ from the written one.

The sessions docker*.txt are played only if COFFERDAM_TEST_DOCKER is the address of a daemon with the images of
tests/docker/images.sh. Their image, python:3.12-slim, is then replaced by one of these, which needs no registry.
"""
import os
import re
import subprocess
import sys
import tempfile
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

sys.dont_write_bytecode = True
from model import Model
from terminal import Terminal

HERE = Path(__file__).resolve().parent / "sessions"
FILES = {
    "data.csv": "tide,metres\nhigh,4.2\nlow,0.7\n",
    "mean.py": "import csv\nimport statistics\n\nrows = list(csv.DictReader(open('data.csv')))\n"
               "print(len(rows), 'rows')\nstatistics.mean(float(row['metres']) for row in rows)\n",
    "calls.jsonl": '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, '
                   '"clientInfo": {"name": "me", "version": "1"}}}\n'
                   '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
                   '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "code_exec", "arguments": {"cmd": "pwd"}}}\n',
}
LIMIT = 60
# The texts that may differ between runs, and their replacements.
VARIABLE = [(re.compile(pattern), text) for pattern, text in (
    (r"e2b_[0-9a-f]{40}", "e2b_0123456789abcdef0123456789abcdef01234567"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:3000"),
    (r"\b\d+ ms", "12 ms"),
    (r"\b(duration|cpu)_ms\": ?\d+", r'\1_ms": 12'),
    (r"\"peak_memory\": ?\d+", '"peak_memory": 3000000'),
)]


def usual(text):
    for pattern, replacement in VARIABLE:
        text = pattern.sub(replacement, text)
    return text


DOCKER = os.environ.get("COFFERDAM_TEST_DOCKER", "")


def environment(programs, folder, model_url, docker_host):
    return {"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": model_url, "TMPDIR": os.environ.get("TMPDIR", "/tmp"), "DOCKER_HOST": docker_host}


def type_into(line, typed, variables, folder):
    """Types lines into a terminal, each after the prompt. Returns what the terminal shows, without the first prompt."""
    screen = Terminal(["bash", "-c", line], dict(variables), rows=24, columns=100, cwd=folder)
    prompt = rb"[$#] (\x1b\[\?2004h)?\Z"
    shown = b""
    for words in typed:
        screen.expect_kept(prompt, shown)
        screen.type(words.encode() + b"\n")
        shown = screen.seen
    screen.status()
    screen.close()
    text = re.sub(rb"\x1b\[\?2004[hl]\r?", b"", screen.seen).replace(b"\r\n", b"\n").replace(b"\r", b"")
    return text.decode()


def play(path, programs, model_url):
    """Returns the text of a session as it is now."""
    lines = path.read_text(encoding="utf-8").splitlines()
    made = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        in_docker = path.stem.startswith("docker")
        variables = environment(programs, folder, model_url, DOCKER if in_docker else "unix:///no/docker.sock")
        for number, line in enumerate(lines):
            if not line.startswith("$ "):
                continue
            made.append(line)
            words = line[2:].replace("python:3.12-slim", "cofferdam-test/debian") if in_docker else line[2:]
            typed = []
            for following in lines[number + 1:]:
                if following.startswith("$ "):
                    break
                if following.startswith("> "):
                    typed.append(following[2:])
            if typed:
                made += ["> " + words for words in typed] + type_into(words, typed, variables, folder).splitlines()
                continue
            ended = subprocess.run(["bash", "-c", words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   timeout=LIMIT, cwd=folder, env=variables)
            made += ended.stdout.decode().splitlines()
    return "\n".join(made) + "\n"


def differences(programs, write=False):
    """Plays all sessions. Returns a sentence for each that prints something else than is written."""
    found = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for path in sorted(HERE.glob("*.txt")):
            if path.stem.startswith("docker") and not DOCKER:
                continue
            made = play(path, programs, f"http://127.0.0.1:{server.server_port}/v1")
            if write:
                path.write_text(usual(made), encoding="utf-8")
            elif usual(made) != path.read_text(encoding="utf-8"):
                found.append(f"{path.name} is now:\n{usual(made)}")
    finally:
        server.shutdown()
        server.server_close()
    return found


if __name__ == "__main__":
    problems = differences(Path(sys.argv[1]).resolve(), "--write" in sys.argv[2:])
    print("\n".join(problems) or "all sessions are as written")
    sys.exit(1 if problems else 0)
