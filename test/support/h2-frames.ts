// Reads the frames of an HTTP/2 server's bytes: which belong to a stream, and which only to the connection.

const headBytes = 9;
/** Types of frames that carry an answer: DATA and HEADERS. */
const answering: readonly number[] = [0, 1];

/** Gets the bytes in order, however they are cut; calls back once for each frame whose head is complete. */
export function frameReader(onFrame: (kind: "on_a_stream" | "of_the_connection") => void): (chunk: Buffer) => void {
  let head = Buffer.alloc(0);
  let bodyLeft = 0;
  return (chunk) => {
    for (let at = 0; at < chunk.length;) {
      if (bodyLeft > 0) {
        const passed = Math.min(bodyLeft, chunk.length - at);
        bodyLeft -= passed;
        at += passed;
        continue;
      }
      const part = chunk.subarray(at, at + headBytes - head.length);
      head = Buffer.concat([head, part]);
      at += part.length;
      if (head.length < headBytes) return;
      bodyLeft = head.readUIntBE(0, 3);
      onFrame(answering.includes(head.readUInt8(3)) ? "on_a_stream" : "of_the_connection");
      head = Buffer.alloc(0);
    }
  };
}
