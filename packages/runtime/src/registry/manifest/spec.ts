// Reads `spec`: what a tool takes and gives, what it may do, and how it is run; defaults filled in.
import { limits as shared, sideEffectClassDefault, sideEffectClasses, timeInWords } from "@signalbox/protocol";
import {
  field,
  readBoolean,
  readChoice,
  readDuration,
  readFields,
  readInteger,
  readList,
  readText,
  readTextMap,
  type Fields,
} from "../../document/fields.ts";
import { isRecord, refuse, under, type Notes } from "../../document/problems.ts";
import { bounds } from "../bounds.ts";
import { contextParts, type BreakerPolicy, type ToolSpec } from "../types.ts";
import { readExecutor } from "./executor.ts";
import { readLimits } from "./limits.ts";
import * as rules from "./rules.ts";
import { readSchema, type Files } from "./schemas.ts";

const specKeys = [
  "executor",
  "input",
  "output",
  "side_effect_class",
  "scheduling",
  "permissions",
  "timeout",
  "grace",
  "retry",
  "breaker",
  "pure",
  "cache",
  "on_indeterminate",
  "limits",
  "secrets",
  "network",
  "filesystem",
  "env",
  "events",
  "context",
  "default_policies",
  "placement",
  "integrity",
] as const;

const strategies = ["fixed", "linear", "exponential"] as const;

/** Where there are problems the result is partly made of defaults; the caller looks at the notes. */
export function readSpec(value: unknown, path: string, notes: Notes, files: Files | undefined): ToolSpec | undefined {
  const fields = readFields(value, path, specKeys, notes, rules.trustHint);
  if (fields === undefined) return undefined;
  const at = (key: string): string => under(path, key);
  const optional = <T>(key: string, fallback: T, read: (given: unknown, path: string) => T | undefined): T => {
    const given = field(fields, key);
    return given === undefined ? fallback : (read(given, at(key)) ?? fallback);
  };
  const texts = (key: string, rule: Parameters<typeof readText>[2]): readonly string[] =>
    readList(field(fields, key), at(key), notes, (item, here) => readText(item, here, rule, notes));

  for (const key of ["executor", "input"]) if (field(fields, key) === undefined) refuse(notes, at(key), "is required");
  const executor =
    field(fields, "executor") === undefined
      ? undefined
      : readExecutor(field(fields, "executor"), at("executor"), notes);
  const runLimits = readLimits(field(fields, "limits"), at("limits"), notes);
  const spec = {
    input: readSchema(field(fields, "input"), at("input"), notes, files),
    output: readSchema(field(fields, "output"), at("output"), notes, files),
    sideEffectClass: optional("side_effect_class", sideEffectClassDefault, (given, here) =>
      readChoice(given, here, sideEffectClasses, notes),
    ),
    scheduling: optional("scheduling", "parallel", (given, here) => readText(given, here, rules.scheduling, notes)),
    permissions: texts("permissions", rules.permission),
    timeoutMs: readTimeout(fields, path, { runLimits, unsaidMs: executor?.type === "agent" ? bounds.agentTimeoutMs : shared.runTimeoutMs }, notes),
    graceMs: optional("grace", shared.graceMs, (given, here) =>
      readDuration(given, here, { min: 0, max: bounds.graceMsMax }, notes),
    ),
    retry: readRetry(field(fields, "retry"), at("retry"), notes),
    breaker: optional("breaker", null, (given, here) => readBreaker(given, here, notes)),
    pure: optional("pure", false, (given, here) => readBoolean(given, here, notes)),
    cacheTtlMs: optional("cache", 0, (given, here) => readCache(given, here, notes)),
    onIndeterminate: optional("on_indeterminate", "ask" as const, (given, here) =>
      readChoice<"ask" | "fail">(given, here, ["ask", "fail"], notes),
    ),
    limits: runLimits,
    secrets: readTextMap(field(fields, "secrets"), at("secrets"), rules.envName, rules.secretReference, notes),
    ...readReach(fields, path, notes),
    env: readTextMap(field(fields, "env"), at("env"), rules.envName, rules.envText, notes),
    events: texts("events", rules.eventType),
    context: readList(field(fields, "context"), at("context"), notes, (item, here) => readChoice<"projection">(item, here, contextParts, notes)),
    defaultPolicies: readList(field(fields, "default_policies"), at("default_policies"), notes, (item, here) =>
      readPolicy(item, here, notes),
    ),
    placement: readPlacement(field(fields, "placement"), at("placement"), notes),
    integrity: readIntegrity(field(fields, "integrity"), at("integrity"), notes),
  };
  return executor === undefined ? undefined : { executor, ...spec };
}

/** `timeout` and `limits.timeout_ms` are two ways to say one thing. */
function readTimeout(fields: Fields, path: string, { runLimits, unsaidMs }: TimeoutRule, notes: Notes): number {
  const limit = runLimits["timeout_ms"];
  const given = field(fields, "timeout");
  if (given === undefined) return limit ?? unsaidMs;
  const timeoutMs = readDuration(given, under(path, "timeout"), { min: 1, max: shared.runTimeoutMsMax }, notes);
  if (timeoutMs !== undefined && limit !== undefined && timeoutMs !== limit) {
    refuse(
      notes,
      under(path, "timeout"),
      `is ${timeInWords(timeoutMs)}, and limits.timeout_ms says ${limit} ms`,
      "write one of the two",
    );
  }
  return timeoutMs ?? unsaidMs;
}

interface TimeoutRule {
  readonly runLimits: Readonly<Record<string, number>>;
  /** Where the manifest says nothing of it. */
  readonly unsaidMs: number;
}

const retryKeys = ["attempts", "strategy", "initial", "factor", "max", "timeouts"] as const;

function readRetry(value: unknown, path: string, notes: Notes): ToolSpec["retry"] {
  const fields = value === undefined ? undefined : readFields(value, path, retryKeys, notes);
  const at = (key: string): string => under(path, key);
  const delays = { min: 0, max: bounds.retryDelayMsMax };
  const given = (key: string): unknown => field(fields, key);
  const attempts =
    given("attempts") === undefined
      ? 1
      : readInteger(given("attempts"), at("attempts"), { min: 1, max: bounds.retryAttemptsMax }, notes);
  const strategy =
    given("strategy") === undefined ? "exponential" : readChoice(given("strategy"), at("strategy"), strategies, notes);
  const initial =
    given("initial") === undefined ? undefined : readDuration(given("initial"), at("initial"), delays, notes);
  const max = given("max") === undefined ? undefined : readDuration(given("max"), at("max"), delays, notes);
  const initialMs = initial ?? Math.min(bounds.retryInitialMs, max ?? bounds.retryInitialMs);
  const maxMs = max ?? Math.max(bounds.retryDelayMs, initialMs);
  if (maxMs < initialMs) refuse(notes, at("max"), "is shorter than initial");
  const factor =
    given("factor") === undefined
      ? bounds.retryFactor
      : readInteger(given("factor"), at("factor"), { min: 1, max: bounds.retryFactorMax }, notes);
  if (given("factor") !== undefined && strategy !== "exponential")
    refuse(notes, at("factor"), `has no meaning with strategy ${strategy ?? "exponential"}`, "only an exponential wait grows by a factor");
  const timeouts = given("timeouts") === undefined ? false : readBoolean(given("timeouts"), at("timeouts"), notes);
  return {
    attempts: attempts ?? 1,
    strategy: strategy ?? "exponential",
    initialMs,
    maxMs,
    factor: factor ?? bounds.retryFactor,
    timeouts: timeouts ?? false,
  };
}

function readBreaker(value: unknown, path: string, notes: Notes): BreakerPolicy | undefined {
  const fields = readFields(value, path, ["failures", "cool_down"], notes);
  if (fields === undefined) return undefined;
  const failures = field(fields, "failures");
  const coolDown = field(fields, "cool_down");
  const most = { min: 1, max: bounds.breakerFailuresMax };
  const times = { min: bounds.breakerCoolDownMsMin, max: bounds.breakerCoolDownMsMax };
  const counted = failures === undefined ? bounds.breakerFailures : readInteger(failures, under(path, "failures"), most, notes);
  const lasts = coolDown === undefined ? bounds.breakerCoolDownMs : readDuration(coolDown, under(path, "cool_down"), times, notes);
  return { failures: counted ?? bounds.breakerFailures, coolDownMs: lasts ?? bounds.breakerCoolDownMs };
}

function readCache(value: unknown, path: string, notes: Notes): number | undefined {
  const fields = readFields(value, path, ["ttl"], notes);
  if (fields === undefined) return undefined;
  const ttl = field(fields, "ttl");
  if (ttl !== undefined) return readDuration(ttl, under(path, "ttl"), { min: 1, max: bounds.cacheTtlMsMax }, notes);
  refuse(notes, under(path, "ttl"), "is required");
  return undefined;
}

/** What of the world the tool reaches: hosts and paths. */
function readReach(fields: Fields, path: string, notes: Notes): Pick<ToolSpec, "networkAllow" | "filesystem"> {
  const part = (key: string, keys: readonly string[]): Fields | undefined => {
    const given = field(fields, key);
    return given === undefined ? undefined : readFields(given, under(path, key), keys, notes);
  };
  const network = part("network", ["allow"]);
  const filesystem = part("filesystem", ["read", "write"]);
  const paths = (key: string): readonly string[] =>
    readList(field(filesystem, key), `${path}.filesystem.${key}`, notes, (item, here) =>
      rules.readAbsolutePath(item, here, notes),
    );
  return {
    networkAllow: readList(field(network, "allow"), `${path}.network.allow`, notes, (item, here) =>
      rules.readHost(item, here, notes),
    ),
    filesystem: { read: paths("read"), write: paths("write") },
  };
}

function readPolicy(value: unknown, path: string, notes: Notes): string | undefined {
  if (!isRecord(value)) return rules.readNamedVersion(value, path, notes, false);
  refuse(notes, path, "is a policy written in place", "publish the policy and write its name or name@version here");
  return undefined;
}

function readPlacement(value: unknown, path: string, notes: Notes): ToolSpec["placement"] {
  const fields = value === undefined ? undefined : readFields(value, path, ["match", "prefer"], notes);
  const labels = (key: string): Readonly<Record<string, string>> =>
    readTextMap(field(fields, key), under(path, key), rules.labelName, rules.labelText, notes);
  return { match: labels("match"), prefer: labels("prefer") };
}

function readIntegrity(value: unknown, path: string, notes: Notes): ToolSpec["integrity"] {
  const fields = value === undefined ? undefined : readFields(value, path, ["identities", "image_digests"], notes);
  const texts = (key: string, rule: Parameters<typeof readText>[2]): readonly string[] => {
    const given = field(fields, key);
    // Read as "nobody" by its author, and as "anybody" by what checks it.
    if (Array.isArray(given) && given.length === 0)
      refuse(notes, under(path, key), "must name somebody; leave it out where anybody may run the tool");
    return readList(given, under(path, key), notes, (item, here) => readText(item, here, rule, notes));
  };
  return { identities: texts("identities", rules.identity), imageDigests: texts("image_digests", rules.imageDigest) };
}
