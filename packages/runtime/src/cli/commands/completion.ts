// `signalbox completion`: prints a script that completes commands and flags in a shell.
import { Argument } from "commander";
import type { Command } from "commander";
import { completionScript, shells } from "../completion.ts";
import type { CommandTree, Shell } from "../completion.ts";
import type { Runs } from "../session.ts";

export function addCompletion(program: Command, runs: Runs): void {
  const command = program
    .command("completion")
    .description("print a completion script")
    .addArgument(new Argument("<shell>", "bash: source <(signalbox completion bash)").choices(shells));
  runs.offline(command, async (session, [shell]) => {
    session.io.stdout.write(completionScript(shell as Shell, treeOf(program)));
  });
}

function treeOf(command: Command): CommandTree {
  return {
    name: command.name(),
    description: command.description(),
    options: [...command.options.flatMap(({ long }) => long ?? []), "--help"],
    commands: command.commands.map(treeOf),
  };
}
