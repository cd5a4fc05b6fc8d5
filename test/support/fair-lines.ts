// A fair line with one slot, moved by hand: calls in short words, picked one after the other, as the hub would.
import { FairLine } from "../../packages/runtime/src/schedule/fair-line.ts";
import type { Gate, Waiting } from "../../packages/runtime/src/schedule/types.ts";

export const at0 = 1_000_000;
export const open: Gate = { holdsTenant: () => false, holds: () => false };

export function waiting(tenant: string, callId: string, changes: Partial<Waiting> = {}): Waiting {
  return {
    tenant,
    callId,
    project: "shop",
    toolTenant: "platform",
    tool: "pay",
    version: "1.0.0",
    priority: "normal",
    admittedAt: at0,
    startTag: 0,
    notBefore: at0,
    ...changes,
  };
}

export class OneSlot {
  readonly line = new FairLine();
  now = at0;
  gate = open;
  #count = 0;
  readonly #lanes = new Map<string, string>();

  constructor(weights: Readonly<Record<string, number>> = {}) {
    for (const [tenant, weight] of Object.entries(weights)) this.line.weigh(tenant, weight);
  }

  /** Admits so many calls of a tenant, with ids that grow. @returns their ids */
  admit(tenant: string, count = 1, changes: Partial<Waiting> = {}, lane: string = changes.tool ?? "pay"): string[] {
    return Array.from({ length: count }, () => {
      const callId = changes.callId ?? `${tenant}${String(++this.#count).padStart(6, "0")}`;
      const call = waiting(tenant, callId, { admittedAt: this.now, notBefore: this.now, startTag: this.line.nextTag(tenant), ...changes });
      this.add(call, lane);
      return callId;
    });
  }

  add(call: Waiting, lane = "pay"): void {
    this.#lanes.set(call.callId, lane);
    this.line.add(lane, call);
  }

  /** What the slot is given next out of one lane, with the tag of its turn. */
  pick(lane = "pay", take: (call: Waiting) => boolean = () => true): Waiting | undefined {
    for (const call of this.line.peek(lane, 64, this.now, this.gate)) {
      if (!take(call)) continue;
      const startTag = this.line.turnOf(call);
      this.line.remove(this.#lanes.get(call.callId) ?? lane, call);
      this.line.takeTurn(call.tenant);
      return { ...call, startTag };
    }
    return undefined;
  }

  /** The tenants of the next picks, e.g. `a b a`. */
  tenants(count: number, lane?: string): string {
    return Array.from({ length: count }, () => this.pick(lane)?.tenant ?? "-").join(" ");
  }

  calls(count: number, lane?: string): string {
    return Array.from({ length: count }, () => this.pick(lane)?.callId ?? "-").join(" ");
  }
}
