// The shared ledger's port over the simulator's store, as one process sees it through its connection.
import type { Ledger } from "../../packages/runtime/src/ledger/port.ts";
import type { SharedLedger } from "../../packages/runtime/src/ledger/shared.ts";
import { isCounted } from "../walk/approval-shelf.ts";
import { sessionPart } from "../walk/session-shelf-reads.ts";
import { keyOf } from "../walk/sim-ledger.ts";
import { toolReads } from "../walk/sim-rules.ts";
import { claim, claimDue, claimHeld, claimOne, queuedWith, release, statesOf } from "./shared-claims.ts";
import type { Connection, SharedStore } from "./shared-store.ts";
import type { SimProcess } from "./sim-process.ts";

export type SimReads = Pick<
  Ledger,
  "getCall" | "getCallByKey" | "attempts" | "approval" | "dueApprovals" | "nextApprovalAt" | "cachedResult" | "lateResults" | "toolVersion" | "countCalls"
>;

function readsOf(store: SharedStore, connection: Connection): SimReads {
  const { rows } = store;
  const read = <T>(look: () => T): Promise<T> => connection.ask(look, 2);
  return {
    getCall: (tenant, callId) => read(() => rows.calls.get(keyOf({ tenant, callId }))),
    getCallByKey: (tenant, project, key) =>
      read(() => [...rows.calls.values()].find((row) => row.tenant === tenant && row.project === project && row.idempotencyKey === key)),
    attempts: (tenant, callId) => read(() => rows.attemptsOf(tenant, callId)),
    approval: (tenant, approvalId) => read(() => rows.shelf.approval(tenant, approvalId)),
    dueApprovals: (until, limit) => read(() => rows.shelf.pending().filter(({ expiresAt }) => expiresAt <= until).slice(0, limit)),
    nextApprovalAt: () => read(() => rows.shelf.pending()[0]?.expiresAt),
    cachedResult: (_tenant, cacheKey, from) => read(() => rows.cachedResult(cacheKey, from)),
    lateResults: (tenant, callId) => read(() => rows.late.filter((row) => row.tenant === tenant && row.callId === callId)),
    toolVersion: (...of) => toolReads.toolVersion(...of),
    countCalls: (of) => read(() => [...rows.calls.values()].filter((call) => isCounted(of, call)).length),
  };
}

export function sharedLedgerOf(store: SharedStore, process: SimProcess, connection: Connection): SharedLedger {
  const ask = <T>(act: () => T): Promise<T> => connection.ask(act);
  const writes: Pick<Ledger, "commit" | "flush" | "probe"> = {
    commit: (unit) => connection.commit(unit),
    flush: async () => void (await connection.commit({ writes: [] })),
    probe: () => ask(() => undefined),
  };
  const shared: Omit<SharedLedger, keyof Ledger> = {
    beat: (beat) => ask(() => store.beat(beat)),
    leave: (replica) => ask(() => store.leave(replica)),
    claim: (query) => ask(() => claim(store, query)),
    claimOne: (tenant, callId, replica) => ask(() => claimOne(store, tenant, callId, replica)),
    claimDue: (query) => ask(() => claimDue(store, query)),
    claimHeld: (query) => ask(() => claimHeld(store, query)),
    release: (replica, calls) => ask(() => release(store, replica, calls)),
    queuedWith: (replica) => ask(() => queuedWith(store, replica)),
    statesOf: (calls) => ask(() => statesOf(store, calls)),
    hold: (role, replica, ms) => ask(() => store.hold(role, replica, ms)),
    wake: (wakes) => process.effect(() => store.broadcast(process, wakes)),
    onWake: (hear) => store.listen(process, hear),
  };
  const sessions = sessionPart(store.rows, (look) => connection.ask(look, 2));
  const claimSession: SharedLedger["claimSession"] = (claimed) => ask(() => store.claimSession(claimed));
  return { ...readsOf(store, connection), ...sessions, claimSession, ...writes, ...shared } as unknown as SharedLedger;
}
