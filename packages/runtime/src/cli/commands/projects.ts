// `signalbox projects`: the projects of a tenant, and the environment that policies know each of them by.
import type { Command } from "commander";
import { pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";
import { relativeText } from "../times.ts";

interface PageOptions {
  readonly limit?: string;
  readonly cursor?: string;
}

interface SetOptions {
  readonly environment: string;
}

export function addProjects(program: Command, runs: Runs): void {
  const projects = program.command("projects").description("list projects and label their environment");
  runs.online<PageOptions>(pageOptions(projects.command("list").description("every project")), listProjects);
  runs.online<SetOptions>(
    projects
      .command("set")
      .description("make a project, or change its environment")
      .argument("<project>")
      .requiredOption("--environment <name>", "what policies match, like production"),
    setProject,
  );
}

async function listProjects(session: OnlineSession, _args: readonly string[], options: PageOptions): Promise<Outcome> {
  const page = await session.client.projects.list(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "PROJECT", cell: (one) => one.project },
      { title: "ENVIRONMENT", cell: (one) => (one.environment === "" ? "(none)" : one.environment) },
      { title: "CREATED", cell: (one) => relativeText(Date.parse(one.created_at), now) },
    ]),
  );
  remarkMore(session, page);
}

async function setProject(
  session: OnlineSession,
  [project = ""]: readonly string[],
  { environment }: SetOptions,
): Promise<Outcome> {
  const one = await session.client.projects.put(project, environment, session);
  session.print(one, () =>
    one.environment === ""
      ? `${plainLine(one.project)} has no environment\n`
      : `${plainLine(`${one.project} is of environment ${one.environment}`)}\n`,
  );
}
