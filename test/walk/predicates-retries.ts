// What must hold of retries in every trace: who may be tried again, how often, and not before when.
import { isSafe, limits } from "@signalbox/protocol";
import type { Attempt, Call, CallEvent } from "../../packages/runtime/src/call/types.ts";
import { keyOf, type SimStore } from "./sim-ledger.ts";

interface Told {
  readonly reason?: string;
  readonly not_before?: number;
  readonly delay_ms?: number;
}

const toldBy = ({ dataJson }: CallEvent): Told => JSON.parse(dataJson) as Told;

export function retryRules(store: SimStore): string[] {
  const attempts = Map.groupBy(store.attempts.values(), keyOf);
  const failures = Map.groupBy(
    store.audit.filter(({ action }) => action === "call.attempt_failed"),
    ({ callId }) => callId,
  );
  return [...store.calls.values()].flatMap((call) => {
    const events = store.events.get(keyOf(call)) ?? [];
    const retries = events.filter(({ type }) => type === "retried").map(toldBy);
    return [
      ...neverByItself(call, retries),
      ...notTooOften(call, attempts.get(keyOf(call)) ?? [], retries),
      ...notTooSoon(call, events),
      ...recorded(call, retries, failures.get(call.callId)?.length ?? 0),
    ];
  });
}

/** Only a person's word brings an unsafe call back that may have run. */
function neverByItself(call: Call, retries: readonly Told[]): string[] {
  const own = retries.filter(({ reason }) => reason !== "resolved");
  return isSafe(call.sideEffectClass) || own.length === 0 ? [] : [`${call.callId}: an unsafe call was retried by itself`];
}

function attemptsOf({ retryJson }: Call): number {
  return retryJson === null ? 1 : (JSON.parse(retryJson) as { attempts: number }).attempts;
}

/** What failed goes on only while its policy has attempts; what was lost has three in any case. */
function notTooOften(call: Call, attempts: readonly Attempt[], retries: readonly Told[]): string[] {
  const pinned = attemptsOf(call);
  const byPeople = retries.filter(({ reason }) => reason === "resolved").length;
  const last = Math.max(...attempts.map(({ attempt }) => attempt), call.attempt);
  if (last > Math.max(pinned, limits.lostAttemptsMax) + byPeople) return [`${call.callId}: ${last} attempts, where ${pinned} may be`];
  const failed = attempts.filter(({ endReason, attempt }) => (endReason === "failed" || endReason === "timed_out") && attempt >= pinned && attempt < last);
  return failed.length === 0 || byPeople > 0 ? [] : [`${call.callId}: it failed in its attempt ${failed[0]?.attempt} of ${pinned}, and was tried again`];
}

/** The instant that was told when the attempt failed is the one at which the next may begin, whatever came in between. */
function notTooSoon(call: Call, events: readonly CallEvent[]): string[] {
  let notBefore = 0;
  const broken: string[] = [];
  for (const event of events) {
    if (event.type === "retried") {
      const told = toldBy(event);
      notBefore = told.not_before ?? 0;
      if (told.delay_ms !== undefined && notBefore !== event.at + told.delay_ms) broken.push(`${call.callId}: the wait that was told is not the one that was stored`);
    }
    if (event.type === "dispatched" && event.at < notBefore) broken.push(`${call.callId}: tried again ${notBefore - event.at} ms before its instant`);
  }
  return broken;
}

function recorded(call: Call, retries: readonly Told[], records: number): string[] {
  const failed = retries.filter(({ reason }) => reason === "failed" || reason === "timed_out").length;
  return records >= failed ? [] : [`${call.callId}: ${failed} failed attempts, of which ${records} are in the audit`];
}
