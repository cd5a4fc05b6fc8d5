// Tools as their owners handle them: register a version, list, look one up, choose which version is active.
import { SignalboxError } from "@signalbox/protocol";
import { readManifest } from "../registry/manifest.ts";
import { manifestDigest } from "../registry/digest.ts";
import { compileToolSchemas } from "../registry/schema.ts";
import type { ToolQuery, ToolRecord, ToolVersion } from "../registry/types.ts";
import type { Page } from "../ledger/port.ts";
import type { Asked, Service, ToolView } from "../service.ts";
import { platformTenant } from "../tenancy/types.ts";
import { act, type AdminPorts } from "./admin.ts";
import { answerersOf, unaskable } from "./askable.ts";
import { unresolvedError } from "./catalog-errors.ts";
import { packageFor } from "./files-packages.ts";
import { storable } from "./invoke.ts";
import { isWholeToolOff } from "./switches.ts";
import { ownTool, quarantinedConflict, versionOf, visibleTo, type RegistryPorts } from "./tools-lookup.ts";
import { checkPolicies } from "./tools-policies.ts";

type Registered = Awaited<ReturnType<Service["registerTool"]>>;

/** Reads a manifest and compiles its schemas; every problem at once, each with its path. */
export function readTool(document: unknown): { manifest: Extract<ReturnType<typeof readManifest>, { ok: true }> } {
  const manifest = readManifest(document);
  if (!manifest.ok) {
    throw new SignalboxError(
      "invalid_input",
      `the manifest has ${manifest.problems.length} problem(s); the first: ${first(manifest.problems)}`,
      {
        details: { problems: manifest.problems },
      },
    );
  }
  const compiled = compileToolSchemas(manifest.spec);
  if (!compiled.ok) {
    const { problems } = compiled;
    throw new SignalboxError("invalid_input", `a schema of the manifest cannot be used: ${first(problems)}`, {
      details: { problems },
    });
  }
  const { type } = manifest.spec.executor;
  if (type === "mcp") {
    throw new SignalboxError("invalid_input", `executor ${type} is not served by this version; use worker`, {
      details: {
        problems: [{ path: "spec.executor.type", message: `executor ${type} is not served by this version` }],
      },
    });
  }
  return { manifest };
}

function first(problems: readonly { readonly path: string; readonly message: string }[]): string {
  const [problem] = problems;
  return problem === undefined ? "" : `${problem.path}: ${problem.message}`;
}

export async function registerTool(
  ports: RegistryPorts,
  asked: Asked,
  document: unknown,
  options: { readonly activate?: boolean; readonly package?: string },
): Promise<Registered> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "tools:write", asked.requestId);
  const { manifest } = readTool(document);
  const { name: tool, version } = manifest.metadata;
  const digest = manifestDigest(document, ports.hash);
  const { executor } = manifest.spec;
  const packageDigest = await packageFor(ports.store ?? noStore, principal.tenant, executor, options.package);
  const row: ToolVersion = {
    tenant: principal.tenant,
    tool,
    version,
    metadata: manifest.metadata,
    spec: manifest.spec,
    manifestDigest: digest,
    packageDigest,
    // Provenance decides, never the manifest: a tenant's own administrators are its first party.
    trust: "first_party",
    status: "active",
    publishedAt: ports.clock.now(),
    publishedBy: principal.name,
  };
  const hidden =
    (await storable(ports.ledger.tool(platformTenant, tool))) !== undefined && principal.tenant !== platformTenant;
  const told = [
    ...manifest.warnings.map(warningText),
    ...(hidden ? [`it hides the built-in tool ${tool} from this tenant`] : []),
  ];
  // What is published already is no news, even where a policy that it names has been withdrawn since.
  const before = await storable(ports.ledger.toolVersion(principal.tenant, tool, version));
  if (before === undefined) {
    const unasked = unaskable(ports, row, await answerersOf(ports, row.tenant));
    const warnings = [...told, ...checkPolicies(ports.policies, row).map(warningText), ...unasked];
    const activate = options.activate ?? (await isFirst(ports, principal.tenant, tool));
    const details = { activated: activate, ...(packageDigest === null ? {} : { package_digest: packageDigest }) };
    const facts = { tool, version, manifestDigest: digest };
    const applied = await act(
      ports,
      asked,
      "tool.registered",
      { op: "insert_tool_version", row, activate },
      details,
      facts,
    );
    ports.catalog.forget(principal.tenant, tool);
    if (applied) return { version: row, alreadyThere: false, active: activate, warnings };
  }
  const existing = await existingVersion(ports, row, told);
  if (options.activate !== true || existing.active) return existing;
  await activateTool(ports, asked, tool, version);
  return { ...existing, active: true };
}

async function existingVersion(
  ports: RegistryPorts,
  row: ToolVersion,
  warnings: readonly string[],
): Promise<Registered> {
  const existing = await storable(ports.ledger.toolVersion(row.tenant, row.tool, row.version));
  if (existing?.manifestDigest !== row.manifestDigest || existing.packageDigest !== row.packageDigest) {
    throw new SignalboxError(
      "conflict",
      `${row.tool}@${row.version} is published already with other content; versions never change, publish a new one`,
      {
        details: {
          tool: row.tool,
          version: row.version,
          published_digest: existing?.manifestDigest,
          digest: row.manifestDigest,
          published_package: existing?.packageDigest ?? null,
          package: row.packageDigest,
        },
      },
    );
  }
  const record = await storable(ports.ledger.tool(row.tenant, row.tool));
  return { version: existing, alreadyThere: true, active: record?.activeVersion === row.version, warnings };
}

const noStore = { usePackage: async () => undefined };

function warningText(warning: string | { readonly path: string; readonly message: string }): string {
  return typeof warning === "string" ? warning : `${warning.path}: ${warning.message}`;
}

/** The first version of a tool becomes active by itself; later ones are activated on purpose. */
async function isFirst(ports: RegistryPorts, tenant: string, tool: string): Promise<boolean> {
  const record = await storable(ports.ledger.tool(tenant, tool));
  return record === undefined || record.activeVersion === null;
}

/** What the caller may see: its tenant's tools and the platform's, as far as its grants reach. */
export async function listTools(
  ports: RegistryPorts,
  asked: Asked,
  limit: number,
  cursor?: string,
  query?: ToolQuery,
): Promise<Page<ToolRecord>> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "tools:read", asked.requestId);
  const visible = await visibleTo(ports, principal);
  const page = await pageOfTools(ports, principal.tenant, { limit, cursor, query });
  const { switches } = ports.catalog;
  return { items: page.items.filter((record) => visible(record.tool) && !isWholeToolOff(switches, record)), next: page.next };
}

interface Listing {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly query: ToolQuery | undefined;
}

/** Marks a cursor that stands in the second part of the list, the platform's tools. */
const sharedMark = "platform.";

/** The tenant's own tools first, then the platform's as far as no own tool hides them. A page is full or the last of its part. */
async function pageOfTools(ports: RegistryPorts, tenant: string, listing: Listing): Promise<Page<ToolRecord>> {
  const { limit, cursor, query } = listing;
  if (cursor?.startsWith(sharedMark) !== true) {
    const own = await storable(ports.ledger.listTools(tenant, limit, cursor, query));
    if (tenant === platformTenant) return own;
    if (own.next !== undefined || own.items.length >= limit) return { items: own.items, next: own.next ?? sharedMark };
    const shared = await sharedTools(ports, tenant, { limit: limit - own.items.length, cursor: undefined, query });
    return { items: [...own.items, ...shared.items], next: shared.next };
  }
  const inner = cursor.slice(sharedMark.length);
  return sharedTools(ports, tenant, { ...listing, cursor: inner === "" ? undefined : inner });
}

async function sharedTools(
  ports: RegistryPorts,
  tenant: string,
  { limit, cursor, query }: Listing,
): Promise<Page<ToolRecord>> {
  const page = await storable(ports.ledger.listTools(platformTenant, limit, cursor, query));
  const items: ToolRecord[] = [];
  for (const record of page.items) {
    if ((await storable(ports.ledger.tool(tenant, record.tool))) === undefined) items.push(record);
  }
  return { items, next: page.next === undefined ? undefined : `${sharedMark}${page.next}` };
}

/** A quarantined version, and a tool that is disabled somewhere, can be looked at: whoever releases it must see it first. */
export async function getTool(
  ports: RegistryPorts & Pick<AdminPorts, "hub">,
  asked: Asked,
  tool: string,
  version?: string,
): Promise<ToolView> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "tools:read", asked.requestId);
  const visible = await visibleTo(ports, principal);
  const found = await storable(ports.catalog.resolve(principal.tenant, tool, version ?? "", visible));
  // What the caller may not see is told in the very words of what there is not.
  if (!visible(tool))
    throw new SignalboxError("tool_not_found", `there is no tool ${tool}${version === undefined ? "" : ` ${version}`}`);
  if (!found.ok && (found.reason === "not_found" || found.reason === "bad_version"))
    throw unresolvedError({ tool, version }, found);
  const { version: row } = found;
  const record = await storable(ports.ledger.tool(row.tenant, tool));
  if (record === undefined) throw new SignalboxError("tool_not_found", `there is no tool ${tool}`);
  const versions = (await storable(ports.catalog.versions(row))).map((one) => one.version);
  const workers = ports.hub.serversOf(row.tenant, tool, row.version);
  const breaker = ports.hub.breaker({ tenant: principal.tenant, toolTenant: row.tenant, tool, version: row.version }, ports.clock.now());
  return { record, version: row, versions, workers, breaker };
}

export async function activateTool(
  ports: RegistryPorts,
  asked: Asked,
  tool: string,
  version: string,
): Promise<ToolRecord> {
  await ports.refusals.requireScope(asked.principal, "tools:write", asked.requestId);
  await ownTool(ports, asked, tool);
  return activate(ports, asked, { tool, version }, { action: "tool.activated", details: {} });
}

/** The act itself, for whoever has asked for the scope and the tool. */
export async function activate(
  ports: RegistryPorts,
  asked: Asked,
  { tool, version }: { readonly tool: string; readonly version: string },
  record: { readonly action: string; readonly details: Readonly<Record<string, unknown>> },
): Promise<ToolRecord> {
  const { tenant, name } = asked.principal;
  const { status } = await versionOf(ports, { tenant, tool }, version);
  if (status === "quarantined") throw quarantinedConflict(tool, version);
  const write = { op: "activate_tool", tenant, tool, version, at: ports.clock.now(), by: name } as const;
  const applied = await act(ports, asked, record.action, write, record.details, { tool, version });
  ports.catalog.forget(tenant, tool);
  const after = await storable(ports.ledger.tool(tenant, tool));
  if (!applied || after === undefined)
    throw new SignalboxError("tool_not_found", `there is no ${tool}@${version} to activate`);
  return after;
}
