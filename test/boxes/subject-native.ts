// The native backend as the kit runs it, with what it can do as root and as an ordinary user.
import { existsSync } from "node:fs";
import { NativeBackend } from "../../packages/runtime/src/sandbox/backends/native/backend.ts";
import type { Capability, Subject } from "./kit.ts";

const always: readonly Capability[] = ["exec", "python", "node", "warm", "files", "processes", "linux"];
const socatPaths = ["/usr/bin/socat", "/usr/local/bin/socat"];

/** @param bestEffort for an ordinary user without control groups: limits are watched, and not exact */
export async function nativeSubject({ bestEffort = false }: { bestEffort?: boolean } = {}): Promise<Subject> {
  const backend = new NativeBackend({
    nodePath: process.execPath,
    allowBestEffortLimits: bestEffort,
  });
  const probe = await backend.probe();
  const exact = probe.ok && !probe.limitsBy.startsWith("best effort");
  const has = new Set<Capability>(always);
  if (exact) has.add("exact");
  // Programs reach the egress gateway by a bridge that socat makes.
  if (socatPaths.some((path) => existsSync(path))) has.add("egress");
  return { backend, has };
}
