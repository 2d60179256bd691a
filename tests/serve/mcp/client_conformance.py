# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""client_conformance.py FOLDER PROGRAM: runs the client scenarios of MCP's official conformance suite in
FOLDER/node_modules against PROGRAM, which gets a URL. Scenarios of OAuth are left out, because the client takes a token
and has no login.

Prints "ok SCENARIO VERSION CHECK" for each check that passed, and "not ok ...: WHY" for the others.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

SCENARIOS = {"2025-11-25": ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry",
                            "json-schema-2020-12-preservation"],
             "2026-07-28": ["tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers",
                            "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref",
                            "json-schema-2020-12-preservation"]}

folder, program = sys.argv[1:]
failed = False
for version, scenarios in SCENARIOS.items():
    for scenario in scenarios:
        with tempfile.TemporaryDirectory() as out:
            suite = os.path.join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
            done = subprocess.run([os.path.join(folder, "node"), suite, "client", "--command", program, "--scenario", scenario,
                                   "--spec-version", version, "-o", out], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", timeout=100)
            checks = [check for path in glob.glob(os.path.join(out, "**", "checks.json"), recursive=True)
                      for check in json.load(open(path, encoding="utf-8"))]
        good = [check for check in checks if check["status"] == "SUCCESS"]
        bad = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
        for check in good:
            print("ok", scenario, version, check["id"])
        for check in bad:
            failed = True
            print("not ok", scenario, version, check["id"] + ":", check.get("errorMessage", "")[:300].replace("\n", " "))
        if done.returncode != 0 or not good:
            failed = True
            print("not ok", scenario, version, "status", str(done.returncode) + ":", done.stdout[-500:].replace("\n", " | "))
if not failed:
    print("all passed")
