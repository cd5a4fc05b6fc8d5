// Side-effect classes: what repeating a call could do to the world.

export const sideEffectClasses = [
  "read_only",
  "idempotent_write",
  "non_idempotent_write",
  "irreversible_action",
] as const;

export type SideEffectClass = (typeof sideEffectClasses)[number];

/** What an unset class means: the cautious reading. */
export const sideEffectClassDefault: SideEffectClass = "non_idempotent_write";

/** Safe classes may be repeated; unsafe ones start only on `Go` and are never repeated by the runtime alone. */
export function isSafe(sideEffectClass: SideEffectClass): boolean {
  return sideEffectClass === "read_only" || sideEffectClass === "idempotent_write";
}
