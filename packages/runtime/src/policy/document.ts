// Reads a policy document (`kind: Policy`): every field checked, every problem named with its path, nothing unknown let by.
import { canonicalJson, limits } from "@signalbox/protocol";
import { field, readChoice, readFields, readRequiredText, type Fields, type TextRule } from "../document/fields.ts";
import { readPart, readTop, readVersion } from "../document/header.ts";
import { newNotes, refuse, under, type Notes, type Problem } from "../document/problems.ts";
import { policyBounds } from "./bounds.ts";
import type { Condition } from "./condition.ts";
import { lookAtScope, readMatch } from "./document/match.ts";
import { readThen, type Consequence } from "./document/then.ts";
import { checkWhen, readCondition, readMissing, type KnownTool } from "./document/when.ts";
import { policyLevels, policyModes, type Policy, type PolicyLevel } from "./types.ts";

export type PolicyOutcome =
  | {
      readonly ok: true;
      readonly policy: Policy;
      readonly condition: Condition | null;
      readonly warnings: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export interface ReadPolicyOptions {
  /** Tools to check the condition against; without them every field of the arguments may be absent. */
  readonly tools?: readonly KnownTool[];
  /** Who publishes it; the platform's levels are not a tenant's to use. */
  readonly owner?: "platform" | "tenant";
}

const nameRule: TextRule = {
  charsMax: limits.nameCharsMax,
  pattern: /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/,
  hint: "lower-case letters and digits, with . _ - inside, like payments-need-a-person",
};
const projectRule: TextRule = { charsMax: limits.nameCharsMax, hint: "the project that the policy is for" };

/** Strict: unknown keys, decisions, triggers, functions and backends are refused. Never throws. */
export function readPolicy(document: unknown, options: ReadPolicyOptions = {}): PolicyOutcome {
  const notes = newNotes();
  const within = { depthMax: policyBounds.documentDepthMax, valuesMax: policyBounds.documentValuesMax };
  const fields = readTop(document, "Policy", within, notes);
  if (fields === undefined) return { ok: false, problems: notes.problems };
  const metadata = readPart(fields, "metadata", "", notes, (value, path) => readMetadata(value, path, options, notes));
  const spec = readPart(fields, "spec", "", notes, (value, path) => readSpec(value, path, notes));
  if (metadata !== undefined && spec !== undefined) {
    const { match, consequence, condition } = spec;
    const rule = { level: metadata.level, decision: consequence.decision, conditional: condition !== null };
    lookAtScope(match, rule, "spec.match", notes);
    lookAtUnknownEnds(match, consequence, notes);
    // An attached rule without tools of its own concerns those that name it, which are not known here.
    const known = metadata.level === "attached" && match.tools.length === 0 ? undefined : options.tools;
    checkWhen(condition, spec.missing, { match, tools: known, given: spec.missingGiven }, notes);
  }
  if (metadata === undefined || spec === undefined || notes.problems.length > 0)
    return { ok: false, problems: notes.problems };
  const { condition, mode, match, missing, consequence } = spec;
  const policy: Policy = {
    ...metadata,
    mode,
    match,
    missing,
    ...consequence,
    when: condition === null ? null : condition.source,
  };
  return { ok: true, policy, condition, warnings: notes.warnings };
}

/** Time cannot say that something did not happen. */
function lookAtUnknownEnds(match: Policy["match"], { approval }: Consequence, notes: Notes): void {
  const ends = match.triggers.filter((one) => one === "dispatch.indeterminate" || one === "dispatch.lease_expired");
  if (ends.length > 0 && approval?.onTimeout === "allow")
    refuse(notes, "spec.then.approval.on_timeout", `cannot be allow for ${ends.join(", ")}: a person must judge`);
}

function readMetadata(
  value: unknown,
  path: string,
  options: ReadPolicyOptions,
  notes: Notes,
): Pick<Policy, "name" | "version" | "level" | "project"> | undefined {
  const fields = readFields(value, path, ["name", "version", "level", "project"], notes);
  const name = readRequiredText(fields, "name", path, nameRule, notes);
  const version = readVersion(fields, path, notes);
  const level = readLevel(fields, path, options, notes);
  const given = field(fields, "project");
  const project = level === "project" ? readRequiredText(fields, "project", path, projectRule, notes) : "";
  if (level !== undefined && level !== "project" && given !== undefined)
    refuse(notes, under(path, "project"), `has no effect at level ${level}`, "level: project");
  if (name === undefined || version === undefined || level === undefined || project === undefined) return undefined;
  return { name, version, level, project };
}

function readLevel(
  fields: Fields | undefined,
  path: string,
  { owner }: ReadPolicyOptions,
  notes: Notes,
): PolicyLevel | undefined {
  const given = field(fields, "level");
  if (given === undefined) return "attached";
  const here = under(path, "level");
  const written = policyLevels.filter((level) => level !== "attached");
  const level = readChoice(given, here, written, notes);
  if (level === undefined || owner === undefined || (owner === "platform") === (level === "platform")) return level;
  const whose = level === "platform" ? "is for the platform alone" : "is a tenant's, and this is the platform";
  refuse(notes, here, `${level} ${whose}`);
  return undefined;
}

interface Spec extends Pick<Policy, "mode" | "match" | "missing"> {
  readonly consequence: Consequence;
  readonly condition: Condition | null;
  readonly missingGiven: boolean;
}

function readSpec(value: unknown, path: string, notes: Notes): Spec | undefined {
  const fields = readFields(value, path, ["mode", "match", "when", "missing", "then"], notes);
  if (fields === undefined) return undefined;
  const [modeGiven, when, missing] = ["mode", "when", "missing"].map((key) => field(fields, key));
  const mode = modeGiven === undefined ? "enforce" : readChoice(modeGiven, under(path, "mode"), policyModes, notes);
  const match = readPart(fields, "match", path, notes, (given, here) => readMatch(given, here, notes));
  const condition = when === undefined ? null : readCondition(when, under(path, "when"), notes);
  const absence = readMissing(missing, under(path, "missing"), notes);
  const consequence = readPart(fields, "then", path, notes, (given, here) => readThen(given, here, notes));
  if (mode === undefined || match === undefined || condition === undefined || consequence === undefined)
    return undefined;
  return { mode, match, condition, missing: absence, missingGiven: missing !== undefined, consequence };
}

/**
 * The digest of a document that `readPolicy` accepted: over its canonical text (RFC 8785), as written, so the order of
 * keys and YAML or JSON make no difference.
 * @param hash text → hex digest (SHA-256)
 */
export function policyDigest(document: unknown, hash: (text: string) => string): string {
  return hash(canonicalJson(document));
}
