// What answers tell of policies: what they say, what they decided, and why.
import { z } from "zod";
import {
  absences,
  obligedLimits,
  outcomes,
  policyLevels,
  policyModes,
  sandboxNames,
} from "../../../../policy/types.ts";
import { obligedLimitName } from "../../views/policies.ts";
import { trigger } from "../fields.ts";
import { anyObject, at, count, hash, pageOf, texts } from "./common.ts";

const outcome = z.enum(outcomes);

const limitsOf = Object.fromEntries(
  obligedLimits.map((limit) => [obligedLimitName(limit), z.number().min(0).optional()]),
);

export const obligations = z
  .strictObject({
    limits: z.strictObject(limitsOf).describe("Bounds by name; the unit is in the name"),
    sandbox: z.enum(sandboxNames).optional().describe("The weakest backend that will do"),
    egress: texts.optional().describe("`host:port` patterns; an empty list leaves nothing"),
    paths: z.strictObject({ read: texts.optional(), write: texts.optional() }).optional(),
  })
  .meta({ id: "Obligations", description: "What a call that may run must keep to; an absent part demands nothing" });

const matchedRule = z
  .strictObject({
    policy: z.string(),
    version: z.string(),
    level: z.string(),
    outcome,
    reason: z.string(),
    observed: z.boolean().describe("A rule in observe mode: recorded, and changes nothing"),
  })
  .meta({ id: "MatchedRule", description: "A rule that matched a call" });

export const decision = z
  .strictObject({
    decision: outcome,
    reason: z.string(),
    rules: z.array(matchedRule),
    obligations: obligations.optional(),
  })
  .meta({ id: "Decision", description: "What the rules decided about a call" });

const onTimeout = z.enum(["deny", "allow", "escalate"]);
const onReject = z.enum(["return_to_agent", "fail"]);

export const asking = {
  distinct_from_requester: z.boolean().describe("Whoever made the call has no vote"),
  comprehension: z.boolean().describe("A yes must say that its voter understands what it allows"),
  on_timeout: onTimeout,
  on_reject: onReject.describe("Whether a no fails the call, or is told to the agent"),
  escalate_to: z.string().nullable().describe("The role that is asked after a timeout"),
};

const demand = z
  .strictObject({
    route: z.string().describe("The role that a voter must hold; empty: anybody who may decide"),
    approvals: count.describe("Distinct people who must say yes"),
    timeout_ms: count,
    ...asking,
  })
  .meta({ id: "ApprovalDemand", description: "Whom a policy asks, and for how long" });

const match = z.strictObject({
  tools: texts,
  agents: texts,
  principals: texts,
  environments: texts,
  triggers: z.array(trigger),
});

const policyFields = {
  name: z.string(),
  version: z.string(),
  level: z.enum(policyLevels),
  project: z.string().describe("Empty, but for level `project`"),
  mode: z.enum(policyModes),
  status: z.enum(["active", "superseded", "withdrawn"]),
  digest: hash.describe("SHA-256 of the canonical document"),
  match: match.describe("Whom it concerns; an empty list: anybody or anything"),
  when: z.string().nullable().describe("The condition, in CEL; null: always"),
  missing: z
    .enum(absences)
    .nullable()
    .describe("What an absent field comes to; null: the condition reads none that may be absent"),
  decision: outcome,
  reason: z.string(),
  approval: demand.nullable(),
  obligations,
  published_at: at,
  published_by: z.string(),
  tenant: z.string().describe("Whose it is: the tenant's, or `platform`"),
};

export const policy = z
  .strictObject(policyFields)
  .meta({ id: "Policy", description: "A published version of a policy" });

export const policyPage = pageOf("PolicyPage", policy);

const warning = z.strictObject({
  path: z.string(),
  message: z.string(),
  hint: z.string().optional(),
});

export const publishedPolicy = z
  .strictObject({
    ...policyFields,
    already_there: z.boolean().describe("The same document was published before; nothing has changed"),
    dry_run: z.boolean(),
    tools_hit: texts.describe("Known tools that its patterns name"),
    warnings: z.array(warning),
  })
  .meta({ id: "PublishedPolicy", description: "What publishing came to" });

export const policyDetail = z
  .strictObject({
    ...policyFields,
    versions: texts.describe("All versions of this name"),
    document: anyObject.describe("As it was published"),
  })
  .meta({ id: "PolicyDetail", description: "A version of a policy with its document" });

export const policyDefault = z
  .strictObject({
    tenant: z.string(),
    project: z.string().describe("Empty: the tenant's own level"),
    decision: z.enum(["allow", "deny"]).nullable().describe("Null: nothing is set, which is `allow`"),
    changed_at: at,
    changed_by: z.string(),
  })
  .meta({ id: "PolicyDefault", description: "What a level says where none of its rules matches" });

export const policyDefaultPage = pageOf("PolicyDefaultPage", policyDefault);

const explainedRule = z
  .strictObject({
    policy: z.string(),
    version: z.string(),
    tenant: z.string(),
    level: z.enum(policyLevels),
    mode: z.enum(policyModes),
    verdict: z
      .enum(["matched", "not_matched", "failed", "waiting"])
      .describe("`waiting`: it reads arguments or counts that were not given"),
    outcome,
    reason: z.string(),
    when: z.string().nullable(),
    because: texts.describe("The parts of the condition that decided, with the values they had"),
  })
  .meta({ id: "ExplainedRule", description: "What one rule has to say, and why" });

const requirements = z
  .strictObject({
    routes: z.array(z.strictObject({ route: z.string(), quorum: count })),
    timeout_ms: count,
    reason: z.string(),
    ...asking,
  })
  .meta({ id: "ApprovalRequirements", description: "What all matching rules together ask for" });

export const explanation = z
  .strictObject({
    decision: outcome.nullable().describe("Null, as all that a decision brings: no rule has a say on the trigger"),
    reason: z.string().nullable(),
    code: z.string().nullable().describe("The error's code, of a denial"),
    deciding: anyObject.nullable(),
    rules: z.array(explainedRule),
    approval: requirements.nullable(),
    obligations: obligations.nullable(),
    lines: texts.describe("The same for a terminal"),
    missing_permissions: texts.describe(
      "Permissions that the principal lacks: the call is denied before any rule is heard",
    ),
    input_errors: z
      .array(z.unknown())
      .nullable()
      .describe("Why the input does not match the tool's schema; null: it does, or none was given"),
  })
  .meta({ id: "PolicyExplanation", description: "What would be decided about a call, and why" });

export const caseResults = z
  .strictObject({
    passed: count,
    failed: count,
    items: z.array(
      z.strictObject({
        name: z.string(),
        passed: z.boolean(),
        failures: texts.describe("What is not as expected"),
        explanation: texts.describe("Of a case that failed"),
      }),
    ),
  })
  .meta({ id: "PolicyTestResult", description: "What came of a file of cases" });
