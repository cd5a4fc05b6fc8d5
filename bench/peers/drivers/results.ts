// Outputs for peers on PostgreSQL that keep none: a table of ours, and a notification in the same commit.
import pg from "pg";
import { Waiters } from "./front.ts";

/** What a worker is asked for. */
export interface Call {
  readonly id: string;
  readonly input: unknown;
}

/** Rows and the words of them become visible together, with whatever else the transaction does. */
const storeSql = `WITH stored AS (
    INSERT INTO echo_results (id, output) SELECT id, output FROM unnest($1::text[], $2::text[]) AS u(id, output) RETURNING id, output
  ) SELECT pg_notify('echo_done', json_build_object('id', id, 'output', output)::text) FROM stored`;

export async function storeResults(query: (sql: string, values: readonly unknown[]) => Promise<unknown>, calls: readonly Call[]): Promise<void> {
  await query(storeSql, [calls.map(({ id }) => id), calls.map(({ input }) => JSON.stringify(input))]);
}

/** Makes the table, and hears of every row that is stored from now on. */
export async function hearResults(url: string): Promise<Waiters> {
  const waiters = new Waiters();
  const client = new pg.Client({ connectionString: url });
  client.on("notification", ({ payload = "" }) => {
    const { id, output } = JSON.parse(payload) as { readonly id: string; readonly output: string };
    waiters.tell(id, JSON.parse(output));
  });
  await client.connect();
  await client.query("CREATE TABLE IF NOT EXISTS echo_results (id text PRIMARY KEY, output text NOT NULL)");
  await client.query("LISTEN echo_done");
  return waiters;
}
