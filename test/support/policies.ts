// Policies and subjects for tests, with everything filled in that a test does not care about.
import type { PolicyVersion, Subject } from "../../packages/runtime/src/policy/types.ts";

type Given = Partial<Omit<PolicyVersion, "match">> & { readonly match?: Partial<PolicyVersion["match"]> };

/** A tenant's policy that denies everything, unless told otherwise. */
export function policyVersion({ match, ...given }: Given = {}): PolicyVersion {
  return {
    tenant: "acme",
    name: "rule",
    version: "1.0.0",
    level: "tenant",
    project: "",
    mode: "enforce",
    match: { tools: [], agents: [], principals: [], environments: [], triggers: [], ...match },
    when: null,
    missing: null,
    decision: "deny",
    reason: `because of ${given.name ?? "rule"}`,
    approval: null,
    obligations: { limits: {} },
    digest: "0".repeat(64),
    publishedAt: 1_767_225_600_000,
    publishedBy: "user:admin",
    status: "active",
    ...given,
  };
}

/** A call of payments.charge by user:ann in acme's project shop, in production. */
export function policySubject(given: Partial<Subject> = {}): Subject {
  return {
    tenant: "acme",
    project: "shop",
    environment: "production",
    tool: { name: "payments.charge", version: "1.0.0", class: "non_idempotent_write", labels: {} },
    agent: "",
    principal: { name: "user:ann", roles: ["clerk"] },
    context: {},
    attached: [],
    trigger: null,
    ...given,
  };
}
