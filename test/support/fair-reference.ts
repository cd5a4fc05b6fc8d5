// The fair line as its rules say it, for comparison: lists that are sorted anew for every question, and no thought of speed.
import type { Gate, Waiting } from "../../packages/runtime/src/schedule/types.ts";

interface Account {
  /** Whose first call came first. */
  arrived: number;
  weight: number;
  /** Dispatches since `since`, at the weight of today. */
  served: number;
  since: number;
}

interface Standing {
  readonly lane: string;
  readonly call: Waiting;
}

const ranks = ["interactive", "normal", "batch"];

export class FairReference {
  readonly #accounts = new Map<string, Account>();
  #line: Standing[] = [];
  #virtual = 0;
  #arrivals = 0;

  #account(tenant: string): Account {
    const account = this.#accounts.get(tenant) ?? { arrived: Number.POSITIVE_INFINITY, weight: 1, served: 0, since: 0 };
    this.#accounts.set(tenant, account);
    return account;
  }

  #startOf(tenant: string): number {
    const { since, served, weight } = this.#account(tenant);
    return since + served / weight;
  }

  #restart(tenant: string, since: number): void {
    Object.assign(this.#account(tenant), { since, served: 0 });
  }

  weigh(tenant: string, weight: number): void {
    if (this.#account(tenant).weight === weight) return;
    this.#restart(tenant, this.#startOf(tenant));
    this.#account(tenant).weight = weight;
  }

  depth(tenant: string): number {
    return this.#line.filter(({ call }) => call.tenant === tenant).length;
  }

  comes(tenant: string): void {
    const account = this.#account(tenant);
    if (account.arrived === Number.POSITIVE_INFINITY) account.arrived = this.#arrivals++;
  }

  add(lane: string, call: Waiting): void {
    this.comes(call.tenant);
    if (this.depth(call.tenant) === 0 && this.#startOf(call.tenant) < this.#virtual) this.#restart(call.tenant, this.#virtual);
    this.#line.push({ lane, call });
  }

  remove(callId: string): void {
    this.#line = this.#line.filter(({ call }) => call.callId !== callId);
  }

  /** @returns the tag of the turn */
  serve({ tenant, callId }: Pick<Waiting, "tenant" | "callId">): number {
    // A tenant with nothing in line starts no sooner than now.
    const start = this.depth(tenant) > 0 ? this.#startOf(tenant) : Math.max(this.#startOf(tenant), this.#virtual);
    if (start !== this.#startOf(tenant)) this.#restart(tenant, start);
    const turn = Math.max(start, this.#virtual - 3);
    if (turn > start) this.#restart(tenant, turn);
    this.#account(tenant).served++;
    this.#virtual = Math.max(this.#virtual, turn);
    this.remove(callId);
    return turn;
  }

  /** All calls of a lane that could go now, the next one first. */
  order(lane: string, now: number, gate: Gate): Waiting[] {
    const rank = (call: Waiting) => Math.max(0, ranks.indexOf(call.priority) - Math.floor((now - call.admittedAt) / 30_000));
    const places = (call: Waiting): (number | string)[] => {
      const late = rank(call);
      return [this.#startOf(call.tenant) + late, this.#account(call.tenant).arrived, late, call.admittedAt, call.startTag, call.callId];
    };
    return this.#line
      .filter((one) => one.lane === lane && one.call.notBefore <= now && !gate.holdsTenant(one.call.tenant) && !gate.holds(one.call))
      .map(({ call }) => ({ call, key: places(call) }))
      .sort((one, other) => compare(one.key, other.key))
      .map(({ call }) => call);
  }
}

function compare(one: readonly (number | string)[], other: readonly (number | string)[]): number {
  for (const [at, value] of one.entries()) {
    const against = other[at];
    if (against === undefined || value === against) continue;
    return value < against ? -1 : 1;
  }
  return 0;
}
