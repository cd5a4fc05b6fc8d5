// A tool and its versions as data: what a manifest says once it has been read, checked and pinned.
import type { SideEffectClass } from "@signalbox/protocol";
import type { ExecutorType } from "../call/types.ts";

export type Executor =
  | { readonly type: "worker" }
  | {
      readonly type: "sandbox";
      readonly runtime: "js" | "node" | "python" | "wasm" | "exec";
      readonly entry: string;
      readonly image?: string;
      readonly min?: number;
      /** Where the result comes from; file descriptor 3 unless the manifest says stdout. */
      readonly result?: "fd3" | "stdout";
    }
  | { readonly type: "mcp"; readonly server: string; readonly tool: string }
  | { readonly type: "agent"; readonly agent: string };

/** When calls of a tool that is down are refused at once, and how long. */
export interface BreakerPolicy {
  /** So many in a row that say the tool is down. */
  readonly failures: number;
  readonly coolDownMs: number;
}

/** `projection`: what was said and emitted in the session so far. */
export const contextParts = ["projection"] as const;
export type ContextPart = (typeof contextParts)[number];

/** The `spec` of a manifest, defaults filled in; durations in ms, sizes in bytes. */
export interface ToolSpec {
  readonly executor: Executor;
  /** JSON Schema of the input, as parsed JSON. */
  readonly input: unknown;
  /** JSON Schema of the output; undefined = anything. */
  readonly output: unknown;
  readonly sideEffectClass: SideEffectClass;
  readonly scheduling: string;
  readonly permissions: readonly string[];
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly retry: {
    readonly attempts: number;
    readonly strategy: "fixed" | "linear" | "exponential";
    readonly initialMs: number;
    readonly maxMs: number;
    /** By which an exponential wait grows; absent in versions from before it could be said: 2. */
    readonly factor?: number;
    /** Whether a timeout is worth another attempt; absent: no. */
    readonly timeouts?: boolean;
  };
  /** Absent or null: however often the tool is down, its calls go to its workers. */
  readonly breaker?: BreakerPolicy | null;
  readonly pure: boolean;
  readonly cacheTtlMs: number;
  readonly onIndeterminate: "ask" | "fail";
  readonly limits: Readonly<Record<string, number>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly networkAllow: readonly string[];
  readonly filesystem: { readonly read: readonly string[]; readonly write: readonly string[] };
  readonly env: Readonly<Record<string, string>>;
  readonly events: readonly string[];
  /** What a session puts into the context of its calls; absent in versions from before it could be said: nothing. */
  readonly context?: readonly ContextPart[];
  readonly defaultPolicies: readonly string[];
  readonly placement: {
    readonly match: Readonly<Record<string, string>>;
    readonly prefer: Readonly<Record<string, string>>;
  };
  readonly integrity: { readonly identities: readonly string[]; readonly imageDigests: readonly string[] };
}

export interface ToolMetadata {
  readonly name: string;
  readonly version: string;
  readonly owner: string;
  readonly description: string;
  readonly category: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * `deprecated`: runs where it is named, pinned or active, and is chosen by no range. `quarantined`: does not run, whoever
 * names it, and neither does what is queued or parked.
 */
export const toolStatuses = ["active", "deprecated", "quarantined"] as const;
export type ToolStatus = (typeof toolStatuses)[number];

/** One immutable published version. */
export interface ToolVersion {
  readonly tenant: string;
  readonly tool: string;
  readonly version: string;
  readonly metadata: ToolMetadata;
  readonly spec: ToolSpec;
  /** SHA-256 (hex) of the canonical manifest. */
  readonly manifestDigest: string;
  /** Of the folder of code that this version runs, content-addressed; null where the manifest is all there is. */
  readonly packageDigest: string | null;
  readonly trust: "first_party" | "verified" | "untrusted";
  readonly status: ToolStatus;
  readonly publishedAt: number;
  readonly publishedBy: string;
}

/** A version as far as choosing among many looks at it. */
export interface ListedVersion {
  readonly version: string;
  readonly status: ToolStatus;
}

/** A tool's name in one tenant, and which version answers when a caller names none. */
export interface ToolRecord {
  readonly tenant: string;
  readonly tool: string;
  readonly activeVersion: string | null;
  readonly description: string;
  readonly sideEffectClass: SideEffectClass;
  readonly executorType: ExecutorType;
  /** From the metadata of the active version, like the description. */
  readonly owner: string;
  readonly category: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: number;
}

/** Narrows a list of tools; every part that is given must hold. */
export interface ToolQuery {
  /** Words; each must occur in name, description, category, owner or a label, whatever the case. */
  readonly text?: string;
  readonly category?: string;
  readonly owner?: string;
  /** `name=value` or `name`. */
  readonly label?: string;
}

/** A tenant's own wish for callers that name no version: an exact version or a range, also of a platform's tool. */
export interface ToolPin {
  readonly tenant: string;
  readonly tool: string;
  readonly requested: string | null;
  readonly changedAt: number;
  readonly changedBy: string;
}

/** Whether a project may use a tool; without a row it may. */
export interface ProjectTool {
  readonly tenant: string;
  readonly project: string;
  readonly tool: string;
  readonly enabled: boolean;
  readonly changedAt: number;
  readonly changedBy: string;
}

/** One choice of the active version, kept so that it can be rolled back. */
export interface Activation {
  readonly tenant: string;
  readonly tool: string;
  readonly version: string;
  readonly at: number;
  readonly by: string;
}

/** Stops dispatch of a tenant's calls (or of one tool's, by name); what runs goes on, and everything else works. */
export interface Freeze {
  /** `platform`: of every tenant. */
  readonly tenant: string;
  /** Empty: all tools. */
  readonly tool: string;
  readonly reason: string;
  readonly at: number;
  readonly by: string;
}
