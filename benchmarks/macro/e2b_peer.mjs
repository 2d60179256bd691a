// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Measures E2B's official JavaScript SDK: reads one operation per line, and prints its elapsed seconds and its CPU
// seconds. The argument is the folder that contains the SDK's node_modules.
import { openAsBlob } from "node:fs";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const { Sandbox } = createRequire(process.argv[2] + "/")("e2b");
const size = 64 * 1024 * 1024;
const sandbox = await Sandbox.create();
const content = new Blob([Buffer.alloc(size, "x")]);

for await (const line of createInterface({ input: process.stdin })) {
  const word = line.trim();
  // Each round writes a new file.
  if (word === "file" && (await sandbox.files.exists("/home/user/peer"))) await sandbox.files.remove("/home/user/peer");
  const begin = process.hrtime.bigint();
  const busy = process.cpuUsage();
  if (word === "command") {
    if ((await sandbox.commands.run("true")).exitCode !== 0) throw new Error("true failed");
  } else if (word === "output") {
    const result = await sandbox.commands.run(`head -c ${size} /dev/zero | tr '\\0' x`, { timeoutMs: 0 });
    if (result.stdout.length !== size) throw new Error(`${result.stdout.length} bytes`);
  } else if (word === "stream") {
    let seen = 0;
    const onStdout = (text) => {
      seen += text.length;
    };
    await sandbox.commands.run(`head -c ${size} /dev/zero | tr '\\0' x`, { onStdout, timeoutMs: 0 });
    if (seen !== size) throw new Error(`${seen} bytes`);
  } else if (word === "upload") {
    await sandbox.files.write("/home/user/peer", content);
  } else if (word === "file") {
    await sandbox.files.write("/home/user/peer", await openAsBlob(process.env.COFFERDAM_E2B_FILE));
  } else if (word === "download") {
    const all = await sandbox.files.read("/home/user/peer", { format: "bytes" });
    if (all.length !== size) throw new Error(`${all.length} bytes`);
  } else if (word === "end") {
    await sandbox.kill();
    console.log("0 0");
    break;
  }
  const used = process.cpuUsage(busy);
  console.log(Number(process.hrtime.bigint() - begin) / 1e9, (used.user + used.system) / 1e6);
}
process.exit(0);
