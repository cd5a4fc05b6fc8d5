// What to say of a command line that cannot be read: commander's own words, what may have been meant, and where to look.
import { everyCommand } from "./command-tree.ts";
import type { CommandTree } from "./command-tree.ts";

export interface WrongLine {
  readonly message: string;
  readonly usage: string;
  readonly next: string;
}

const meantMax = 4;

/**
 * @param text commander's, such as `error: unknown command 'chancel'`
 * @param at the words of the command that could not read the line
 */
export function wrongLine(text: string, program: CommandTree, at: readonly string[], usage: string): WrongLine {
  const message = text.trim().replace(/^error: /, "");
  const name = [program.name, ...at].join(" ");
  const meant = message.includes("(Did you mean") ? "" : meantInstead(message, program, at);
  return { message: message + meant, usage: `${name} ${usage}`, next: `${name} --help` };
}

/** Of a word that is right somewhere else. */
function meantInstead(message: string, program: CommandTree, at: readonly string[]): string {
  const command = /^unknown command '(.+)'/.exec(message)?.[1];
  if (command !== undefined) {
    const elsewhere = everyCommand(program).filter(({ path }) => path.at(-1) === command);
    return didYouMean(elsewhere.map(({ path }) => [program.name, ...path].join(" ")));
  }
  const option = /^unknown option '([^'=]+)/.exec(message)?.[1];
  if (option === undefined) return "";
  const below = everyCommand(program).filter(
    ({ path, command: one }) =>
      path.length > at.length &&
      at.every((word, index) => path[index] === word) &&
      one.options.some(({ flags }) => flags.includes(option)),
  );
  return below.length === 0 ? "" : `\n(Options of a command stand behind it: ${program.name} … ${option})`;
}

function didYouMean(lines: readonly string[]): string {
  const few = lines.slice(0, meantMax);
  if (few.length === 0) return "";
  return few.length === 1 ? `\n(Did you mean ${few.join("")}?)` : `\n(Did you mean one of ${few.join(", ")}?)`;
}
