// What stands in a session's row beside the turn machine's own snapshot.

export interface Kept {
  /** The turn machine's snapshot; null between turns. */
  readonly machine: string | null;
  /** The last cancel of the inbox that was carried out. */
  readonly cancelTaken: number;
  /** Already spent in the effect that is outstanding, without the time in which people were waited for. */
  readonly spentMs: number;
}

const nothing: Kept = { machine: null, cancelTaken: 0, spentMs: 0 };

export function keptText({ machine, cancelTaken, spentMs }: Kept): string {
  return JSON.stringify({ machine, cancel_taken: cancelTaken, spent_ms: spentMs });
}

export function keptOf(text: string | null): Kept {
  if (text === null) return nothing;
  const { machine, cancel_taken: cancelTaken, spent_ms: spentMs } = JSON.parse(text) as { readonly machine: string | null; readonly cancel_taken: number; readonly spent_ms: number };
  return { machine, cancelTaken, spentMs };
}
