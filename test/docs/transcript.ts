// Blocks that show a terminal: the commands in them, and whether what a command printed is what the page shows.

export interface Step {
  /** As it is typed, continued lines included. */
  readonly command: string;
  /** What the page shows below it. */
  readonly shown: readonly string[];
  /** How many lines of the block the command takes. */
  readonly commandLines: readonly string[];
}

/** Begins a line that is typed. */
export const prompt = "$ ";

/**
 * A command goes on in the next line after a `\` at the end of a line, inside of single quotes, and to the end of its `<<EOF`.
 * @throws Error where something stands before the first command
 */
export function readTranscript(lines: readonly string[]): readonly Step[] {
  const steps: { commandLines: string[]; shown: string[] }[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const last = steps.at(-1);
    if (line.startsWith(prompt)) {
      const commandLines = [line];
      const heredoc = /<<-?\s*'?([A-Z]\w*)'?/.exec(line)?.[1];
      const goesOn = (): boolean => {
        if (heredoc !== undefined) return commandLines.at(-1)?.trim() !== heredoc;
        const quotes = commandLines.join("\n").match(/'/g)?.length ?? 0;
        return quotes % 2 === 1 || (commandLines.at(-1) ?? "").endsWith("\\");
      };
      while (goesOn() && at + 1 < lines.length) commandLines.push(lines[++at] ?? "");
      steps.push({ commandLines, shown: [] });
    } else if (last === undefined) {
      throw new Error(`a block of a terminal begins with a command ("${prompt}…"), not with "${line}"`);
    } else last.shown.push(line);
  }
  return steps.map(({ commandLines, shown }) => ({
    command: commandLines.join("\n").slice(prompt.length),
    commandLines,
    shown,
  }));
}

/** Stands for whatever a page leaves out; alone in a line, for any number of lines. */
const left = "…";

/** Parts of a line that differ from run to run: what they look like on a page, and what may stand in their place. */
const shapes: readonly (readonly [seen: RegExp, allowed: (seen: string) => string])[] = [
  [
    /\b(?:exec|apr|key|grant|dec|req|wrk|inc|whk|dlv|box|sess|sbk|whsec)_[0-9A-Za-z]*…?/y,
    (seen) => `${/^[a-z]+_/.exec(seen)?.[0] ?? ""}[0-9A-Za-z_=+/-]+…?`,
  ],
  [/\bsha256:[0-9a-f]+…?/y, () => "sha256:[0-9a-f]+"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/y, () => String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`],
  [/\b[0-9a-f]{4,}…/y, () => "[0-9a-f]{6,}…?"],
  [/(?<![0-9a-z])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,}(?![0-9a-z])/y, () => "[0-9a-f]{12,}"],
  // Spans as they are told (`3 ms`, `23 h 59 min`, `just now`), never as they are set (`24h`).
  [
    /(?:just now|(?<![\w.])\d+(?:\.\d+)? (?:ms|s|min|h)(?: \d+ (?:min|s))*(?: ago)?)(?!\w)/y,
    () => String.raw`(?:just now|\d+(?:\.\d+)? (?:ms|s|min|h)(?: \d+ (?:min|s))*(?: ago)?)`,
  ],
  [/(?<=\w)#\d+/y, () => String.raw`#\d+`],
  // How long an audit is by now, hangs on what else the page does.
  [/\d+ records?\b/y, () => String.raw`\d+ records?`],
  [/…/y, () => ".*?"],
];

/** What a shortened name on the page (`exec_01M8…`) stood for the last time that it was shown. */
export type Names = Map<string, string>;

interface Pattern {
  readonly regex: RegExp;
  /** The shortened names, in the order of the pattern's groups. */
  readonly names: readonly string[];
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);

/** Width of columns hangs on what else stands in them, so spaces are not counted. */
const spaced = (line: string): string => line.trim().replaceAll(/\s+/g, " ");

export function patternOf(shown: string): Pattern {
  const line = spaced(shown);
  const names: string[] = [];
  let source = "";
  for (let at = 0; at < line.length;) {
    const found = firstShape(line, at);
    if (found === undefined) source += escaped(line[at++] ?? "");
    else {
      const isName = found.seen.length > left.length && found.seen.endsWith(left);
      if (isName) names.push(found.seen);
      source += isName ? `(${found.allowed})` : found.allowed;
      at += found.seen.length;
    }
  }
  return { regex: new RegExp(`^${source}$`), names };
}

function firstShape(line: string, at: number): { readonly seen: string; readonly allowed: string } | undefined {
  for (const [seen, allowed] of shapes) {
    seen.lastIndex = at;
    const text = seen.exec(line)?.[0];
    if (text !== undefined && text !== "") return { seen: text, allowed: allowed(text) };
  }
  return undefined;
}

/** @returns the names that the output gives, or undefined where it is not what is shown */
export function compare(shown: readonly string[], printed: readonly string[]): Names | undefined {
  const patterns = shown.map((line) => (line.trim() === left ? undefined : patternOf(line)));
  const texts = printed.map(spaced);
  const fits = (pattern: Pattern, text: string): boolean => pattern.regex.test(text);
  // reach[i] holds how many printed lines the first i shown lines can take.
  const taken: (number | undefined)[] = [];
  const dead = new Set<string>();
  const walk = (i: number, j: number): boolean => {
    if (i === patterns.length) return j === texts.length;
    if (dead.has(`${i} ${j}`)) return false;
    const pattern = patterns[i];
    if (pattern === undefined) {
      for (let to = j; to <= texts.length; to++) if (walk(i + 1, to)) return true;
    } else {
      const text = texts[j];
      if (text !== undefined && fits(pattern, text)) {
        taken[i] = j;
        if (walk(i + 1, j + 1)) return true;
      }
    }
    dead.add(`${i} ${j}`);
    return false;
  };
  if (!walk(0, 0)) return undefined;
  const names: Names = new Map();
  patterns.forEach((pattern, i) => {
    const found = pattern?.regex.exec(texts[taken[i] ?? -1] ?? "");
    pattern?.names.forEach((name, group) => names.set(name, found?.[group + 1] ?? name));
  });
  return names;
}

/** A command as it is typed on the page, with the real names in place of the shortened ones. @throws Error for a name that nothing has shown */
export function withRealNames(command: string, names: Names): string {
  return command.replaceAll(/(?:\b[a-z]+_[0-9A-Z]*|\bsha256:[0-9a-f]*|\b[0-9a-f]{4,})…/g, (name) => {
    const real = names.get(name);
    if (real === undefined) throw new Error(`nothing above has shown ${name}`);
    return real;
  });
}

/** What was printed, as a page shows it: long names and digests shortened. */
export function shortened(line: string): string {
  return line
    .replaceAll(/\b(exec|apr|key|grant|dec|req|wrk|inc|whk|box|sess)_[0-9A-Z]{26}\b/g, "$1_01M8…")
    .replaceAll(/\b(sbk|whsec|dlv)_[0-9A-Za-z_=+/-]{12,}/g, "$1_…")
    .replaceAll(/\b(sha256:[0-9a-f]{4})[0-9a-f]{60}\b/g, "$1…")
    .replaceAll(/\b([0-9a-f]{8})[0-9a-f]{24,}\b/g, "$1…");
}
