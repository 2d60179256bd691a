// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// node interpreter_test.mjs FOLDER: tests the gateway with E2B's official code interpreter SDK in FOLDER/node_modules.
// The SDK's own environment variables name the gateway. Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
import { createRequire } from 'node:module'
import { strict as assert } from 'node:assert'

const require = createRequire(process.argv[2] + '/any.js')
const { Sandbox, SandboxError, TimeoutError, NotFoundError } = require('@e2b/code-interpreter')

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

let box
await check('create', async () => {
  box = await Sandbox.create({ timeoutMs: 300000, envs: { OF_THE_SANDBOX: 'yes' } })
  assert.equal(await box.isRunning(), true)
})
if (!box) process.exit(1)

await check('value', async () => {
  const run = await box.runCode('6 * 7')
  assert.equal(run.text, '42')
  assert.equal(run.results.length, 1)
  assert.equal(run.results[0].isMainResult, true)
  assert.equal(run.error, undefined)
  assert.equal(run.executionCount, 1)
})
await check('value_text_without_quotes', async () => {
  assert.equal((await box.runCode("'a text'")).text, 'a text')
})
await check('logs', async () => {
  const run = await box.runCode('import sys\nprint("out")\nprint("err", file=sys.stderr)')
  assert.equal(run.logs.stdout.join(''), 'out\n')
  assert.equal(run.logs.stderr.join(''), 'err\n')
  assert.equal(run.text, undefined)
})
await check('state_stays', async () => {
  await box.runCode('kept = [1, 2]')
  await box.runCode('kept.append(3)')
  assert.equal((await box.runCode('kept')).text, '[1, 2, 3]')
})
await check('error', async () => {
  const run = await box.runCode('def f():\n    return 1 / 0\nf()')
  assert.equal(run.error.name, 'ZeroDivisionError')
  assert.equal(run.error.value, 'division by zero')
  assert.match(run.error.traceback, /return 1 \/ 0/)
  assert.equal(run.logs.stderr.join(''), '')
  assert.equal(run.results.length, 0)
})
await check('characters', async () => {
  const text = 'é€😀'.repeat(20000)
  const run = await box.runCode(`print('é€😀' * 20000)\n'é€😀'`)
  assert.equal(run.logs.stdout.join(''), text + '\n')
  assert.equal(run.text, 'é€😀')
})
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
await check('png', async () => {
  const run = await box.runCode(
    `import base64\nclass Picture:\n    def _repr_png_(self): return base64.b64decode('${png}')\n` +
      `    def __repr__(self): return 'a picture'\ndisplay(Picture())\nPicture()`
  )
  assert.equal(run.results.length, 2)
  assert.equal(run.results[0].png, png)
  assert.equal(run.results[0].isMainResult, false)
  assert.deepEqual(run.results[1].formats(), ['png'])
  assert.equal(run.text, 'a picture')
})
await check('formats', async () => {
  const run = await box.runCode(
    `class All:\n    def _repr_html_(self): return '<b/>'\n    def _repr_markdown_(self): return '*m*'\n` +
      `    def _repr_svg_(self): return '<svg/>'\n    def _repr_latex_(self): return '$x$'\n` +
      `    def _repr_json_(self): return {'a': [1]}\n    def _repr_javascript_(self): return 'f()'\nAll()`
  )
  const one = run.results[0]
  assert.deepEqual(one.formats().sort(), ['html', 'javascript', 'json', 'latex', 'markdown', 'svg'])
  assert.deepEqual(one.json, { a: [1] })
  assert.equal(one.html, '<b/>')
})
await check('notebook_cells', async () => {
  assert.equal((await box.runCode('    x = 20\n    x + 1')).text, '21')
  const run = await box.runCode('!echo {x}\nnames = !printf "a\\nb\\n"\nlen(names)')
  assert.equal(run.logs.stdout.join(''), '20\n')
  assert.equal(run.text, '2')
  assert.equal((await box.runCode('%%bash\ny=5\necho $((y + 1))')).logs.stdout.join(''), '6\n')
  assert.equal((await box.runCode('%%sh\nexit 3')).error.name, 'CalledProcessError')
  const unknown = await box.runCode('%nonsense')
  assert.equal(unknown.error.name, 'UsageError')
  assert.equal(unknown.error.value, 'Line magic function `%nonsense` not found.')
  assert.equal((await box.runCode('%env NB=1')).error, undefined)
  assert.equal((await box.runCode('!echo $NB')).logs.stdout.join(''), '1\n')
})
await check('ipython_display', async () => {
  const run = await box.runCode(
    `from IPython.display import display, HTML, Markdown, JSON, Latex, Image, SVG, Javascript\n` +
      `display(HTML('<b>'), Markdown('*m*'), JSON({'a': [1]}), Latex('$x$'), SVG('<svg/>'), Javascript('f()'))\n` +
      `import base64\nImage(base64.b64decode('${png}'))`
  )
  assert.equal(run.error, undefined)
  assert.deepEqual(
    run.results.map((one) => one.formats().join()),
    ['html', 'markdown', 'json', 'latex', 'svg', 'javascript', 'png']
  )
  assert.equal(run.results[6].png, png)
  assert.deepEqual(run.results[2].json, { a: [1] })
})
await check('data_and_chart', async () => {
  // Stands for pandas, which the test does not install. A figure of matplotlib gives its chart in the same way.
  const run = await box.runCode(
    `import sys, types\nclass DataFrame:\n    shape = (2, 1)\n` +
      `    def to_dict(self, orient): return {'a': [1, float('nan')]}\n` +
      `    def _repr_e2b_chart_(self): return {'type': 'pie', 'title': 't', 'elements': []}\n` +
      `sys.modules['pandas'] = types.SimpleNamespace(DataFrame=DataFrame)\ndisplay(DataFrame())\n` +
      `del sys.modules['pandas']`
  )
  assert.equal(run.error, undefined)
  assert.deepEqual(run.results[0].data, { a: [1, null] })
  assert.equal(run.results[0].chart.type, 'pie')
})
await check('large_result', async () => {
  const run = await box.runCode(`class Large:\n    def _repr_html_(self): return 'x' * 3000000\nLarge()`)
  assert.equal(run.results[0].html.length, 3000000)
})
await check('callbacks_while_it_runs', async () => {
  const heard = []
  const run = await box.runCode(
    `import time, os\nprint('first')\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('second')\n'last'`,
    {
      onStdout: async (line) => {
        heard.push(line.line)
        if (line.line === 'first\n') await box.files.write('go', '')
      },
      onResult: (result) => heard.push(result.text),
      onError: (error) => heard.push(error.name),
    }
  )
  assert.deepEqual(heard, ['first\n', 'second\n', 'last'])
  assert.equal(run.logs.stdout.join(''), 'first\nsecond\n')
})
await check('variables', async () => {
  const code = `import os\nprint(os.environ.get('OF_THE_SANDBOX'), os.environ.get('MINE'), os.environ['E2B_SANDBOX_ID'])`
  const run = await box.runCode(code, { envs: { MINE: 'a b' } })
  assert.equal(run.logs.stdout.join(''), `yes a b ${box.sandboxId}\n`)
  const after = await box.runCode(code)
  assert.equal(after.logs.stdout.join(''), `yes None ${box.sandboxId}\n`)
})
await check('files_are_the_sandboxes', async () => {
  await box.files.write('data.txt', 'content')
  assert.equal((await box.runCode(`open('data.txt').read()`)).text, 'content')
  await box.runCode(`open('made.txt', 'w').write('by code')`)
  assert.equal(await box.files.read('made.txt'), 'by code')
})
await check('contexts', async () => {
  await box.files.makeDir('below')
  const context = await box.createCodeContext({ cwd: '/home/user/below' })
  assert.equal(context.language, 'python')
  assert.equal(context.cwd, '/home/user/below')
  const where = await box.runCode(`import os\nmine = 1\nos.path.basename(os.getcwd())`, { context })
  assert.equal(where.text, 'below')
  assert.equal((await box.runCode('mine')).error.name, 'NameError')
  assert.equal((await box.runCode('mine', { context })).text, '1')
  const ids = (await box.listCodeContexts()).map((one) => one.id)
  assert.equal(ids.length, 2)
  assert.equal(ids[1], context.id) // the default context is older
  await box.restartCodeContext(context)
  assert.equal((await box.runCode('mine', { context })).error.name, 'NameError')
  await box.removeCodeContext(context.id)
  assert.equal((await box.listCodeContexts()).length, 1)
  const why = await fails(() => box.runCode('1', { context }), /not found/)
  assert.ok(why instanceof NotFoundError)
})
await check('bash', async () => {
  const run = await box.runCode('x=5; echo $x; cd /; (exit 3)', { language: 'bash' })
  assert.equal(run.logs.stdout.join(''), '5\n')
  assert.equal(run.error.value, '3')
  assert.equal((await box.runCode('echo $x; pwd', { language: 'bash' })).logs.stdout.join(''), '5\n/\n')
  const context = await box.createCodeContext({ language: 'bash', cwd: '/home/user/below' })
  assert.equal(context.language, 'bash')
  const inside = await box.runCode('basename "$PWD"; echo "$MINE"', { context, envs: { MINE: "it's" } })
  assert.equal(inside.logs.stdout.join(''), "below\nit's\n")
  await fails(() => box.runCode('sleep 1000', { context, timeoutMs: 1000 }), /Execution timed out/)
  assert.equal((await box.runCode('echo on', { context })).logs.stdout.join(''), 'on\n')
  await box.removeCodeContext(context)
})
await check('other_languages_are_refused', async () => {
  await fails(() => box.runCode('1', { language: 'r' }), /no kernel for the language 'r'; use python or bash/)
  const why = await fails(() => box.createCodeContext({ language: 'javascript' }), /use python or bash/)
  assert.ok(why instanceof SandboxError)
  assert.equal((await box.runCode('1 + 1', { language: 'python' })).text, '2')
})
await check('timeout_interrupts', async () => {
  const code = `import time\nbefore = 'yes'\ntry:\n    time.sleep(1000)\nfinally:\n    open('interrupted', 'w').close()`
  const why = await fails(() => box.runCode(code, { timeoutMs: 1000 }), /Execution timed out/)
  assert.ok(why instanceof TimeoutError)
  assert.equal((await box.runCode('before')).text, 'yes')
  assert.equal(await box.files.exists('interrupted'), true)
})
await check('code_that_ends_its_process', async () => {
  const run = await box.runCode('import os\nos._exit(3)')
  assert.ok(run.error)
  assert.equal((await box.runCode('1 + 1')).text, '2')
})
await check('runs_side_by_side', async () => {
  const contexts = await Promise.all([1, 2, 3].map(() => box.createCodeContext()))
  const runs = await Promise.all(contexts.map((context, i) => box.runCode(`${i} * 10`, { context })))
  assert.deepEqual(
    runs.map((one) => one.text),
    ['0', '10', '20']
  )
  const same = await Promise.all([1, 2, 3].map((i) => box.runCode(`${i}`)))
  assert.deepEqual(
    same.map((one) => one.text),
    ['1', '2', '3']
  )
})
await check('killed_while_it_runs', async () => {
  let begun
  const begins = new Promise((go) => (begun = go))
  const running = fails(
    () => box.runCode(`import time\nprint('up')\ntime.sleep(1000)`, { onStdout: () => begun() }),
    /./
  )
  await begins
  assert.equal(await box.kill(), true)
  await running
  await fails(() => box.runCode('1'), /./)
})

console.log(failed ? 'some failed' : 'all passed')
process.exit(failed ? 1 : 0) // the SDK leaves timers behind after a refusal, so Node would not end by itself
