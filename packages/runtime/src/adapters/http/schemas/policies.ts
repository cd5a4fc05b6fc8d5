// What requests about policies may say; a policy document and a file of cases are checked by the policy room.
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import { policyLevels, triggers } from "../../../policy/types.ts";
import type { PolicyQuery, PolicyQuestion } from "../../../service-governance.ts";
import { httpLimits } from "../http-limits.ts";
import { check } from "./check.ts";
import { defined } from "./defined.ts";
import { context, cursor, flag, instant, listLimit, name, principalName, roles } from "./fields.ts";

export const publishQuery = z.strictObject({ dry_run: flag });

export const policiesQuery = z.strictObject({
  level: z.enum(policyLevels).optional(),
  project: name.optional(),
  name: name.optional(),
  status: z.enum(["active", "superseded", "withdrawn"]).optional(),
  platform: flag,
  limit: listLimit,
  cursor: cursor.optional(),
});

export function policyQuery(query: unknown): PolicyQuery {
  return defined(check(policiesQuery, query, "query"));
}

export const onePolicyQuery = z.strictObject({ version: name.optional(), platform: flag });

export const policyVersionBody = z.strictObject({ version: name });

export const policyDefaultBody = z.strictObject({
  project: name.optional(),
  decision: z.enum(["allow", "deny"], { error: 'must be "allow", "deny", or null, which takes the default away' }).nullable(),
});

const count = z.int().min(0);

/** By length of the window (`10m`); what a length means is the policy room's to say. */
const windows = z.record(name, count).refine((given) => Object.keys(given).length <= httpLimits.countWindowsMax, {
  error: `must have at most ${httpLimits.countWindowsMax} windows`,
});

/** Empty is an answer of its own here: a call by no agent, a project without an environment. */
const nameOrNone = z.string().max(limits.nameCharsMax);

export const explainBody = z.strictObject({
  tool: name,
  version: name.optional(),
  project: name.optional(),
  input: z.unknown().optional(),
  context: context.optional(),
  principal: principalName.optional(),
  roles: roles.optional(),
  agent: nameOrNone.optional(),
  environment: nameOrNone.optional(),
  trigger: z.enum(triggers).optional(),
  counts: z.strictObject({ turn: count.optional(), session: count.optional(), windows: windows.optional() }).optional(),
  now: instant.optional(),
});

export function policyQuestion(body: unknown): PolicyQuestion {
  const { counts, ...rest } = check(explainBody, body, "body");
  return defined({ ...rest, counts: counts === undefined ? undefined : defined(counts) });
}

export const testBody = z.strictObject({
  cases: z.unknown(),
  policies: z.array(z.unknown()).max(httpLimits.policiesTriedMax).optional(),
});
