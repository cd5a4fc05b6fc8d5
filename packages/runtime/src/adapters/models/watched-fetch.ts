// The way to a provider under watch: how long it is silent, how much it says, and how it ends.
import type { Clock } from "../../corridor/ports.ts";
import { retryAfterMs } from "./failures.ts";
import { modelBounds } from "./bounds.ts";

export interface WatchOptions {
  readonly clock: Pick<Clock, "after" | "now">;
  /** Until headers come. */
  readonly timeoutMs: number;
  /** Between two chunks of a body. */
  readonly idleMs: number;
  readonly onSilence: () => void;
  readonly onTooLarge: () => void;
}

export interface Watched {
  readonly fetch: typeof globalThis.fetch;
  /** An event stream had been promised. */
  streamed(): boolean;
  /** Ends the watch; no timer is left. */
  close(): void;
  /** The last body ended in the middle of a line. */
  endedInside(): boolean;
}

const lineFeed = 10;
const carriageReturn = 13;

export function watchFetch({ clock, timeoutMs, idleMs, onSilence, onTooLarge }: WatchOptions): Watched {
  let quiet = (): void => undefined;
  let [bytes, last, streamed, closed] = [0, lineFeed, false, false];
  const listen = (ms: number): void => {
    quiet();
    if (!closed) quiet = clock.after(ms, onSilence);
  };
  const through = (): TransformStream<Uint8Array, Uint8Array> =>
    new TransformStream({
      transform(chunk, controller) {
        listen(idleMs);
        bytes += chunk.byteLength;
        last = chunk.at(-1) ?? last;
        if (bytes > modelBounds.answerBytesMax) onTooLarge();
        else controller.enqueue(chunk);
      },
      flush: () => quiet(),
    });
  return {
    async fetch(input, init) {
      listen(timeoutMs);
      try {
        const response = await fetch(input, init);
        streamed = response.headers.get("content-type")?.includes("text/event-stream") === true;
        listen(idleMs);
        return watched(response, through, clock.now());
      } catch (error) {
        quiet();
        throw error;
      }
    },
    streamed: () => streamed,
    close() {
      closed = true;
      quiet();
    },
    endedInside: () => last !== lineFeed && last !== carriageReturn,
  };
}

/** The libraries wait as long as they are asked to, hours if need be; a long wait is the turn's business, not theirs. */
function watched(response: Response, through: () => TransformStream<Uint8Array, Uint8Array>, now: number): Response {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  if ((retryAfterMs(headers, now) ?? 0) > modelBounds.retryWaitMsMax) headers.set("x-should-retry", "false");
  const body = response.body === null ? null : response.body.pipeThrough(through());
  return new Response(body, { status, statusText, headers });
}
