// `signalbox completion`: prints a script for a shell; and the hidden command that the script asks at every Tab.
import { Argument } from "commander";
import type { Command } from "commander";
import { treeOf } from "../command-tree.ts";
import { completeCommand, completionLines, completionScript, shells } from "../completion.ts";
import type { Shell } from "../completion.ts";
import { completing } from "../completion-words.ts";
import type { Candidate, Completing, Sought } from "../completion-words.ts";
import { findConnection } from "../config.ts";
import type { Io } from "../io.ts";
import type { Runs } from "../session.ts";

export function addCompletion(program: Command, runs: Runs): void {
  const command = program
    .command("completion")
    .description("print a script that completes commands, options and names in a shell")
    .addArgument(new Argument("<shell>", "bash: source <(signalbox completion bash)").choices(shells));
  runs.offline(command, async (session, [shell]) => {
    session.io.stdout.write(completionScript(shell as Shell));
  });
  const hidden = program.command(completeCommand, { hidden: true }).argument("[words...]").helpOption(false);
  runs.offline(hidden, async ({ io }, words) => {
    const found = completing(treeOf(program), words);
    const { wanted } = found;
    if (wanted.kind === "files" || wanted.kind === "folders") io.stdout.write(completionLines(wanted.kind, []));
    else if (wanted.kind === "words") io.stdout.write(completionLines("words", wanted.words));
    else io.stdout.write(completionLines("words", await namesOrNone(io, found, wanted.of)));
  });
}

/** Who presses Tab wants no error in the middle of a line: what cannot be had in time is left out. */
async function namesOrNone(io: Io, { connection }: Completing, sought: Sought): Promise<readonly Candidate[]> {
  try {
    const quiet = { ...io, stderr: { write: () => undefined } };
    const found = await findConnection(quiet, connection);
    const { createClient } = await import("@signalbox/client");
    const { namesFor } = await import("../completion-names.ts");
    const client = createClient({ ...found, retry: { attemptsMax: 1 } });
    return await namesFor(client, sought, { signal: AbortSignal.timeout(io.delays.completeMsMax) });
  } catch {
    return [];
  }
}
