// `signalbox help`: the help of any command, as `--help` behind it shows it.
import type { Command } from "commander";
import { commandAt, treeOf } from "../command-tree.ts";
import { CliError } from "../failure.ts";
import type { Runs } from "../session.ts";

export function addHelp(program: Command, runs: Runs): void {
  const help = program
    .command("help")
    .description("show what a command takes")
    .argument("[command...]", "its words, like: calls list");
  runs.offline(help, async (_session, words) => {
    const { path } = commandAt(treeOf(program), words);
    const known = [program.name(), ...path].join(" ");
    if (path.length < words.length)
      throw new CliError(`"${known}" has no command "${words[path.length] ?? ""}"`, { next: `${known} --help` });
    let command = program;
    for (const word of path) command = command.commands.find((child) => child.name() === word) ?? command;
    command.outputHelp();
  });
}
