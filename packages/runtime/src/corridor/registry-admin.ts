// What a tool's owner decides about its versions: pin, roll back, deprecate, quarantine, release.
import { SignalboxError } from "@signalbox/protocol";
import { parseRange, parseVersion } from "../document/versions.ts";
import { pickVersion } from "../registry/pick.ts";
import type { Activation, ListedVersion, ToolPin, ToolRecord, ToolVersion } from "../registry/types.ts";
import type { Asked } from "../tenancy/types.ts";
import { versionFault } from "./catalog-errors.ts";
import { act } from "./admin.ts";
import { storable } from "./invoke.ts";
import {
  anyTool,
  noTool,
  noVersion,
  ownTool,
  quarantinedConflict,
  versionOf,
  visibleTo,
  type RegistryPorts,
} from "./tools-lookup.ts";
import { activate } from "./tools.ts";

/** How far back a tool's activations are looked at and shown. */
const activationsMax = 100;
/** Versions that one commit quarantines or releases; a tool may have many thousands. */
const statusesPerUnitMax = 1_000;
/** How often a unit may find that somebody else was changing the same versions. */
const refusalsMax = 3;
/** Versions that one audit record names; the rest is counted. */
const versionsNamedMax = 100;

/** Also of a platform's tool: a pin is a tenant's own wish. Scope tools:write. */
export async function pinTool(
  ports: RegistryPorts,
  asked: Asked,
  tool: string,
  requested: string | null,
): Promise<ToolPin> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "tools:write", asked.requestId);
  const home = await anyTool(ports, asked, tool);
  if (requested !== null) await checkPin(ports, home, requested);
  const row: ToolPin = {
    tenant: principal.tenant,
    tool,
    requested,
    changedAt: ports.clock.now(),
    changedBy: principal.name,
  };
  const action = requested === null ? "tool.unpinned" : "tool.pinned";
  await act(ports, asked, action, { op: "put_tool_pin", row }, requested === null ? {} : { requested }, { tool });
  ports.catalog.forgetChoices(principal.tenant);
  return row;
}

/** A pin that nothing fits, or that leads to what must not run, would refuse every call that names no version. */
async function checkPin(ports: RegistryPorts, home: ToolRecord, requested: string): Promise<void> {
  const { tool } = home;
  if (parseVersion(requested) !== undefined) {
    const { status } = await versionOf(ports, home, requested);
    if (status === "quarantined") throw quarantinedConflict(tool, requested);
    return;
  }
  if (parseRange(requested) === undefined) {
    throw new SignalboxError("invalid_input", `"${requested}" is neither a version nor a range like ^1.2.0`, {
      details: { tool, version: requested, fields: [versionFault] },
    });
  }
  const picked = pickVersion(await storable(ports.catalog.versions(home)), requested);
  if (picked.ok) return;
  throw picked.reason === "quarantined"
    ? quarantinedConflict(tool, picked.version)
    : await noVersion(ports, home, requested);
}

export async function toolPins(ports: RegistryPorts, asked: Asked): Promise<readonly ToolPin[]> {
  await ports.refusals.requireScope(asked.principal, "tools:read", asked.requestId);
  return storable(ports.ledger.toolPins(asked.principal.tenant));
}

/** Scope tools:write. What runs goes on; the next call that names no version meets the older one. */
export async function rollBackTool(
  ports: RegistryPorts,
  asked: Asked,
  tool: string,
  to: string | undefined,
): Promise<{ readonly record: ToolRecord; readonly from: string }> {
  await ports.refusals.requireScope(asked.principal, "tools:write", asked.requestId);
  const record = await ownTool(ports, asked, tool);
  const version = to ?? (await versionBefore(ports, record));
  const from = record.activeVersion ?? "";
  const after = await activate(ports, asked, { tool, version }, { action: "tool.rolled_back", details: { from } });
  return { record: after, from };
}

/** The last version that was active before this one, those that must not run left aside. */
async function versionBefore(ports: RegistryPorts, record: ToolRecord): Promise<string> {
  const { tenant, tool, activeVersion } = record;
  const past = await storable(ports.ledger.activations(tenant, tool, activationsMax));
  const earlier = [...new Set(past.map(({ version }) => version))].filter((version) => version !== activeVersion);
  const statuses = new Map(
    (await storable(ports.catalog.versions(record))).map(({ version, status }) => [version, status]),
  );
  const found = earlier.find((version) => statuses.get(version) !== "quarantined");
  if (found !== undefined) return found;
  const why =
    earlier.length === 0
      ? "no other version of it was active before"
      : `all that was active before is quarantined (${earlier.join(", ")})`;
  throw new SignalboxError(
    "conflict",
    `${tool} cannot be rolled back: ${why}; name the version: signalbox tools rollback ${tool} <version>`,
    {
      details: { tool, active_version: activeVersion, quarantined: earlier },
    },
  );
}

/** Newest first. Scope tools:read. */
export async function activations(ports: RegistryPorts, asked: Asked, tool: string): Promise<readonly Activation[]> {
  await ports.refusals.requireScope(asked.principal, "tools:read", asked.requestId);
  const visible = await visibleTo(ports, asked.principal);
  if (!visible(tool)) throw noTool(tool);
  const home = await anyTool(ports, asked, tool);
  return storable(ports.ledger.activations(home.tenant, tool, activationsMax));
}

/** A deprecated version goes on where it is named, pinned or active; no range chooses it any more. Scope tools:write. */
export async function deprecateTool(
  ports: RegistryPorts,
  asked: Asked,
  tool: string,
  version: string,
  deprecated: boolean,
): Promise<ToolVersion> {
  await ports.refusals.requireScope(asked.principal, "tools:write", asked.requestId);
  const row = await versionOf(ports, await ownTool(ports, asked, tool), version);
  // A quarantined version has one way out, and this is not it.
  if (row.status === "quarantined") throw quarantinedConflict(tool, version);
  const status = deprecated ? "deprecated" : "active";
  if (row.status === status) return row;
  const write = { op: "set_tool_status", tenant: row.tenant, tool, version, from: row.status, status } as const;
  const applied = await act(
    ports,
    asked,
    deprecated ? "tool.deprecated" : "tool.undeprecated",
    write,
    {},
    { tool, version },
  );
  ports.catalog.forget(row.tenant, tool);
  if (!applied) throw changedMeanwhile(tool);
  return { ...row, status };
}

export interface QuarantineOptions {
  /** Lifts the quarantine; what was deprecated before it is active afterwards. */
  readonly released: boolean;
  readonly reason: string;
}

/**
 * One version, or all of them; scope tools:write. Doing it again changes nothing and is no error.
 * @returns the versions that are quarantined by it (or were so already), or those that were released
 */
export async function quarantineTool(
  ports: RegistryPorts,
  asked: Asked,
  tool: string,
  version: string | undefined,
  options: QuarantineOptions,
): Promise<{ readonly versions: readonly string[]; readonly denied: number }> {
  await ports.refusals.requireScope(asked.principal, "tools:write", asked.requestId);
  const record = await ownTool(ports, asked, tool);
  if (version !== undefined) await versionOf(ports, record, version);
  try {
    const versions = await setStatuses(ports, asked, { record, version, ...options });
    return { versions, denied: await reconsidered(ports, record) };
  } catch (error) {
    // Of many versions some may be changed already.
    await reconsidered(ports, record);
    throw error;
  }
}

async function reconsidered(ports: RegistryPorts, { tenant, tool }: ToolRecord): Promise<number> {
  ports.catalog.forget(tenant, tool);
  return (await ports.reconsider?.()) ?? 0;
}

interface StatusChange extends QuarantineOptions {
  readonly record: ToolRecord;
  readonly version: string | undefined;
}

/** Changes what has yet to be changed, some at a time, by what the ledger says now: versions may be coming and going. */
async function setStatuses(ports: RegistryPorts, asked: Asked, change: StatusChange): Promise<readonly string[]> {
  const { record, version, released } = change;
  const changed: string[] = [];
  for (let refused = 0; refused < refusalsMax;) {
    const listed = await storable(ports.ledger.toolVersions(record.tenant, record.tool));
    const concerned = listed.filter((one) => version === undefined || one.version === version);
    const left = concerned.filter(({ status }) => (status === "quarantined") === released).slice(0, statusesPerUnitMax);
    if (left.length === 0) return released ? changed : concerned.map((one) => one.version);
    if (await setSome(ports, asked, change, left)) changed.push(...left.map((one) => one.version));
    else refused++;
  }
  throw changedMeanwhile(record.tool);
}

function setSome(
  ports: RegistryPorts,
  asked: Asked,
  { record: { tenant, tool }, version, released, reason }: StatusChange,
  some: readonly ListedVersion[],
): Promise<boolean> {
  const status = released ? "active" : "quarantined";
  const writes = some.map(
    (one) => ({ op: "set_tool_status", tenant, tool, version: one.version, from: one.status, status }) as const,
  );
  const named = some.slice(0, versionsNamedMax).map((one) => one.version);
  const deprecated = some.filter((one) => one.status === "deprecated").slice(0, versionsNamedMax);
  const details = {
    reason,
    versions: named,
    count: some.length,
    // Whoever releases them has to deprecate them again.
    ...(deprecated.length === 0 ? {} : { deprecated_before: deprecated.map((one) => one.version) }),
  };
  const facts = version === undefined ? { tool } : { tool, version };
  return act(ports, asked, released ? "tool.released" : "tool.quarantined", writes, details, facts);
}

function changedMeanwhile(tool: string): SignalboxError {
  return new SignalboxError("conflict", `somebody else changed ${tool} at the same moment; look at it and try again`, {
    details: { tool },
  });
}
