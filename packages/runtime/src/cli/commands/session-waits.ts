// How a command waits for a session to come to rest, and what it says and ends with then.
import type { Session } from "@signalbox/client";
import type { Command } from "commander";
import { exitCodes } from "../exit-codes.ts";
import { CliError, Interrupted } from "../failure.ts";
import { pause } from "../pause.ts";
import { withProgress } from "../progress.ts";
import type { OnlineSession, Outcome } from "../session.ts";
import { exitCodeOfSession, nextWithSession, reasonText, replyText, usageText } from "../session-words.ts";
import { plainLine } from "../text.ts";
import { parseSpanMs } from "../times.ts";

export interface WaitFlags {
  readonly wait?: string;
  readonly detach?: boolean;
}

/** The runtime answers a waiting caller after this at the latest; longer waits go on by looking again. */
const firstWaitMs = 30_000;

export function waitFlags(command: Command): Command {
  return command
    .option("--wait <duration>", "wait at most this long for the answer, like 90s; without it until the turn ends or waits for people")
    .option("--detach", "do not wait: print the session's id");
}

/** Ms that the command waits; 0: not at all. */
export function waitMsOf({ wait, detach }: WaitFlags): number {
  if (wait !== undefined && detach === true) throw new CliError("--detach does not wait, so it takes no --wait", { next: "leave one out" });
  if (detach === true) return 0;
  if (wait === undefined) return Number.POSITIVE_INFINITY;
  const ms = parseSpanMs(wait);
  if (ms === undefined) throw new CliError(`--wait takes a duration like 500ms, 30s or 5m, not "${wait}"`);
  return ms;
}

export function waitedFor(waitMs: number): number {
  return Math.min(waitMs, firstWaitMs);
}

/** It works on nothing: it has ended, or waits for a message or for people. */
export function isAtRest({ status, waiting }: Session): boolean {
  if (status === "running" || status === "awaiting_tool") return false;
  return status !== "awaiting_input" || waiting.messages === 0;
}

/** Waits on, if there is time left, and tells where it stands then. */
export async function settle(session: OnlineSession, first: Session, waitMs: number): Promise<Outcome> {
  if (waitMs === 0) {
    session.print(first, () => `${plainLine(first.session_id)}\n`);
    session.remark(`next:  signalbox chat --session ${plainLine(first.session_id)}`);
    return exitCodes.ok;
  }
  try {
    const until = session.io.now() + waitMs;
    const words = `waiting for ${plainLine(first.agent)}`;
    return tell(session, await withProgress(session.io, words, () => untilRest(session, first, until)));
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(`interrupted; the session goes on\nnext:  signalbox chat --session ${plainLine(first.session_id)}`);
  }
}

async function untilRest(session: OnlineSession, first: Session, until: number): Promise<Session> {
  const { lookFirstMs, lookMsMax } = session.io.delays;
  let found = first;
  for (let pauseMs = lookFirstMs; !isAtRest(found); pauseMs *= 2) {
    const leftMs = until - session.io.now();
    if (leftMs <= 0) break;
    await pause(Math.min(pauseMs, lookMsMax, leftMs), session.signal);
    found = await session.client.sessions.get(found.session_id, session);
  }
  return found;
}

function tell(session: OnlineSession, found: Session): Outcome {
  session.print(found, () => replyText(found.reply, session.io.isTTY));
  tellEnd(session, found);
  return exitCodeOfSession(found);
}

/** Where it stands, on stderr: what a program reads of it is the answer and the exit code. */
export function tellEnd(session: OnlineSession, found: Session): void {
  const { session_id: id, status, reason } = found;
  const why = reason === null || reason.code === "end_turn" ? "" : `: ${reasonText(found) ?? ""}`;
  session.remark(session.paint.dim(plainLine(`${status}${why} · ${usageText(found)} · ${id}`)));
  const next = exitCodeOfSession(found) === exitCodes.ok ? undefined : nextWithSession(found);
  if (next !== undefined) session.remark(`next:  ${plainLine(next)}`);
}
