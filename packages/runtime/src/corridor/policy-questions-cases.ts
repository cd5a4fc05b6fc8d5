// Runs a file of cases against the policies in force, with candidates put over them as if they were published.
import { SignalboxError, timeInWords } from "@signalbox/protocol";
import type { Problem } from "../document/problems.ts";
import { policyBounds } from "../policy/bounds.ts";
import { readCases, runCases, type CaseResult, type PolicyCase } from "../policy/cases.ts";
import { policyDigest } from "../policy/document.ts";
import { createPolicySet, type PolicySet } from "../policy/set.ts";
import type { PolicyVersion } from "../policy/types.ts";
import { platformTenant, type Asked } from "../tenancy/types.ts";
import { unstored } from "./invoke.ts";
import type { Clock } from "./ports.ts";
import type { PolicyPorts } from "./policy-admin.ts";
import { accepted, readFor, refusedProblems } from "./policy-admin-publish.ts";
import { knownTools, shapesByName } from "./policy-admin-tools.ts";

export async function testPolicies(
  ports: PolicyPorts,
  asked: Asked,
  cases: unknown,
  candidates: readonly unknown[],
): Promise<readonly CaseResult[]> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "tools:read", asked.requestId);
  const read = readOwnCases(cases, principal.tenant);
  const pace = newPace(ports.clock);
  const set = withCandidates(seenBy(ports, principal.tenant), await readCandidates(ports, asked, candidates, pace));
  const shapeOf = await shapesByName(
    ports,
    principal.tenant,
    read.map(({ subject }) => subject.tool.name),
  );
  const monotonic = (): number => ports.clock.monotonic();
  const results: CaseResult[] = [];
  for (const one of read) {
    await pace();
    const defaults = ports.policies.defaultsFor(one.subject.tenant, one.subject.project);
    results.push(...runCases([one], { set, defaults, shapeOf, now: ports.clock.now(), monotonic }));
  }
  return results;
}

/** Explanations show rules, so nobody tries calls of another tenant; the platform does, against its own rules alone. */
function readOwnCases(document: unknown, tenant: string): readonly PolicyCase[] {
  const read = readCases(document, tenant);
  if (!read.ok) throw refusedProblems("the file of cases", read.problems);
  const foreign = read.cases.flatMap(({ subject }, index): readonly Problem[] => {
    if (tenant === platformTenant || subject.tenant === tenant) return [];
    return [{ path: `cases[${index}].call.tenant`, message: "is not the tenant of this key", hint: "leave it out" }];
  });
  if (foreign.length > 0) throw refusedProblems("the file of cases", foreign);
  return read.cases;
}

/** The policies of the tenant and of the platform, which are all that can bind its calls. */
function seenBy({ policies }: PolicyPorts, tenant: string): readonly PolicyVersion[] {
  const current = policies.current();
  if (!current.ok) throw unstored(new Error(current.failure));
  return [...current.set.versions()].filter((one) => one.tenant === tenant || one.tenant === platformTenant);
}

async function readCandidates(
  ports: PolicyPorts,
  { principal }: Asked,
  documents: readonly unknown[],
  pace: () => Promise<void>,
): Promise<readonly PolicyVersion[]> {
  if (documents.length === 0) return [];
  if (documents.length > policyBounds.candidatesMax) {
    const message = `has ${documents.length} entries; the limit is ${policyBounds.candidatesMax}`;
    throw refusedProblems("the request", [{ path: "policies", message }]);
  }
  const tools = await knownTools(ports, principal.tenant);
  const versions: PolicyVersion[] = [];
  for (const [index, document] of documents.entries()) {
    await pace();
    const { policy } = accepted(await readFor(tools, principal.tenant, document), `policies[${index}]`);
    versions.push({
      ...policy,
      tenant: principal.tenant,
      digest: policyDigest(document, ports.hash),
      publishedAt: ports.clock.now(),
      publishedBy: principal.name,
      status: "active",
    });
  }
  return versions;
}

/** Of several active versions of one name the last is in force. */
function withCandidates(versions: readonly PolicyVersion[], candidates: readonly PolicyVersion[]): PolicySet {
  return createPolicySet([...versions, ...candidates]);
}

/** Between two cases others get their turn; and a file that takes too long in all is not gone on with. */
function newPace(clock: Clock): () => Promise<void> {
  const began = clock.monotonic();
  let since = began;
  return async () => {
    const now = clock.monotonic();
    if (now - began > policyBounds.casesMsMax) {
      const text = `the cases took longer than ${timeInWords(policyBounds.casesMsMax)}: send fewer at a time`;
      throw new SignalboxError("invalid_input", text, { details: { limit_ms: policyBounds.casesMsMax } });
    }
    if (now - since < policyBounds.casesSliceMs) return;
    await new Promise<void>((resolve) => void clock.after(0, resolve));
    since = clock.monotonic();
  };
}
