# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""conformance.py FOLDER VERSION PROGRAM [ARGUMENT...]: runs MCP's official conformance suite in FOLDER/node_modules, with
the requirements for VERSION, against PROGRAM. PROGRAM is started with `--http 127.0.0.1:0`, and prints its URL on stderr.

Prints a line for each check in expected.json: "ok SCENARIO/CHECK", or "not ok SCENARIO/CHECK: WHY". Lines that begin with
"note " report the other checks of the suite.

conformance.py FOLDER --learn URL...: writes expected.json from reference servers that run at the URLs. A check is
expected if it passes on at least one of them. A check of the extension `tasks`, which none of them supports, is expected
only if it passes on all of them, because the others pass by accident. expected.md explains more.
"""
import collections
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "expected.json")
VERSIONS = ("2025-11-25", "2026-07-28")


def run_suite(folder, version, url):
    """Returns the results of the suite: {scenario: {check: {status: [why, ...]}}}. A check can have several results."""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    with tempfile.TemporaryDirectory() as out:
        suite = os.path.join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
        words = [os.path.join(folder, "node"), suite, "server", "--url", url, "--requirements", version, "-o", out]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280)
        for path in glob.glob(os.path.join(out, "*", "checks.json")):
            folder_name = os.path.basename(os.path.dirname(path))
            scenario = re.fullmatch(r"server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z", folder_name)[1]
            with open(path, encoding="utf-8") as file:
                for one in json.load(file):
                    why = one.get("errorMessage") or one.get("description") or ""
                    found[scenario][one["id"]][one["status"]].append(why)
    if not found:
        sys.exit("not ok suite: " + done.stdout[-2000:].replace("\n", " | "))
    return found


def passes(results):
    return "SUCCESS" in results and "FAILURE" not in results


def holds(results):
    """Returns true if a check passed. INFO counts too: the server made an allowed choice, such as JSON instead of SSE."""
    return results.keys() & {"SUCCESS", "INFO"} and not results.keys() & {"FAILURE", "WARNING"}


def learn(folder, urls):
    expected = {}
    for version in VERSIONS:
        good = collections.defaultdict(list)
        for url in urls:
            for scenario, checks in run_suite(folder, version, url).items():
                good[scenario].append({name for name, results in checks.items() if passes(results)})
        join = {scenario: set.intersection if scenario.startswith("tasks-") else set.union for scenario in good}
        checks = {scenario: sorted(join[scenario](*good[scenario])) for scenario in sorted(good)}
        expected[version] = {scenario: names for scenario, names in checks.items() if names}
    with open(EXPECTED, "w", encoding="utf-8") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")
    for version, scenarios in expected.items():
        print(f"{version}: {sum(map(len, scenarios.values()))} checks in {len(scenarios)} scenarios")


def start(program):
    server = subprocess.Popen([*program, "--http", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace")
    said = []
    threading.Thread(target=lambda: said.extend(server.stderr), daemon=True).start()
    for _ in range(1500):
        url = re.search(r"listening on (http://\S+)", "".join(said))
        if url:
            return server, url[1], said
        if server.poll() is not None:
            break
        time.sleep(0.02)
    server.kill()
    sys.exit("not ok start: " + "".join(said).replace("\n", " | "))


def compare(folder, version, program):
    server, url, said = start(program)
    failed = False
    try:
        found = run_suite(folder, version, url)
        alive = server.poll() is None
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            status = server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            status = "none within 30 s"
    with open(EXPECTED, encoding="utf-8") as file:
        expected = json.load(file)[version]
    for scenario, checks in expected.items():
        for check in checks:
            results = found.get(scenario, {}).get(check, {})
            if holds(results):
                print(f"ok {scenario}/{check}")
                continue
            failed = True
            faults = results.get("FAILURE", results.get("WARNING", []))
            why = " ; ".join(faults) or ("was " + ", ".join(results) if results else "was not reached")
            print(f"not ok {scenario}/{check}: " + why.replace("\n", " ")[:1500])
    tasks = 0
    for scenario, checks in sorted(found.items()):
        for check, results in checks.items():
            for kind in ("FAILURE", "WARNING"):
                if kind not in results or kind == "FAILURE" and check in expected.get(scenario, ()):
                    continue
                if scenario.startswith("tasks-"):
                    tasks += 1
                else:
                    print(f"note {kind} {scenario}/{check}: " + results[kind][0].replace("\n", " ")[:200])
    if tasks:
        print(f"note {tasks} checks of the extension `tasks` do not pass, which nobody expects")
    if not alive or status != 0:
        failed = True
        heard = "".join(said)[-1000:].replace("\n", " | ")
        print(f"not ok sigterm_ends_the_server: alive before {alive}, status {status}: {heard}")
    if not failed:
        print("all passed")
    return failed


if sys.argv[2] == "--learn":
    learn(sys.argv[1], sys.argv[3:])
else:
    sys.exit(compare(sys.argv[1], sys.argv[2], sys.argv[3:]))
