// Calls that exist: read one, list them, cancel one, and a person's word on one whose end is unknown.
import { fieldFault, scanJson, SignalboxError, limits, utf8Bytes } from "@signalbox/protocol";
import { isParked, isTerminal, type Call, type CallEvent } from "../call/types.ts";
import type { Page } from "../ledger/port.ts";
import type { Asked, CallFollower, ExecutionDetail, ExecutionQuery } from "../service.ts";
import type { Batch } from "../stream/types.ts";
import { requireStillIn } from "./authenticate.ts";
import { storable, unstored, type InvokePorts } from "./invoke.ts";
import { waitKey } from "./driver.ts";
import { hasScope } from "./refusals.ts";
import type { Streams } from "./streams.ts";
import { waitAtMost } from "./waiters.ts";

/** Events of one call that `getExecution` returns at most; `listEvents` pages through all of them. */
const eventsMax = 1_000;

/** Unknown and foreign ids get the very same words, so that nobody learns what exists elsewhere. */
export function notFound(): SignalboxError {
  return new SignalboxError("execution_not_found", "there is no such execution");
}

async function rowOf(ports: InvokePorts, asked: Asked, executionId: string): Promise<Call> {
  const call = await storable(ports.ledger.getCall(asked.principal.tenant, executionId));
  if (call === undefined || !maySee(asked, call.project)) throw notFound();
  return call;
}

/** A key sees its own project; the admin key sees the tenant. */
export function maySee(asked: Asked, project: string): boolean {
  return asked.principal.scopes.has("*") || asked.principal.project === project;
}

export async function getExecution(ports: InvokePorts, asked: Asked, executionId: string): Promise<ExecutionDetail> {
  await ports.refusals.requireScope(asked.principal, "calls:read", asked.requestId);
  const stored = await rowOf(ports, asked, executionId);
  const { tenant } = asked.principal;
  const [attempts, lateResults, events] = await storable(
    Promise.all([
      ports.ledger.attempts(tenant, executionId),
      ports.ledger.lateResults(tenant, executionId),
      ports.ledger.events(tenant, executionId, 0, eventsMax),
    ]),
  );
  return { call: stored, attempts, lateResults, events };
}

export async function listEvents(
  ports: InvokePorts,
  asked: Asked,
  executionId: string,
  afterSeq: number,
  limit: number,
): Promise<readonly CallEvent[]> {
  await ports.refusals.requireScope(asked.principal, "calls:read", asked.requestId);
  await rowOf(ports, asked, executionId);
  return storable(ports.ledger.events(asked.principal.tenant, executionId, afterSeq, limit));
}

/**
 * What comes after the reader's key has ended, or its tenant was suspended, is not told: `next` says instead why.
 * @param afterSeq of the last event that the reader has; 0 = from the beginning
 */
export async function follow(
  ports: InvokePorts & { readonly streams: Streams },
  asked: Asked,
  executionId: string,
  afterSeq: number,
  answering: boolean,
): Promise<CallFollower> {
  const { principal, requestId } = asked;
  const row = await storable(ports.ledger.getCall(principal.tenant, executionId));
  // Who made a call may follow it; for those of others it takes the right to read calls.
  const own = row?.principal === principal.name && hasScope(principal, "tools:invoke");
  if (!own && !answering) await ports.refusals.requireScope(principal, "calls:read", requestId);
  if (row === undefined || !maySee(asked, row.project)) throw notFound();
  const reader = await storable(ports.streams.follow(row, afterSeq));
  const { tenant, callId } = row;
  const abandon = (): void => ports.driver.wishInPassing(tenant, callId, { type: "cancel", by: `${principal.name} (went away)` });
  const next = async (ms: number): Promise<Batch> => {
    const batch = await reader.next(ms);
    await requireStillIn(ports, asked);
    return batch;
  };
  return { ...reader, next, abandon };
}

export async function listExecutions(ports: InvokePorts, asked: Asked, query: ExecutionQuery): Promise<Page<Call>> {
  await ports.refusals.requireScope(asked.principal, "calls:read", asked.requestId);
  const { limit, cursor, status, project, tool, principal, from, to } = query;
  if (project !== undefined && !maySee(asked, project)) return { items: [], next: undefined };
  const filter = {
    tenant: asked.principal.tenant,
    ...(status === undefined ? {} : { state: status }),
    ...(tool === undefined ? {} : { tool }),
    ...(principal === undefined ? {} : { principal }),
    ...(from === undefined ? {} : { admittedFrom: from }),
    ...(to === undefined ? {} : { admittedTo: to }),
    ...projectFilter(asked, project),
  };
  return storable(ports.ledger.listCalls(filter, limit, cursor));
}

function projectFilter(asked: Asked, wanted: string | undefined): { project?: string } {
  if (asked.principal.scopes.has("*")) return wanted === undefined ? {} : { project: wanted };
  return { project: asked.principal.project };
}

/** Idempotent: a second cancel, or one after the end, changes nothing and answers with the call as it is. */
export async function cancel(
  ports: InvokePorts,
  asked: Asked,
  executionId: string,
): Promise<{ readonly call: Call; readonly stopping: boolean }> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "calls:cancel", requestId);
  const row = await rowOf(ports, asked, executionId);
  const { tenant } = principal;
  // Only the ledger may know of a parked call: another replica parked it, or its admission was stored and not heard of.
  if (isParked(row)) await storable(ports.driver.adopt(row));
  const { told, stop } = ports.driver.waiters.listen(waitKey(tenant, executionId));
  try {
    const result = await storable(ports.driver.wish(tenant, executionId, { type: "cancel", by: principal.name }));
    if (result === "elsewhere") return { call: await rowOf(ports, asked, executionId), stopping: true };
    if (result === undefined) return await settledOrParked(ports, row);
    if (!result.ok && result.reason === "cancel_in_indeterminate") throw resolveFirst(row);
    const live = ports.hub.find(tenant, executionId);
    // A call that people are asked about ends together with its approval; that is stored in a moment.
    const withApproval = !result.ok && result.reason === "through_approval";
    if (live !== undefined && !isTerminal(live.state) && !withApproval) {
      // The wish itself is stored before it is acknowledged: a crash must not lose it.
      await storable(ports.ledger.flush());
      if (ports.driver.behind) throw unstored();
      return { call: live, stopping: true };
    }
    // It ended at once; the answer waits until that is stored.
    const ended = await waitAtMost(told, limits.syncWaitMs, ports.clock, [asked.signal]);
    const call = ended ?? (await rowOf(ports, asked, executionId));
    return { call, stopping: !isTerminal(call.state) };
  } finally {
    stop();
  }
}

async function settledOrParked(ports: InvokePorts, row: Call): Promise<{ call: Call; stopping: boolean }> {
  const now = (await storable(ports.ledger.getCall(row.tenant, row.callId))) ?? row;
  if (now.state === "indeterminate") throw resolveFirst(now);
  return { call: now, stopping: !isTerminal(now.state) };
}

function resolveFirst(call: Call): SignalboxError {
  return new SignalboxError("conflict", "whether this call took effect is unknown, so it cannot be cancelled; resolve it (confirm, retry or fail)", {
    executionId: call.callId,
    details: { status: call.state },
  });
}

export async function resolve(
  ports: InvokePorts,
  asked: Asked,
  executionId: string,
  answer: { readonly verdict: "confirm" | "retry" | "fail"; readonly outputJson?: string; readonly comment?: string },
): Promise<Call> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "approvals:decide", requestId);
  const row = await rowOf(ports, asked, executionId);
  if (row.state !== "indeterminate") {
    throw new SignalboxError("conflict", `the call is ${row.state}; only an indeterminate call can be resolved`, {
      executionId,
      details: { status: row.state },
    });
  }
  const output = answer.verdict === "confirm" ? await confirmedOutput(ports, row, answer.outputJson) : null;
  const { told, stop } = ports.driver.waiters.listen(waitKey(row.tenant, executionId));
  try {
    const happening = { type: "resolve", verdict: answer.verdict, by: principal.name, comment: answer.comment ?? "", output } as const;
    const result = await storable(ports.driver.wish(row.tenant, executionId, happening));
    // Where people are asked about this end, their question closes in the same unit.
    if (result === undefined || result === "elsewhere" || (!result.ok && result.reason !== "through_approval")) {
      throw new SignalboxError("conflict", "somebody else resolved this call first", { executionId });
    }
    return (await waitAtMost(told, limits.syncWaitMs, ports.clock, [])) ?? (await rowOf(ports, asked, executionId));
  } finally {
    stop();
  }
}

/** The person's result, or the one that came too late; a confirmation without either has nothing to answer with. */
async function confirmedOutput(ports: InvokePorts, row: Call, given: string | undefined) {
  const late = given === undefined ? (await storable(ports.ledger.lateResults(row.tenant, row.callId))).findLast((one) => one.outputJson !== null) : undefined;
  const json = given ?? late?.outputJson ?? undefined;
  if (json === undefined) {
    throw new SignalboxError("invalid_input", "no late result is known for this call; give the result in 'output'", {
      executionId: row.callId,
      details: { fields: [fieldFault("/output", "required", "is required, for no late result is known")] },
    });
  }
  const { check } = await ports.catalog.factsFor(row);
  const sent = { type: "result", callId: row.callId, fence: row.fence, status: "succeeded", outputJson: json, usage: { durationMs: 0 } } as const;
  const { error } = check(row, sent, row.workerId ?? "");
  if (error !== null && given !== undefined) {
    throw new SignalboxError("invalid_input", `this is no result of ${row.tool}@${row.version}: ${error.message}`, {
      executionId: row.callId,
      details: { fields: [fieldFault("/output", "format", `must be a result of ${row.tool}@${row.version}`)], ...error.details },
    });
  }
  const bytes = utf8Bytes(json);
  if (bytes > row.resultBytesMax || !scanJson(json, { depthMax: limits.jsonDepthMax }).ok) {
    throw new SignalboxError("invalid_input", `the result is larger than ${row.resultBytesMax} bytes or nested too deep`, {
      executionId: row.callId,
    });
  }
  return { json, hash: ports.hash(json), bytes };
}
