// Effects without a journal: each is done every time, and nothing is remembered.
import { ofKind } from "./decide.ts";
import { sealed } from "./envelope.ts";
import type { EffectController, EffectEnvelope, EffectHash, EffectOutcome, RunEffect } from "./types.ts";

export class InlineEffects implements EffectController<unknown> {
  readonly #hash: EffectHash;

  constructor(hash: EffectHash) {
    this.#hash = hash;
  }

  async execute(envelope: EffectEnvelope, run: RunEffect<unknown>): Promise<EffectOutcome> {
    // Sealed though nobody keeps it: what could not be journaled is refused here too.
    sealed(envelope, this.#hash);
    const { outcome } = await run(new AbortController().signal);
    return ofKind(envelope.key, envelope.kind, outcome);
  }
}
