// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// A run of the broker, and the list of its files.

import {Output, plain, tell} from "./streams.js";

const MOST_PATHS = 2 * 1024 * 1024;  // maximum length of the paths of all files of a run together

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

export {MOST_PATHS, Run, filesOf};
