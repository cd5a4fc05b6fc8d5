// The runtime's end of Work streams, played by hand: hears what a worker says and says what a script wants; for tests.
import type { Invoke, Registered, RuntimeMessage, WorkStream, WorkerMessage } from "@signalbox/protocol";

type Heard<Type extends WorkerMessage["type"]> = Extract<WorkerMessage, { readonly type: Type }>;

export const registered: Registered = {
  type: "registered",
  leaseTtlMs: 15_000,
  heartbeatMs: 5_000,
  resync: [],
  refused: [],
};

export class ScriptedRuntime {
  /** Every message so far, over all streams. */
  readonly heard: WorkerMessage[] = [];
  /** Why streams ended, in order. */
  readonly ended: string[] = [];
  readonly #waiting: { test: (message: WorkerMessage) => boolean; resolve: (message: WorkerMessage) => void }[] = [];
  readonly #unread: WorkerMessage[] = [];
  #stream: WorkStream<WorkerMessage, RuntimeMessage> | undefined;

  /** What the runtime answers to Register; keeps every lease unless the script says otherwise. */
  onRegister: (message: Heard<"register">) => Registered | undefined = () => registered;

  /** Takes a new stream; the one before is no longer spoken to. */
  accept(stream: WorkStream<WorkerMessage, RuntimeMessage>): void {
    this.#stream = stream;
    stream.listen({
      message: (message) => this.#hear(message),
      closed: (reason) => void this.ended.push(reason),
    });
  }

  say(message: RuntimeMessage): void {
    this.#stream?.send(message);
  }

  close(reason: string): void {
    this.#stream?.close(reason);
  }

  /** The next message of a type that no earlier `hear` has taken. */
  hear<Type extends WorkerMessage["type"]>(type: Type, callId?: string): Promise<Heard<Type>> {
    const test = (message: WorkerMessage): boolean =>
      message.type === type && (callId === undefined || ("callId" in message && message.callId === callId));
    return new Promise((resolve) => {
      const at = this.#unread.findIndex(test);
      if (at >= 0) resolve(this.#unread.splice(at, 1)[0] as Heard<Type>);
      else this.#waiting.push({ test, resolve: (message) => resolve(message as Heard<Type>) });
    });
  }

  #hear(message: WorkerMessage): void {
    this.heard.push(message);
    if (message.type === "register") {
      const answer = this.onRegister(message);
      if (answer !== undefined) this.say(answer);
    }
    const at = this.#waiting.findIndex(({ test }) => test(message));
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.resolve(message);
    else this.#unread.push(message);
  }
}

export function invokeOf(tool: string, more: Partial<Invoke> = {}): Invoke {
  return {
    type: "invoke",
    callId: "c1",
    fence: 1,
    attempt: 1,
    idempotencyKey: more.callId ?? "c1",
    tenant: "acme",
    project: "shop",
    principal: "user:alice",
    tool,
    version: "1.0.0",
    argsJson: "{}",
    contextJson: "{}",
    files: [],
    timeoutMs: 30_000,
    deadlineAtMs: 0,
    sideEffectClass: "read_only",
    needsGo: false,
    traceparent: "",
    ...more,
  };
}
