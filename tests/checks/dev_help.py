#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks the help of ./dev: `./dev VERB --help` prints the help of each verb and runs nothing else, and an unknown verb is
refused with the list of all verbs and the exit status 2."""
import os
import re
import signal
import subprocess

from _harness import main

LIMIT = 10  # seconds


def run(root, *words):
    """Returns the exit status and both outputs. A verb that runs instead is ended."""
    with subprocess.Popen(["bash", str(root / "dev"), *words], cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True,
                          env=dict(os.environ, COFFERDAM_NO_INSTALL="1")) as running:
        try:
            out, err = running.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            return None, "", f"ended after {LIMIT} s"
    return running.returncode, out, err


def problems(root):
    found = []
    verbs = re.findall(r"^  ([a-z]+)\)", (root / "dev").read_text(encoding="utf-8").rpartition("\ncase $verb in")[2], re.M)
    if not verbs:
        return ["dev: no verb found"]
    for verb in verbs:
        for option in ("--help", "-h"):
            status, out, err = run(root, verb, option)
            if status != 0 or not out.startswith(f"./dev {verb}") or err:
                found.append(f"./dev {verb} {option}: exit status {status}, and not the help of the verb: {(out + err)[:100]!r}")
            elif any(f"\n./dev {other}" in out for other in verbs if other != verb):
                found.append(f"./dev {verb} {option}: prints the help of other verbs too")
    for words in (["nonsense"], ["nonsense", "--help"]):
        status, out, err = run(root, *words)
        missing = [verb for verb in verbs if not re.search(rf"\b{verb}\b", err)]
        if status != 2 or out or missing or "nonsense" not in err:
            found.append(f"./dev {' '.join(words)}: exit status {status}; its message lacks {missing}: {err[:100]!r}")
    return found


def script(one="./dev one    does one thing", other="./dev other  does another", status=2, said="one, other"):
    return {"dev": f"""
if [ "${{2:-}}" = --help ] || [ "${{2:-}}" = -h ]; then
  case $1 in
    one) echo '{one}'; exit ;;
    other) echo '{other}'; exit ;;
  esac
fi
verb=$1
case $verb in
  one) echo one ;;
  other) echo other ;;
  *) echo "unknown verb $verb; the verbs are {said}" >&2; exit {status} ;;
esac
"""}


BAD = [
    ("a verb without help", script(one=""), "one --help"),
    ("the help of another verb", script(one="./dev other does another"), "one -h"),
    ("the whole help", script(other="./dev other does another\n./dev one does one thing"), "other verbs too"),
    ("another exit status", script(status=1), "nonsense: exit status 1"),
    ("a list without a verb", script(said="one"), r"lacks \['other'\]"),
]

if __name__ == "__main__":
    main(problems, script(), BAD)
