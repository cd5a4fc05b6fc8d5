// Turns a name and a wished version into one pinned version: the tenant's own tool first, then the platform's.
import { limits } from "@signalbox/protocol";
import { documentBounds } from "../document/bounds.ts";
import { nearNames } from "../document/nearest.ts";
import { parseVersion } from "../document/versions.ts";
import { bounds } from "./bounds.ts";
import { ChoiceMemory, type ChoiceReads } from "./choices.ts";
import { newestUsable, type OrderedVersion, type Picked } from "./pick.ts";
import { ToolMemory, type ToolMemorySizes, type ToolReads } from "./tool-memory.ts";
import type { ToolRecord, ToolVersion } from "./types.ts";

/** What the resolver asks of the ledger. */
export interface RegistryReads extends ToolReads, ChoiceReads {
  listTools(tenant: string, limit: number): Promise<{ readonly items: readonly ToolRecord[] }>;
}

export type Resolution =
  | { readonly ok: true; readonly version: ToolVersion }
  /** It exists and must not run; also where all that a range holds must not. */
  | { readonly ok: false; readonly reason: "quarantined"; readonly version: ToolVersion }
  /** It would run, but not in this project. */
  | { readonly ok: false; readonly reason: "disabled"; readonly version: ToolVersion; readonly project: string }
  /**
   * `near`: names that may have been meant; `versions`: the newest ones there are, when only the version is unknown;
   * `pinned`: the tenant's pin, when that is what nothing fits.
   */
  | {
      readonly ok: false;
      readonly reason: "not_found";
      readonly near: readonly string[];
      readonly versions: readonly string[];
      readonly pinned?: string;
    }
  /** The wish is neither a version nor a range. */
  | { readonly ok: false; readonly reason: "bad_version" };

/** Which names a caller may learn of; suggestions hold no others. */
export type MaySee = (tool: string) => boolean;

/** A call that was resolved before. */
export interface ResolvedCall {
  readonly tenant: string;
  readonly project: string;
  readonly tool: string;
  readonly toolTenant: string;
  readonly version: string;
}

/** Whether what was resolved may still run. `gone`: the version is not in the ledger any more. */
export type Standing =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: "quarantined" | "disabled" | "gone" };

const platform = "platform";
export const versionsShownMax = 3;

const notFound = (near: readonly string[], versions: readonly string[]): Resolution & { readonly ok: false } => ({
  ok: false,
  reason: "not_found",
  near,
  versions,
});

const usualSizes: ToolMemorySizes = {
  toolsMax: bounds.rememberedToolsMax,
  versionsMax: bounds.rememberedVersionsMax,
  listedMax: bounds.listedVersionsMax,
  picksMax: bounds.rememberedPicksMax,
};

/** What it has read once it answers from memory, until it is told to forget. */
export class ToolResolver {
  readonly #reads: RegistryReads;
  readonly #tools: ToolMemory;
  readonly #choices: ChoiceMemory;

  constructor(reads: RegistryReads, sizes: Partial<ToolMemorySizes> = {}) {
    this.#reads = reads;
    this.#tools = new ToolMemory(reads, { ...usualSizes, ...sizes });
    this.#choices = new ChoiceMemory(reads, bounds.rememberedTenantsMax);
  }

  /**
   * @param requested exact version or range; empty = the tenant's pin, else the active version, else the newest stable
   * @param maySee without it nothing is suggested
   * @param project where the call is to run; without it nothing is disabled
   */
  async resolve(tenant: string, name: string, requested: string, maySee?: MaySee, project = ""): Promise<Resolution> {
    // Longer names and wishes exist nowhere; looking them up would only cost.
    if (name === "" || name.length > limits.nameCharsMax || requested.length > documentBounds.versionCharsMax)
      return notFound([], []);
    const home = await this.home(tenant, name);
    if (home === undefined) return notFound(await this.#suggestions(tenant, name, maySee), []);
    const choices = await this.#choices.of(tenant);
    const pinned = requested === "" ? choices.pinOf(name) : undefined;
    const picked = await this.#pick(home, pinned ?? requested);
    if (!picked.ok && picked.reason === "bad_version") return { ok: false, reason: "bad_version" };
    const version = "version" in picked ? await this.#tools.version(home.tenant, name, picked.version) : undefined;
    if (version === undefined) {
      const versions = maySee?.(name) === true ? newestUsable(await this.versions(home), versionsShownMax) : [];
      return { ...notFound([], versions), ...(pinned === undefined ? {} : { pinned }) };
    }
    if (version.status === "quarantined") return { ok: false, reason: "quarantined", version };
    if (choices.isDisabled(project, name)) return { ok: false, reason: "disabled", version, project };
    return { ok: true, version };
  }

  /** Whether a call that was resolved before may still run; it costs a read only where memory knows nothing. */
  async standing({ tenant, project, tool, toolTenant, version }: ResolvedCall): Promise<Standing> {
    const row = await this.#tools.version(toolTenant, tool, version);
    if (row === undefined) return { ok: false, reason: "gone" };
    if (row.status === "quarantined") return { ok: false, reason: "quarantined" };
    const choices = await this.#choices.of(tenant);
    return choices.isDisabled(project, tool) ? { ok: false, reason: "disabled" } : { ok: true };
  }

  /** A tenant's own tool hides the platform's of the same name, all versions of it. */
  async home(tenant: string, name: string): Promise<ToolRecord | undefined> {
    const own = await this.#tools.record(tenant, name);
    const found = own === undefined && tenant !== platform ? await this.#tools.record(platform, name) : own;
    if (found === undefined) {
      // Names that somebody makes up must not push tools that exist out of memory.
      this.#tools.forget(tenant, name);
      this.#tools.forget(platform, name);
    }
    return found;
  }

  /** All versions of a tool that `home` found, newest first. */
  versions({ tenant, tool }: Pick<ToolRecord, "tenant" | "tool">): Promise<readonly OrderedVersion[]> {
    return this.#tools.versions(tenant, tool);
  }

  /** To be called after every change of a tool: a version, the active one, a status. `platform` concerns all tenants. */
  forget(tenant: string, tool: string): void {
    this.#tools.forget(tenant, tool);
  }

  /** To be called after every change of a tenant's pins and disabled tools. */
  forgetAll(): void {
    this.#tools.forgetAll();
    this.#choices.forgetAll();
  }

  forgetChoices(tenant: string): void {
    this.#choices.forget(tenant);
  }

  async #pick({ tenant, tool, activeVersion }: ToolRecord, wish: string): Promise<Picked> {
    if (wish === "" && activeVersion !== null) return { ok: true, version: activeVersion };
    if (parseVersion(wish) !== undefined) return { ok: true, version: wish };
    return this.#tools.pick(tenant, tool, wish);
  }

  async #suggestions(tenant: string, name: string, maySee: MaySee | undefined): Promise<readonly string[]> {
    if (maySee === undefined) return [];
    const tenants = tenant === platform ? [platform] : [tenant, platform];
    const pages = await Promise.all(tenants.map((one) => this.#reads.listTools(one, limits.listItemsMax)));
    const names = new Set(pages.flatMap(({ items }) => items.map(({ tool }) => tool)));
    return nearNames(name, [...names].filter(maySee));
  }
}
