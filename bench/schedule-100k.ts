// Times one decision of the fair line with 100 000 calls waiting: who is next, its turn, and another call in its place.
import { FairLine } from "../packages/runtime/src/schedule/fair-line.ts";
import type { Gate, Waiting } from "../packages/runtime/src/schedule/types.ts";

export interface ScheduleTimings {
  /** One decision, ms, sorted. */
  readonly ms: readonly number[];
  /** Decisions that gave nobody a turn. */
  readonly errors: number;
  /** The least and the most turns that a tenant had for each unit of its weight. */
  readonly turns: { readonly least: number; readonly most: number };
}

const tenants = 1_000;
const callsEach = 100;
const lookAhead = 64;
const lane = "platform\u0000pay\u00001.0.0";
const open: Gate = { holdsTenant: () => false, holds: () => false };
const at0 = Date.UTC(2026, 2, 2, 12);
/** Of whom each tenant is one; five to one is what a price list would have. */
const weights = [1, 1, 1, 2, 5] as const;
const classes = ["interactive", "normal", "normal", "normal", "batch"] as const;

const weightOf = (tenant: number): number => weights[tenant % weights.length] ?? 1;

/** As many decisions as every tenant has turns enough for, so that nobody's line runs dry. */
export function timeSchedule(decisions: number): ScheduleTimings {
  const line = new FairLine();
  for (let tenant = 0; tenant < tenants; tenant++) line.weigh(`t${tenant}`, weightOf(tenant));
  let made = 0;
  const admit = (tenant: string, now: number): void =>
    line.add(lane, {
      tenant,
      project: `p${made % 3}`,
      toolTenant: "platform",
      tool: "pay",
      version: "1.0.0",
      callId: `c${made}`,
      priority: classes[made++ % classes.length] ?? "normal",
      admittedAt: now,
      startTag: line.nextTag(tenant),
      notBefore: now,
    });
  for (let call = 0; call < callsEach; call++) for (let tenant = 0; tenant < tenants; tenant++) admit(`t${tenant}`, at0);
  const served = new Map<string, number>();
  const ms: number[] = [];
  let errors = 0;
  for (let count = 0; count < decisions; count++) {
    const began = performance.now();
    const next = serveNext(line, at0 + count);
    if (next !== undefined) admit(next.tenant, at0 + count);
    ms.push(performance.now() - began);
    if (next === undefined) errors += 1;
    else served.set(next.tenant, (served.get(next.tenant) ?? 0) + 1);
  }
  const perWeight = Array.from({ length: tenants }, (_, tenant) => (served.get(`t${tenant}`) ?? 0) / weightOf(tenant));
  const turns = { least: Math.min(...perWeight), most: Math.max(...perWeight) };
  return { ms: ms.sort((one, other) => one - other), errors, turns };
}

function serveNext(line: FairLine, now: number): Waiting | undefined {
  for (const call of line.peek(lane, lookAhead, now, open)) {
    line.turnOf(call);
    line.remove(lane, call);
    line.takeTurn(call.tenant);
    return call;
  }
  return undefined;
}
