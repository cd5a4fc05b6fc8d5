// Runs a page of documentation from top to bottom, as its reader would, and says where the page and the world differ.
import { setTimeout as after } from "node:timers/promises";
import { prompt, readTranscript, compare, shortened, withRealNames, type Names, type Step } from "./transcript.ts";
import type { Block, Part } from "./markdown.ts";
import type { Shell } from "./shell.ts";

export interface PageOptions {
  /** Why steps that need this cannot be done on this machine; undefined = they can. */
  readonly whyNot: (need: string) => Promise<string | undefined>;
  /** Takes what was printed for right, and goes on. */
  readonly update: boolean;
}

export interface PageEnd {
  /** What is wrong, each with its line; the first one ends the page, but for an update. */
  readonly problems: readonly string[];
  readonly passedOver: readonly string[];
  /** Blocks whose outputs are others by now, and what they have to show. */
  readonly changed: ReadonlyMap<Block, readonly string[]>;
}

const untilMsMax = 30_000;
/** A command line takes a quarter of a second of a core; what takes long is asked for more seldom. */
const untilPauseMsMax = 1_000;

export function isTerminal(block: Block): boolean {
  return block.language === "console" || (block.language === "" && block.lines.some((line) => line.startsWith(prompt)));
}

/** A program that does not end by itself, whether or not its command says `&`. */
const staysRunning = /&(?: \w+=\$!)?\s*$|^(?:\w+=\S+ )*(?:npx )?signalbox (?:dev|worker)\b/;
const isRuntime = /\bsignalbox dev\b/;
const isUp = (printed: readonly string[]): boolean =>
  printed.some((line) => line.startsWith("signalbox is running") || line.startsWith('{"ready":true'));

class StepFailed extends Error {}

export async function runPage(parts: readonly Part[], shell: Shell, options: PageOptions): Promise<PageEnd> {
  const problems: string[] = [];
  const passedOver: string[] = [];
  const changed = new Map<Block, readonly string[]>();
  const names: Names = new Map();
  let need: string | undefined;
  for (const part of parts) {
    if (part.kind === "marker" && part.word === "needs") {
      need = part.text;
      continue;
    }
    const why = need === undefined ? undefined : await options.whyNot(need);
    need = undefined;
    if (why !== undefined) {
      passedOver.push(`line ${part.line}: ${why}`);
      continue;
    }
    try {
      const lines = await playPart(part, { shell, names, update: options.update });
      if (part.kind === "block" && lines !== undefined) changed.set(part, lines);
    } catch (error) {
      problems.push(`line ${part.line}: ${error instanceof Error ? error.message : String(error)}`);
      break;
    }
  }
  return { problems, passedOver, changed };
}

interface Stage {
  readonly shell: Shell;
  readonly names: Names;
  readonly update: boolean;
}

/** @returns the lines that a block has to show, where they are others */
async function playPart(part: Part, stage: Stage): Promise<readonly string[] | undefined> {
  if (part.kind === "marker") {
    if (part.word === "run") await hidden(part.text, stage);
    if (part.word === "until") await waitUntil(part.text, stage);
    return undefined;
  }
  if (part.marker?.word === "out") {
    const step = { command: part.marker.text, shown: part.lines, commandLines: [] };
    return newLines(part, [await playStep(step, stage)]);
  }
  if (!isTerminal(part)) return undefined;
  const told: (readonly string[])[] = [];
  for (const step of readTranscript(part.lines))
    told.push([...step.commandLines, ...withoutEnd(await playStep(step, stage), step.shown)]);
  return newLines(part, told);
}

/** Empty lines that the page sets between two commands stay. */
function withoutEnd(lines: readonly string[], shown: readonly string[]): readonly string[] {
  return shown.at(-1) === "" && lines.at(-1) !== "" && lines !== shown ? [...lines, ""] : lines;
}

function newLines(block: Block, told: readonly (readonly string[])[]): readonly string[] | undefined {
  const lines = told.flat();
  return lines.join("\n") === block.lines.join("\n") ? undefined : lines;
}

async function hidden(script: string, { shell, names }: Stage): Promise<void> {
  const command = withRealNames(script, names);
  if (staysRunning.test(command)) {
    const running = await shell.start(command);
    if (isRuntime.test(command) && !(await running.until(isUp)))
      throw new StepFailed(`the runtime does not come up:\n${running.printed().join("\n")}`);
    return;
  }
  const { code, printed } = await shell.run(command);
  if (code !== 0) throw new StepFailed(`exit code ${code} of: ${script}\n${printed.join("\n")}`);
}

async function waitUntil(script: string, { shell, names }: Stage): Promise<void> {
  const giveUpAt = performance.now() + untilMsMax;
  for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, untilPauseMsMax)) {
    const { code, printed } = await shell.run(withRealNames(script, names));
    if (code === 0) return;
    await after(pauseMs);
    if (performance.now() > giveUpAt) throw new StepFailed(`it never became so: ${script}\n${printed.join("\n")}`);
  }
}

/** @returns what the page has to show: what it shows, where that is right */
async function playStep(step: Step, stage: Stage): Promise<readonly string[]> {
  const { shell, names, update } = stage;
  const shown = step.shown.at(-1) === "" ? step.shown.slice(0, -1) : step.shown;
  const command = withRealNames(step.command, names);
  const take = (found: Names | undefined): boolean => {
    for (const [name, real] of found ?? []) names.set(name, real);
    return found !== undefined;
  };
  if (staysRunning.test(command)) {
    const running = await shell.start(command);
    const isShown = (printed: readonly string[]): boolean => take(compare([...shown, "…"], printed));
    const isReady = isRuntime.test(command) ? isUp : () => true;
    if (await running.until((printed) => isReady(printed) && isShown(printed))) return step.shown;
    return otherwise(step, running.printed(), update);
  }
  const { code, printed } = await shell.run(command);
  if (shown.length === 0) {
    if (code === 0) return step.shown;
    throw new StepFailed(`exit code ${code} of: ${step.command}\n${printed.join("\n")}`);
  }
  return take(compare(shown, printed)) ? step.shown : otherwise(step, printed, update, take);
}

function otherwise(
  step: Step,
  printed: readonly string[],
  update: boolean,
  take: (names: Names | undefined) => boolean = () => true,
): readonly string[] {
  const short = printed.map(shortened);
  if (!update) throw new StepFailed(difference(step, short));
  // What the page shows is right as far as it goes.
  const open = [...step.shown, "…"];
  if (step.shown.length > 0 && take(compare(open, printed))) return open;
  take(compare(short, printed));
  return short;
}

function difference(step: Step, printed: readonly string[]): string {
  const firstOther = step.shown.find(
    (line, index) => compare(step.shown.slice(0, index + 1).concat("…"), printed) === undefined,
  );
  return [
    `$ ${step.command}`,
    "the page shows:",
    ...step.shown.map((line) => `  ${line === firstOther ? ">" : " "} ${line}`),
    "it printed:",
    ...printed.map((line) => `    ${line}`),
    "next: mend the page, or let `npm run docs -- --update <page>` do it and look at what it did",
  ].join("\n");
}
