// Reads a tool's pipes: never more than one chunk ahead of whoever takes it, and never past a limit.
import { Socket } from "node:net";

type Taken = void | Promise<void>;

/** One pipe that is read; `ended` resolves at its end, whatever happened on the way. */
export interface Reading {
  readonly ended: Promise<void>;
  /** Reads no more. */
  stop(): void;
}

/** @param fd our end of a pipe, which is ours to close from here on */
export function readPipe(fd: number, take: (chunk: Buffer) => Taken): Reading {
  const socket = new Socket({ fd, readable: true, writable: false });
  const read = async (): Promise<void> => {
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        const taken = take(chunk);
        if (taken !== undefined) await taken;
      }
    } catch {
      // Stopped, or its reader failed: what was taken stays taken.
    }
  };
  return { ended: read(), stop: () => void socket.destroy() };
}

/** Writes all of it and closes; a tool that does not listen, or is gone, is no error. */
export function writePipe(fd: number, text: string | null): { stop(): void } {
  const socket = new Socket({ fd, readable: false, writable: true });
  socket.on("error", () => undefined);
  if (text === null) socket.destroy();
  else socket.end(text);
  return { stop: () => void socket.destroy() };
}

export interface StreamLimits {
  /** Passed on up to here, dropped from here on. */
  readonly bytesMax: number;
  /** Over this somebody writes to do harm. */
  readonly bytesKill: number;
  /** Called once. */
  readonly onFlood: (bytes: number) => void;
}

/** Stdout or stderr: cut at its limit, its last bytes kept. */
export class CappedStream {
  readonly #limits: StreamLimits;
  readonly #take: (chunk: Uint8Array) => Taken;
  readonly #tailBytes: number;
  #tail = Buffer.alloc(0);
  #seen = 0;
  #flooded = false;

  constructor(limits: StreamLimits, tailBytes: number, take: (chunk: Uint8Array) => Taken) {
    this.#limits = limits;
    this.#tailBytes = tailBytes;
    this.#take = take;
  }

  get truncated(): boolean {
    return this.#seen > this.#limits.bytesMax;
  }

  /** Bytes that are no characters show as such. */
  get tail(): string {
    return this.#tail.toString("utf8");
  }

  push(chunk: Buffer): Taken {
    const room = this.#limits.bytesMax - this.#seen;
    this.#seen += chunk.length;
    if (this.#tailBytes > 0) {
      const joined = chunk.length >= this.#tailBytes ? chunk : Buffer.concat([this.#tail, chunk]);
      this.#tail = Buffer.from(joined.subarray(-this.#tailBytes));
    }
    if (this.#seen > this.#limits.bytesKill && !this.#flooded) {
      this.#flooded = true;
      this.#limits.onFlood(this.#seen);
    }
    return room > 0 ? this.#take(chunk.subarray(0, room)) : undefined;
  }
}

/** The structured result: all of it or none. */
export class WholeText {
  readonly #bytesMax: number;
  readonly #onOver: (bytes: number) => void;
  readonly #chunks: Buffer[] = [];
  #seen = 0;

  constructor(bytesMax: number, onOver: (bytes: number) => void) {
    this.#bytesMax = bytesMax;
    this.#onOver = onOver;
  }

  push(chunk: Buffer): void {
    const before = this.#seen;
    this.#seen += chunk.length;
    if (this.#seen <= this.#bytesMax) this.#chunks.push(chunk);
    else if (before <= this.#bytesMax) this.#onOver(this.#seen);
  }

  /** Null when nothing was written or it was too much. */
  get text(): string | null {
    return this.#seen === 0 || this.#seen > this.#bytesMax ? null : Buffer.concat(this.#chunks).toString("utf8");
  }
}

/** Lines of file descriptor 4; the first one is the starter's word that the box is ready. */
export class Lines {
  readonly #bytesMax: number;
  readonly #onOver: (bytes: number) => void;
  readonly #take: (line: string) => Taken;
  #rest = Buffer.alloc(0);
  #over = false;

  constructor(bytesMax: number, onOver: (bytes: number) => void, take: (line: string) => Taken) {
    this.#bytesMax = bytesMax;
    this.#onOver = onOver;
    this.#take = take;
  }

  async push(chunk: Buffer): Promise<void> {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (!this.#over) {
      const end = rest.indexOf(10);
      if ((end < 0 ? rest.length : end) > this.#bytesMax) {
        this.#over = true;
        this.#onOver(rest.length);
        break;
      }
      if (end < 0) break;
      const line = rest.toString("utf8", 0, end);
      rest = rest.subarray(end + 1);
      if (line.trim() !== "") await this.#take(line);
    }
    this.#rest = this.#over ? Buffer.alloc(0) : Buffer.from(rest);
  }
}
