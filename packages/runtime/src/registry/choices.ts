// What tenants have chosen about tools, their own and the platform's: pins, and which projects may not use a tool.
import { Lru } from "./lru.ts";
import type { ProjectTool, ToolPin } from "./types.ts";

export interface ChoiceReads {
  toolPins(tenant: string): Promise<readonly ToolPin[]>;
  projectTools(tenant: string): Promise<readonly ProjectTool[]>;
}

export interface Choices {
  /** The pinned version or range; undefined where nothing is pinned. */
  pinOf(tool: string): string | undefined;
  isDisabled(project: string, tool: string): boolean;
}

// Names of projects and tools hold no line feed.
const placeKey = (project: string, tool: string): string => `${project}\n${tool}`;

function choicesOf(pins: readonly ToolPin[], tools: readonly ProjectTool[]): Choices {
  const pinned = new Map(pins.flatMap(({ tool, requested }) => (requested === null ? [] : [[tool, requested]])));
  const disabled = new Set(tools.filter(({ enabled }) => !enabled).map(({ project, tool }) => placeKey(project, tool)));
  return {
    pinOf: (tool) => pinned.get(tool),
    isDisabled: (project, tool) => disabled.has(placeKey(project, tool)),
  };
}

/** One tenant's choices are read at once and kept; whoever changes one calls `forget`. */
export class ChoiceMemory {
  readonly #reads: ChoiceReads;
  readonly #tenants: Lru<string, Promise<Choices>>;

  constructor(reads: ChoiceReads, tenantsMax: number) {
    this.#reads = reads;
    this.#tenants = new Lru(tenantsMax);
  }

  of(tenant: string): Promise<Choices> {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known;
    const reading = this.#read(tenant);
    this.#tenants.set(tenant, reading);
    // A read that failed must not stand there as the answer.
    reading.catch(() => {
      if (this.#tenants.get(tenant) === reading) this.#tenants.delete(tenant);
    });
    return reading;
  }

  forget(tenant: string): void {
    this.#tenants.delete(tenant);
  }

  forgetAll(): void {
    this.#tenants.clear();
  }

  async #read(tenant: string): Promise<Choices> {
    const [pins, tools] = await Promise.all([this.#reads.toolPins(tenant), this.#reads.projectTools(tenant)]);
    return choicesOf(pins, tools);
  }
}
