// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// node sdk_test.mjs FOLDER: tests the gateway with E2B's official JavaScript SDK in FOLDER/node_modules. The SDK's own
// environment variables name the gateway. Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
import { createRequire } from 'node:module'
import { strict as assert } from 'node:assert'

const require = createRequire(process.argv[2] + '/any.js')
const { Sandbox, CommandExitError, SandboxNotFoundError, TimeoutError } = require('e2b')

let failed = false
async function check(name, body) {
  try {
    await body()
    console.log('ok ' + name)
  } catch (why) {
    failed = true
    console.log('not ok ' + name + ': ' + String((why && why.message) || why).replaceAll('\n', ' | '))
  }
}
async function fails(work, pattern) {
  try {
    await work()
  } catch (why) {
    assert.match(String(why.name) + ' ' + String(why.message), pattern)
    return why
  }
  assert.fail('nothing was thrown; expected ' + pattern)
}
async function comesAbout(what) {
  const end = Date.now() + 20000
  while (!what()) {
    if (Date.now() > end) assert.fail('it did not come about in 20 s: ' + what)
    await new Promise((go) => setTimeout(go, 20))
  }
}

let box
await check('create', async () => {
  box = await Sandbox.create({ timeoutMs: 300000, metadata: { user: 'a b', 'c/d': 'é' }, envs: { FOO: 'bar' } })
  assert.match(box.sandboxId, /^[a-z0-9]+$/)
  assert.equal(await box.isRunning(), true)
})
if (!box) process.exit(1)

// ---- commands ----
await check('run', async () => {
  const result = await box.commands.run('echo hello; echo wrong >&2; echo $FOO $E2B_SANDBOX_ID')
  assert.equal(result.exitCode, 0)
  assert.equal(result.stdout, 'hello\nbar ' + box.sandboxId + '\n')
  assert.equal(result.stderr, 'wrong\n')
})
await check('exit_code', async () => {
  const why = await fails(() => box.commands.run('echo out; echo err >&2; exit 3'), /CommandExitError/)
  assert.ok(why instanceof CommandExitError)
  assert.equal(why.exitCode, 3)
  assert.equal(why.stdout, 'out\n')
  assert.equal(why.stderr, 'err\n')
})
await check('variables_and_directory', async () => {
  await box.files.makeDir('where')
  const result = await box.commands.run('echo $X; basename "$(pwd)"', { envs: { X: 'a b' }, cwd: '/home/user/where' })
  assert.equal(result.stdout, 'a b\nwhere\n')
  await fails(() => box.commands.run('true', { cwd: '/home/user/none' }), /cwd '\/home\/user\/none' does not exist/)
})
await check('stream', async () => {
  const heard = []
  const result = await box.commands.run('for i in 1 2 3; do echo $i; done; echo e >&2', {
    onStdout: (text) => heard.push(text),
    onStderr: (text) => heard.push(text),
  })
  assert.equal(result.stdout, '1\n2\n3\n')
  assert.equal(heard.join('').replace('e\n', ''), '1\n2\n3\n')
})
await check('much_output', async () => {
  const result = await box.commands.run('head -c 5000000 /dev/zero | tr "\\0" x')
  assert.equal(result.stdout.length, 5000000)
})
await check('stdin', async () => {
  const handle = await box.commands.run('cat; echo over', { background: true, stdin: true })
  await box.commands.sendStdin(handle.pid, 'héllo\n')
  if (box.commands.closeStdin) await box.commands.closeStdin(handle.pid)
  const result = await handle.wait()
  assert.equal(result.stdout, 'héllo\nover\n')
})
await check('background_list_and_kill', async () => {
  const handle = await box.commands.run('echo begun; sleep 1000', { background: true })
  const all = await box.commands.list()
  const mine = all.find((one) => one.pid === handle.pid)
  assert.equal(mine.cmd, '/bin/bash')
  assert.deepEqual(mine.args, ['-l', '-c', 'echo begun; sleep 1000'])
  assert.equal(await box.commands.kill(handle.pid), true)
  const why = await fails(() => handle.wait(), /CommandExitError/)
  assert.equal(why.exitCode, -1)
  assert.match(why.error, /killed/)
  assert.equal(await box.commands.kill(4), false)
})
await check('connect', async () => {
  const first = await box.commands.run('read line; echo got $line', { background: true, stdin: true })
  await first.disconnect()
  const second = await box.commands.connect(first.pid)
  await box.commands.sendStdin(first.pid, 'it\n')
  const result = await second.wait()
  assert.equal(result.stdout, 'got it\n')
  const third = await box.commands.connect(first.pid)
  assert.equal((await third.wait()).exitCode, 0)
})
await check('command_timeout', async () => {
  await fails(() => box.commands.run('sleep 1000', { timeoutMs: 500 }), /TimeoutError/)
})
await check('background_child_goes_on', async () => {
  await box.commands.run('(sleep 0.3; echo late > late.txt) >/dev/null 2>&1 </dev/null &')
  let text = ''
  await comesAbout(() => {
    box.files.read('late.txt').then((found) => (text = found)).catch(() => {})
    return text === 'late\n'
  })
})
await check('missing_program', async () => {
  const why = await fails(() => box.commands.run('no-such-program-here'), /CommandExitError/)
  assert.equal(why.exitCode, 127)
})

// ---- terminal ----
await check('pty', async () => {
  let screen = ''
  const terminal = await box.pty.create({
    cols: 80, rows: 24, cwd: '/home/user', envs: { PS1: '> ' },
    onData: (data) => (screen += Buffer.from(data).toString()),
  })
  await box.pty.resize(terminal.pid, { cols: 100, rows: 30 })
  await box.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; echo $((6 * 7)) $TERM\n'))
  await comesAbout(() => screen.includes('30 100') && screen.includes('42 xterm-256color'))
  await box.pty.sendInput(terminal.pid, new TextEncoder().encode('exit 5\n'))
  const why = await fails(() => terminal.wait(), /CommandExitError/)
  assert.equal(why.exitCode, 5)
})
await check('pty_kill', async () => {
  const terminal = await box.pty.create({ cols: 80, rows: 24, onData: () => {} })
  assert.equal(await box.pty.kill(terminal.pid), true)
  await fails(() => terminal.wait(), /CommandExitError/)
})

// ---- files ----
await check('write_and_read', async () => {
  const info = await box.files.write('/home/user/a b/c "d".txt', 'héllo')
  assert.equal(info.path, '/home/user/a b/c "d".txt')
  assert.equal(await box.files.read('a b/c "d".txt'), 'héllo')
  await box.files.write('a b/c "d".txt', '')
  assert.equal(await box.files.read('/home/user/a b/c "d".txt'), '')
})
await check('binary', async () => {
  const data = new Uint8Array(3000000).map((_, i) => (i * 7919) % 256)
  await box.files.write('data.bin', data.buffer)
  const back = await box.files.read('data.bin', { format: 'bytes' })
  assert.equal(Buffer.compare(Buffer.from(data), Buffer.from(back)), 0)
  await box.files.write('blob.bin', new Blob([data]))
  const blob = await box.files.read('blob.bin', { format: 'blob' })
  assert.equal(blob.size, data.length)
})
await check('streams', async () => {
  const pieces = ['one,', 'two,', 'three']
  const stream = new ReadableStream({
    pull(to) {
      const next = pieces.shift()
      if (next === undefined) to.close()
      else to.enqueue(new TextEncoder().encode(next))
    },
  })
  await box.files.write('streamed.txt', stream)
  let text = ''
  for await (const piece of await box.files.read('streamed.txt', { format: 'stream' }))
    text += Buffer.from(piece).toString()
  assert.equal(text, 'one,two,three')
})
await check('several_files', async () => {
  const infos = await box.files.write([
    { path: 'many/1.txt', data: 'one' },
    { path: '/home/user/many/2.txt', data: 'two' },
  ])
  assert.deepEqual(infos.map((one) => one.path), ['/home/user/many/1.txt', '/home/user/many/2.txt'])
  assert.equal(await box.files.read('many/2.txt'), 'two')
})
await check('files, compressed and described', async () => {
  const text = 'again and again, '.repeat(5000)
  const info = await box.files.write('packed.txt', text, { gzip: true, metadata: { Author: 'me', note: 'a b' } })
  assert.equal(await box.files.read('packed.txt'), text)
  assert.deepEqual(info.metadata, { author: 'me', note: 'a b' })
  assert.deepEqual((await box.files.getInfo('packed.txt')).metadata, { author: 'me', note: 'a b' })
  await box.files.write('packed.txt', 'plain')
  assert.equal((await box.files.getInfo('packed.txt')).metadata, undefined)
})
await check('a file that is there keeps its mode', async () => {
  await box.files.write('run.sh', '#!/bin/sh\necho first\n')
  await box.commands.run('chmod 755 run.sh; ln run.sh same')
  await box.files.write('run.sh', '#!/bin/sh\necho second\n')
  assert.equal((await box.commands.run('./same')).stdout, 'second\n')
})
await check('missing_file', async () => {
  await fails(() => box.files.read('none'), /NotFoundError/)
  assert.equal(await box.files.exists('none'), false)
  await fails(() => box.files.read('many'), /is a directory/)
})
await check('directories', async () => {
  assert.equal(await box.files.makeDir('d/e/f'), true)
  assert.equal(await box.files.makeDir('d/e/f'), false)
  await box.files.write('d/g.txt', '12345')
  const flat = await box.files.list('d')
  assert.deepEqual(flat.map((one) => one.name + ' ' + one.type), ['e dir', 'g.txt file'])
  const deep = await box.files.list('/home/user/d', { depth: 3 })
  assert.deepEqual(deep.map((one) => one.path), ['/home/user/d/e', '/home/user/d/e/f', '/home/user/d/g.txt'])
  await fails(() => box.files.list('d/g.txt'), /not a directory/)
})
await check('info_rename_remove', async () => {
  const info = await box.files.getInfo('d/g.txt')
  assert.equal(info.size, 5)
  assert.equal(info.type, 'file')
  assert.equal(info.permissions, '-rw-r--r--')
  const moved = await box.files.rename('d/g.txt', 'd/new/h.txt')
  assert.equal(moved.path, '/home/user/d/new/h.txt')
  assert.equal(await box.files.exists('d/g.txt'), false)
  await box.files.remove('d')
  assert.equal(await box.files.exists('d'), false)
  await box.files.remove('d')
})
await check('outside_of_the_home', async () => {
  assert.equal((await box.commands.run('pwd', { cwd: '/etc' })).stdout, '/etc\n')
  // Jails and containers have walls, local folders have none. The variable is set for the former.
  if (process.env.COFFERDAM_GATEWAY_WALLS) {
    assert.match(await box.files.read('/etc/passwd'), /root/)
    await box.files.write('/tmp/a/b.txt', 'outside')
    assert.equal(await box.files.read('/tmp/a/b.txt'), 'outside')
    assert.equal(await box.files.exists('/tmp/a/none'), false)
    await box.files.remove('/tmp/a')
    return
  }
  await fails(() => box.files.read('/etc/passwd'), /outside \/home\/user/)
  await fails(() => box.files.write('../other', 'x'), /outside \/home\/user/)
  await fails(() => box.files.list('/'), /outside \/home\/user/)
})
await check('users', async () => {
  assert.equal((await box.commands.run('echo as', { user: 'root' })).stdout, 'as\n')
  await fails(() => box.commands.run('true', { user: 'nobodyx' }), /AuthenticationError.*nobodyx/)
  await fails(() => box.files.read('data.bin', { user: 'nobodyx' }), /nobodyx/)
})
await check('watch', async () => {
  await box.files.makeDir('watched')
  const events = []
  const handle = await box.files.watchDir('watched', (event) => events.push(event.type + ' ' + event.name), {
    recursive: true,
  })
  await box.files.write('watched/new.txt', 'x')
  await comesAbout(() => events.includes('create new.txt') && events.includes('write new.txt'))
  await box.files.write('watched/new.txt', 'longer')
  await comesAbout(() => events.filter((one) => one === 'write new.txt').length >= 2)
  await box.files.remove('watched/new.txt')
  await comesAbout(() => events.includes('remove new.txt'))
  await handle.stop()
  await fails(() => box.files.watchDir('none', () => {}), /NotFoundError/)
})
await check('signed_urls', async () => {
  await box.files.write('signed.txt', 'by url')
  const url = await box.downloadUrl('signed.txt')
  const answer = await fetch(url)
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), 'by url')
  const late = await box.downloadUrl('signed.txt', { useSignatureExpiration: 10000 })
  assert.equal((await fetch(late)).status, 200)
  const up = await box.uploadUrl('up.txt')
  const form = new FormData()
  form.append('file', new Blob(['sent']), 'ignored.txt')
  assert.equal((await fetch(up, { method: 'POST', body: form })).status, 200)
  assert.equal(await box.files.read('up.txt'), 'sent')
  assert.equal((await fetch(url.replace('signed.txt', 'data.bin'))).status, 401)
})

// ---- lifetime ----
await check('list_and_info', async () => {
  const info = await box.getInfo()
  assert.equal(info.sandboxId, box.sandboxId)
  assert.deepEqual(info.metadata, { user: 'a b', 'c/d': 'é' })
  assert.equal(info.state, 'running')
  assert.ok(info.endAt > info.startedAt)
  const other = await Sandbox.create({ metadata: { user: 'other' } })
  const found = await Sandbox.list({ query: { metadata: { user: 'a b', 'c/d': 'é' } } }).nextItems()
  assert.deepEqual(found.map((one) => one.sandboxId), [box.sandboxId])
  const pages = Sandbox.list({ limit: 1 })
  const ids = []
  while (pages.hasNext) for (const one of await pages.nextItems()) ids.push(one.sandboxId)
  assert.deepEqual(ids, [other.sandboxId, box.sandboxId])
  assert.equal(await other.kill(), true)
})
await check('two_sandboxes', async () => {
  const other = await Sandbox.create()
  await other.files.write('mine.txt', 'x')
  assert.equal(await box.files.exists('mine.txt'), false)
  const handle = await other.commands.run('sleep 1000', { background: true })
  assert.equal((await box.commands.list()).some((one) => one.pid === handle.pid && one.args[2] === 'sleep 1000'), false)
  await other.kill()
})
await check('set_timeout', async () => {
  await box.setTimeout(600000)
  const far = (await box.getInfo()).endAt
  assert.ok(far.getTime() > Date.now() + 500000)
  const short = await Sandbox.create({ timeoutMs: 1000 })
  let gone = false
  await comesAbout(() => {
    short.isRunning().then((runs) => (gone = !runs)).catch(() => {})
    return gone
  })
  await fails(() => short.commands.run('true'), /SandboxNotFoundError|TimeoutError/)
})
await check('connect_to_a_sandbox', async () => {
  const again = await Sandbox.connect(box.sandboxId, { timeoutMs: 600000 })
  assert.equal(await again.files.read('signed.txt'), 'by url')
  await fails(() => Sandbox.connect('i00000000000000000000', { timeoutMs: 60000 }), /SandboxNotFoundError/)
})
await check('pause', async () => {
  const pause = box.pause ? () => box.pause() : () => box.betaPause()
  // Containers can be paused; local folders cannot. The variable names which of the two the gateway serves.
  if (!process.env.COFFERDAM_GATEWAY_PAUSES) {
    assert.equal(await pause(), false)
    return assert.equal(await box.isRunning(), true)
  }
  const handle = await box.commands.run('read x; echo $x', { background: true, stdin: true })
  await pause()
  assert.equal(await box.isRunning(), false)
  assert.equal((await box.getInfo()).state, 'paused')
  await Sandbox.connect(box.sandboxId, { timeoutMs: 600000 })
  assert.equal(await box.isRunning(), true)
  await box.commands.sendStdin(handle.pid, 'on\n')
  assert.equal((await handle.wait()).stdout, 'on\n')
})
await check('host_of_a_port', async () => {
  assert.match(box.getHost(8080), new RegExp(`^8080-${box.sandboxId}\\.localhost:[0-9]+$`))
})
await check('metrics', async () => {
  assert.deepEqual(await box.getMetrics(), [])
})
await check('wrong_key', async () => {
  const wrong = 'e2b_' + '0'.repeat(40)
  await fails(() => Sandbox.create({ apiKey: wrong }), /AuthenticationError/)
  await fails(() => Sandbox.connect(box.sandboxId, { apiKey: wrong, timeoutMs: 60000 }), /AuthenticationError/)
})
await check('refused_by_name', async () => {
  await fails(() => Sandbox.create({ allowInternetAccess: false }), /allow_internet_access/)
  await fails(() => Sandbox.create('no-such-template'), /template 'no-such-template' not found/)
})
await check('code_interpreter_port_is_closed', async () => {
  const answer = await fetch(process.env.E2B_SANDBOX_URL + '/health', {
    headers: { 'E2b-Sandbox-Id': box.sandboxId, 'E2b-Sandbox-Port': '49999', 'X-Access-Token': box.envdAccessToken },
  })
  // 502: nothing listens there. 501: the gateway cannot connect to ports of sandboxes of this kind.
  assert.ok([501, 502].includes(answer.status), answer.status)
  assert.equal((await answer.json()).port, 49999)
})
await check('kill', async () => {
  const handle = await box.commands.run('sleep 1000', { background: true })
  const waits = handle.wait().then(() => 'ended', (why) => String(why.name))
  assert.equal(await box.kill(), true)
  assert.match(await waits, /TimeoutError|SandboxError/)
  assert.equal(await box.isRunning(), false)
  assert.equal(await Sandbox.kill(box.sandboxId), false)
  await fails(() => box.commands.run('true'), /SandboxNotFoundError/)
})
console.log(failed ? 'some failed' : 'all passed')
process.exit(failed ? 1 : 0)
