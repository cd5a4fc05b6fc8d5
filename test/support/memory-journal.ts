// A journal of effects in memory, with one session's lease beside it: what a durable store would answer, and what a test does behind its back.
import type { Claim, JournalStore } from "../../packages/runtime/src/session/effects/types.ts";
import type { JournalRow } from "../../packages/runtime/src/session/types.ts";

export class MemoryJournal implements JournalStore<string> {
  /** It claims to be; a test that opens it again has the same object. */
  durable = true;
  /** The fence of the session's lease: claims and completions under another one are refused. */
  fence = 1;
  readonly rows = new Map<string, JournalRow>();
  /** What was written together with completions, in order. */
  readonly beside: string[] = [];
  /** How often it is away before it answers again. */
  failures = 0;

  async read(tenant: string, sessionId: string, key: string): Promise<JournalRow | undefined> {
    await this.#answer();
    return this.rows.get(placeOf({ tenant, sessionId, key }));
  }

  async claim(row: JournalRow, now: number): Promise<boolean> {
    await this.#answer();
    const found = this.rows.get(placeOf(row));
    const free = found === undefined || (found.state === "claimed" && (found.fence < row.fence || found.claimExpiresAt <= now));
    if (row.fence !== this.fence || !free) return false;
    this.rows.set(placeOf(row), row);
    return true;
  }

  async renew(claim: Claim, claimExpiresAt: number, now: number): Promise<boolean> {
    await this.#answer();
    const row = this.#claimed(claim, now);
    if (row !== undefined) this.rows.set(placeOf(claim), { ...row, claimExpiresAt });
    return row !== undefined;
  }

  async complete(claim: Claim, at: number, outcomeJson: string, beside: string | undefined): Promise<boolean> {
    await this.#answer();
    const row = this.#claimed(claim, at);
    if (row === undefined) return false;
    this.rows.set(placeOf(claim), { ...row, state: "completed", completedAt: at, outcomeJson });
    if (beside !== undefined) this.beside.push(beside);
    return true;
  }

  /** Puts a row there, whatever was there. */
  plant(row: JournalRow): void {
    this.rows.set(placeOf(row), row);
  }

  #claimed(claim: Claim, now: number): JournalRow | undefined {
    const row = this.rows.get(placeOf(claim));
    const own = row?.state === "claimed" && row.fence === claim.fence && row.claimedAt === claim.claimedAt;
    return own && claim.fence === this.fence && now < row.claimExpiresAt ? row : undefined;
  }

  async #answer(): Promise<void> {
    await Promise.resolve();
    if (this.failures === 0) return;
    this.failures -= 1;
    throw new Error("the journal is away");
  }
}

const placeOf = ({ tenant, sessionId, key }: Pick<JournalRow, "tenant" | "sessionId" | "key">): string => JSON.stringify([tenant, sessionId, key]);
