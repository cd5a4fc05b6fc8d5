// Publishing a policy: the document read and checked against the tools there are, stored once and for ever, and put in force.
import { SignalboxError } from "@signalbox/protocol";
import type { Problem } from "../document/problems.ts";
import { lackOf, lackText } from "../policy/answerers.ts";
import { policyBounds } from "../policy/bounds.ts";
import { policyDigest, readPolicy, type PolicyOutcome } from "../policy/document.ts";
import { lintPlaces, lintShadows, lintTools, toolsHit } from "../policy/lints.ts";
import type { Policy, PolicyVersion, StoredPolicy } from "../policy/types.ts";
import type { PublishedPolicy } from "../service-governance.ts";
import { platformTenant, type Asked, type Project } from "../tenancy/types.ts";
import { act } from "./admin.ts";
import { answerersOf, askHint } from "./askable.ts";
import { storable } from "./invoke.ts";
import { byNumber, versionOf, versionsOf, type PolicyPorts } from "./policy-admin.ts";
import { knownTools, type KnownTools } from "./policy-admin-tools.ts";

export async function publishPolicy(
  ports: PolicyPorts,
  asked: Asked,
  document: unknown,
  options: { readonly dryRun?: boolean },
): Promise<PublishedPolicy> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "policies:write", asked.requestId);
  const tools = await knownTools(ports, principal.tenant);
  const { policy, warnings: read } = accepted(await readFor(tools, principal.tenant, document), "");
  const published = await versionsOf(ports, principal.tenant, policy.name);
  const newer = newerThan(policy, published);
  const row: StoredPolicy = {
    ...policy,
    tenant: principal.tenant,
    digest: policyDigest(document, ports.hash),
    publishedAt: ports.clock.now(),
    publishedBy: principal.name,
    status: newer === undefined ? "active" : "superseded",
    documentJson: JSON.stringify(document),
  };
  const hit = toolsHit(policy.match, tools.names).flatMap((one) => one.tools);
  const found = {
    toolsHit: [...new Set(hit)].slice(0, policyBounds.toolsHitShownMax),
    warnings: [...read, ...(await warningsOf(ports, row, tools))],
  };
  if (published.some(({ version }) => version === row.version)) return publishedBefore(ports, row, found);
  requireRoom(policy, published);
  const warnings = [...found.warnings, ...olderWarnings(row, newer)];
  if (options.dryRun !== true) {
    const { name, version, digest, level, decision, status } = row;
    const details = { policy: name, version, digest, level, decision, status };
    const stored = await act(ports, asked, "policy.published", { op: "insert_policy", row }, details);
    if (!stored) return publishedBefore(ports, row, found);
    ports.policies.policyChanged(versionOf(row));
  }
  return { policy: row, alreadyThere: false, ...found, warnings };
}

/** Reads a document as the tenant's own, checked against its tools. */
export function readFor(tools: KnownTools, tenant: string, document: unknown): Promise<PolicyOutcome> {
  const owner = tenant === platformTenant ? "platform" : "tenant";
  return tools.withShapes((known) => readPolicy(document, { tools: known, owner }));
}

/**
 * @param place of the document in the request; empty where it is the request
 * @throws SignalboxError invalid_input, with every problem
 */
export function accepted(outcome: PolicyOutcome, place: string): Extract<PolicyOutcome, { ok: true }> {
  if (outcome.ok) return outcome;
  const problems = outcome.problems.map((problem) => ({ ...problem, path: placed(place, problem.path) }));
  throw refusedProblems("the policy", problems);
}

function placed(place: string, path: string): string {
  if (place === "" || path === "") return place === "" ? path : place;
  return path.startsWith("[") ? `${place}${path}` : `${place}.${path}`;
}

export function refusedProblems(what: string, problems: readonly Problem[]): SignalboxError {
  const [first] = problems;
  const told = first === undefined ? "" : `; the first: ${first.path === "" ? "" : `${first.path}: `}${first.message}`;
  return new SignalboxError("invalid_input", `${what} has ${problems.length} problem(s)${told}`, {
    details: { problems },
  });
}

/**
 * The newest version that could be in force and is newer than this one.
 * @param published newest first
 */
function newerThan({ version }: Policy, published: readonly PolicyVersion[]): PolicyVersion | undefined {
  return published.find((one) => one.status !== "withdrawn" && byNumber(one.version, version) > 0);
}

function olderWarnings({ name, version }: StoredPolicy, newer: PolicyVersion | undefined): readonly Problem[] {
  if (newer === undefined) return [];
  const message = `${version} is older than ${newer.version}: it is kept, and not in force`;
  return [
    { path: "metadata.version", message, hint: `'signalbox policies activate ${name} ${version}' puts it in force` },
  ];
}

function requireRoom({ name }: Policy, published: readonly PolicyVersion[]): void {
  if (published.length < policyBounds.versionsOfNameMax) return;
  throw new SignalboxError(
    "conflict",
    `${name} has ${published.length} versions, and no more are kept; publish it under a new name`,
    {
      details: { policy: name, versions: published.length, limit: policyBounds.versionsOfNameMax },
    },
  );
}

async function warningsOf(ports: PolicyPorts, row: StoredPolicy, tools: KnownTools): Promise<readonly Problem[]> {
  const { tenant, match } = row;
  const warnings: Problem[] = [...lintTools(match, tools.names)];
  if (tools.cut && match.tools.length > 0)
    warnings.push({
      path: "spec.match.tools",
      message: `was held against the first ${tools.names.length} tools alone: there are more`,
    });
  if (row.level === "project" || match.environments.length > 0)
    warnings.push(...lintPlaces(row, await projectsFor(ports, tenant)));
  // The platform's rules ask the people of each tenant.
  const lack = row.approval === null || row.mode !== "enforce" || tenant === platformTenant ? undefined : lackOf(row.approval, await answerersOf(ports, tenant));
  if (lack !== undefined) warnings.push({ path: "spec.then.approval.route", message: lackText(lack), hint: askHint });
  const current = ports.policies.current();
  if (!current.ok)
    return [...warnings, { path: "", message: `was not held against other policies: ${current.failure}` }];
  const beside = [...current.set.versions()].filter((one) => one.tenant === tenant || one.tenant === platformTenant);
  return [...warnings, ...lintShadows(row, beside)];
}

/** The projects that its rules can reach; the platform's reach those of all tenants. */
async function projectsFor(ports: PolicyPorts, tenant: string): Promise<readonly Project[]> {
  if (tenant !== platformTenant) return storable(ports.ledger.projects(tenant));
  const all: Project[] = [];
  for (const one of await storable(ports.ledger.tenants()))
    all.push(...(await storable(ports.ledger.projects(one.tenant))));
  return all;
}

/** The same document again is no error and nothing new; another one under the same version never takes its place. */
async function publishedBefore(
  ports: PolicyPorts,
  row: StoredPolicy,
  found: Pick<PublishedPolicy, "warnings" | "toolsHit">,
): Promise<PublishedPolicy> {
  const { tenant, name, version, digest } = row;
  const policy = await storable(ports.ledger.policy(tenant, name, version));
  if (policy === undefined || policy.digest !== digest) {
    const text = `${name}@${version} is published already with other content; published policies never change, publish a new version`;
    throw new SignalboxError("conflict", text, {
      details: { policy: name, version, published_digest: policy?.digest, digest },
    });
  }
  if (policy.status === "active") return { policy, alreadyThere: true, ...found };
  const message = `${version} was published before and is ${policy.status}: it is not in force`;
  const hint = `'signalbox policies activate ${name} ${version}' puts it in force`;
  return {
    policy,
    alreadyThere: true,
    ...found,
    warnings: [...found.warnings, { path: "metadata.version", message, hint }],
  };
}
