// The row of a session that is driven here: every change is one unit under its fence, numbered as it is handed to the ledger.
import type { GuardedWrite, Ledger, PlainWrite } from "../../ledger/port.ts";
import type { HistoryItem, Session, SessionEvent, SessionProgress } from "../../session/types.ts";
import type { Clock } from "../ports.ts";
import type { SessionSignals } from "./signals.ts";

export interface RowPorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signals: SessionSignals;
  readonly wakeOthers?: (tenant: string, sessionId: string) => void;
}

export type NewEvent = Pick<SessionEvent, "type" | "turn" | "step"> & { readonly data: Readonly<Record<string, unknown>> };

/** What changes together. */
export interface RowChange {
  readonly progress?: Partial<Omit<SessionProgress, "eventSeq" | "historyLength" | "updatedAt">>;
  readonly items?: readonly HistoryItem[];
  readonly events?: readonly NewEvent[];
  readonly guards?: readonly GuardedWrite[];
  readonly writes?: readonly PlainWrite[];
  /** It rides with the next commit. */
  readonly lazy?: boolean;
  /** The lease is given up with it. */
  readonly release?: boolean;
  /** Refused where the inbox holds more than this. */
  readonly inboxSeq?: number;
}

/** Another has the session, or it ended: whoever holds this row drops it. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

export class SessionRow {
  readonly #ports: RowPorts;
  #session: Session;
  #broken = false;

  constructor(ports: RowPorts, claimed: Session) {
    this.#ports = ports;
    this.#session = claimed;
  }

  /** As it will be stored once everything that was handed over is. */
  get session(): Session {
    return this.#session;
  }

  /**
   * Units are kept in the order of these calls; one that fails takes all behind it along, for their numbers do not fit any more.
   * @returns false where a guard besides the fence was refused; nothing is stored and the row is as before
   * @throws LeaseLost, LedgerUnavailable
   */
  async change(change: RowChange): Promise<boolean> {
    if (this.#broken) throw new LeaseLost("the session is not held here any more");
    const before = this.#session;
    const { unit, after } = unitOf(before, change, this.#ports.clock.now());
    this.#session = after;
    const { tenant, sessionId } = before;
    try {
      const outcome = await this.#ports.ledger.commit({ writes: unit, ...(change.lazy === true ? { lazy: true } : {}) });
      if (!outcome.applied && (change.inboxSeq !== undefined || outcome.write > 0) && this.#session === after) {
        this.#session = before;
        return false;
      }
      if (!outcome.applied) throw new LeaseLost(`another replica drives session ${sessionId}, or it has ended`);
    } catch (error) {
      this.#broken = true;
      throw error;
    }
    this.#ports.signals.changed(tenant, sessionId);
    this.#ports.wakeOthers?.(tenant, sessionId);
    return true;
  }
}

function unitOf(before: Session, change: RowChange, now: number): { readonly unit: readonly (GuardedWrite | PlainWrite)[]; readonly after: Session } {
  const { progress = {}, items = [], events = [], guards = [], writes = [], release = false, inboxSeq } = change;
  const { tenant, sessionId, fence } = before;
  const after: Session = {
    ...before,
    ...progress,
    historyLength: before.historyLength + items.length,
    eventSeq: before.eventSeq + events.length,
    updatedAt: now,
  };
  const numbered = events.map(({ data, ...event }, at): PlainWrite => ({
    op: "append_session_event",
    event: { ...event, tenant, sessionId, seq: before.eventSeq + 1 + at, at: now, dataJson: JSON.stringify(data) },
  }));
  const history = items.map((item, at): PlainWrite => ({ op: "append_history", tenant, sessionId, at: before.historyLength + at, item }));
  const unit = [
    { op: "update_session", expect: { fence, ...(inboxSeq === undefined ? {} : { inboxSeq }) }, release, row: after } as const,
    ...guards,
    ...history,
    ...numbered,
    ...writes,
  ];
  return { unit, after };
}
