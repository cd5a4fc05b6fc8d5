// The words for sessions that several commands share: lists, one session's facts, and what to do with one that waits.
import type { Session, SessionLine } from "@signalbox/client";
import { exitCodes } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { Paint } from "./paint.ts";
import type { OnlineSession } from "./session.ts";
import { facts } from "./table.ts";
import { plain, plainLine } from "./text.ts";
import { instantText, relativeText } from "./times.ts";

export const sessionStatuses = ["running", "awaiting_tool", "awaiting_approval", "awaiting_input", "completed", "failed", "cancelled"] as const;

export function paintSession(paint: Paint, status: string): (text: string) => string {
  if (status === "completed") return paint.green;
  if (status === "failed") return paint.red;
  return status === "awaiting_approval" || status === "cancelled" ? paint.yellow : paint.cyan;
}

export function sessionsTable(session: OnlineSession, lines: readonly SessionLine[]): string {
  const now = session.io.now();
  return session.table(lines, [
    { title: "SESSION", cell: (one) => one.session_id },
    { title: "STATUS", cell: (one) => one.status, paint: (text, one) => paintSession(session.paint, one.status)(text) },
    { title: "AGENT", cell: (one) => `${one.agent}@${one.version}` },
    { title: "TURN", cell: (one) => String(one.turn), align: "right" },
    { title: "TOKENS", cell: tokensText, align: "right" },
    { title: "STARTED BY", cell: (one) => one.principal },
    { title: "UPDATED", cell: (one) => relativeText(Date.parse(one.updated_at), now) },
    { title: "REASON", cell: reasonCode, shrinks: true },
  ]);
}

const reasonCode = ({ reason }: SessionLine): string => (reason === null || reason.code === "end_turn" ? "" : reason.code);

export function tokensText({ usage }: Pick<SessionLine, "usage">): string {
  return String(usage.input_tokens + usage.output_tokens);
}

export function usageText({ usage }: Pick<SessionLine, "usage">): string {
  const { input_tokens: input, output_tokens: output, model_calls: completions, tool_calls: calls } = usage;
  return `${input} tokens in, ${output} out; ${completions} completion${completions === 1 ? "" : "s"}, ${calls} call${calls === 1 ? "" : "s"}`;
}

export function reasonText({ reason }: Pick<SessionLine, "reason">): string | undefined {
  if (reason === null) return undefined;
  return reason.message === "" || reason.code === "end_turn" ? reason.code : `${reason.message} (${reason.code})`;
}

/** Name, state and all that is known of it but its words. */
export function sessionHead(paint: Paint, one: SessionLine & Partial<Pick<Session, "waiting">>, now: number): string {
  const status = paintSession(paint, one.status)(one.status);
  const waiting = one.waiting?.messages ?? 0;
  return (
    `${paint.bold(plainLine(one.session_id))}  ${plainLine(`${one.agent}@${one.version}`)}  ${status}\n` +
    facts(
      [
        ["reason", reasonText(one)],
        ["started by", one.principal],
        ["project", one.project],
        ["child of", one.parent_session_id === null ? undefined : `${one.parent_session_id} (call ${one.parent_execution_id ?? ""})`],
        ["started", instantText(one.created_at, now)],
        ["ended", one.ended_at === null ? undefined : instantText(one.ended_at, now)],
        ["deadline", one.deadline_at === null ? undefined : instantText(one.deadline_at, now)],
        ["turn", String(one.turn)],
        ["used", usageText(one)],
        ["not taken yet", waiting === 0 ? undefined : `${waiting} message${waiting === 1 ? "" : "s"}`],
      ],
      paint.dim,
    )
  );
}

/** What can be done with it as it is; undefined where nothing suggests itself. */
export function nextWithSession({ session_id: id, status, waiting }: Session): string | undefined {
  const approval = waiting.approval_ids[0];
  if (status === "awaiting_approval") return approval === undefined ? `signalbox sessions inspect ${id}` : `signalbox approvals show ${approval}`;
  if (status === "awaiting_input") return `signalbox chat --session ${id}`;
  if (status === "running" || status === "awaiting_tool") return `signalbox chat --session ${id}`;
  return status === "failed" ? `signalbox sessions inspect ${id}` : undefined;
}

export function replyText(reply: string | null, isTTY: boolean): string {
  if (reply === null || reply === "") return "";
  const text = isTTY ? plain(reply) : reply;
  return text.endsWith("\n") ? text : `${text}\n`;
}

/** How a turn has ended, as an exit code: 0 when the model had its say, 6 while it has no end. */
export function exitCodeOfSession({ status, reason }: Pick<SessionLine, "status" | "reason">): ExitCode {
  if (status === "completed") return exitCodes.ok;
  if (status === "failed" || status === "cancelled") return exitCodes.failed;
  if (status !== "awaiting_input") return exitCodes.unsettled;
  return reason === null || reason.code === "end_turn" ? exitCodes.ok : exitCodes.failed;
}
