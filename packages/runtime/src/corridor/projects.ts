// Projects as administrators see them: their labels, and which tools each may use.
import { limits, SignalboxError } from "@signalbox/protocol";
import { nearNames } from "../document/nearest.ts";
import type { ProjectTool } from "../registry/types.ts";
import type { Asked, Project } from "../tenancy/types.ts";
import { tenancyBounds } from "../tenancy/tenant.ts";
import { act, makingIn, requireRoom, type AdminPorts } from "./admin.ts";
import { storable } from "./invoke.ts";
import { anyTool, type RegistryPorts } from "./tools-lookup.ts";

/** Neither spaces nor control characters: names stand in paths, keys and log lines. */
const projectPattern = /^[^\s\p{C}]+$/u;
/** The same as a policy may name under `environments`. */
const environmentPattern = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/;

/** Whether a project may use a tool, the platform's ones included. Scope tools:write. */
export async function enableTool(
  ports: RegistryPorts,
  asked: Asked,
  project: string,
  tool: string,
  enabled: boolean,
): Promise<ProjectTool> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "tools:write", asked.requestId);
  await anyTool(ports, asked, tool);
  await requireProject(ports, asked, project);
  const row: ProjectTool = {
    tenant: principal.tenant,
    project,
    tool,
    enabled,
    changedAt: ports.clock.now(),
    changedBy: principal.name,
  };
  await act(
    ports,
    asked,
    enabled ? "tool.enabled" : "tool.disabled",
    { op: "put_project_tool", row },
    {},
    { project, tool },
  );
  ports.catalog.forgetChoices(principal.tenant);
  await ports.reconsider?.();
  return row;
}

/** A misspelt name would disable nothing and look as if it had. A key's own project need not have been made. */
async function requireProject(ports: RegistryPorts, { principal }: Asked, project: string): Promise<void> {
  if (project === principal.project) return;
  const names = (await storable(ports.ledger.projects(principal.tenant))).map((one) => one.project);
  if (names.includes(project)) return;
  const near = nearNames(project, names);
  throw new SignalboxError(
    "project_not_found",
    `there is no project ${project}; make it first: signalbox projects set ${project} --environment <label>`,
    {
      details: { project, ...(near.length === 0 ? {} : { did_you_mean: near }) },
    },
  );
}

export async function projectTools(ports: RegistryPorts, asked: Asked): Promise<readonly ProjectTool[]> {
  await ports.refusals.requireScope(asked.principal, "tools:read", asked.requestId);
  return storable(ports.ledger.projectTools(asked.principal.tenant));
}

export async function listProjects(ports: RegistryPorts, asked: Asked): Promise<readonly Project[]> {
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  return storable(ports.ledger.projects(asked.principal.tenant));
}

export type ProjectPorts = RegistryPorts & Pick<AdminPorts, "counting">;

/** @throws SignalboxError conflict when the tenant has as many projects as it may have */
export function roomForProject(projects: readonly Project[]): void {
  const { projectsPerTenantMax: max } = tenancyBounds;
  requireRoom(projects.length, max, "projects of this tenant, as many as there may be; use one of them", "projects_per_tenant_max");
}

/** @param environment the label that policies match; empty = none. Scope admin. */
export async function putProject(
  ports: ProjectPorts,
  asked: Asked,
  project: string,
  environment: string,
): Promise<Project> {
  const { tenant } = asked.principal;
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  checkNames(project, environment);
  return ports.counting.run(makingIn(tenant), () => storeProject(ports, asked, project, environment));
}

async function storeProject(
  ports: RegistryPorts,
  asked: Asked,
  project: string,
  environment: string,
): Promise<Project> {
  const { tenant } = asked.principal;
  const projects = await storable(ports.ledger.projects(tenant));
  const before = projects.find((one) => one.project === project);
  if (before === undefined) roomForProject(projects);
  const row: Project = { tenant, project, environment, createdAt: before?.createdAt ?? ports.clock.now() };
  const details = { environment, ...(before === undefined ? {} : { from: before.environment }) };
  await act(
    ports,
    asked,
    before === undefined ? "project.created" : "project.changed",
    { op: "put_project", row },
    details,
    { project },
  );
  ports.policies.projectChanged(row);
  return row;
}

function checkNames(project: string, environment: string): void {
  const problems = [
    ...(projectPattern.test(project) && project.length <= limits.nameCharsMax
      ? []
      : [{ path: "project", message: `is no name: 1 to ${limits.nameCharsMax} characters, without spaces` }]),
    ...(environment === "" || (environmentPattern.test(environment) && environment.length <= limits.nameCharsMax)
      ? []
      : [{ path: "environment", message: "is no label: letters, digits and _ . - between them, like production" }]),
  ];
  const [first] = problems;
  if (first !== undefined)
    throw new SignalboxError("invalid_input", `${first.path} ${first.message}`, { details: { problems } });
}
