// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// A place of the broker: a process with one interpreter, which executes one run after another.

import {MOST_REPORT} from "./base.js";
import {MOST_PATHS, filesOf} from "./run.js";
import {frameOf, framesOf, join, opened, plain, tell, text} from "./streams.js";

const MOST_DISPLAYED = 64 * 1024 * 1024;
const MOST_FETCHES = 4;  // maximum number of simultaneous HTTP requests of one worker
const TIDYING = 5000;  // maximum time from the end of a run until its worker is ready again, in ms

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

export {Place};
