// The policies in force, their defaults and the projects' labels in memory: what every decision reads, and who tells it of changes.
import { createPolicySet, type PolicySet } from "../policy/set.ts";
import type { LevelDefaults } from "../policy/decide.ts";
import type { PolicyDefault, PolicyVersion } from "../policy/types.ts";
import type { Ledger } from "../ledger/port.ts";
import { platformTenant, type Project } from "../tenancy/types.ts";

/** What the book reads of the ledger, once, at start. */
export type PolicyReads = Pick<Ledger, "policies" | "policyDefaults" | "tenants" | "projects">;

/**
 * Until it is loaded, and when loading failed, it has no set: every decision is then a denial (`policy_error`), for a
 * store that cannot be read must not open anything.
 */
export class PolicyBook {
  #set: PolicySet | undefined;
  #failure = "the policies have not been loaded yet";
  #defaults = new Map<string, "allow" | "deny">();
  #environments = new Map<string, string>();
  readonly #onChange: () => void;

  /** @param onChange told after every change: what was decided before it may no longer hold */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Reads everything anew. What was in force goes on until all of it is there; when it cannot be read, nothing is in force. */
  async load(reads: PolicyReads): Promise<void> {
    try {
      const environments = new Map<string, string>();
      for (const { tenant } of await reads.tenants())
        for (const { project, environment } of await reads.projects(tenant))
          environments.set(placeKey(tenant, project), environment);
      const defaults = new Map<string, "allow" | "deny">();
      for (const { tenant, project, decision } of await reads.policyDefaults())
        if (decision !== null) defaults.set(placeKey(tenant, project), decision);
      const set = createPolicySet(await reads.policies());
      [this.#set, this.#defaults, this.#environments] = [set, defaults, environments];
    } catch (error) {
      this.#set = undefined;
      this.#failure = `the policies cannot be read: ${error instanceof Error ? error.message : "unknown"}`;
    }
    this.#onChange();
  }

  /** The policies in force; or why there are none to go by. */
  current(): { readonly ok: true; readonly set: PolicySet } | { readonly ok: false; readonly failure: string } {
    return this.#set === undefined ? { ok: false, failure: this.#failure } : { ok: true, set: this.#set };
  }

  /** After its commit: a version was published, or its status is another now. */
  policyChanged(version: PolicyVersion): void {
    this.#set = this.#set?.with(version);
    this.#onChange();
  }

  defaultChanged({ tenant, project, decision }: PolicyDefault): void {
    if (decision === null) this.#defaults.delete(placeKey(tenant, project));
    else this.#defaults.set(placeKey(tenant, project), decision);
    this.#onChange();
  }

  projectChanged({ tenant, project, environment }: Project): void {
    this.#environments.set(placeKey(tenant, project), environment);
    this.#onChange();
  }

  /** Whether somebody has made it, by name or by giving out a key for it. */
  knowsProject(tenant: string, project: string): boolean {
    return this.#environments.has(placeKey(tenant, project));
  }

  /** The project's label; empty where there is none. */
  environmentOf(tenant: string, project: string): string {
    return this.#environments.get(placeKey(tenant, project)) ?? "";
  }

  defaultsFor(tenant: string, project: string): LevelDefaults {
    if (this.#defaults.size === 0) return noDefaults;
    const platform = this.#defaults.get(placeKey(platformTenant, ""));
    const own = this.#defaults.get(placeKey(tenant, ""));
    const ofProject = this.#defaults.get(placeKey(tenant, project));
    return {
      ...(platform === undefined ? {} : { platform }),
      ...(own === undefined || tenant === platformTenant ? {} : { tenant: own }),
      ...(ofProject === undefined || project === "" ? {} : { project: ofProject }),
    };
  }
}

const noDefaults: LevelDefaults = {};

// Names of tenants and projects hold no line feed.
const placeKey = (tenant: string, project: string): string => `${tenant}\n${project}`;
