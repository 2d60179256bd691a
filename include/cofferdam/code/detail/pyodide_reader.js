// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Runs the program of python_code_reader/, which analyses Python code for guards, in Pyodide's interpreter. Runs in a
// Deno that may read Pyodide's own files, the runner's snapshot, and nothing else. The analysed code is never executed.
// The arguments are Pyodide's folder, as a URL, the text of the program, which describes the standard input and output,
// and the file of the snapshot, or an empty text. With the snapshot, the start takes a tenth of the time.

const [folder, program, image] = Deno.args;

function write(bytes) {
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

function take(count) {
  const whole = new Uint8Array(count);
  for (let at = 0; at < count;) {
    const size = Deno.stdin.readSync(whole.subarray(at));
    if (size === null) Deno.exit(0);  // the host has closed the stream
    at += size;
  }
  return whole;
}

const {loadPyodide} = await import(folder + "/pyodide.mjs");
const options = {indexURL: decodeURIComponent(folder.slice(7)) + "/", jsglobals: Object.create(null), stdout: () => {},
  stderr: () => {}};
try {
  if (image) options._loadSnapshot = Deno.readFileSync(image);
} catch { /* no snapshot is stored yet */ }
const py = await loadPyodide(options);
const names = py.toPy({"__name__": "cofferdam_reader"});
py.runPython(program, {globals: names});
const answer = names.get("answer_to");
write(names.get("prepare")().toJs());
for (;;) {
  const head = new DataView(take(5).buffer);
  const source = py.toPy(take(head.getUint32(0)));
  let got;
  try {
    got = answer(source, head.getUint8(4));
  } catch {  // WebAssembly's stack has overflowed: this interpreter cannot be used any more
    const said = new TextEncoder().encode(JSON.stringify({error: {type: "TooDeep", line: 0, column: 0,
      text: "it is nested too deeply or is too large"}}));
    const size = new Uint8Array(4);
    new DataView(size.buffer).setUint32(0, said.length);
    write(size);
    write(said);
    Deno.exit(1);
  }
  write(got.toJs());
  got.destroy();
  source.destroy();
}
