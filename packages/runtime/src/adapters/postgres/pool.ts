// Connections to PostgreSQL: how they are made, a pool for reads, and what becomes of one that dies.
import pg from "pg";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { queryOf, type Db } from "./db.ts";
import { checkStillKnown } from "./migrate.ts";
import { asLedgerError, isConnectionLoss, isRefusal } from "./store-errors.ts";

export const connectMsMax = 5_000;
/** A statement that takes longer has lost its server, or waits for a lock that nobody gives back. */
const statementMsMax = 30_000;
const idleMsMax = 30_000;
/** A connection keeps its plans, and those were made for the tables as they were when it was new. */
const lifetimeSecondsMax = 300;
const keepAliveAfterMs = 5_000;

/**
 * For a transaction that finds calls by their keys or by what waits: its plans go along the indexes, whatever the statistics of a table
 * say that is nearly all history, or say nothing yet. A plan that reads the table costs a hundred times more.
 */
export const alongIndexes = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_bitmapscan", "jit"]
  .map((setting) => `SET LOCAL ${setting} = off`)
  .concat("SET LOCAL plan_cache_mode = force_generic_plan")
  .join("; ");

/** A condition in a form that no partial index answers to: of rows that are found by their key. */
export const asRead = (column: string): string => `(${column} || '')`;

const int8 = 20;
const numeric = 1_700;

/** Whole numbers of 64 bits and sums of them as numbers: none of ours is beyond 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === int8 || oid === numeric ? Number : pg.types.getTypeParser(oid, format)) as pg.CustomTypesConfig["getTypeParser"],
};

/** @param name what `pg_stat_activity` shows; at most 63 bytes */
export function connectionConfig(url: string, name: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    types,
    connectionTimeoutMillis: connectMsMax,
    pipeline: true,
    statement_timeout: statementMsMax,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  };
}

/** A connection of its own, made and ready; a later death is told to `onEnd` once, and never ends the process. */
export async function connect(config: pg.ClientConfig, onEnd: (error: Error, client: pg.Client) => void): Promise<pg.Client> {
  const client = new pg.Client(config);
  let over = false;
  const end = (error: Error): void => {
    if (over) return;
    over = true;
    onEnd(error, client);
  };
  client.on("error", end);
  client.on("end", () => end(new Error("Connection terminated")));
  try {
    await client.connect();
    return client;
  } catch (error) {
    over = true;
    void client.end().catch(() => undefined);
    throw error;
  }
}

export function dbOf(client: pg.ClientBase): Db {
  return {
    rows: async <Row>(sql: string, params?: readonly unknown[]) => (await client.query(queryOf(sql, params))).rows as Row[],
    run: async (sql, params) => (await client.query(queryOf(sql, params))).rowCount ?? 0,
  };
}

/** Reads on any of a few connections; one that died in the pool is replaced, and what was asked of it is asked again. */
export class ReadPool implements Db {
  readonly #pool: pg.Pool;
  readonly #connectionsMax: number;

  constructor(url: string, name: string, connectionsMax: number) {
    this.#connectionsMax = connectionsMax;
    const lives = { max: connectionsMax, idleTimeoutMillis: idleMsMax, maxLifetimeSeconds: lifetimeSecondsMax };
    // The pool waits for its promise, whatever its type says.
    const onConnect: (client: pg.ClientBase) => unknown = checkStillKnown;
    this.#pool = new pg.Pool({ ...connectionConfig(url, name), ...lives, onConnect });
    // The pool has taken the dead connection out already; without a listener it would end the process.
    this.#pool.on("error", () => undefined);
  }

  async rows<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]> {
    return (await this.#query(sql, params)).rows as Row[];
  }

  async run(sql: string, params?: readonly unknown[]): Promise<number> {
    return (await this.#query(sql, params)).rowCount ?? 0;
  }

  async #query(sql: string, params: readonly unknown[] | undefined): Promise<pg.QueryResult> {
    return this.#again(() => this.#pool.query(queryOf(sql, params)));
  }

  /** A server that was away leaves as many dead connections in the pool as there were; a new one that cannot be made says so at once. */
  async #again<T>(ask: () => Promise<T>): Promise<T> {
    for (let left = this.#connectionsMax; ; left -= 1) {
      try {
        return await ask();
      } catch (error) {
        if (left < 1 || !isConnectionLoss(error) || isRefusal(error)) throw asLedgerError(error);
      }
    }
  }

  /** One transaction on one connection. @param begun more statements that go out with the first one */
  transaction<T>(work: (db: Db) => Promise<T>, begun = ""): Promise<T> {
    return this.#within(`BEGIN; ${begun}`, work);
  }

  /** Reads that see one state of the database. */
  snapshot<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#within("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work);
  }

  #within<T>(begin: string, work: (db: Db) => Promise<T>): Promise<T> {
    return this.#again(() => this.#once(begin, work));
  }

  async #once<T>(begin: string, work: (db: Db) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    const breaks = (error: Error): void => void (broken = error);
    client.on("error", breaks);
    try {
      // Sent together with the first statement of the work: what fails here fails all that comes behind it.
      const begun = client.query(begin);
      begun.catch(() => undefined);
      const result = await work(dbOf(client));
      await begun;
      // What is lost from here on may be there: it is told, and not done again.
      const answer = await client.query("COMMIT").catch((error: unknown) => Promise.reject(asLedgerError(error)));
      if (answer.command !== "COMMIT") throw new Error("The transaction was taken back by PostgreSQL.");
      return result;
    } catch (error) {
      if (isConnectionLoss(error) || error instanceof LedgerUnavailable) broken ??= error as Error;
      else await client.query("ROLLBACK").catch((failed: unknown) => void (broken = failed as Error));
      throw error;
    } finally {
      client.off("error", breaks);
      client.release(broken);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
