// Says what may stand at the end of an unfinished command line, from the tree of commands alone.
import { commandAt } from "./command-tree.ts";
import type { CommandTree, OptionShape, ValueShape } from "./command-tree.ts";

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** A value that only a runtime knows. */
export interface Sought {
  readonly name: KnownName;
  /** The words that lead to the command. */
  readonly path: readonly string[];
  /** Arguments that stand before it. */
  readonly before: readonly string[];
  /** How the word begins. */
  readonly start: string;
  /** What stands before the value within the word: `--tool=`. */
  readonly prefix: string;
}

export type Wanted =
  | { readonly kind: "words"; readonly words: readonly Candidate[] }
  | { readonly kind: "names"; readonly of: Sought }
  | { readonly kind: "files" }
  | { readonly kind: "folders" };

/** What to offer, and the flags so far that say which runtime is meant. */
export interface Completing {
  readonly wanted: Wanted;
  readonly connection: { readonly url?: string; readonly key?: string; readonly platform?: true };
}

const filesOf = ["path", "cases", "file"];
const foldersOf = ["folder", "dir"];
/** Placeholders whose values a runtime knows. */
const known = [
  "tool",
  "agent",
  "from",
  "to",
  "version",
  "execution-id",
  "session-id",
  "approval-id",
  "policy",
  "name",
  "project",
  "webhook-id",
  "key-id",
  "grant-id",
  "principal",
] as const;
export type KnownName = (typeof known)[number];

/** Where a reader of the line stands. */
interface Place {
  readonly program: CommandTree;
  command: CommandTree;
  readonly path: string[];
  readonly args: string[];
  readonly given: Map<string, string>;
  /** The option whose value comes next. */
  open: OptionShape | undefined;
  /** After a bare `--` nothing is an option. */
  over: boolean;
}

/** @param words the words behind the program's name; the last one is unfinished and may be empty */
export function completing(tree: CommandTree, words: readonly string[]): Completing {
  const place: Place = {
    program: tree,
    command: tree,
    path: [],
    args: [],
    given: new Map(),
    open: undefined,
    over: false,
  };
  for (const word of words.slice(0, -1)) read(place, word);
  const { given } = place;
  const [url, key] = [given.get("--url"), given.get("--key")];
  return {
    wanted: wantedAt(place, words.at(-1) ?? ""),
    connection: {
      ...(url === undefined ? {} : { url }),
      ...(key === undefined ? {} : { key }),
      ...(given.has("--platform") ? { platform: true } : {}),
    },
  };
}

function read(place: Place, word: string): void {
  const { command, open } = place;
  if (open !== undefined && !(open.value?.many === true && isFlag(word))) {
    place.given.set(open.flags[0] ?? "", word);
    if (open.value?.many !== true) place.open = undefined;
    return;
  }
  place.open = undefined;
  if (word === "--") place.over = true;
  else if (!place.over && isFlag(word)) readFlag(place, word);
  else {
    const child = place.args.length === 0 ? command.commands.find(({ name }) => name === word) : undefined;
    if (child === undefined) place.args.push(word);
    else {
      place.command = child;
      place.path.push(word);
    }
  }
}

function readFlag(place: Place, word: string): void {
  const { flag, value } = parted(word);
  const option = place.command.options.find(({ flags }) => flags.includes(flag));
  if (option === undefined) return;
  if (option.value !== undefined && value === undefined) place.open = option;
  place.given.set(option.flags[0] ?? flag, value ?? "");
}

const isFlag = (word: string): boolean => word.startsWith("-") && word.length > 1;

function parted(word: string): { readonly flag: string; readonly value: string | undefined } {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? { flag: word, value: undefined } : { flag: word.slice(0, at), value: word.slice(at + 1) };
}

function wantedAt(place: Place, current: string): Wanted {
  const { command, open, over, args } = place;
  if (open?.value !== undefined && !(open.value.many && isFlag(current)))
    return valueAt(place, open.value, current, "");
  if (!over && current.startsWith("-")) {
    const { flag, value } = parted(current);
    const option = command.options.find(({ flags }) => flags.includes(flag));
    if (value !== undefined && option?.value !== undefined) return valueAt(place, option.value, value, `${flag}=`);
    return flagsAt(place, current);
  }
  if (command.commands.length > 0 && args.length === 0) return beginning(command.commands.map(candidateOf), current);
  const argument = command.args[args.length] ?? command.args.find(({ many }) => many);
  return argument === undefined ? flagsAt(place, current) : valueAt(place, argument, current, "");
}

const candidateOf = ({ name, description }: CommandTree): Candidate => ({ value: name, description });

function beginning(words: readonly Candidate[], start: string): Wanted {
  return { kind: "words", words: words.filter(({ value }) => value.startsWith(start)) };
}

/** Flags that stand there already are not offered again, unless they take several values one at a time. */
function flagsAt({ command, given }: Place, current: string): Wanted {
  const left = command.options.filter(({ flags, value }) => value !== undefined || !given.has(flags[0] ?? ""));
  return beginning(
    left.flatMap(({ flags, description }) =>
      flags.filter((flag) => flag.startsWith("--")).map((flag) => ({ value: flag, description })),
    ),
    current,
  );
}

function valueAt(place: Place, { name, choices }: ValueShape, start: string, prefix: string): Wanted {
  if (choices.length > 0) {
    const words = choices.map((choice) => ({ value: `${prefix}${choice}`, description: "" }));
    return beginning(words, `${prefix}${start}`);
  }
  if (name === "command")
    return beginning(commandAt(place.program, place.args).command.commands.map(candidateOf), start);
  if (filesOf.includes(name)) return { kind: "files" };
  if (foldersOf.includes(name)) return { kind: "folders" };
  const sought = known.find((one) => one === name);
  if (sought === undefined) return { kind: "words", words: [] };
  return { kind: "names", of: { name: sought, path: place.path, before: place.args, start, prefix } };
}
