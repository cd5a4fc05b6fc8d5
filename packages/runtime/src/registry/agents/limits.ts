// Reads `spec.limits`: the budgets of one turn, each with its default.
import { field, readChoice, readDuration, readFields, readInteger, type Fields, type Range } from "../../document/fields.ts";
import { refuse, under, type Notes } from "../../document/problems.ts";
import { agentBounds as bounds } from "./bounds.ts";
import { limitActions, type AgentLimits } from "./types.ts";

const limitKeys = [
  "max_steps",
  "max_loop_iterations",
  "max_tokens",
  "max_wall_clock",
  "max_tool_calls",
  "max_approval_wait",
  "max_concurrent_calls",
  "on_limit",
] as const;

type LimitKey = (typeof limitKeys)[number];
type ReadNumber = typeof readInteger;

/** Durations have a unit, counts have none. */
export function readAgentLimits(value: unknown, path: string, notes: Notes): AgentLimits {
  const fields = value === undefined ? undefined : readFields(value, path, limitKeys, notes);
  const given = (key: LimitKey): unknown => field(fields, key);
  const number = (key: LimitKey, fallback: number, range: Range, read: ReadNumber = readInteger): number =>
    given(key) === undefined ? fallback : (read(given(key), under(path, key), range, notes) ?? fallback);
  return {
    stepsMax: number(stepsKey(fields, path, notes), bounds.steps, { min: 1, max: bounds.stepsMax }),
    tokensMax: number("max_tokens", bounds.tokens, { min: 1, max: bounds.tokensMax }),
    wallClockMsMax: number("max_wall_clock", bounds.wallClockMs, { min: bounds.wallClockMsMin, max: bounds.wallClockMsMax }, readDuration),
    toolCallsMax: number("max_tool_calls", bounds.toolCalls, { min: 1, max: bounds.toolCallsMax }),
    approvalWaitMsMax: number("max_approval_wait", bounds.approvalWaitMs, { min: bounds.approvalWaitMsMin, max: bounds.approvalWaitMsMax }, readDuration),
    concurrentCallsMax: number("max_concurrent_calls", bounds.concurrentCalls, { min: 1, max: bounds.concurrentCallsMax }),
    onLimit: given("on_limit") === undefined ? "halt" : (readChoice(given("on_limit"), under(path, "on_limit"), limitActions, notes) ?? "halt"),
  };
}

/** Two names of one thing; whoever writes both may mean two things. */
function stepsKey(fields: Fields | undefined, path: string, notes: Notes): "max_steps" | "max_loop_iterations" {
  if (field(fields, "max_loop_iterations") === undefined) return "max_steps";
  if (field(fields, "max_steps") === undefined) return "max_loop_iterations";
  refuse(notes, under(path, "max_loop_iterations"), "is another name of max_steps, and both are there", "write one of the two");
  return "max_steps";
}
