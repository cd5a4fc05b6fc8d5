// What a unit adds to the history and the stream of sessions, checked before it is written: without holes, and counted in the session's row.
import type { Write } from "../../ledger/port.ts";

/** How much a unit adds to one session. */
export interface SessionStep {
  readonly tenant: string;
  readonly sessionId: string;
  items: number;
  events: number;
}

export function stepOf(steps: readonly SessionStep[], tenant: string, sessionId: string): SessionStep | undefined {
  return steps.find((step) => step.sessionId === sessionId && step.tenant === tenant);
}

/**
 * The row stands before what it counts, so a guard that held speaks for all of it.
 * @throws Error when the unit contradicts itself
 */
export function sessionSteps(writes: readonly Write[]): readonly SessionStep[] {
  const steps: SessionStep[] = [];
  const counts = new Map<SessionStep, { historyLength: number; eventSeq: number }>();
  const stepFor = (tenant: string, sessionId: string, what: string): SessionStep => {
    const step = stepOf(steps, tenant, sessionId);
    if (step === undefined) throw new Error(`${what} of session ${sessionId} stands in a unit that does not write the session's row`);
    return step;
  };
  for (const write of writes) {
    if (write.op === "insert_session" || write.op === "update_session") {
      const { tenant, sessionId, historyLength, eventSeq } = write.row;
      if (stepOf(steps, tenant, sessionId) !== undefined) throw new Error(`session ${sessionId} is written twice in one unit`);
      const step = { tenant, sessionId, items: 0, events: 0 };
      steps.push(step);
      counts.set(step, { historyLength, eventSeq });
    } else if (write.op === "append_history") stepFor(write.tenant, write.sessionId, `item ${write.at}`).items += 1;
    else if (write.op === "append_session_event") stepFor(write.event.tenant, write.event.sessionId, `event ${write.event.seq}`).events += 1;
  }
  if (steps.length > 0) checkPlaces(writes, steps, counts);
  return steps;
}

function checkPlaces(writes: readonly Write[], steps: readonly SessionStep[], counts: ReadonlyMap<SessionStep, { historyLength: number; eventSeq: number }>): void {
  const next = new Map(
    steps.map((step) => {
      const { historyLength = 0, eventSeq = 0 } = counts.get(step) ?? {};
      return [step, { place: historyLength - step.items, seq: eventSeq - step.events + 1 }];
    }),
  );
  for (const write of writes) {
    if (write.op === "insert_session") checkFresh(write.row, stepOf(steps, write.row.tenant, write.row.sessionId));
    if (write.op !== "append_history" && write.op !== "append_session_event") continue;
    const { tenant, sessionId } = write.op === "append_history" ? write : write.event;
    const step = stepOf(steps, tenant, sessionId);
    const at = step === undefined ? undefined : next.get(step);
    if (at === undefined) continue;
    if (write.op === "append_history" && write.at !== at.place++)
      throw new Error(`item ${write.at} of session ${sessionId} is not the one that its row counts next`);
    if (write.op === "append_session_event" && write.event.seq !== at.seq++)
      throw new Error(`event ${write.event.seq} of session ${sessionId} is not the one that its row counts next`);
  }
}

function checkFresh(row: { sessionId: string; historyLength: number; eventSeq: number }, step: SessionStep | undefined): void {
  if (row.historyLength === (step?.items ?? 0) && row.eventSeq === (step?.events ?? 0)) return;
  throw new Error(`session ${row.sessionId} counts items or events that its first unit does not bring`);
}
