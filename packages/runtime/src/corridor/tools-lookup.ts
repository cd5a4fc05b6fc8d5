// Finds the tool that an administrative request is about, and says why where there is none that the caller may change.
import { SignalboxError } from "@signalbox/protocol";
import { missingPermissions } from "../policy/permission.ts";
import { newestUsable } from "../registry/pick.ts";
import { versionsShownMax } from "../registry/resolve.ts";
import type { ToolRecord, ToolVersion } from "../registry/types.ts";
import { platformTenant, type Asked, type Principal } from "../tenancy/types.ts";
import type { AdminPorts } from "./admin.ts";
import type { ContentStore } from "./files-ports.ts";
import { storable } from "./invoke.ts";
import { hasScope } from "./refusals.ts";

/** What the registry's administration needs of the other administrators' ports, and one more. */
export interface RegistryPorts extends Pick<
  AdminPorts,
  "ledger" | "catalog" | "directory" | "policies" | "refusals" | "clock" | "hash"
> {
  /** Absent: no tool can bring code. */
  readonly store?: Pick<ContentStore, "usePackage">;
  /** Looks again at the calls that wait; says how many it denied. */
  readonly reconsider?: () => number | void | Promise<number | void>;
}

/** Whose tools of this name a principal may learn of: its grants say, and whoever may write tools sees all. */
export async function visibleTo(ports: RegistryPorts, principal: Principal): Promise<(tool: string) => boolean> {
  if (hasScope(principal, "tools:write")) return () => true;
  const granted = await storable(ports.directory.permissionsOf(principal, principal.project, ports.clock.now()));
  return (tool) => missingPermissions(granted, [`tool:invoke:${tool}`]).length === 0;
}

/** @throws SignalboxError tool_not_found, also for the platform's tools, which only the platform's own keys may change */
export async function ownTool(ports: RegistryPorts, asked: Asked, tool: string): Promise<ToolRecord> {
  const { tenant } = asked.principal;
  const own = await storable(ports.ledger.tool(tenant, tool));
  if (own !== undefined) return own;
  const shared = tenant === platformTenant ? undefined : await storable(ports.ledger.tool(platformTenant, tool));
  if (shared === undefined) throw noTool(tool);
  const hint = `choose its version with 'signalbox tools pin ${tool} <version>', or keep a project from it with 'signalbox tools disable ${tool} --project <project>'`;
  throw new SignalboxError(
    "tool_not_found",
    `this tenant has no tool ${tool} of its own, and the platform's is not its to change; ${hint}`,
    {
      details: { tool, owner: platformTenant, hint },
    },
  );
}

/** The tenant's own tool, else the platform's. @throws SignalboxError tool_not_found */
export async function anyTool(ports: RegistryPorts, asked: Asked, tool: string): Promise<ToolRecord> {
  const home = await storable(ports.catalog.home(asked.principal.tenant, tool));
  if (home === undefined) throw noTool(tool);
  return home;
}

export function noTool(tool: string): SignalboxError {
  return new SignalboxError("tool_not_found", `there is no tool ${tool}; 'signalbox tools list' shows what there is`, {
    details: { tool },
  });
}

/** @throws SignalboxError tool_not_found with the newest versions there are */
export async function versionOf(
  ports: RegistryPorts,
  { tenant, tool }: Pick<ToolRecord, "tenant" | "tool">,
  version: string,
): Promise<ToolVersion> {
  const row = await storable(ports.ledger.toolVersion(tenant, tool, version));
  if (row === undefined) throw await noVersion(ports, { tenant, tool }, version);
  return row;
}

export async function noVersion(
  ports: RegistryPorts,
  { tenant, tool }: Pick<ToolRecord, "tenant" | "tool">,
  version: string,
): Promise<SignalboxError> {
  const versions = newestUsable(await storable(ports.catalog.versions({ tenant, tool })), versionsShownMax);
  const there = versions.length === 0 ? "no version of it may run" : `the newest are ${versions.join(", ")}`;
  const range = /[\^~*<>=|\s]/.test(version) ? ", and a range names none; here one version is meant" : "";
  return new SignalboxError("tool_not_found", `there is no version ${version} of ${tool}${range}; ${there}`, {
    details: { tool, version, versions },
  });
}

/** What may not run may neither become the active version nor be pinned. */
export function quarantinedConflict(tool: string, version: string): SignalboxError {
  return new SignalboxError(
    "conflict",
    `${tool}@${version} is quarantined; choose another version, or release it first: signalbox tools release ${tool}@${version}`,
    {
      details: { tool, version, status: "quarantined" },
    },
  );
}
