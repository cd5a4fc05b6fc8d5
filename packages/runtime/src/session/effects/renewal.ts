// Keeps a claim alive while its effect is being done, and says so at once when another took it.
import { claimExpiry, leaseLost } from "./decide.ts";
import type { EffectClock, JournalStore } from "./types.ts";
import type { JournalRow } from "../types.ts";

export interface KeptClaim {
  /** Aborts when the claim is lost. */
  readonly signal: AbortSignal;
  /** Rejects when the claim is lost, and never resolves. */
  readonly lost: Promise<never>;
  expiresAt(): number;
  /** No more renewals. */
  release(): void;
}

interface Ports {
  readonly store: Pick<JournalStore<never>, "renew">;
  readonly clock: EffectClock;
  readonly claimMs: number;
}

export function keepClaim(claimed: JournalRow, { store, clock, claimMs }: Ports): KeptClaim {
  const owner = new AbortController();
  let { claimExpiresAt } = claimed;
  let released = false;
  let takeBack: () => void = () => undefined;
  const { promise: lost, reject } = Promise.withResolvers<never>();
  // Nobody may be waiting for it when it is lost.
  lost.catch(() => undefined);

  const lose = (): void => {
    if (released) return;
    const failure = leaseLost(claimed.key);
    owner.abort(failure);
    reject(failure);
  };
  const renew = async (): Promise<void> => {
    const now = clock.now();
    if (now >= claimExpiresAt) return lose();
    const until = claimExpiry(now, claimMs);
    try {
      if (!(await store.renew(claimed, until, now))) return lose();
      claimExpiresAt = until;
    } catch {
      // The store is away: the claim holds until its time is over, and the next round tries again.
    }
    arm();
  };
  const arm = (): void => {
    if (!released) takeBack = clock.after(Math.max(1, Math.floor(claimMs / 3)), () => void renew());
  };
  arm();

  return {
    signal: owner.signal,
    lost,
    expiresAt: () => claimExpiresAt,
    release: () => {
      released = true;
      takeBack();
    },
  };
}
