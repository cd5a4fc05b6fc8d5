// Runs a file of cases against a set of policies: what each call should come to, and what it does come to.
import { sideEffectClassDefault, sideEffectClasses } from "@signalbox/protocol";
import {
  field,
  readChoice,
  readFields,
  readInteger,
  readList,
  readRequiredText,
  readText,
} from "../document/fields.ts";
import { shapeProblem } from "../document/json-shape.ts";
import { isRecord, newNotes, refuse, shown, under, type Notes, type Problem } from "../document/problems.ts";
import { parseDuration } from "../document/units.ts";
import { agentOf } from "./agent.ts";
import { policyBounds } from "./bounds.ts";
import { parseMoment } from "./condition/clock.ts";
import type { Shape } from "./condition/shape.ts";
import {
  beginDecision,
  conclude,
  concludeTrigger,
  hearArgs,
  hearCounts,
  type Deliberation,
  type LevelDefaults,
  type Monotonic,
} from "./decide.ts";
import { explain, explanationLines } from "./explain.ts";
import type { PolicySet } from "./set.ts";
import { outcomes, triggers, type CallCounts, type Outcome, type Subject } from "./types.ts";

export interface PolicyCase {
  readonly name: string;
  readonly subject: Subject;
  /** Undefined: a call whose arguments are not given. */
  readonly args: unknown;
  readonly counts: CallCounts;
  /** Undefined: whatever the runner is given. */
  readonly now: number | undefined;
  readonly expect: {
    /** `none`: no rule has a say on the trigger. */
    readonly decision: Outcome | "none";
    /** Names of the policies that match, in any order; undefined = not looked at. */
    readonly rules: readonly string[] | undefined;
  };
}

export interface CaseResult {
  readonly name: string;
  readonly passed: boolean;
  /** What is not as expected; empty when it passed. */
  readonly failures: readonly string[];
  /** The explanation, for a case that failed. */
  readonly explanation: readonly string[];
}

export type CasesOutcome =
  | { readonly ok: true; readonly cases: readonly PolicyCase[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const words = { charsMax: policyBounds.caseTextCharsMax } as const;

/**
 * Reads `{cases: [{name, call: {tool, args, principal, …}, expect: {decision, rules}}]}`, strictly.
 * @param tenant that the calls belong to where they name none
 */
export function readCases(document: unknown, tenant: string): CasesOutcome {
  const notes = newNotes();
  const shape = shapeProblem(document, { depthMax: 64, valuesMax: policyBounds.documentValuesMax * 20 });
  if (shape !== undefined)
    return { ok: false, problems: [{ path: shape.keys.reduce(under, ""), message: shape.message }] };
  const list = field(readFields(document, "", ["cases"], notes), "cases");
  if (!Array.isArray(list)) refuse(notes, "cases", `must be a list, not ${shown(list)}`);
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  if (items.length > policyBounds.casesMax) refuse(notes, "cases", `has more than ${policyBounds.casesMax} entries`);
  const cases = items
    .slice(0, policyBounds.casesMax)
    .flatMap((item, index) => readCase(item, under("cases", index), tenant, notes) ?? []);
  return notes.problems.length > 0 ? { ok: false, problems: notes.problems } : { ok: true, cases };
}

function readCase(value: unknown, path: string, tenant: string, notes: Notes): PolicyCase | undefined {
  const fields = readFields(value, path, ["name", "call", "expect"], notes);
  const name = readRequiredText(fields, "name", path, words, notes);
  const expected = readFields(field(fields, "expect") ?? {}, under(path, "expect"), ["decision", "rules"], notes);
  const decision = readChoice(field(expected, "decision"), `${path}.expect.decision`, [...outcomes, "none"], notes);
  const rules = field(expected, "rules");
  const call = readCall(field(fields, "call") ?? {}, under(path, "call"), tenant, notes);
  if (name === undefined || decision === undefined || call === undefined) return undefined;
  const named = rules === undefined ? undefined : readTexts(rules, `${path}.expect.rules`, notes);
  return { name, ...call, expect: { decision, rules: named } };
}

function readTexts(value: unknown, path: string, notes: Notes): readonly string[] {
  return readList(value, path, notes, (item, here) => readText(item, here, words, notes));
}

const callKeys = [
  "tool",
  "version",
  "class",
  "labels",
  "args",
  "principal",
  "roles",
  "agent",
  "tenant",
  "project",
  "environment",
  "context",
  "attached",
  "trigger",
  "counts",
  "now",
];

function readCall(
  value: unknown,
  path: string,
  tenant: string,
  notes: Notes,
): Omit<PolicyCase, "name" | "expect"> | undefined {
  const fields = readFields(value, path, callKeys, notes);
  if (fields === undefined) return undefined;
  const text = (key: string, fallback: string): string => {
    const given = field(fields, key);
    return given === undefined ? fallback : (readText(given, under(path, key), words, notes) ?? fallback);
  };
  const trigger = field(fields, "trigger");
  const sideEffects = field(fields, "class");
  const labels = field(fields, "labels") ?? {};
  const own = text("tenant", tenant);
  const at = field(fields, "now") === undefined ? undefined : parseMoment(text("now", ""));
  if (field(fields, "now") !== undefined && at === undefined)
    refuse(notes, under(path, "now"), "is no instant", "like 2026-03-01T08:00:00Z");
  if (!isRecord(labels)) refuse(notes, under(path, "labels"), `must be a mapping, not ${shown(labels)}`);
  const principal = text("principal", "user:somebody");
  const context = field(fields, "context") ?? {};
  const subject: Subject = {
    tenant: own,
    project: text("project", "default"),
    environment: text("environment", ""),
    tool: {
      name: text("tool", ""),
      version: text("version", "1.0.0"),
      class:
        sideEffects === undefined
          ? sideEffectClassDefault
          : (readChoice(sideEffects, under(path, "class"), sideEffectClasses, notes) ?? sideEffectClassDefault),
      labels: Object.fromEntries(
        Object.entries(labels).map(([name, label]) => [name, readText(label, `${path}.labels`, words, notes) ?? ""]),
      ),
    },
    agent: text("agent", agentOf(principal, context)),
    principal: {
      name: principal,
      roles: readTexts(field(fields, "roles"), under(path, "roles"), notes),
    },
    context,
    attached: readTexts(field(fields, "attached"), under(path, "attached"), notes).map((reference) => ({
      tenant: own,
      reference,
    })),
    trigger: trigger === undefined ? null : (readChoice(trigger, under(path, "trigger"), triggers, notes) ?? null),
  };
  if (subject.tool.name === "" && subject.trigger?.startsWith("limit.") !== true)
    refuse(notes, under(path, "tool"), "is required");
  return {
    subject,
    args: field(fields, "args"),
    counts: readCounts(field(fields, "counts"), under(path, "counts"), notes),
    now: at?.ms,
  };
}

/** `{turn: 2, session: 5, windows: {10m: 3}}`; what is not given counts as 0. */
function readCounts(value: unknown, path: string, notes: Notes): CallCounts {
  const fields = value === undefined ? undefined : readFields(value, path, ["turn", "session", "windows"], notes);
  const whole = { min: 0, max: Number.MAX_SAFE_INTEGER };
  const number = (key: string): number => {
    const given = field(fields, key);
    return given === undefined ? 0 : (readInteger(given, under(path, key), whole, notes) ?? 0);
  };
  const windows = new Map<number, number>();
  const given = field(fields, "windows") ?? {};
  if (!isRecord(given)) refuse(notes, under(path, "windows"), `must be a mapping, not ${shown(given)}`);
  for (const [length, calls] of Object.entries(given)) {
    const here = under(under(path, "windows"), length);
    const read = parseDuration(length);
    if (read.ok) windows.set(read.value, readInteger(calls, here, whole, notes) ?? 0);
    else refuse(notes, here, read.message, read.hint);
  }
  return { turn: number("turn"), session: number("session"), windows };
}

export interface CaseRunner {
  readonly set: PolicySet;
  readonly defaults: LevelDefaults;
  /** What the arguments of a tool can be; `untyped` for tools that are not known. */
  readonly shapeOf: (tool: string) => Shape;
  /** Wall clock for cases that do not say when. */
  readonly now: number;
  readonly monotonic: Monotonic;
}

export function runCases(cases: readonly PolicyCase[], runner: CaseRunner): readonly CaseResult[] {
  return cases.map((one) => runCase(one, runner));
}

function runCase({ name, subject, args, counts, now, expect }: PolicyCase, runner: CaseRunner): CaseResult {
  const { set, defaults, shapeOf, monotonic } = runner;
  let deliberation: Deliberation = beginDecision(set, subject, now ?? runner.now, monotonic);
  if (args !== undefined) deliberation = hearArgs(deliberation, args, shapeOf(subject.tool.name), monotonic);
  deliberation = hearCounts(deliberation, withZeros(deliberation, counts), monotonic);
  const judgement =
    subject.trigger === null ? conclude(deliberation, name, defaults) : concludeTrigger(deliberation, name);
  const decision = judgement?.decision.outcome ?? "none";
  const failures: string[] = [];
  if (decision !== expect.decision) failures.push(`decision is ${decision}, not ${expect.decision}`);
  if (expect.rules !== undefined) {
    const matched = new Set(judgement?.decision.rules.map(({ policy }) => policy));
    for (const wanted of expect.rules) if (!matched.has(wanted)) failures.push(`${wanted} does not match`);
    for (const policy of matched) if (!expect.rules.includes(policy)) failures.push(`${policy} matches too`);
  }
  const passed = failures.length === 0;
  return { name, passed, failures, explanation: passed ? [] : explanationLines(explain(deliberation, name, defaults)) };
}

/** A window that a case does not mention had no calls in it. */
function withZeros({ waiting }: Deliberation, counts: CallCounts): CallCounts {
  const windows = new Map(counts.windows);
  for (const rule of waiting) {
    const compiled = rule.condition();
    if (compiled?.ok !== true) continue;
    for (const length of compiled.condition.counts.windowsMs) if (!windows.has(length)) windows.set(length, 0);
  }
  return { ...counts, windows };
}
