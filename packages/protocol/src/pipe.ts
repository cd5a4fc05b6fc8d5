// A Work stream inside one process: two ends joined by memory, with the manners of a network stream.
import type { WorkStream } from "./work.ts";

/** Guards against an end that never listens, or never gets to run: the pipe closes rather than fill the memory. */
const queuedMessagesMax = 65_536;

interface Listener<Incoming> {
  message(message: Incoming): void;
  closed(reason: string): void;
}

/** What is on its way to one end, in order; the end's `closed` comes last and once. */
class Inbox<Incoming> {
  #queue: Incoming[] = [];
  #listener: Listener<Incoming> | undefined;
  #closedFor: string | undefined;
  #done = false;

  /** False when the inbox is full. */
  put(message: Incoming): boolean {
    if (this.#closedFor !== undefined) return true; // nobody will read it
    if (this.#queue.length >= queuedMessagesMax) return false;
    this.#queue.push(message);
    this.#wake();
    return true;
  }

  /** `flush`: what is queued still arrives first. */
  close(reason: string, flush: boolean): void {
    if (this.#closedFor !== undefined) return;
    this.#closedFor = reason;
    if (!flush) this.#queue = [];
    this.#wake();
  }

  listen(listener: Listener<Incoming>): void {
    if (this.#listener !== undefined) throw new Error("a stream is listened to once: hand its messages on from there");
    this.#listener = listener;
    for (let i = 0; i < this.#queue.length; i++) this.#wake();
    if (this.#closedFor !== undefined) this.#wake();
  }

  /** One message a microtask: a listener that throws harms no other message, and order is the order of `put`. */
  #wake(): void {
    if (this.#listener !== undefined) queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const message = this.#queue.shift();
    if (message !== undefined) {
      this.#listener?.message(message);
    } else if (this.#closedFor !== undefined && !this.#done) {
      this.#done = true;
      this.#listener?.closed(this.#closedFor);
    }
  }
}

/**
 * Two ends: [the worker's, the runtime's]. Delivery is asynchronous (by microtask) and in order. After `close` by one
 * end, what that end had sent still arrives at the other, then both ends hear `closed(reason)` once; the end that
 * closed hears no further message.
 */
export function createPipe<FromWorker, FromRuntime>(): [
  WorkStream<FromRuntime, FromWorker>,
  WorkStream<FromWorker, FromRuntime>,
] {
  const toWorker = new Inbox<FromRuntime>();
  const toRuntime = new Inbox<FromWorker>();
  return [pipeEnd(toWorker, toRuntime), pipeEnd(toRuntime, toWorker)];
}

function pipeEnd<Incoming, Outgoing>(own: Inbox<Incoming>, other: Inbox<Outgoing>): WorkStream<Incoming, Outgoing> {
  let open = true;
  const end = (reason: string): void => {
    open = false;
    own.close(reason, false);
    other.close(reason, true);
  };
  return {
    send(message) {
      if (open && !other.put(message)) end(`${queuedMessagesMax} messages wait unread at the other end`);
    },
    close: end,
    listen: (on) => own.listen(on),
  };
}
