// Applies one unit inside a transaction that is open already: guards first, then the rest.
import type { CommitOutcome, Write } from "../../ledger/port.ts";
import type { PlannedUnit } from "../sqlite/unit-plan.ts";
import { agentWriters } from "./agent-store.ts";
import { approvalWriters } from "./approval-writes.ts";
import { countWriters } from "./call-counts.ts";
import { callWriters, type CallWriteOptions } from "./call-writes.ts";
import type { Db } from "./db.ts";
import { limitWriters } from "./limit-store.ts";
import { policyWriters } from "./policy-writes.ts";
import { registryWriters } from "./registry-writes.ts";
import { sessionWriters, type SessionAppend } from "./session-writes.ts";
import { streamWriters } from "./stream-store.ts";
import { tenancyWriters } from "./tenancy-writes.ts";
import type { Gathered } from "./transaction.ts";
import { followStored, trailWriters } from "./trail-writes.ts";
import { webhookWriters } from "./webhook-writes.ts";
import { workspaceWriters } from "./workspace-store.ts";
import type { WritersOf } from "./writers-of.ts";

/** Written once for the whole transaction, see {@link Gathered}. */
type GatheredOp = "append_event" | "append_audit" | "add_usage" | SessionAppend["op"];
type Apply = (tx: Db, write: Write, unit: PlannedUnit) => Promise<boolean>;

export interface UnitWriter {
  /** @throws whatever a statement throws; the caller rolls back */
  apply(gathered: Gathered, unit: PlannedUnit): Promise<CommitOutcome>;
  /**
   * The same behind a savepoint: an error or a refused guard leaves nothing of this unit and all of the others.
   * @param whole also what is gathered is written at once, so that nothing of this unit can fail later
   */
  applyAlone(gathered: Gathered, unit: PlannedUnit, whole: boolean): Promise<CommitOutcome>;
}

const applied: CommitOutcome = { applied: true };

export function unitWriter(options: CallWriteOptions): UnitWriter {
  const writers: WritersOf<Exclude<Write["op"], GatheredOp>> = {
    ...callWriters(options),
    ...trailWriters,
    ...streamWriters,
    ...countWriters,
    ...tenancyWriters,
    ...registryWriters,
    ...policyWriters,
    ...approvalWriters,
    ...webhookWriters,
    ...limitWriters,
    ...workspaceWriters,
    ...agentWriters,
    ...sessionWriters,
  };
  const writerOf = (op: Write["op"]): Apply => {
    const writer = (writers as Readonly<Record<string, Apply>>)[op];
    if (writer === undefined) throw new Error(`the ledger has no writer for ${op}`);
    return writer;
  };

  const apply = async (gathered: Gathered, unit: PlannedUnit): Promise<CommitOutcome> => {
    const { writes } = unit;
    for (let at = 0; at < writes.length; at += 1) {
      const write = writes[at] as Write;
      if (gathered.take(write)) continue;
      if (!(await writerOf(write.op)(gathered.tx, write, unit))) return { applied: false, write: at };
    }
    await followStored(gathered.tx, unit);
    gathered.tell(unit.ranges);
    return applied;
  };

  const applyAlone = async (gathered: Gathered, unit: PlannedUnit, whole: boolean): Promise<CommitOutcome> => {
    const { tx } = gathered;
    const mark = gathered.mark();
    await tx.run("SAVEPOINT unit");
    try {
      const outcome = await apply(gathered, unit);
      if (outcome.applied) {
        if (whole) await gathered.write();
      } else {
        await tx.run("ROLLBACK TO SAVEPOINT unit");
        gathered.undoTo(mark);
      }
      await tx.run("RELEASE SAVEPOINT unit");
      return outcome;
    } catch (error) {
      gathered.undoTo(mark);
      // Fails with the connection, or leaves the transaction as it was before the unit.
      await tx.run("ROLLBACK TO SAVEPOINT unit");
      await tx.run("RELEASE SAVEPOINT unit");
      throw error;
    }
  };

  return { apply, applyAlone };
}
