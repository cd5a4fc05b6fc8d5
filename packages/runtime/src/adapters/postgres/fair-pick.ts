// Who is next: the tenant by the smallest tag of its calls, and within the tenant its best call, which takes that tag.
import type { ClaimCap } from "../../ledger/shared.ts";

/** A queued call as the line knows it. */
export interface Waiting {
  readonly tenant: string;
  readonly callId: string;
  readonly project: string;
  readonly startTag: number;
  /** How far its class puts it back; less when it has waited long. */
  readonly classOffset: number;
  /** The tag that it was given: calls of one class go in this order, whoever has exchanged tags with them. */
  readonly firstTag: number;
}

export interface Picked {
  /** In the order in which they go. */
  readonly calls: readonly Waiting[];
  /** Calls whose tag is another one now, picked or not. */
  readonly moved: readonly { readonly call: Waiting; readonly startTag: number }[];
  /** The largest tag that was used up. */
  readonly clock: number | undefined;
}

/** What is left under caps; asked for a call, and used up by it. */
export class CapRoom {
  readonly #left = new Map<string, number>();

  /** @param atWork calls under each cap now, in the order of the caps */
  constructor(caps: readonly ClaimCap[], atWork: readonly number[]) {
    caps.forEach(({ tenant, project, max }, at) => this.#left.set(roomKey(tenant, project), max - (atWork[at] ?? 0)));
  }

  hasRoom({ tenant, project }: Pick<Waiting, "tenant" | "project">): boolean {
    return this.#of(tenant, null) > 0 && this.#of(tenant, project) > 0;
  }

  use({ tenant, project }: Waiting): void {
    for (const key of [roomKey(tenant, null), roomKey(tenant, project)]) {
      const left = this.#left.get(key);
      if (left !== undefined) this.#left.set(key, left - 1);
    }
  }

  #of(tenant: string, project: string | null): number {
    return this.#left.get(roomKey(tenant, project)) ?? Number.POSITIVE_INFINITY;
  }
}

const roomKey = (tenant: string, project: string | null): string => JSON.stringify([tenant, project]);

interface Entry {
  readonly call: Waiting;
  tag: number;
  picked: boolean;
}

const order = (entry: Entry): number => Math.round((entry.tag + entry.call.classOffset) * 1e9) / 1e9;

/** Smaller tags first; of equal ones the tenant by its name. */
function byOrder(a: Entry, b: Entry): number {
  if (order(a) !== order(b)) return order(a) - order(b);
  if (a.call.tenant !== b.call.tenant) return a.call.tenant < b.call.tenant ? -1 : 1;
  return byClass(a, b);
}

function byClass(a: Entry, b: Entry): number {
  if (a.call.classOffset !== b.call.classOffset) return a.call.classOffset - b.call.classOffset;
  if (a.call.firstTag !== b.call.firstTag) return a.call.firstTag - b.call.firstTag;
  return a.call.callId < b.call.callId ? -1 : 1;
}

/**
 * @param known the calls with the smallest tags, `limit` of them or all, and the best `limit` of each tenant that has one of those
 */
export function pick(known: readonly Waiting[], limit: number, room: CapRoom): Picked {
  const entries = [...new Map(known.map((call) => [JSON.stringify([call.tenant, call.callId]), call])).values()].map(
    (call): Entry => ({ call, tag: call.startTag, picked: false }),
  );
  const calls: Waiting[] = [];
  let clock: number | undefined;
  while (calls.length < limit) {
    const open = entries.filter((entry) => !entry.picked && room.hasRoom(entry.call));
    const smallest = least(open, byOrder);
    if (smallest === undefined) break;
    const best = least(
      open.filter(({ call }) => call.tenant === smallest.call.tenant),
      byClass,
    );
    if (best === undefined) break;
    [best.tag, smallest.tag] = [smallest.tag, best.tag];
    best.picked = true;
    room.use(best.call);
    calls.push(best.call);
    clock = Math.max(clock ?? best.tag, best.tag);
  }
  const moved = entries.filter(({ call, tag }) => tag !== call.startTag).map(({ call, tag }) => ({ call, startTag: tag }));
  return { calls, moved, clock };
}

function least(entries: readonly Entry[], compare: (a: Entry, b: Entry) => number): Entry | undefined {
  let found: Entry | undefined;
  for (const entry of entries) if (found === undefined || compare(entry, found) < 0) found = entry;
  return found;
}
