// One reader of a session's stream: events from the ledger by their seq, and between them the pieces of answers on their way.
import type { Ledger } from "../../ledger/port.ts";
import { isEnded } from "../../session/types.ts";
import type { SessionDelta, SessionFollower, SessionTold } from "../../service-sessions.ts";
import type { Clock } from "../ports.ts";
import { sessionLimits } from "./ports.ts";
import type { SessionSignals } from "./signals.ts";

export interface FollowPorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signals: SessionSignals;
  /** Aborts when the runtime leaves. */
  readonly draining: AbortSignal;
}

/** Events that are read at once. */
const eventsAtOnce = 256;
/** Nothing durable rests on a wake-up: the reader looks for itself this often. */
const lookMs = 2_000;

type Waiting = { readonly changed: true } | { readonly delta: SessionDelta };

/**
 * A reader that is slow holds nobody up: pieces that it has no room for are dropped and told as a gap; the events are the
 * ledger's, and none of them is lost.
 */
export class SessionReader implements SessionFollower {
  readonly #ports: FollowPorts;
  readonly #tenant: string;
  readonly #sessionId: string;
  readonly #stop: () => void;
  readonly #queue: Waiting[] = [{ changed: true }];
  #cursor: number;
  #chars = 0;
  #dropped = 0;
  #over = false;
  #closed = false;
  #wake: () => void = () => {};

  /** @param afterSeq of the last event that the reader has; 0 = from the beginning */
  constructor(ports: FollowPorts, tenant: string, sessionId: string, afterSeq: number) {
    this.#ports = ports;
    this.#tenant = tenant;
    this.#sessionId = sessionId;
    this.#cursor = afterSeq;
    this.#stop = ports.signals.listen(tenant, sessionId, { changed: () => this.#changed(), delta: (delta) => this.#piece(delta) });
  }

  get over(): boolean {
    return this.#over || this.#closed || this.#ports.draining.aborted;
  }

  close(): void {
    this.#closed = true;
    this.#stop();
    this.#wake();
  }

  async next(ms: number): Promise<readonly SessionTold[]> {
    const { clock } = this.#ports;
    const until = clock.monotonic() + ms;
    for (;;) {
      const told = await this.#take();
      const left = until - clock.monotonic();
      if (told.length > 0 || this.over || left <= 0) return told;
      await this.#wait(Math.min(left, lookMs));
    }
  }

  async #wait(ms: number): Promise<void> {
    const { clock, draining } = this.#ports;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    this.#wake = wake;
    const takeBack = clock.after(ms, () => {
      if (this.#queue.length === 0) this.#queue.push({ changed: true });
      wake();
    });
    draining.addEventListener("abort", wake, { once: true });
    await promise;
    draining.removeEventListener("abort", wake);
    takeBack();
  }

  #changed(): void {
    const last = this.#queue.at(-1);
    if (last === undefined || !("changed" in last)) this.#queue.push({ changed: true });
    this.#wake();
  }

  #piece(delta: SessionDelta): void {
    if (this.#chars + delta.text.length > sessionLimits.deltaCharsMax) this.#dropped++;
    else {
      this.#chars += delta.text.length;
      this.#queue.push({ delta });
    }
    this.#wake();
  }

  async #take(): Promise<SessionTold[]> {
    const told: SessionTold[] = [];
    while (told.length < eventsAtOnce) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      if ("delta" in next) {
        this.#chars -= next.delta.text.length;
        told.push({ kind: "delta", delta: next.delta });
      } else told.push(...(await this.#events()));
    }
    if (this.#dropped > 0 && this.#queue.length === 0) {
      told.push({ kind: "gap", dropped: this.#dropped });
      this.#dropped = 0;
    }
    return told;
  }

  async #events(): Promise<SessionTold[]> {
    const read = await this.#ports.ledger.sessionEvents(this.#tenant, this.#sessionId, this.#cursor, eventsAtOnce);
    this.#cursor = read.at(-1)?.seq ?? this.#cursor;
    // A full page has more behind it, which comes before any piece.
    if (read.length === eventsAtOnce) this.#queue.unshift({ changed: true });
    else await this.#noticeEnd();
    return read.map((event) => ({ kind: "event", event }));
  }

  async #noticeEnd(): Promise<void> {
    const session = await this.#ports.ledger.session(this.#tenant, this.#sessionId);
    if (session === undefined || (isEnded(session.state) && this.#cursor >= session.eventSeq)) this.#over = true;
  }
}
