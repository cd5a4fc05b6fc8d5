// What the REST API says and takes about which version of a tool answers, and whether it may run.
import type { PageQuery, Tool } from "./types.ts";

export interface ToolQuery extends PageQuery {
  /** Words; each must occur somewhere in what a tool says of itself. */
  readonly search?: string;
  readonly category?: string;
  readonly owner?: string;
  /** `name=value`, or `name`. */
  readonly label?: string;
}

/** What callers that name no version get: `version` is exact or a range, as it was asked for; null = the pin is gone. */
export interface ToolPin {
  readonly tool: string;
  readonly version: string | null;
  readonly changed_at: string;
  readonly changed_by: string;
}

/** Whether a project may use a tool; without such a row it may. */
export interface ProjectTool {
  readonly project: string;
  readonly tool: string;
  readonly enabled: boolean;
  readonly changed_at: string;
  readonly changed_by: string;
}

/** One choice of the active version. */
export interface Activation {
  readonly tool: string;
  readonly version: string;
  readonly at: string;
  readonly by: string;
}

export interface RolledBack extends Tool {
  /** The version that was active before. */
  readonly from: string;
}

export interface Quarantined {
  readonly tool: string;
  readonly versions: readonly string[];
  /** Calls that waited and are denied now. */
  readonly denied: number;
}
