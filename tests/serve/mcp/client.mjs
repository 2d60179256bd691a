// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// node client.mjs FOLDER DIALECT TRANSPORT PROGRAM [ARGUMENT...]: tests the server PROGRAM with MCP's official
// TypeScript clients in FOLDER/node_modules. DIALECT: v1 (the SDK of most hosts), v2 (the newer client with protocol
// versions up to 2025-11-25), modern (the newer client with 2026-07-28 only), or auto (the newer client negotiates the
// version). TRANSPORT: stdio or http. For http the program is started with `--http 127.0.0.1:0`, and prints its URL on
// stderr. Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect as dial, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const [folder, dialect, transport, program, ...words] = process.argv.slice(2)
const require = createRequire(folder + '/any.js')
const v1 = dialect === 'v1'
const modern = dialect === 'modern' || dialect === 'auto'
const no_resource = v1 ? -32002 : -32602 // the newer client replaces the older number by the newer one
const { Client } = require(v1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client')
const { StdioClientTransport } =
  require(v1 ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio')
const { StreamableHTTPClientTransport } =
  require(v1 ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client')

const patience = 30_000
let failed = false
let said = '' // the text that the server has written to stderr

async function check(name, body) {
  try {
    await body()
    console.log('ok ' + name)
  } catch (why) {
    failed = true
    console.log('not ok ' + name + ': ' + String(why?.message ?? why).replaceAll('\n', ' | '))
  }
}

async function fails(work, code) {
  let result
  try {
    result = await work()
  } catch (why) {
    assert.equal(why.code, code, 'the error is ' + why.code + ' ' + why.message)
    return
  }
  assert.fail('no error ' + code + ', but ' + JSON.stringify(result))
}

async function comes_about(what, question) {
  for (const end = Date.now() + patience; !(await question()); await pause(20)) {
    assert.ok(Date.now() < end, what + ': not within ' + patience / 1000 + ' s')
  }
}

/// Returns true if a process of this machine has `word` as an argument. Reads /proc, and so does not trust the server.
function is_running(word) {
  return readdirSync('/proc').some(pid => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes(word)
    } catch {
      return false // the process has just ended
    }
  })
}

/// Returns a duration for `sleep` that no other process of this machine uses, so that tests can find the process.
let count = 0
const long_sleep = () => String(1_000_000 + (process.pid % 100_000) * 100 + ++count)

const ended = child => (child.exitCode !== null || child.signalCode !== null
  ? Promise.resolve() : new Promise(resolve => child.once('exit', resolve)))

/// Starts a server over HTTP, and returns its process and its URL.
async function start(variables) {
  const open = variables.COFFERDAM_MCP_TOKEN ? [] : ['--no-token']
  const child = spawn(program, [...words, '--http', '127.0.0.1:0', ...open],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...variables } })
  let heard = ''
  child.stderr.on('data', piece => {
    heard += piece
    said += piece
  })
  const where = () => /listening on (http:\/\/\S+)\n/.exec(heard)?.[1]
  await comes_about('the server says where it listens', () => where() || child.exitCode !== null)
  return { child, url: where() }
}

let server
let url
if (transport === 'http') {
  ({ child: server, url } = await start({}))
  if (!url) {
    console.log('not ok start: ' + said.replaceAll('\n', ' | '))
    process.exit(1)
  }
}

async function connect(address = url, headers = {}, on_fault = () => {}) {
  const pipe = transport === 'http'
    ? new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } })
    : new StdioClientTransport({ command: program, args: words, stderr: 'pipe' })
  pipe.stderr?.on('data', piece => (said += piece))
  const mode = { v2: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } }[dialect]
  const client = new Client({ name: 'peers', version: '1.0.0' }, v1 ? {} : { versionNegotiation: { mode } })
  client.onerror = on_fault
  await client.connect(pipe)
  return { client, pipe }
}

const faults = [] // other faults that the client reports, such as invalid lines and replies without a request
const { client, pipe } = await connect(url, {}, why => faults.push(String(why?.message ?? why)))
const call = (name, args, options = {}) =>
  client.callTool({ name, arguments: args }, ...(v1 ? [undefined, options] : [options]))
const shell = (cmd, options) => call('code_exec', { cmd }, options)
const text_of = result => result.content.filter(one => one.type === 'text').map(one => one.text).join('\n')
const listed = []

await check('handshake', async () => {
  assert.equal(client.getServerVersion()?.name, 'cofferdam')
  assert.ok(client.getServerCapabilities().tools && client.getServerCapabilities().resources)
  assert.ok(client.getInstructions().length > 20)
  if (!v1) assert.equal(client.getNegotiatedProtocolVersion(), modern ? '2026-07-28' : '2025-11-25')
})

if (!modern) {
  await check('ping', () => client.ping())
  await check('log_level', async () => {
    await client.setLoggingLevel('info')
    if (v1) await fails(() => client.setLoggingLevel('loud'), -32602) // the newer client refuses an unknown level itself
  })
}

await check('list_tools', async () => {
  listed.push(...(await client.listTools()).tools)
  const names = listed.map(one => one.name)
  for (const name of ['code_exec', 'run_python', 'read_file', 'write_file', 'list_files', 'view_image']) {
    assert.ok(names.includes(name), name + ' is not in ' + names)
  }
  for (const one of listed) {
    assert.equal(one.inputSchema.type, 'object')
    assert.ok(one.description.length > 40, one.name)
    assert.equal(typeof one.annotations?.readOnlyHint, 'boolean', one.name)
  }
})

await check('call', async () => {
  const result = await shell('echo hello; echo wrong >&2')
  assert.match(text_of(result), /hello/)
  assert.match(text_of(result), /wrong/)
  assert.ok(!result.isError)
  assert.equal(result.structuredContent.status, 'exited')
  assert.equal(result.structuredContent.exit_code, 0)
  assert.equal(result.structuredContent.stdout, 'hello\n')
  assert.equal(result.structuredContent.stderr, 'wrong\n')
})

await check('exit_code', async () => {
  const result = await shell('exit 3')
  assert.ok(!result.isError)
  assert.equal(result.structuredContent.exit_code, 3)
  assert.match(text_of(result), /3/)
})

await check('timeout', async () => {
  const word = long_sleep()
  const result = await call('code_exec', { cmd: 'sleep ' + word, timeout_s: 1 })
  assert.equal(result.isError, true)
  assert.equal(result.structuredContent?.status ?? 'timeout', 'timeout')
  await comes_about('the command has ended', () => !is_running(word))
})

await check('python', async () => {
  const first = await call('run_python', { code: 'x = 20\nprint("so")\nx + 1' })
  assert.equal(first.structuredContent.stdout, 'so\n')
  assert.equal(first.structuredContent.result, '21')
  const second = await call('run_python', { code: 'x * y', variables: { y: 2 } })
  assert.equal(second.structuredContent.result, '40')
  const third = await call('run_python', { code: '1 / 0' })
  assert.ok(!third.isError)
  assert.match(text_of(third), /ZeroDivisionError/)
})

await check('unknown_tool', () => fails(() => call('nope', {}), -32602))

await check('bad_arguments', async () => {
  for (const [args, pattern] of [[{}, /cmd/], [{ cmd: 5 }, /cmd/], [{ cmd: 'true', comand: 'x' }, /comand/]]) {
    const result = await call('code_exec', args)
    assert.equal(result.isError, true, JSON.stringify(result))
    assert.match(text_of(result), pattern)
  }
})

await check('files', async () => {
  const text = 'héllo\n€ 𝄞\n'
  await call('write_file', { path: 'a b/c.txt', content: text })
  const back = await call('read_file', { path: 'a b/c.txt' })
  assert.match(text_of(back), /€ 𝄞/)
  assert.match(text_of(await call('list_files', { path: 'a b' })), /c\.txt/)
  const none = await call('read_file', { path: 'none' })
  assert.equal(none.isError, true)
  const outside = await call('read_file', { path: '../../../../etc/passwd' })
  assert.equal(outside.isError, true)
  assert.doesNotMatch(text_of(outside), /root:/)
})

await check('image', async () => {
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
  const made = await shell(`printf %s ${dot} | base64 -d >dot.png`)
  assert.equal(made.structuredContent.exit_code, 0)
  const image = (await call('view_image', { path: 'dot.png' })).content.find(one => one.type === 'image')
  assert.deepEqual([image?.mimeType, image?.data], ['image/png', dot])
})

// The command ends only after the client has received its progress twice, and after another call has run meanwhile.
await check('progress', async () => {
  const heard = []
  const flag = 'go-' + randomUUID()
  const running = shell(`until [ -e ${flag} ]; do echo tick; sleep 0.1; done; echo over`,
    { onprogress: one => heard.push(one), timeout: patience, resetTimeoutOnProgress: true })
  await comes_about('progress', () => heard.length >= 2)
  await call('write_file', { path: flag, content: 'go' })
  assert.match((await running).structuredContent.stdout, /over/)
  for (let i = 1; i < heard.length; ++i) assert.ok(heard[i].progress > heard[i - 1].progress, JSON.stringify(heard))
  assert.ok(heard.some(one => /tick/.test(one.message)), JSON.stringify(heard))
})

await check('calls_run_side_by_side', async () => {
  const order = []
  const flags = [1, 2, 3].map(() => 'turn-' + randomUUID())
  const calls = flags.map((flag, i) =>
    shell(`until [ -e ${flag} ]; do sleep 0.02; done; echo ${i}`)
      .then(one => order.push(one.structuredContent.stdout.trim())))
  for (const i of [2, 1, 0]) {
    await shell(`: >${flags[i]}`)
    await calls[i]
  }
  assert.deepEqual(order, ['2', '1', '0'])
})

await check('cancel_kills_the_command', async () => {
  const word = long_sleep()
  const abort = new AbortController()
  const running = shell(`sleep ${word} & sleep ${word}; wait`, { signal: abort.signal })
  running.catch(() => {})
  await comes_about('the command runs', () => is_running(word))
  abort.abort('enough')
  await assert.rejects(running)
  await comes_about('the command and its child are dead', () => !is_running(word))
  assert.equal((await shell('echo alive')).structuredContent.stdout, 'alive\n')
})

const list_all = async () => {
  const found = []
  let pages = 0
  let cursor
  do {
    const page = await client.listResources(cursor === undefined ? undefined : { cursor })
    found.push(...page.resources)
    cursor = page.nextCursor
    ++pages
    assert.ok(pages < 100, 'the list does not end')
  } while (cursor !== undefined)
  return { found, pages }
}

await check('resources', async () => {
  await call('write_file', { path: 'note.txt', content: 'read me\n' })
  const { found } = await list_all()
  const note = found.find(one => one.uri.endsWith('note.txt'))
  assert.ok(note, JSON.stringify(found.slice(0, 5)))
  const { contents } = await client.readResource({ uri: note.uri })
  assert.equal(contents.length, 1)
  assert.equal(contents[0].text, 'read me\n')
  assert.equal(contents[0].uri, note.uri)
  const picture = (await client.readResource({ uri: note.uri.replace('note.txt', 'dot.png') })).contents[0]
  assert.equal(picture.mimeType, 'image/png')
  assert.ok(picture.blob.startsWith('iVBORw0KGgo'))
  await fails(() => client.readResource({ uri: note.uri.replace('note.txt', 'none.txt') }), no_resource)
  const outside = note.uri.replace('note.txt', '..%2f..%2f..%2fetc%2fpasswd')
  await fails(() => client.readResource({ uri: outside }), no_resource)
  const templates = (await client.listResourceTemplates()).resourceTemplates
  assert.ok(templates.length > 0 && templates[0].uriTemplate.includes('{'))
})

await check('pages', async () => {
  await shell('mkdir -p many; for i in $(seq 130); do echo $i >many/f$i.txt; done')
  const { found, pages } = await list_all()
  const uris = new Set(found.map(one => one.uri))
  assert.equal(uris.size, found.length, 'something is listed twice')
  assert.ok([...uris].filter(uri => /many\/f\d+\.txt$/.test(uri)).length === 130, found.length + ' resources')
  if (v1) assert.ok(pages > 1, 'one page of ' + found.length)
  await fails(() => client.listResources({ cursor: 'nonsense' }), -32602)
})

if (!modern) {
  await check('another_client_has_files_of_its_own', async () => {
    const other = await connect()
    const result = await other.client.callTool({ name: 'code_exec', arguments: { cmd: 'ls' } })
    assert.doesNotMatch(result.structuredContent.stdout, /note\.txt/)
    if (transport === 'http') await other.pipe.terminateSession()
    await other.client.close()
  })
}

if (!modern && transport === 'http') {
  // A relay between the client and the server closes the connections in the middle of a call.
  await check('a_dropped_connection_is_taken_up_again', async () => {
    const cables = new Set()
    const relay = createServer(near => {
      const far = dial(new URL(url).port, '127.0.0.1')
      for (const [one, other] of [[near, far], [far, near]]) {
        cables.add(one)
        one.pipe(other)
        one.on('error', () => other.destroy()).on('close', () => cables.delete(one) && other.destroy())
      }
    })
    await new Promise(resolve => relay.listen(0, '127.0.0.1', resolve))
    try {
      const other = await connect(url.replace(/:\d+\//, `:${relay.address().port}/`))
      const heard = []
      const options = { onprogress: one => heard.push(one), timeout: patience, resetTimeoutOnProgress: true }
      const params = { name: 'code_exec', arguments: { cmd: 'until [ -e go-on ]; do sleep 0.05; done; echo over; rm go-on' } }
      const running = other.client.callTool(params, ...(v1 ? [undefined, options] : [options]))
      running.catch(() => {})
      await comes_about('progress', () => heard.length >= 1)
      for (const cable of cables) cable.destroy()
      const before = heard.length
      await comes_about('progress after the loss', () => heard.length > before)
      // Creates the file in the environment itself, because a command in a sandbox does not see files of this machine.
      const go = { name: 'write_file', arguments: { path: 'go-on', content: '' } }
      await other.client.callTool(go, ...(v1 ? [undefined, { timeout: patience }] : [{ timeout: patience }]))
      assert.equal((await running).structuredContent.stdout, 'over\n')
      await other.pipe.terminateSession()
      await other.client.close()
    } finally {
      relay.close()
      for (const cable of cables) cable.destroy()
    }
  })
}

await check('no_fault', async () => assert.deepEqual(faults, []))

await check('who_leaves_leaves_nothing_running', async () => {
  const word = long_sleep()
  const pid = pipe.pid
  shell(`sleep ${word} & sleep ${word}; wait`).catch(() => {})
  await comes_about('the command runs', () => is_running(word))
  if (transport === 'http' && !modern) await pipe.terminateSession()
  await client.close()
  await comes_about('the command is dead', () => !is_running(word))
  if (pid) {
    await comes_about('the server has ended', () => {
      try {
        process.kill(pid, 0)
        return false
      } catch {
        return true
      }
    })
  }
})

if (server) {
  await check('who_has_no_token_is_not_served', async () => {
    const token = randomUUID()
    const guarded = await start({ COFFERDAM_MCP_TOKEN: token })
    try {
      const known = await connect(guarded.url, { Authorization: 'Bearer ' + token })
      assert.ok((await known.client.listTools()).tools.length > 0)
      await known.client.close()
      for (const headers of [{}, { Authorization: 'Bearer ' + randomUUID() }]) {
        await assert.rejects(async () => {
          const stranger = await connect(guarded.url, headers)
          await stranger.client.listTools() // with a given version, this is the first request of the client
        }, /401|unauthori[sz]ed/i)
      }
    } finally {
      guarded.child.kill('SIGTERM')
      await ended(guarded.child)
    }
  })

  await check('sigterm_ends_the_server', async () => {
    server.kill('SIGTERM')
    await ended(server)
    assert.deepEqual([server.exitCode, server.signalCode], [0, null])
  })
}

if (failed) console.log('not ok stderr of the server: ' + said.slice(-2000).replaceAll('\n', ' | '))
else console.log('all passed')
process.exit(failed ? 1 : 0)
