// What a session said last, and the wait until it has something to say.
import type { Ledger } from "../../ledger/port.ts";
import { isEnded, type Session } from "../../session/types.ts";
import type { Clock } from "../ports.ts";
import type { SessionSignals } from "./signals.ts";

/** Items at the end of a history among which the last completion is. */
const tailItems = 3;
/** Nothing rests on a wake-up: who waits looks for itself this often. */
const lookMs = 1_000;

/** The text of the last completion of the last turn; null when there is none. */
export async function replyOf(ledger: Pick<Ledger, "history">, { tenant, sessionId, historyLength, turn }: Session): Promise<string | null> {
  if (historyLength === 0) return null;
  const tail = await ledger.history(tenant, sessionId, Math.max(0, historyLength - tailItems), tailItems);
  const last = tail.findLast((item) => item.type === "assistant" && item.turn === turn);
  if (last?.type !== "assistant") return null;
  return last.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

export interface WaitPorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signals: SessionSignals;
  readonly draining: AbortSignal;
}

/** Works on nothing, and has taken what was put for it. */
export function isAtRest({ state, inboxTaken }: Session, inboxSeq: number): boolean {
  if (isEnded(state)) return true;
  return (state === "awaiting_input" && inboxTaken >= inboxSeq) || state === "awaiting_approval";
}

/** Until the session rests, `ms` are over or the runtime leaves; its row as it is then. */
export function turnEnd(ports: WaitPorts, session: Session, inboxSeq: number, ms: number): Promise<Session | undefined> {
  const { draining } = ports;
  return sessionWhen(ports, session, (now) => isAtRest(now, inboxSeq) || draining.aborted, { ms, wakes: [draining] });
}

/** Until it is so, or `ms` are over; its row as it is then, undefined where there is none. @param wakes what else `isSo` may hang on */
export async function sessionWhen(
  ports: Omit<WaitPorts, "draining">,
  { tenant, sessionId }: Pick<Session, "tenant" | "sessionId">,
  isSo: (session: Session) => boolean,
  { ms, wakes }: { readonly ms: number; readonly wakes: readonly AbortSignal[] },
): Promise<Session | undefined> {
  const { ledger, clock, signals } = ports;
  const until = clock.monotonic() + ms;
  let wake: () => void = () => {};
  let changed = true;
  const look = (): void => {
    changed = true;
    wake();
  };
  const stop = signals.listen(tenant, sessionId, { changed: look, delta: () => undefined });
  for (const signal of wakes) signal.addEventListener("abort", look);
  try {
    for (;;) {
      changed = false;
      const session = await ledger.session(tenant, sessionId);
      const left = until - clock.monotonic();
      if (session === undefined || isSo(session) || left <= 0) return session;
      if (changed) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const takeBack = clock.after(Math.min(left, lookMs), resolve);
      await promise;
      takeBack();
    }
  } finally {
    stop();
    for (const signal of wakes) signal.removeEventListener("abort", look);
  }
}
