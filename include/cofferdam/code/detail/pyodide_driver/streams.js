// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// The frames and the output of runs, as bytes of streams.

const text = new TextEncoder();
const plain = new TextDecoder();

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

const bytesIn = (parts) => parts.reduce((sum, part) => sum + part.length, 0);

function join(parts) {
  const whole = new Uint8Array(bytesIn(parts));
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

// Returns the start of a frame: the lengths, and the header.
function frameHead(header, bodyLength) {
  const head = text.encode(JSON.stringify(header));
  const start = new Uint8Array(8 + head.length);
  const view = new DataView(start.buffer);
  view.setUint32(0, 4 + head.length + bodyLength);
  view.setUint32(4, head.length);
  start.set(head, 8);
  return start;
}

function frameOf(header, ...body) {
  return join([frameHead(header, bytesIn(body)), ...body]);
}

// Writes a frame. Does not join large bodies with the header: under load, the engine frees such copies late, and a flood
// of output could fill its memory.
function tell(header, ...body) {
  const length = bytesIn(body);
  if (length < 4096) return write(frameOf(header, ...body));
  write(frameHead(header, length));
  for (const part of body) write(part);
}

export {Output, frameOf, framesOf, join, opened, plain, tell, text, write};
