// `signalbox status`: is the runtime there, can it serve, and what is it doing.
import type { Command } from "commander";
import { exitCodes } from "../exit-codes.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { facts } from "../table.ts";
import { instantText } from "../times.ts";

export function addStatus(program: Command, runs: Runs): void {
  runs.online(program.command("status").description("is the runtime there, and what is it doing"), showStatus);
}

async function showStatus(session: OnlineSession): Promise<Outcome> {
  const { paint, io } = session;
  const status = await session.client.status(session);
  const calls = Object.entries(status.calls)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ");
  session.print(status, () =>
    facts(
      [
        [
          "ready",
          status.ready ? "yes" : status.draining ? "no, draining" : "no",
          status.ready ? paint.green : paint.red,
        ],
        ["because", status.reasons.length === 0 ? undefined : status.reasons.join("; ")],
        ["version", status.version],
        ["replica", status.replica],
        ["started", instantText(status.started_at, io.now())],
        ["open calls", calls === "" ? "none" : calls],
        ["workers", String(status.workers)],
      ],
      paint.dim,
    ),
  );
  return status.ready ? exitCodes.ok : exitCodes.unavailable;
}
