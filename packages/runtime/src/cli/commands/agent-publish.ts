// `signalbox agents publish`: sends manifests of agents to the runtime, each whole with its instructions.
import type { PublishedAgent } from "@signalbox/client";
import type { Command } from "commander";
import { findAgents } from "../../adapters/files/manifest-files.ts";
import type { ManifestFile } from "../../adapters/files/manifest-files.ts";
import { readDocument } from "../documents.ts";
import { exitCodes } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { reportFailure } from "../failure.ts";
import { prettyJson } from "../json.ts";
import { paintFor } from "../paint.ts";
import { givenOnly } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";

interface PublishOptions {
  readonly dryRun?: boolean;
  readonly deploy?: boolean;
  readonly comment?: string;
}

export function addAgentPublish(agents: Command, runs: Runs): void {
  runs.online<PublishOptions>(
    agents
      .command("publish")
      .description("publish versions of agents; the same manifest again changes nothing")
      .argument("<path...>", "manifests, or folders with agent.yaml or *.agent.yaml files below them")
      .option("--deploy", "let new sessions run them at once")
      .option("--dry-run", "check them against the runtime's tools, policies and agents, and store nothing")
      .option("--comment <text>", "why; kept with the change and in the audit"),
    publishAgents,
  );
}

/** Goes on after a refused manifest, so that one run tells about all of them; the first refusal gives the exit code. */
async function publishAgents(session: OnlineSession, paths: readonly string[], options: PublishOptions): Promise<Outcome> {
  const done: PublishedAgent[] = [];
  let exitCode: ExitCode = exitCodes.ok;
  for (const file of await findAgents(session.io.cwd, paths)) {
    try {
      const agent = await publish(session, file, options);
      done.push(agent);
      if (!session.json) session.io.stdout.write(publishedText(agent));
      for (const { path, message, hint } of agent.warnings) {
        const text = [path, message].filter((part) => part !== "").join(" ");
        session.remark(`warning: ${file.shown}: ${plainLine(text)}${hint === undefined ? "" : `\n    ${plainLine(hint)}`}`);
      }
    } catch (error) {
      if (session.signal.aborted) throw error;
      const { io, json } = session;
      const failed = reportFailure(error, { io, paint: paintFor(io, io.errIsTTY), json, file: file.shown });
      if (exitCode === exitCodes.ok) exitCode = failed;
    }
  }
  if (session.json) session.io.stdout.write(prettyJson({ items: done }));
  else if (done.length === 1 && done[0] !== undefined) remarkNext(session, done[0]);
  return exitCode;
}

async function publish(session: OnlineSession, file: ManifestFile, { dryRun, deploy, comment }: PublishOptions): Promise<PublishedAgent> {
  const agent = await sendAgent(session, file, givenOnly({ dryRun, comment }));
  if (deploy !== true || dryRun === true || agent.deployed) return agent;
  await session.client.agents.deploy(agent.agent, agent.version, givenOnly({ comment }), session);
  return { ...agent, deployed: true };
}

/** The runtime sees no folder: the text of a named file goes along in its place. */
export async function sendAgent(session: OnlineSession, file: ManifestFile, how: { readonly dryRun?: boolean; readonly comment?: string }): Promise<PublishedAgent> {
  const { wholeAgent } = await import("../../registry/agents/manifest.ts");
  const { document, texts } = await readDocument(file, `signalbox agents validate ${file.shown}`);
  return session.client.agents.publish(wholeAgent(document, texts) as object, how, session);
}

function publishedText({ agent, version, already_there: before, dry_run: dry, deployed }: PublishedAgent): string {
  const done = dry ? "would be published" : "is published";
  return `${plainLine(`${agent}@${version} ${before ? "was published before" : done}${deployed ? ", deployed" : ""}`)}\n`;
}

function remarkNext(session: OnlineSession, { agent, version, deployed, dry_run: dry, status }: PublishedAgent): void {
  if (!deployed && !dry && status === "published") session.remark(`next:  signalbox agents deploy ${agent} ${version}`);
}
