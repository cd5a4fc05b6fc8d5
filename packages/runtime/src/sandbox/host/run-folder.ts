// The folder of this process's boxes, named so that anybody can tell whether its owner still lives; and what dead owners left.
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { groupParents, type CgroupLayout } from "./cgroup-layout.ts";
import { removeGroup } from "./cgroup.ts";
import { isAlive, processId, type ProcessId } from "./processes.ts";

/** Beside the owners: all workers of a host share the numbers. */
export const uidsFolder = "uids";
const ownerPrefix = "signalbox-";

export function ownerName({ pid, startedAt }: ProcessId, instance: number): string {
  return `${ownerPrefix}${pid}-${startedAt}-${instance}`;
}

/** The process that a name speaks of; undefined = no name of ours. */
export function ownerOf(name: string): ProcessId | undefined {
  const [, pid, startedAt] = /^signalbox-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
  return pid === undefined || startedAt === undefined ? undefined : { pid: Number(pid), startedAt };
}

let instances = 0;

/** A name for one backend of this process. */
export function newOwnerName(): string {
  const own = processId(process.pid);
  if (own === undefined) throw new Error("/proc is not mounted: boxes need it");
  return ownerName(own, (instances += 1));
}

export interface RunFolder {
  readonly path: string;
  readonly boxes: string;
  readonly fifos: string;
  /** What every box sees of the host's configuration. */
  readonly etc: string;
  readonly stubs: string;
  readonly filter: string;
}

/** Others may pass through, and see nothing: a box's user must reach what is bound from here. */
const passage = 0o711;

/** Whatever this process's umask says. */
export function makePassage(path: string): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, passage);
}

/**
 * In a folder that somebody else could have made first (below /tmp), his files would stand for the filter and the starters.
 * @throws Error when others own the folder or may write to it
 */
function mustBeOurs(root: string): void {
  const stat = lstatSync(root);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o022) !== 0)
    throw new Error(`${root} is not a folder of this user alone: remove it, or choose another run folder`);
}

export function makeRunFolder(root: string, owner: string): RunFolder {
  const path = join(root, owner);
  const folder: RunFolder = {
    path,
    boxes: join(path, "boxes"),
    fifos: join(path, "fifos"),
    etc: join(path, "etc"),
    stubs: join(path, "stubs"),
    filter: join(path, "filter.bpf"),
  };
  // What was there before is its operator's: the probe says so when boxes cannot pass.
  if (!existsSync(root)) makePassage(root);
  mustBeOurs(root);
  for (const each of [path, folder.boxes, folder.etc, folder.stubs]) makePassage(each);
  mkdirSync(folder.fifos, { mode: 0o700 });
  return folder;
}

const etcFiles: Readonly<Record<string, string>> = {
  passwd: "tool:x:65534:65534:tool:/workspace:/bin/sh\n",
  group: "tool:x:65534:\n",
  hosts: "127.0.0.1 localhost\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
};

export function writeReadable(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o644);
  }
}

export function writeEtc(folder: string): readonly string[] {
  writeReadable(folder, etcFiles);
  return Object.keys(etcFiles);
}

/**
 * Removes groups, processes and folders of owners that are dead.
 * @returns names of the owners of whom something was removed
 */
export function reap(root: string, layout: CgroupLayout): readonly string[] {
  const dead = (name: string): boolean => {
    const owner = ownerOf(name);
    return owner !== undefined && !isAlive(owner);
  };
  const reaped = new Set<string>();
  for (const parent of groupParents(layout))
    for (const name of list(parent).filter(dead)) if (removeGroup(join(parent, name))) reaped.add(name);
  for (const name of list(root).filter(dead)) {
    rmSync(join(root, name), { recursive: true, force: true });
    reaped.add(name);
  }
  reapUids(join(root, uidsFolder), dead);
  return [...reaped];
}

/** Numbers of users that dead owners' boxes had. */
function reapUids(folder: string, dead: (owner: string) => boolean): void {
  for (const uid of list(folder)) {
    const [owner] = list(join(folder, uid));
    // Without an owner it is being taken or given this moment.
    if (owner !== undefined && dead(owner)) rmSync(join(folder, uid), { recursive: true, force: true });
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
