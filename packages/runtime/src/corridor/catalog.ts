// The tools of this runtime in memory: resolved versions with their compiled schemas, forgotten when they change.
import type { Call } from "../call/types.ts";
import type { ToolFacts } from "../dispatch/types.ts";
import type { Ledger } from "../ledger/port.ts";
import type { OrderedVersion } from "../registry/pick.ts";
import { ToolResolver, type MaySee, type Resolution, type ResolvedCall, type Standing } from "../registry/resolve.ts";
import { inputShape, type Shape } from "../policy/condition/shape.ts";
import { compileToolSchemas, type CompiledSchema } from "../registry/schema.ts";
import { SchemaCache } from "../registry/schema-cache.ts";
import type { ToolRecord, ToolVersion } from "../registry/types.ts";
import { resultCheck, type ValidateOutput } from "./check-result.ts";
import type { Hash } from "./ports.ts";
import type { Bound } from "./sessions/bound.ts";
import { allOff, type Switches } from "./switches.ts";

export interface ReadyTool {
  readonly version: ToolVersion;
  readonly input: CompiledSchema;
  readonly facts: ToolFacts;
  /** What the arguments can be, as policies ask; made when it is first needed. */
  shape(): Shape;
  /** Set where an agent's session calls it: the agent's part in the rules. */
  readonly bound?: Bound;
}

const uncheckable: ValidateOutput = () => ({
  ok: false,
  errors: [{ pointer: "", keyword: "internal", message: "the tool's stored schemas no longer compile; publish a new version" }],
});

function factsOf({ spec: { integrity, limits, placement, breaker, events } }: ToolVersion): Omit<ToolFacts, "check"> {
  return { integrity, placement, events, concurrentMax: limits["concurrent_calls"], breaker: breaker ?? null };
}

const anybody: ToolFacts["integrity"] = { identities: [], imageDigests: [] };

/** Answers kept at most; over it all are asked for again. */
const resolvedMax = 10_000;

/** Compiled tool versions kept at most; one compiles again in a few ms. */
const readyToolsMax = 2_000;

export class Catalog {
  /** Of the built-in tools; they stay as they are for the life of the process. */
  readonly switches: Switches;
  readonly #onChange: () => void;
  readonly #ledger: Ledger;
  readonly #hash: Hash;
  readonly #resolver: ToolResolver;
  readonly #ready: SchemaCache<ReadyTool>;
  /** The same by the row itself, which memory hands out again and again. */
  readonly #readyOf = new WeakMap<ToolVersion, ReadyTool>();
  readonly #resolved = new Map<string, Resolution>();
  #changes = 0;

  /** @param onChange told after every change: a call that was let in before may no longer run */
  constructor(ledger: Ledger, hash: Hash, onChange: () => void = () => {}, switches: Switches = allOff) {
    this.switches = switches;
    this.#onChange = onChange;
    this.#ledger = ledger;
    this.#hash = hash;
    this.#resolver = new ToolResolver(ledger);
    this.#ready = new SchemaCache(readyToolsMax);
  }

  /**
   * What would run for this name and version; see the resolver for the outcomes.
   * @param project where the call is to run; without it nothing is `disabled`
   */
  async resolve(tenant: string, tool: string, requested: string, maySee?: MaySee, project = ""): Promise<Resolution> {
    // Nearly every call asks what another asked before it, and nothing has changed since.
    const wish = `${tenant}\n${project}\n${tool}\n${requested}`;
    const known = this.#resolved.get(wish);
    if (known !== undefined) return known;
    const before = this.#changes;
    const resolution = await this.#resolver.resolve(tenant, tool, requested, maySee, project);
    if (resolution.ok && before === this.#changes) {
      if (this.#resolved.size >= resolvedMax) this.#resolved.clear();
      this.#resolved.set(wish, resolution);
    }
    return resolution;
  }

  /** Whether a call that was resolved before may still run: asked when it leaves an approval, and at dispatch. */
  standing(call: ResolvedCall): Promise<Standing> {
    return this.#resolver.standing(call);
  }

  /** The tenant's own tool of this name, else the platform's. */
  home(tenant: string, tool: string): Promise<ToolRecord | undefined> {
    return this.#resolver.home(tenant, tool);
  }

  /** All versions of what `home` found, newest first. */
  versions(home: Pick<ToolRecord, "tenant" | "tool">): Promise<readonly OrderedVersion[]> {
    return this.#resolver.versions(home);
  }

  #changed(): void {
    this.#changes++;
    this.#resolved.clear();
    this.#onChange();
  }

  /** The version with its schemas compiled; both were checked when it was registered. */
  ready(version: ToolVersion): ReadyTool {
    const known = this.#readyOf.get(version);
    if (known !== undefined) return known;
    const ready = this.#readyByDigest(version);
    this.#readyOf.set(version, ready);
    return ready;
  }

  #readyByDigest(version: ToolVersion): ReadyTool {
    const key = `${version.tenant}/${version.tool}@${version.version}#${version.manifestDigest}`;
    return this.#ready.get(key, () => this.#make(version));
  }

  #make(version: ToolVersion): ReadyTool {
    const compiled = compileToolSchemas(version.spec);
    if (!compiled.ok) throw new Error(`the stored schemas of ${version.tool}@${version.version} no longer compile`);
    let shape: Shape | undefined;
    return {
      version,
      input: compiled.input,
      facts: { check: resultCheck(compiled.output?.validate, this.#hash), ...factsOf(version) },
      shape: () => (shape ??= inputShape(version.spec.input)),
    };
  }

  /** What must be known of the tool of a call that was admitted before this process started. */
  async factsFor(call: Call): Promise<ToolFacts> {
    const version = await this.#ledger.toolVersion(call.toolTenant, call.tool, call.version);
    if (version === undefined) return { check: resultCheck(undefined, this.#hash), integrity: anybody };
    try {
      return this.ready(version).facts;
    } catch {
      // One such tool must not keep a runtime from starting; its open calls end, but with no result that nobody could check.
      return { check: resultCheck(uncheckable, this.#hash), ...factsOf(version) };
    }
  }

  /** To be called after every change of a tool: a version, the active one, a status. */
  forget(tenant: string, tool: string): void {
    this.#resolver.forget(tenant, tool);
    this.#changed();
  }

  /** Another replica has changed something, and nobody says what. */
  forgetAll(): void {
    this.#resolver.forgetAll();
    this.#changed();
  }

  /** To be called after every change of a tenant's pins and disabled tools. */
  forgetChoices(tenant: string): void {
    this.#resolver.forgetChoices(tenant);
    this.#changed();
  }
}
