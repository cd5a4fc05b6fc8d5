// `signalbox policies publish`: sends policy files to the runtime, and says which tools each of them concerns.
import type { PublishedPolicy } from "@signalbox/client";
import type { Command } from "commander";
import { findPolicies } from "../../adapters/files/manifest-files.ts";
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
}

/** Names of tools in one line; the rest is counted. */
const toolsShownMax = 8;

export function addPublish(policies: Command, runs: Runs): void {
  runs.operator<PublishOptions>(
    policies
      .command("publish")
      .description("publish policies; the same document again changes nothing")
      .argument("<path...>", "policy files, or folders with *.policy.yaml or other files of kind Policy below them")
      .option("--dry-run", "check them against the runtime's tools and policies, and store nothing"),
    publishPolicies,
  );
}

/** Goes on after a refused policy, so that one run tells about all of them; the first refusal gives the exit code. */
async function publishPolicies(
  session: OnlineSession,
  paths: readonly string[],
  { dryRun }: PublishOptions,
): Promise<Outcome> {
  const done: PublishedPolicy[] = [];
  let exitCode: ExitCode = exitCodes.ok;
  for (const file of await findPolicies(session.io.cwd, paths)) {
    try {
      const { document } = await readDocument(file, `signalbox validate ${file.shown}`);
      const policy = await session.client.policies.publish(document as object, givenOnly({ dryRun }), session);
      done.push(policy);
      if (!session.json) session.io.stdout.write(publishedText(policy));
      for (const { path, message, hint } of policy.warnings) {
        const text = [path, message].filter((part) => part !== "").join(" ");
        session.remark(
          `warning: ${file.shown}: ${plainLine(text)}${hint === undefined ? "" : `\n    ${plainLine(hint)}`}`,
        );
      }
    } catch (error) {
      if (session.signal.aborted) throw error;
      const { io, json } = session;
      const failed = reportFailure(error, { io, paint: paintFor(io, io.errIsTTY), json, file: file.shown });
      if (exitCode === exitCodes.ok) exitCode = failed;
    }
  }
  if (session.json) session.io.stdout.write(prettyJson({ items: done }));
  return exitCode;
}

function publishedText(policy: PublishedPolicy): string {
  const done = policy.dry_run ? "would be published" : "is published";
  const what = policy.already_there ? "was published before" : done;
  const observes = policy.mode === "observe" ? ", observes only" : "";
  const state = policy.dry_run || policy.status === "active" ? "" : `, ${policy.status}`;
  return `${plainLine(`${policy.name}@${policy.version} ${what}${state}${observes}: ${policy.decision} for ${toolsText(policy)}`)}\n`;
}

function toolsText({ level, match, tools_hit: hit }: PublishedPolicy): string {
  if (match.tools.length === 0) return level === "attached" ? "the tools that name it" : "any tool";
  if (hit.length === 0) return "no tool that is known";
  const more = hit.length > toolsShownMax ? ` and ${hit.length - toolsShownMax} more` : "";
  return `${hit.slice(0, toolsShownMax).join(", ")}${more}`;
}
