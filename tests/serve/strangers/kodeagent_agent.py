# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Lets a CodeActAgent of KodeAgent work in a sandbox of the gateway, with its code runner for E2B."""
import asyncio
import json
import logging
import os
import pathlib
import tempfile

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # litellm otherwise asks the internet for prices

from kodeagent import CodeActAgent, CodeRunner

from support import ScriptedModel, contains, expect, finish, run_async

# The replies for the planner, the reviewer of code and the observer of the framework.
OTHERS = {
    "AgentPlan": json.dumps({"steps": [{"description": "Sum the amounts.", "is_done": False}]}),
    "CodeReview": json.dumps({"is_secure": True, "reason": "It only reads a table."}),
    "ObserverResponse": json.dumps({"is_progressing": True, "is_in_loop": False, "reasoning": "It goes on.",
                                    "correction_message": None}),
}
WRITE = "with open('data.csv', 'w') as file:\n    file.write('name,amount\\na,5\\nb,7\\n')\nprint('written')"
SUM = "import csv\nrows = list(csv.DictReader(open('data.csv')))\ntotal = sum(int(row['{}']) for row in rows)\n"
SAVE = """with open('result.bin', 'wb') as file:
    file.write(bytes(range(256)))
print('total', scaled(total), PURPOSE)"""


def scaled(number: int) -> int:
    """Multiplies a number by ten.

    Args:
        number: The number.

    Returns:
        The product.
    """
    return number * 10


def turn(code=None, answer=None):
    return json.dumps({"role": "assistant", "thought": "Go on.", "code": code, "final_answer": answer,
                       "task_successful": answer is not None})


async def agent(folder):
    """Runs an agent that writes a file, sees its code fail, corrects it and hands over a file."""
    replies = [turn(WRITE), turn(SUM.format("amont")),
               turn(SUM.format("amount") + "import os\nPURPOSE = os.getenv('PURPOSE')\n" + SAVE),
               turn(answer="The total is 12.")]
    model = ScriptedModel(replies, OTHERS)
    worker = CodeActAgent(model_name="openai/scripted", run_env="e2b", tools=[scaled], work_dir=str(folder),
                          timeout=300, allowed_imports=["csv", "os"], env_vars_to_set={"PURPOSE": "a test"},
                          max_iterations=6, litellm_params={"api_base": model.url, "api_key": "none"})
    results, answer = [], None
    async for each in worker.run("Sum the amounts."):
        if each["type"] == "step" and each["channel"] == "_act":
            results.append(str(each["value"]))
        elif each["type"] == "final":
            answer = each["value"]
    worker.code_runner.cleanup()
    results += [""] * 3
    contains("agent: sees output", results[0], "written")
    contains("agent: sees the error of its code", results[1], "KeyError", "amont")
    contains("agent: keeps definitions, calls a tool, and has its variables", results[2], "total 120 a test")
    expect("agent: finishes", answer, "The total is 12.")
    made = {pathlib.Path(path).name: pathlib.Path(path).read_bytes() for path in worker.artifacts}
    expect("agent: its files arrive", made, {"data.csv": b"name,amount\na,5\nb,7\n", "result.bin": bytes(range(256))})


async def runner(folder):
    """Uses the code runner without an agent."""
    model = ScriptedModel([], OTHERS)
    box = CodeRunner(env="e2b", allowed_imports=["time", "sys"], model_name="openai/scripted", timeout=300,
                     litellm_params={"api_base": model.url, "api_key": "none"}, work_dir=str(folder))
    try:
        result = await box.run("", "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7", "task")
        outputs = (result.stdout.strip(), result.stderr.strip(), result.return_code)
        expect("runner: both outputs", outputs, ("out", "err", 0))
        result = await box.run("x = 5\n", "print(x)\nraise ValueError('wrong')", "task")
        expect("runner: an error", (result.stdout.strip(), result.return_code), ("5", -1))
        contains("runner: the name of the error", result.stderr, "ValueError", "wrong")
        result = await box.run("", "print(x)\nopen('note.txt', 'w').write('kept')", "task")
        expect("runner: definitions stay", result.stdout.strip(), "5")
        expect("runner: the new file is found", result.generated_files, ["/home/user/note.txt"])
        files = await box.download_files_from_remote(result.generated_files)
        expect("runner: gets the file", [pathlib.Path(path).read_text() for path in files], ["kept"])
    finally:
        box.cleanup()


async def main():
    for part in (agent, runner):
        with tempfile.TemporaryDirectory() as folder:
            await run_async(part.__name__, part, pathlib.Path(folder))


logging.disable(logging.CRITICAL)
asyncio.run(main())
finish()
