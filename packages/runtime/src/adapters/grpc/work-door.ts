// The Work service of a gRPC server: lets a worker in by its key and hands its stream on as plain messages.
import { status, Metadata, type Server, type ServerDuplexStream } from "@grpc/grpc-js";
import {
  createBatch,
  createOutbox,
  errorTable,
  weigh,
  workService,
  type ErrorCode,
  type RuntimeMessage,
  type WorkStream,
  type WorkerMessage,
} from "@signalbox/protocol";
import { oneLine } from "./status-text.ts";

/** An answer of `authenticate` that lets nobody in; the message says what to do next. */
export interface Refusal {
  readonly refused: { readonly code: ErrorCode; readonly message: string };
}

export interface WorkDoorOptions<Identity extends object> {
  /** Who the key belongs to. A rejection counts as "cannot tell now": the worker tries again later. */
  authenticate(key: string): Promise<Identity | Refusal>;
  /** Gets every accepted stream, once; must call `listen` before it returns or lets go of the event loop for long. */
  onConnect(stream: WorkStream<WorkerMessage, RuntimeMessage>, identity: Identity, peer: string): void;
  /** Guards against a key store that never answers. */
  authenticateMsMax?: number;
}

type Call = ServerDuplexStream<readonly WorkerMessage[], readonly RuntimeMessage[]>;

const authenticateMsMaxDefault = 10_000;
/** How long a peer that reads nothing may hold up the end of its stream. */
const flushMsMax = 2_000;
const statusCharsMax = 500;
const bearer = /^Bearer +(\S+)$/i;

/** Throws when the server has a Work service already. */
export function addWorkService<Identity extends object>(server: Server, options: WorkDoorOptions<Identity>): void {
  server.addService(workService, { connect: (call: Call) => void accept(call, options) });
}

/**
 * Nothing is read from the stream before `listen`, so that what a worker sends during authentication waits in HTTP/2's
 * flow-control window, which is its bound.
 */
async function accept<Identity extends object>(call: Call, options: WorkDoorOptions<Identity>): Promise<void> {
  const key = bearer.exec(String(call.metadata.get("authorization")[0] ?? ""))?.[1];
  // Without a listener a peer that goes away now would be an uncaught error.
  call.on("error", () => {});
  if (key === undefined) {
    end(
      call,
      status.UNAUTHENTICATED,
      "send the metadata `authorization: Bearer <key>` with a worker's key",
      "unauthenticated",
    );
    return;
  }
  const answer = await withTimeout(
    () => options.authenticate(key),
    options.authenticateMsMax ?? authenticateMsMaxDefault,
  );
  if (call.cancelled) return;
  if (answer === undefined) {
    end(call, status.UNAVAILABLE, "the key cannot be checked now: try again later", "internal");
  } else if ("refused" in answer) {
    const { code, message } = answer.refused;
    end(call, errorTable[code].grpc, message, code);
  } else {
    call.sendMetadata(new Metadata()); // tells the worker that it is let in
    const stream = workStream(call);
    try {
      options.onConnect(stream, answer, call.getPeer());
    } catch {
      stream.close("the runtime could not take the stream: try again later");
    }
  }
}

/** Undefined when the answer is an error or late. */
function withTimeout<T>(ask: () => Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    const settle = (value: T | undefined): void => {
      clearTimeout(timer);
      resolve(value);
    };
    Promise.resolve()
      .then(ask)
      .then(settle, () => settle(undefined));
  });
}

function end(call: Call, code: number, message: string, errorCode: ErrorCode): void {
  const metadata = new Metadata();
  metadata.set("signalbox-error-code", errorCode);
  call.emit("error", { code, details: oneLine(message, statusCharsMax), metadata });
}

function workStream(call: Call): WorkStream<WorkerMessage, RuntimeMessage> {
  let open = true;
  let tellClosed: (reason: string) => void = () => {};
  let closedFor: string | undefined;
  const closed = (reason: string): void => {
    open = false;
    if (closedFor !== undefined) return;
    closedFor = reason;
    tellClosed(reason);
  };
  const close = (reason: string): void => {
    if (!open) return;
    open = false;
    batch.flush();
    call.resume(); // reads on, and drops what it reads, so that the end of the stream is seen
    // UNAVAILABLE is the code for "come back"; what was sent before is written first.
    call.emit("error", { code: status.UNAVAILABLE, details: oneLine(reason, statusCharsMax) });
    const timer = setTimeout(() => call.destroy(), flushMsMax).unref();
    call.once("close", () => clearTimeout(timer));
    queueMicrotask(() => closed(reason));
  };
  const batch = createBatch<RuntimeMessage>({
    write: (messages, written) => call.write(messages, written),
    // At the end of this turn: everything that one group commit set free goes out together, and nothing waits for a timer.
    defer: (flush) => process.nextTick(flush),
    weigh,
  });
  const outbox = createOutbox<RuntimeMessage>({
    write: (message, written) => batch.add(message, written),
    overflow: close,
  });
  // A worker that leaves and a connection that breaks look alike from here: a reset stream says "end" first.
  const gone = (): void => {
    if (open) call.end();
    closed("the worker's side of the stream ended");
  };
  call.once("cancelled", gone);
  call.once("end", gone);
  return {
    send(message) {
      if (open) outbox.send(message);
    },
    close,
    listen(on) {
      tellClosed = on.closed;
      if (closedFor !== undefined) queueMicrotask(() => on.closed(closedFor ?? ""));
      else if (open) {
        call.on("data", (messages: readonly WorkerMessage[]) => {
          for (const message of messages) if (open) on.message(message);
        });
      }
    },
  };
}
