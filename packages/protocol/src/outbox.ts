// The one writer of a network stream: counts what waits to be written and says when the other side reads too slowly.
import type { FromRuntime } from "./codec.ts";
import type { WorkerMessage } from "./work.ts";

/** A peer this far behind gets no output any more; control messages still pass. The gap in `seq` shows it. */
const queuedOutputBytesMax = 8 * 1024 * 1024;
/** A peer this far behind is given up: it may come back within the lease and find its calls. */
const queuedBytesMax = 64 * 1024 * 1024;
const queuedMessagesMax = 65_536;
/** Below this there is room for more output: far from the bound, and enough to keep the network busy. */
const roomyBytesMax = 1024 * 1024;
/** What a message takes beside its payload. */
const overheadBytes = 256;

export interface OutboxOptions<Message> {
  /** Hands one message to the transport, which keeps the order and calls `written` once it has taken the message over. */
  write(message: Message, written: () => void): void;
  /** Called once; the stream is to be closed. */
  overflow(reason: string): void;
}

export interface Outbox<Message> {
  send(message: Message): void;
  /** Resolves when there is room for output, at once where there is. Never rejects. */
  room(): Promise<void>;
  /** The stream has ended: nobody waits for room any more. */
  end(): void;
}

export function createOutbox<Message extends WorkerMessage | FromRuntime>(
  options: OutboxOptions<Message>,
): Outbox<Message> {
  let queuedBytes = 0;
  let queuedMessages = 0;
  let overflown = false;
  let ended = false;
  let waiting: (() => void)[] = [];
  const letIn = (): void => {
    const all = waiting;
    waiting = [];
    for (const resolve of all) resolve();
  };
  return {
    room: () =>
      ended || queuedBytes <= roomyBytesMax ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve)),
    end() {
      ended = true;
      letIn();
    },
    send(message) {
      if (overflown) return;
      const bytes = weigh(message);
      if (isOutput(message) && queuedBytes + bytes > queuedOutputBytesMax) return;
      if (queuedBytes + bytes > queuedBytesMax || queuedMessages >= queuedMessagesMax) {
        overflown = true;
        options.overflow(
          `the other side reads too slowly: ${queuedMessages} messages of about ${queuedBytes} bytes wait`,
        );
        return;
      }
      queuedBytes += bytes;
      queuedMessages += 1;
      options.write(message, () => {
        queuedBytes -= bytes;
        queuedMessages -= 1;
        if (queuedBytes <= roomyBytesMax) letIn();
      });
    },
  };
}

function isOutput(message: WorkerMessage | FromRuntime): boolean {
  return message.type === "output" || message.type === "progress";
}

/** About the bytes a message holds in memory; text counts one byte a character. */
export function weigh(message: WorkerMessage | FromRuntime): number {
  switch (message.type) {
    case "output":
      return overheadBytes + message.chunk.length;
    case "emit":
      return overheadBytes + message.payloadJson.length;
    case "result":
      return overheadBytes + (message.outputJson?.length ?? 0) + (message.error?.message.length ?? 0);
    case "invoke":
      return overheadBytes + message.argsJson.length + message.contextJson.length;
    case "register":
    case "heartbeat":
      return overheadBytes * (1 + message.inFlight.length);
    case "registered":
      return overheadBytes * (1 + message.resync.length);
    default:
      return overheadBytes;
  }
}
