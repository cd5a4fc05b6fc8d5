// What crosses the door of effects: an envelope in, an outcome out, and the port of the journal between.
import type { JournalRow } from "../types.ts";

/** Where an effect belongs. */
export interface EffectScope {
  readonly tenant: string;
  readonly sessionId: string;
  readonly turn: number;
  readonly step: number;
}

/** An effect as data. Equal envelopes are the same effect; all of it but `volatile` is hashed. */
export interface EffectEnvelope {
  readonly scope: EffectScope;
  /** What is done, e.g. `complete_model`; its outcome has the same kind. */
  readonly kind: string;
  /** On what, e.g. the model's or the tool's name. */
  readonly subject: string;
  /** The key of the effect that brought it about; null = the turn itself. */
  readonly cause: string | null;
  /** Names it in its session, and is the same on every replay. */
  readonly key: string;
  /** A JSON value. */
  readonly payload: unknown;
  /** What may differ from one try to the next. */
  readonly volatile?: Readonly<Record<string, unknown>>;
}

/** A failure of a tool or a model is an outcome like any other: data in `value`. */
export interface EffectOutcome {
  /** The kind of its envelope. */
  readonly kind: string;
  /** A JSON value. */
  readonly value: unknown;
}

/** `Beside`: writes of the caller that are kept together with the completion, or not at all. */
export interface Ran<Beside> {
  readonly outcome: EffectOutcome;
  readonly beside?: Beside;
}

/** Does the effect. `signal` aborts when the claim is lost: what is done after that is kept nowhere. */
export type RunEffect<Beside> = (signal: AbortSignal) => Promise<Ran<Beside>>;

export interface EffectController<Beside = never> {
  /**
   * Answers with the recorded outcome, or does the effect and records what came of it.
   * @throws EffectFailure when the machinery failed; nothing is recorded then
   */
  execute(envelope: EffectEnvelope, run: RunEffect<Beside>): Promise<EffectOutcome>;
}

/** Names a claim. `claimedAt` is part of it: one fence may claim an effect twice. */
export type Claim = Pick<JournalRow, "tenant" | "sessionId" | "key" | "fence" | "claimedAt">;

/** The journal of effects, as the ledger adapter needs it. Every method rejects only when the store cannot be reached. */
export interface JournalStore<Beside = never> {
  /** False: what is written does not outlive the process. */
  readonly durable: boolean;
  read(tenant: string, sessionId: string, key: string): Promise<JournalRow | undefined>;
  /** False unless the session has the row's fence, and the effect is not there, or is claimed under an older fence or by a claim that ran out at `now`. */
  claim(row: JournalRow, now: number): Promise<boolean>;
  /** False unless the claim is still this one and had not run out at `now`; else it runs until `claimExpiresAt`. */
  renew(claim: Claim, claimExpiresAt: number, now: number): Promise<boolean>;
  /** False, and nothing is written, unless the claim is still this one and had not run out at `at`. With `beside` in one unit. */
  complete(claim: Claim, at: number, outcomeJson: string, beside: Beside | undefined): Promise<boolean>;
}

export interface EffectClock {
  /** ms since 1970 */
  now(): number;
  /** Calls back once, no earlier than `ms` from now; the returned function takes it back. */
  after(ms: number, callback: () => void): () => void;
}

/** SHA-256 of UTF-8 text, as lower-case hex. */
export type EffectHash = (text: string) => string;
