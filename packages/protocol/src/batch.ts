// Gathers what one turn of the event loop says on a stream into one network message; a busy stream then costs little per word.

interface Waiting<Message> {
  readonly message: Message;
  readonly written: () => void;
}

export interface BatchOptions<Message> {
  /** Hands the messages over in order; calls `written` once the transport has taken them all. */
  write(messages: readonly Message[], written: () => void): void;
  /** Calls back soon: at the end of this turn, or of the next. */
  defer(flush: () => void): void;
  /** About the bytes of a message; large ones go alone. */
  weigh(message: Message): number;
}

/** Keeps a batch far below the transport's limit for one message, and its memory small. */
const batchBytesMax = 1024 * 1024;
const batchMessagesMax = 4_096;

export interface Batch<Message> {
  add(message: Message, written: () => void): void;
  /** Sends what has gathered; before a stream is closed. */
  flush(): void;
}

export function createBatch<Message>({ write, defer, weigh }: BatchOptions<Message>): Batch<Message> {
  let waiting: Waiting<Message>[] = [];
  let bytes = 0;
  let deferred = false;
  const flush = (): void => {
    if (waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    bytes = 0;
    write(
      batch.map(({ message }) => message),
      () => {
        for (const { written } of batch) written();
      },
    );
  };
  return {
    flush,
    add(message, written) {
      const more = weigh(message);
      if (bytes + more > batchBytesMax || waiting.length >= batchMessagesMax) flush();
      waiting.push({ message, written });
      bytes += more;
      if (deferred) return;
      deferred = true;
      defer(() => {
        deferred = false;
        flush();
      });
    },
  };
}
