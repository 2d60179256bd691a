# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# python client_test.py URL: tests the scripted service of chat_peers_test.cpp with OpenAI's official Python client, which
# compares each reply with its own types. Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
import json
import sys
import traceback

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-peer", max_retries=2, timeout=60, _strict_response_validation=True)
chat = client.chat.completions
asked = {"model": "scripted", "messages": [{"role": "user", "content": "go on"}]}
tools = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
    for name in ("look", "count")
]
failed = False


def check(body):
    global failed
    try:
        body()
        print("ok " + body.__name__)
    except Exception:
        failed = True
        print("not ok " + body.__name__ + ": " + traceback.format_exc().replace("\n", " | "))


def fails(kind, work):
    try:
        work()
    except kind as why:
        return why
    raise AssertionError("nothing was thrown; expected " + kind.__name__)


def same(a, b):
    assert a == b, f"{a!r} is not {b!r}"


def text_of(**more):
    return chat.create(**asked, **more).choices[0].message.content


@check
def text():
    answer = chat.create(**asked)
    same(answer.object, "chat.completion")
    same(answer.choices[0].message.content, "Grüße, ☺.")
    same(answer.choices[0].message.refusal, None)
    same(answer.choices[0].finish_reason, "stop")
    same((answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens), (10, 5, 15))


@check
def streamed_text():
    got, thought, usage = "", "", None
    for chunk in chat.create(**asked, stream=True, stream_options={"include_usage": True}):
        same(chunk.object, "chat.completion.chunk")
        for choice in chunk.choices:
            got += choice.delta.content or ""
            thought += getattr(choice.delta, "reasoning_content", None) or ""
        usage = chunk.usage or usage
    same(got, "Grüße, ☺.")
    same(thought, "Be polite.")
    same(usage.total_tokens, 15)


@check
def streamed_text_through_the_helper():
    with chat.stream(**asked) as stream:
        answer = stream.get_final_completion()
    same(answer.choices[0].message.content, "Grüße, ☺.")
    same(answer.choices[0].finish_reason, "stop")


def two_calls(answer):
    same(answer.choices[0].finish_reason, "tool_calls")
    calls = answer.choices[0].message.tool_calls
    same(
        [(one.id, one.type, one.function.name, json.loads(one.function.arguments)) for one in calls],
        [("call_a", "function", "look", {"path": "ä b"}), ("call_b", "function", "count", {})],
    )


@check
def parallel_calls():
    two_calls(chat.create(**asked, tools=tools))


@check
def streamed_parallel_calls():
    with chat.stream(**asked, tools=tools) as stream:
        two_calls(stream.get_final_completion())


@check
def calls_are_answered():
    calls = [{"id": "call_a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    messages = asked["messages"] + [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_a", "content": "a lake"},
    ]
    answer = chat.create(model="scripted", messages=messages, tools=tools)
    same(answer.choices[0].message.content, "call_a: a lake")


@check
def arguments_that_are_no_json():
    answer = chat.create(**asked, tools=tools)
    same(answer.choices[0].message.tool_calls[0].function.arguments, '{"path": "cut')


@check
def an_image():
    url = "data:image/png;base64,iVBORw0KGgo="
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]
    answer = chat.create(model="scripted", messages=[{"role": "user", "content": content}])
    same(answer.choices[0].message.content, url)


@check
def refusal():
    message = chat.create(**asked).choices[0].message
    same((message.refusal, message.content), ("I will not.", None))


@check
def streamed_refusal():
    with chat.stream(**asked) as stream:
        same(stream.get_final_completion().choices[0].message.refusal, "I will not.")


@check
def too_many_requests_is_tried_again():
    same(text_of(), "after 429")


@check
def a_failing_server_is_tried_again():
    same(text_of(), "after 500")


@check
def too_long_a_conversation():
    why = fails(openai.BadRequestError, text_of)
    same((why.status_code, why.code), (400, "context_length_exceeded"))
    assert "maximum context length" in why.message, why.message


@check
def a_wrong_key():
    fails(openai.AuthenticationError, text_of)


@check
def an_answer_that_was_cut_off():
    same(chat.create(**asked).choices[0].finish_reason, "length")


@check
def a_stream_that_breaks():
    got = []

    def read():
        for chunk in chat.create(**asked, stream=True):
            got.extend(choice.delta.content or "" for choice in chunk.choices)

    fails(Exception, read)
    same("".join(got), "half")


@check
def an_error_within_a_stream():
    why = fails(openai.APIError, lambda: list(chat.create(**asked, stream=True)))
    assert "overloaded" in why.message, why.message


# The last check is a control: it shows that the client refuses a reply of a wrong form.
@check
def an_answer_of_a_wrong_shape_is_noticed():
    fails(openai.APIResponseValidationError, text_of)


if failed:
    sys.exit(1)
print("all passed")
