// Finds out whether a box works on this host by making one, and says what to do where it does not.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BoxLimits, BoxSpec, Sandbox } from "../../types.ts";

export interface Problem {
  readonly reason: string;
  readonly remedy: string | null;
}

const programs: Readonly<Record<string, string>> = {
  bwrap: "apt-get install -y bubblewrap",
  perl: "apt-get install -y perl-base",
  mkfifo: "apt-get install -y coreutils",
};

export function missing(): Problem | undefined {
  if (process.platform !== "linux")
    return { reason: `native boxes need Linux, this is ${process.platform}`, remedy: null };
  if (process.arch !== "x64" && process.arch !== "arm64")
    return { reason: `there is no filter of system calls for ${process.arch}`, remedy: null };
  const folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
  for (const [program, remedy] of Object.entries(programs)) {
    if (!folders.some((folder) => existsSync(`${folder}/${program}`)))
      return { reason: `${program} is not installed`, remedy };
  }
  return undefined;
}

const MiB = 1_024 * 1_024;
/** Looks around in the box, and answers with the number of the first thing that is not as it must be. */
const script = `#!/bin/sh
grep -q '^Seccomp:.*2' /proc/self/status || exit 3
grep -q '^CapEff:.*0000000000000000' /proc/self/status || exit 4
[ ! -e /root ] && [ ! -e /home ] && [ ! -e /sys ] || exit 5
[ "$(grep -c : /proc/net/dev)" = 1 ] || exit 6
if touch /usr/canary 2>/dev/null; then exit 7; fi
echo sings >&3
`;
const meanings: Readonly<Record<number, string>> = {
  3: "the filter of system calls does not hold in the box",
  4: "the box has capabilities",
  5: "the box sees folders of the host",
  6: "the box has a network of the host",
  7: "the box can write to the system",
};

const who = {
  boxId: "canary",
  tenant: "platform",
  tool: "canary",
  version: "1.0.0",
  runtime: "exec",
  entry: "canary",
} as const;
const limits: BoxLimits = {
  cpu: 1,
  cpuSeconds: 2,
  memoryBytes: 32 * MiB,
  diskBytes: MiB,
  pids: 16,
  fds: 64,
  timeoutMs: 2_000,
  graceMs: 0,
  outputBytes: 4_096,
  resultBytes: 4_096,
  egressBytes: 0,
};

/**
 * @param folder of ours, for the canary's code
 * @returns what is wrong; undefined = boxes work here
 */
export async function canary(
  folder: string,
  provision: (spec: BoxSpec) => Promise<Sandbox>,
): Promise<Problem | undefined> {
  const code = join(folder, "canary");
  mkdirSync(code, { recursive: true });
  writeFileSync(join(code, "canary"), script, { mode: 0o755 });
  const spec: BoxSpec = { ...who, package: { path: code, digest: "canary" }, limits, env: {}, egressSocket: null };
  let sandbox: Sandbox | undefined;
  try {
    sandbox = await provision(spec);
    const silent = { stdout: () => undefined, stderr: () => undefined, event: () => undefined };
    const invocation = { requestJson: "{}", files: [], resultFrom: "fd3" } as const;
    const { end, resultText } = await sandbox.run(invocation, silent, new AbortController().signal);
    if (end.reason === "exited" && end.code === 0 && resultText === "sings\n") return undefined;
    const meaning = end.reason === "exited" ? meanings[end.code] : undefined;
    return { reason: meaning ?? `a trial box ended as ${JSON.stringify(end)}`, remedy: null };
  } catch (error) {
    return explain(error instanceof Error ? error.message : String(error));
  } finally {
    await sandbox?.destroy();
  }
}

/** What hosts say that keep user namespaces or mounts from their users, and what their operator can do. */
const hints: readonly (readonly [said: RegExp, remedy: string])[] = [
  [
    /uid map|uid_map|RTM_NEWADDR|unshare failed: (Permission denied|Operation not permitted)/,
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (or an AppArmor profile with `userns,` for bwrap and unshare); in a container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined",
  ],
  [
    /(new namespace failed|No permissions to create new namespace|unshare failed: No space)/,
    "sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1",
  ],
  [
    /Can't find source path .*Permission denied/,
    "choose a run folder that everybody may pass through, with all above it (chmod o+x); the default for root is /run/signalbox",
  ],
  [/mount proc/, "run the worker outside of a container, or in one with --security-opt systempaths=unconfined"],
  [/mount:.*(permission denied|must be superuser)/, "run the worker with CAP_SYS_ADMIN, or as an ordinary user"],
];

function explain(reason: string): Problem {
  return { reason, remedy: hints.find(([said]) => said.test(reason))?.[1] ?? null };
}
