// Opens a file of turns as a model, with a trace file where one is asked for.
import { appendFileSync } from "node:fs";
import type { Clock } from "../../../corridor/ports.ts";
import type { Model } from "../../../session/model.ts";
import { readModelFile, refuseFile } from "../document-file.ts";
import { readScripts } from "./file.ts";
import { scriptedModel } from "./model.ts";

export interface ScriptedPlace {
  readonly file: string;
  /** One JSON line is appended for every request, before it is answered. */
  readonly traceFile?: string;
  readonly clock: Pick<Clock, "after">;
}

/** @throws Error that names the file and what is wrong in it */
export async function openScripted({ file, traceFile, clock }: ScriptedPlace): Promise<Model> {
  const read = readScripts(await readModelFile(file));
  if (!read.ok) throw refuseFile(file, read.problems);
  const { scripts } = read;
  if (traceFile === undefined) return scriptedModel({ scripts, clock });
  // Written before the answer, so that a process that is killed in between has left its line.
  return scriptedModel({ scripts, clock, onRequest: (trace) => appendFileSync(traceFile, `${JSON.stringify(trace)}\n`) });
}
