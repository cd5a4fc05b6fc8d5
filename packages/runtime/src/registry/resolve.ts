// Turns a name and a wished version into one pinned version: the tenant's own tool first, then the platform's.
import { limits } from "@signalbox/protocol";
import { documentBounds } from "../document/bounds.ts";
import { nearNames } from "../document/nearest.ts";
import { newestFirst, parseVersion, pickVersion } from "../document/versions.ts";
import { bounds } from "./bounds.ts";
import { Lru } from "./lru.ts";
import type { ToolRecord, ToolVersion } from "./types.ts";

/** What the resolver asks of the ledger. */
export interface ToolReads {
  tool(tenant: string, tool: string): Promise<ToolRecord | undefined>;
  toolVersion(tenant: string, tool: string, version: string): Promise<ToolVersion | undefined>;
  toolVersions(tenant: string, tool: string): Promise<readonly string[]>;
  listTools(tenant: string, limit: number): Promise<{ readonly items: readonly ToolRecord[] }>;
}

export type Resolution =
  | { readonly ok: true; readonly version: ToolVersion }
  /** It exists and must not run. */
  | { readonly ok: false; readonly reason: "quarantined"; readonly version: ToolVersion }
  /** `near`: names that may have been meant; `versions`: the newest ones there are, when only the version is unknown. */
  | {
      readonly ok: false;
      readonly reason: "not_found";
      readonly near: readonly string[];
      readonly versions: readonly string[];
    }
  /** The wish is neither a version nor a range. */
  | { readonly ok: false; readonly reason: "bad_version" };

/** Which names a caller may learn of; suggestions hold no others. */
export type MaySee = (tool: string) => boolean;

const platform = "platform";
const versionsShownMax = 3;

const notFound = (near: readonly string[], versions: readonly string[]): Resolution => ({
  ok: false,
  reason: "not_found",
  near,
  versions,
});

/** @param requested exact version or range; empty = the active version, else the newest stable one */
export async function resolveTool(
  reads: ToolReads,
  tenant: string,
  name: string,
  requested: string,
  maySee: MaySee = () => false,
): Promise<Resolution> {
  // Longer names and wishes exist nowhere; looking them up would only cost.
  if (name === "" || name.length > limits.nameCharsMax || requested.length > documentBounds.versionCharsMax)
    return notFound([], []);
  const home = await homeOf(reads, tenant, name);
  if (home === undefined) return notFound(await suggestions(reads, tenant, name, maySee), []);
  const exact = parseVersion(requested) !== undefined;
  const picked = exact ? ({ ok: true, version: requested } as const) : await pick(reads, home, requested);
  if (!picked.ok && picked.reason === "bad_version") return { ok: false, reason: "bad_version" };
  const version = picked.ok ? await reads.toolVersion(home.tenant, name, picked.version) : undefined;
  if (version === undefined) {
    const versions = maySee(name)
      ? newestFirst(await reads.toolVersions(home.tenant, name)).slice(0, versionsShownMax)
      : [];
    return notFound([], versions);
  }
  return version.status === "quarantined" ? { ok: false, reason: "quarantined", version } : { ok: true, version };
}

/** A tenant's own tool hides the platform's of the same name, all versions of it. */
async function homeOf(reads: ToolReads, tenant: string, name: string): Promise<ToolRecord | undefined> {
  const own = await reads.tool(tenant, name);
  return own === undefined && tenant !== platform ? reads.tool(platform, name) : own;
}

async function pick(
  reads: ToolReads,
  { tenant, tool, activeVersion }: ToolRecord,
  requested: string,
): Promise<ReturnType<typeof pickVersion>> {
  if (requested === "" && activeVersion !== null) return { ok: true, version: activeVersion };
  return pickVersion({ requested, active: activeVersion, versions: await reads.toolVersions(tenant, tool) });
}

async function suggestions(reads: ToolReads, tenant: string, name: string, maySee: MaySee): Promise<readonly string[]> {
  const tenants = tenant === platform ? [platform] : [tenant, platform];
  const pages = await Promise.all(tenants.map((one) => reads.listTools(one, limits.listItemsMax)));
  const names = new Set(pages.flatMap(({ items }) => items.map(({ tool }) => tool)));
  return nearNames(name, [...names].filter(maySee));
}

export interface ToolResolver {
  resolve(tenant: string, name: string, requested: string, maySee?: MaySee): Promise<Resolution>;
  /** To be called after every change of a tool: a version, the active one, a status. `platform` concerns all tenants. */
  forget(tenant: string, tool: string): void;
}

/**
 * `resolveTool` with a memory for what was found and may run. It knows nothing of changes by other replicas:
 * whoever hears of one calls `forget`.
 */
export function createToolResolver(reads: ToolReads, entriesMax: number = bounds.resolvedToolsMax): ToolResolver {
  const found = new Lru<string, ToolVersion>(entriesMax);
  const keysByTool = new Map<string, Set<string>>();
  let forgotten = 0;
  const keyOf = (...parts: readonly string[]): string => JSON.stringify(parts);
  const drop = (key: string): void => {
    const [tool = ""] = JSON.parse(key) as string[];
    const keys = keysByTool.get(tool);
    keys?.delete(key);
    if (keys?.size === 0) keysByTool.delete(tool);
  };
  const keep = (name: string, key: string, version: ToolVersion): void => {
    const keys = keysByTool.get(name) ?? new Set();
    keysByTool.set(name, keys.add(key));
    const evicted = found.set(key, version);
    if (evicted !== undefined) drop(evicted);
  };
  return {
    async resolve(tenant, name, requested, maySee) {
      const key = keyOf(name, tenant, requested);
      const known = found.get(key);
      if (known !== undefined) return { ok: true, version: known };
      const before = forgotten;
      const resolution = await resolveTool(reads, tenant, name, requested, maySee);
      // What was read before something was forgotten may be the old state.
      if (resolution.ok && before === forgotten) keep(name, key, resolution.version);
      return resolution;
    },
    forget(tenant, tool) {
      forgotten++;
      for (const key of keysByTool.get(tool) ?? []) {
        const [, owner] = JSON.parse(key) as string[];
        if (tenant !== platform && owner !== tenant) continue;
        found.delete(key);
        drop(key);
      }
    },
  };
}
