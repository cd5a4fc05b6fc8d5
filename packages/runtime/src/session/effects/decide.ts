// The decision on one effect, by its row in the journal: do it, answer from the journal, wait, or refuse.
import type { JournalRow } from "../types.ts";
import { differingPaths, readJson, type SealedEnvelope } from "./envelope.ts";
import { EffectFailure } from "./failure.ts";
import type { EffectEnvelope, EffectOutcome } from "./types.ts";

export type Decision =
  /** Nobody is at it: claim it and do it. */
  | { readonly do: "claim" }
  | { readonly do: "answer"; readonly outcome: EffectOutcome }
  /** Another is at it, until then at most if it does not renew its claim. */
  | { readonly do: "wait"; readonly until: number }
  | { readonly do: "refuse"; readonly failure: EffectFailure };

export interface Standpoint {
  readonly now: number;
  /** Of the session's lease under which is decided. */
  readonly fence: number;
  /** Only what is recorded is answered; nothing is ever done. */
  readonly replayOnly: boolean;
}

/** The instant at which a claim runs out; a time that no number could hold is the last one. */
export function claimExpiry(now: number, claimMs: number): number {
  return Math.min(now + claimMs, Number.MAX_SAFE_INTEGER);
}

const refuse = (failure: EffectFailure): Decision => ({ do: "refuse", failure });

/** @throws EffectFailure `effect_corrupt` for a text that is no outcome, `effect_wrong_outcome` for one of another kind */
export function readOutcome(key: string, kind: string, outcomeJson: string | null): EffectOutcome {
  const read = outcomeJson === null ? undefined : readJson(outcomeJson);
  const found = read?.value;
  if (typeof found !== "object" || found === null || !("kind" in found) || typeof found.kind !== "string" || !("value" in found)) {
    throw new EffectFailure("effect_corrupt", key, `effect ${key} is completed and its recorded outcome cannot be read: restore the journal from a backup`);
  }
  return ofKind(key, kind, { kind: found.kind, value: found.value });
}

/** @throws EffectFailure `effect_wrong_outcome` */
export function ofKind(key: string, kind: string, outcome: EffectOutcome): EffectOutcome {
  if (outcome.kind === kind) return outcome;
  throw new EffectFailure("effect_wrong_outcome", key, `effect ${key} is a ${kind} and its outcome is a ${outcome.kind}: they must have one kind`);
}

function missing(key: string): Decision {
  return refuse(new EffectFailure("effect_missing", key, `effect ${key} has no recorded outcome and a strict replay does nothing new: run the turn without it`));
}

function answer(row: JournalRow, kind: string): Decision {
  try {
    return { do: "answer", outcome: readOutcome(row.key, kind, row.outcomeJson) };
  } catch (error) {
    if (error instanceof EffectFailure) return refuse(error);
    throw error;
  }
}

/** Another envelope outranks the row's state: nothing of the row is of this effect. */
function mismatch(row: JournalRow, asked: SealedEnvelope): Decision {
  const paths = differingPaths(row.envelopeJson, asked.envelopeJson);
  const where = paths.map((path) => path || "(all of it)").join(", ");
  const message = `effect ${row.key} was recorded with another envelope, which differs at ${where || "its hash alone"}: the same key must name the same effect`;
  return refuse(new EffectFailure("effect_hash_mismatch", row.key, message, { paths }));
}

export function decide(row: JournalRow | undefined, envelope: EffectEnvelope, asked: SealedEnvelope, standpoint: Standpoint): Decision {
  const { key, kind } = envelope;
  if (row === undefined) return standpoint.replayOnly ? missing(key) : { do: "claim" };
  if (row.hash !== asked.hash) return mismatch(row, asked);
  const state: string = row.state;
  if (state === "completed") return answer(row, kind);
  if (state !== "claimed") {
    return refuse(new EffectFailure("effect_corrupt", key, `effect ${key} has a status that nobody wrote: restore the journal from a backup`));
  }
  if (standpoint.replayOnly) return missing(key);
  if (row.fence > standpoint.fence) return refuse(leaseLost(key));
  const live = row.fence === standpoint.fence && standpoint.now < row.claimExpiresAt;
  return live ? { do: "wait", until: row.claimExpiresAt } : { do: "claim" };
}

export function leaseLost(key: string): EffectFailure {
  return new EffectFailure("lease_lost", key, `another took over effect ${key}: drop the session, its holder goes on with it`);
}
