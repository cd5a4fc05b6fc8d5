// The tools that a policy's author may mean: their names, and what their arguments can be where a rule reads those.
import { limits } from "@signalbox/protocol";
import type { Ledger } from "../ledger/port.ts";
import { policyBounds } from "../policy/bounds.ts";
import { inputShape, unknownArgs, untyped, type Shape } from "../policy/condition/shape.ts";
import type { KnownTool } from "../policy/document/when.ts";
import { orderVersions } from "../registry/pick.ts";
import type { ToolRecord } from "../registry/types.ts";
import { platformTenant } from "../tenancy/types.ts";
import { storable } from "./invoke.ts";

export type ToolPorts = {
  readonly ledger: Pick<Ledger, "listTools" | "tenants" | "tool" | "toolVersion" | "toolVersions">;
};

/** Tenants whose tools the platform's author is told of; guards against thousands of empty ones. */
const tenantsLookedAtMax = 1_000;

export interface KnownTools {
  /** Each name once. */
  readonly names: readonly string[];
  /** There are more than `policyBounds.toolsKnownMax`, and some were not looked at. */
  readonly cut: boolean;
  /**
   * Gives `read` the tools to check conditions against. It may be run twice: schemas are fetched for those tools alone
   * whose shape it asked for, not for the thousands that no rule is about.
   */
  withShapes<T>(read: (tools: readonly KnownTool[]) => T): Promise<T>;
}

/** The tenant's tools, and the platform's as far as no own tool hides them. For the platform the tools of all tenants. */
export async function knownTools(ports: ToolPorts, tenant: string): Promise<KnownTools> {
  const { records, cut } = await recordsFor(ports, tenant);
  const shapes = new Map<ToolRecord, Shape>();
  return {
    names: [...new Set(records.map(({ tool }) => tool))],
    cut,
    async withShapes(read) {
      const wanted = new Set<ToolRecord>();
      const tools = records.map((record): KnownTool => {
        const input = (): Shape => {
          const shape = shapes.get(record);
          if (shape === undefined) wanted.add(record);
          return shape ?? unknownArgs;
        };
        return { name: record.tool, input };
      });
      const first = read(tools);
      if (wanted.size === 0) return first;
      await Promise.all([...wanted].map(async (record) => shapes.set(record, await shapeOf(ports, record))));
      return read(tools);
    },
  };
}

async function recordsFor(
  ports: ToolPorts,
  tenant: string,
): Promise<{ readonly records: readonly ToolRecord[]; readonly cut: boolean }> {
  const owners =
    tenant === platformTenant ? await allTenants(ports) : { tenants: [tenant, platformTenant], cut: false };
  const records: ToolRecord[] = [];
  let { cut } = owners;
  for (const owner of owners.tenants) {
    const left = policyBounds.toolsKnownMax - records.length;
    const found = await recordsOf(ports, owner, left);
    records.push(...found.records);
    cut ||= found.cut;
  }
  if (tenant === platformTenant) return { records, cut };
  const own = new Set(records.flatMap((record) => (record.tenant === tenant ? [record.tool] : [])));
  return { records: records.filter((record) => record.tenant === tenant || !own.has(record.tool)), cut };
}

async function allTenants(ports: ToolPorts): Promise<{ readonly tenants: readonly string[]; readonly cut: boolean }> {
  const others = (await storable(ports.ledger.tenants())).filter(({ tenant }) => tenant !== platformTenant);
  const looked = others.slice(0, tenantsLookedAtMax).map(({ tenant }) => tenant);
  return { tenants: [platformTenant, ...looked], cut: looked.length < others.length };
}

async function recordsOf(
  ports: ToolPorts,
  tenant: string,
  max: number,
): Promise<{ readonly records: readonly ToolRecord[]; readonly cut: boolean }> {
  const records: ToolRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await storable(ports.ledger.listTools(tenant, limits.listItemsMax, cursor));
    records.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && records.length <= max);
  return { records: records.slice(0, max), cut: records.length > max || cursor !== undefined };
}

/** What the arguments of the version can be that answers when a caller names none. */
async function shapeOf(ports: ToolPorts, { tenant, tool, activeVersion }: ToolRecord): Promise<Shape> {
  const version = activeVersion ?? orderVersions(await storable(ports.ledger.toolVersions(tenant, tool)))[0]?.version;
  const row = version === undefined ? undefined : await storable(ports.ledger.toolVersion(tenant, tool, version));
  return row === undefined ? unknownArgs : inputShape(row.spec.input);
}

/** The shapes of the tools that `names` mean to the tenant; of a name that nobody has, any JSON. */
export async function shapesByName(
  ports: ToolPorts,
  tenant: string,
  names: Iterable<string>,
): Promise<(name: string) => Shape> {
  const shapes = new Map<string, Shape>();
  for (const name of new Set(names)) {
    const own = name === "" ? undefined : await storable(ports.ledger.tool(tenant, name));
    const record = own ?? (name === "" ? undefined : await storable(ports.ledger.tool(platformTenant, name)));
    if (record !== undefined) shapes.set(name, await shapeOf(ports, record));
  }
  return (name) => shapes.get(name) ?? untyped;
}
