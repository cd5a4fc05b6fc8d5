// Sends workers to other replicas while this one drains: who holds nothing at once, who holds something when it is done.
import { sessionOf, type HubState } from "./state.ts";
import type { Session } from "./types.ts";

/** @param how `idle`: only those that hold nothing, and whose last words are stored. `all`: the time is up */
export function sendAway(state: HubState, how: "idle" | "all"): void {
  if (state.elsewhere.length === 0) return;
  const awaited = how === "all" ? undefined : awaiting(state);
  for (const session of state.sessions.values()) {
    if (!session.registered || session.sentAway || session.identity.inProcess === true) continue;
    if (awaited !== undefined && (session.holding.size > 0 || awaited.has(session.id))) continue;
    send(state, session);
  }
}

function send(state: HubState, session: Session): void {
  session.sentAway = true;
  // In turn: the workers of one replica shall not all meet at one other.
  const reconnectTo = state.elsewhere[state.sentAwayCount++ % state.elsewhere.length] ?? "";
  state.out.push({ type: "send", session: session.id, message: { type: "go_away", reason: "the runtime drains", reconnectTo } });
}

/** Sessions that something is still owed to: it is said when a unit is stored. */
function awaiting(state: HubState): ReadonlySet<number> {
  const sessions = new Set<number>();
  for (const { entry, session } of state.tickets.values()) {
    const owed = session > 0 ? session : entry === null ? undefined : sessionOf(state, entry)?.id;
    if (owed !== undefined) sessions.add(owed);
  }
  return sessions;
}
