// What a handler gets beside its arguments: who is asking, when to stop, and ways to say something while it runs.
import {
  cutText,
  limits,
  stringifyWithBigInts,
  utf8Bytes,
  wellFormed,
  wellFormedJson,
  type Invoke,
  type Output,
} from "@signalbox/protocol";
import type { WorkerInput } from "./core-types.ts";
import { ToolError } from "./failure.ts";

export interface ToolContext {
  /** Aborted when the call is to stop; the reason is a `CallStopped`. Hand it to whatever the handler waits for. */
  readonly signal: AbortSignal;
  readonly callId: string;
  /** 1 on the first try; grows only when code may have run. */
  readonly attempt: number;
  /** The same on all attempts: give it to the service that the handler writes to. */
  readonly idempotencyKey: string;
  /** After this instant nobody waits for the result; the handler is stopped. */
  readonly deadline: Date;
  /** The whole offer: tenant, project, principal, context, files, trace. */
  readonly invoke: Invoke;
  /** One line for the call's log. */
  log(line: string): void;
  /** Streams part of the output to whoever follows the call. */
  output(channel: Output["channel"], chunk: string | Uint8Array): void;
  /**
   * Resolves when the connection has room for more. A handler that writes megabytes waits for it now and then: what a
   * connection that is 8 MiB behind gets is dropped. Never rejects; without a connection there is nothing to wait for.
   */
  flushed(): Promise<void>;
  /** @param percent 0 to 100 */
  progress(percent: number, message?: string): void;
  /**
   * Emits an event that the tool's manifest declares; in a session it is told in the session's stream when the call has ended.
   * Never throws: one that is no JSON, over 256 KiB, of a type over 128 characters or not declared is dropped, which the call's log says.
   */
  emit(eventType: string, payload: unknown): void;
  /** The same for a payload that is JSON text already; its digits are kept. */
  emitJson(eventType: string, payloadJson: string): void;
  /**
   * Values of secrets that the tool's manifest declares, by name.
   * Rejects with a ToolError `secret_refused` that names what was not granted, and with `CallStopped` when the call stops.
   */
  secrets(names: readonly string[]): Promise<Readonly<Record<string, string>>>;
}

export interface SecretAnswer {
  readonly secrets: Readonly<Record<string, string>>;
  readonly refused: readonly string[];
}

/** One call in user code. */
export interface Run {
  readonly context: ToolContext;
  readonly abort: AbortController;
  /** Hands over what the runtime answered to the request under way. */
  answerSecrets(answer: SecretAnswer): void;
}

export interface RunOptions {
  readonly invoke: Invoke;
  readonly startedAtWallMs: number;
  /** Passes on to the worker's core. */
  tell(input: WorkerInput): void;
  /** Resolves when there is room for output. */
  room(): Promise<void>;
}

const utf8 = new TextEncoder();

export function createRun({ invoke, startedAtWallMs, tell, room }: RunOptions): Run {
  const { callId, fence } = invoke;
  const abort = new AbortController();
  const secrets = createSecretRequests(abort.signal, (names) => tell({ type: "secrets_wanted", callId, fence, names }));
  const output = (channel: Output["channel"], chunk: string | Uint8Array): void =>
    tell({ type: "output", callId, fence, channel, chunk: typeof chunk === "string" ? utf8.encode(chunk) : chunk });
  const runsOutAtMs = startedAtWallMs + invoke.timeoutMs;
  const emit = (eventType: string, read: () => string): void => {
    try {
      tell({ type: "emit", callId, fence, eventType: checkEventType(eventType), payloadJson: read() });
    } catch (error) {
      const type = JSON.stringify(wellFormed(eventType.slice(0, limits.nameCharsMax)).text);
      output("log", `an event of type ${type} was dropped: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return {
    abort,
    answerSecrets: secrets.answer,
    context: {
      signal: abort.signal,
      callId,
      attempt: invoke.attempt,
      idempotencyKey: invoke.idempotencyKey,
      deadline: new Date(invoke.deadlineAtMs === 0 ? runsOutAtMs : Math.min(runsOutAtMs, invoke.deadlineAtMs)),
      invoke,
      log: (line) => output("log", line),
      output,
      flushed: () => unlessStopped(room(), abort.signal),
      progress(percent, message = "") {
        const bounded = Math.min(100, Math.max(0, Number.isNaN(percent) ? 0 : percent));
        tell({ type: "progress", callId, fence, percent: bounded, message: cutText(wellFormed(message).text) });
      },
      emit: (eventType, payload) => emit(eventType, () => payloadJsonOf(payload)),
      emitJson: (eventType, payloadJson) => emit(eventType, () => checkPayload(payloadJson)),
      secrets: secrets.ask,
    },
  };
}

/** A handler that is to stop is not held up by a peer that does not read. */
function unlessStopped(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", done, { once: true });
    work.catch(() => undefined).finally(done);
  });
}

function checkEventType(eventType: string): string {
  if (eventType.length === 0 || eventType.length > limits.nameCharsMax) {
    throw new RangeError(`an event type has 1 to ${limits.nameCharsMax} characters`);
  }
  return wellFormed(eventType).text;
}

function payloadJsonOf(payload: unknown): string {
  return checkPayload(stringifyWithBigInts(payload));
}

function checkPayload(text: string): string {
  const json = wellFormedJson(text).text;
  if (utf8Bytes(json) > limits.eventPayloadBytesMax) {
    throw new RangeError(
      `an event's payload has at most ${limits.eventPayloadBytesMax} bytes: emit a reference instead`,
    );
  }
  return json;
}

interface SecretRequests {
  ask(names: readonly string[]): Promise<Readonly<Record<string, string>>>;
  answer(answer: SecretAnswer): void;
}

/** One request at a time, since an answer does not say which request it is for. */
function createSecretRequests(signal: AbortSignal, request: (names: readonly string[]) => void): SecretRequests {
  let queue: Promise<unknown> = Promise.resolve();
  let answered: ((answer: SecretAnswer) => void) | undefined;
  const askNow = (names: readonly string[]): Promise<Readonly<Record<string, string>>> =>
    new Promise((resolve, reject) => {
      const stopped = (): void => reject(signal.reason as Error); // a CallStopped, always
      if (signal.aborted) return stopped();
      signal.addEventListener("abort", stopped, { once: true });
      answered = ({ secrets, refused }) => {
        signal.removeEventListener("abort", stopped);
        if (refused.length === 0) return resolve(secrets);
        const message = `the runtime refused ${refused.join(", ")}: declare it under \`secrets\` in the tool's manifest`;
        reject(new ToolError("secret_refused", message));
      };
      request(names);
    });
  return {
    ask(names) {
      if (names.length > limits.secretNamesPerCallMax) {
        return Promise.reject(
          new RangeError(`a call asks for at most ${limits.secretNamesPerCallMax} secrets at once`),
        );
      }
      const asked = queue.then(() => askNow(names));
      queue = asked.catch(() => {});
      return asked;
    },
    answer(answer) {
      const tellAsker = answered;
      answered = undefined;
      tellAsker?.(answer);
    },
  };
}
