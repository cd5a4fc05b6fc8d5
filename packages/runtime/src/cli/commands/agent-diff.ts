// `signalbox agents diff`: tells field by field what differs between two versions of an agent.
import type { AgentDiff } from "@signalbox/client";
import type { Command } from "commander";
import type { Paint } from "../paint.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";

/** Lines around a change of a long text that are shown, too. */
const linesAround = 2;

export function addAgentDiff(agents: Command, runs: Runs): void {
  runs.online(
    agents
      .command("diff")
      .description("what differs between two versions, field by field")
      .argument("<agent>")
      .argument("<from>", "a version")
      .argument("<to>", "another one"),
    diffAgent,
  );
}

async function diffAgent(session: OnlineSession, [agent = "", from = "", to = ""]: readonly string[]): Promise<Outcome> {
  const diff = await session.client.agents.diff(agent, from, to, session);
  session.print(diff, () => diffText(diff, session.paint));
  if (diff.differences.length === 0) session.remark(`${agent}@${from} and ${agent}@${to} say the same`);
  if (diff.more > 0) session.remark(`${diff.more} more are not shown`);
}

export function diffText({ differences }: Pick<AgentDiff, "differences">, paint: Pick<Paint, "red" | "green" | "bold">): string {
  return differences
    .map(({ path, before, after }) => {
      const lines = typeof before === "string" && typeof after === "string" ? changedLines(before, after) : { before: shownLines(before), after: shownLines(after) };
      return [
        `${paint.bold(plainLine(path))}\n`,
        ...lines.before.map((line) => `  ${paint.red(`- ${plainLine(line)}`)}\n`),
        ...lines.after.map((line) => `  ${paint.green(`+ ${plainLine(line)}`)}\n`),
      ].join("");
    })
    .join("");
}

interface Lines {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Of long texts only the part between what is the same at the beginning and at the end. */
function changedLines(before: string, after: string): Lines {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const most = Math.min(old.length, fresh.length);
  let first = 0;
  while (first < most && old[first] === fresh[first]) first++;
  let last = 0;
  while (last < most - first && old[old.length - 1 - last] === fresh[fresh.length - 1 - last]) last++;
  const cut = (lines: readonly string[]): readonly string[] => lines.slice(Math.max(first - linesAround, 0), lines.length - Math.max(last - linesAround, 0));
  return { before: cut(old), after: cut(fresh) };
}

function linesOf(text: string): readonly string[] {
  return text.replace(/\n$/, "").split("\n");
}

function shownLines(value: unknown): readonly string[] {
  if (value === null) return [];
  return typeof value === "string" ? linesOf(value) : [JSON.stringify(value)];
}
