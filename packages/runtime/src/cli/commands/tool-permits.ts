// `signalbox tools quarantine|release|enable|disable|projects`: whether a tool may run at all, and for whom.
import type { ProjectTool, Quarantined } from "@signalbox/client";
import type { Command } from "commander";
import { givenOnly, pageFlags, pageOptions, remarkMore, toolAndVersion } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";
import { relativeText } from "../times.ts";

interface ReleaseOptions {
  readonly reason?: string;
}

interface QuarantineOptions {
  readonly reason: string;
}

interface ProjectOptions {
  readonly project?: string;
}

interface PageOptions {
  readonly limit?: string;
  readonly cursor?: string;
}

const versionOrAll = "its name for all versions, or name@version";

export function addToolPermits(tools: Command, runs: Runs): void {
  runs.operator<QuarantineOptions>(
    tools
      .command("quarantine")
      .description("let a tool run no more, and deny what waits for it; what runs goes on")
      .argument("<tool>", versionOrAll)
      .requiredOption("--reason <text>", "why; kept in the audit"),
    quarantineTool,
  );
  runs.operator<ReleaseOptions>(
    tools
      .command("release")
      .description("lift a quarantine")
      .argument("<tool>", versionOrAll)
      .option("--reason <text>", "why; kept in the audit"),
    releaseTool,
  );
  const project = ["--project <project>", "the project; without it the key's"] as const;
  runs.operator<ProjectOptions>(
    tools
      .command("enable")
      .description("let a project use a tool")
      .argument("<tool>")
      .option(...project),
    (session, args, options) => permit(session, args, options, true),
  );
  runs.operator<ProjectOptions>(
    tools
      .command("disable")
      .description("keep a project from using a tool")
      .argument("<tool>")
      .option(...project),
    (session, args, options) => permit(session, args, options, false),
  );
  runs.operator<PageOptions>(
    pageOptions(tools.command("projects").description("which project was told that it may, or may not, use a tool")),
    listStates,
  );
}

async function quarantineTool(
  session: OnlineSession,
  args: readonly string[],
  { reason }: QuarantineOptions,
): Promise<Outcome> {
  const { tool, version } = toolAndVersion(args[0] ?? "", undefined);
  session.about.tool = tool;
  const done = await session.client.tools.quarantine(tool, { ...givenOnly({ version }), reason }, session);
  const calls = done.denied === 1 ? "1 call that waited is denied" : `${done.denied} calls that waited are denied`;
  session.print(done, () => `${quarantinedText(done, "in quarantine")}; ${calls}\n`);
  session.remark(`next:  signalbox tools release ${args[0] ?? ""}   (when it may run again)`);
}

async function releaseTool(
  session: OnlineSession,
  args: readonly string[],
  { reason }: ReleaseOptions,
): Promise<Outcome> {
  const { tool, version } = toolAndVersion(args[0] ?? "", undefined);
  session.about.tool = tool;
  const done = await session.client.tools.release(tool, givenOnly({ version, reason }), session);
  session.print(done, () => `${quarantinedText(done, "out of quarantine")}\n`);
}

function quarantinedText({ tool, versions }: Quarantined, where: string): string {
  const names = versions.map((version) => `${tool}@${version}`);
  if (names.length === 0) return plainLine(`nothing has changed: no version of ${tool} was concerned`);
  return plainLine(`${names.join(", ")} ${names.length === 1 ? "is" : "are"} ${where}`);
}

async function permit(
  session: OnlineSession,
  [tool = ""]: readonly string[],
  { project }: ProjectOptions,
  enabled: boolean,
): Promise<Outcome> {
  session.about.tool = tool;
  const where = givenOnly({ project });
  const state = await session.client.tools[enabled ? "enable" : "disable"](tool, where, session);
  session.print(
    state,
    () => plainLine(`${state.tool} is ${state.enabled ? "enabled" : "disabled"} in project ${state.project}`) + "\n",
  );
}

async function listStates(session: OnlineSession, _args: readonly string[], options: PageOptions): Promise<Outcome> {
  const page = await session.client.tools.projectStates(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "PROJECT", cell: (one: ProjectTool) => one.project },
      { title: "TOOL", cell: (one) => one.tool, shrinks: true },
      { title: "STATE", cell: (one) => (one.enabled ? "enabled" : "disabled") },
      { title: "SINCE", cell: (one) => relativeText(Date.parse(one.changed_at), now) },
      { title: "BY", cell: (one) => one.changed_by, shrinks: true },
    ]),
  );
  if (page.items.length === 0) session.remark("nothing was said: every project may use every tool");
  remarkMore(session, page);
}
