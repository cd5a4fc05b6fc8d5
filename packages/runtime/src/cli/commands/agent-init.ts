// `signalbox agents init`: writes a first manifest of an agent, commented for whoever changes it, and never over a file.
import type { Command } from "commander";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { agentTemplate } from "../agent-template.ts";
import { CliError } from "../failure.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { toolDomain } from "../templates.ts";

export function addAgentInit(agents: Command, runs: Runs): void {
  runs.offline(
    agents.command("init").description("write a first agent.yaml").argument("[dir]", "the folder for it", "."),
    runInit,
  );
}

async function runInit({ io, print }: Session, [dir = "."]: readonly string[]): Promise<Outcome> {
  const folder = resolve(io.cwd, dir);
  const agent = toolDomain(basename(folder));
  const path = join(folder, "agent.yaml");
  const shown = relative(io.cwd, path);
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(path, agentTemplate(agent), { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new CliError(`${shown} is there already and was left as it is`, { next: "choose another folder, or move the file away" });
  }
  print({ agent, files: [shown] }, () =>
    [
      `wrote ${shown}\n`,
      "next:\n",
      `  signalbox agents validate ${shown}\n`,
      `  signalbox agents publish ${shown}\n`,
      `  signalbox agents deploy ${agent} 1.0.0\n`,
    ].join(""),
  );
}
