// What a conformance case of a shared ledger gets, and the calls that its cases put in line.
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { Wake, SharedLedger, ClaimQuery } from "../../packages/runtime/src/ledger/shared.ts";
import { dayStart, sampleCall } from "./ledger-rows.ts";

/** One store that several replicas open. */
export interface SharedStore {
  /** Another replica's ledger on the same store. */
  open(replica: string): Promise<SharedLedger>;
}

/** A case by its name; gets a fresh, empty store. */
export type SharedCase = (name: string, run: (store: SharedStore) => Promise<void>) => void;

/** The lane of every call that {@link queuedCall} makes: `platform`'s tool `echo`. */
export const echoLane = "platform\u0000echo\u00001.0.0";

export function queuedCall(callId: string, fields: Partial<Call> = {}): Call {
  return sampleCall({
    callId,
    tool: "echo",
    toolTenant: "platform",
    version: "1.0.0",
    state: "queued",
    replica: null,
    workerId: null,
    incarnation: null,
    dispatchedAt: null,
    startDeadlineAt: null,
    leaseExpiresAt: null,
    startTag: 0,
    ...fields,
  });
}

export async function putInLine(ledger: SharedLedger, ...calls: readonly Call[]): Promise<void> {
  // In one turn, so that a store may write them together; in this order all the same.
  await Promise.all(calls.map((row) => ledger.commit({ writes: [{ op: "insert_call", row }] })));
}

export function makeTenant(ledger: SharedLedger, tenant: string, weight: number): Promise<unknown> {
  const row = { tenant, weight, createdAt: dayStart, suspendedAt: null, suspendedBy: null, suspendedReason: null };
  return ledger.commit({ writes: [{ op: "insert_tenant", row }] });
}

/** @returns the calls by tenant and id, one claim after another */
export async function claimEach(ledger: SharedLedger, count: number, query: Partial<ClaimQuery> = {}): Promise<Call[]> {
  const calls: Call[] = [];
  for (let claim = 0; claim < count; claim += 1) calls.push(...(await claimOnce(ledger, { limit: 1, ...query })).calls);
  return calls;
}

export function claimOnce(ledger: SharedLedger, query: Partial<ClaimQuery> = {}) {
  return ledger.claim({ replica: "r1", lanes: [echoLane], limit: 1, now: dayStart + 1, caps: [], not: [], ...query });
}

export const idsOf = (calls: readonly Pick<Call, "callId">[]): string[] => calls.map(({ callId }) => callId);

export const beatOf = (replica: string, livesMs = 60_000) => ({ replica, grpcAddress: `${replica}:7443`, draining: false, lanes: [echoLane], livesMs });

/** Collects what a ledger hears, and waits for something of it. */
export class Ear {
  readonly heard: (Wake | { readonly type: "lost" })[] = [];
  readonly #waiting: { readonly wanted: (heard: Ear["heard"][number]) => boolean; readonly resolve: () => void }[] = [];

  constructor(ledger: SharedLedger) {
    ledger.onWake((heard) => {
      this.heard.push(heard);
      for (const { wanted, resolve } of this.#waiting) if (wanted(heard)) resolve();
    });
  }

  hears(wanted: (heard: Ear["heard"][number]) => boolean): Promise<void> {
    if (this.heard.some(wanted)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ wanted, resolve }));
  }
}
