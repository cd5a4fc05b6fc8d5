// Measures deciding alone: p50 and p95 of one decision with 10 000 policies loaded, five of them relevant.
//
//   node bench/policy-micro.ts [policies, default 10000]
import { inputShape } from "../packages/runtime/src/policy/condition/shape.ts";
import { beginDecision, conclude, hearArgs } from "../packages/runtime/src/policy/decide.ts";
import { createPolicySet, type PolicySet } from "../packages/runtime/src/policy/set.ts";
import type { PolicyVersion, Subject } from "../packages/runtime/src/policy/types.ts";
import { policySubject, policyVersion } from "../test/support/policies.ts";
import { percentile } from "./statistics.ts";

const decisions = 20_000;
const policies = Number(process.argv[2] ?? 10_000);
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
const spreads: Readonly<Record<string, (index: number) => PolicyVersion["match"] | Partial<PolicyVersion["match"]>>> = {
  tools: (index) => ({ tools: [`tool${index}.run`] }),
  groups: (index) => ({ tools: [`group${index}.*`] }),
  principals: (index) => ({ tools: ["payments.charge"], principals: [`user:${index}`] }),
  agents: (index) => ({ agents: [`agent${index}`] }),
  environments: (index) => ({ tools: ["*"], environments: [`env${index}`] }),
};

function decide(set: PolicySet, subject: Subject): string {
  const begun = beginDecision(set, subject, now, monotonic);
  return conclude(hearArgs(begun, args, shape, monotonic), "dec_1", {}).decision.outcome;
}

const micros = (value: number | undefined): string => `${(value ?? Number.NaN).toFixed(1).padStart(7)} µs`;

for (const [spread, match] of Object.entries(spreads)) {
  const others = Array.from({ length: policies - relevant.length }, (_, index) =>
    policyVersion({ name: `other${index}`, match: match(index), when: "args.amount > 10.0", missing: "deny" }),
  );
  const building = performance.now();
  const set = createPolicySet([...others, ...relevant]);
  const builtMs = performance.now() - building;
  const subject = policySubject();
  for (let warm = 0; warm < 2_000; warm += 1) decide(set, subject);
  const samples = new Float64Array(decisions);
  for (let index = 0; index < decisions; index += 1) {
    const began = performance.now();
    decide(set, subject);
    samples[index] = (performance.now() - began) * 1_000;
  }
  samples.sort();
  const replacing = performance.now();
  set.with(policyVersion({ name: "r1", version: "2.0.0", match: { tools: ["payments.charge"] } }));
  const replacedMs = performance.now() - replacing;
  console.log(
    `${policies} by ${spread.padEnd(12)}: p50 ${micros(percentile(samples, 0.5))}, p95 ${micros(percentile(samples, 0.95))}, ` +
      `p99 ${micros(percentile(samples, 0.99))} a decision; built in ${builtMs.toFixed(0)} ms, one replaced in ${replacedMs.toFixed(1)} ms`,
  );
}
