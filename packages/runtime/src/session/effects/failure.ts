// The plane of the machinery's errors: what went wrong beside tools and models, never stored as an outcome.

export const effectCodes = [
  "effect_hash_mismatch",
  "effect_missing",
  "effect_corrupt",
  "effect_wrong_outcome",
  "effect_busy",
  "effect_not_durable",
  "effect_unserializable",
  "lease_lost",
] as const;
export type EffectCode = (typeof effectCodes)[number];

/** A failure of the machinery. What runs inside an effect may throw one with a code of its own, e.g. `tool_surface_resolution_failed`. */
export class EffectFailure extends Error {
  readonly code: string;
  /** The effect's key. */
  readonly key: string;
  /** JSON pointers into the envelope, where two envelopes differ; never their values. */
  readonly paths: readonly string[];

  constructor(code: EffectCode | (string & {}), key: string, message: string, more: { readonly paths?: readonly string[]; readonly cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "EffectFailure";
    this.code = code;
    this.key = key;
    this.paths = more.paths ?? [];
  }
}
