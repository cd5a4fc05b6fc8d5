// The runtime's end of a Work stream in a test's hands: what was sent is kept, and the test speaks as the worker.
import type { RuntimeMessage, WorkStream, WorkerMessage } from "@signalbox/protocol";
import { inWords } from "./hand-hub.ts";

export class HandStream implements WorkStream<WorkerMessage, RuntimeMessage> {
  readonly sent: RuntimeMessage[] = [];
  closedFor: string | undefined;
  #on: { message(message: WorkerMessage): void; closed(reason: string): void } | undefined;

  send(message: RuntimeMessage): void {
    this.sent.push(message);
  }

  close(reason: string): void {
    if (this.closedFor !== undefined) return;
    this.closedFor = reason;
    this.#on?.closed(reason);
  }

  listen(on: { message(message: WorkerMessage): void; closed(reason: string): void }): void {
    this.#on = on;
  }

  say(message: WorkerMessage): void {
    this.#on?.message(message);
  }

  /** What was sent, in short words: `invoke exec_1#1`. */
  words(): string[] {
    return this.sent.map(inWords);
  }

  /** The newest message of a type that was sent and not looked at yet; takes nothing away. */
  last<T extends RuntimeMessage["type"]>(type: T): Extract<RuntimeMessage, { type: T }> | undefined {
    return this.sent.findLast((message): message is Extract<RuntimeMessage, { type: T }> => message.type === type);
  }
}
