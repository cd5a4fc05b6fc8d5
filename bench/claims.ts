// Times a claim on PostgreSQL with 100 000 calls in line: two replicas in turn and at once, one call, eight and sixty-four at a time.
import { join } from "node:path";
import { PostgresLedger } from "../packages/runtime/src/adapters/postgres/ledger.ts";
import { laneOf } from "../packages/runtime/src/dispatch/state.ts";
import type { Call } from "../packages/runtime/src/call/types.ts";
import { sampleCall } from "../test/conformance/ledger-rows.ts";
import { auditKey, type PostgresServer } from "../test/support/postgres.ts";
import { makeFolder } from "./children.ts";
import { startPostgres } from "./on-postgres.ts";

/** One way of claiming. */
export interface ClaimTimings {
  readonly limit: number;
  readonly atOnce: boolean;
  /** One claim, ms, sorted. */
  readonly ms: readonly number[];
  /** Claims that came back with less than they asked for, or with a call that another one had. */
  readonly errors: number;
}

export interface Claims {
  readonly queued: number;
  readonly tenants: number;
  readonly timings: readonly ClaimTimings[];
}

export interface ClaimsPlan {
  readonly tenants: number;
  readonly callsEach: number;
  /** How many calls a claim asks for. */
  readonly limits: readonly number[];
  /** Of each replica in each way. */
  readonly claims: number;
}

const warmUpClaims = 20;
const livesMs = 3_600_000;
const replicas = ["replica-1", "replica-2"] as const;
const model = sampleCall({
  callId: "model",
  tenant: "t0",
  toolTenant: "platform",
  state: "queued",
  fence: 0,
  attempt: 0,
  replica: null,
  workerId: null,
  incarnation: null,
  leaseExpiresAt: null,
  dispatchedAt: null,
  queueDeadlineAt: null,
  startDeadlineAt: null,
});

// The model's row for every tenant in turn: tag by tag, three classes, and five tenants of which one has twice the weight and one five times.
const fillSql = (columns: readonly string[], { tenants, callsEach }: ClaimsPlan): string => {
  const own: Readonly<Record<string, string>> = {
    tenant: "'t' || p.tenant",
    call_id: "'c' || p.at || '-' || p.tenant",
    start_tag: "p.at / p.weight",
    first_tag: "p.at / p.weight",
    class_offset: "p.class",
    priority: "(ARRAY['interactive', 'normal', 'batch'])[p.class + 1]",
  };
  return `INSERT INTO calls (${columns.join(", ")}) SELECT ${columns.map((name) => own[name] ?? `m.${name}`).join(", ")}
    FROM (SELECT tenant, at, (ARRAY[1, 1, 1, 2, 5])[tenant % 5 + 1]::double precision AS weight, (ARRAY[0, 1, 1, 1, 2])[(at + tenant) % 5 + 1] AS class
      FROM generate_series(1, ${callsEach}) AS at, generate_series(0, ${tenants - 1}) AS tenant ORDER BY at, tenant) AS p
      CROSS JOIN (SELECT * FROM calls WHERE call_id = 'model') AS m`;
};

/** @throws Error where there is no PostgreSQL server to start */
export async function timeClaims(parent: string, plan: ClaimsPlan, note: (text: string) => void): Promise<Claims> {
  const server = await startPostgres(parent);
  const database = await server.createEmptyDatabase();
  const folder = makeFolder(parent, "claims");
  const open = (lane: string): Promise<PostgresLedger> =>
    PostgresLedger.open({ url: server.url(database), auditKey, lane, anchorPath: join(folder, `${lane}.anchor`), now: Date.now });
  const ledgers = [await open(replicas[0]), await open(replicas[1])];
  try {
    for (const [at, ledger] of ledgers.entries()) {
      await ledger.beat({ replica: replicas[at] ?? "", grpcAddress: "127.0.0.1:1", draining: false, lanes: [laneOf(model)], livesMs });
    }
    note(`putting ${plan.tenants * plan.callsEach} calls in line`);
    await fill(server, database, plan, ledgers[0]);
    const timings: ClaimTimings[] = [];
    for (const limit of plan.limits) for (const atOnce of [false, true]) timings.push(await timeWay(ledgers, plan.claims, limit, atOnce));
    return { queued: plan.tenants * plan.callsEach, tenants: plan.tenants, timings };
  } finally {
    for (const ledger of ledgers) await ledger.close();
  }
}

async function fill(server: PostgresServer, database: string, plan: ClaimsPlan, ledger: PostgresLedger | undefined): Promise<void> {
  await ledger?.commit({ writes: [{ op: "insert_call", row: model }] });
  const sql = "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'calls' AND is_generated = 'NEVER' ORDER BY ordinal_position";
  const { rows } = await server.run(sql, database);
  const columns = (rows as { readonly name: string }[]).map(({ name }) => name);
  await server.run(fillSql(columns, plan), database);
  await server.run("DELETE FROM calls WHERE call_id = 'model'", database);
  await server.run("VACUUM ANALYZE calls", database);
}

/** Whatever is claimed goes back afterwards, so that every way finds the whole line. */
async function timeWay(ledgers: readonly PostgresLedger[], claims: number, limit: number, atOnce: boolean): Promise<ClaimTimings> {
  const ms: number[] = [];
  const taken = new Set<string>();
  const lanes = [laneOf(model)];
  let errors = 0;
  const claim = async (at: number, isTimed: boolean): Promise<void> => {
    const began = performance.now();
    const claimed = await ledgers[at]?.claim({ replica: replicas[at] ?? "", lanes, limit, now: Date.now(), caps: [], not: [] });
    if (isTimed) ms.push(performance.now() - began);
    const calls = claimed?.calls ?? [];
    if (calls.length !== limit || calls.some((call) => taken.has(nameOf(call)))) errors += 1;
    for (const call of calls) taken.add(nameOf(call));
    held[at]?.push(...calls);
  };
  const held: Call[][] = ledgers.map(() => []);
  for (let count = -warmUpClaims; count < claims; count++) {
    if (atOnce) await Promise.all(ledgers.map((_, at) => claim(at, count >= 0)));
    else for (const at of ledgers.keys()) await claim(at, count >= 0);
  }
  for (const [at, ledger] of ledgers.entries()) await ledger.release(replicas[at] ?? "", held[at] ?? []);
  return { limit, atOnce, ms: ms.sort((one, other) => one - other), errors };
}

const nameOf = ({ tenant, callId }: Call): string => `${tenant} ${callId}`;
