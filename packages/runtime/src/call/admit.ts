// The first row of a call: admitted to the queue, parked for an approval, or denied for good.
import type { ErrorBody } from "@signalbox/protocol";
import { begin, done, set, settle, settleCached, tellEvent, type Change } from "./change.ts";
import type { CachedResult, EditedArgs, StepResult } from "./machine.ts";
import type { Call, CallAllowance, CallIdentity, CallProgress } from "./types.ts";

function newProgress(now: number, startTag: number): Omit<CallProgress, keyof CallAllowance> {
  return {
    state: "queued",
    routingOutcome: null,
    fence: 1,
    attempt: 1,
    placements: 0,
    mayHaveRun: false,
    effectiveArgsJson: null,
    argsEditedBy: null,
    approvalId: null,
    approval: null,
    startTag,
    notBefore: now,
    enqueuedAt: now,
    queueDeadlineAt: null,
    startDeadlineAt: null,
    provisionDeadlineAt: null,
    runDeadlineAt: null,
    leaseExpiresAt: null,
    graceDeadlineAt: null,
    dispatchedAt: null,
    startedAt: null,
    settledAt: null,
    workerId: null,
    incarnation: null,
    replica: null,
    cancelRequestedAt: null,
    cancelRequestedBy: null,
    stopReason: null,
    outputJson: null,
    outputHash: null,
    outputBytes: 0,
    outputIllFormed: false,
    error: null,
    usage: null,
    cachedFrom: null,
    eventSeq: 0,
  };
}

function born(identity: CallIdentity, now: number, startTag: number): Call {
  return { ...identity, ...newProgress(now, startTag) };
}

/** Admitted to the queue; the hub may assign it in the same commit. */
export function admit(
  identity: CallIdentity,
  now: number,
  options: { startTag: number; queueWaitMs: number; edited: EditedArgs | null },
): StepResult {
  const change = begin({ call: born(identity, now, options.startTag), lease: null }, now);
  const { edited } = options;
  set(change, { queueDeadlineAt: now + options.queueWaitMs, effectiveArgsJson: edited?.argsJson ?? null });
  tellRequested(change, identity, edited);
  tellEvent(change, "queued", { attempt: 1 });
  change.effects.push({ type: "enqueue" });
  return done(change, "commit");
}

/** Parked for people before anything else: no worker hears of it, and it holds no slot. */
export function park(
  identity: CallIdentity,
  now: number,
  options: {
    readonly startTag: number;
    readonly edited: EditedArgs | null;
    readonly approvalId: string;
    /** What the event tells of the question. */
    readonly asked: Readonly<Record<string, unknown>>;
  },
): StepResult {
  const change = begin({ call: born(identity, now, options.startTag), lease: null }, now);
  set(change, {
    state: "awaiting_approval",
    approvalId: options.approvalId,
    effectiveArgsJson: options.edited?.argsJson ?? null,
  });
  tellRequested(change, identity, options.edited);
  tellEvent(change, "approval_requested", options.asked);
  return done(change, "commit");
}

/** Answered with the result of an earlier call: nothing runs, and the row is whole all the same. */
export function answered(identity: CallIdentity, now: number, options: { readonly edited: EditedArgs | null; readonly cached: CachedResult }): StepResult {
  const change = begin({ call: born(identity, now, 0), lease: null }, now);
  set(change, { effectiveArgsJson: options.edited?.argsJson ?? null });
  tellRequested(change, identity, options.edited);
  settleCached(change, options.cached);
  return done(change, "commit");
}

/** A terminal row that keeps the hash of the arguments only, and no idempotency key. */
export function deny(identity: CallIdentity, now: number, error: ErrorBody): StepResult {
  const bare: CallIdentity = { ...identity, inputJson: null, idempotencyKey: null };
  const change = begin({ call: born(bare, now, 0), lease: null }, now);
  tellEvent(change, "requested", requestedData(identity));
  settle(change, "denied", { error, action: "call.denied" });
  return done(change, "commit");
}

function tellRequested(change: Change, identity: CallIdentity, edited: EditedArgs | null): void {
  tellEvent(change, "requested", {
    ...requestedData(identity),
    ...(edited === null ? {} : { nulls_taken_as_absent: edited.pointers }),
  });
}

function requestedData(identity: CallIdentity): Record<string, unknown> {
  return {
    tool: identity.tool,
    version: identity.version,
    input_hash: identity.inputHash,
    decision: identity.decision.outcome,
    request_id: identity.requestId,
  };
}
