// Applies one unit inside a transaction that is open already: guards first, then the rest, then its outbox row.
import type { DatabaseSync } from "node:sqlite";
import type { AuditDraft } from "../../ledger/audit.ts";
import type { CommitOutcome, GuardedWrite, Unit, Write } from "../../ledger/port.ts";
import { callWriters, eventWriter } from "./call-writes.ts";
import { registryWriters, tenancyWriters } from "./record-writes.ts";
import type { WritersOf } from "./writers-of.ts";

type PlainOp = Exclude<Write["op"], GuardedWrite["op"]>;

/** Written as a table, so that the compiler asks about every new kind of write. */
const guards: { readonly [Op in Write["op"]]: Op extends PlainOp ? false : true } = {
  insert_call: true,
  update_call: true,
  insert_tenant: true,
  insert_project: true,
  insert_key: true,
  revoke_key: true,
  insert_grant: true,
  revoke_grant: true,
  insert_tool_version: true,
  activate_tool: true,
  insert_attempt: false,
  update_attempt: false,
  append_event: false,
  append_audit: false,
  keep_late_result: false,
  renew_leases: false,
};

/** How many guards a unit starts with. @throws Error when a guard stands behind another write */
export function countGuards(unit: Unit): number {
  let count = 0;
  for (const [at, { op }] of unit.writes.entries()) {
    if (!guards[op]) continue;
    if (at > count) throw new Error(`${op} stands behind a plain write; guards come first in a unit`);
    count += 1;
  }
  return count;
}

/** Where a unit's audit drafts go; the chain lives with the audit store. */
export interface AuditAppender {
  append(draft: AuditDraft): void;
  /** How far this transaction's chain is; for {@link undoTo}. */
  mark(): number;
  undoTo(mark: number): void;
}

export interface UnitWriter {
  /** @throws whatever a statement throws; the caller rolls back */
  apply(unit: Unit): CommitOutcome;
  /** The same behind a savepoint: an error or a refused guard leaves nothing of this unit and all of the others. */
  applyAlone(unit: Unit): CommitOutcome;
}

const applied: CommitOutcome = { applied: true };

export function unitWriter(db: DatabaseSync, audit: AuditAppender, inlineResultBytesMax: number): UnitWriter {
  const events = eventWriter(db);
  const writers: WritersOf<Write["op"]> = {
    ...callWriters(db, inlineResultBytesMax),
    ...tenancyWriters(db),
    ...registryWriters(db),
    append_event: ({ event }) => {
      events.append(event);
      return true;
    },
    append_audit: ({ draft }) => {
      audit.append(draft);
      return true;
    },
  };
  const write = (entry: Write): boolean => (writers[entry.op] as (entry: Write) => boolean)(entry);

  const applyInOrder = (unit: Unit): CommitOutcome => {
    events.drop();
    for (const [at, entry] of unit.writes.entries()) {
      if (!write(entry)) return { applied: false, write: at };
    }
    events.end();
    return applied;
  };

  const applyAlone = (unit: Unit): CommitOutcome => {
    const mark = audit.mark();
    db.exec("SAVEPOINT unit");
    try {
      const outcome = applyInOrder(unit);
      if (!outcome.applied) db.exec("ROLLBACK TO unit");
      db.exec("RELEASE unit");
      return outcome;
    } catch (error) {
      // A full disk has ended the whole transaction already, and the savepoint with it.
      if (db.isTransaction) db.exec("ROLLBACK TO unit; RELEASE unit");
      audit.undoTo(mark);
      throw error;
    }
  };

  return {
    // One guard that refuses has written nothing; only a later one needs the savepoint.
    apply: (unit) => (countGuards(unit) > 1 ? applyAlone(unit) : applyInOrder(unit)),
    applyAlone,
  };
}
