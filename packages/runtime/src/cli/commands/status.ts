// `signalbox status`: is the runtime there, can it serve, and what is it doing.
import type { RuntimeStatus } from "@signalbox/client";
import type { Command } from "commander";
import { exitCodes } from "../exit-codes.ts";
import { followFlags, refuseInterval } from "../follow.ts";
import type { FollowOptions } from "../follow.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { facts } from "../table.ts";
import { instantText } from "../times.ts";
import { watch } from "../watch.ts";

export function addStatus(program: Command, runs: Runs): void {
  runs.online<FollowOptions>(
    followFlags(
      program.command("status").description("is the runtime there, and what is it doing"),
      "go on and show what changes; Ctrl-C ends it",
    ),
    (session, _args, options) =>
      options.watch === true ? watchStatus(session, options) : showStatus(session, options),
  );
}

async function showStatus(session: OnlineSession, options: FollowOptions): Promise<Outcome> {
  refuseInterval(options);
  const status = await session.client.status(session);
  session.print(status, () => statusFacts(session, status));
  return status.ready ? exitCodes.ok : exitCodes.unavailable;
}

function openCalls({ calls }: RuntimeStatus): string {
  const counted = Object.entries(calls).filter(([, count]) => count > 0);
  return counted.length === 0 ? "none" : counted.map(([state, count]) => `${count} ${state}`).join(", ");
}

const readyText = ({ ready, draining }: RuntimeStatus): string => (ready ? "yes" : draining ? "no, draining" : "no");

function statusFacts({ paint, io }: OnlineSession, status: RuntimeStatus): string {
  return facts(
    [
      ["ready", readyText(status), status.ready ? paint.green : paint.red],
      ["because", status.reasons.length === 0 ? undefined : status.reasons.join("; ")],
      ["version", status.version],
      ["replica", status.replica],
      ["started", instantText(status.started_at, io.now())],
      ["open calls", openCalls(status)],
      ["workers", String(status.workers)],
    ],
    paint.dim,
  );
}

async function watchStatus(session: OnlineSession, options: FollowOptions): Promise<Outcome> {
  await watch(session, options, {
    look: async () => [await session.client.status(session)],
    idOf: () => "runtime",
    news: (status, before) =>
      JSON.stringify(status) === JSON.stringify(before)
        ? undefined
        : {
            line: `ready: ${readyText(status)}; open calls: ${openCalls(status)}; workers: ${status.workers}`,
            paint: status.ready ? session.paint.green : session.paint.red,
          },
    picture: ([status]) => (status === undefined ? "" : statusFacts(session, status)),
  });
}
