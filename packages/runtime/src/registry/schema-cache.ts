// Keeps what was compiled for a tool version, keyed by a digest: a changed schema has another key, so nothing goes stale.
import { bounds } from "./bounds.ts";
import { Lru } from "./lru.ts";

export class SchemaCache<Compiled extends object> {
  readonly #compiled: Lru<string, Compiled>;

  constructor(entriesMax: number = bounds.compiledSchemasMax) {
    this.#compiled = new Lru(entriesMax);
  }

  get size(): number {
    return this.#compiled.size;
  }

  /** Makes it when it is not there; what `make` throws is passed on, and nothing is kept. */
  get(key: string, make: () => Compiled): Compiled {
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#compiled.set(key, made);
    return made;
  }
}
