// The client's part for the registry: tools, their versions, and which of them may run.
import { documentRequest, segment, verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import { lister } from "./paged.ts";
import type { Lister } from "./paged.ts";
import type { Activation, ProjectTool, Quarantined, RolledBack, ToolPin, ToolQuery } from "./tool-types.ts";
import type { Page, RegisteredTool, Tool, ToolDetail, ToolVersion } from "./types.ts";

export interface ToolsClient {
  /** `search`: words that must all occur in a tool's name, description, category, owner or labels. */
  readonly list: Lister<Tool, ToolQuery>;
  get(tool: string, query?: { readonly version?: string }, options?: AskOptions): Promise<ToolDetail>;
  /**
   * @param manifest a manifest as data, or as YAML text
   * @param how `package`: the digest of what `files.putPackage` stored, for a tool that runs in a box
   */
  register(
    manifest: object | string,
    how?: { readonly activate?: boolean; readonly package?: string },
    options?: AskOptions,
  ): Promise<RegisteredTool>;
  activate(tool: string, version: string, options?: AskOptions): Promise<Tool>;
  /** Back to the version that was active before, or to `version`. Sent once: a repeat would go back further. */
  rollBack(tool: string, to?: { readonly version?: string }, options?: AskOptions): Promise<RolledBack>;
  /** The newest choices of the active version, all on one page. */
  activations(tool: string, options?: AskOptions): Promise<Page<Activation>>;
  /** What callers that name no version get: an exact version, or a range. */
  pin(tool: string, version: string, options?: AskOptions): Promise<ToolPin>;
  unpin(tool: string, options?: AskOptions): Promise<ToolPin>;
  readonly pins: Lister<ToolPin>;
  /** A deprecated version runs where it is named and is chosen by no range. */
  deprecate(
    tool: string,
    version: string,
    how?: { readonly deprecated?: boolean },
    options?: AskOptions,
  ): Promise<ToolVersion>;
  /** Stops one version, or all of them; what is queued and parked is denied. */
  quarantine(
    tool: string,
    what: { readonly version?: string; readonly reason: string },
    options?: AskOptions,
  ): Promise<Quarantined>;
  release(
    tool: string,
    what?: { readonly version?: string; readonly reason?: string },
    options?: AskOptions,
  ): Promise<Quarantined>;
  enable(tool: string, where?: { readonly project?: string }, options?: AskOptions): Promise<ProjectTool>;
  disable(tool: string, where?: { readonly project?: string }, options?: AskOptions): Promise<ProjectTool>;
  /** Which projects were told that they may, or may not, use which tools. */
  readonly projectStates: Lister<ProjectTool>;
}

export function tools(ask: Ask): ToolsClient {
  const { get, post, remove } = verbsOf(ask);
  const place = (tool: string): string => `/v1/tools/${segment(tool)}`;
  return {
    list: lister(async (query, how) => (await get("/v1/tools", { ...query }, how)) as Page<Tool>),
    get: async (tool, query = {}, how) => (await get(place(tool), query, how)) as ToolDetail,
    async register(manifest, { activate, package: digest } = {}, how) {
      const request = documentRequest(ask, "/v1/tools", manifest, { activate, package: digest });
      return (await ask(request, how)).body as RegisteredTool;
    },
    activate: async (tool, version, how) => (await post(`${place(tool)}/activate`, { version }, true, how)) as Tool,
    rollBack: async (tool, to = {}, how) => (await post(`${place(tool)}/rollback`, to, false, how)) as RolledBack,
    activations: async (tool, how) => (await get(`${place(tool)}/activations`, undefined, how)) as Page<Activation>,
    pin: async (tool, version, how) => (await post(`${place(tool)}/pin`, { version }, true, how)) as ToolPin,
    unpin: async (tool, how) => (await remove(`${place(tool)}/pin`, how)) as ToolPin,
    pins: lister(async (query, how) => (await get("/v1/tools:pins", { ...query }, how)) as Page<ToolPin>),
    deprecate: async (tool, version, { deprecated } = {}, how) =>
      (await post(`${place(tool)}/deprecate`, { version, deprecated }, true, how)) as ToolVersion,
    quarantine: async (tool, what, how) => (await post(`${place(tool)}/quarantine`, what, true, how)) as Quarantined,
    release: async (tool, what = {}, how) => (await post(`${place(tool)}/release`, what, true, how)) as Quarantined,
    enable: async (tool, where = {}, how) => (await post(`${place(tool)}/enable`, where, true, how)) as ProjectTool,
    disable: async (tool, where = {}, how) => (await post(`${place(tool)}/disable`, where, true, how)) as ProjectTool,
    projectStates: lister(
      async (query, how) => (await get("/v1/tools:projects", { ...query }, how)) as Page<ProjectTool>,
    ),
  };
}
