// A pause as an effect: when it is over is recorded once, and every replay keeps to that instant.
import { EffectFailure } from "./failure.ts";
import type { EffectClock, EffectController, EffectEnvelope } from "./types.ts";

export const sleepKind = "sleep";

/**
 * Waits until the recorded instant, which is `ms` from when the effect was first done.
 * @returns that instant, ms since 1970
 */
export async function sleep<Beside>(
  controller: EffectController<Beside>,
  envelope: Omit<EffectEnvelope, "kind" | "payload">,
  ms: number,
  clock: EffectClock,
): Promise<number> {
  const outcome = await controller.execute({ ...envelope, kind: sleepKind, payload: { ms } }, () =>
    Promise.resolve({ outcome: { kind: sleepKind, value: { due_at: clock.now() + ms } } }),
  );
  const dueAt = dueOf(outcome.value);
  if (dueAt === undefined) throw new EffectFailure("effect_corrupt", envelope.key, `the pause ${envelope.key} has no instant at which it is over: restore the journal from a backup`);
  const left = dueAt - clock.now();
  if (left > 0) await new Promise<void>((resolve) => void clock.after(left, resolve));
  return dueAt;
}

function dueOf(value: unknown): number | undefined {
  if (typeof value !== "object" || value === null || !("due_at" in value)) return undefined;
  return typeof value.due_at === "number" ? value.due_at : undefined;
}
