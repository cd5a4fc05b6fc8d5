// What one transaction gathers while its units are written, and writes once at its end: events, audit, usage, the revision of rules.
import type { AuditDraft } from "../../ledger/audit.ts";
import type { Write } from "../../ledger/port.ts";
import type { UsageDelta } from "../../schedule/types.ts";
import type { EventRange } from "../sqlite/unit-plan.ts";
import type { AuditLane, Moves } from "./audit-lane.ts";
import type { Db } from "./db.ts";
import { isSessionAppend, writeAppends, type SessionAppend } from "./session-writes.ts";
import { eventRecords, insertEventsSql } from "./trail-writes.ts";
import { addUsage } from "./usage-store.ts";

/** What the other replicas keep in memory: they read it again when the revision has grown. */
const governing: ReadonlySet<Write["op"]> = new Set<Write["op"]>([
  "insert_tenant",
  "update_tenant",
  "insert_project",
  "put_project",
  "insert_key",
  "revoke_key",
  "insert_grant",
  "revoke_grant",
  "insert_tool_version",
  "activate_tool",
  "set_tool_status",
  "put_tool_pin",
  "put_project_tool",
  "put_freeze",
  "lift_freeze",
  "insert_policy",
  "set_policy_status",
  "put_policy_default",
  "put_limit",
  "remove_limit",
]);

export const isGoverning = (op: Write["op"]): boolean => governing.has(op);

/** Of the open transaction; {@link Gathered.write} may be called more than once in it. */
export class Gathered {
  readonly tx: Db;
  readonly #lane: AuditLane;
  #events: EventRange[] = [];
  #audit: AuditDraft[] = [];
  #usage: UsageDelta[] = [];
  #appends: SessionAppend[] = [];
  #governs = false;
  #eventsWritten = 0;
  #moved: Moves = new Map();

  constructor(tx: Db, lane: AuditLane) {
    this.tx = tx;
    this.#lane = lane;
  }

  /** Takes what is written once for the whole transaction; true when it was that. */
  take(write: Write): boolean {
    if (isGoverning(write.op)) this.#governs = true;
    if (write.op === "append_audit") this.#audit.push(write.draft);
    else if (write.op === "add_usage") this.#usage.push(write.row);
    else if (isSessionAppend(write)) this.#appends.push(write);
    else return write.op === "append_event";
    return true;
  }

  tell(ranges: readonly EventRange[]): void {
    this.#events.push(...ranges);
  }

  /** What was taken and is not written yet, as a state to come back to. */
  mark() {
    const [events, audit, usage, appends] = [this.#events.length, this.#audit.length, this.#usage.length, this.#appends.length];
    return { events, audit, usage, appends, governs: this.#governs, moved: this.#moved };
  }

  undoTo(mark: ReturnType<Gathered["mark"]>): void {
    this.#events.length = Math.min(mark.events, this.#events.length);
    this.#audit.length = Math.min(mark.audit, this.#audit.length);
    this.#usage.length = Math.min(mark.usage, this.#usage.length);
    this.#appends.length = Math.min(mark.appends, this.#appends.length);
    this.#governs = mark.governs;
    this.#moved = mark.moved;
  }

  async write(): Promise<void> {
    const [events, audit, usage, appends, governs] = [this.#events, this.#audit, this.#usage, this.#appends, this.#governs];
    [this.#events, this.#audit, this.#usage, this.#appends, this.#governs] = [[], [], [], [], false];
    const sent: Promise<unknown>[] = [];
    if (events.length > 0) {
      const records = eventRecords(events, this.#eventsWritten);
      this.#eventsWritten += events.length;
      sent.push(this.tx.run(insertEventsSql, [records]));
    }
    if (audit.length > 0) sent.push(this.#lane.append(this.tx, audit, this.#moved).then((moved) => (this.#moved = moved)));
    if (governs) sent.push(this.tx.run("UPDATE revision SET revision = revision + 1"));
    sent.push(addUsage(this.tx, usage), writeAppends(this.tx, appends));
    await Promise.all(sent);
  }

  /** Ends of audit chains as this transaction leaves them. */
  get moved(): Moves {
    return this.#moved;
  }
}
