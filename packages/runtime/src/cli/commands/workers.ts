// `signalbox workers`: who is connected, and what they offer, listed or watched.
import type { Worker } from "@signalbox/client";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import { followFlags, refuseInterval } from "../follow.ts";
import type { FollowOptions } from "../follow.ts";
import { pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, PageFlags, Runs } from "../session.ts";
import { relativeText } from "../times.ts";
import { watch } from "../watch.ts";

type ListOptions = PageFlags & FollowOptions;

export function addWorkers(program: Command, runs: Runs): void {
  const workers = program.command("workers").description("see who is connected");
  runs.online<ListOptions>(
    followFlags(
      pageOptions(workers.command("list").description("every worker, its load and the tools that it offers")),
      "go on and show who comes and goes; Ctrl-C ends it",
    ),
    (session, _args, options) =>
      options.watch === true ? watchWorkers(session, options) : listWorkers(session, options),
  );
}

async function listWorkers(session: OnlineSession, options: ListOptions): Promise<Outcome> {
  refuseInterval(options);
  const page = await session.client.workers.list(pageFlags(options), session);
  session.print(page, () => workersTable(session, page.items));
  if (page.items.length === 0)
    session.remark("no worker is connected\nnext:  signalbox init hello   (an example of one)");
  remarkMore(session, page);
}

function workersTable({ table, io }: OnlineSession, workers: readonly Worker[]): string {
  const now = io.now();
  return table(workers, [
    { title: "WORKER", cell: (worker) => worker.worker_id },
    { title: "STATE", cell: (worker) => worker.state },
    { title: "LOAD", cell: (worker) => `${worker.holding}/${worker.capacity}`, align: "right" },
    { title: "HEARD", cell: (worker) => relativeText(Date.parse(worker.last_heard_at), now) },
    { title: "TOOLS", cell: toolsText, shrinks: true },
  ]);
}

function toolsText({ handlers, boxes }: Worker): string {
  const offers = handlers.map(({ tool, version }) => `${tool}@${version}`);
  return [...offers, ...boxes.map((name) => `boxes: ${name}`)].join(", ");
}

/** In a pipe news is who comes, changes its state or its offer, and goes; how much it holds is not. */
async function watchWorkers(session: OnlineSession, options: ListOptions): Promise<Outcome> {
  if (options.limit !== undefined || options.cursor !== undefined)
    throw new CliError("--watch follows the whole list, so it takes neither --limit nor --cursor");
  const offer = (worker: Worker): string => `${worker.state} ${worker.capacity} ${toolsText(worker)}`;
  await watch(session, options, {
    look: async () => {
      const found: Worker[] = [];
      for await (const worker of session.client.workers.list({ limit: 100 }, session)) found.push(worker);
      return found;
    },
    idOf: (worker) => `${worker.worker_id} ${worker.incarnation}`,
    news: (worker, before) =>
      before !== undefined && offer(before) === offer(worker) ? undefined : { line: lineOf(worker, worker.state) },
    gone: async (before) => ({ row: { ...before, state: "gone" }, line: lineOf(before, "gone") }),
    picture: (workers) => workersTable(session, workers),
  });
}

function lineOf(worker: Worker, state: string): string {
  return `${worker.worker_id}  ${state.padEnd(8)}  ${worker.holding}/${worker.capacity}  ${toolsText(worker)}`;
}
