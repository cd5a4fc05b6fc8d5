// The public face of @signalbox/runtime as a library: the door of effects, and the kit that tells whether another one keeps its promises.
export { childOf, effectKey } from "./session/effects/envelope.ts";
export { effectCodes, EffectFailure } from "./session/effects/failure.ts";
export type { EffectCode } from "./session/effects/failure.ts";
export { InlineEffects } from "./session/effects/inline.ts";
export { LedgerEffects } from "./session/effects/ledger.ts";
export type { LedgerEffectsOptions } from "./session/effects/ledger.ts";
export type { Claim, EffectClock, EffectController, EffectEnvelope, EffectHash, EffectOutcome, EffectScope, JournalStore, Ran, RunEffect } from "./session/effects/types.ts";
export type { JournalRow } from "./session/types.ts";

// Conformance
export { effectControllerKit } from "./session/effects/kit/kit.ts";
export { KitError } from "./session/effects/kit/world.ts";
export type { EffectCase, EffectWorld, JournalWorld, MakeEffectWorld } from "./session/effects/kit/world.ts";
