// Times authorizing alone, with 10 000 policies loaded of which five are relevant: permissions, rules without arguments, rules with, the decision.
import { inputShape } from "../packages/runtime/src/policy/condition/shape.ts";
import { beginDecision, conclude, hearArgs } from "../packages/runtime/src/policy/decide.ts";
import { missingPermissions } from "../packages/runtime/src/policy/permission.ts";
import { createPolicySet, type PolicySet } from "../packages/runtime/src/policy/set.ts";
import type { PolicyVersion } from "../packages/runtime/src/policy/types.ts";
import { Directory } from "../packages/runtime/src/tenancy/directory.ts";
import type { Grant } from "../packages/runtime/src/tenancy/types.ts";
import { policySubject, policyVersion } from "../test/support/policies.ts";
import { percentile } from "./statistics.ts";

/** One spread of the policies that are not relevant; times in ms. */
export interface PolicyTimings {
  readonly spread: string;
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  /** Decisions that came out otherwise than they must. */
  readonly errors: number;
  readonly builtMs: number;
  readonly replacedMs: number;
}

const warmUps = 2_000;
const now = Date.UTC(2026, 2, 2, 12);
const monotonic = (): number => performance.now();
const shape = inputShape({
  type: "object",
  required: ["amount", "payee"],
  properties: { amount: { type: "number" }, payee: { type: "string" }, n: { type: "integer" } },
});
const args = { amount: 500, payee: "ACME", n: 4 };

/** One by tool, one by its group, one for everything, one by principal and one by environment: all must be looked at. */
const relevant: readonly PolicyVersion[] = [
  policyVersion({
    name: "r1",
    match: { tools: ["payments.charge"] },
    when: "args.amount > 1000.0 || !has(args.payee)",
  }),
  policyVersion({
    name: "r2",
    match: { tools: ["payments.*"] },
    when: "args.payee.startsWith('X') && args.n % 2 == 0",
    missing: "deny",
  }),
  policyVersion({ name: "r3", when: "now.getHours('Europe/Berlin') < 6 && 'night' in principal.roles" }),
  policyVersion({
    name: "r4",
    match: { principals: ["user:ann"] },
    when: "args.payee.matches('^(Evil|Bad) .*')",
    missing: "deny",
  }),
  policyVersion({
    name: "r5",
    match: { environments: ["production"], tools: ["payments.*"] },
    decision: "allow",
    obligations: { limits: { timeoutMs: 5_000 } },
  }),
];

/** How the other policies are spread: over tools, over principals of the same tool, or over agents of everything. */
const spreads: Readonly<Record<string, (index: number) => Partial<PolicyVersion["match"]>>> = {
  tools: (index) => ({ tools: [`tool${index}.run`] }),
  groups: (index) => ({ tools: [`group${index}.*`] }),
  principals: (index) => ({ tools: ["payments.charge"], principals: [`user:${index}`] }),
  agents: (index) => ({ agents: [`agent${index}`] }),
  environments: (index) => ({ tools: ["*"], environments: [`env${index}`] }),
};

const grants = Array.from({ length: 20 }, (_, index): Grant => ({
  tenant: "acme",
  grantId: `grant_${index}`,
  subject: "user:ann",
  project: "",
  permissions: index === 19 ? ["tool:invoke:payments.*", "net:egress:*.example.com"] : [`tool:invoke:tool${index}`],
  roles: [],
  createdAt: 0,
  createdBy: "user:root",
  expiresAt: null,
  revokedAt: null,
}));
const required = ["tool:invoke:payments.charge", "net:egress:api.example.com:443"];
const directory = new Directory(
  { keyByHash: async () => undefined, keys: async () => [], grants: async () => grants },
  (text) => text,
);
const ann = { tenant: "acme", name: "user:ann", roles: ["clerk"] };

/** @returns whether it came out as it must: allowed, with the one obligation */
async function authorize(set: PolicySet): Promise<boolean> {
  const { permissions, roles } = await directory.holdingsOf(ann, "shop", now);
  if (missingPermissions(permissions, required).length > 0) return false;
  const subject = policySubject({ principal: { name: ann.name, roles } });
  const heard = hearArgs(beginDecision(set, subject, now, monotonic), args, shape, monotonic);
  const { decision, obligations } = conclude(heard, "dec_1", {});
  return (
    decision.outcome === "allow" && obligations.limits.timeoutMs === 5_000 && heard.rulings.length === relevant.length
  );
}

/** One line for each spread. Takes about a tenth of a second for 1 000 decisions of all of them. */
export async function timePolicies(policies: number, decisions: number): Promise<readonly PolicyTimings[]> {
  const timings: PolicyTimings[] = [];
  for (const [spread, match] of Object.entries(spreads))
    timings.push(await timeSpread(spread, match, policies, decisions));
  return timings;
}

async function timeSpread(
  spread: string,
  match: (index: number) => Partial<PolicyVersion["match"]>,
  policies: number,
  decisions: number,
): Promise<PolicyTimings> {
  const others = Array.from({ length: policies - relevant.length }, (_, index) =>
    policyVersion({ name: `other${index}`, match: match(index), when: "args.amount > 10.0", missing: "deny" }),
  );
  const building = performance.now();
  const set = createPolicySet([...others, ...relevant]);
  const builtMs = performance.now() - building;
  let errors = 0;
  for (let warm = 0; warm < warmUps; warm += 1) await authorize(set);
  const samples = new Float64Array(decisions);
  for (let index = 0; index < decisions; index += 1) {
    const began = performance.now();
    if (!(await authorize(set))) errors += 1;
    samples[index] = performance.now() - began;
  }
  samples.sort();
  const replacing = performance.now();
  set.with(policyVersion({ name: "r1", version: "2.0.0", match: { tools: ["payments.charge"] } }));
  const replacedMs = performance.now() - replacing;
  const at = (share: number): number => percentile(samples, share) ?? Number.NaN;
  return { spread, n: decisions, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), errors, builtMs, replacedMs };
}
