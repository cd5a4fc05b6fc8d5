// Fills `{{last_user}}`, `{{last_result.path}}` and `{{result.0.path}}` in the texts of a script from the history.
import { parseJson } from "@signalbox/protocol";
import { isRecord } from "../../../document/problems.ts";

/** What the history offers to a template. */
export interface Told {
  readonly lastUser: string;
  /** What the model was told of its last batch, in the order of the calls; empty before the first. */
  readonly results: readonly string[];
}

const template = /\{\{\s*([^{}]*?)\s*\}\}/g;
const whole = /^\{\{\s*([^{}]*?)\s*\}\}$/;
const knownTemplate = /^(?:last_user|last_result(?:\.[^.\s]+)*|result\.(?:0|[1-9][0-9]{0,3})(?:\.[^.\s]+)*)$/;
const resultDepthMax = 256;

/** Why the text cannot be filled, or undefined. */
export function templateProblem(text: string): string | undefined {
  for (const [written, name = ""] of text.matchAll(template)) if (!knownTemplate.test(name)) return `holds the unknown template ${written.slice(0, 80)}`;
  return undefined;
}

/** What is not there is filled in as nothing. */
export function fillText(text: string, told: Told): string {
  return text.replaceAll(template, (_, name: string) => asText(valueOf(name, told)));
}

/** A text that is one template as a whole becomes the value itself: a number stays a number. What is not there becomes null. */
export function fillValue(value: unknown, told: Told): unknown {
  if (typeof value === "string") {
    const one = whole.exec(value);
    return one === null ? fillText(value, told) : (valueOf(one[1] ?? "", told) ?? null);
  }
  if (Array.isArray(value)) return value.map((item) => fillValue(item, told));
  // Exact numbers are frozen objects that must stay the ones they are.
  if (!isRecord(value) || Object.isFrozen(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillValue(item, told)]));
}

const asText = (value: unknown): string => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value));

function valueOf(name: string, { lastUser, results }: Told): unknown {
  const [root, ...steps] = name.split(".");
  if (root === "last_user") return lastUser;
  const text = root === "last_result" ? results.at(-1) : results[Number(steps.shift())];
  if (text === undefined || steps.length === 0) return text;
  const parsed = parseJson(text, { depthMax: resultDepthMax, protoKeys: "keep" });
  return parsed.ok ? steps.reduce(stepInto, parsed.value) : undefined;
}

function stepInto(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return (value as unknown[])[Number(step)];
  return isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}
