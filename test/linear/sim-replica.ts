// One replica: the whole corridor with its own memory, on a way of its own to the shared store, and one worker.
import { systemCalendar } from "../../packages/runtime/src/adapters/system/calendar.ts";
import { base64url, sha256 } from "../../packages/runtime/src/adapters/system/crypto.ts";
import { createRuntime, type Runtime } from "../../packages/runtime/src/runtime.ts";
import { FairLine } from "../../packages/runtime/src/schedule/fair-line.ts";
import { hubLimits } from "../support/hand-hub.ts";
import type { Random } from "../walk/random.ts";
import type { SimTime } from "../walk/sim-time.ts";
import type { Books } from "./books.ts";
import { SimLink, type Pace } from "./sim-link.ts";
import type { SimStore } from "./sim-store.ts";
import { SimWorkerStream, type Execution } from "./sim-worker.ts";

export interface SimWorld {
  readonly time: SimTime;
  readonly random: Random;
  readonly store: SimStore;
  readonly pace: Pace;
  readonly books: Books;
  readonly executions: Execution[];
  /** What the log tells of as an error, and no store that was away explains. */
  readonly problems: string[];
}

/** Nobody has a webhook here. */
const shut = { send: async () => ({ status: null, error: "shut" }), hostProblem: () => "shut", sign: () => "" };
const noSeal = { seal: () => "", open: () => undefined };
/** No call of these runs brings files. */
const noStore = {
  putFile: async () => Promise.reject(new Error("nothing is stored here")),
  useFile: async () => undefined,
  putPackage: async () => Promise.reject(new Error("nothing is stored here")),
  usePackage: async () => undefined,
  collect: async () => ({ files: 0, bytes: 0 }),
};

export class SimReplica {
  readonly #world: SimWorld;
  readonly #name: string;
  #starts = 0;
  #up: { readonly runtime: Runtime; readonly link: SimLink; readonly worker: SimWorkerStream } | undefined;
  #link: SimLink | undefined;

  constructor(name: string, world: SimWorld) {
    this.#name = name;
    this.#world = world;
  }

  /** Undefined: it is down, or not ready yet. */
  get runtime(): Runtime | undefined {
    return this.#up?.runtime;
  }

  get link(): SimLink | undefined {
    return this.#link;
  }

  async start(): Promise<void> {
    const { time, random, books, executions, problems } = this.#world;
    const link = new SimLink(this.#world);
    this.#link = link;
    const clock = time.clock(() => link.life.alive);
    const error = (fields: object, message: string): void => {
      const text = `${message} ${JSON.stringify(fields)}`;
      if (!text.includes("the store is away") && !text.includes("cannot write at the moment"))
        problems.push(`${this.#name}: ${text}`);
    };
    const runtime = createRuntime({
      replica: this.#name,
      version: "0.0.0",
      ledger: link.ledger(books),
      line: new FairLine(),
      clock,
      chance: { bytes: (count) => Uint8Array.from({ length: count }, () => random.below(256)) },
      hash: sha256,
      base64url,
      meters: { count: () => undefined, observe: () => undefined, text: async () => "" },
      log: { info: () => undefined, warn: () => undefined, error },
      calendar: systemCalendar(),
      limits: hubLimits,
      webhookDoor: shut,
      seal: noSeal,
      cursorSeal: noSeal,
      store: noStore,
    });
    await runtime.recover();
    if (!link.life.alive) return;
    const worker = new SimWorkerStream({
      after: (ms, run) => void time.after(ms, run),
      below: (bound) => random.below(bound),
      executions,
    });
    runtime.driver.attach(worker, { tenant: "acme", principal: "service:worker" });
    worker.begin(`${this.#name}.${++this.#starts}`);
    this.#up = { runtime, link, worker };
  }

  crash(): void {
    this.#link?.cut();
    const up = this.#up;
    this.#up = undefined;
    up?.worker.close("the replica is gone");
    up?.runtime.driver.stop();
    up?.runtime.approvals.stop();
  }
}
