// Reads Server-Sent Events out of text that comes in pieces.

export interface SseMessage {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** Guards the caller's memory against a line that never ends. */
const messageCharsMax = 64 * 1024 * 1024;

/** Gets the pieces in order; gives the messages that they complete. Comments and unknown fields are passed over. */
export class SseReader {
  #waiting: string[] = [];
  #waitingChars = 0;
  #id = "";
  #event = "";
  #data: string[] = [];

  /** @throws RangeError for a message beyond all bounds */
  push(piece: string): readonly SseMessage[] {
    const messages: SseMessage[] = [];
    let from = 0;
    for (let at = piece.indexOf("\n"); at !== -1; at = piece.indexOf("\n", from)) {
      // A message in many pieces is put together once, at its end.
      const line = this.#waiting.join("") + piece.slice(from, at);
      this.#waiting = [];
      this.#waitingChars = 0;
      from = at + 1;
      const message = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (message !== undefined) messages.push(message);
    }
    if (from < piece.length) {
      this.#waiting.push(piece.slice(from));
      this.#waitingChars += piece.length - from;
    }
    if (this.#waitingChars > messageCharsMax)
      throw new RangeError(`a message of the stream is longer than ${messageCharsMax} characters`);
    return messages;
  }

  #line(line: string): SseMessage | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "id") this.#id = value;
    else if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    return undefined;
  }

  #dispatch(): SseMessage | undefined {
    const data = this.#data.join("\n");
    const message = { id: this.#id, event: this.#event === "" ? "message" : this.#event, data };
    const isOne = this.#data.length > 0;
    this.#event = "";
    this.#data = [];
    return isOne ? message : undefined;
  }
}
