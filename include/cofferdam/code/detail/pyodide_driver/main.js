// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The start of each process and of each worker.

import {Driver} from "./driver.js";
import {Relay} from "./relay.js";
import {framesOf, opened, plain, tell, text, write} from "./streams.js";
import {work} from "./worker.js";

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
