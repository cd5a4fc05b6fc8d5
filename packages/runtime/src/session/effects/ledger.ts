// Effects with a journal: claimed under the session's fence, done once, recorded with what belongs to them, and answered from the record.
import { canonicalJson } from "@signalbox/protocol";
import type { JournalRow } from "../types.ts";
import { claimExpiry, decide, leaseLost, ofKind, readOutcome } from "./decide.ts";
import { sealed, type SealedEnvelope } from "./envelope.ts";
import { EffectFailure } from "./failure.ts";
import { keepClaim } from "./renewal.ts";
import type { Claim, EffectClock, EffectController, EffectEnvelope, EffectHash, EffectOutcome, JournalStore, RunEffect } from "./types.ts";

export interface LedgerEffectsOptions<Beside> {
  readonly store: JournalStore<Beside>;
  readonly clock: EffectClock;
  readonly hash: EffectHash;
  /** Of the session's lease. */
  readonly fence: number;
  /** How long a claim runs unless it is renewed; it is, three times in that while. */
  readonly claimMs: number;
  /** How often the claim of another is looked at. */
  readonly pollMs: number;
  /** How long another is waited for at most. */
  readonly waitMsMax: number;
  /** Only what is recorded is answered; nothing is ever done. */
  readonly replayOnly?: boolean;
}

export class LedgerEffects<Beside = never> implements EffectController<Beside> {
  readonly #options: LedgerEffectsOptions<Beside>;
  /** Claims under which nothing runs any more, since what ran threw: they are gone on with, where a stranger would have to wait. */
  readonly #idle = new Map<string, JournalRow>();

  /** @throws EffectFailure `effect_not_durable` for a store that forgets */
  constructor(options: LedgerEffectsOptions<Beside>) {
    if (!options.store.durable) {
      throw new EffectFailure("effect_not_durable", "", "the journal would not outlive the process: use a durable store, or effects without a journal");
    }
    this.#options = options;
  }

  /** @param held a claim of this very effect that was stored with the completion of the one before it */
  async execute(envelope: EffectEnvelope, run: RunEffect<Beside>, held?: JournalRow): Promise<EffectOutcome> {
    const asked = sealed(envelope, this.#options.hash);
    const { clock, fence, pollMs, waitMsMax, replayOnly = false, store } = this.#options;
    if (held?.key === envelope.key && held.hash === asked.hash && held.fence === fence && clock.now() < held.claimExpiresAt && !replayOnly) return this.#perform(held, envelope, run);
    const { tenant, sessionId } = envelope.scope;
    const giveUpAt = clock.now() + waitMsMax;
    for (;;) {
      const row = await store.read(tenant, sessionId, envelope.key);
      const now = clock.now();
      const decision = decide(row, envelope, asked, { now, fence, replayOnly });
      if (decision.do === "refuse") throw decision.failure;
      if (decision.do === "answer") return decision.outcome;
      const claimed = decision.do === "claim" ? await this.#claim(envelope, asked, now) : await this.#takeIdle(row, now);
      if (claimed !== undefined) return this.#perform(claimed, envelope, run);
      if (now >= giveUpAt) {
        throw new EffectFailure("effect_busy", envelope.key, `another has been at effect ${envelope.key} for more than ${waitMsMax} ms: try again later`);
      }
      await this.#pause(Math.max(1, Math.min(pollMs, giveUpAt - now, decision.do === "wait" ? decision.until - now : pollMs)));
    }
  }

  async #claim(envelope: EffectEnvelope, asked: SealedEnvelope, now: number): Promise<JournalRow | undefined> {
    const row = claimRow(envelope, asked, { ...this.#options, now });
    return (await this.#options.store.claim(row, now)) ? row : undefined;
  }

  async #takeIdle(row: JournalRow | undefined, now: number): Promise<JournalRow | undefined> {
    const idle = row && this.#idle.get(nameOf(row));
    if (row === undefined || idle?.fence !== row.fence || idle.claimedAt !== row.claimedAt) return undefined;
    this.#idle.delete(nameOf(row));
    const claimExpiresAt = claimExpiry(now, this.#options.claimMs);
    return (await this.#options.store.renew(row, claimExpiresAt, now)) ? { ...row, claimExpiresAt } : undefined;
  }

  async #perform(claimed: JournalRow, envelope: EffectEnvelope, run: RunEffect<Beside>): Promise<EffectOutcome> {
    const { store, clock, claimMs } = this.#options;
    const kept = keepClaim(claimed, { store, clock, claimMs });
    try {
      const { outcome, beside } = await Promise.race([run(kept.signal), kept.lost]);
      // From here on the completion's own guard says whose the effect is.
      kept.release();
      return await this.#complete(claimed, envelope, ofKind(envelope.key, envelope.kind, outcome), beside, kept.expiresAt());
    } catch (error) {
      if (!kept.signal.aborted) this.#idle.set(nameOf(claimed), claimed);
      throw error;
    } finally {
      kept.release();
    }
  }

  async #complete(claim: Claim, { key }: EffectEnvelope, outcome: EffectOutcome, beside: Beside | undefined, expiresAt: number): Promise<EffectOutcome> {
    const { store, clock } = this.#options;
    const outcomeJson = textOf(outcome, key);
    const at = clock.now();
    if (at >= expiresAt || !(await store.complete(claim, at, outcomeJson, beside))) throw leaseLost(key);
    // What is answered now is what every replay answers with.
    return readOutcome(key, outcome.kind, outcomeJson);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(ms, resolve));
  }
}

interface Claiming {
  readonly fence: number;
  readonly claimMs: number;
  readonly now: number;
}

function claimRow(envelope: EffectEnvelope, { envelopeJson, hash }: SealedEnvelope, { fence, claimMs, now }: Claiming): JournalRow {
  const { tenant, sessionId } = envelope.scope;
  const { key, kind } = envelope;
  return { tenant, sessionId, key, kind, hash, envelopeJson, state: "claimed", fence, claimedAt: now, claimExpiresAt: claimExpiry(now, claimMs), completedAt: null, outcomeJson: null };
}

/** The claim of an effect that is next, for the unit that completes the one before it. @throws EffectFailure `effect_unserializable` */
export function claimOf(envelope: EffectEnvelope, hash: EffectHash, claiming: Claiming): JournalRow {
  return claimRow(envelope, sealed(envelope, hash), claiming);
}

const nameOf = ({ tenant, sessionId, key }: Pick<JournalRow, "tenant" | "sessionId" | "key">): string => JSON.stringify([tenant, sessionId, key]);

function textOf({ kind, value }: EffectOutcome, key: string): string {
  try {
    return `{"kind":${canonicalJson(kind)},"value":${canonicalJson(value)}}`;
  } catch (cause) {
    throw new EffectFailure("effect_unserializable", key, `the outcome of effect ${key} is no JSON value: answer with plain data`, { cause });
  }
}
