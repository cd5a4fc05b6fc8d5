// `signalbox workers`: who is connected, and what they offer.
import type { Worker } from "@signalbox/client";
import type { Command } from "commander";
import { pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, PageFlags, Runs } from "../session.ts";
import { relativeText } from "../times.ts";

export function addWorkers(program: Command, runs: Runs): void {
  const workers = program.command("workers").description("see who is connected");
  runs.online<PageFlags>(pageOptions(workers.command("list").description("every worker, its load and the tools that it offers")), listWorkers);
}

async function listWorkers(session: OnlineSession, _args: readonly string[], options: PageFlags): Promise<Outcome> {
  const page = await session.client.workers.list(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "WORKER", cell: (worker) => worker.worker_id },
      { title: "STATE", cell: (worker) => worker.state },
      { title: "LOAD", cell: (worker) => `${worker.holding}/${worker.capacity}`, align: "right" },
      { title: "HEARD", cell: (worker) => relativeText(Date.parse(worker.last_heard_at), now) },
      { title: "TOOLS", cell: toolsText, shrinks: true },
    ]),
  );
  if (page.items.length === 0)
    session.remark("no worker is connected\nnext:  signalbox init hello   (an example of one)");
  remarkMore(session, page);
}

function toolsText({ handlers, boxes }: Worker): string {
  const offers = handlers.map(({ tool, version }) => `${tool}@${version}`);
  return [...offers, ...boxes.map((name) => `boxes: ${name}`)].join(", ");
}
