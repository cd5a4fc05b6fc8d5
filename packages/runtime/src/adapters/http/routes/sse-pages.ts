// The pages of an answer that is a stream of events: a greeting, then whatever comes, until the end, a fault, or the reader's leaving.
import { errorTable, SignalboxError } from "@signalbox/protocol";
import { sseAlive, sseHello } from "../../../stream/sse.ts";

export const eventStreamType = "text/event-stream; charset=utf-8";

export interface SsePages {
  /** Waits for what is new, at most as long as the stream may be silent; an empty text: nothing came. */
  read(): Promise<{ readonly text: string; readonly finished: boolean }>;
  /** Once. @param finished false where the reader went away before the end */
  close(finished: boolean): void;
}

/**
 * Not a generator: one that was never asked for anything hears nothing of its reader's leaving, and one that waits
 * hears of it only after its wait.
 */
export function ssePages({ read, close: onClose }: SsePages): AsyncIterable<string> {
  let greeted = false;
  let finished = false;
  let closed = false;
  const close = (): void => {
    if (closed) return;
    closed = true;
    onClose(finished);
  };
  const over = { done: true, value: undefined } as const;
  const pages: AsyncIterator<string> = {
    async next() {
      if (closed) return over;
      if (finished) {
        close();
        return over;
      }
      if (!greeted) {
        greeted = true;
        return { done: false, value: sseHello };
      }
      try {
        const page = await read();
        ({ finished } = page);
        return { done: false, value: page.text === "" ? sseAlive : page.text };
      } catch (error) {
        // Whether the trouble is ours or the reader's key has ended: it cancels nobody's call.
        finished = true;
        close();
        // Who comes back is told why.
        if (error instanceof SignalboxError && errorTable[error.code].http < 500) return over;
        throw error;
      }
    },
    async return() {
      close();
      return over;
    },
  };
  return { [Symbol.asyncIterator]: () => pages };
}
