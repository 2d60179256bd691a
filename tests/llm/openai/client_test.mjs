// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// node client_test.mjs FOLDER URL: tests the scripted service of chat_peers_test.cpp with OpenAI's official JavaScript
// client in FOLDER/node_modules. Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
import { createRequire } from 'node:module'
import { strict as assert } from 'node:assert'

const require = createRequire(process.argv[2] + '/any.js')
const { OpenAI, AuthenticationError, BadRequestError } = require('openai')
const client = new OpenAI({ baseURL: process.argv[3], apiKey: 'sk-peer', maxRetries: 2, timeout: 60000 })
const chat = client.chat.completions

let failed = false
async function check(name, body) {
  try {
    await body()
    console.log('ok ' + name)
  } catch (why) {
    failed = true
    console.log('not ok ' + name + ': ' + String((why && why.stack) || why).replaceAll('\n', ' | '))
  }
}
async function fails(work) {
  try {
    await work()
  } catch (why) {
    return why
  }
  assert.fail('nothing was thrown')
}
const asked = { model: 'scripted', messages: [{ role: 'user', content: 'go on' }] }
const tools = ['look', 'count'].map((name) => ({
  type: 'function',
  function: { name, description: name, parameters: { type: 'object', properties: { path: { type: 'string' } } } },
}))

await check('text', async () => {
  const answer = await chat.create(asked)
  assert.equal(answer.object, 'chat.completion')
  assert.equal(answer.choices[0].message.content, 'Grüße, ☺.')
  assert.equal(answer.choices[0].message.refusal, null)
  assert.equal(answer.choices[0].finish_reason, 'stop')
  assert.deepEqual(answer.usage, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })
})
await check('streamed_text', async () => {
  let text = ''
  let thought = ''
  let usage
  for await (const chunk of await chat.create({ ...asked, stream: true, stream_options: { include_usage: true } })) {
    assert.equal(chunk.object, 'chat.completion.chunk')
    text += chunk.choices[0]?.delta?.content ?? ''
    thought += chunk.choices[0]?.delta?.reasoning_content ?? ''
    usage = chunk.usage ?? usage
  }
  assert.equal(text, 'Grüße, ☺.')
  assert.equal(thought, 'Be polite.')
  assert.equal(usage.total_tokens, 15)
})
await check('streamed_text_through_the_helper', async () => {
  const answer = await chat.stream(asked).finalChatCompletion()
  assert.equal(answer.choices[0].message.content, 'Grüße, ☺.')
  assert.equal(answer.choices[0].finish_reason, 'stop')
})
function two_calls(answer) {
  assert.equal(answer.choices[0].finish_reason, 'tool_calls')
  const calls = answer.choices[0].message.tool_calls
  assert.deepEqual(
    calls.map((one) => [one.id, one.type, one.function.name, JSON.parse(one.function.arguments)]),
    [
      ['call_a', 'function', 'look', { path: 'ä b' }],
      ['call_b', 'function', 'count', {}],
    ],
  )
}
await check('parallel_calls', async () => two_calls(await chat.create({ ...asked, tools })))
await check('streamed_parallel_calls', async () => two_calls(await chat.stream({ ...asked, tools }).finalChatCompletion()))
await check('calls_are_answered', async () => {
  const answer = await chat.create({
    ...asked,
    tools,
    messages: [
      ...asked.messages,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_a', content: 'a lake' },
    ],
  })
  assert.equal(answer.choices[0].message.content, 'call_a: a lake')
})
await check('arguments_that_are_no_json', async () => {
  const answer = await chat.create({ ...asked, tools })
  assert.equal(answer.choices[0].message.tool_calls[0].function.arguments, '{"path": "cut')
})
await check('an_image', async () => {
  const url = 'data:image/png;base64,iVBORw0KGgo='
  const content = [
    { type: 'text', text: 'look' },
    { type: 'image_url', image_url: { url } },
  ]
  const answer = await chat.create({ ...asked, messages: [{ role: 'user', content }] })
  assert.equal(answer.choices[0].message.content, url)
})
await check('refusal', async () => {
  const answer = await chat.create(asked)
  assert.equal(answer.choices[0].message.refusal, 'I will not.')
  assert.equal(answer.choices[0].message.content, null)
})
await check('streamed_refusal', async () => {
  const answer = await chat.stream(asked).finalChatCompletion()
  assert.equal(answer.choices[0].message.refusal, 'I will not.')
})
await check('too_many_requests_is_tried_again', async () => {
  const answer = await chat.create(asked)
  assert.equal(answer.choices[0].message.content, 'after 429')
})
await check('a_failing_server_is_tried_again', async () => {
  const answer = await chat.create(asked)
  assert.equal(answer.choices[0].message.content, 'after 500')
})
await check('too_long_a_conversation', async () => {
  const why = await fails(() => chat.create(asked))
  assert.ok(why instanceof BadRequestError)
  assert.equal(why.status, 400)
  assert.equal(why.code, 'context_length_exceeded')
  assert.match(why.message, /maximum context length/)
})
await check('a_wrong_key', async () => {
  const why = await fails(() => chat.create(asked))
  assert.ok(why instanceof AuthenticationError)
})
await check('an_answer_that_was_cut_off', async () => {
  const answer = await chat.create(asked)
  assert.equal(answer.choices[0].finish_reason, 'length')
})
await check('a_stream_that_breaks', async () => {
  let text = ''
  const why = await fails(async () => {
    for await (const chunk of await chat.create({ ...asked, stream: true })) text += chunk.choices[0]?.delta?.content ?? ''
  })
  assert.ok(why)
  assert.equal(text, 'half')
})
await check('an_error_within_a_stream', async () => {
  const why = await fails(async () => {
    for await (const chunk of await chat.create({ ...asked, stream: true })) assert.ok(chunk)
  })
  assert.match(String(why.message), /overloaded/)
})

if (failed) process.exit(1)
console.log('all passed')
