// What the conformance kit needs of whoever runs it, and how a case says that something is wrong.
import { canonicalJson } from "@signalbox/protocol";
import type { JournalRow } from "../../types.ts";
import { sealed } from "../envelope.ts";
import { EffectFailure } from "../failure.ts";
import type { EffectClock, EffectController, EffectEnvelope, EffectHash, EffectOutcome, Ran, RunEffect } from "../types.ts";

/** One effect controller on a clock by hand. `Beside` is the caller's own kind of writes. */
export interface EffectWorld<Beside> {
  readonly clock: EffectClock;
  /** A controller of the session's present holder; each one is an owner of its own. */
  owner(): EffectController<Beside>;
  /** Lets time go by and ring what is due. */
  pass(ms: number): Promise<void>;
  /** Undefined for effects that remember nothing. */
  readonly journal?: JournalWorld<Beside>;
}

/** The journal behind it. Its session is tenant `acme`, `sess_1`. */
export interface JournalWorld<Beside> {
  readonly hash: EffectHash;
  /** How long a claim runs without renewal. */
  readonly claimMs: number;
  /** The fence of the session's present holder. */
  fence(): number;
  /** Another takes the session: a higher fence, which all later owners have. Those from before keep theirs. */
  takeOver(): void;
  /** An owner that only replays. */
  strictOwner(): EffectController<Beside>;
  /** Makes an owner on a store that does not outlive the process; must throw. */
  forgetfulOwner(): EffectController<Beside>;
  /** Time goes by and rings nothing, as for a process that was stopped. */
  freeze(ms: number): void;
  /** Puts a row there behind everybody's back. */
  plant(row: JournalRow): Promise<void>;
  rows(): Promise<readonly JournalRow[]>;
  /** Writes of the caller that can be told from one another. */
  mark(text: string): Beside;
  /** The marks that were kept, in order. */
  marks(): Promise<readonly string[]>;
}

export type MakeEffectWorld<Beside> = () => Promise<EffectWorld<Beside>> | EffectWorld<Beside>;

export interface EffectCase {
  /** E.g. `D8`; several cases may have one. */
  readonly id: string;
  readonly name: string;
  /** `journal`: it asks more than effects that remember nothing can give. */
  readonly needs: "nothing" | "journal";
  /** Rejects with a KitError that says what was wrong. One that never ends has failed too: run it under a time limit. */
  run<Beside>(make: MakeEffectWorld<Beside>): Promise<void>;
}

export class KitError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "KitError";
  }
}

export function demand(holds: boolean, what: string): asserts holds {
  if (!holds) throw new KitError(what);
}

/** Both as JSON values. */
export function same(found: unknown, expected: unknown, what: string): void {
  const [one, other] = [canonicalJson(found ?? null), canonicalJson(expected ?? null)];
  demand(one === other, `${what}: expected ${other}, found ${one}`);
}

export async function failsWith(code: string, promise: Promise<unknown>): Promise<EffectFailure> {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof EffectFailure)) throw new KitError(`expected an EffectFailure ${code}, found ${String(error)}`);
    demand(error.code === code, `expected the code ${code}, found ${error.code}: ${error.message}`);
    return error;
  }
  throw new KitError(`expected the code ${code}, and it went well`);
}

export async function journalOf<Beside>(make: MakeEffectWorld<Beside>): Promise<EffectWorld<Beside> & { readonly journal: JournalWorld<Beside> }> {
  const world = await make();
  const { journal } = world;
  if (journal === undefined) throw new KitError("this case needs a journal");
  return { ...world, owner: () => world.owner(), pass: (ms) => world.pass(ms), journal };
}

export function envelopeOf(id: number, more: Partial<EffectEnvelope> = {}): EffectEnvelope {
  return {
    scope: { tenant: "acme", sessionId: "sess_1", turn: 1, step: 1 },
    kind: "complete_model",
    subject: "scripted/demo",
    cause: null,
    key: `t1.e${id}`,
    payload: { history_length: id, nested: { list: [1, "two", null] } },
    ...more,
  };
}

/** Counts how often an effect is done, and answers with what it is told. */
export class Doer<Beside> {
  times = 0;
  readonly #value: unknown;
  readonly #more: { readonly kind?: string; readonly beside?: Beside };

  constructor(value: unknown, more: { readonly kind?: string; readonly beside?: Beside } = {}) {
    this.#value = value;
    this.#more = more;
  }

  readonly run: RunEffect<Beside> = async () => {
    this.times += 1;
    const { kind = "complete_model", beside } = this.#more;
    return { outcome: { kind, value: this.#value }, ...(beside === undefined ? {} : { beside }) };
  };
}

/** An effect that is being done until somebody ends it; one that is begun later than that ends at once. */
export class Held<Beside> {
  begun = 0;
  signal: AbortSignal | undefined;
  readonly #ended = Promise.withResolvers<Ran<Beside>>();

  readonly run: RunEffect<Beside> = (signal) => {
    this.begun += 1;
    this.signal = signal;
    return this.#ended.promise;
  };

  end(value: unknown, beside?: Beside): void {
    this.#ended.resolve({ outcome: outcomeOf(value), ...(beside === undefined ? {} : { beside }) });
  }
}

export const outcomeOf = (value: unknown): EffectOutcome => ({ kind: "complete_model", value });

/** A row of this envelope as a claim by the present holder leaves it. */
export function rowOf<Beside>(envelope: EffectEnvelope, { clock, journal }: { readonly clock: EffectClock; readonly journal: JournalWorld<Beside> }, more: Partial<JournalRow> = {}): JournalRow {
  const { tenant, sessionId } = envelope.scope;
  return {
    tenant,
    sessionId,
    key: envelope.key,
    kind: envelope.kind,
    ...sealed(envelope, journal.hash),
    state: "claimed",
    fence: journal.fence(),
    claimedAt: clock.now(),
    claimExpiresAt: clock.now() + journal.claimMs,
    completedAt: null,
    outcomeJson: null,
    ...more,
  };
}
