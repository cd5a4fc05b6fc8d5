// Commands that a page names in passing: whether the command line has them, with those flags.
import { everyCommand, type CommandTree } from "../../packages/runtime/src/cli/command-tree.ts";
import { withoutBlocks } from "./links.ts";

/** What may stand behind each command: the names below it, and its flags. The program itself has the empty name. */
export type Commands = ReadonlyMap<string, readonly string[]>;

export function commandsOf(tree: CommandTree): Commands {
  return new Map(
    everyCommand(tree).map(({ path, command }) => [
      path.join(" "),
      [...command.commands.map(({ name }) => name), ...command.options.flatMap(({ flags }) => flags)],
    ]),
  );
}

/** @returns each command or flag that there is not, with its line */
export function unknownCommands(text: string, commands: Commands): readonly string[] {
  return withoutBlocks(text).flatMap((line, index) =>
    [...line.matchAll(/`(?:npx )?signalbox ([^`]+)`/g)].flatMap(([, said = ""]) => {
      const problem = problemOf(said.replaceAll(/'[^']*'|"[^"]*"/g, "…").split(/\s+/), commands);
      return problem === undefined ? [] : [`line ${index + 1}: signalbox ${said}: ${problem}`];
    }),
  );
}

function problemOf(words: readonly string[], commands: Commands): string | undefined {
  let path = "";
  for (const word of words) {
    const longer = path === "" ? word : `${path} ${word}`;
    const known = commands.get(path) ?? [];
    if (commands.has(longer)) path = longer;
    else if (word.startsWith("-") && !known.includes(word)) return `there is no ${word} of "${path}"`;
    else if (path === "" && !word.startsWith("-") && /^[a-z]/.test(word)) return `there is no command ${word}`;
    else if (isGroup(path, commands) && /^[a-z-]+$/.test(word)) return `there is no "${longer}"`;
  }
  return undefined;
}

function isGroup(path: string, commands: Commands): boolean {
  return path !== "" && [...commands.keys()].some((other) => other.startsWith(`${path} `));
}
