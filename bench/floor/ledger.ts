// The floor's ledger: SQLite in WAL with an fsync on every commit, and one commit for all units that have gathered.
import { DatabaseSync } from "node:sqlite";

export interface FloorLedger {
  /** One call row and two events; resolves after the fsync. */
  admit(callId: string, input: string, nowMs: number): Promise<void>;
  /** One guarded update, one event and one audit row; resolves after the fsync. */
  settle(callId: string, output: string, nowMs: number): Promise<void>;
  close(): void;
}

interface Waiting {
  readonly write: () => void;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE calls (
    call_id TEXT PRIMARY KEY, state TEXT NOT NULL, fence INTEGER NOT NULL,
    input TEXT NOT NULL, output TEXT, admitted_at INTEGER NOT NULL, settled_at INTEGER
  ) STRICT;
  CREATE TABLE events (
    call_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, ts INTEGER NOT NULL,
    PRIMARY KEY (call_id, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE audit (
    seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL, action TEXT NOT NULL, ts INTEGER NOT NULL
  ) STRICT;
`;

export function openFloorLedger(file: string): FloorLedger {
  const db = new DatabaseSync(file);
  db.exec(schema);
  const insertCall = db.prepare(
    "INSERT INTO calls (call_id, state, fence, input, admitted_at) VALUES (?, 'dispatched', 1, ?, ?)",
  );
  const insertEvent = db.prepare("INSERT INTO events (call_id, seq, type, ts) VALUES (?, ?, ?, ?)");
  const settleCall = db.prepare(
    "UPDATE calls SET state = 'succeeded', output = ?, settled_at = ? WHERE call_id = ? AND state = 'dispatched' AND fence = 1",
  );
  const insertAudit = db.prepare("INSERT INTO audit (call_id, action, ts) VALUES (?, 'call.settled', ?)");
  const commit = groupCommit(db);

  return {
    admit: (callId, input, nowMs) =>
      commit(() => {
        insertCall.run(callId, input, nowMs);
        insertEvent.run(callId, 1, "requested", nowMs);
        insertEvent.run(callId, 2, "dispatched", nowMs);
      }),
    settle: (callId, output, nowMs) =>
      commit(() => {
        if (settleCall.run(output, nowMs, callId).changes !== 1) throw new Error(`call ${callId} was settled before`);
        insertEvent.run(callId, 3, "succeeded", nowMs);
        insertAudit.run(callId, nowMs);
      }),
    close: () => db.close(),
  };
}

/** Never waits on a timer: what one turn of the event loop brought in shares one transaction. */
function groupCommit(db: DatabaseSync): (write: () => void) => Promise<void> {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const end = db.prepare("COMMIT");
  let waiting: Waiting[] = [];

  function flush(): void {
    const units = waiting;
    waiting = [];
    try {
      begin.run();
      for (const unit of units) unit.write();
      end.run();
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      for (const unit of units) unit.failed(error);
      return;
    }
    for (const unit of units) unit.done();
  }

  return (write) =>
    new Promise((done, failed) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ write, done, failed });
    });
}
