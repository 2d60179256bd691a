#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Measures kodeagent's runner on the host: reads one piece of code per line as JSON, and prints the seconds of its run.

    kodeagent_peer.py PYTHON

PYTHON is the interpreter that runs the code. Only the runner itself is measured: no guards, no review, no start of the
event loop. No model is called, so an empty module replaces litellm, which calls models. The package's own __init__ is
skipped, because it imports all of kodeagent.
"""
import asyncio
import importlib
import importlib.util
import json
import logging
import shutil
import sys
import time
import types
import warnings

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
sys.modules["litellm"] = types.ModuleType("litellm")
package = types.ModuleType("kodeagent")
package.__path__ = list(importlib.util.find_spec("kodeagent").submodule_search_locations)
sys.modules["kodeagent"] = package
code_runner = importlib.import_module("kodeagent.code_runner")
sys.executable = sys.argv[1]  # kodeagent starts this interpreter


async def serve():
    runner = code_runner.HostCodeRunnerEnv()
    for line in sys.stdin:
        code = json.loads(line)
        start = time.perf_counter()
        result = await runner.run(code, "bench", 60)
        taken = time.perf_counter() - start
        assert result.return_code == 0, result
        print(repr(taken), flush=True)
    shutil.rmtree(runner.work_dir)


asyncio.run(serve())
