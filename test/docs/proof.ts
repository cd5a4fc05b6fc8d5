// What stands behind each block of a page: a file, a run, or nothing to be proven; and what is wrong where there is neither.
import { cutMarker, cutOf } from "./cuts.ts";
import type { Block, Part } from "./markdown.ts";
import { isTerminal } from "./page.ts";

export type ReadFile = (path: string) => string | undefined;

/** A line that somebody would type. */
const typed = /^\s*(?:\$ |(?:npx |sudo )?(?:signalbox|npm|npx|node|curl|grpcurl|git|python3|docker|export) )/;

/** @returns each block that nothing proves, or that is not what proves it, with its line */
export function unproven(parts: readonly Part[], read: ReadFile): readonly string[] {
  return blocksOf(parts).flatMap((block) => {
    const problem = problemOf(block, read);
    return problem === undefined ? [] : [`line ${block.line}: ${problem}`];
  });
}

/** Blocks that show a file and are not what the file says now. */
export function staleCuts(parts: readonly Part[], read: ReadFile): ReadonlyMap<Block, readonly string[]> {
  const stale = new Map<Block, readonly string[]>();
  for (const block of blocksOf(parts)) {
    const marker = cutMarker(block);
    if (marker === undefined) continue;
    const lines = cutOf(marker, read);
    if (lines.join("\n") !== block.lines.join("\n")) stale.set(block, lines);
  }
  return stale;
}

const blocksOf = (parts: readonly Part[]): readonly Block[] => parts.filter((part) => part.kind === "block");

function problemOf(block: Block, read: ReadFile): string | undefined {
  const marker = cutMarker(block);
  if (marker !== undefined) return cutProblem(block, marker, read);
  if (block.marker?.word === "in") return commandsProblem(block, block.marker.text, read);
  if (block.marker?.word === "out" || isTerminal(block)) return undefined;
  if (block.language === "text") {
    const line = block.lines.find((one) => typed.test(one));
    return line === undefined
      ? undefined
      : `a block of text shows a command; make it a \`console\` block: ${line.trim()}`;
  }
  return [
    `nothing proves this block of "${block.language}". Say in the line before it what it is cut from`,
    "(<!-- cut: examples/first-tool/tool.yaml#input -->) or which command prints it (<!-- out: signalbox status --json -->);",
    "show commands with `$ ` in a block of `console`, which is run; or call it `text`, if it is a drawing or a list.",
  ].join(" ");
}

function cutProblem(block: Block, marker: string, read: ReadFile): string | undefined {
  try {
    const lines = cutOf(marker, read);
    const at = lines.findIndex((line, index) => line !== block.lines[index]);
    if (at < 0 && lines.length === block.lines.length) return undefined;
    const where = at < 0 ? lines.length : at;
    return `this is not ${marker} any more, from its line ${where + 1} on ("${lines[where] ?? ""}"); next: npm run docs`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Commands that are run elsewhere, e.g. by what decides whether a change lands. */
function commandsProblem(block: Block, file: string, read: ReadFile): string | undefined {
  const text = read(file);
  if (text === undefined) return `there is no file ${file}`;
  const commands = block.lines.flatMap((line) => line.replace(/(?:^|\s)#.*$/, "").split("&&"));
  const missing = commands.map((one) => one.trim()).find((one) => one !== "" && !text.includes(one));
  return missing === undefined ? undefined : `${file} does not run: ${missing}`;
}
