// Gives calls that wait their place in the fair line: a tag from their tenant's share, kept by all replicas together.
import type { Call, Priority } from "../../call/types.ts";
import { laneOf } from "../../dispatch/state.ts";
import type { Db } from "./db.ts";

/** How many dispatches a class stands behind the one before it. */
export const classOffsets: Readonly<Record<Priority, number>> = { interactive: 0, normal: 1, batch: 2 };

/** U+0000 parts the names of a lane in memory, and PostgreSQL's text does not take it; no name holds either sign. */
export function storedLane(lane: string): string {
  return lane.replaceAll("\u0000", "\u001f");
}

/** What the ledger keeps of a call beside its row. */
export interface Placing {
  readonly lane: string;
  readonly class_offset: number;
  readonly first_tag: number;
  readonly start_tag: number;
}

export function placingOf(call: Call, startTag: number): Placing {
  return { lane: storedLane(laneOf(call)), class_offset: classOffsets[call.priority], first_tag: startTag, start_tag: startTag };
}

/** Whether its tag is the ledger's to give. */
export function takesTag({ state }: Pick<Call, "state">): boolean {
  return state === "queued" || state === "awaiting_approval";
}

const takeSql = `
  INSERT INTO fair_tenants (tenant, finish, step)
    SELECT w.tenant, c.v + w.calls / COALESCE(t.weight, 1), w.calls / COALESCE(t.weight, 1)
      FROM json_to_recordset(?::json) AS w(tenant text, calls bigint)
      CROSS JOIN fair_clock AS c LEFT JOIN tenants AS t ON t.tenant = w.tenant ORDER BY w.tenant
    ON CONFLICT (tenant) DO UPDATE SET step = excluded.step,
      finish = round(greatest(fair_tenants.finish + excluded.step, excluded.finish)::numeric, 9)::double precision
    RETURNING tenant, finish, step`;

const nine = (tag: number): number => Math.round(tag * 1e9) / 1e9;

/** The next start tags of the tenants of these calls, in the order of the calls. */
export async function takeTags(tx: Db, calls: readonly Pick<Call, "tenant">[]): Promise<number[]> {
  const counts = new Map<string, number>();
  for (const { tenant } of calls) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  const wanted = [...counts].map(([tenant, count]) => ({ tenant, calls: count }));
  const rows = await tx.rows<{ tenant: string; finish: number; step: number }>(takeSql, [JSON.stringify(wanted)]);
  const next = new Map(rows.map(({ tenant, finish, step }) => [tenant, { at: finish - step, each: step / (counts.get(tenant) ?? 1) }]));
  return calls.map(({ tenant }) => {
    const line = next.get(tenant);
    if (line === undefined) throw new Error(`the fair line gave tenant ${tenant} no tag`);
    const tag = nine(line.at);
    line.at += line.each;
    return tag;
  });
}

