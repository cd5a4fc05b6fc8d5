// Whose turn it is: virtual time, and for every tenant the instant in it at which its next dispatch starts.

/** A dispatch of a tenant costs 1 / weight of virtual time. */
export interface TenantTurns {
  readonly tenant: string;
  /** Whose first call came first, which decides between equal tags; Infinity = none has come. */
  order: number;
  weight: number;
  /** Its next dispatch starts at base + count / weight: no sum of fractions, so that equal shares stay equal. */
  base: number;
  count: number;
  /** Calls that wait, in whatever lane. */
  waiting: number;
  /** The tag of the next call that is admitted behind others that wait. */
  tail: number;
  /** Found in the ledger: the smallest tag of a call that waits. */
  found: number | null;
}

/**
 * How far a tenant that waits may be behind virtual time, in dispatches of one that weighs 1, before it counts as one that came
 * later. Who could be served whenever it was its turn never is: its class puts it off by two. It is for who waited for a worker
 * that was not there, or under a cap.
 */
const lagMax = 3;

export class Turns {
  readonly #tenants = new Map<string, TenantTurns>();
  #arrived = 0;
  /** Virtual time: the largest tag of a turn that was taken. */
  #now = 0;
  /** A turn that was taken was found in the ledger, or has been taken since. */
  #known = false;
  #recovering = true;

  of(tenant: string): TenantTurns {
    let turns = this.#tenants.get(tenant);
    if (turns === undefined) {
      turns = { tenant, order: Number.POSITIVE_INFINITY, weight: 1, base: 0, count: 0, waiting: 0, tail: 0, found: null };
      this.#tenants.set(tenant, turns);
    }
    return turns;
  }

  waitingOf(tenant: string): number {
    return this.#tenants.get(tenant)?.waiting ?? 0;
  }

  /** Where its next dispatch starts. */
  startOf({ base, count, weight, waiting }: TenantTurns): number {
    const start = base + count / weight;
    return waiting > 0 ? start : Math.max(start, this.#now);
  }

  /** The tag of its next turn. */
  turnOf(turns: TenantTurns): number {
    return Math.max(this.startOf(turns), this.#now - lagMax);
  }

  take(turns: TenantTurns): void {
    const turn = this.turnOf(turns);
    if (turn === turns.base + turns.count / turns.weight) turns.count++;
    else this.#startAt(turns, turn, 1);
    this.#now = Math.max(this.#now, turn);
    this.#known = true;
  }

  /** For a call that is admitted now: behind all of its tenant that wait. */
  nextTag(turns: TenantTurns): number {
    this.#arrives(turns);
    const start = this.startOf(turns);
    const tag = turns.waiting > 0 ? Math.max(start, turns.tail) : start;
    turns.tail = tag + 1 / turns.weight;
    return tag;
  }

  /** One more of its calls waits. Who had none waiting starts now: the time before has earned it nothing. */
  joins(turns: TenantTurns): void {
    this.#arrives(turns);
    if (turns.waiting === 0 && turns.base + turns.count / turns.weight < this.#now) this.#startAt(turns, this.#now, 0);
    turns.waiting++;
  }

  leaves(turns: TenantTurns): void {
    turns.waiting--;
  }

  weigh(turns: TenantTurns, weight: number): void {
    this.#startAt(turns, turns.base + turns.count / turns.weight, 0);
    turns.weight = weight;
  }

  /** A call that the ledger has: the tag of one with a worker is that of the turn it took. Told in order of the tags. */
  saw(turns: TenantTurns, tag: number, leased: boolean): void {
    const next = tag + 1 / turns.weight;
    if (leased) {
      this.#now = Math.max(this.#now, tag);
      this.#known = true;
      if (next > turns.base + turns.count / turns.weight) this.#startAt(turns, tag, 1);
      return;
    }
    turns.tail = Math.max(turns.tail, next);
    if (this.#recovering) turns.found ??= tag;
  }

  /**
   * All that the ledger had is known. A tag is given as if all calls before it ran; where some were cancelled, a tenant's next turn is
   * earlier than its smallest tag says, and never more than one dispatch away from virtual time.
   * @returns false when that was so before
   */
  settle(): boolean {
    if (!this.#recovering) return false;
    this.#recovering = false;
    const found = [...this.#tenants.values()].filter((turns) => turns.found !== null);
    if (!this.#known && found.length > 0) this.#now = Math.min(...found.map((turns) => turns.found as number));
    for (const turns of found) {
      const start = Math.min(turns.found as number, this.#now + 1 / turns.weight);
      if (start > turns.base + turns.count / turns.weight) this.#startAt(turns, start, 0);
    }
    return true;
  }

  #arrives(turns: TenantTurns): void {
    if (turns.order === Number.POSITIVE_INFINITY) turns.order = this.#arrived++;
  }

  #startAt(turns: TenantTurns, base: number, count: number): void {
    turns.base = base;
    turns.count = count;
  }
}
