// A ledger in memory that commits late, fails for a while, and may still write for a process that has died.
import { leaseOf } from "../../packages/runtime/src/call/lease-of.ts";
import { isTerminal, type Attempt, type Call, type CallEvent, type LateResult } from "../../packages/runtime/src/call/types.ts";
import { LedgerUnavailable, type CommitOutcome, type Unit, type Write } from "../../packages/runtime/src/ledger/port.ts";
import type { AuditDraft } from "../../packages/runtime/src/call/audit-draft.ts";
import type { UsageDelta } from "../../packages/runtime/src/schedule/types.ts";
import { ApprovalShelf, isApprovalWrite, isCounted, type ApprovalWrite } from "./approval-shelf.ts";
import type { Random } from "./random.ts";
import { isSessionWrite, SessionShelf } from "./session-shelf.ts";
import type { SimTime } from "./sim-time.ts";

interface Queued {
  readonly unit: Unit;
  readonly owner: { alive: boolean };
  resolve(outcome: CommitOutcome): void;
  reject(error: Error): void;
}

/** What the database holds; it outlives every process. */
export class SimStore {
  readonly calls = new Map<string, Call>();
  /** Leases that ended. */
  readonly attempts = new Map<string, Attempt>();
  /** `callId#fence` of every lease that a row was ever written with. */
  readonly leases = new Set<string>();
  readonly events = new Map<string, CallEvent[]>();
  readonly audit: AuditDraft[] = [];
  readonly late: LateResult[] = [];
  /** What ended calls added to the usage. */
  readonly usage: UsageDelta[] = [];
  /** Approvals with their votes, and the notices about them. */
  readonly shelf = new ApprovalShelf();
  readonly sessions = new SessionShelf();
  /** Broken rules found while writing. */
  readonly violations: string[] = [];
  readonly #time: SimTime;
  readonly #random: Random;
  readonly #queue: Queued[] = [];
  #busy = false;
  failing = false;
  /** Guards off shows that the walk finds a ledger that does not check. */
  guards = true;

  constructor(time: SimTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  commit(unit: Unit, owner: { alive: boolean }): Promise<CommitOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome>();
    this.#queue.push({ unit, owner, resolve, reject });
    this.#kick();
    return promise;
  }

  /** Units of a dead process: some reach the database all the same, in order, the rest never do. */
  crash(owner: { alive: boolean }): void {
    owner.alive = false;
    const own = this.#queue.filter((item) => item.owner === owner);
    const landing = this.#random.below(own.length + 1);
    for (const item of own.slice(landing)) this.#queue.splice(this.#queue.indexOf(item), 1);
  }

  attemptsOf(tenant: string, callId: string): readonly Attempt[] {
    const ended = [...this.attempts.values()].filter((attempt) => attempt.tenant === tenant && attempt.callId === callId);
    const call = this.calls.get(keyOf({ tenant, callId }));
    const running = call === undefined ? null : leaseOf(call);
    return running === null ? ended : [...ended, running];
  }

  /** The newest result of its own run under this key. */
  cachedResult(cacheKey: string, settledFrom: number): Call | undefined {
    const found = [...this.calls.values()].filter(
      (call) => call.cacheKey === cacheKey && call.cachedFrom === null && call.state === "succeeded" && (call.settledAt ?? 0) >= settledFrom,
    );
    return found.toSorted((a, b) => (a.settledAt ?? 0) - (b.settledAt ?? 0)).at(-1);
  }

  get idle(): boolean {
    return this.#queue.length === 0;
  }

  #kick(): void {
    if (this.#busy || this.#queue.length === 0) return;
    this.#busy = true;
    this.#time.after(this.#random.below(4), () => {
      this.#busy = false;
      const group = this.#queue.splice(0, 1 + this.#random.below(8));
      for (const item of group) this.#settle(item);
      this.#kick();
    });
  }

  #settle({ unit, owner, resolve, reject }: Queued): void {
    if (this.failing) {
      if (owner.alive) reject(new LedgerUnavailable("the disk is full"));
      return;
    }
    const outcome = this.apply(unit);
    if (owner.alive) resolve(outcome);
  }

  /** Writes the unit now, or refuses it. */
  apply(unit: Unit): CommitOutcome {
    const stopped = unit.writes.findIndex((write) => !this.#holds(write) || (this.guards && !this.#goesOn(write, unit)));
    const refusedSession = this.sessions.apply(unit);
    if (refusedSession >= 0 && (stopped < 0 || refusedSession < stopped)) return { applied: false, write: refusedSession };
    if (stopped >= 0) {
      this.sessions.takeBack();
      return { applied: false, write: stopped };
    }
    for (const write of unit.writes) if (!isSessionWrite(write)) this.#write(write);
    return { applied: true };
  }

  #holds(write: Write): boolean {
    if (write.op === "insert_call") return !this.calls.has(keyOf(write.row)) && !this.#hasKey(write.row);
    if (!this.guards) return true;
    if (isApprovalWrite(write)) return this.shelf.holds(write);
    if (write.op === "expect_count") return [...this.calls.values()].filter((call) => isCounted(write.of, call)).length === write.calls;
    if (write.op !== "update_call") return true;
    const row = this.calls.get(keyOf(write.row));
    const { state, fence, replica } = write.expect;
    return row !== undefined && row.state === state && row.fence === fence && (replica === undefined || row.replica === replica);
  }

  #hasKey({ tenant, project, idempotencyKey }: Call): boolean {
    if (idempotencyKey === null) return false;
    return [...this.calls.values()].some((row) => row.idempotencyKey === idempotencyKey && row.project === project && row.tenant === tenant);
  }

  /** As in the real ledger: what tells of a call goes on behind the events that are there, so a dead process's word cannot come in between. */
  #goesOn(write: Write, unit: Unit): boolean {
    if (write.op !== "update_call") return true;
    const { callId, tenant } = write.row;
    const told = unit.writes.filter((one) => one.op === "append_event" && one.event.callId === callId && one.event.tenant === tenant).length;
    return this.calls.get(keyOf(write.row))?.eventSeq === write.row.eventSeq - told;
  }

  #write(write: Write): void {
    switch (write.op) {
      case "insert_call":
        this.#row(write.row);
        return;
      case "update_call": {
        const before = this.calls.get(keyOf(write.row));
        if (before !== undefined && isTerminal(before.state)) this.violations.push(`${write.row.callId}: a settled call was changed`);
        if (before !== undefined && write.row.fence < before.fence) this.violations.push(`${write.row.callId}: the fence went back`);
        this.#row(changed(before, write));
        return;
      }
      case "end_attempt": {
        const key = `${keyOf(write.row)}#${write.row.fence}`;
        if (this.attempts.has(key)) this.violations.push(`${write.row.callId}: the lease ${write.row.fence} ended twice`);
        this.attempts.set(key, write.row);
        return;
      }
      case "append_event":
        return this.#event(write.event);
      case "append_audit":
        this.audit.push(write.draft);
        return;
      case "keep_late_result":
        this.late.push(write.row);
        return;
      case "add_usage":
        this.usage.push(write.row);
        return;
      case "renew_leases":
        for (const lease of write.leases) this.#renew(lease);
        return;
      case "insert_approval":
      case "update_approval":
      case "store_vote":
      case "append_notice":
        return this.#shelve(write);
      case "expect_count":
        return;
      default:
        throw new Error(`the walk's ledger knows no ${write.op}`);
    }
  }

  #shelve(write: ApprovalWrite): void {
    const broken = this.shelf.write(write);
    if (broken !== undefined) this.violations.push(broken);
  }

  #row(row: Call): void {
    this.calls.set(keyOf(row), row);
    if (row.state !== "dispatched") return;
    this.leases.add(`${row.callId}#${row.fence}`);
    const broken = this.#unanswered(row);
    if (broken !== undefined) this.violations.push(broken);
  }

  /** A call that people are asked about goes to nobody before their word is in here. */
  #unanswered({ tenant, callId, approvalId }: Call): string | undefined {
    if (approvalId === null) return undefined;
    const approval = this.shelf.approval(tenant, approvalId)?.approval;
    // Who resolves an unknown end by hand closes the question about it without answering it.
    const mayGo = approval !== undefined && (approval.state === "approved" || (approval.subject.kind === "resolve" && approval.state !== "pending"));
    return mayGo ? undefined : `${callId}: dispatched, and its approval ${approvalId} is ${approval?.state ?? "not there"}`;
  }

  #renew(lease: { tenant: string; callId: string; fence: number; leaseExpiresAt: number }): void {
    const row = this.calls.get(keyOf(lease));
    if (row !== undefined && row.fence === lease.fence && !isTerminal(row.state)) {
      this.calls.set(keyOf(lease), { ...row, leaseExpiresAt: lease.leaseExpiresAt });
    }
  }

  #event(event: CallEvent): void {
    const key = keyOf(event);
    const events = this.events.get(key) ?? [];
    if (event.seq !== events.length + 1) this.violations.push(`${event.callId}: event seq ${event.seq} follows ${events.length}`);
    events.push(event);
    this.events.set(key, events);
  }
}

/** As the real ledgers write it: what the writer has not changed stays as it is stored. */
function changed(stored: Call | undefined, { before, row }: Extract<Write, { op: "update_call" }>): Call {
  if (stored === undefined || before === undefined) return row;
  const fields = Object.entries(row).filter(([field, value]) => value !== before[field as keyof Call]);
  return { ...stored, ...Object.fromEntries(fields) };
}

export function keyOf(row: { readonly tenant: string; readonly callId: string }): string {
  return `${row.tenant}/${row.callId}`;
}
