// `signalbox agents validate`: checks manifests of agents against the files beside them, or against a runtime.
import type { Command } from "commander";
import { findAgents } from "../../adapters/files/manifest-files.ts";
import type { ManifestFile } from "../../adapters/files/manifest-files.ts";
import type { PlacedProblem } from "../../adapters/files/manifest-source.ts";
import type { Problem } from "../../document/problems.ts";
import { checkAgentFile } from "../agent-check.ts";
import type { AgentFindings } from "../agent-check.ts";
import { exitCodes } from "../exit-codes.ts";
import type { Outcome, OnlineSession, Runs, Session } from "../session.ts";
import { plainLine } from "../text.ts";
import { sendAgent } from "./agent-publish.ts";

interface ValidateOptions {
  readonly server?: boolean;
}

interface Checked {
  readonly file: ManifestFile;
  readonly name: string | undefined;
  readonly problems: readonly PlacedProblem[];
  readonly warnings: readonly PlacedProblem[];
}

/** Says what a runtime has against a manifest that has no problem of its own. */
type Ask = (file: ManifestFile) => Promise<Pick<AgentFindings, "problems" | "warnings">>;

export function addAgentValidate(agents: Command, runs: Runs): void {
  const command = agents
    .command("validate")
    .description("check manifests of agents, without a runtime")
    .argument("[path...]", "manifests, or folders with agent.yaml or *.agent.yaml files below them; this folder without one")
    .option("--server", "check against the tools, policies and agents of a runtime as well; stores nothing");
  runs.either<ValidateOptions>(command, {
    offlineWhen: ({ server }) => server !== true,
    offline: (session, paths) => validate(session, paths, undefined),
    online: (session, paths) => validate(session, paths, (file) => askRuntime(session, file)),
  });
}

async function validate(session: Session, paths: readonly string[], ask: Ask | undefined): Promise<Outcome> {
  const checked: Checked[] = [];
  for (const file of await findAgents(session.io.cwd, paths.length === 0 ? ["."] : paths)) checked.push(await check(session, file, ask));
  const items = checked.map(({ file, name, problems, warnings }) => ({
    file: file.shown,
    ok: problems.length === 0,
    agent: name ?? null,
    problems: problems.map(asJson),
    warnings: warnings.map(asJson),
  }));
  session.print({ items }, () => checked.map((one) => textOf(session, one)).join(""));
  return items.every(({ ok }) => ok) ? exitCodes.ok : exitCodes.failed;
}

async function check(session: Session, file: ManifestFile, ask: Ask | undefined): Promise<Checked> {
  const { readSource } = await import("../../adapters/files/manifest-source.ts");
  const read = await readSource(file);
  if (!read.ok) return { file, name: undefined, problems: read.problems, warnings: [] };
  const { source } = read;
  const placed = (problem: Problem): PlacedProblem => ({ ...problem, line: source.lineOf(problem.path) });
  const own = await checkAgentFile(session.io, file.path, source, { policies: ask === undefined });
  const asked = ask === undefined || own.problems.length > 0 ? undefined : await ask(file);
  const known = new Set(own.warnings.map(({ path, message }) => `${path}\n${message}`));
  const more = asked?.warnings.filter(({ path, message }) => !known.has(`${path}\n${message}`)) ?? [];
  return {
    file,
    name: own.name,
    problems: [...own.problems, ...(asked?.problems ?? [])].map(placed),
    warnings: [...own.warnings, ...more].map(placed),
  };
}

async function askRuntime(session: OnlineSession, file: ManifestFile): Promise<Pick<AgentFindings, "problems" | "warnings">> {
  const { SignalboxApiError } = await import("@signalbox/client");
  try {
    return { problems: [], warnings: (await sendAgent(session, file, { dryRun: true })).warnings };
  } catch (error) {
    const problems = error instanceof SignalboxApiError ? problemsIn(error.details) : undefined;
    if (problems === undefined) throw error;
    return { problems, warnings: [] };
  }
}

function problemsIn(details: Readonly<Record<string, unknown>> | undefined): readonly Problem[] | undefined {
  const problems = details?.["problems"];
  return Array.isArray(problems) && problems.length > 0 ? (problems as readonly Problem[]) : undefined;
}

function asJson({ path, line, message, hint }: PlacedProblem): Record<string, unknown> {
  return { path, line: line ?? null, message, hint: hint ?? null };
}

function textOf({ paint }: Session, { file, name, problems, warnings }: Checked): string {
  const line = (word: string, { path, line: at, message, hint }: PlacedProblem): string => {
    const place = at === undefined ? file.shown : `${file.shown}:${at}`;
    return `${plainLine(place)}: ${word} ${plainLine(path === "" ? message : `${path} ${message}`)}\n${hint === undefined ? "" : `    ${plainLine(hint)}\n`}`;
  };
  const said = [
    ...problems.map((problem) => line(paint.red("problem:"), problem)),
    ...warnings.map((warning) => line(paint.yellow("warning:"), warning)),
  ].join("");
  return problems.length > 0 ? said : `${said}${plainLine(file.shown)}: ${paint.green("ok")}${name === undefined ? "" : ` ${plainLine(name)}`}\n`;
}
