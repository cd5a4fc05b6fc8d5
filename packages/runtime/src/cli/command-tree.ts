// The tree of commands as plain data, for completion, suggestions and the checks of the documentation.
import type { Command } from "commander";

/** Something that is typed in: an argument, or what stands behind a flag. */
export interface ValueShape {
  /** The word between the brackets: `tool`, `execution-id`. */
  readonly name: string;
  readonly choices: readonly string[];
  /** Takes all words that follow. */
  readonly many: boolean;
}

export interface OptionShape {
  /** `--file`, and `-V` where there is a short one. */
  readonly flags: readonly string[];
  readonly description: string;
  /** Undefined for a switch. */
  readonly value: ValueShape | undefined;
}

export interface CommandTree {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionShape[];
  readonly args: readonly ValueShape[];
  readonly commands: readonly CommandTree[];
}

const help: OptionShape = { flags: ["--help"], description: "show what it takes", value: undefined };

/** Hidden commands are left out. */
export function treeOf(command: Command): CommandTree {
  return {
    name: command.name(),
    description: command.description(),
    options: [
      ...command.options.map((option) => ({
        flags: [option.long, option.short].filter((flag) => typeof flag === "string"),
        description: option.description,
        value:
          option.required || option.optional
            ? {
                name: /[<[]([\w:-]+)/.exec(option.flags)?.[1] ?? "",
                choices: option.argChoices ?? [],
                many: option.variadic,
              }
            : undefined,
      })),
      help,
    ],
    args: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      choices: argument.argChoices ?? [],
      many: argument.variadic,
    })),
    commands: command.createHelp().visibleCommands(command).map(treeOf),
  };
}

/** The command that these words lead to, as far as they name commands; and how many of them did. */
export function commandAt(
  tree: CommandTree,
  words: readonly string[],
): { readonly command: CommandTree; readonly path: readonly string[] } {
  let command = tree;
  const path: string[] = [];
  for (const word of words) {
    const child = command.commands.find(({ name }) => name === word);
    if (child === undefined) break;
    command = child;
    path.push(word);
  }
  return { command, path };
}

/** Every command with the words that lead to it; the program itself has none. */
export function everyCommand(
  tree: CommandTree,
  path: readonly string[] = [],
): readonly { readonly path: readonly string[]; readonly command: CommandTree }[] {
  return [{ path, command: tree }, ...tree.commands.flatMap((child) => everyCommand(child, [...path, child.name]))];
}
