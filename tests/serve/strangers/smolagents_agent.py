# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Lets a CodeAgent of smolagents work in a sandbox of the gateway, with its executor for E2B."""
import datetime

from smolagents import CodeAgent, LogLevel, OpenAIModel, tool

from support import ScriptedModel, contains, expect, finish, run

# smolagents installs packages with pip before the first step. Without a network that fails, at once with PIP_NO_INDEX,
# and the agent goes on. The second variable concerns Debian's Python, in which pip otherwise installs nothing.
VARIABLES = {"PIP_NO_INDEX": "1", "PIP_BREAK_SYSTEM_PACKAGES": "1"}
WHEEL = """
import zipfile
with zipfile.ZipFile('tiny_package-1.0-py3-none-any.whl', 'w') as wheel:
    info = 'tiny_package-1.0.dist-info/'
    wheel.writestr('tiny_package.py', 'ANSWER = 42')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny-package\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
"""


@tool
def rate(currency: str) -> float:
    """Returns the exchange rate of a currency to the euro.

    Args:
        currency: the code of the currency
    """
    return {"USD": 0.5, "GBP": 2.0}[currency]


def work(replies, task, additional_args=None, tools=(), imports=()):
    """Runs an agent, and returns its answer and the texts that the model saw."""
    model = ScriptedModel([f"Thought: go on.\n<code>\n{code}\n</code>" for code in replies])
    agent = CodeAgent(tools=list(tools), model=OpenAIModel(model_id="scripted", api_base=model.url, api_key="none"),
                      executor_type="e2b", executor_kwargs={"envs": VARIABLES},
                      additional_authorized_imports=list(imports), max_steps=len(replies),
                      verbosity_level=LogLevel.OFF)
    try:
        answer = agent.run(task, additional_args=additional_args)
        return answer, agent.memory.steps[1:]
    finally:
        agent.cleanup()


def seen(step):
    """Returns what the model learns from a step: its outputs or its error."""
    return f"{step.observations or ''} {step.error.message if step.error else ''}"


def agent():
    replies = [
        "with open('data.csv', 'w') as file:\n    file.write('name,amount\\na,5\\nb,7\\n')\nprint('written')",
        "import csv\nrows = list(csv.DictReader(open('data.csv')))\ntotal = sum(int(row['amont']) for row in rows)",
        "total = sum(int(row['amount']) for row in rows)\nprint('total', total)\ntotal",
        "euros = total * rate('USD') * factor\nprint('euros', euros)",
        "final_answer({'total': total, 'euros': euros, 'names': tuple(row['name'] for row in rows)})",
    ]
    answer, steps = work(replies, "Sum the amounts.", additional_args={"factor": 3}, tools=[rate])
    contains("agent: sees output", seen(steps[0]), "written")
    contains("agent: sees the error of its code", seen(steps[1]), "KeyError", "amont")
    contains("agent: keeps definitions between steps", seen(steps[2]), "total 12")
    expect("agent: gets the value of the last line", str(steps[2].action_output), "12")
    contains("agent: calls a tool, with a value of the task", seen(steps[3]), "euros 18.0")
    expect("agent: the answer has its types", answer, {"total": 12, "euros": 18.0, "names": ("a", "b")})


def values():
    """Passes values of many types into the sandbox and back."""
    given = {"when": datetime.date(2024, 2, 29), "data": bytes(range(256)), "numbers": {1, 2},
             "text": "naïve 文字 \0 '\"\\"}
    answer, _ = work(["final_answer(given)"], "Return it.", additional_args={"given": given})
    expect("values: come back unchanged", answer, given)


def notebook():
    """Uses what code in a notebook may use beyond Python."""
    replies = [
        "!echo from the shell $((40 + 2))",
        "names = !ls /\nprint('has etc:', 'etc' in names)",
        "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')",
        "%pwd",
        "class Page:\n    def _repr_html_(self):\n        return '<b>page</b>'\nPage()",
        "import subprocess\nprint(subprocess.run(['sh', '-c', 'exit 3']).returncode)\nfinal_answer('done')",
    ]
    answer, steps = work(replies, "Try it.")
    contains("notebook: a line of shell", seen(steps[0]), "from the shell 42")
    contains("notebook: the lines of a shell's output", seen(steps[1]), "has etc: True")
    contains("notebook: waits at the top level", seen(steps[2]), "awaited")
    contains("notebook: a magic", str(steps[3].action_output), "/home/user")
    contains("notebook: a page as the value", str(steps[4].action_output), "<b>page</b>")
    expect("notebook: ends", answer, "done")


def packages():
    """Installs a package from a file, and asks for one that cannot be had."""
    replies = [WHEEL, "!pip install ./tiny_package-1.0-py3-none-any.whl",
               "import tiny_package\nfinal_answer(tiny_package.ANSWER)"]
    answer, steps = work(replies, "Go.", imports=["no-such-package-of-cofferdam"])
    contains("packages: pip works", seen(steps[1]), "Successfully installed tiny-package-1.0")
    expect("packages: one that pip has installed can be imported", answer, 42)


for part in (agent, values, notebook, packages):
    run(part.__name__, part)
finish()
