// Reads a file of turns, strictly: every fault is noted with its path.
import { RE2JS } from "re2js";
import { field, readBoolean, readChoice, readDuration, readFields, readInteger, readRequiredText, readText, type Fields, type TextRule } from "../../../document/fields.ts";
import { shapeProblem } from "../../../document/json-shape.ts";
import { isRecord, newNotes, refuse, shown, under, type Notes, type Problem } from "../../../document/problems.ts";
import type { StopReason } from "../../../session/types.ts";
import { modelBounds } from "../bounds.ts";
import { templateProblem } from "./templates.ts";
import type { Script, ScriptedBranch, ScriptedCall, ScriptedCompletion, ScriptedFailure, Scripts } from "./types.ts";

export type ReadScripts = { readonly ok: true; readonly scripts: Scripts } | { readonly ok: false; readonly problems: readonly Problem[] };

const stops = ["end_turn", "tool_use", "max_tokens", "refusal", "stop_sequence"] as const satisfies readonly StopReason[];
const failures = ["rate_limited", "overloaded", "refused_request", "unauthorized", "context_too_long", "cut_off", "unreachable", "malformed", "timeout"] as const;
const said: TextRule = { charsMax: modelBounds.scriptedTextCharsMax, empty: "allowed" };
const nameRule: TextRule = { charsMax: modelBounds.modelNameCharsMax };
const aliasRule: TextRule = { charsMax: modelBounds.toolNameCharsMax };

/** @param document parsed YAML or JSON */
export function readScripts(document: unknown): ReadScripts {
  const notes = newNotes();
  const shape = shapeProblem(document, { depthMax: 48, valuesMax: 20_000 });
  if (shape !== undefined) refuse(notes, shape.keys.reduce(under, ""), shape.message);
  const scripts = shape === undefined ? readNamed(document, notes) : new Map<string, Script>();
  return notes.problems.length > 0 ? { ok: false, problems: notes.problems } : { ok: true, scripts };
}

function readNamed(document: unknown, notes: Notes): Scripts {
  const named = field(readFields(document, "", ["scripts"], notes), "scripts");
  const read = new Map<string, Script>();
  if (!isRecord(named) || Object.keys(named).length === 0) {
    refuse(notes, "scripts", "must be a mapping of model names to scripts", "scripts: { support: [ … ] }");
    return read;
  }
  for (const [name, value] of Object.entries(named)) {
    const path = under("scripts", name);
    readText(name, path, nameRule, notes);
    const script = readScript(value, path, notes);
    if (script !== undefined) read.set(name, script);
  }
  return read;
}

/** A plain list stands for `{ completions: list }`. */
function readScript(value: unknown, path: string, notes: Notes): Script | undefined {
  if (Array.isArray(value)) return { branches: undefined, completions: readCompletions(value, path, notes), loop: false };
  const fields = readFields(value, path, ["completions", "branches", "loop"], notes);
  if (fields === undefined) return undefined;
  const [completions, branches, loop] = [field(fields, "completions"), field(fields, "branches"), field(fields, "loop")];
  if ((completions === undefined) === (branches === undefined)) {
    refuse(notes, path, "must have one of completions and branches", "completions play over the session, branches answer a message each");
    return undefined;
  }
  return {
    branches: branches === undefined ? undefined : readItems(branches, under(path, "branches"), notes, readBranch),
    completions: completions === undefined ? [] : readCompletions(completions, under(path, "completions"), notes),
    loop: loop === undefined ? false : (readBoolean(loop, under(path, "loop"), notes) ?? false),
  };
}

function readItems<T>(value: unknown, path: string, notes: Notes, read: (item: unknown, path: string, notes: Notes) => T | undefined): readonly T[] {
  if (!Array.isArray(value) || value.length === 0) {
    refuse(notes, path, `must be a list with at least one entry, not ${Array.isArray(value) ? "an empty list" : shown(value)}`);
    return [];
  }
  if (value.length > modelBounds.scriptedItemsMax) refuse(notes, path, `has more than ${modelBounds.scriptedItemsMax} entries`);
  return value.slice(0, modelBounds.scriptedItemsMax).flatMap((item: unknown, index) => read(item, under(path, index), notes) ?? []);
}

const readCompletions = (value: unknown, path: string, notes: Notes): readonly ScriptedCompletion[] => readItems(value, path, notes, readCompletion);

function readBranch(value: unknown, path: string, notes: Notes): ScriptedBranch | undefined {
  const fields = readFields(value, path, ["when", "completions"], notes);
  if (fields === undefined) return undefined;
  const when = field(fields, "when");
  const matches = when === undefined ? () => true : readWhen(when, under(path, "when"), notes);
  return { matches, completions: readCompletions(field(fields, "completions"), under(path, "completions"), notes) };
}

/** `last_user: refund` is a part of the message whatever its case; `/refund [0-9]+/` a regular expression. */
function readWhen(value: unknown, path: string, notes: Notes): (lastUser: string) => boolean {
  const text = readRequiredText(readFields(value, path, ["last_user"], notes), "last_user", path, { charsMax: modelBounds.whenCharsMax }, notes);
  if (text === undefined) return () => false;
  const written = /^\/(.+)\/(i?)$/s.exec(text);
  if (written === null) {
    const part = text.toLowerCase();
    return (lastUser) => lastUser.toLowerCase().includes(part);
  }
  try {
    const pattern = RE2JS.compile(written[1] ?? "", written[2] === "i" ? RE2JS.CASE_INSENSITIVE : 0);
    return (lastUser) => pattern.matcher(lastUser).find();
  } catch {
    refuse(notes, under(path, "last_user"), `${shown(text)} is no regular expression`, "RE2 syntax: no look-around and no back-references");
    return () => false;
  }
}

function readCompletion(value: unknown, path: string, notes: Notes): ScriptedCompletion | undefined {
  const fields = readFields(value, path, ["text", "thought", "calls", "stop", "delay_ms", "usage", "fail"], notes);
  if (fields === undefined) return undefined;
  const optional = <T>(key: string, read: (value: unknown, path: string) => T | undefined): T | undefined => {
    const given = field(fields, key);
    return given === undefined ? undefined : read(given, under(path, key));
  };
  const calls = optional("calls", (given, at) => (Array.isArray(given) && given.length === 0 ? [] : readItems(given, at, notes, readCall))) ?? [];
  const text = optional("text", (given, at) => readTemplated(given, at, notes));
  const fail = optional("fail", (given, at) => readFailure(given, at, notes));
  if (text === undefined && calls.length === 0 && fail === undefined && field(fields, "text") === undefined)
    refuse(notes, path, "says nothing", "give it text, calls or fail");
  return {
    text,
    thought: optional("thought", (given, at) => readTemplated(given, at, notes)),
    calls,
    stop: optional("stop", (given, at) => readChoice(given, at, stops, notes)) ?? (calls.length > 0 ? "tool_use" : "end_turn"),
    delayMs: optional("delay_ms", (given, at) => readInteger(given, at, { min: 0, max: modelBounds.scriptedDelayMsMax }, notes)) ?? 0,
    usage: optional("usage", (given, at) => readUsage(given, at, notes)),
    fail,
  };
}

function readTemplated(value: unknown, path: string, notes: Notes): string | undefined {
  const text = readText(value, path, said, notes);
  const problem = text === undefined ? undefined : templateProblem(text);
  if (problem !== undefined) refuse(notes, path, problem, "{{last_user}}, {{last_result}}, {{result.0}}, each with a path like {{last_result.order.id}}");
  return text;
}

function readCall(value: unknown, path: string, notes: Notes): ScriptedCall | undefined {
  const fields = readFields(value, path, ["tool", "input", "arguments_text"], notes);
  const tool = readRequiredText(fields, "tool", path, aliasRule, notes);
  if (fields === undefined || tool === undefined) return undefined;
  const [input, raw] = [field(fields, "input"), field(fields, "arguments_text")];
  if (input !== undefined && raw !== undefined) refuse(notes, path, "has both input and arguments_text", "input is written as JSON, arguments_text is sent as it stands");
  if (input !== undefined && !isRecord(input)) refuse(notes, under(path, "input"), `must be a mapping, not ${shown(input)}`);
  checkTemplates(input, under(path, "input"), notes);
  return { tool, input: input ?? {}, argumentsText: raw === undefined ? undefined : readText(raw, under(path, "arguments_text"), said, notes) };
}

function checkTemplates(value: unknown, path: string, notes: Notes): void {
  if (typeof value === "string") readTemplated(value, path, notes);
  else if (Array.isArray(value)) value.forEach((item, index) => checkTemplates(item, under(path, index), notes));
  else if (isRecord(value)) for (const [key, item] of Object.entries(value)) checkTemplates(item, under(path, key), notes);
}

const readCount = (fields: Fields | undefined, key: string, path: string, notes: Notes): number =>
  readInteger(field(fields, key) ?? 0, under(path, key), { min: 0, max: modelBounds.scriptedTokensMax }, notes) ?? 0;

function readUsage(value: unknown, path: string, notes: Notes): ScriptedCompletion["usage"] {
  const fields = readFields(value, path, ["input_tokens", "output_tokens"], notes);
  return { inputTokens: readCount(fields, "input_tokens", path, notes), outputTokens: readCount(fields, "output_tokens", path, notes) };
}

function readFailure(value: unknown, path: string, notes: Notes): ScriptedFailure | undefined {
  const fields = readFields(value, path, ["code", "message", "retry_after", "until_turn"], notes);
  if (fields === undefined) return undefined;
  const [message, retryAfter, untilTurn] = [field(fields, "message"), field(fields, "retry_after"), field(fields, "until_turn")];
  const code = readChoice(field(fields, "code"), under(path, "code"), failures, notes);
  return {
    code: code ?? "refused_request",
    message: (message === undefined ? undefined : readText(message, under(path, "message"), said, notes)) ?? "the script fails here",
    retryAfterMs: retryAfter === undefined ? null : (readDuration(retryAfter, under(path, "retry_after"), { min: 0, max: modelBounds.retryAfterMsMax }, notes) ?? null),
    untilTurn: untilTurn === undefined ? undefined : readInteger(untilTurn, under(path, "until_turn"), { min: 2, max: 1_000_000 }, notes),
  };
}
