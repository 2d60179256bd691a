// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The main thread of a place's process. The joined program is also the program of the worker.

import {CTL, MESSAGE} from "./base.js";
import {framesOf, opened, tell} from "./streams.js";

const WATCH = 50;  // interval between checks of the process's memory use, in ms
const MAILBOX = 256 * 1024;  // bytes of the shared memory through which a worker receives messages

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

export {Relay};
