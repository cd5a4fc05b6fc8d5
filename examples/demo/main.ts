// The demo from start to end: build, make a project folder, start the runtime, play a story, and clean up whatever happens.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Children, runToEnd } from "./children.ts";
import { cliFile, repo, Stage } from "./stage.ts";
import type { Chapter, Story } from "./stories.ts";
import { StoryFailed, Telling, type TellingOptions } from "./telling.ts";

export interface DemoOptions extends TellingOptions {
  readonly story: Story;
  readonly build: boolean;
  /** The project folder stays, and its path is told. */
  readonly keep: boolean;
}

const exitCodes = { good: 0, failed: 1 } as const;
const signalCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type StopSignal = keyof typeof signalCodes;

/** @returns the exit code: 0, 1 where the story went otherwise than it should, 128 + the signal number where it was interrupted */
export async function demo(options: DemoOptions): Promise<number> {
  const telling = new Telling(options);
  const stopping = new AbortController();
  let stoppedBy: StopSignal | undefined;
  const stop = (signal: StopSignal): void => {
    stoppedBy ??= signal;
    stopping.abort(new StoryFailed(`interrupted by ${signal}`));
  };
  const signals = Object.keys(signalCodes) as StopSignal[];
  for (const signal of signals) process.on(signal, stop);
  try {
    const good = await prepareAndPlay(options, telling, stopping.signal);
    if (stoppedBy !== undefined) return signalCodes[stoppedBy];
    return good ? exitCodes.good : exitCodes.failed;
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

async function prepareAndPlay(options: DemoOptions, telling: Telling, signal: AbortSignal): Promise<boolean> {
  if (options.build && !(await build(telling, signal))) return false;
  const folder = mkdtempSync(join(tmpdir(), "signalbox-demo-"));
  const children = new Children();
  const began = performance.now();
  try {
    const stage = new Stage({ folder, telling, signal, children });
    await play(stage, options.story.chapters);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    telling.always(`\nThe demo held: ${telling.checks} checks in ${seconds} s.`);
    return true;
  } catch (error) {
    await children.end();
    if (signal.aborted) {
      telling.always("\ninterrupted; cleaning up");
    } else {
      telling.failed(error);
      telling.always(children.tails());
    }
    return false;
  } finally {
    await children.end();
    if (options.keep) tellWhereItIs(telling, folder);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function build(telling: Telling, signal: AbortSignal): Promise<boolean> {
  const began = performance.now();
  const tsc = join(repo, "node_modules/typescript/bin/tsc");
  telling.always("building (tsc -b) …");
  const { exitCode, stdout, stderr } = await runToEnd([tsc, "-b"], { cwd: repo, env: process.env, signal }).catch(
    (error: unknown) => ({ exitCode: -1, stdout: "", stderr: String(error) }),
  );
  if (exitCode === 0) telling.always(`built in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  else if (!signal.aborted) telling.always(`the build failed\n${stdout}${stderr}`);
  return exitCode === 0;
}

async function play(stage: Stage, chapters: readonly Chapter[]): Promise<void> {
  const { telling } = stage;
  telling.chapter("The runtime starts");
  stage.furnish();
  telling.sentence("A fresh project folder, and the embedded runtime in it: one process, one database file.");
  telling.command(`cd ${stage.folder}; alias signalbox='node ${cliFile}'`);
  const ready = await stage.startRuntime();
  telling.check("it is ready", ready, { ready: true, first_start: true });
  const { stdout } = await stage.cli("The command line finds it, and its key, by itself.", ["status"]);
  telling.check("it can serve", stdout, /^ready +yes$/m);
  telling.chapterEnds();
  for (const chapter of chapters) {
    telling.chapter(chapter.title);
    await chapter.play(stage);
    telling.chapterEnds();
  }
  if (stage.running) telling.check("the runtime leaves in good order", await stage.stopRuntime(), "exit code 0");
}

function tellWhereItIs(telling: Telling, folder: string): void {
  telling.always(`\nkept: ${folder}\nnext: cd ${folder} && node ${cliFile} dev`);
}
