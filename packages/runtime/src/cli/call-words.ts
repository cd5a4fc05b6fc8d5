// What lists of calls say of one call, and how they lay it out.
import type { Execution } from "@signalbox/client";
import { paintStatus } from "./paint.ts";
import type { Session } from "./session.ts";
import { durationText, relativeText } from "./times.ts";

/** From its admission to its end; empty while it is open. */
export function tookText({ created_at, settled_at }: Execution): string {
  return settled_at === null ? "" : durationText(Math.max(0, Date.parse(settled_at) - Date.parse(created_at)));
}

export function callsTable({ table, paint, io }: Session, calls: readonly Execution[]): string {
  const now = io.now();
  return table(calls, [
    { title: "EXECUTION", cell: (call) => call.execution_id },
    { title: "TOOL", cell: (call) => `${call.tool}@${call.version}`, shrinks: true },
    { title: "STATUS", cell: (call) => call.status, paint: (text, call) => paintStatus(paint, call.status)(text) },
    { title: "PRINCIPAL", cell: (call) => call.principal, shrinks: true },
    { title: "CREATED", cell: (call) => relativeText(Date.parse(call.created_at), now) },
    { title: "TOOK", cell: tookText, align: "right" },
  ]);
}
