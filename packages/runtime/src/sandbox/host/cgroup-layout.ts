// Finds out by trying where this process may make control groups that hold memory, processes and CPU.
import { existsSync, mkdirSync, readFileSync, realpathSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type CgroupLayout =
  | { readonly mode: "v2"; readonly base: string }
  | {
      readonly mode: "v1";
      readonly memory: string;
      readonly pids: string;
      readonly cpu: string;
      readonly cpuacct: string;
      /** A version 2 mount beside them, which has `cgroup.kill`; null = there is none. */
      readonly kill: string | null;
    }
  | { readonly mode: "none"; readonly reason: string };

export interface CgroupPlaces {
  /** Where the kernel's trees are mounted. */
  readonly mount: string;
  /** What says which groups this process is in. */
  readonly self: string;
  /** Groups of this process of ours begin with this. */
  readonly owner: string;
}

const needed = ["memory", "pids", "cpu"];

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const words = (path: string): readonly string[] => readFileSync(path, "utf8").trim().split(/\s+/);

export function findCgroups(places: CgroupPlaces): CgroupLayout {
  const reasons: string[] = [];
  for (const find of [findV2, findV1]) {
    try {
      const layout = find(places);
      if (layout !== undefined) return layout;
    } catch (error) {
      reasons.push(message(error));
    }
  }
  return { mode: "none", reason: reasons.join("; ") || `no control groups below ${places.mount}` };
}

/** The mount's root where we may write there, else our own group where it was delegated to us. */
function findV2({ mount, self, owner }: CgroupPlaces): CgroupLayout | undefined {
  const controllers = join(mount, "cgroup.controllers");
  if (!existsSync(controllers) || !needed.every((name) => words(controllers).includes(name))) return undefined;
  const own = /^0::(.*)$/m.exec(readFileSync(self, "utf8"))?.[1] ?? "/";
  const problems: string[] = [];
  for (const parent of new Set([mount, join(mount, own)])) {
    try {
      enable(parent);
      const base = join(parent, owner);
      mkdirSync(base, { recursive: true });
      enable(base);
      const canary = join(base, "canary");
      mkdirSync(canary, { recursive: true });
      writeFileSync(join(canary, "pids.max"), "64");
      writeFileSync(join(canary, "memory.max"), String(64 * 1_024 * 1_024));
      removeGroup(canary);
      return { mode: "v2", base };
    } catch (error) {
      problems.push(message(error));
    }
  }
  throw new Error(problems.join("; "));
}

/** A group with processes of its own cannot hand controllers down: ours then move into a leaf beside the boxes. */
function enable(group: string): void {
  const control = join(group, "cgroup.subtree_control");
  if (needed.every((name) => words(control).includes(name))) return;
  const hand = (): void => writeFileSync(control, needed.map((name) => `+${name}`).join(" "));
  try {
    hand();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
    const leaf = join(group, "signalbox-worker");
    mkdirSync(leaf, { recursive: true });
    for (const pid of words(join(group, "cgroup.procs"))) writeFileSync(join(leaf, "cgroup.procs"), pid);
    hand();
  }
}

function findV1({ mount, owner }: CgroupPlaces): CgroupLayout | undefined {
  if (!existsSync(join(mount, "memory"))) return undefined;
  const make = (tree: string): string => {
    // `cpu` and `cpuacct` can be two names of one tree.
    const base = join(realpathSync(join(mount, tree)), owner);
    mkdirSync(base, { recursive: true });
    return base;
  };
  const groups = { memory: make("memory"), pids: make("pids"), cpu: make("cpu"), cpuacct: make("cpuacct") };
  writeFileSync(join(groups.pids, "pids.max"), "max");
  return { mode: "v1", ...groups, kill: killGroup() };

  function killGroup(): string | null {
    if (!existsSync(join(mount, "unified", "cgroup.procs"))) return null;
    const base = join(mount, "unified", owner);
    try {
      mkdirSync(base, { recursive: true });
      return existsSync(join(base, "cgroup.kill")) ? base : null;
    } catch {
      return null;
    }
  }
}

/** On the kernel's file system the files of a group go with it; a plain folder (in tests) keeps them, and says so. */
function removeGroup(group: string): void {
  try {
    rmdirSync(group);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
  }
}

/** Every folder in which groups of an owner can stand, of this owner or another. */
export function groupParents(layout: CgroupLayout): readonly string[] {
  if (layout.mode === "none") return [];
  const bases =
    layout.mode === "v2"
      ? [layout.base]
      : [layout.memory, layout.pids, layout.cpu, layout.cpuacct, layout.kill ?? []].flat();
  return [...new Set(bases.map((base) => join(base, "..")))];
}
