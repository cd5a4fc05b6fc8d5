// The floor's ledger on PostgreSQL: one connection, one statement and one commit for all units that have gathered meanwhile.
import pg from "pg";
import type { FloorLedger } from "./ledger.ts";

interface Unit {
  readonly kind: "admit" | "settle";
  readonly callId: string;
  /** Input or output. */
  readonly json: string;
  readonly nowMs: number;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

const schema = `
  CREATE TABLE calls (
    call_id text PRIMARY KEY, state text NOT NULL, fence bigint NOT NULL,
    input text NOT NULL, output text, admitted_at bigint NOT NULL, settled_at bigint
  );
  CREATE TABLE events (call_id text NOT NULL, seq bigint NOT NULL, type text NOT NULL, ts bigint NOT NULL, PRIMARY KEY (call_id, seq));
  CREATE TABLE audit (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, call_id text NOT NULL, action text NOT NULL, ts bigint NOT NULL);
`;

/** A statement by itself is a transaction: there and back once, and one fsync. Answers with the calls whose guards held. */
const writeAll = {
  name: "write_all",
  text: `
    WITH admitted AS (
      INSERT INTO calls (call_id, state, fence, input, admitted_at)
        SELECT call_id, 'dispatched', 1, input, ts FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u(call_id, input, ts)
    ), begun AS (
      INSERT INTO events (call_id, seq, type, ts)
        SELECT u.call_id, e.seq, e.type, u.ts FROM unnest($1::text[], $3::bigint[]) AS u(call_id, ts),
          (VALUES (1, 'requested'), (2, 'dispatched')) AS e(seq, type)
    ), settled AS (
      UPDATE calls AS c SET state = 'succeeded', output = u.output, settled_at = u.ts
        FROM unnest($4::text[], $5::text[], $6::bigint[]) AS u(call_id, output, ts)
        WHERE c.call_id = u.call_id AND c.state = 'dispatched' AND c.fence = 1
        RETURNING c.call_id, u.ts
    ), ended AS (
      INSERT INTO events (call_id, seq, type, ts) SELECT call_id, 3, 'succeeded', ts FROM settled
    ), audited AS (
      INSERT INTO audit (call_id, action, ts) SELECT call_id, 'call.settled', ts FROM settled
    )
    SELECT call_id FROM settled`,
} as const;

/** Plans made once, along the keys: what the statistics of a young table say would make worse ones. */
const settings = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/** @param url of a database without tables */
export async function openFloorLedgerOnPostgres(url: string): Promise<FloorLedger> {
  const client = new pg.Client({ connectionString: url, application_name: "floor" });
  await client.connect();
  await client.query(schema);
  await client.query(settings);
  const commit = groupCommit(client);
  return {
    admit: (callId, json, nowMs) => commit({ kind: "admit", callId, json, nowMs }),
    settle: (callId, json, nowMs) => commit({ kind: "settle", callId, json, nowMs }),
    close: () => void client.end().catch(() => undefined),
  };
}

/** Never waits on a timer: what came while a commit was under way shares the next one. */
function groupCommit(client: pg.Client): (unit: Omit<Unit, "done" | "failed">) => Promise<void> {
  let waiting: Unit[] = [];
  let isBusy = false;

  async function flush(): Promise<void> {
    const units = waiting;
    waiting = [];
    try {
      const settled = await writeUnits(client, units);
      for (const unit of units) {
        if (unit.kind === "admit" || settled.has(unit.callId)) unit.done();
        else unit.failed(new Error(`call ${unit.callId} was settled before`));
      }
    } catch (error) {
      for (const unit of units) unit.failed(error);
    }
    isBusy = false;
    if (waiting.length > 0) soon();
  }

  function soon(): void {
    if (isBusy) return;
    isBusy = true;
    setImmediate(() => void flush());
  }

  return (unit) =>
    new Promise((done, failed) => {
      waiting.push({ ...unit, done, failed });
      soon();
    });
}

async function writeUnits(client: pg.Client, units: readonly Unit[]): Promise<ReadonlySet<string>> {
  const values = (["admit", "settle"] as const).flatMap((kind) => {
    const of = units.filter((unit) => unit.kind === kind);
    return [of.map(({ callId }) => callId), of.map(({ json }) => json), of.map(({ nowMs }) => nowMs)];
  });
  const { rows } = await client.query<{ call_id: string }>({ ...writeAll, values });
  return new Set(rows.map(({ call_id }) => call_id));
}
