// Published policies as their owners handle them: listed, looked up, put in force and taken out of it, and what holds where no rule matches.
import { limits, SignalboxError } from "@signalbox/protocol";
import { nearNames } from "../document/nearest.ts";
import { compareVersions, parseVersion } from "../document/versions.ts";
import type { Page } from "../ledger/port.ts";
import { policyBounds } from "../policy/bounds.ts";
import type { PolicyDefault, PolicyVersion, StoredPolicy } from "../policy/types.ts";
import type { PolicyQuery, PolicyService } from "../service-governance.ts";
import { platformTenant, type Asked } from "../tenancy/types.ts";
import { act, type AdminPorts } from "./admin.ts";
import { storable } from "./invoke.ts";
import type { PolicyBook } from "./policy-book.ts";

export interface PolicyPorts extends Pick<
  AdminPorts,
  "ledger" | "catalog" | "directory" | "refusals" | "clock" | "hash"
> {
  readonly policies: PolicyBook;
}

const newestShownMax = 3;

export async function listPolicies(ports: PolicyPorts, asked: Asked, query: PolicyQuery): Promise<Page<PolicyVersion>> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "tools:read", asked.requestId);
  const { platform, limit, cursor, ...narrow } = query;
  const tenant = platform === true ? platformTenant : principal.tenant;
  return storable(ports.ledger.listPolicies({ ...narrow, tenant }, limit, cursor));
}

export async function getPolicy(
  ports: PolicyPorts,
  asked: Asked,
  name: string,
  version: string | undefined,
  platform: boolean,
): ReturnType<PolicyService["getPolicy"]> {
  await ports.refusals.requireScope(asked.principal, "tools:read", asked.requestId);
  const tenant = platform ? platformTenant : asked.principal.tenant;
  const published = await versionsOf(ports, tenant, name);
  const versions = published.map((one) => one.version);
  const wanted = version ?? published.find(({ status }) => status === "active")?.version ?? versions[0];
  const policy = wanted === undefined ? undefined : await storable(ports.ledger.policy(tenant, name, wanted));
  if (policy === undefined) throw notFound(ports, tenant, name, version, versions);
  return { policy, versions };
}

export async function setPolicyStatus(
  ports: PolicyPorts,
  asked: Asked,
  name: string,
  version: string,
  status: "active" | "withdrawn",
): Promise<PolicyVersion> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "policies:write", asked.requestId);
  const { tenant } = principal;
  const stored = await storable(ports.ledger.policy(tenant, name, version));
  const changed = stored === undefined ? undefined : { ...versionOf(stored), status };
  if (stored?.status === status && changed !== undefined) return changed;
  const write = { op: "set_policy_status", tenant, name, version, status } as const;
  const details = { policy: name, version, digest: stored?.digest, from: stored?.status };
  const action = status === "active" ? "policy.activated" : "policy.withdrawn";
  if (changed === undefined || !(await act(ports, asked, action, write, details))) {
    const published = await versionsOf(ports, tenant, name);
    throw notFound(
      ports,
      tenant,
      name,
      version,
      published.map((one) => one.version),
    );
  }
  ports.policies.policyChanged(changed);
  return changed;
}

export async function policyDefaults(ports: PolicyPorts, asked: Asked): Promise<readonly PolicyDefault[]> {
  await ports.refusals.requireScope(asked.principal, "tools:read", asked.requestId);
  const seen = [platformTenant, asked.principal.tenant];
  return (await storable(ports.ledger.policyDefaults())).filter(({ tenant }) => seen.includes(tenant));
}

/** @param project empty: the caller's whole tenant; for the platform, every tenant */
export async function setPolicyDefault(
  ports: PolicyPorts,
  asked: Asked,
  project: string,
  decision: "allow" | "deny" | null,
): Promise<PolicyDefault> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "policies:write", requestId);
  if (decision !== null) await requireProject(ports, asked, project);
  const row: PolicyDefault = {
    tenant: principal.tenant,
    project,
    decision,
    changedAt: ports.clock.now(),
    changedBy: principal.name,
  };
  await act(ports, asked, "policy.default_set", { op: "put_policy_default", row }, { project, decision });
  ports.policies.defaultChanged(row);
  return row;
}

/** A default for a misspelt project would be said to hold, and hold nowhere. */
async function requireProject(ports: PolicyPorts, { principal }: Asked, project: string): Promise<void> {
  if (project === "" || project === principal.project) return;
  const projects = (await storable(ports.ledger.projects(principal.tenant))).map((one) => one.project);
  if (projects.includes(project)) return;
  const near = nearNames(project, projects);
  throw new SignalboxError(
    "project_not_found",
    `there is no project ${project}; 'signalbox projects set ${project} --environment <label>' makes one`,
    { details: { project, ...(near.length === 0 ? {} : { did_you_mean: near }) } },
  );
}

/** Every version of one name, newest first, withdrawn ones included; publishing keeps their number within bounds. */
export async function versionsOf(ports: PolicyPorts, tenant: string, name: string): Promise<readonly PolicyVersion[]> {
  const versions: PolicyVersion[] = [];
  let cursor: string | undefined;
  do {
    const page = await storable(ports.ledger.listPolicies({ tenant, name }, limits.listItemsMax, cursor));
    versions.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && versions.length < policyBounds.versionsOfNameMax);
  return versions.sort((one, other) => byNumber(other.version, one.version));
}

/** Oldest first. Versions that differ in build metadata alone are told apart by their text, on every replica alike. */
export function byNumber(one: string, other: string): number {
  const [mine, theirs] = [parseVersion(one), parseVersion(other)];
  const order = mine === undefined || theirs === undefined ? 0 : compareVersions(mine, theirs);
  return order === 0 ? Number(one > other) - Number(one < other) : order;
}

/** A stored policy without its document, which nobody decides by. */
export function versionOf({ documentJson: _document, ...version }: StoredPolicy): PolicyVersion {
  return version;
}

function notFound(
  { policies }: PolicyPorts,
  tenant: string,
  name: string,
  version: string | undefined,
  versions: readonly string[],
): SignalboxError {
  const details: Record<string, unknown> = { policy: name, ...(version === undefined ? {} : { version }) };
  if (versions.length > 0) {
    details["versions"] = versions.slice(0, newestShownMax);
    return new SignalboxError("policy_not_found", `there is no version ${version} of the policy ${name}`, { details });
  }
  const current = policies.current();
  const known = current.ok ? [...current.set.versions()].filter((one) => one.tenant === tenant) : [];
  const near = nearNames(name, new Set(known.map((one) => one.name)));
  if (near.length > 0) details["did_you_mean"] = near;
  return new SignalboxError(
    "policy_not_found",
    `there is no policy ${name}; 'signalbox policies list' shows those there are`,
    { details },
  );
}
