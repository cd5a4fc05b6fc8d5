// `signalbox tools pin|unpin|pins|rollback|history|deprecate`: which version of a tool answers.
import type { ToolPin } from "@signalbox/client";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore, toolAndVersion } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";
import { relativeText } from "../times.ts";

interface PageOptions {
  readonly limit?: string;
  readonly cursor?: string;
}

const nameOrBoth = "its name, or name@version";

export function addToolVersions(tools: Command, runs: Runs): void {
  runs.operator(
    tools
      .command("pin")
      .description("choose a version or a range for this tenant's callers that name none")
      .argument("<tool>", nameOrBoth)
      .argument("[version]", "1.2.0, ^1, ~1.2 …"),
    pinTool,
  );
  runs.operator(tools.command("unpin").description("take the pin away").argument("<tool>"), unpinTool);
  runs.operator<PageOptions>(pageOptions(tools.command("pins").description("every pin of this tenant")), listPins);
  runs.operator(
    tools
      .command("rollback")
      .description("make the version active that was active before, or the one that is named")
      .argument("<tool>", nameOrBoth)
      .argument("[version]"),
    rollBackTool,
  );
  runs.operator(
    tools.command("history").description("which version became active when, the newest first").argument("<tool>"),
    showHistory,
  );
  runs.operator<{ readonly undo?: boolean }>(
    tools
      .command("deprecate")
      .description("take a version out of every range; where it is named it still runs")
      .argument("<tool>", nameOrBoth)
      .argument("[version]")
      .option("--undo", "let ranges choose it again"),
    deprecateTool,
  );
}

/** The tool of `<tool> [version]`, and the version that it cannot do without. */
function exactly(session: OnlineSession, args: readonly string[]): { readonly tool: string; readonly version: string } {
  const { tool, version } = toolAndVersion(args[0] ?? "", args[1]);
  session.about.tool = tool;
  if (version === undefined) throw new CliError("which version?", { next: `signalbox tools show ${tool}` });
  return { tool, version };
}

async function pinTool(session: OnlineSession, args: readonly string[]): Promise<Outcome> {
  const { tool, version } = exactly(session, args);
  const pin = await session.client.tools.pin(tool, version, session);
  session.print(pin, () => plainLine(`${pin.tool} is pinned to ${pin.version ?? "nothing"}`) + "\n");
}

async function unpinTool(session: OnlineSession, [tool = ""]: readonly string[]): Promise<Outcome> {
  session.about.tool = tool;
  const pin = await session.client.tools.unpin(tool, session);
  session.print(pin, () => plainLine(`${pin.tool} is not pinned any more`) + "\n");
}

async function listPins(session: OnlineSession, _args: readonly string[], options: PageOptions): Promise<Outcome> {
  const page = await session.client.tools.pins(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "TOOL", cell: (pin: ToolPin) => pin.tool },
      { title: "PINNED TO", cell: (pin) => pin.version ?? "(nothing)" },
      { title: "SINCE", cell: (pin) => relativeText(Date.parse(pin.changed_at), now) },
      { title: "BY", cell: (pin) => pin.changed_by, shrinks: true },
    ]),
  );
  remarkMore(session, page);
}

async function rollBackTool(session: OnlineSession, args: readonly string[]): Promise<Outcome> {
  const { tool, version } = toolAndVersion(args[0] ?? "", args[1]);
  session.about.tool = tool;
  const back = await session.client.tools.rollBack(tool, givenOnly({ version }), session);
  session.print(back, () => plainLine(`${back.tool}@${back.active_version ?? ""} is active, not ${back.from}`) + "\n");
}

async function showHistory(session: OnlineSession, [tool = ""]: readonly string[]): Promise<Outcome> {
  session.about.tool = tool;
  const page = await session.client.tools.activations(tool, session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "VERSION", cell: (one) => one.version },
      { title: "ACTIVE FROM", cell: (one) => one.at },
      { title: "", cell: (one) => relativeText(Date.parse(one.at), now) },
      { title: "BY", cell: (one) => one.by, shrinks: true },
    ]),
  );
}

async function deprecateTool(
  session: OnlineSession,
  args: readonly string[],
  { undo }: { readonly undo?: boolean },
): Promise<Outcome> {
  const { tool, version } = exactly(session, args);
  const how = undo === true ? { deprecated: false } : {};
  const record = await session.client.tools.deprecate(tool, version, how, session);
  session.print(record, () => plainLine(`${record.tool}@${record.version} is ${record.status}`) + "\n");
}
