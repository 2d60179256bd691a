// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Measures Pyodide in a Deno process that is already running: reads one piece of Python per line, as JSON, and prints
// the seconds of its run. All pieces share one namespace. The argument is the folder of Pyodide.
const folder = Deno.args[0];
const { loadPyodide } = await import(`file://${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: folder + "/" });

let left = "";
for await (const piece of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  left += piece;
  for (let end = left.indexOf("\n"); end >= 0; end = left.indexOf("\n")) {
    const code = JSON.parse(left.slice(0, end));
    left = left.slice(end + 1);
    const begin = performance.now();
    python.runPython(code);
    console.log((performance.now() - begin) / 1000);
  }
}
