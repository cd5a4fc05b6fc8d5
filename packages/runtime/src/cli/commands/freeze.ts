// `signalbox freeze` and `unfreeze`: the brake. Stops dispatch at once, and lets it go on.
import type { Freeze } from "@signalbox/client";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";
import { relativeText } from "../times.ts";

interface FreezeOptions {
  readonly tool?: string;
  readonly tenant?: string;
  readonly reason?: string;
  readonly list?: boolean;
  readonly limit?: string;
  readonly cursor?: string;
}

export function addFreeze(program: Command, runs: Runs): void {
  runs.operator<FreezeOptions>(
    pageOptions(
      program
        .command("freeze")
        .description("stop dispatch at once; what runs goes on")
        .option("--tool <tool>", "of this tool only; without it of all tools")
        .option("--tenant <tenant>", "of this tenant; for the platform's operator, with --platform")
        .option("--reason <text>", "why; kept in the audit")
        .option("--list", "freeze nothing: show what is frozen"),
    ),
    (session, _args, options) => (options.list === true ? listFreezes(session, options) : freeze(session, options)),
  );
  runs.operator<{ readonly tool?: string; readonly tenant?: string }>(
    program
      .command("unfreeze")
      .description("let dispatch go on")
      .option("--tool <tool>", "the freeze of this tool; without it the one of all tools")
      .option("--tenant <tenant>", "of this tenant; for the platform's operator, with --platform"),
    unfreeze,
  );
}

const what = (tool: string): string => (tool === "" ? "all tools" : tool);
const lift = ({ tenant, tool }: Freeze): string =>
  `signalbox unfreeze${tool === "" ? "" : ` --tool ${tool}`}${tenant === "platform" ? " --platform" : ""}`;

async function freeze(session: OnlineSession, { tool, tenant, reason }: FreezeOptions): Promise<Outcome> {
  if (tool !== undefined) session.about.tool = tool;
  const made = await session.client.freezes.freeze(givenOnly({ tool, tenant, reason }), session);
  session.print(made, () => `${plainLine(`dispatch of ${what(made.tool)} is frozen`)}\n`);
  session.remark(`what runs goes on\nnext:  ${plainLine(lift(made))}`);
}

async function listFreezes(session: OnlineSession, options: FreezeOptions): Promise<Outcome> {
  if (options.tool !== undefined || options.reason !== undefined)
    throw new CliError("--list freezes nothing, so it takes neither --tool nor --reason");
  const page = await session.client.freezes.list(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "FROZEN", cell: (one: Freeze) => what(one.tool) },
      { title: "OF", cell: (one) => (one.tenant === "platform" ? "every tenant" : one.tenant) },
      { title: "SINCE", cell: (one) => relativeText(Date.parse(one.at), now) },
      { title: "BY", cell: (one) => one.by, shrinks: true },
      { title: "BECAUSE", cell: (one) => one.reason, shrinks: true },
    ]),
  );
  if (page.items.length === 0) session.remark("nothing is frozen");
  remarkMore(session, page);
}

async function unfreeze(session: OnlineSession, _args: readonly string[], options: FreezeOptions): Promise<Outcome> {
  const { tool, tenant } = options;
  if (tool !== undefined) session.about.tool = tool;
  const { lifted, ...rest } = await session.client.freezes.lift(givenOnly({ tool, tenant }), session);
  session.print(
    { ...rest, lifted },
    () =>
      plainLine(lifted ? `dispatch of ${what(tool ?? "")} goes on` : `${what(tool ?? "")}: nothing was frozen here`) +
      "\n",
  );
  if (!lifted) session.remark("see what is: signalbox freeze --list");
}
