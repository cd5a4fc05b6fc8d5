// What requests about policies may say; a policy document and a file of cases are checked by the policy room.
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import { policyLevels } from "../../../policy/types.ts";
import type { PolicyQuery, PolicyQuestion } from "../../../service-governance.ts";
import { httpLimits } from "../http-limits.ts";
import { check } from "./check.ts";
import { defined } from "./defined.ts";
import { context, cursor, flag, instant, listLimit, name, principalName, roles, trigger } from "./fields.ts";

export const publishQuery = z.strictObject({ dry_run: flag.describe("`true`: check everything and store nothing") });

const ofPlatform = flag.describe("`true`: the platform's, which bind the tenant's calls, in place of the tenant's own");

export const policiesQuery = z.strictObject({
  level: z.enum(policyLevels).optional().describe("Policies of this level"),
  project: name.optional().describe("Policies of this project"),
  name: name.optional().describe("Versions of this policy"),
  status: z.enum(["active", "superseded", "withdrawn"]).optional().describe("Versions of this status"),
  platform: ofPlatform,
  limit: listLimit,
  cursor: cursor.optional(),
});

export function policyQuery(query: unknown): PolicyQuery {
  return defined(check(policiesQuery, query, "query"));
}

export const onePolicyQuery = z.strictObject({
  version: name.optional().describe("An exact version; else the active one, else the newest"),
  platform: ofPlatform,
});

export const policyVersionBody = z
  .strictObject({ version: name.describe("An exact version") })
  .meta({ id: "PolicyVersionRequest", description: "The version that it is about" });

export const policyDefaultBody = z
  .strictObject({
    project: name.optional().describe("The tenant's own level, without it"),
    decision: z
      .enum(["allow", "deny"], { error: 'must be "allow", "deny", or null, which takes the default away' })
      .nullable()
      .describe("Null takes the default away"),
  })
  .meta({ id: "PolicyDefaultRequest", description: "What a level is to say where none of its rules matches" });

const count = z.int().min(0);

/** By length of the window (`10m`); what a length means is the policy room's to say. */
const windows = z
  .record(name, count)
  .refine((given) => Object.keys(given).length <= httpLimits.countWindowsMax, {
    error: `must have at most ${httpLimits.countWindowsMax} windows`,
  })
  .describe(`Calls by length of the window, such as \`10m\`; at most ${httpLimits.countWindowsMax} windows`);

const counts = z
  .strictObject({
    turn: count.optional().describe("Calls in this turn"),
    session: count.optional().describe("Calls in this session"),
    windows: windows.optional(),
  })
  .meta({ id: "CallCounts", description: "Calls so far, for rules that count them" });

/** Empty is an answer of its own here: a call by no agent, a project without an environment. */
const nameOrNone = z.string().max(limits.nameCharsMax);

export const explainBody = z
  .strictObject({
    tool: name.describe("The tool's name"),
    version: name.optional().describe("An exact version or a range"),
    project: name.optional().describe("The caller's own, without it"),
    input: z.unknown().optional().describe("Without it rules that read arguments stay unheard"),
    context: context.optional(),
    principal: principalName.optional().describe("Somebody else than the caller; needs the scope policies:write"),
    roles: roles.optional().describe("Roles of that principal"),
    agent: nameOrNone.optional().describe("Empty: no agent"),
    environment: nameOrNone.optional().describe("Empty: a project without one"),
    trigger: trigger.optional().describe("Rules for this trouble, in place of those before a call"),
    counts: counts.optional(),
    now: instant.optional().describe("For rules that read the clock"),
  })
  .meta({ id: "PolicyQuestion", description: "A call that nobody makes; what is left out is the caller's own" });

export function policyQuestion(body: unknown): PolicyQuestion {
  const { counts, ...rest } = check(explainBody, body, "body");
  return defined({ ...rest, counts: counts === undefined ? undefined : defined(counts) });
}

export const testBody = z
  .strictObject({
    cases: z.unknown().describe("A document of cases: `{cases: [{name, call, expect}]}`"),
    policies: z
      .array(z.unknown())
      .max(httpLimits.policiesTriedMax)
      .optional()
      .describe("Policy documents that are tried as if they were published"),
  })
  .meta({ id: "PolicyTest", description: "Cases, and the policies that are to be tried on them" });
