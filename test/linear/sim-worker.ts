// A worker that does what it is told, and writes down each time it runs something.
import type { RuntimeMessage, WorkerMessage, WorkStream } from "@signalbox/protocol";
import { register } from "../support/hand-hub.ts";

export interface Execution {
  readonly callId: string;
  readonly argsJson: string;
}

export interface WorkerWorld {
  after(ms: number, run: () => void): void;
  below(bound: number): number;
  readonly executions: Execution[];
}

type Listener = Parameters<WorkStream<WorkerMessage, RuntimeMessage>["listen"]>[0];

const heartbeatMs = 5_000;

/** The runtime's end of a worker's stream. */
export class SimWorkerStream implements WorkStream<WorkerMessage, RuntimeMessage> {
  readonly #world: WorkerWorld;
  readonly #invoked = new Map<string, string>();
  #on: Listener | undefined;
  #open = true;

  constructor(world: WorkerWorld) {
    this.#world = world;
  }

  listen(on: Listener): void {
    this.#on = on;
  }

  begin(workerId: string): void {
    this.#say(register(workerId, { incarnation: workerId, tools: { pay: 10 } }));
    this.#beat();
  }

  close(reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#on?.closed(reason);
  }

  send(message: RuntimeMessage): void {
    if (message.type === "invoke") {
      const { callId, fence, argsJson } = message;
      this.#invoked.set(`${callId}#${fence}`, argsJson);
      this.#later(() => this.#say({ type: "accepted", callId, fence }));
    } else if (message.type === "go") {
      const { callId, fence } = message;
      const argsJson = this.#invoked.get(`${callId}#${fence}`);
      if (argsJson !== undefined) this.#later(() => this.#run(callId, fence, argsJson));
    }
  }

  #run(callId: string, fence: number, argsJson: string): void {
    this.#world.executions.push({ callId, argsJson });
    this.#say({ type: "started", callId, fence });
    this.#later(() =>
      this.#say({ type: "result", callId, fence, status: "succeeded", outputJson: '"paid"', usage: { durationMs: 1 } }),
    );
  }

  #beat(): void {
    this.#world.after(heartbeatMs, () => {
      if (!this.#open) return;
      this.#say({ type: "heartbeat", load: 0, inFlight: [] });
      this.#beat();
    });
  }

  #later(run: () => void): void {
    this.#world.after(this.#world.below(20), () => {
      if (this.#open) run();
    });
  }

  #say(message: WorkerMessage): void {
    if (this.#open) this.#on?.message(message);
  }
}
