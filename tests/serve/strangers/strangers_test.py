#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs frameworks of others, as they are released, against `cofferdam serve`.

strangers_test.py FOLDER [NAME...]   FOLDER contains the program cofferdam; NAME: only the tests whose names contain it

COFFERDAM_STRANGER_PEERS is the folder into which peers.sh has installed the frameworks. The places are jail (if
bubblewrap works) and docker (if COFFERDAM_TEST_DOCKER is the address of a daemon with the images of
tests/docker/images.sh). A script gets the three variables that `cofferdam serve` prints, and no others that concern
E2B. It passes if all its checks are good and there are as many as SCRIPTS says. COFFERDAM_REQUIRE makes what is missing
a failure. The last line printed is `N passed, N failed, N skipped`.
"""
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = str(Path(sys.argv[1]).resolve() / "cofferdam")
PEERS = Path(os.environ.get("COFFERDAM_STRANGER_PEERS") or "/nonexistent").resolve()
DOCKER = os.environ.get("COFFERDAM_TEST_DOCKER", "")
REQUIRED = os.environ.get("COFFERDAM_REQUIRE", "").split(",")
HERE = Path(__file__).resolve().parent
IMAGE = "cofferdam-test/strangers"
LIMIT = 600  # seconds for a script, and for each step of the preparation

# The scripts: the least number of good checks, and the modules that the Python in the sandbox needs.
SCRIPTS = {
    "kodeagent": (11, []),
    "langchain_e2b": (38, []),
    "openai_agents": (45, []),
    "smolagents": (15, ["numpy", "PIL", "pip"]),
    "stirrup": (23, []),
}


class Place:
    """A provider, and the gateway over it."""

    def __init__(self, name, provider, variables=None):
        self.name, self.provider = name, provider
        hidden = ("PORT", "E2B_")
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.variables.update(variables or {})
        self.gateway = None

    def has(self, modules):
        """Returns true if the Python in a sandbox has these modules."""
        code = "import " + ", ".join(modules)
        words = [PROGRAM, "run", "--provider", self.provider, "--", "python3", "-I", "-c", code]
        return subprocess.run(words, capture_output=True, timeout=LIMIT, env=self.variables).returncode == 0

    def serve(self):
        """Starts the gateway at the first call. Returns the variables that it prints."""
        if self.gateway is None:
            self.gateway = subprocess.Popen([PROGRAM, "serve", "--provider", self.provider, "--port", "0"],
                                            stdout=subprocess.PIPE, text=True, env=self.variables)
            ready, _, _ = select.select([self.gateway.stdout], [], [], LIMIT)
            line = self.gateway.stdout.readline() if ready else ""
            self.printed = dict(re.findall(r"(E2B_[A-Z_]+)=(\S+)", line))
            if set(self.printed) != {"E2B_API_URL", "E2B_SANDBOX_URL", "E2B_API_KEY"}:
                raise RuntimeError(f"cofferdam serve printed {line!r}")
        return self.printed

    def stop(self):
        """Ends the gateway. Returns true if it ended well, or was never started."""
        if self.gateway is None:
            return True
        self.gateway.send_signal(signal.SIGINT)
        try:
            return self.gateway.wait(LIMIT) == 0
        except subprocess.TimeoutExpired:
            self.gateway.kill()
            self.gateway.wait()
            return False


def run_script(name, least, variables):
    """Runs a script. Returns a text that says why it failed; empty if it passed."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "TMPDIR": home, **variables}
        words = [str(PEERS / name / "bin/python"), str(HERE / f"{name}_agent.py")]
        try:
            ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   timeout=LIMIT, cwd=home, env=environment)
        except subprocess.TimeoutExpired as late:
            return f"no end after {LIMIT} s\n" + (late.stdout or b"").decode(errors="replace")[-4000:]
    lines = ended.stdout.decode(errors="replace").splitlines()
    good = sum(line.startswith("ok ") for line in lines)
    bad = [line for line in lines if line.startswith("not ok ")]
    if bad:
        return "\n".join(bad) + f"\n{good} checks were good"
    if ended.returncode != 0 or not lines or lines[-1] != "all passed":
        return f"exit code {ended.returncode}\n" + "\n".join(lines[-60:])
    return "" if good >= least else f"{good} checks were good; there are at least {least}"


def docker(*words):
    ended = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=LIMIT,
                           env=dict(os.environ, DOCKER_HOST=DOCKER))
    if ended.returncode != 0:
        raise RuntimeError(f"docker {' '.join(words)}: {ended.stderr}")
    return ended.stdout.strip()


def make_image():
    """Makes the image of the sandboxes: the Debian image of the tests with the packages of peers.sh and with `pip`."""
    with tempfile.TemporaryDirectory() as folder:
        pip = Path(folder) / "pip"
        pip.write_text('#!/bin/sh\nexec python3 -m pip "$@"\n')
        pip.chmod(0o755)
        container = docker("create", "cofferdam-test/debian")
        try:
            docker("cp", f"{PEERS / 'guest'}/.", f"{container}:/usr/local/lib/python3.11/dist-packages")
            docker("cp", str(pip), f"{container}:/usr/local/bin/pip")
            docker("commit", container, IMAGE)
        finally:
            docker("rm", container)


def jail_works():
    try:
        return subprocess.run([PROGRAM, "run", "--", "true"], capture_output=True, timeout=LIMIT).returncode == 0
    except OSError:
        return False


def main():
    wanted = sys.argv[2:]
    places, missing = [], []  # missing: (tests, what they need)
    if jail_works():
        places.append(Place("jail", "jail"))
    else:
        missing.append(("all frameworks on jail", "bubblewrap"))
    if DOCKER:
        make_image()
        places.append(Place("docker", "docker:" + IMAGE, {"DOCKER_HOST": DOCKER}))
    else:
        missing.append(("all frameworks on docker", "docker"))
    passed = failed = 0
    for place in places:
        for name, (least, modules) in SCRIPTS.items():
            title = f"{name} on {place.name}"
            if wanted and not any(word in title for word in wanted):
                continue
            if not (PEERS / name / "versions").exists():
                missing.append((title, "python3.12" if name == "stirrup" else "stranger-peers"))
                continue
            if modules and not place.has(modules):
                missing.append((title, "guest-packages"))
                continue
            begin = time.monotonic()
            why = run_script(name, least, place.serve())
            if why:
                failed += 1
                print(f"[  FAILED  ] {title}\n  " + why.replace("\n", "\n  "), flush=True)
            else:
                passed += 1
                print(f"[       OK ] {title} ({(time.monotonic() - begin) * 1000:.0f} ms)", flush=True)
        if not place.stop():
            failed += 1
            print(f"[  FAILED  ] the gateway on {place.name}\n  it did not end well", flush=True)
    if DOCKER:
        docker("rmi", IMAGE)
    if missing:
        print(f"\nskipped: {len(missing)}")
        for tests, need in missing:
            print(f"  {tests}: {need} is not here")
            if need in REQUIRED or "all" in REQUIRED:
                print(f"COFFERDAM_REQUIRE names {need}")
                failed += 1
    print(f"{passed} passed, {failed} failed, {len(missing)} skipped")
    sys.exit(1 if failed else 0)


main()
