// A fair line and the plain rules side by side: the same happenings to both, and what differs in words.
import type fastCheck from "fast-check";
import type { Gate, Waiting } from "../../packages/runtime/src/schedule/types.ts";
import { FairReference } from "./fair-reference.ts";
import { OneSlot, waiting } from "./fair-lines.ts";

const tenants = ["a", "b", "c", "d"] as const;
const lanes = ["pay", "ship"] as const;

export type FairStep =
  | { readonly do: "admit"; readonly tenant: string; readonly lane: string; readonly priority: Waiting["priority"]; readonly project: string; readonly delay: number }
  | { readonly do: "serve"; readonly lane: string; readonly nth: number }
  | { readonly do: "direct"; readonly tenant: string }
  | { readonly do: "cancel"; readonly nth: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "weigh"; readonly tenant: string; readonly weight: number }
  | { readonly do: "cap"; readonly tenants: readonly string[]; readonly projects: readonly string[] };

export function stepsOf(fc: typeof fastCheck): fastCheck.Arbitrary<FairStep> {
  const [tenant, lane, project] = [fc.constantFrom(...tenants), fc.constantFrom(...lanes), fc.constantFrom("p", "q")];
  const priority = fc.constantFrom<Waiting["priority"]>("interactive", "normal", "batch");
  const is = <T extends string>(word: T) => fc.constant(word);
  return fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: is("admit"), tenant, lane, priority, project, delay: fc.constantFrom(0, 0, 0, 700) }) },
    { weight: 8, arbitrary: fc.record({ do: is("serve"), lane, nth: fc.constantFrom(0, 0, 0, 1, 2) }) },
    { weight: 1, arbitrary: fc.record({ do: is("direct"), tenant }) },
    { weight: 1, arbitrary: fc.record({ do: is("cancel"), nth: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ do: is("pass"), ms: fc.constantFrom(1, 500, 15_000, 30_000) }) },
    { weight: 1, arbitrary: fc.record({ do: is("weigh"), tenant, weight: fc.constantFrom(1, 2, 3, 5, 10) }) },
    { weight: 1, arbitrary: fc.record({ do: is("cap"), tenants: fc.subarray(["a", "b"]), projects: fc.subarray(["p"]) }) },
  );
}

function gateFor({ tenants: held, projects }: Extract<FairStep, { do: "cap" }>): Gate {
  return { holdsTenant: (one) => held.includes(one), holds: (one) => projects.includes(one.project) };
}

export class FairPair {
  readonly slot = new OneSlot();
  readonly #reference = new FairReference();
  readonly #standing = new Map<string, { readonly call: Waiting; readonly lane: string }>();
  #count = 0;
  #differences: string[] = [];

  /** @returns what the two do not agree on afterwards */
  do(step: FairStep): readonly string[] {
    this.#differences = [];
    this.#carryOut(step);
    for (const lane of lanes) this.#compareOrder(lane);
    for (const tenant of tenants) this.#same(`depth of ${tenant}`, this.slot.line.depth(tenant), this.#reference.depth(tenant));
    return this.#differences;
  }

  #carryOut(step: FairStep): void {
    const { slot } = this;
    if (step.do === "admit") this.#admit(step);
    else if (step.do === "serve") this.#serve(step.lane, step.nth);
    else if (step.do === "direct") this.#direct(step.tenant);
    else if (step.do === "cancel") this.#cancel(step.nth);
    else if (step.do === "pass") slot.now += step.ms;
    else if (step.do === "weigh") {
      slot.line.weigh(step.tenant, step.weight);
      this.#reference.weigh(step.tenant, step.weight);
    } else {
      slot.gate = gateFor(step);
      slot.line.wake();
    }
  }

  #admit({ tenant, lane, priority, project, delay }: Extract<FairStep, { do: "admit" }>): void {
    const { slot } = this;
    const startTag = slot.line.nextTag(tenant);
    const callId = `c${String(++this.#count).padStart(4, "0")}`;
    const call = waiting(tenant, callId, { admittedAt: slot.now, notBefore: slot.now + delay, priority, project, startTag });
    slot.add(call, lane);
    this.#reference.add(lane, call);
    this.#standing.set(callId, { call, lane });
  }

  #serve(lane: string, nth: number): void {
    let at = 0;
    const expected = this.#reference.order(lane, this.slot.now, this.slot.gate)[nth];
    const served = this.slot.pick(lane, () => at++ === nth);
    this.#same(`number ${nth} of ${lane}`, served?.callId, expected?.callId);
    if (served === undefined || expected === undefined) return;
    this.#same(`the turn of ${served.callId}`, served.startTag, this.#reference.serve(expected));
    this.#standing.delete(served.callId);
  }

  /** A worker is free: it never stands in line, and it costs a turn all the same. */
  #direct(tenant: string): void {
    const { line } = this.slot;
    line.nextTag(tenant);
    const turn = line.turnOf({ tenant });
    line.takeTurn(tenant);
    this.#reference.comes(tenant);
    this.#same(`the turn of ${tenant}`, turn, this.#reference.serve({ tenant, callId: "" }));
  }

  #cancel(nth: number): void {
    const gone = [...this.#standing.values()][nth % Math.max(1, this.#standing.size)];
    if (gone === undefined) return;
    this.slot.line.remove(gone.lane, gone.call);
    this.#reference.remove(gone.call.callId);
    this.#standing.delete(gone.call.callId);
  }

  #compareOrder(lane: string): void {
    const { line, now, gate } = this.slot;
    const order = this.#reference.order(lane, now, gate).map(({ callId }) => callId);
    const seen = [...line.peek(lane, 1_000, now, gate)].map(({ callId }) => callId);
    this.#same(`first of ${lane}`, seen[0], order[0]);
    // Past sixteen of one tenant the look goes on with the others first.
    const [one, other] = order.length > 16 ? [seen.toSorted(), order.toSorted()] : [seen, order];
    this.#same(`order of ${lane}`, one.join(" "), other.join(" "));
  }

  #same(what: string, is: unknown, expected: unknown): void {
    if (is !== expected) this.#differences.push(`${what} is ${String(is)}, by the rules ${String(expected)}`);
  }
}
