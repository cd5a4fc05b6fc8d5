// Says what the figures were measured on: machine, disk and versions.
import { execFileSync } from "node:child_process";
import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { makeFolder } from "./children.ts";
import { median } from "./statistics.ts";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gib: number;
  readonly kernel: string;
  /** File system under the data folders, as `stat -f` names it. */
  readonly data_fs: string;
  /** Median time of a 4 KiB write and fdatasync there; near zero means that no fsync is real. */
  readonly fsync_ms: number;
}

/** The machine as it was while it was measured. */
export interface MeasuredMachine extends Machine {
  /** Share of all cores that other programs used, median of the slices; null when no slice was run. */
  readonly others_cpu_percent: number | null;
}

export interface Versions {
  readonly node: string;
  readonly sqlite: string;
  readonly signalbox: string;
  readonly commit: string;
}

/** In memory an fsync costs nothing, so a ledger's figures mean nothing. */
const memoryFileSystems = new Set(["tmpfs", "ramfs"]);

export function isMemoryFileSystem(machine: Machine): boolean {
  return memoryFileSystems.has(machine.data_fs);
}

/** The system's temporary folder, or the repository where that one is kept in memory. */
export function dataParent(repo: string): string {
  const usual = tmpdir();
  return memoryFileSystems.has(fileSystem(usual)) ? repo : usual;
}

export function readMachine(parent: string): Machine {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? "unknown",
    cores: all.length,
    memory_gib: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    kernel: release(),
    data_fs: fileSystem(parent),
    fsync_ms: fsyncMs(makeFolder(parent, "fsync")),
  };
}

export function readVersions(repo: string): Versions {
  const manifest = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as { version: string };
  return {
    node: process.versions.node,
    sqlite: process.versions["sqlite"] ?? "unknown",
    signalbox: manifest.version,
    commit: ask("git", ["-C", repo, "describe", "--always", "--dirty"]) ?? "none",
  };
}

function fileSystem(folder: string): string {
  return ask("stat", ["-f", "-c", "%T", folder]) ?? "unknown";
}

function ask(command: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return undefined;
  }
}

function fsyncMs(folder: string): number {
  const file = openSync(join(folder, "probe"), "w");
  const page = Buffer.alloc(4_096, 1);
  const times: number[] = [];
  for (let i = 0; i < 50; i++) {
    const startedAt = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    times.push(performance.now() - startedAt);
  }
  closeSync(file);
  return Math.round((median(times) ?? 0) * 1_000) / 1_000;
}
