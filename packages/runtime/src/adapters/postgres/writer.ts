// The connection that writes: one transaction at a time, replaced when it dies, and asked what became of a commit without an answer.
import type pg from "pg";
import { LedgerUnavailable } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { stayKnown } from "./migrate.ts";
import { connect, connectionConfig, dbOf } from "./pool.ts";
import { asLedgerError, isConnectionLoss } from "./store-errors.ts";

export interface WriterOptions {
  readonly url: string;
  /** Names this writer among all that were ever opened: letters, digits, `_` and `-`. */
  readonly writer: string;
  /** Wall clock, ms since 1970. */
  readonly now: () => number;
  /** Names the lock that keeps a second process out of this one's audit lane. */
  readonly lane: string;
}

/** A transaction whose COMMIT was sent and not answered; it is known by {@link Writer.ready} whether it is there. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
  readonly batch: number;
  constructor(batch: number, cause: unknown) {
    super("The connection to PostgreSQL was lost before a commit was answered.", { cause });
    this.batch = batch;
  }
}

/** Numbers that name locks of a session. */
const laneLock = 0x5167_6e63;
/** How long a new connection waits for what the one before it has locked. */
const takeOverMsMax = 5_000;
/** A server that lost its client gives back what the client had locked after half a minute. */
const sessionSettings = [
  "SET tcp_keepalives_idle = 10",
  "SET tcp_keepalives_interval = 5",
  "SET tcp_keepalives_count = 4",
  // Batches are joined with tables along their keys, whatever the statistics say: a plan that reads a whole table costs a hundred times more.
  "SET plan_cache_mode = force_generic_plan",
  "SET enable_seqscan = off",
  "SET enable_hashjoin = off",
  "SET enable_mergejoin = off",
  "SET enable_bitmapscan = off",
  "SET jit = off",
].join("; ");

/**
 * Plans are made for the tables as they are then, and a new ledger's are empty: any index seems as good as another, and one that holds all
 * calls of a tenant may be taken for the key. So they are made again when so many more transactions have been written.
 */
const replanFactor = 8;

interface Session {
  readonly client: pg.Client;
  readonly db: Db;
  lost: Error | undefined;
  /** Transactions on this connection, and at which number of them plans are made again. */
  begun: number;
  replanAt: number;
}

export class Writer {
  /** A new connection took the place of the one before it. */
  onConnected: () => void = () => undefined;
  readonly #options: WriterOptions;
  #session: Session | undefined;
  #connecting: Promise<Session> | undefined;
  /** The number of the last transaction that was begun. */
  #batch = 0;
  /** The number of the last one that is known to be committed. */
  #stored = 0;
  /** Numbers of those that were begun, lost their connection, and are not there. */
  readonly #missing = new Set<number>();
  #closed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Whether this transaction is committed; only of one that was begun before the last {@link ready}. */
  isStored(batch: number): boolean {
    return batch <= this.#stored && !this.#missing.has(batch);
  }

  /**
   * Connects where there is no connection, and finds out what became of the last transaction.
   * @throws LedgerUnavailable
   */
  async ready(): Promise<void> {
    await this.#ready();
  }

  async #ready(): Promise<Session> {
    if (this.#closed) throw new LedgerUnavailable("The ledger is closed.");
    if (this.#session !== undefined && this.#session.lost === undefined) return this.#session;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    try {
      return await this.#connecting;
    } catch (error) {
      throw asLedgerError(error);
    }
  }

  async #connect(): Promise<Session> {
    const { url, writer } = this.#options;
    const config = connectionConfig(url, `signalbox ${writer}`);
    const session: { lost: Error | undefined } = { lost: undefined };
    const client = await connect(config, (error) => (session.lost = error));
    try {
      await client.query(sessionSettings);
      await this.#takeOver(client);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#session = Object.assign(session, { client, db: dbOf(client), begun: 0, replanAt: replanFactor });
    this.onConnected();
    return this.#session;
  }

  /** Ends what is left of this writer's connection before, waits for its transaction to be over, and reads how far it came. */
  async #takeOver(client: pg.Client): Promise<void> {
    const { writer, now } = this.#options;
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND usename = current_user AND pid <> pg_backend_pid()",
      [`signalbox ${writer}`],
    );
    await client.query(`SET lock_timeout = ${takeOverMsMax}`);
    await this.#lockLane(client);
    await stayKnown(client);
    const mine = await client.query<{ batch: number }>("SELECT batch FROM writers WHERE writer = $1 FOR UPDATE", [writer]);
    await client.query("SET lock_timeout = 0");
    const stored = mine.rows[0]?.batch;
    if (stored === undefined) {
      await client.query("INSERT INTO writers (writer, batch, opened_at) VALUES ($1, 0, $2)", [writer, now()]);
    }
    this.#stored = stored ?? 0;
    if (this.#batch > this.#stored) this.#missing.add(this.#batch);
  }

  async #lockLane(client: pg.Client): Promise<void> {
    const { lane } = this.#options;
    try {
      await client.query("SELECT pg_advisory_lock($1, hashtext($2))", [laneLock, lane]);
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "55P03") throw error;
      throw new LedgerUnavailable(
        `Another process that lives uses the replica name ${lane} on this ledger.`,
        { cause: error, next: "stop it, or choose another name with --replica; of a host that vanished the name is free after half a minute" },
      );
    }
  }

  /**
   * One transaction; what `work` throws takes it back. Never two at a time.
   * @throws OutcomeUnknown when it is uncertain whether it is stored; else it is not: LedgerUnavailable, or what `work` threw
   */
  async transaction<T>(work: (tx: Db) => Promise<T>): Promise<{ readonly batch: number; readonly result: T }> {
    const session = await this.#ready();
    const batch = Math.max(this.#batch, this.#stored) + 1;
    this.#batch = batch;
    const { client } = session;
    // Sent at once with the first statement of the work; when it fails, so does everything behind it.
    const begun = client.query(`${replans(session) ? "DISCARD PLANS; " : ""}BEGIN; UPDATE writers SET batch = ${batch} WHERE writer = '${this.#options.writer}'`);
    begun.catch(() => undefined);
    let result: T;
    try {
      result = await work(session.db);
      await begun;
    } catch (error) {
      await this.#takeBack(session, error);
      throw error;
    }
    await this.#commit(session, batch);
    return { batch, result };
  }

  async #commit(session: Session, batch: number): Promise<void> {
    let answer: pg.QueryResult;
    try {
      answer = await session.client.query("COMMIT");
    } catch (error) {
      session.lost ??= error as Error;
      session.client.end().catch(() => undefined);
      throw new OutcomeUnknown(batch, error);
    }
    // A transaction that a failed statement has ended already answers so, without an error.
    if (answer.command !== "COMMIT") throw new Error("The ledger's transaction was taken back by PostgreSQL.");
    this.#stored = batch;
  }

  /** A connection that may still hold the transaction open is of no more use. */
  async #takeBack(session: Session, error: unknown): Promise<void> {
    if (!isConnectionLoss(error)) {
      const gone = await session.client.query("ROLLBACK").then(
        () => false,
        () => true,
      );
      if (!gone) return;
    }
    session.lost ??= error as Error;
    session.client.end().catch(() => undefined);
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#closed = true;
    if (session === undefined || session.lost !== undefined) return;
    await session.client.query("DELETE FROM writers WHERE writer = $1", [this.#options.writer]).catch(() => undefined);
    await session.client.end().catch(() => undefined);
  }
}

function replans(session: Session): boolean {
  session.begun += 1;
  if (session.begun < session.replanAt) return false;
  session.replanAt *= replanFactor;
  return true;
}
