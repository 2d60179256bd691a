// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The broker: gives runs to places, and reports the ends of runs to the host.

import {Place} from "./place.js";
import {Run} from "./run.js";
import {tell} from "./streams.js";

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

export {Driver};
