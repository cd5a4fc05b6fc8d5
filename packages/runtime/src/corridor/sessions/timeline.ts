// Everything that a session and its children did, read from the ledger in one go.
import type { Session } from "../../session/types.ts";
import type { Timeline } from "../../service-sessions.ts";
import { storable } from "../invoke.ts";
import type { Ledger } from "../../ledger/port.ts";
import { sessionLimits } from "./ports.ts";

/** @param left how many children may still be shown, of all floors together */
export async function timelineOf({ ledger }: { readonly ledger: Ledger }, session: Session, left = { children: sessionLimits.timelineChildrenMax as number }): Promise<Timeline> {
  const { tenant, sessionId } = session;
  const max = sessionLimits.timelineItemsMax;
  const [history, calls, approvals, events] = await storable(
    Promise.all([
      ledger.history(tenant, sessionId, 0, max),
      ledger.sessionCalls(tenant, sessionId),
      ledger.sessionApprovals(tenant, sessionId),
      ledger.sessionEvents(tenant, sessionId, 0, max),
    ]),
  );
  const below = await storable(ledger.listSessions({ tenant, parentSessionId: sessionId }, Math.max(1, left.children)));
  const children: Timeline[] = [];
  for (const child of below.items.toReversed()) {
    if (left.children <= 0) break;
    left.children--;
    children.push(await timelineOf({ ledger }, child, left));
  }
  const cut = session.historyLength > history.length || session.eventSeq > events.length || calls.length > max || children.length < below.items.length || below.next !== undefined;
  return { session, history, calls: calls.slice(0, max), approvals, events, children, cut };
}
