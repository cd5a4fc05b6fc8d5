// What the driver is given: the hub, the ledger, whom it asks, and where replicas share the ledger, whom it tells.
import type { ErrorBody, Register } from "@signalbox/protocol";
import type { Happening } from "../call/machine.ts";
import type { Call, RoutingOutcome } from "../call/types.ts";
import type { Hub } from "../dispatch/hub.ts";
import type { Cleared, HubOutput, ResultCheck, ToolFacts, WorkerIdentity } from "../dispatch/types.ts";
import type { Ledger } from "../ledger/port.ts";
import type { Clock, Log, Meters } from "./ports.ts";

export interface DriverPorts {
  readonly hub: Hub;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly log: Log;
  /** What must be known of the tool of a call that may not be in memory any more. */
  factsFor(call: Call): Promise<ToolFacts>;
  readonly consult: Consult;
}

/** Whom the driver asks what the hub cannot know: rules, grants, approvals, and who may run a tool. */
export interface Consult {
  /** Whether a call that has waited may start. Rejects when that cannot be found out. */
  recheck(call: Call): Promise<Cleared | { readonly error: ErrorBody }>;
  /** Ends the approval of a call together with what happened to the call. */
  endApproval(call: Call, happening: Happening): Promise<void>;
  trigger(call: Call, outcome: RoutingOutcome): Promise<void>;
  /** What a call tells while it runs; that a worker has it; its end or its park, once that is stored. */
  said(call: Call, message: Extract<HubOutput, { type: "said" }>["message"]): void;
  given(tenant: string, callId: string): void;
  told(call: Call): void;
  /** The handlers that this worker may not run, each written down. */
  vet(offer: Vetting): Promise<readonly { readonly tool: string; readonly version: string }[]>;
}

export type Vetting = Extract<HubOutput, { type: "vet" }>;

/** Told by the driver of a replica that shares its ledger. */
export interface Companions {
  /** A call waits and is with nobody. */
  queued(lane: string, notBefore: number): void;
  /** These are to be with nobody again. */
  release(calls: readonly { readonly tenant: string; readonly callId: string }[]): void;
  /** It ended or parked, and that is stored. */
  told(call: Call): void;
  /** Before a worker's register is heard: what it holds under leases is here from now on. False: it could not be taken over. Never rejects. */
  arriving(identity: WorkerIdentity, register: Register): Promise<boolean>;
  /** An open call that is not in memory is wanted there; it comes, unless another living replica works on it. @returns its row */
  reach(tenant: string, callId: string): Promise<Call | undefined>;
  /** This row was changed here and is another replica's. */
  touched(row: Call): void;
  /** The call left memory before its end: another replica goes on with it. */
  gone(tenant: string, callId: string): void;
  /** Workers may have room. */
  room(): void;
}

const noCheck: ResultCheck = (_call, result, workerId) => ({
  fence: result.fence,
  workerId,
  status: result.status,
  outputJson: null,
  outputHash: null,
  outputBytes: 0,
  outputIllFormed: false,
  error: null,
  usage: result.usage,
});

export const noFacts: ToolFacts = { check: noCheck, integrity: { identities: [], imageDigests: [] } };
