// One stretch of a session under one lease: takes what its inbox holds, lets the turn machine say what is next, and does it.
import type { PlainWrite } from "../../ledger/port.ts";
import { EffectFailure } from "../../session/effects/failure.ts";
import { effectKey } from "../../session/effects/envelope.ts";
import { claimOf, LedgerEffects } from "../../session/effects/ledger.ts";
import { SnapshotRefused } from "../../session/turn/snapshot.ts";
import type { Request, Response } from "../../session/turn/types.ts";
import { isEnded, type JournalRow, type Session, type SessionReason, type SessionState } from "../../session/types.ts";
import { storable } from "../invoke.ts";
import { Cancels } from "./cancels.ts";
import { envelopeOf, performRequest } from "./effects.ts";
import { journalOf } from "./journal.ts";
import { keptOf, keptText, type Kept } from "./kept.ts";
import { openMind, configFor, type Mind } from "./mind.ts";
import { cancelReason, endingOf, usageAfter } from "./notices.ts";
import { sessionTimes, type SessionPorts } from "./ports.ts";
import { LeaseLost, SessionRow, type NewEvent, type RowChange } from "./row.ts";
import { Suspended } from "./suspended.ts";
import { TurnBook } from "./turn-book.ts";
import { Wishes } from "./wishes.ts";

const deadlineMessage = "the session's deadline has passed";

/** A claim lives as long as the session's lease: it is the fence that keeps others out. */
const claimMs = 24 * 3_600_000;

export class SessionRun {
  readonly #ports: SessionPorts;
  readonly #row: SessionRow;
  readonly #wishes: Wishes;
  readonly #cancels: Cancels;
  readonly #leaving: AbortSignal;
  #mind: Mind | undefined;
  #book: TurnBook | undefined;
  #kept: Kept;
  /** The claim of the effect that is next, stored with the completion of the last. */
  #held: JournalRow | undefined;
  #tellingFailed: Error | undefined;

  constructor(ports: SessionPorts, claimed: Session, leaving: AbortSignal) {
    this.#ports = ports;
    this.#row = new SessionRow(ports, claimed);
    this.#wishes = new Wishes(ports.ledger, claimed);
    this.#leaving = leaving;
    this.#kept = keptOf(claimed.snapshotJson);
    this.#cancels = new Cancels(this.#wishes, this.#kept.cancelTaken, ports.clock);
  }

  get session(): Session {
    return this.#row.session;
  }

  /** There may be more in its inbox. */
  look(): Promise<void> {
    return this.#wishes.look();
  }

  /** Until nothing is left to do, everything waits for people, or the replica leaves. @throws LeaseLost, LedgerUnavailable */
  async go(): Promise<void> {
    try {
      await storable(this.#wishes.look());
      const { inboxTaken } = this.session;
      // Somebody looked after it for nothing.
      if (this.#kept.machine === null && this.#wishes.next(inboxTaken) === undefined && (await this.#rest())) return;
      this.#mind = await openMind(this.#ports, this.session);
      if (!(await this.#restore())) return;
      do {
        if (this.#leaving.aborted) throw new Suspended("leaving", 0);
        if (this.#book !== undefined) await this.#turn(this.#book);
      } while (!isEnded(this.session.state) && (await this.#takeWish()));
    } catch (error) {
      if (!(error instanceof Suspended)) throw error;
      await this.#letGo(error);
    }
  }

  #mustMind(): Mind {
    if (this.#mind === undefined) throw new Error("the session's agent was not read");
    return this.#mind;
  }

  /** The turn that was under way. @returns false when it cannot be gone on with, and the session has failed */
  async #restore(): Promise<boolean> {
    if (this.#kept.machine === null) return true;
    const mind = this.#mustMind();
    try {
      this.#book = TurnBook.restore(this.#kept.machine, configFor(this.session, mind, this.session.turn), mind.history);
      return true;
    } catch (error) {
      if (!(error instanceof SnapshotRefused)) throw error;
      await this.#end("failed", { code: `snapshot_${error.reason}`, message: error.message });
      return false;
    }
  }

  /** The next entry of the inbox, between two turns. @returns false when there is nothing more to do */
  async #takeWish(): Promise<boolean> {
    await storable(this.#wishes.look());
    const { session } = this;
    const entry = this.#wishes.next(session.inboxTaken);
    if (entry === undefined) return !(await this.#rest());
    const { by, seq, wish } = entry;
    if (wish.type === "message") await this.#begin({ by, text: wish.text, inboxSeq: seq });
    else if (wish.type === "complete") await this.#end("completed", { code: "completed", message: `completed by ${by}` }, seq);
    else if (wish.scope === "session") await this.#end("cancelled", cancelReason({ ...entry, wish }), seq);
    else {
      // There is no turn that it could mean.
      this.#cancels.drop(seq);
      await this.#change({ progress: { inboxTaken: seq } });
    }
    return !isEnded(this.session.state);
  }

  /** Nothing to do: a root waits for input, a child has done what it was asked. @returns false when something came meanwhile */
  async #rest(): Promise<boolean> {
    const { parentCallId, turn, reason } = this.session;
    if (this.#isOverdue()) return this.#end("failed", { code: "deadline", message: deadlineMessage });
    if (parentCallId !== "" && turn > 0) return this.#end(reason?.code === "end_turn" ? "completed" : "failed", reason ?? { code: "end_turn", message: "" });
    return this.#change({ progress: { state: "awaiting_input" }, release: true, inboxSeq: this.#wishes.seen });
  }

  #isOverdue(): boolean {
    const { deadlineAt } = this.session;
    return deadlineAt !== null && this.#ports.clock.now() >= deadlineAt;
  }

  async #begin(message: { readonly by: string; readonly text: string; readonly inboxSeq: number }): Promise<void> {
    const turn = this.session.turn + 1;
    const mind = this.#mustMind();
    const book = TurnBook.begin(configFor(this.session, mind, turn), mind.history, [message]);
    const { items, events } = book.collect();
    const started: NewEvent = { type: "turn.started", turn, step: 0, data: {} };
    this.#kept = { ...this.#kept, machine: book.snapshot(), spentMs: 0 };
    const progress = { state: "running", reason: null, turn, inboxTaken: message.inboxSeq, snapshotJson: keptText(this.#kept) } as const;
    await this.#change({ items, events: [started, ...events], progress });
    this.#wishes.forget(message.inboxSeq);
    this.#book = book;
  }

  async #turn(book: TurnBook): Promise<void> {
    while (book.request !== undefined) {
      if (this.#leaving.aborted) throw new Suspended("leaving", 0);
      await this.#perform(book, book.request);
      if (this.#tellingFailed !== undefined) throw this.#tellingFailed;
    }
    // A snapshot is never of a turn that is over; but one that is, is ended.
    if (this.#book === book) await this.#change(this.#turnEnded(book));
    this.#turnIsOver(book);
  }

  #turnIsOver(book: TurnBook): void {
    this.#mind = { ...this.#mustMind(), history: book.history };
    this.#book = undefined;
  }

  /** Crosses the door of effects: done once, and recorded in one unit with all that follows from it. */
  async #perform(book: TurnBook, request: Request): Promise<void> {
    const { ports, session } = { ports: this.#ports, session: this.session };
    const effects = new LedgerEffects<RowChange>({
      store: journalOf(ports.ledger, this.#row, { state: during(request) }),
      clock: ports.clock,
      hash: ports.hash,
      fence: session.fence,
      claimMs,
      pollMs: sessionTimes.againMs,
      waitMsMax: sessionTimes.leaseMs,
    });
    const key = effectKey(session.turn, request.id);
    let taken = false;
    const take = (response: Response, more: RowChange): RowChange => {
      book.take(response);
      taken = true;
      return merged(more, this.#after(book, request, response, more.progress?.usage));
    };
    if (this.#isOverdue() && request.type !== "RunTools") {
      await this.#change(take({ type: "Broken", id: request.id, code: "deadline", message: deadlineMessage }, {}));
      this.#book = undefined;
      return;
    }
    try {
      const outcome = await effects.execute(envelopeOf(session, this.#mustMind(), request, key), async () => {
        const { response, change } = await performRequest(this.#host(), request, key);
        return { outcome: { kind: request.type, value: response }, beside: this.#withNext(book, take(response, change)) };
      }, this.#held);
      // It was recorded and the snapshot was not: what is recorded counts.
      if (!taken) await this.#change(take(outcome.value as Response, {}));
    } catch (error) {
      if (!(error instanceof EffectFailure)) throw error;
      if (error.code === "lease_lost" || taken) throw new LeaseLost(error.message);
      // The machinery failed: the turn fails with its code, and no tool is said to have said it.
      await this.#change(take({ type: "Broken", id: request.id, code: error.code, message: error.message }, {}));
    }
    if (book.done !== undefined) this.#book = undefined;
  }

  /** What is done next is claimed in the unit that completes what was done before: one commit for both. */
  #withNext({ request }: TurnBook, change: RowChange): RowChange {
    this.#held = undefined;
    if (request === undefined) return change;
    const { session } = this;
    const now = this.#ports.clock.now();
    this.#held = claimOf(envelopeOf(session, this.#mustMind(), request, effectKey(session.turn, request.id)), this.#ports.hash, { fence: session.fence, claimMs, now });
    return merged(change, { guards: [{ op: "claim_effect", row: this.#held, now }], progress: { state: during(request) } });
  }

  #host() {
    const [ports, row, cancels, wishes, leaving, mind, kept] = [this.#ports, this.#row, this.#cancels, this.#wishes, this.#leaving, this.#mustMind(), this.#kept];
    const history = this.#book?.history ?? mind.history;
    const tell = (events: readonly NewEvent[]): void => {
      // Starts ride along with the admissions that follow them; an end is told at once.
      row.change({ events, lazy: events.every(({ type }) => type === "tool.started") }).catch((error: unknown) => {
        this.#tellingFailed ??= error instanceof Error ? error : new Error(String(error));
      });
    };
    return { ports, row, cancels, wishes, leaving, agent: mind.agent, shown: mind.surface.shown, projecting: mind.surface.projecting, history, spentMs: kept.spentMs, tell };
  }

  /** All that changes with a response: history, events, the machine's snapshot, what was used, and where the session stands now. */
  #after(book: TurnBook, request: Request, response: Response, before = this.session.usage): RowChange {
    const usage = usageAfter(before, request, response);
    if (book.done !== undefined) return merged(this.#turnEnded(book), { progress: { usage } });
    this.#kept = { machine: book.snapshot(), cancelTaken: this.#cancels.done("goes_on"), spentMs: 0 };
    return { ...book.collect(), progress: { state: "running", approvalId: null, usage, snapshotJson: keptText(this.#kept) } };
  }

  #turnEnded(book: TurnBook): RowChange {
    const { done } = book;
    if (done === undefined) throw new Error("a turn has neither a next request nor an end");
    const ending = endingOf(done, this.#cancels.carriedOut);
    this.#kept = { machine: null, cancelTaken: this.#cancels.done("is_over"), spentMs: 0 };
    const { items, events } = book.collect();
    const { turn } = this.session;
    this.#ports.meters.count("session_turns_total", { end: ending.reason.code });
    const ended: NewEvent = { type: "turn.ended", turn, step: 0, data: { end: done.end, ...ending.reason } };
    const change: RowChange = { items, events: [...events, ended], progress: { state: "running", reason: ending.reason, approvalId: null, snapshotJson: keptText(this.#kept) } };
    return ending.state === null ? change : merged(change, this.#ending(ending.state, ending.reason));
  }

  #ending(state: SessionState, reason: SessionReason): RowChange {
    const { session } = this;
    const { tenant, project, principal, sessionId, agent, agentVersion, turn } = session;
    const now = this.#ports.clock.now();
    const details = { session_id: sessionId, agent: `${agent}@${agentVersion}`, reason: reason.code };
    const audit: PlainWrite = { op: "append_audit", draft: { ts: now, tenant, project, principal, action: "session.ended", status: state, requestId: "", details } };
    return {
      events: [{ type: "session.ended", turn, step: 0, data: { status: state, ...reason } }],
      progress: { state, reason, endedAt: now, approvalId: null },
      writes: [audit],
      release: true,
    };
  }

  /** @returns false when its inbox has got more meanwhile: nothing is ended then */
  async #end(state: SessionState, reason: SessionReason, inboxTaken?: number): Promise<boolean> {
    const change = this.#ending(state, reason);
    const taken = inboxTaken === undefined ? {} : { inboxTaken };
    return this.#change({ ...change, progress: { ...change.progress, ...taken }, ...(inboxTaken === undefined && state === "completed" ? { inboxSeq: this.#wishes.seen } : {}) });
  }

  #change(change: RowChange): Promise<boolean> {
    return this.#row.change(change);
  }

  /** Nothing is recorded of the effect; what it has used of the turn's time is. */
  async #letGo({ why, activeMs }: Suspended): Promise<void> {
    this.#kept = { ...this.#kept, spentMs: this.#kept.spentMs + Math.round(activeMs) };
    const { inboxTaken } = this.session;
    // Cancels that were heard, and did not end the wait, are done with: they must not bring the session back again and again.
    if (why === "people") this.#kept = { ...this.#kept, cancelTaken: this.#cancels.done("goes_on") };
    const state = why === "people" ? "awaiting_approval" : this.session.state;
    await this.#change({ progress: { state, snapshotJson: keptText(this.#kept), inboxTaken: this.#wishes.pastCancels(inboxTaken, this.#kept.cancelTaken) }, release: true });
  }
}

/** Where a session stands while this is done for it. */
function during({ type }: Request): SessionState {
  return type === "RunTools" ? "awaiting_tool" : "running";
}

function merged(one: RowChange, other: RowChange): RowChange {
  return {
    ...one,
    ...other,
    progress: { ...one.progress, ...other.progress },
    items: [...(one.items ?? []), ...(other.items ?? [])],
    events: [...(one.events ?? []), ...(other.events ?? [])],
    guards: [...(one.guards ?? []), ...(other.guards ?? [])],
    writes: [...(one.writes ?? []), ...(other.writes ?? [])],
  };
}
