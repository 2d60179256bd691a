// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Runs Python code in Pyodide (Python compiled to WebAssembly) for the host, the C++ program at the other end of
// standard input and output. Needs Deno 2.
//
// The first process is the *broker*. It exchanges frames with the host, in the format of python_driver, and executes no
// code of users. Each *place* is another process with one interpreter. Each context has a place, and all other runs
// share a few places. A place is a process because Deno's `Worker.terminate` does not stop a busy worker. A process can
// be killed, and it has its own memory limits.
//
// The main thread of a place exchanges messages with the broker and executes no code of users either. The interpreter
// is in a worker of that process. The worker may read Pyodide's own files until it has loaded them, and the files that
// the host makes available. The broker treats each message of a worker as a message about the one run in it. The worker
// can use neither the streams of its process nor other places.
//
// A worker waits with Atomics.wait on memory that it shares with its main thread (see CTL).

const MOST_REPORT = 16 * 1024 * 1024;
const MESSAGE = 256;  // bytes that are added to the size of a body, for the message itself
// Indices into the control words that a worker and its main thread share.
const CTL = {full: 0, size: 1, last: 2, onTheWay: 3, pause: 4};

export {CTL, MESSAGE, MOST_REPORT};
