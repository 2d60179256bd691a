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
const MOST_DISPLAYED = 64 * 1024 * 1024;
const MOST_ON_THE_WAY = 4 * 1024 * 1024;  // maximum bytes that a worker has sent and the main thread has not received
const MOST_WRITTEN = 1024 * 1024;  // maximum bytes of one write; the interpreter writes the rest by another call
const MESSAGE = 256;  // bytes that are added to the size of a body, for the message itself
const MOST_FETCHES = 4;  // maximum number of simultaneous HTTP requests of one worker
const WATCH = 50;  // interval between checks of the process's memory use, in ms
const MOST_PATHS = 2 * 1024 * 1024;  // maximum length of the paths of all files of a run together
const TIDYING = 5000;  // maximum time from the end of a run until its worker is ready again, in ms
const MAILBOX = 256 * 1024;  // bytes of the shared memory through which a worker receives messages
// Indices into the control words that a worker and its main thread share.
const CTL = {full: 0, size: 1, last: 2, onTheWay: 3, pause: 4};

const text = new TextEncoder();
const plain = new TextDecoder();

// ---- a worker ------------------------------------------------------------------------------------------------------

// Global names that a worker loses, because the code in it does not need them. The isolation does not depend on this
// list. It depends on Deno's permissions, and on a flag that forbids the engine to compile text as JavaScript.
const FORBIDDEN = ["fetch", "WebSocket", "WebSocketStream", "EventSource", "XMLHttpRequest", "Worker",
  "BroadcastChannel", "MessageChannel", "MessagePort", "postMessage", "close", "onmessage", "onerror", "caches",
  "Cache", "CacheStorage", "navigator", "importScripts", "eval", "indexedDB",
  "localStorage", "sessionStorage", "Request", "Headers", "FormData", "addEventListener", "removeEventListener",
  "dispatchEvent", "self", "reportError", "structuredClone", "location", "createImageBitmap", "alert", "confirm",
  "prompt", "name"];

// Throws if the file of a needed package is missing. Pyodide itself would try to download it.
function requireWheels(names, known, folder, version) {
  const missing = [];
  const seen = new Set();
  const todo = [...names];
  for (const name of todo) {
    const key = name.toLowerCase().replace(/[-_.]+/g, "-");
    if (seen.has(key)) continue;
    seen.add(key);
    const one = Object.hasOwn(known, key) ? known[key] : Object.values(known).find((each) => each.name === name);
    if (one === undefined)
      throw new Error("Pyodide has no package '" + name + "'; " + folder + "pyodide-lock.json lists all packages");
    todo.push(...one.depends);
    try {
      globalThis.Deno.statSync(folder + one.file_name);
    } catch {
      missing.push(one.file_name);
    }
  }
  if (missing.length === 0) return;
  throw new Error("packages(" + names.join(", ") + ") needs " + missing.join(", ") + " in " + folder + ", and " +
    "nothing is downloaded; the packages are in Pyodide's full distribution, pyodide-" + version + ".tar.bz2 of its " + "releases: put them there, or use the folder of that distribution");
}

async function work(about) {
  const say = globalThis.postMessage.bind(globalThis);
  const wait = Atomics.wait, load = Atomics.load, add = Atomics.add, store = Atomics.store, notify = Atomics.notify;
  const apply = Reflect.apply, Bytes = Uint8Array, set = Uint8Array.prototype.set;
  const lengthOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "length").get;
  const permissions = globalThis.Deno.permissions;
  const ctl = new Int32Array(about.control);
  const mailbox = new Uint8Array(about.mailbox);
  const interrupt = new Uint8Array(about.interrupt);
  const {loadPyodide} = await import(about.folder + "/pyodide.mjs");
  const options = {indexURL: decodeURIComponent(about.folder.slice(7)) + "/", jsglobals: Object.create(null), env: {HOME: "/code"},
    stdout: () => {}, stderr: () => {}};
  if (about.snapshot) options._loadSnapshot = about.snapshot;
  else options._makeSnapshot = true;
  const py = await loadPyodide(options);
  if (!about.snapshot) {
    py.runPython(about.prelude);
    say({k: "s", body: py.makeMemorySnapshot()});
  }
  py.setInterruptBuffer(interrupt);
  const NODEFS = py.FS.filesystems.NODEFS;
  NODEFS.tryFSOperation = (operation) => {
    try {
      return operation();
    } catch (failure) {
      let number = failure.name === "NotCapable" ? 2 : 29;  // EACCES if Deno does not permit it, else EIO
      try {
        if (failure.code && failure.name !== "NotCapable") number = NODEFS.convertNodeCode(failure);
      } catch { /* the code is unknown: the error stays EIO */ }
      throw new py.FS.ErrnoError(number);
    }
  };
  py.FS.mkdirTree("/code");
  // If only one file of a folder is available, Deno forbids reading the mode of the folder. A constant mode replaces
  // it.
  const folders = new Set(about.mounts.filter((each) => each.folder !== null).map((each) => each.folder));
  const modeOf = NODEFS.getMode;
  NODEFS.getMode = (path) => folders.has(path) ? 0o40555 : modeOf(path);
  for (const [index, each] of about.mounts.entries()) {
    if (each.folder !== null) {
      py.FS.mkdirTree("/.files/" + index);
      py.FS.mount(NODEFS, {root: each.folder}, "/.files/" + index);
      py.FS.mkdirTree(each.guest.slice(0, each.guest.lastIndexOf("/")) || "/");
      py.FS.symlink("/.files/" + index + each.host.slice(each.host.lastIndexOf("/")), each.guest);
      continue;
    }
    py.FS.mkdirTree(each.guest);
    py.mountNodeFS(each.guest, each.host);
  }
  py.FS.chdir("/code");
  if (about.packages.length) {
    requireWheels(about.packages, py.lockfile.packages, options.indexURL, py.version);
    const problems = [];
    await py.loadPackage(about.packages, {messageCallback: () => {}, errorCallback: (what) => problems.push(what)});
    if (problems.length) throw new Error(problems.join("; "));
  }
  // Checks the size of a message's body, waits until the main thread has received enough of the earlier messages, and
  // returns a copy of the body. The copy is needed because postMessage copies the whole buffer that contains the body.
  // Code can reach `host` through Python's garbage collector and pass any object, so this calls no methods of the
  // object.
  const post = (letter, body, most) => {
    if (typeof letter !== "string" || letter.length !== 1) throw new TypeError("no message of a run");
    const size = apply(lengthOf, body, []);
    if (size > most) throw new RangeError("a run cannot send more than " + most + " bytes at once");
    while (load(ctl, CTL.onTheWay) > MOST_ON_THE_WAY) wait(ctl, CTL.onTheWay, load(ctl, CTL.onTheWay), 1000);
    const copy = new Bytes(size);
    apply(set, copy, [body]);
    add(ctl, CTL.onTheWay, MESSAGE + size);
    return copy;
  };
  const stream = (index) => ({write: (piece) => {
    const part = piece.length > MOST_WRITTEN ? piece.subarray(0, MOST_WRITTEN) : piece;
    const body = post("o", part, MOST_WRITTEN);
    say({k: "o", stream: index, body});
    return body.length;
  }, isatty: false});
  py.setStdin({stdin: () => null, isatty: false});
  py.setStdout(stream(0));
  py.setStderr(stream(1));
  const host = {
    send: (letter, body) => {
      const copy = post(letter, body, MOST_REPORT);
      say({k: letter, body: copy});
    },
    // Returns the next message, or undefined if the run is to be interrupted.
    receive: () => {
      const parts = [];
      for (;;) {
        while (load(ctl, CTL.full) === 0) {
          wait(ctl, CTL.full, 0);
          if (load(ctl, CTL.full) === 0 && interrupt[0] !== 0) return undefined;
        }
        parts.push(mailbox.slice(0, ctl[CTL.size]));
        const last = ctl[CTL.last] === 1;
        store(ctl, CTL.full, 0);
        notify(ctl, CTL.full);
        if (last) break;
      }
      if (parts.length === 1) return parts[0];
      const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      return whole;
    },
    pause: (seconds) => {
      wait(ctl, CTL.pause, 0, seconds * 1000);
    },
    idle: (problem, worn) => {
      post("i", new Bytes(0), 0);
      say({k: "i", problem: typeof problem === "string" ? problem.slice(0, 2000) : null, worn: worn === true});
    },
    memory: () => py._module.HEAPU8.length,
  };
  py.runPython("import os\nos.urandom(1)\ndel os");  // makes Pyodide load its last parts while it may
  const serve = py.globals.get("cofferdam_serve");
  py.globals.delete("cofferdam_serve");
  for (const path of about.forget) permissions.revokeSync({name: "read", path});
  // Removes all of Deno except the types of its errors. If directories of the host are available, Deno stays, because
  // the file system for them needs it. Deno's permissions then decide alone which files can be read and written.
  if (about.mounts.length === 0)
    Object.defineProperty(globalThis, "Deno", {value: Object.freeze({errors: globalThis.Deno.errors}), writable: false,
      configurable: false});
  for (const name of FORBIDDEN) {
    for (let at = globalThis; at; at = Object.getPrototypeOf(at)) delete at[name];
    if (name in globalThis) Object.defineProperty(globalThis, name, {value: undefined, writable: false, configurable: false});
  }
  try {
    serve(host, JSON.stringify(about.python));
    say({k: "x", problem: "its interpreter has ended"});
  } catch (failure) {
    const exited = failure !== null && typeof failure === "object" && failure.name === "Exit" || failure?.name === "ExitStatus";
    say({k: "x", status: exited && Number.isInteger(failure.status) ? failure.status : null,
      problem: exited ? null : "its interpreter failed: " + String(failure?.message ?? failure).slice(-300)});
  }
}

// ---- streams --------------------------------------------------------------------------------------------------------

function write(bytes) {
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

// One output stream of a run. Its start is sent to the host while the run executes; its end is kept until the run ends.
class Output {
  constructor(keep) {
    this.left = Math.floor(keep / 2);
    this.room = keep - this.left;
    this.head = [];
    this.tail = [];
    this.held = 0;
    this.total = 0;
    this.small = 0;  // small pieces at the tail's end; each costs extra memory, so 256 of them are joined
  }
  take(piece) {
    this.total += piece.length;
    const first = Math.min(this.left, piece.length);
    if (first) this.head.push(piece.subarray(0, first));
    this.left -= first;
    if (first === piece.length) return;
    this.tail.push(piece.subarray(first));
    this.held += piece.length - first;
    this.small = piece.length < 4096 ? this.small + 1 : 0;
    if (this.small === 256) {
      const joined = join(this.tail.splice(-256));
      this.tail.push(joined);
      this.small = 0;
    }
    while (this.tail.length && this.held - this.tail[0].length >= this.room) {
      this.held -= this.tail.shift().length;
      this.small = Math.min(this.small, this.tail.length);
    }
  }
  begin() {
    const head = join(this.head);
    this.head = [];
    return head;
  }
  end() {
    const tail = join(this.tail);
    return tail.length > this.room ? tail.subarray(tail.length - this.room) : tail;
  }
}

function join(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// Yields the frames of a stream. A frame is a length (32 bits, big-endian) and that number of bytes.
async function* framesOf(stream) {
  let parts = [];
  let size = 0;
  let wanted = 4;
  let isHead = true;
  for await (const piece of stream) {
    parts.push(piece);
    size += piece.length;
    while (size >= wanted) {
      const whole = parts.length === 1 ? parts[0] : join(parts);
      const part = whole.subarray(0, wanted);
      parts = size > wanted ? [whole.subarray(wanted)] : [];
      size -= wanted;
      wanted = isHead ? new DataView(part.buffer, part.byteOffset).getUint32(0) : 4;
      isHead = !isHead;
      if (isHead) yield part;
    }
  }
}

// Returns the header and the body of a frame that `tell` has written.
function opened(frame) {
  const size = new DataView(frame.buffer, frame.byteOffset).getUint32(0);
  return [JSON.parse(plain.decode(frame.subarray(4, 4 + size))), frame.slice(4 + size)];
}

function frameOf(header, ...body) {
  const head = text.encode(JSON.stringify(header));
  const size = 4 + head.length + body.reduce((sum, part) => sum + part.length, 0);
  const frame = new Uint8Array(4 + size);
  const view = new DataView(frame.buffer);
  view.setUint32(0, size);
  view.setUint32(4, head.length);
  frame.set(head, 8);
  let at = 8 + head.length;
  for (const part of body) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

function tell(header, ...body) {
  write(frameOf(header, ...body));
}

// ---- the main thread of a place's process --------------------------------------------------------------------------

class Relay {
  constructor() {
    this.control = new Int32Array(new SharedArrayBuffer(64));
    this.mailbox = new Uint8Array(new SharedArrayBuffer(MAILBOX));
    this.interrupt = new Uint8Array(new SharedArrayBuffer(8));
    this.delivering = Promise.resolve();
  }

  begin(about, snapshot) {
    const written = about.mounts.filter((each) => each.write).map((each) => each.host);
    this.worker = new Worker(import.meta.url, {type: "module", deno: {permissions: {
      read: [...about.own, ...about.mounts.map((each) => each.host)], write: written,
      net: false, env: false, run: false, sys: false, ffi: false, import: false}}});
    this.worker.onmessage = (event) => this.hear(event.data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      tell({k: "x", problem: "its interpreter failed: " + event.message});
    };
    this.worker.postMessage({control: this.control.buffer, mailbox: this.mailbox.buffer, interrupt: this.interrupt.buffer,
      ...about, snapshot: snapshot.length ? snapshot : null}, snapshot.length ? [snapshot.buffer] : []);
    const watching = setInterval(() => {
      if (Deno.memoryUsage().rss <= about.process_memory) return;
      clearInterval(watching);
      tell({k: "memory"});
    }, WATCH);
  }

  hear(said) {
    const body = said.body instanceof Uint8Array ? said.body : null;
    if (said.k !== "x" && said.k !== "s") {
      Atomics.sub(this.control, CTL.onTheWay, MESSAGE + (body?.length ?? 0));
      Atomics.notify(this.control, CTL.onTheWay);
    }
    const header = {k: said.k, stream: said.stream, problem: said.problem, worn: said.worn, status: said.status};
    tell(header, body ?? new Uint8Array());
  }

  deliver(whole) {
    this.delivering = this.delivering.then(async () => {
      let at = 0;
      do {
        while (Atomics.load(this.control, CTL.full) === 1) {
          const waiting = Atomics.waitAsync(this.control, CTL.full, 1, 1000);
          if (waiting.async) await waiting.value;
        }
        const part = whole.subarray(at, at + MAILBOX);
        this.mailbox.set(part);
        at += part.length;
        this.control[CTL.size] = part.length;
        this.control[CTL.last] = at >= whole.length ? 1 : 0;
        Atomics.store(this.control, CTL.full, 1);
        Atomics.notify(this.control, CTL.full);
      } while (at < whole.length);
    });
  }

  interrupted(value) {
    Atomics.store(this.interrupt, 0, value);
    if (value === 0) return;
    Atomics.notify(this.control, CTL.full);
    Atomics.notify(this.control, CTL.pause);
  }

  async run() {
    for await (const frame of framesOf(Deno.stdin.readable)) {
      const [header, body] = opened(frame);
      if (header.op === "begin") this.begin(header.about, body);
      else if (header.op === "deliver") this.deliver(body);
      else if (header.op === "interrupt") this.interrupted(header.value);
    }
    Deno.exit(0);  // the broker has closed the stream
  }
}

// ---- the broker -----------------------------------------------------------------------------------------------------

class Run {
  constructor(header, body) {
    this.header = header;
    this.id = header.id;
    this.body = body;
    this.outputs = [new Output(header.keep), new Output(header.keep)];
    this.reason = null;
    this.report = new Uint8Array();
    this.displayed = 0;
    this.kept = 0;  // bytes of file contents that the run has sent
    this.started = null;
    this.timer = null;
    this.flushing = null;
  }
  flush() {
    clearTimeout(this.flushing);
    this.flushing = null;
    for (const index of [0, 1]) {
      const head = this.outputs[index].begin();
      if (head.length) tell({t: "out", id: this.id, stream: index}, head);
    }
  }
}

// Returns the list of a run's files in the form that the host expects. The code of the run can send anything, so this
// copies only members with the right types.
function filesOf(body, most) {
  let said = {};
  try {
    said = JSON.parse(plain.decode(body)) ?? {};
  } catch { /* it is not JSON: the list stays empty */ }
  const files = [];
  let room = MOST_PATHS;
  for (const row of Array.isArray(said.files) ? said.files : []) {
    const name = typeof row?.path === "string" ? "path" : "path64";
    const path = row?.[name];
    if (typeof path !== "string" || !Number.isSafeInteger(row.size)) continue;
    room -= path.length;
    if (room < 0 || files.length >= most) return {files, files_whole: false};
    files.push({[name]: path.toWellFormed(), size: row.size, new: row.new === true});
  }
  return {files, files_whole: said.whole === true};
}

class Place {
  constructor(driver, name) {
    this.driver = driver;
    this.name = name;  // the name of its context, or null
    this.queue = [];
    this.run = null;
    this.ready = false;  // true if it can take a run
    this.due = true;  // true if it has to report that it is ready; at other times such a report is an error
    this.tidying = null;
    this.dead = false;
    this.sending = Promise.resolve();
    this.fetching = 0;
    this.complaint = "";  // the end of what its process has written to standard error
    const config = driver.config;
    const [program, ...words] = config.place_command;
    this.process = new Deno.Command(program, {args: words, stdin: "piped", stdout: "piped", stderr: "piped"}).spawn();
    this.input = this.process.stdin.getWriter();
    this.send({op: "begin", about: {folder: config.folder, own: config.own, prelude: config.prelude, mounts: config.mounts,
      packages: config.packages, forget: config.forget, process_memory: config.process_memory,
      python: {context: name !== null, network: config.network.length > 0, environment: config.environment,
        preload: config.preload, max_memory: config.isolate ? 0 : config.worn}}}, driver.snapshot ?? new Uint8Array());
    this.listen();
  }

  async listen() {
    const complaining = this.hearComplaints();
    try {
      for await (const frame of framesOf(this.process.stdout)) {
        if (this.dead) break;
        const [said, body] = opened(frame);
        this.hear(said, body);
      }
    } catch { /* it has sent an invalid frame: it is killed below */ }
    if (!this.dead) this.kill();
    const status = await this.process.status;
    await complaining;
    if (this.dead) return;
    // If the kernel refuses memory, the engine ends with a message about it. If the broker has not killed the process,
    // SIGKILL means that the kernel has killed it because memory ran out.
    if (this.killed !== true && (this.complaint.includes("out of memory") || status.signal === "SIGKILL"))
      return this.outOfMemory();
    this.broken("its process has ended" + (this.complaint ? ": " + this.complaint : ""));
  }

  async hearComplaints() {
    try {
      for await (const piece of this.process.stderr) this.complaint = (this.complaint + plain.decode(piece)).slice(-2000);
    } catch { /* the stream has failed: the text so far is used */ }
  }

  kill() {
    this.killed = true;
    try {
      this.process.kill("SIGKILL");
    } catch { /* the process has already ended */ }
  }

  send(header, ...body) {
    const frame = frameOf(header, ...body);
    this.sending = this.sending.then(() => this.input.write(frame)).catch(() => {});
    return this.sending;
  }

  deliver(...parts) {
    for (const whole of parts) this.send({op: "deliver"}, whole);
    return this.sending;
  }

  interrupt(value) {
    this.send({op: "interrupt", value});
  }

  outOfMemory() {
    if (!this.driver.begun) return this.driver.fail("the memory limit is too low for the interpreter to start; raise memory_limit()");
    this.end(null, null, true);
  }

  begin(run) {
    this.run = run;
    this.ready = false;
    this.interrupt(0);
    tell({t: "turn", id: run.id, began: true});
    run.started = performance.now();
    const late = () => {
      if (this.run === run) this.stop("timeout");
    };
    if (run.header.timeout !== null) run.timer = setTimeout(late, Math.min(run.header.timeout, 0x7FFFFFFF));
    this.deliver(text.encode(JSON.stringify({begin: run.header.files})), run.body);
    run.body = null;
  }

  // Ends the run. The run of a context is only interrupted at first: if it ends by itself within `grace` milliseconds,
  // the context keeps its variables.
  stop(reason) {
    const run = this.run;
    const polite = this.name !== null && run.reason === null && run.header.grace > 0;
    run.reason ??= reason;
    clearTimeout(run.timer);
    if (!polite) return this.end(null, null);
    const late = () => {
      if (this.run === run) this.end(null, null);
    };
    run.timer = setTimeout(late, run.header.grace);
    this.interrupt(2);
  }

  hear(said, body) {
    const run = this.run;
    if (said.k === "s" && !this.driver.begun) {
      if (this.driver.snapshot === null) this.driver.keepSnapshot(body);
    } else if (said.k === "memory") {
      this.outOfMemory();
    } else if (said.k === "i") {
      if (said.problem) return this.broken(said.problem);
      if (run !== null || !this.due) return this.broken("the interpreter reported the end of the run too early");
      if (said.worn) return this.end(null, null);
      clearTimeout(this.tidying);
      this.due = false;
      this.ready = true;
      this.driver.next(this);
    } else if (said.k === "x") {
      if (Number.isInteger(said.status)) return this.end(said.status & 255, null);
      this.broken(said.problem);
    } else if (said.k === "o") {
      if (run === null) return;
      const output = run.outputs[said.stream === 1 ? 1 : 0];
      output.take(body);
      if (output.head.length && run.flushing === null) run.flushing = setTimeout(() => run.flush(), 100);
    } else if (run === null || body.length > MOST_REPORT) {
      return;
    } else if (said.k === "c") {
      run.flush();
      tell({t: "call", id: run.id}, body);
    } else if (said.k === "n") {
      this.fetch(run, body);
    } else if (said.k === "d") {
      run.displayed += body.length;
      run.flush();
      if (run.displayed <= MOST_DISPLAYED) tell({t: "display", id: run.id}, body);
    } else if (said.k === "f") {
      run.kept += body.length;
      if (run.kept <= run.header.keep_files + MOST_PATHS) tell({t: "file", id: run.id}, body);
    } else if (said.k === "r") {
      if (!run.report.length) run.report = body;
    } else if (said.k === "e") {
      const listed = filesOf(body, run.header.files);
      this.run = null;
      this.interrupt(0);
      this.driver.report(run, {...listed, alive: this.name !== null});
      // The place must now report that it is ready, otherwise it is ended, because code of the run may still execute.
      // If no interpreter is used twice, the place is ended at once.
      if (this.name === null && this.driver.config.isolate) return this.end(null, null);
      this.due = true;
      this.tidying = setTimeout(() => this.end(null, null), this.name === null ? TIDYING : 6 * TIDYING);
    }
  }

  broken(words) {
    const problem = String(words).slice(-2000).toWellFormed();
    if (!this.driver.begun) return this.driver.fail(problem);
    this.end(null, problem);
  }

  // Ends the place and the run in it. The interpreter ends with the process.
  end(status, problem, memory = false) {
    if (this.dead) return;
    this.dead = true;
    clearTimeout(this.tidying);
    this.kill();
    this.driver.forget(this);
    const run = this.run;
    this.run = null;
    if (run !== null) this.driver.report(run, {exit: status, problem, memory, alive: false});
    for (const waiting of this.queue.splice(0)) this.driver.begin(waiting);
    this.driver.refill();
  }

  async fetch(run, body) {
    let answer;
    let wanted = {};
    this.fetching += 1;
    try {
      if (this.fetching > MOST_FETCHES) throw new Error("too many requests at once");
      wanted = JSON.parse(plain.decode(body));
      const data = wanted.body64 === null ? undefined : Uint8Array.from(atob(wanted.body64), (c) => c.charCodeAt(0));
      if (!/^https?:/.test(wanted.url)) throw new Error("only http and https");
      const got = await fetch(wanted.url, {method: wanted.method, headers: wanted.headers, body: data,
        signal: AbortSignal.timeout(Math.min(wanted.timeout ?? 60000, 600000))});
      const pieces = [];
      let size = 0;
      for await (const piece of got.body ?? []) {
        size += piece.length;
        if (size > MOST_REPORT / 2) throw new Error("the answer is too large");
        pieces.push(piece);
      }
      const whole = join(pieces);
      let binary = "";
      for (let at = 0; at < whole.length; at += 32768)
        binary += String.fromCharCode(...whole.subarray(at, at + 32768));
      answer = {status: got.status, reason: got.statusText, url: got.url, headers: [...got.headers], body64: btoa(binary)};
    } catch (failure) {
      let words = String(failure?.message ?? failure);
      const host = failure?.name === "NotCapable" && /"([^"]*)"/.exec(words);
      if (host) words = "no permission to reach " + host[1] + ": add it with pyodide's allow_network";
      answer = {error: words.slice(0, 500)};
    }
    if (!this.dead && this.run === run)
      await this.deliver(text.encode(JSON.stringify({fetched: wanted.number, ...answer})));
    this.fetching -= 1;
  }
}

class Driver {
  constructor(config) {
    this.config = config;
    this.places = new Set();  // for runs without a context
    this.contexts = new Map();
    this.waiting = [];
    this.runs = new Map();
    this.snapshot = null;
    this.begun = false;
  }

  start() {
    const path = this.config.snapshot_file;
    if (path) {
      try {
        this.snapshot = Deno.readFileSync(path);
      } catch { /* no snapshot is stored yet */ }
    }
    this.add(null);
  }

  keepSnapshot(image) {
    this.snapshot = image;
    const path = this.config.snapshot_file;
    if (!path) return;
    const fresh = path + ".new";
    try {
      // Another process may be writing the same snapshot. A file that is older than a minute was left by a process that
      // has ended.
      if (Date.now() - Deno.statSync(fresh).mtime > 60000) Deno.removeSync(fresh);
    } catch { /* there is none */ }
    try {
      Deno.writeFileSync(fresh, image, {mode: 0o600, createNew: true});
      Deno.renameSync(fresh, path);
    } catch { /* it cannot be stored: the next start makes another one */ }
  }

  fail(problem) {
    tell({t: "failed", text: problem});
    Deno.exit(1);
  }

  add(name) {
    const place = new Place(this, name);
    if (name === null) this.places.add(place);
    else this.contexts.set(name, place);
    return place;
  }

  // Starts another place for runs without a context if there are too few: at least one, at least two if no interpreter
  // is used twice, and more while runs wait.
  refill() {
    if (this.places.size < (this.config.isolate ? 2 : 1) || this.waiting.length && this.places.size < this.config.at_once) this.add(null);
  }

  forget(place) {
    this.places.delete(place);
    if (this.contexts.get(place.name) === place) this.contexts.delete(place.name);
  }

  // Gives the next waiting run to a place that is ready.
  next(place) {
    if (!this.begun) {
      this.begun = true;
      this.refill();
      tell({t: "ready", version: this.config.pyodide, implementation: "pyodide"});
    }
    const queue = place.name === null ? this.waiting : place.queue;
    const run = queue.shift();
    if (run !== undefined) place.begin(run);
  }

  begin(run) {
    const name = run.header.context;
    if (name !== null) {
      if (!this.contexts.has(name) && this.contexts.size >= this.config.max_contexts)
        return this.report(run, {problem: "there are " + this.contexts.size + " contexts, as many as contexts_at_once " +
          "allows; end one first", alive: false});
      const place = this.contexts.get(name) ?? this.add(name);
      place.queue.push(run);
      if (place.ready && place.run === null) this.next(place);
    } else {
      this.waiting.push(run);
      for (const place of this.places) if (place.ready && this.waiting.length) this.next(place);
      if (this.waiting.length && this.places.size < this.config.at_once) this.add(null);
    }
  }

  report(run, end) {
    this.runs.delete(run.id);
    clearTimeout(run.timer);
    clearTimeout(run.flushing);
    const pieces = [];
    for (const output of run.outputs) pieces.push(output.begin(), output.end());
    const us = run.started === null ? 0 : Math.max(1, Math.round((performance.now() - run.started) * 1000));
    tell({t: "end", id: run.id, reason: run.reason, problem: null, exit: null, signal: null, us, ...end,
      totals: run.outputs.map((output) => output.total), pieces: pieces.map((piece) => piece.length)},
      ...pieces, run.report);
  }

  hear(header, body) {
    const run = this.runs.get(header.id);
    const place = run && [...this.places, ...this.contexts.values()].find((each) => each.run === run);
    if (header.op === "run") {
      const made = new Run(header, body);
      this.runs.set(made.id, made);
      tell({t: "turn", id: made.id, began: false});
      this.begin(made);
    } else if (header.op === "reply") {
      if (place) place.deliver(body);
    } else if (header.op === "cancel") {
      if (place) return place.stop("cancelled");
      if (!run) return;
      run.reason = "cancelled";
      for (const queue of [this.waiting, ...[...this.contexts.values()].map((each) => each.queue)])
        if (queue.includes(run)) queue.splice(queue.indexOf(run), 1);
      this.report(run, {alive: run.header.context !== null && this.contexts.has(run.header.context)});
    } else if (header.op === "contexts") {
      tell({t: "answer", id: header.id, names: [...this.contexts.keys()]});
    } else if (header.op === "drop") {
      const dropped = this.contexts.get(header.context);
      if (dropped) dropped.end(null, dropped.run ? "its context was ended" : null);
      tell({t: "answer", id: header.id, found: dropped !== undefined});
    }
  }
}

async function main() {
  write(text.encode("\ncofferdam python driver 1\n"));
  let driver = null;
  for await (const frame of framesOf(Deno.stdin.readable)) {
    if (driver !== null) {
      driver.hear(...opened(frame));
      continue;
    }
    const config = JSON.parse(plain.decode(frame));
    const [major, minor] = Deno.version.deno.split(".").map(Number);
    if (major !== 2 || minor < config.deno_minor) {
      tell({t: "failed", text: "Deno " + Deno.version.deno + " is another version than is needed"});
      Deno.exit(1);
    }
    driver = new Driver(config);
    driver.start();
  }
  for (const place of [...(driver?.places ?? []), ...(driver?.contexts.values() ?? [])]) place.kill();
  Deno.exit(0);  // the host has closed the stream
}

if (typeof globalThis.WorkerGlobalScope === "function") {
  globalThis.onmessage = (event) => {
    const say = globalThis.postMessage.bind(globalThis);
    work(event.data).catch((failure) => say({k: "x", problem: String(failure?.message ?? failure).slice(-1000)}));
  };
} else {
  globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
  if (Deno.args[0] === "place") await new Relay().run();
  else await main();
}
