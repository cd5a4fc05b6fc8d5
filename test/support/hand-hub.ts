// A hub moved by hand: the test says what workers say, what time it is, and which commits are stored; nothing is promised.
import type { ErrorBody, InFlight, Lease, RuntimeMessage, WorkerMessage } from "@signalbox/protocol";
import type { Happening } from "../../packages/runtime/src/call/machine.ts";
import type { Attempt, Call, CallIdentity } from "../../packages/runtime/src/call/types.ts";
import { Hub } from "../../packages/runtime/src/dispatch/hub.ts";
import type { Clearance, HubLimits, HubOutput, ResultCheck, ToolFacts } from "../../packages/runtime/src/dispatch/types.ts";
import type { Write } from "../../packages/runtime/src/ledger/port.ts";
import { FairLine } from "../../packages/runtime/src/schedule/fair-line.ts";
import { at0, identityOf, machineLimits } from "./calls.ts";

export const hubLimits: HubLimits = {
  ...machineLimits,
  workerSilentMs: 10_000,
  heartbeatMs: 5_000,
  heartbeatsMissedMax: 2,
  lazyWriteMs: 100,
  queueDepthPerTenantMax: 5,
  workerCapacityMax: 100,
  handlersPerWorkerMax: 3,
  workersPerTenantMax: 4,
};

/** Believes every result; the corridor's check has its own tests. */
export const believe: ResultCheck = (_call, result, workerId) => ({
  fence: result.fence,
  workerId,
  status: result.status,
  outputJson: result.outputJson ?? null,
  outputHash: result.outputJson === undefined ? null : `hash of ${result.outputJson}`,
  outputBytes: result.outputJson?.length ?? 0,
  outputIllFormed: false,
  error: result.error === undefined ? null : { code: "tool_error", message: result.error.message, type: "tool", retryable: false },
  usage: result.usage,
});

/** A tool that anybody of its tenant may run, and whose results are believed. */
export const believed: ToolFacts = { check: believe, integrity: { identities: [], imageDigests: [] } };

export interface WorkerSays {
  readonly tenant?: string;
  readonly principal?: string;
  readonly imageDigest?: string;
  readonly incarnation?: string;
  readonly capacity?: number;
  /** Tool → max concurrency, all of version 1.0.0. */
  readonly tools?: Readonly<Record<string, number>>;
  readonly inFlight?: readonly InFlight[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly backends?: readonly string[];
  readonly freeMemoryBytes?: number;
}

type Commit = Extract<HubOutput, { type: "commit" }>;

export class HandHub {
  now = at0;
  readonly hub: Hub;
  /** Units that are not stored yet, in order. */
  commits: Commit[] = [];
  #sent: { readonly session: number; readonly message: RuntimeMessage }[] = [];
  #orders: HubOutput[] = [];
  #sessions = 0;
  /** What a look at a waiting call finds; null = the test answers by itself. */
  look: (() => Clearance | { readonly error: ErrorBody }) | null = () => this.clearance();

  /** @param upForMs how long this replica has been up; under 15 s it still waits for workers to return */
  constructor(limits: Partial<HubLimits> = {}, upForMs = 15_000) {
    this.hub = new Hub("r1", { ...hubLimits, ...limits }, new FairLine(), at0 - upForMs);
  }

  /** Good for as long as nothing changes. */
  clearance(): Clearance {
    return { epoch: this.hub.epoch, until: Number.POSITIVE_INFINITY };
  }

  gather(): void {
    for (let orders = this.hub.take(); orders.length > 0; orders = this.hub.take()) this.#sort(orders);
  }

  #sort(orders: readonly HubOutput[]): void {
    for (const order of orders) {
      if (order.type === "recheck" && this.look !== null) {
        this.hub.cleared(order.call.tenant, order.call.callId, this.look(), this.now);
      } else if (order.type === "vet") continue;
      else if (order.type === "commit") this.commits.push(order);
      else if (order.type === "send") this.#sent.push(order);
      else this.#orders.push(order);
    }
  }

  /** What was sent to this worker since the last look, in short words: `invoke c1#1`, `cancel c1#1 lost`. */
  sent(session: number): string[] {
    return this.messages(session).map(inWords);
  }

  messages(session: number): RuntimeMessage[] {
    this.gather();
    const mine = this.#sent.filter((one) => one.session === session);
    this.#sent = this.#sent.filter((one) => one.session !== session);
    return mine.map(({ message }) => message);
  }

  /** Other orders of a type since the last look. */
  orders<T extends HubOutput["type"]>(type: T): Extract<HubOutput, { type: T }>[] {
    this.gather();
    const found = this.#orders.filter((order): order is Extract<HubOutput, { type: T }> => order.type === type);
    this.#orders = this.#orders.filter((order) => order.type !== type);
    return found;
  }

  /** Everything handed to the ledger so far is stored, and what that brings about too. */
  store(): void {
    for (this.gather(); this.commits.length > 0; this.gather()) this.storeNext();
  }

  storeNext(): Commit {
    this.gather();
    const commit = this.commits.shift();
    if (commit === undefined) throw new Error("nothing waits for the ledger");
    this.hub.stored(commit.ticket, this.now);
    return commit;
  }

  /** Time goes on, and the hub looks at what has become due on the way. */
  pass(ms: number): void {
    const until = this.now + ms;
    for (let at = this.hub.nextDueAt(); at <= until; at = this.hub.nextDueAt()) {
      this.now = Math.max(this.now, at);
      this.hub.due(this.now);
    }
    this.now = until;
  }

  admit(callId: string, changes: Partial<CallIdentity> = {}, facts: ToolFacts = believed): number {
    const identity = identityOf({ callId, admittedAt: this.now, ...changes });
    return this.hub.admit({ identity, edited: null, facts, clearance: this.clearance() }, this.now);
  }

  /** Admitted as a call that people are asked about, under `apr_1`. */
  park(callId: string, changes: Partial<CallIdentity> = {}): number {
    const identity = identityOf({ callId, admittedAt: this.now, ...changes });
    const question = { approvalId: "apr_1", asked: { approval_id: "apr_1" } };
    return this.hub.park({ identity, edited: null, facts: believed, clearance: this.clearance(), ...question }, this.now);
  }

  /** What comes of the approval, with nothing beside it in the unit. */
  decide(callId: string, happening: Happening, clearance: Clearance = this.clearance()) {
    return this.hub.decide("acme", callId, happening, { guards: [], writes: [] }, clearance, this.now);
  }

  connect(workerId: string, says: WorkerSays = {}): number {
    const session = ++this.#sessions;
    this.hub.connect(session, { tenant: says.tenant ?? "acme", principal: says.principal ?? "service:worker" }, this.now);
    this.say(session, register(workerId, says));
    return session;
  }

  say(session: number, message: WorkerMessage): void {
    this.hub.message(session, message, this.now);
  }

  beat(session: number, ...inFlight: readonly InFlight[]): void {
    this.say(session, { type: "heartbeat", load: 0, inFlight });
  }

  happen(callId: string, happening: Happening): void {
    this.hub.happen("acme", callId, happening, this.now);
  }

  call(callId: string, tenant = "acme"): Call {
    const call = this.hub.find(tenant, callId);
    if (call === undefined) throw new Error(`${callId} is not in memory`);
    return call;
  }

  /** The attempts of a call as the stored units tell them; the first lease alone is known to most tests. */
  attempts(callId: string): Attempt[] {
    const { tenant, fence, attempt, workerId, incarnation, replica, dispatchedAt } = this.call(callId);
    const ended = { acceptedAt: null, startedAt: null, endedAt: null, endReason: null, error: null, usage: null };
    if (workerId === null || incarnation === null || replica === null || dispatchedAt === null) return [];
    return [{ tenant, callId, fence, attempt, workerId, incarnation, replica, dispatchedAt, ...ended }];
  }

  restore(row: Call): void {
    this.hub.restore(row, believed, this.now);
  }
}

export function register(workerId: string, says: WorkerSays = {}): Extract<WorkerMessage, { type: "register" }> {
  const tools = says.tools ?? { pay: 100 };
  return {
    type: "register",
    workerId,
    incarnation: says.incarnation ?? "i1",
    imageDigest: says.imageDigest ?? "",
    pool: "",
    labels: says.labels ?? {},
    handlers: Object.entries(tools).map(([tool, maxConcurrency]) => ({ tool, version: "1.0.0", maxConcurrency, descriptorHash: "" })),
    backends: says.backends ?? [],
    capacity: says.capacity ?? 10,
    inFlight: says.inFlight ?? [],
    ...(says.freeMemoryBytes === undefined ? {} : { freeMemoryBytes: says.freeMemoryBytes }),
  };
}

export const lease = (callId: string, fence = 1): Lease => ({ callId, fence });
export const accepted = (callId: string, fence = 1): WorkerMessage => ({ type: "accepted", callId, fence });
export const started = (callId: string, fence = 1): WorkerMessage => ({ type: "started", callId, fence });
export const nack = (callId: string, fence = 1): WorkerMessage => ({ type: "nack", callId, fence, reason: "retry_elsewhere", code: "busy", message: "" });
export const result = (callId: string, fence = 1, outputJson = '"done"'): Extract<WorkerMessage, { type: "result" }> => ({
  type: "result",
  callId,
  fence,
  status: "succeeded",
  outputJson,
  usage: { durationMs: 1 },
});
export const holds = (callId: string, state: InFlight["state"], fence = 1): InFlight => ({ callId, fence, state });

export function inWords(message: RuntimeMessage): string {
  if (!("callId" in message)) return message.type;
  const verdict = message.type === "cancel" ? ` ${message.reason}` : message.type === "result_ack" ? ` ${message.verdict}` : "";
  return `${message.type} ${message.callId}#${message.fence}${verdict}`;
}

/** A unit in short words: `insert_call dispatched`, `append_event queued`. */
export function unitWords(writes: readonly Write[]): string[] {
  return writes.map((write) => {
    if (write.op === "insert_call") return `insert_call ${write.row.state}`;
    if (write.op === "update_call") return `update_call ${write.expect.state}#${write.expect.fence} → ${write.row.state}#${write.row.fence}`;
    return write.op === "append_event" ? `append_event ${write.event.type}` : write.op;
  });
}
