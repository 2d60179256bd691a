// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// A worker: the thread of a place's process in which the interpreter executes the code of users.

import {CTL, MESSAGE, MOST_REPORT} from "./base.js";

const MOST_ON_THE_WAY = 4 * 1024 * 1024;  // maximum bytes that a worker has sent and the main thread has not received
const MOST_WRITTEN = 1024 * 1024;  // maximum bytes of one write; the interpreter writes the rest by another call

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
  const getterOf = (name) => Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), name).get;
  const lengthOf = getterOf("length"), bufferOf = getterOf("buffer");
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
  // Sends a message of a run, after the main thread has received enough of the earlier ones. Returns the size of the body.
  // The message gets a copy of the body and gives the copy's memory away; the body can be a view of the interpreter's
  // memory. Code can reach `host` through Python's garbage collector and pass any object, so this calls no methods of the
  // object.
  const post = (message, body, most) => {
    const size = apply(lengthOf, body, []);
    if (size > most) throw new RangeError("a run cannot send more than " + most + " bytes at once");
    while (load(ctl, CTL.onTheWay) > MOST_ON_THE_WAY) wait(ctl, CTL.onTheWay, load(ctl, CTL.onTheWay), 1000);
    const copy = new Bytes(size);
    apply(set, copy, [body]);
    add(ctl, CTL.onTheWay, MESSAGE + size);
    message.body = copy;
    say(message, [apply(bufferOf, copy, [])]);
    return size;
  };
  const stream = (index) => ({write: (piece) => {
    const part = piece.length > MOST_WRITTEN ? piece.subarray(0, MOST_WRITTEN) : piece;
    return post({k: "o", stream: index}, part, MOST_WRITTEN);
  }, isatty: false});
  py.setStdin({stdin: () => null, isatty: false});
  py.setStdout(stream(0));
  py.setStderr(stream(1));
  const host = {
    send: (letter, body) => {
      if (typeof letter !== "string" || letter.length !== 1) throw new TypeError("no message of a run");
      post({k: letter}, body, MOST_REPORT);
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
      const told = typeof problem === "string" ? problem.slice(0, 2000) : null;
      post({k: "i", problem: told, worn: worn === true}, new Bytes(0), 0);
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

export {work};
