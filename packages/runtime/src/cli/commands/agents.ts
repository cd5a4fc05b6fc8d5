// `signalbox agents`: lists agents, shows one, and says which of its versions sessions run.
import type { Agent, AgentDetail, AgentVersion } from "@signalbox/client";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import { agentAndVersion, givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, PageFlags, Runs } from "../session.ts";
import { facts } from "../table.ts";
import { plainLine } from "../text.ts";
import { durationText, instantText, relativeText } from "../times.ts";
import { addAgentDiff } from "./agent-diff.ts";
import { addAgentInit } from "./agent-init.ts";
import { addAgentPublish } from "./agent-publish.ts";
import { addAgentValidate } from "./agent-validate.ts";

interface CommentOptions {
  readonly comment?: string;
}

const nameOrBoth = "its name, or name@version";

export function addAgents(program: Command, runs: Runs): void {
  const agents = program.command("agents").description("publish agents, and choose which of their versions sessions run");
  addAgentInit(agents, runs);
  addAgentValidate(agents, runs);
  addAgentPublish(agents, runs);
  runs.online<PageFlags>(pageOptions(agents.command("list").description("the agents of this tenant")), listAgents);
  runs.online<{ readonly version?: string }>(
    agents
      .command("show")
      .alias("get")
      .description("one agent: what it may do, and which version runs")
      .argument("<agent>", nameOrBoth)
      .option("--version <version>", "another version than the one that runs"),
    showAgent,
  );
  runs.online<PageFlags>(
    pageOptions(agents.command("versions").description("its versions, the newest first").argument("<agent>")),
    listVersions,
  );
  addMoves(agents, runs);
  addEnds(agents, runs);
  addAgentDiff(agents, runs);
  runs.online(agents.command("history").description("what was done to it, the newest first").argument("<agent>"), showHistory);
}

function addMoves(agents: Command, runs: Runs): void {
  runs.online<CommentOptions>(
    commented(agents.command("deploy").description("choose the version that new sessions run").argument("<agent>", nameOrBoth).argument("[version]")),
    deployAgent,
  );
  runs.online<CommentOptions & { readonly to?: string }>(
    commented(
      agents
        .command("rollback")
        .description("go back to the version that was deployed before, or to the one that is named")
        .argument("<agent>")
        .option("--to <version>", "this version"),
    ),
    rollBackAgent,
  );
}

function addEnds(agents: Command, runs: Runs): void {
  runs.online<CommentOptions & { readonly undo?: boolean }>(
    commented(
      agents
        .command("deprecate")
        .description("let a version start no more sessions; those that run go on")
        .argument("<agent>", nameOrBoth)
        .argument("[version]")
        .option("--undo", "let it start sessions again"),
    ),
    deprecateAgent,
  );
  runs.online<CommentOptions>(
    commented(agents.command("retire").description("the same, for good").argument("<agent>", nameOrBoth).argument("[version]")),
    retireAgent,
  );
  runs.online<CommentOptions>(
    commented(agents.command("archive").description("let an agent start no more sessions; it stays in the list").argument("<agent>")),
    (session, args, options) => setArchived(session, args, options, true),
  );
  runs.online<CommentOptions>(
    commented(agents.command("unarchive").description("bring an archived agent back").argument("<agent>")),
    (session, args, options) => setArchived(session, args, options, false),
  );
}

function commented(command: Command): Command {
  return command.option("--comment <text>", "why; kept with the change and in the audit");
}

async function listAgents(session: OnlineSession, _args: readonly string[], options: PageFlags): Promise<Outcome> {
  const page = await session.client.agents.list(pageFlags(options), session);
  session.print(page, () =>
    session.table(page.items, [
      { title: "AGENT", cell: (one: Agent) => one.agent },
      { title: "DEPLOYED", cell: deployedText },
      { title: "LATEST", cell: (one) => one.latest_version },
      { title: "OWNER", cell: (one) => one.owner },
      { title: "DESCRIPTION", cell: (one) => one.description, shrinks: true },
    ]),
  );
  if (page.items.length === 0) session.remark("no agents\nnext:  signalbox agents init && signalbox agents publish agent.yaml");
  remarkMore(session, page);
}

function deployedText({ deployed_version: version, archived_at: archived }: Agent): string {
  return `${version ?? "(none)"}${archived === null ? "" : ", archived"}`;
}

async function showAgent(session: OnlineSession, args: readonly string[], options: { readonly version?: string }): Promise<Outcome> {
  const { name, version } = agentAndVersion(args[0] ?? "", options.version);
  const detail = await session.client.agents.get(name, givenOnly({ version }), session);
  session.print(detail, () => agentText(session, detail));
}

function agentText(session: OnlineSession, { version, ...agent }: AgentDetail): string {
  const { spec } = version;
  const { bold, dim } = session.paint;
  const { limits } = spec;
  const now = session.io.now();
  const orNone = (texts: readonly string[]): string => (texts.length === 0 ? "none" : texts.join(", "));
  return [
    `${bold(plainLine(`${agent.agent}@${version.version}`))}  ${plainLine(version.description)}\n\n`,
    facts(
      [
        ["deployed", deployedText(agent)],
        ["versions", agent.versions.join(", ")],
        ["status", version.status],
        ["owner", version.owner],
        ["model", `${spec.model.provider}/${spec.model.name}, at most ${spec.model.max_output_tokens} tokens an answer`],
        ["tools", orNone(spec.tools.map((one) => `${one.as} (${one.tool}@${one.version})`))],
        ["policies", orNone(spec.default_policies)],
        ["permissions", orNone(spec.permissions)],
        ["runs agents", orNone(Object.entries(version.children).map(([name, child]) => `${name}@${child}`))],
        ["one turn", `${limits.max_steps} steps, ${limits.max_tokens} tokens, ${limits.max_tool_calls} calls, ${durationText(limits.max_wall_clock_ms)}`],
        ["at a limit", limits.on_limit === "halt" ? "it halts" : "people are asked"],
        ["published", `${instantText(version.published_at, now)} by ${version.published_by}`],
        ["manifest", `sha256 ${version.manifest_digest}`],
      ],
      dim,
    ),
    `\n${bold("instructions")}\n${spec.instructions.split("\n").map(plainLine).join("\n").trimEnd()}\n`,
  ].join("");
}

async function listVersions(session: OnlineSession, [agent = ""]: readonly string[], options: PageFlags): Promise<Outcome> {
  const page = await session.client.agents.versions(agent, pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "VERSION", cell: (one) => one.version },
      { title: "STATUS", cell: (one) => `${one.status}${one.deployed ? ", deployed" : ""}` },
      { title: "MODEL", cell: (one) => one.model },
      { title: "TOOLS", cell: (one) => String(one.tools) },
      { title: "PUBLISHED", cell: (one) => relativeText(Date.parse(one.published_at), now) },
      { title: "BY", cell: (one) => one.published_by, shrinks: true },
    ]),
  );
  remarkMore(session, page);
}

/** The agent of `<agent> [version]`, and the version that it cannot do without. */
function exactly(args: readonly string[]): { readonly name: string; readonly version: string } {
  const { name, version } = agentAndVersion(args[0] ?? "", args[1]);
  if (version === undefined) throw new CliError("which version?", { next: `signalbox agents versions ${name}` });
  return { name, version };
}

async function deployAgent(session: OnlineSession, args: readonly string[], { comment }: CommentOptions): Promise<Outcome> {
  const { name, version } = exactly(args);
  const agent = await session.client.agents.deploy(name, version, givenOnly({ comment }), session);
  session.print(agent, () => plainLine(`${agent.agent}@${agent.deployed_version ?? ""} is deployed: new sessions run it`) + "\n");
}

async function rollBackAgent(session: OnlineSession, [name = ""]: readonly string[], { comment, to }: CommentOptions & { readonly to?: string }): Promise<Outcome> {
  const back = await session.client.agents.rollBack(name, givenOnly({ comment, version: to }), session);
  session.print(back, () => plainLine(`${back.agent}@${back.deployed_version ?? ""} is deployed, not ${back.from}`) + "\n");
}

async function deprecateAgent(session: OnlineSession, args: readonly string[], { comment, undo }: CommentOptions & { readonly undo?: boolean }): Promise<Outcome> {
  const { name, version } = exactly(args);
  const row = await session.client.agents.deprecate(name, version, { ...givenOnly({ comment }), deprecated: undo !== true }, session);
  tellStatus(session, row, undo === true ? "may start sessions again" : "is deprecated: it starts no more sessions");
}

async function retireAgent(session: OnlineSession, args: readonly string[], { comment }: CommentOptions): Promise<Outcome> {
  const { name, version } = exactly(args);
  const row = await session.client.agents.retire(name, version, givenOnly({ comment }), session);
  tellStatus(session, row, "is retired: it starts no more sessions");
}

function tellStatus(session: OnlineSession, row: AgentVersion, said: string): void {
  session.print(row, () => plainLine(`${row.agent}@${row.version} ${said}`) + "\n");
  if (row.deployed && row.status !== "published")
    session.remark(`warning: it is deployed: no session of ${row.agent} starts until another version is\nnext:  signalbox agents rollback ${row.agent}`);
}

async function setArchived(session: OnlineSession, [name = ""]: readonly string[], { comment }: CommentOptions, archived: boolean): Promise<Outcome> {
  const { agents } = session.client;
  const agent = await (archived ? agents.archive(name, givenOnly({ comment }), session) : agents.unarchive(name, givenOnly({ comment }), session));
  session.print(agent, () => plainLine(`${agent.agent} ${archived ? "is archived: it starts no more sessions" : "is back"}`) + "\n");
}

async function showHistory(session: OnlineSession, [agent = ""]: readonly string[]): Promise<Outcome> {
  const page = await session.client.agents.history(agent, session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "WHEN", cell: (one) => relativeText(Date.parse(one.at), now) },
      { title: "WHAT", cell: (one) => one.action.replaceAll("_", " ") },
      { title: "VERSION", cell: (one) => one.version ?? "(all)" },
      { title: "BY", cell: (one) => one.by },
      { title: "COMMENT", cell: (one) => one.comment, shrinks: true },
    ]),
  );
}
