// Chooses the box of a call: the weakest backend that is strong enough and there, and the limits that it is held to.
import { limits as shared, SignalboxError } from "@signalbox/protocol";
import type { Obligations } from "../policy/types.ts";
import type { Executor, ToolVersion } from "../registry/types.ts";
import { codeEntry } from "../sandbox/guest/order.ts";
import { backendRanks, type BackendName, type BoxLimits, type Runtime } from "../sandbox/types.ts";
import { platformTenant } from "../tenancy/types.ts";
import { isPythonOfCodeRun, type Switches } from "./switches.ts";

/** What provenance alone demands. */
const trustRanks: Readonly<Record<ToolVersion["trust"], number>> = { first_party: 10, verified: 30, untrusted: 40 };

/** Which backends can run what; a guest of ours runs in a wasm box alone. */
const runners: Readonly<Record<Runtime, readonly BackendName[]>> = {
  js: ["wasm"],
  wasm: ["wasm"],
  node: ["native", "container", "gvisor", "microvm"],
  python: ["native", "container", "gvisor", "microvm"],
  exec: ["native", "container", "gvisor", "microvm"],
};

const MiB = 1_024 * 1_024;
/** Where neither manifest nor rule says it. */
export const boxDefaults = {
  cpu: 1,
  cpuSeconds: 300,
  memoryBytes: 256 * MiB,
  diskBytes: 64 * MiB,
  pids: 64,
  fds: 256,
  outputBytes: MiB,
  egressBytes: 16 * MiB,
} as const;

export interface BoxChoice {
  readonly sandbox: BackendName;
  readonly boxJson: string;
}

/** As the worker reads it; the call's own time and size come with the call. */
export interface BoxOrder {
  readonly backend: BackendName;
  readonly runtime: Runtime;
  readonly entry: string;
  readonly packageDigest: string | null;
  /** Whose package it is. */
  readonly toolTenant: string;
  readonly limits: Omit<BoxLimits, "timeoutMs" | "graceMs" | "resultBytes">;
  readonly graceMs: number;
  readonly resultBytes: number;
  readonly resultFrom: "fd3" | "stdout";
  /** Types of events that the manifest declares. */
  readonly events: readonly string[];
  /** `run`: the output is the result together with what was printed. */
  readonly report: "result" | "run";
  readonly env: Readonly<Record<string, string>>;
}

/** What is known of a call when its box is chosen. */
export interface BoxWish {
  readonly version: ToolVersion;
  readonly obligations: Obligations;
  /** Validated. */
  readonly args: unknown;
  readonly lowered: Switches["lowered"];
}

type Boxed = Extract<Executor, { readonly type: "sandbox" }>;

/**
 * @param offered backends that a connected sandbox worker has proved
 * @returns null for a tool that needs none of our boxes
 * @throws SignalboxError sandbox_unavailable; nothing weaker ever takes the place of what is missing
 */
export function chooseBox(wish: BoxWish, offered: ReadonlySet<string>): BoxChoice | null {
  const { version, obligations } = wish;
  const executor = executorOf(wish);
  if (executor === null) return null;
  const required = requiredRank(wish, executor);
  const able = runners[executor.runtime].filter((name) => backendRanks[name] >= required);
  const sandbox = able.filter((name) => offered.has(name)).sort((one, other) => backendRanks[one] - backendRanks[other])[0];
  if (sandbox === undefined) throw unavailable({ version, executor, required, able }, offered);
  refuseUnserved(version, obligations);
  const order: BoxOrder = {
    backend: sandbox,
    runtime: executor.runtime,
    entry: executor.entry,
    packageDigest: startsGuest(version, executor) ? null : version.packageDigest,
    toolTenant: version.tenant,
    graceMs: version.spec.graceMs,
    resultBytes: shared.resultBytesMax,
    resultFrom: executor.result ?? "fd3",
    events: version.spec.events,
    report: version.tenant === platformTenant && version.tool === "code.run" ? "run" : "result",
    limits: limitsOf(version, obligations),
    env: version.spec.env,
  };
  return { sandbox, boxJson: JSON.stringify(order) };
}

/**
 * Whether a call that has its box can have these arguments instead: a box is chosen once, at admission, so arguments that
 * other rules oblige to another one, or that another runtime runs, are a new call.
 */
export function fitsBox(admitted: { readonly sandbox: string | null; readonly boxJson: string | null }, wish: BoxWish): boolean {
  if (admitted.sandbox === null) return true;
  try {
    return chooseBox(wish, new Set([admitted.sandbox]))?.boxJson === admitted.boxJson;
  } catch (error) {
    if (error instanceof SignalboxError) return false;
    throw error;
  }
}

/** The one exception to "one version, one executor": Python of `code.run` starts another program of the same package. */
function executorOf({ version, args }: BoxWish): Boxed | null {
  const { executor } = version.spec;
  if (executor.type !== "sandbox") return null;
  return isPythonOfCodeRun(version, args) ? { ...executor, runtime: "python", entry: "main.py" } : executor;
}

/** Code from the arguments, run by a guest of ours: nothing of a package is needed, and none is put in its reach. */
function startsGuest({ tenant }: ToolVersion, { runtime, entry }: Boxed): boolean {
  return tenant === platformTenant && runtime === "js" && entry === codeEntry;
}

function requiredRank({ version, obligations: { sandbox }, lowered }: BoxWish, executor: Boxed): number {
  const own = executor.min ?? 0;
  const isPrivileged = version.tenant === platformTenant && !startsGuest(version, executor);
  const min = isPrivileged ? (lowered.get(version.tool) ?? own) : own;
  return Math.max(min, trustRanks[version.trust], sandbox === undefined ? 0 : backendRanks[sandbox]);
}

interface Missing {
  readonly version: ToolVersion;
  readonly executor: Boxed;
  readonly required: number;
  readonly able: readonly string[];
}

function unavailable({ version, executor, required, able }: Missing, offered: ReadonlySet<string>): SignalboxError {
  const name = `${version.tool}@${version.version}`;
  const wanted = able.length === 0 ? `a box of rank ${required}, and nothing runs ${executor.runtime} in one` : `one of ${able.join(", ")}`;
  const here = offered.size === 0 ? "no sandbox worker with a box that works is connected" : `here there is ${[...offered].sort().join(", ")}`;
  return new SignalboxError("sandbox_unavailable", `${name} needs ${wanted}; ${here}. 'signalbox doctor' says what this machine lacks, 'signalbox worker' connects one`, {
    details: { reason: "no_capable_worker", required_rank: required, backends: [...offered].sort(), able },
  });
}

/** What a box here cannot give yet is refused by name, not left out. */
function refuseUnserved({ tool, version, spec }: ToolVersion, { egress, paths }: Obligations): void {
  const unserved = [
    ...(spec.networkAllow.length > 0 && egress?.length !== 0 ? ["network.allow"] : []),
    ...(spec.filesystem.read.length + spec.filesystem.write.length > 0 && paths?.read?.length !== 0 ? ["filesystem"] : []),
    ...(Object.keys(spec.secrets).length > 0 ? ["secrets"] : []),
    ...(spec.executor.type === "sandbox" && spec.executor.image !== undefined ? ["executor.image"] : []),
  ];
  if (unserved.length === 0) return;
  throw new SignalboxError("sandbox_unavailable", `${tool}@${version} asks for ${unserved.join(", ")}, which boxes of this version do not give`, {
    details: { unserved },
    retryable: false,
  });
}

function limitsOf({ spec }: ToolVersion, { limits: obliged }: Obligations): BoxOrder["limits"] {
  const { limits } = spec;
  const least = (...given: readonly (number | undefined)[]): number =>
    given.reduce<number>((least_, one) => (one === undefined ? least_ : Math.min(least_, one)), Number.MAX_SAFE_INTEGER);
  return {
    cpu: least(limits["cpu"] ?? boxDefaults.cpu, obliged.cpu),
    cpuSeconds: least(limits["cpu_seconds"] ?? boxDefaults.cpuSeconds, obliged.cpuSeconds),
    memoryBytes: least(limits["memory_bytes"] ?? boxDefaults.memoryBytes, obliged.memoryBytes),
    diskBytes: least(limits["disk_bytes"] ?? boxDefaults.diskBytes, obliged.diskBytes),
    pids: least(limits["pids"] ?? boxDefaults.pids, obliged.pids),
    fds: least(limits["fds"] ?? boxDefaults.fds, obliged.fds),
    outputBytes: least(limits["output_bytes"] ?? shared.outputStreamBytesMax, obliged.outputBytes),
    egressBytes: least(limits["egress_bytes"] ?? boxDefaults.egressBytes, obliged.egressBytes),
  };
}
