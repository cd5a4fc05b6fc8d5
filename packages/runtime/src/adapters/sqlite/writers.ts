// Applies one unit inside a transaction that is open already: guards first, then the rest, its events last.
import type { DatabaseSync } from "node:sqlite";
import type { AuditDraft } from "../../ledger/audit.ts";
import type { CommitOutcome, Write } from "../../ledger/port.ts";
import { agentWriters } from "./agent-store.ts";
import { approvalWriters } from "./approval-writes.ts";
import { countWriters } from "./call-counts.ts";
import { callWriters } from "./call-writes.ts";
import { limitWriters } from "./limit-store.ts";
import { noticeWriters } from "./notice-writes.ts";
import { streamWriters } from "./stream-store.ts";
import { policyWriters } from "./policy-writes.ts";
import { statementCache } from "./reads.ts";
import { tenancyWriters } from "./record-writes.ts";
import { choiceWriters, versionWriters } from "./registry-writes.ts";
import { sessionWriters } from "./session-writes.ts";
import { eventWriter, trailWriters } from "./trail-writes.ts";
import type { PlannedUnit } from "./unit-plan.ts";
import type { UsageAdder } from "./usage-store.ts";
import { workspaceWriters } from "./workspace-store.ts";
import type { WritersOf } from "./writers-of.ts";

/** Where a unit's audit drafts go; the chain lives with the audit store. */
export interface AuditAppender {
  append(draft: AuditDraft): void;
  /** How far this transaction's chain is; for {@link undoTo}. */
  mark(): number;
  undoTo(mark: number): void;
}

export interface UnitWriter {
  /** @throws whatever a statement throws; the caller rolls back */
  apply(unit: PlannedUnit): CommitOutcome;
  /** The same behind a savepoint: an error or a refused guard leaves nothing of this unit and all of the others. */
  applyAlone(unit: PlannedUnit): CommitOutcome;
}

const applied: CommitOutcome = { applied: true };

export function unitWriter(
  db: DatabaseSync,
  audit: AuditAppender,
  usage: UsageAdder,
  inlineResultBytesMax: number,
): UnitWriter {
  const events = eventWriter(db);
  const writers: WritersOf<Write["op"]> = {
    ...callWriters(db, inlineResultBytesMax),
    ...trailWriters(db),
    ...tenancyWriters(db),
    ...versionWriters(db),
    ...choiceWriters(db),
    ...policyWriters(db),
    ...approvalWriters(db),
    ...countWriters(statementCache(db)),
    ...noticeWriters(db),
    ...streamWriters(db),
    ...workspaceWriters(db),
    ...limitWriters(db),
    ...agentWriters(db),
    ...sessionWriters(db),
    // Gathered too, till the end of the transaction.
    add_usage: ({ row }) => {
      usage.add(row);
      return true;
    },
    // The plan has gathered them.
    append_event: () => true,
    append_audit: ({ draft }) => {
      audit.append(draft);
      return true;
    },
  };
  const write = (entry: Write, unit: PlannedUnit): boolean =>
    (writers[entry.op] as (entry: Write, unit: PlannedUnit) => boolean)(entry, unit);

  const applyInOrder = (unit: PlannedUnit): CommitOutcome => {
    const { writes } = unit;
    events.number(unit);
    for (let at = 0; at < writes.length; at += 1) {
      if (!write(writes[at] as Write, unit)) return { applied: false, write: at };
    }
    events.write(unit);
    return applied;
  };

  const applyAlone = (unit: PlannedUnit): CommitOutcome => {
    const [mark, usageMark] = [audit.mark(), usage.mark()];
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
      usage.undoTo(usageMark);
      throw error;
    }
  };

  return {
    // One guard that refuses has written nothing; only a later one needs the savepoint.
    apply: (unit) => (unit.guards > 1 ? applyAlone(unit) : applyInOrder(unit)),
    applyAlone,
  };
}
