// The tools of this runtime in memory: resolved versions with their compiled schemas, forgotten when they change.
import type { Call } from "../call/types.ts";
import type { ResultCheck } from "../dispatch/types.ts";
import type { Ledger } from "../ledger/port.ts";
import { createToolResolver, type MaySee, type ToolResolver } from "../registry/resolve.ts";
import { compileToolSchemas, type CompiledSchema } from "../registry/schema.ts";
import { SchemaCache } from "../registry/schema-cache.ts";
import type { ToolVersion } from "../registry/types.ts";
import { resultCheck, type ValidateOutput } from "./check-result.ts";
import type { Hash } from "./ports.ts";

export interface ReadyTool {
  readonly version: ToolVersion;
  readonly input: CompiledSchema;
  readonly check: ResultCheck;
}

const uncheckable: ValidateOutput = () => ({
  ok: false,
  errors: [{ pointer: "", keyword: "internal", message: "the tool's stored schemas no longer compile; publish a new version" }],
});

/** Compiled tool versions kept at most; one compiles again in a few ms. */
const readyToolsMax = 2_000;

export class Catalog {
  readonly #ledger: Ledger;
  readonly #hash: Hash;
  readonly #resolver: ToolResolver;
  readonly #ready: SchemaCache<ReadyTool>;

  constructor(ledger: Ledger, hash: Hash) {
    this.#ledger = ledger;
    this.#hash = hash;
    this.#resolver = createToolResolver(ledger);
    this.#ready = new SchemaCache(readyToolsMax);
  }

  /** What would run for this name and version; see the resolver for the outcomes. */
  resolve(tenant: string, tool: string, requested: string, maySee?: MaySee) {
    return this.#resolver.resolve(tenant, tool, requested, maySee);
  }

  /** The version with its schemas compiled; both were checked when it was registered. */
  ready(version: ToolVersion): ReadyTool {
    const key = `${version.tenant}/${version.tool}@${version.version}#${version.manifestDigest}`;
    return this.#ready.get(key, () => this.#make(version));
  }

  #make(version: ToolVersion): ReadyTool {
    const compiled = compileToolSchemas(version.spec);
    if (!compiled.ok) throw new Error(`the stored schemas of ${version.tool}@${version.version} no longer compile`);
    return { version, input: compiled.input, check: resultCheck(compiled.output?.validate, this.#hash) };
  }

  /** The check for a call that was admitted before this process started. */
  async checkFor(call: Call): Promise<ResultCheck> {
    const version = await this.#ledger.toolVersion(call.toolTenant, call.tool, call.version);
    if (version === undefined) return resultCheck(undefined, this.#hash);
    try {
      return this.ready(version).check;
    } catch {
      // One such tool must not keep a runtime from starting; its open calls end, but with no result that nobody could check.
      return resultCheck(uncheckable, this.#hash);
    }
  }

  forget(tenant: string, tool: string): void {
    this.#resolver.forget(tenant, tool);
  }
}
