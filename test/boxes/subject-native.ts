// The native backend as the kit runs it, with what it can do as root and as an ordinary user.
import { NativeBackend } from "../../packages/runtime/src/sandbox/backends/native/backend.ts";
import type { Capability, Subject } from "./kit.ts";

const always: readonly Capability[] = ["exec", "python", "node", "warm", "files", "processes", "linux"];

/** @param bestEffort for an ordinary user without control groups: limits are watched, and not exact */
export async function nativeSubject({ bestEffort = false }: { bestEffort?: boolean } = {}): Promise<Subject> {
  const backend = new NativeBackend({
    nodePath: process.execPath,
    allowBestEffortLimits: bestEffort,
  });
  const probe = await backend.probe();
  const exact = probe.ok && !probe.limitsBy.startsWith("best effort");
  return { backend, has: new Set(exact ? [...always, "exact"] : always) };
}
